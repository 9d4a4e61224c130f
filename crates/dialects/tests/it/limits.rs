//! What providers refuse to go beyond, and what is done about it.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use gateway_dialects::check::Status;
use gateway_dialects::{Dialects, Options, Strict, ToolTranslation, Translator};
use serde_json::{Value, json};

fn tool(schema: &Value) -> Value {
    json!({"name": "t", "description": "d", "inputSchema": schema})
}

/// Translates with the rules of `openai-chat` and these limits.
fn limited<'a>(limits: &str, tool: &'a Value) -> ToolTranslation<'a> {
    let mut dialects = Dialects::builtin();
    let file = format!("name = \"small\"\ntitle = \"Small\"\nextends = \"llamacpp\"\n[limits]\n{limits}\n");
    dialects.add("small.toml", &file).unwrap();
    Translator::new(&dialects, "small", Options::default()).unwrap().translate_one(tool)
}

fn parameters(translated: &ToolTranslation<'_>) -> Value {
    translated.definition.as_ref().unwrap().to_value()["function"]["parameters"].clone()
}

fn changes(translated: &ToolTranslation<'_>) -> Vec<Value> {
    serde_json::to_value(&translated.changes).unwrap().as_array().unwrap().clone()
}

#[test]
fn descriptions_of_parameters_are_cut_before_their_constraints() {
    let tool = tool(&json!({"type": "object", "properties": {
        "description": {"type": "string", "description": "ä".repeat(100), "maxLength": 5},
        "list": {"type": "array", "items": {"type": "string", "description": "x".repeat(100)}},
        "short": {"type": "string", "description": "short"}
    }}));
    let translated = limited("parameter-description = 70", &tool);
    let written = parameters(&translated);
    let text = written["properties"]["description"]["description"].as_str().unwrap();
    assert_eq!(text.chars().count(), 70);
    assert!(
        text.starts_with("ä")
            && text.ends_with("…\n\nConstraints: text must be no more than 5 characters long"),
        "{text}"
    );
    assert_eq!(written["properties"]["list"]["items"]["description"].as_str().unwrap().chars().count(), 70);
    assert_eq!(written["properties"]["short"]["description"], "short");
    let cut: Vec<Value> = changes(&translated)
        .into_iter()
        .filter(|change| change["reason"].as_str().unwrap().starts_with("cut"))
        .collect();
    let paths: Vec<&str> = cut.iter().filter_map(|change| change["path"].as_str()).collect();
    assert_eq!(paths, ["/properties/description", "/properties/list/items"]);
    assert!(cut.iter().all(|change| change["fate"] == "dropped"), "{cut:?}");
    assert_eq!(cut[1]["value"], "x".repeat(100));
}

#[test]
fn a_schema_beyond_the_limits_is_left_out_with_the_reason() {
    let tool = tool(&json!({"type": "object", "properties": {
        "a": {"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}
    }}));
    assert_eq!(limited("properties = 3", &tool).quarantine, None);
    assert_eq!(
        limited("properties = 2", &tool).quarantine.as_deref(),
        Some("the schema has 3 properties, and the provider takes 2")
    );
    let bytes = parameters(&limited("", &tool)).to_string().len();
    assert_eq!(limited(&format!("schema-bytes = {bytes}"), &tool).quarantine, None);
    assert_eq!(
        limited(&format!("schema-bytes = {}", bytes - 1), &tool).quarantine.unwrap(),
        format!("the schema has {bytes} bytes, and the provider takes {}", bytes - 1)
    );
}

fn automatic<'a>(dialects: &Dialects, name: &str, tool: &'a Value) -> ToolTranslation<'a> {
    let mut options = Options::default();
    options.strict = Strict::Auto;
    Translator::new(dialects, name, options).unwrap().translate_one(tool)
}

#[test]
fn strict_is_chosen_where_nothing_is_lost() {
    let dialects = Dialects::builtin();
    let exact = tool(&json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}));
    let lossy = tool(
        &json!({"type": "object", "properties": {"a": {"type": "array", "uniqueItems": true, "items": {"type": "string"}}}}),
    );
    for name in ["openai-chat", "openai-responses"] {
        let strict = automatic(&dialects, name, &exact);
        let definition = strict.definition.as_ref().unwrap().to_value();
        let flag = definition.get("strict").or(definition["function"].get("strict")).cloned();
        assert_eq!((strict.strict, flag), (true, Some(json!(true))), "{name}");
        let loose = automatic(&dialects, name, &lossy);
        let definition = loose.definition.as_ref().unwrap().to_value();
        let flag = definition.get("strict").or(definition["function"].get("strict")).cloned();
        assert!(!loose.strict && flag != Some(json!(true)), "{name}: {definition}");
        assert!(definition.to_string().contains("uniqueItems"), "{name}: the loose form keeps the keyword");
    }
}

