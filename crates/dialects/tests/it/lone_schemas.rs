//! One schema without a tool: the examples of whoever asked for it, and what no tool's schema can be.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use gateway_dialects::{Dialects, Fate, LoneSchema, Options, Translator};
use serde_json::{Value, json};

fn translator(dialect: &str) -> Translator {
    Translator::new(&Dialects::builtin(), dialect, Options::default()).unwrap()
}

#[track_caller]
fn check(dialect: &str, schema: &Value, expected: &Value) {
    let lone = LoneSchema::new(schema.clone());
    let transformed = translator(dialect).transform(&lone);
    assert_eq!((transformed.schema.as_ref(), transformed.note), (Some(expected), None), "{dialect}");
    assert_eq!(lone.original(), schema);
}

#[test]
fn a_text_is_transformed_as_a_parameter_is() {
    let schema = json!({"type": "string", "format": "uri", "minLength": 5});
    let expected = json!({"type": "string", "description": "{\"format\":\"uri\",\"minLength\":5}"});
    check("universal", &schema, &expected);
    check("mcp", &schema, &schema);
    check("dial", &schema, &schema);
    for dialect in Dialects::builtin().names() {
        let tool = json!({"name": "t", "inputSchema": {"type": "object", "properties": {"value": schema},
            "required": ["value"]}});
        let translator = translator(dialect);
        let translated = translator.translate_one(&tool);
        let expected = translated.schema(translator.dialect()).unwrap()["properties"]["value"].clone();
        let (lone, paths) = (LoneSchema::new(schema.clone()), |path: &str| path.to_owned());
        let transformed = translator.transform(&lone);
        assert_eq!(transformed.schema, Some(expected), "{dialect}");
        let changed: Vec<String> = transformed.changes.iter().map(|change| paths(&change.path)).collect();
        assert!(changed.iter().all(String::is_empty), "{dialect}: {changed:?}");
        let counted = |fate: Fate| (transformed.changes.count(fate), translated.changes.count(fate));
        for fate in [Fate::Described, Fate::Encoded] {
            assert_eq!(counted(fate).0, counted(fate).1, "{dialect}: {fate:?}");
        }
    }
}

#[test]
fn references_lead_where_they_led() {
    let list = json!({"type": "array", "items": {"$ref": "#/$defs/node"}, "$defs": {
        "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "all": {"$ref": "#"}}}}});
    check("openai", &list, &list);
    let with_id = json!({"$id": "https://example.com/list", "type": "array", "items": {"$ref": "#/$defs/node"},
        "$defs": {"node": {"type": "string"}}});
    check("mcp", &with_id, &with_id);
    let mut without_id = with_id.clone();
    without_id.as_object_mut().unwrap().shift_remove("$id");
    check("openai", &with_id, &without_id);
    let data = json!({"type": "array", "items": {}, "default": [{"$ref": "#/nowhere"}]});
    check("openai", &data, &data);
    let lone = LoneSchema::new(list);
    for dialect in Dialects::builtin().names() {
        let transformed = translator(dialect).transform(&lone);
        let text = transformed.schema.unwrap().to_string();
        assert!(!text.contains("#/properties/value"), "{dialect}: {text}");
    }
}

#[test]
fn what_is_no_object_comes_back_unchanged() {
    for value in [json!(true), json!(null), json!("x"), json!(7), json!([1])] {
        let lone = LoneSchema::new(value.clone());
        let transformed = translator("gemini").transform(&lone);
        assert_eq!(transformed.schema, Some(value));
        assert!(transformed.note.unwrap().contains("comes back unchanged"));
        assert!(transformed.changes.is_empty() && !transformed.is_given_up);
    }
}

#[test]
fn what_is_too_large_comes_back_unchanged() {
    let deep = (0..60).fold(json!({"type": "string"}), |inner, _| json!({"anyOf": [inner]}));
    let mut options = Options::default();
    options.budget.depth = 20;
    let translator = Translator::new(&Dialects::builtin(), "gemini", options).unwrap();
    let lone = LoneSchema::new(deep.clone());
    let transformed = translator.transform(&lone);
    assert_eq!((transformed.schema, transformed.is_given_up), (Some(deep), true));
    assert!(transformed.note.unwrap().contains("MCP_TOOL_SCHEMA_UNBOUNDED"));
}

#[test]
fn what_only_a_description_of_the_tool_could_say_stands_in_the_schema() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "minProperties": 1,
        "description": "Own words."});
    let lone = LoneSchema::new(schema);
    for dialect in ["universal", "openai-chat-strict"] {
        let transformed = translator(dialect).transform(&lone);
        let described = transformed.changes.iter().any(|change| change.keyword == "minProperties");
        let text = transformed.schema.unwrap()["description"].to_string();
        assert!(described && text.contains("Own words.") && text.contains('1'), "{dialect}: {text}");
    }
}

#[test]
fn a_schema_of_arguments_stays_one() {
    for schema in [
        json!({"properties": {"a": {"type": "string"}}}),
        json!({"anyOf": [{"type": "object"}, {"type": "string"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}}),
    ] {
        let translator = translator("openai-chat-strict");
        let tool = json!({"name": "t", "inputSchema": schema});
        let expected = translator.translate_one(&tool).schema(translator.dialect());
        assert_eq!(translator.transform(&LoneSchema::new(schema)).schema, expected);
    }
    for parameter in [json!({"enum": ["a"]}), json!({"maximum": 1}), json!({"anyOf": [{"type": "string"}]})] {
        let lone = LoneSchema::new(parameter);
        let transformed = translator("openai-chat-strict").transform(&lone);
        assert_ne!(transformed.schema.unwrap()["type"], "object");
    }
}

/// Definitions each of which is a union of many references to the next one.
fn multiplying() -> Value {
    let union = |next: &str| json!({"anyOf": vec![json!({"$ref": format!("#/$defs/{next}")}); 50]});
    let mut definitions = serde_json::Map::new();
    for level in 0..12 {
        definitions.insert(format!("d{level}"), union(&format!("d{}", level + 1)));
    }
    definitions.insert("d12".to_owned(), json!({"type": "string"}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn references_that_multiply_are_not_all_followed() {
    let lone = LoneSchema::new(multiplying());
    assert!(translator("mcp").transform(&lone).schema.is_some());
}
