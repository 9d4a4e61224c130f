//! Forms that published schemas have and the corpus of tools has not.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use gateway_dialects::Fate;
use serde_json::{Value, json};

use crate::properties::{DECLARED, schema_in, tool_of};

fn lowered(dialect: &str, schema: &Value) -> (Value, Vec<(String, String, Fate)>) {
    let translator = DECLARED.iter().find(|translator| translator.dialect().name == dialect).unwrap();
    let tool = tool_of(schema);
    let translated = translator.translate_one(&tool);
    let changes = translated
        .changes
        .iter()
        .map(|change| (change.path.clone(), change.keyword.to_owned(), change.fate))
        .collect();
    (schema_in(&translated.definition.unwrap().to_value()).unwrap(), changes)
}

#[track_caller]
fn check_changed(changes: &[(String, String, Fate)], path: &str, keyword: &str, fate: Fate) {
    let wanted = (path.to_owned(), keyword.to_owned(), fate);
    assert!(changes.contains(&wanted), "{wanted:?} is not in {changes:?}");
}

#[test]
fn folded_alternatives_are_told_apart() {
    let schema = json!({
        "type": "object",
        "properties": {"only": {"type": "array"}, "except": {"type": "array"}, "kind": {"type": "string"}},
        "anyOf": [
            {"description": "by exclusion", "properties": {"only": {"maxItems": 0}}},
            {"required": ["only"], "not": {"required": ["except"]}, "properties": {"kind": {"const": "list"}}}
        ]
    });
    for dialect in ["openai-chat", "gemini", "openai-chat-strict"] {
        let (schema, _) = lowered(dialect, &schema);
        let text = schema["description"].as_str().unwrap();
        for part in
            ["by exclusion (only: maxItems 0)", "kind = list, required: only", r#"{"required":["except"]}"#]
        {
            assert!(text.contains(part), "{dialect}: {part} is not in {text}");
        }
    }
}

/// A branch that leaves room for any key does not make nothing of what another declares.
#[test]
fn what_one_alternative_declares_stays_beside_open_ones() {
    let open = json!({
        "type": "object",
        "oneOf": [
            {"properties": {"do": {"const": "new"}, "body": {"type": "string", "description": "The text"}},
             "required": ["do", "body"], "additionalProperties": true},
            {"properties": {"do": {"const": "end"}, "id": {"type": "integer"}},
             "required": ["do", "id"], "additionalProperties": true}
        ]
    });
    let many = json!({
        "type": "object",
        "minProperties": 1,
        "oneOf": [
            {"properties": {"body": {"type": "string", "description": "The text"}}, "required": ["body"]},
            {"properties": {"id": {"type": "integer"}}, "dependentRequired": {"id": ["body"]}}
        ]
    });
    for dialect in
        ["openai-chat", "gemini", "openai-chat-strict", "anthropic-strict", "gemini-json", "ollama"]
    {
        for schema in [&open, &many] {
            let properties = lowered(dialect, schema).0["properties"].clone();
            let text = properties["body"].to_string();
            assert!(text.contains("string") && text.contains("The text"), "{dialect}: {properties}");
            assert!(properties["id"].to_string().contains("integer"), "{dialect}: {properties}");
        }
    }
}

#[test]
fn rules_of_alternatives_about_other_keys_are_told() {
    let schema = json!({
        "type": "object",
        "properties": {"t": {"type": "string"}},
        "oneOf": [
            {"properties": {"t": {"const": "a"}}, "patternProperties": {"^x-": {"type": "string"}}},
            {"properties": {"t": {"const": "b"}}, "propertyNames": {"maxLength": 9}, "additionalProperties": {"type": "integer"}}
        ]
    });
    for dialect in ["openai-chat", "anthropic", "gemini", "openai-chat-strict"] {
        let (schema, _) = lowered(dialect, &schema);
        let text = schema["description"].as_str().unwrap();
        for part in
            [r#"{"^x-":{"type":"string"}}"#, r#"{"maxLength":9}"#, r#"other properties: {"type":"integer"}"#]
        {
            assert!(text.contains(part), "{dialect}: {part} is not in {text}");
        }
    }
}

#[test]
fn a_union_that_asks_for_nothing_is_not_told() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "anyOf": [{}, {"required": ["a"]}]
    });
    assert_eq!(lowered("openai-chat", &schema).0.get("description"), None);
}