#[test]
fn strict_is_not_chosen_where_its_limits_are_passed() {
    let mut dialects = Dialects::builtin();
    let file = "name = \"openai-chat-strict\"\ntitle = \"s\"\nextends = \"openai-responses-strict\"\n[limits]\nproperties = 1\n";
    let narrow = file.replace("openai-chat-strict", "narrow");
    dialects.add("narrow.toml", &narrow).unwrap();
    let loose = "name = \"loose\"\ntitle = \"l\"\nextends = \"openai-responses\"\n[tool]\nstrict-dialect = \"narrow\"\n";
    dialects.add("loose.toml", loose).unwrap();
    let one = tool(&json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}));
    let two = tool(
        &json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a", "b"]}),
    );
    assert!(automatic(&dialects, "loose", &one).strict);
    let fallen = automatic(&dialects, "loose", &two);
    assert_eq!((fallen.strict, fallen.quarantine), (false, None));
}

#[test]
fn azure_cuts_long_descriptions_of_tools_and_reports_it() {
    let tool = |length: usize| json!({"name": "t", "description": "ä".repeat(length), "inputSchema": {"type": "object", "properties": {}}});
    let dialects = Dialects::builtin();
    let translator = |name: &str| Translator::new(&dialects, name, Options::default()).unwrap();
    let check = |name: &str, given: usize, written: usize, status: Status, expected: &[Value]| {
        let (tool, translator) = (tool(given), translator(name));
        let translated = translator.translate_one(&tool);
        let definition = translated.definition.as_ref().unwrap().to_value();
        let text = definition["function"]["description"].as_str().unwrap();
        assert_eq!((text.chars().count(), changes(&translated).as_slice()), (written, expected), "{name}");
        let report = gateway_dialects::check::check("t", std::slice::from_ref(&tool), &[translator]);
        assert_eq!(report.tools[0].dialects[0].status, status, "{name}");
    };
    let cut = json!({
        "path": "", "keyword": "description", "value": "ä".repeat(2781), "fate": "dropped",
        "reason": "the tool's own description: cut to the length that the provider takes",
    });
    check("azure-openai", 2781, 1024, Status::Changed, &[cut]);
    check("azure-openai", 1024, 1024, Status::Ok, &[]);
    check("openai-chat", 2781, 2781, Status::Ok, &[]);
}

#[test]
fn a_word_for_null_that_the_schema_does_not_show_is_told() {
    let dialects = Dialects::builtin();
    let translator = Translator::new(&dialects, "openai-chat-strict", Options::default()).unwrap();
    let tool = tool(&json!({"type": "object", "properties": {
        "text": {"type": ["string", "null"], "description": "A note"},
        "number": {"type": ["integer", "null"]},
        "plain": {"type": "string"}
    }, "required": []}));
    let translated = translator.translate_one(&tool);
    let written = parameters(&translated);
    assert_eq!(written["properties"]["text"]["description"], "A note\nReal null: (null)");
    assert!(written["properties"]["number"].to_string().contains("\"(null)\""));
    assert_eq!(written["properties"]["plain"].get("description"), None);
    let arguments = json!({"text": null, "number": null});
    assert_eq!(translated.plan.decode(&translated.plan.encode(&arguments).unwrap()).unwrap(), arguments);
}

#[test]
fn null_in_a_list_of_types_is_reported_where_it_is_said_in_another_way() {
    let properties = json!({
        "text": {"type": ["string", "null"]},
        "part": {"type": ["object", "null"], "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false},
        "choice": {"type": ["string", "null"], "enum": ["a", null]},
        "plain": {"type": ["string"]}
    });
    let names = ["text", "part", "choice", "plain"];
    let tool = tool(
        &json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false}),
    );
    let dialects = Dialects::builtin();
    let check = |dialect: &str, expected: &[(&str, &str)]| {
        let translated =
            Translator::new(&dialects, dialect, Options::default()).unwrap().translate_one(&tool);
        let changes = changes(&translated);
        let types = changes.iter().filter(|change| change["keyword"] == "type");
        let found: Vec<(&str, &str)> = types
            .map(|change| {
                assert_eq!(change["fate"], "rewritten", "{dialect}");
                let path = change["path"].as_str().unwrap().strip_prefix("/properties/").unwrap();
                (path, change["reason"].as_str().unwrap())
            })
            .collect();
        assert_eq!(found, expected, "{dialect}: {changes:?}");
    };
    let another = "null is said in another way";
    let nullable = [("text", another), ("part", another), ("choice", "null is said by nullable")];
    check("gemini", &nullable);
    check("vertex", &nullable);
    check("anthropic-strict", &[("text", another), ("part", another)]);
    check("deepseek-strict", &[("part", another)]);
    check("openai-chat-strict", &[]);
    check("openai-chat", &[]);
}

