//! The seeds' own documents as known answers.

#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]
#![expect(clippy::needless_pass_by_value, reason = "cases read better by value")]

mod argo;
mod bare;
mod defaults;
mod dial;
mod providers;
mod verbatim;

use gateway_dialects::{Dialects, Options, Translator};
use serde_json::{Value, json};

fn translator(dialect: &str, options: Options) -> Translator {
    Translator::new(&Dialects::builtin(), dialect, options).unwrap()
}

/// The request field for `tools`.
fn list_with(dialect: &str, tools: &[Value], options: Options) -> Value {
    translator(dialect, options).translate(tools).request_field().to_value()
}

fn list(dialect: &str, tools: &[Value]) -> Value {
    list_with(dialect, tools, Options::default())
}

/// Dialects that have a verbatim form.
const VERBATIM: [&str; 3] = ["argo", "dial", "openai-functions"];

#[track_caller]
fn one(dialect: &str, tool: &Value) -> Value {
    one_with(dialect, tool, Options::default())
}

fn verbatim() -> Options {
    let mut options = Options::default();
    options.verbatim = true;
    options
}

#[track_caller]
fn one_with(dialect: &str, tool: &Value, options: Options) -> Value {
    let translator = translator(dialect, options);
    let translated = translator.translate_one(tool);
    assert_eq!(translated.quarantine, None);
    translated.definition.unwrap().to_value()
}

/// The one place that compares a whole definition.
#[track_caller]
fn check(dialect: &str, tool: Value, expected: Value) {
    let expected: Value = expected;
    assert_eq!(one(dialect, &tool), expected, "{dialect}: {tool}");
    assert_eq!(list(dialect, std::slice::from_ref(&tool)), json!([expected]), "{dialect}, as a list");
    if VERBATIM.contains(&dialect) {
        assert_eq!(one_with(dialect, &tool, verbatim()), expected, "{dialect}, verbatim: {tool}");
    }
}

fn tool(schema: Value) -> Value {
    json!({"name": "t", "description": "d", "inputSchema": schema})
}

/// The schema of the definition, under whatever key the dialect has for it.
#[track_caller]
fn schema(dialect: &str, input: Value) -> Value {
    let definition = one(dialect, &tool(input));
    let function = definition.get("function").unwrap_or(&definition);
    ["parameters", "input_schema", "parametersJsonSchema"]
        .iter()
        .find_map(|key| function.get(*key))
        .cloned()
        .unwrap_or_else(|| panic!("no schema in {definition}"))
}

#[track_caller]
fn check_property(dialect: &str, property: Value, expected: Value) {
    let lowered = schema(dialect, json!({"type": "object", "properties": {"p": property}}));
    let expected = json!({"type": "object", "properties": {"p": expected}});
    assert_eq!(lowered, expected, "{dialect}: {property}");
    if VERBATIM.contains(&dialect) {
        let definition =
            one_with(dialect, &tool(json!({"type": "object", "properties": {"p": property}})), verbatim());
        let function = definition.get("function").unwrap_or(&definition);
        assert_eq!(function["parameters"], expected, "{dialect}, verbatim: {property}");
    }
}

fn build_model() -> Value {
    json!({
        "name": "build_model",
        "description": "Build a metabolic model from genome annotation",
        "inputSchema": {
            "type": "object",
            "properties": {
                "model_id": {"type": "string", "description": "Unique identifier with .gf suffix"},
                "template": {"type": "string", "description": "Template name", "default": "auto"}
            },
            "required": ["model_id"]
        }
    })
}
