//! Documents with tools, in every form in which people have them.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use gateway_dialects::{
    Dialects, DocumentError, GivenTool, Options, ToolDocument, ToolSource as _, Translator, holds_tools,
};
use serde_json::{Value, json};

fn schema() -> Value {
    json!({"type": "object", "properties": {"param": {"type": "string", "description": "A test parameter"}},
        "required": ["param"]})
}

/// The tools of a document: pointer, name, and schema as `openai-functions` sends it.
#[track_caller]
fn read(document: &Value) -> Vec<(String, String, Value)> {
    let document = ToolDocument::parse(&document.to_string()).unwrap();
    let translator = Translator::new(&Dialects::builtin(), "openai-functions", Options::default()).unwrap();
    let translated = translator.translate(&document.tools);
    document
        .tools
        .iter()
        .zip(&translated.tools)
        .map(|(given, tool)| {
            let definition = tool.definition.as_ref().map(gateway_dialects::Json::to_value);
            (
                given.pointer.clone(),
                tool.name.to_owned(),
                definition.unwrap_or_default()["parameters"].clone(),
            )
        })
        .collect()
}

#[track_caller]
fn check(document: &Value, pointers: &[&str]) {
    let expected: Vec<_> =
        pointers.iter().map(|pointer| ((*pointer).to_owned(), "t".to_owned(), schema())).collect();
    let found = read(document);
    // Only the first of the same name is sent, and all are the same tool.
    assert_eq!(found.iter().map(|(pointer, ..)| pointer.as_str()).collect::<Vec<_>>(), pointers);
    assert_eq!(found.first(), expected.first(), "{document}");
}

#[test]
fn a_schema_is_read_under_every_usual_name() {
    for key in ["inputSchema", "parameters", "schema", "input_schema", "paramSchema", "parametersJsonSchema"]
    {
        check(&json!([{"name": "t", "description": "d", key: schema()}]), &["/0"]);
    }
    check(&json!([{"name": "t", "inputSchema": null, "parameters": schema()}]), &["/0"]);
}

#[test]
fn tools_in_providers_forms_are_read() {
    let (function, anthropic) =
        (json!({"name": "t", "parameters": schema()}), json!({"name": "t", "input_schema": schema()}));
    check(&json!([{"type": "function", "function": function}]), &["/0/function"]);
    check(
        &json!({"model": "m", "tools": [{"type": "function", "function": function}]}),
        &["/tools/0/function"],
    );
    check(&json!([{"type": "function", "name": "t", "parameters": schema(), "strict": false}]), &["/0"]);
    check(&json!({"tools": [anthropic]}), &["/tools/0"]);
    for key in ["functionDeclarations", "function_declarations"] {
        let pointers = [format!("/tools/0/{key}/0"), format!("/tools/0/{key}/1")];
        let pointers: Vec<&str> = pointers.iter().map(String::as_str).collect();
        check(&json!({"tools": [{key: [function, function]}]}), &pointers);
    }
    check(&json!({"functionDeclarations": [function]}), &["/functionDeclarations/0"]);
    let spec = json!({"toolSpec": {"name": "t", "inputSchema": {"json": schema()}}});
    check(&json!({"toolConfig": {"tools": [spec]}}), &["/toolConfig/tools/0/toolSpec"]);
}

