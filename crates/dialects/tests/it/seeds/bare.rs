//! Seed 004's Gemini schema as it stands there: `compat=off`.

use gateway_dialects::dialect::Compat;
use gateway_dialects::{Dialects, Options, Translator};
use serde_json::{Value, json};

/// What `gemini` makes of a schema with `compat=off`, and what the report says was dropped.
fn bare(schema: &Value) -> (Value, Vec<String>) {
    let dialects = Dialects::builtin();
    let dialect = dialects.choose(Some("gemini"), None, &Compat::Off).unwrap();
    let translator = Translator::with(&dialects, dialect, Options::default()).unwrap();
    let tool = super::tool(schema.clone());
    let translated = translator.translate_one(&tool);
    let definition = translated.definition.unwrap().to_value();
    let changes = serde_json::to_value(&translated.changes).unwrap();
    let dropped = changes.as_array().unwrap().iter().filter(|change| change["fate"] == "dropped");
    let dropped = dropped.map(|change| change["keyword"].as_str().unwrap().to_owned()).collect();
    (definition["parameters"].clone(), dropped)
}

#[test]
fn only_what_seed_004_keeps_is_kept_at_every_depth() {
    let (schema, dropped) = bare(&json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words", "default": "all", "minLength": 1, "format": "uri", "title": "Query"},
            "limit": {"type": "integer", "maximum": 9, "format": "int32"},
            "inner": {
                "type": "object",
                "properties": {"mode": {"type": "string", "enum": ["a", "b"], "default": "a"}},
                "required": [],
                "additionalProperties": false
            },
            "tags": {"type": "array", "items": {"type": "string", "pattern": "^x", "nullable": true}, "maxItems": 3}
        },
        "required": ["query"],
        "additionalProperties": false
    }));
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words", "format": "uri"},
                "limit": {"type": "integer", "format": "int32"},
                "inner": {"type": "object", "properties": {"mode": {"type": "string", "enum": ["a", "b"]}}},
                "tags": {"type": "array", "items": {"type": "string", "nullable": true}}
            },
            "required": ["query"]
        })
    );
    for keyword in ["default", "minLength", "maximum", "pattern", "maxItems", "title", "additionalProperties"]
    {
        assert!(dropped.iter().any(|known| known == keyword), "{keyword} is not in {dropped:?}");
    }
}

#[test]
fn an_optional_parameter_of_fastmcp_is_a_nullable_text() {
    let (schema, _) = bare(&json!({"type": "object", "properties": {
        "query": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "title": "Query"}
    }}));
    assert_eq!(
        schema,
        json!({"type": "object", "properties": {"query": {"type": "string", "nullable": true}}})
    );
}

#[test]
fn alternatives_of_one_type_leave_no_words() {
    let (schema, _) = bare(&json!({"type": "object", "properties": {
        "n": {"oneOf": [{"type": "integer", "maximum": 0}, {"type": "integer", "minimum": 5}], "description": "N"}
    }}));
    assert_eq!(
        schema,
        json!({"type": "object", "properties": {"n": {"type": "integer", "description": "N"}}})
    );
}

#[test]
fn a_dialect_without_a_bare_form_stays_what_it_is() {
    let dialects = Dialects::builtin();
    for name in ["openai-chat", "anthropic", "gemini-json", "vertex", "ollama"] {
        assert_eq!(dialects.choose(Some(name), None, &Compat::Off).unwrap().name, name);
    }
    let by_model = dialects.choose(None, Some("gemini-2.5-flash"), &Compat::Off).unwrap();
    assert_eq!(by_model.name, "gemini-bare");
    assert_eq!(dialects.choose(Some("gemini-legacy"), None, &Compat::Off).unwrap().name, "gemini-bare");
}