#[test]
fn a_folded_root_keeps_what_it_says_of_other_properties() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "patternProperties": {"^x-": {"type": "string"}},
        "additionalProperties": false,
        "required": ["a", "x-b"],
        "oneOf": [{"required": ["a"]}, {"required": ["x-c"]}]
    });
    let (lowered, changes) = lowered("openai-chat", &schema);
    assert_eq!(lowered["required"], json!(["a", "x-b"]));
    assert!(lowered["description"].as_str().unwrap().contains(r#"{"^x-":{"type":"string"}}"#), "{lowered}");
    check_changed(&changes, "", "patternProperties", Fate::Described);
    check_changed(&changes, "", "additionalProperties", Fate::Described);
}

#[test]
fn definitions_beside_a_reference_at_the_root_are_reported() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/Root",
        "definitions": {
            "Root": {"type": "object", "properties": {"a": {"$ref": "#/definitions/A"}}},
            "A": {"type": "string", "minLength": 2}
        }
    });
    for dialect in ["gemini", "openai-chat-strict"] {
        check_changed(&lowered(dialect, &schema).1, "", "definitions", Fate::Rewritten);
    }
}

#[test]
fn null_told_as_a_list_of_values_is_null() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"oneOf": [{"type": "string"}, {"enum": [null]}]}},
        "required": ["a"]
    });
    assert_eq!(lowered("gemini", &schema).0["properties"]["a"], json!({"type": "string", "nullable": true}));
}

#[test]
fn types_that_no_listed_value_has_are_reported() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": ["string", "null"], "enum": ["x", "y"]}}
    });
    let (lowered, changes) = lowered("gemini", &schema);
    assert_eq!(lowered["properties"]["a"]["type"], "string");
    check_changed(&changes, "/properties/a", "type", Fate::Rewritten);
}

#[test]
fn what_the_patterns_admit_is_reported_where_the_rest_was_closed() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {
            "type": "object",
            "patternProperties": {"^x": {"type": "string"}},
            "additionalProperties": false
        }}
    });
    let (lowered, changes) = lowered("gemini-json", &schema);
    assert_eq!(lowered["properties"]["a"]["additionalProperties"]["type"], "string");
    check_changed(&changes, "/properties/a", "additionalProperties", Fate::Rewritten);
}

/// llguidance 1.9 and xgrammar 0.2 refuse the whole request over each of these.
#[test]
fn grammars_get_only_what_they_can_compile() {
    let schema = json!({
        "type": "object",
        "properties": {
            "long": {"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX},
            "text": {"type": "string", "maxLength": 4_294_967_296_u64},
            "word": {"type": "string", "pattern": "\\bword\\b"},
            "safe": {"type": "integer", "minimum": -9_007_199_254_740_991_i64, "maximum": 9_007_199_254_740_991_i64}
        },
        "required": ["long", "text", "word", "safe"]
    });
    for dialect in ["openai-chat-strict", "openai-compatible", "vllm"] {
        let (lowered, changes) = lowered(dialect, &schema);
        let properties = &lowered["properties"];
        for (name, keyword) in
            [("long", "minimum"), ("long", "maximum"), ("text", "maxLength"), ("word", "pattern")]
        {
            assert!(properties[name].get(keyword).is_none(), "{dialect}: {properties}");
            check_changed(&changes, &format!("/properties/{name}"), keyword, Fate::Described);
        }
        assert_eq!(properties["safe"]["maximum"], 9_007_199_254_740_991_i64, "{dialect}");
    }
}

#[test]
fn patterns_of_keys_are_checked_like_other_patterns() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {
            "type": "object",
            "patternProperties": {"^(?<name>x)$": {"type": "string"}},
            "additionalProperties": false
        }}
    });
    let (lowered, changes) = lowered("openai-chat", &schema);
    assert!(lowered["properties"]["a"].get("patternProperties").is_none(), "{lowered}");
    check_changed(&changes, "/properties/a", "patternProperties", Fate::Described);
}