#[test]
fn one_tool_is_a_document() {
    let tool = json!({"name": "t", "inputSchema": schema()});
    check(&tool, &[""]);
    check(&json!({"type": "function", "function": tool}), &["/function"]);
    check(&json!({"tool": tool, "to": "gemini"}), &["/tool"]);
    check(&json!({"tools": tool}), &["/tools"]);
    check(&json!({"tools": {"t": {"inputSchema": schema()}}}), &["/tools/t"]);
    let simple = ToolDocument::parse(r#"{"name":"t","description":"d","to":"gemini"}"#).unwrap();
    assert_eq!((simple.tools[0].name(), &simple.members["to"]), ("t", &json!("gemini")));
}

#[test]
fn other_json_holds_no_tools() {
    for text in ["7", "{}", r#"{"name":"package","version":"1.0.0","scripts":{}}"#, r#"{"tools":7}"#] {
        assert!(matches!(ToolDocument::parse(text), Err(DocumentError::NoTools)), "{text}");
    }
    assert!(matches!(ToolDocument::parse("{"), Err(DocumentError::Json(_))));
}

#[test]
fn a_schema_is_not_taken_for_tools() {
    for (text, expected) in [
        (r#"{"tools":[{"name":"t"}]}"#, true),
        (r#"[{"name":"t"}]"#, true),
        (r#"{"type":"function","function":{"name":"t"}}"#, true),
        (r#"{"name":"t","inputSchema":{}}"#, true),
        (r#"{"type":"object","properties":{"tools":{"type":"array"}}}"#, false),
        (r#"{"type":"string","name":"t"}"#, false),
        ("[]", false),
        ("true", false),
        ("7", false),
    ] {
        assert_eq!(holds_tools(text), expected, "{text}");
    }
}

#[test]
fn a_schema_under_an_unknown_name_is_a_warning() {
    let translator = Translator::new(&Dialects::builtin(), "openai", Options::default()).unwrap();
    let warnings = |tool: Value| translator.translate(&[tool]).tools.remove(0).warnings;
    assert_eq!(
        warnings(json!({"name": "t", "args_schema": schema()})),
        ["the tool has no `inputSchema`, but `args_schema` looks like one; rename it to `inputSchema`"]
    );
    for quiet in [
        json!({"name": "t", "outputSchema": schema()}),
        json!({"name": "t", "inputSchema": schema(), "args_schema": schema()}),
        json!({"name": "t", "annotations": {"readOnlyHint": true}}),
    ] {
        assert_eq!(warnings(quiet), Vec::<String>::new());
    }
}

/// A tool whose schema has properties nested `levels` deep.
fn deep(name: &str, levels: usize) -> String {
    let (open, close) = (r#"{"type":"object","properties":{"a":"#, "}}");
    format!(r#"{{"name":"{name}","inputSchema":{}{{}}{}}}"#, open.repeat(levels), close.repeat(levels))
}

#[test]
fn a_tool_that_is_too_deep_is_the_only_one_that_is_lost() {
    let good = json!({"name": "t", "inputSchema": schema()}).to_string();
    let translator = Translator::new(&Dialects::builtin(), "openai-functions", Options::default()).unwrap();
    for levels in [40, 100, 20_000] {
        let deep = deep("deep", levels);
        for text in [
            format!("[{good},{deep}]"),
            format!(r#"{{"result":{{"tools":[{good},{deep}]}}}}"#),
            format!(r#"{{"tools":[{{"functionDeclarations":[{good},{deep}]}}]}}"#),
            format!(r#"[{good},{{"type":"function","function":{deep}}}]"#),
        ] {
            let document = ToolDocument::parse(&text).unwrap();
            let translated = translator.translate(&document.tools);
            let names: Vec<&str> = translated.tools.iter().map(|tool| tool.name).collect();
            assert_eq!(names, ["t", "deep"]);
            assert_eq!(translated.tools[0].quarantine, None);
            let reason = translated.tools[1].quarantine.as_deref().unwrap();
            assert!(reason.starts_with("MCP_TOOL_SCHEMA_UNBOUNDED: "), "{levels}: {reason}");
        }
        let alone = GivenTool::parse(&deep).unwrap();
        assert_eq!((alone.name(), alone.definition().is_err()), ("deep", levels >= 100));
    }
}

#[test]
fn brackets_in_texts_are_no_levels() {
    let text = json!([{"name": "t", "description": "[".repeat(500) + "\\\"{{", "inputSchema": schema()}]);
    let document = ToolDocument::parse(&text.to_string()).unwrap();
    assert!(document.tools[0].definition().is_ok());
}

#[test]
fn a_tool_that_is_left_out_does_not_take_the_name_of_a_good_one() {
    let translator = Translator::new(&Dialects::builtin(), "openai", Options::default()).unwrap();
    let (bad, good) =
        (json!({"name": "s", "inputSchema": []}), json!({"name": "s", "inputSchema": schema()}));
    let reasons = |tools: &[Value]| -> Vec<Option<String>> {
        translator.translate(tools).tools.into_iter().map(|tool| tool.quarantine).collect()
    };
    let list = Some("the input schema is a list, not an object".to_owned());
    let another = Some("another tool is called `s`".to_owned());
    assert_eq!(reasons(&[bad.clone(), good.clone(), good.clone()]), [list.clone(), None, another.clone()]);
    assert_eq!(reasons(&[good, bad]), [None, another]);
}

#[test]
fn another_form_becomes_that_of_mcp() {
    let translator = Translator::new(&Dialects::builtin(), "mcp", Options::default()).unwrap();
    let tool = json!({"name": "t", "description": "d", "parameters": schema(), "strict": true});
    let translated = translator.translate_one(&tool).definition.unwrap().to_value();
    assert_eq!(translated, json!({"name": "t", "description": "d", "inputSchema": schema()}));
}
