//! Seed 004: Gemini, OpenAI, xAI; and the wrappers of the other APIs.

use serde_json::{Value, json};

use super::{check, schema};

// Seed 004.

#[test]
fn seed_004_gemini_declaration() {
    check(
        "gemini",
        json!({
            "name": "query_nodes",
            "description": "Query nodes",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Words"},
                    "kind": {"type": "string", "enum": ["a", "b"]},
                    "tags": {"type": "array", "items": {"type": "string"}}
                },
                "required": ["query"]
            }
        }),
        json!({
            "name": "query_nodes",
            "description": "Query nodes",
            "parameters": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Words"},
                    "kind": {"type": "string", "enum": ["a", "b"]},
                    "tags": {"type": "array", "items": {"type": "string"}}
                },
                "required": ["query"]
            }
        }),
    );
}

#[test]
fn seed_004_gemini_optional_parameter_of_fastmcp() {
    let lowered = schema(
        "gemini",
        json!({
            "type": "object",
            "properties": {"query": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "Query"}}
        }),
    );
    assert_eq!(
        lowered,
        json!({
            "type": "object",
            "properties": {"query": {"type": "string", "nullable": true, "title": "Query"}}
        })
    );
}

#[test]
fn seed_004_gemini_optional_parameter_with_null_as_default() {
    let lowered = schema(
        "gemini",
        json!({
            "type": "object",
            "properties": {
                "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null, "title": "Limit"}
            }
        }),
    );
    let limit = &lowered["properties"]["limit"];
    assert_eq!((&limit["type"], &limit["nullable"]), (&json!("integer"), &json!(true)), "{limit}");
    assert!(limit.get("anyOf").is_none(), "{limit}");
}

#[test]
fn seed_004_gemini_leaves_an_empty_required_out() {
    let lowered =
        schema("gemini", json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": []}));
    assert_eq!(lowered, json!({"type": "object", "properties": {"a": {"type": "string"}}}));
}

#[test]
fn seed_004_gemini_loses_no_constraint_that_it_cannot_say() {
    let property = json!({"type": "object", "properties": {"n": {
        "type": "integer", "description": "N", "multipleOf": 5, "minimum": 1
    }}});
    assert_eq!(
        schema("gemini", property),
        json!({"type": "object", "properties": {"n": {
            "type": "integer",
            "description": "N\n\nConstraints: number must be a multiple of 5",
            "minimum": 1
        }}})
    );
}

#[test]
fn seed_004_openai_and_xai_keep_full_json_schema() {
    let full = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "d", "enum": ["a"], "format": "email", "nullable": true, "default": "a"},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "code": {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[A-Z]+$"},
            "list": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 2, "uniqueItems": true},
            "inner": {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"], "additionalProperties": false},
            "one": {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/Step"}]},
            "step": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5, "title": "Step"}
        },
        "required": ["text"],
        "additionalProperties": false,
        "$defs": {"Step": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Step"}}}}
    });
    for dialect in ["openai", "openai-chat", "xai"] {
        check(
            dialect,
            json!({"name": "t", "description": "d", "inputSchema": full}),
            json!({"type": "function", "function": {"name": "t", "description": "d", "parameters": full}}),
        );
    }
}

#[test]
fn seed_004_schema_source_fields() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let other = json!({"type": "object", "properties": {"b": {"type": "string"}}});
    let expected = |schema: &Value| json!({"type": "function", "function": {"name": "t", "description": "d", "parameters": schema}});
    for key in ["inputSchema", "parameters", "schema"] {
        check("openai", json!({"name": "t", "description": "d", key: schema}), expected(&schema));
    }
    check(
        "openai",
        json!({"name": "t", "description": "d", "schema": other, "parameters": other, "inputSchema": schema}),
        expected(&schema),
    );
    check(
        "openai",
        json!({"name": "t", "description": "d"}),
        expected(&json!({"type": "object", "properties": {}})),
    );
    // A null is no schema: the next field is asked.
    check(
        "openai",
        json!({"name": "t", "description": "d", "inputSchema": null, "parameters": schema}),
        expected(&schema),
    );
}

// The other wrappers.

#[test]
fn wrappers_of_other_apis() {
    let input = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let tool = json!({"name": "t", "title": "T", "description": "d", "inputSchema": input, "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true}, "_meta": {"x": 1}, "icons": []});
    let strict = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    check("anthropic", tool.clone(), json!({"name": "t", "description": "d", "input_schema": input}));
    check(
        "anthropic-strict",
        tool.clone(),
        json!({"name": "t", "description": "d", "input_schema": strict, "strict": true}),
    );
    check(
        "openai-responses",
        tool.clone(),
        json!({"type": "function", "name": "t", "description": "d", "parameters": input, "strict": false}),
    );
    check(
        "openai-responses-strict",
        tool.clone(),
        json!({"type": "function", "name": "t", "description": "d", "parameters": strict, "strict": true}),
    );
    check(
        "openai-chat-strict",
        tool.clone(),
        json!({"type": "function", "function": {"name": "t", "description": "d", "parameters": strict, "strict": true}}),
    );
    check(
        "bedrock",
        tool.clone(),
        json!({"toolSpec": {"name": "t", "description": "d", "inputSchema": {"json": input}}}),
    );
    check("gemini", tool.clone(), json!({"name": "t", "description": "d", "parameters": input}));
    check(
        "gemini-json",
        tool.clone(),
        json!({"name": "t", "description": "d", "parametersJsonSchema": input}),
    );
    check("mcp", tool.clone(), tool.clone());
    for dialect in
        ["mistral", "cohere", "ollama", "ollama-openai", "groq", "deepseek", "moonshot", "azure-openai"]
    {
        check(
            dialect,
            tool.clone(),
            json!({"type": "function", "function": {"name": "t", "description": "d", "parameters": input}}),
        );
    }
}
