//! Seeds 001 and 002: `dial` and `openai-functions`.

use serde_json::json;

use super::{check, check_property, list};

// Seed 001.

#[test]
fn seed_001_search_users() {
    check(
        "dial",
        json!({
            "name": "search_users",
            "description": "Search for users by criteria",
            "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}}
        }),
        json!({
            "type": "function",
            "function": {
                "name": "search_users",
                "description": "Search for users by criteria",
                "parameters": {"type": "object", "properties": {"query": {"type": "string"}}}
            }
        }),
    );
}

#[test]
fn seed_001_defaults_survive() {
    let property = json!({"type": "string", "default": "all"});
    check_property("dial", property.clone(), property);
}

// Seed 002.

#[test]
fn seed_002_converts_tool_definitions_to_function_definitions() {
    let schema = json!({
        "type": "object",
        "properties": {"param": {"type": "string", "description": "A test parameter"}},
        "required": ["param"]
    });
    check(
        "openai-functions",
        json!({"name": "test_tool", "description": "A test tool", "inputSchema": schema}),
        json!({"name": "test_tool", "description": "A test tool", "parameters": schema}),
    );
}

#[test]
fn seed_002_handles_tool_definitions_without_schemas() {
    check(
        "openai-functions",
        json!({"name": "simple_tool", "description": "A simple tool without schema"}),
        json!({
            "name": "simple_tool",
            "description": "A simple tool without schema",
            "parameters": {"type": "object", "properties": {}, "required": []}
        }),
    );
    assert_eq!(list("openai-functions", &[]), json!([]));
}

#[test]
fn seed_002_a_schema_that_is_there_gets_no_required() {
    check(
        "openai-functions",
        json!({"name": "t", "inputSchema": {"type": "object", "properties": {}}}),
        json!({"name": "t", "description": "", "parameters": {"type": "object", "properties": {}}}),
    );
}

#[test]
fn seed_002_common_tools() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The path of the file to read (relative to the current workspace directory)"},
            "start_line": {"type": "integer", "description": "The starting line number to read from (1-based)"},
            "end_line": {"type": "integer", "description": "The ending line number to read to (1-based, inclusive)"}
        },
        "required": ["path"]
    });
    check(
        "openai-functions",
        json!({"name": "read_file", "description": "Request to read the contents of a file at the specified path", "inputSchema": schema}),
        json!({"name": "read_file", "description": "Request to read the contents of a file at the specified path", "parameters": schema}),
    );
}