#[test]
fn every_encoded_change_names_a_keyword() {
    let schema = json!({"type": "object", "properties": {
        "ключ": {}, "any": {"type": "object"}, "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "pair": {"type": "array", "items": {}}, "choice": {"enum": [1, "1", null]}, "tree": {"$ref": "#/$defs/T"},
        "union": {"anyOf": [{"type": "object", "additionalProperties": true}, {"type": "object", "additionalProperties": {"type": "string"}}]}
    }, "$defs": {"T": {"type": "object", "properties": {"t": {"$ref": "#/$defs/T"}}}}});
    let tool = tool(&schema);
    let dialects = Dialects::builtin();
    for name in dialects.names() {
        let translated = Translator::new(&dialects, name, Options::default()).unwrap().translate_one(&tool);
        for change in changes(&translated) {
            assert!(change["fate"] != "encoded" || change["keyword"] != "", "{name}: {change}");
        }
    }
}

#[test]
fn slips_in_type_names_ask_for_no_items() {
    let tool = tool(&json!({"type": "object", "properties": {"a": {"type": "int"}, "b": {"type": "list"}}}));
    let dialects = Dialects::builtin();
    for name in ["openai-chat", "openai-compatible", "xai"] {
        let translated = Translator::new(&dialects, name, Options::default()).unwrap().translate_one(&tool);
        assert_eq!(
            parameters(&translated)["properties"],
            json!({"a": {"type": "integer"}, "b": {"type": "array", "items": {}}}),
            "{name}"
        );
    }
}

#[test]
fn constraints_are_introduced_once() {
    let tool = tool(&json!({"type": "object", "properties": {
        "a": {"$ref": "#/$defs/gone"},
        "b": {"$ref": "#/$defs/gone", "description": "B", "not": {"type": "null"}}
    }}));
    let dialects = Dialects::builtin();
    for name in dialects.names() {
        let translated = Translator::new(&dialects, name, Options::default()).unwrap().translate_one(&tool);
        let Some(definition) = translated.definition else { continue };
        let definition = definition.to_value();
        let told = definition.to_string().matches("#/$defs/gone").count();
        assert!(told <= 2, "{name} tells each reference once: {definition}");
        let mut texts = Vec::new();
        collect_descriptions(&definition, &mut texts);
        for text in texts {
            for mark in ["Constraints: ", "IMPORTANT: "] {
                assert!(text.matches(mark).count() <= 1, "{name}: {text}");
            }
        }
    }
}

fn collect_descriptions(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if key == "description" {
                    texts.extend(value.as_str().map(str::to_owned));
                }
                collect_descriptions(value, texts);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_descriptions(item, texts)),
        _ => {}
    }
}

#[test]
fn counts_beyond_what_grammars_take_are_told_in_words() {
    let many = 4_294_967_296_u64;
    let dialects = Dialects::builtin();
    let translator = Translator::new(&dialects, "openai-chat-strict", Options::default()).unwrap();
    let schema = |count: u64| {
        json!({"type": "object", "properties": {
            "list": {"type": "array", "items": {"type": "string"}, "minItems": count},
            "map": {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": count}
        }, "required": ["list", "map"]})
    };
    let (few, many) = (tool(&schema(2)), tool(&schema(many)));
    let written = parameters(&translator.translate_one(&few));
    for name in ["list", "map"] {
        assert_eq!(written["properties"][name]["minItems"], 2, "{written}");
    }
    let written = parameters(&translator.translate_one(&many));
    for name in ["list", "map"] {
        assert_eq!(written["properties"][name].get("minItems"), None, "{written}");
        let text = written["properties"][name]["description"].as_str().unwrap();
        assert!(text.contains("4294967296"), "{text}");
    }
}
