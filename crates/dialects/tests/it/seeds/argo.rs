//! Seed 000: the examples and tests of its own document.

use serde_json::json;

use super::{build_model, check, check_property, list, one};

#[test]
fn seed_000_schema_comparison() {
    check(
        "argo",
        build_model(),
        json!({
            "type": "function",
            "function": {
                "name": "build_model",
                "description": "Build a metabolic model from genome annotation",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "model_id": {"type": "string", "description": "Unique identifier with .gf suffix"},
                        "template": {"type": "string", "description": "Template name"}
                    },
                    "required": ["model_id"]
                }
            }
        }),
    );
}

#[test]
fn seed_000_members_come_in_the_seed_s_order() {
    let text = serde_json::to_string(&one("argo", &build_model())).unwrap();
    let expected = concat!(
        r#"{"type":"function","function":{"name":"build_model","#,
        r#""description":"Build a metabolic model from genome annotation","parameters":{"type":"object","#,
        r#""properties":{"model_id":{"type":"string","description":"Unique identifier with .gf suffix"},"#,
        r#""template":{"type":"string","description":"Template name"}},"required":["model_id"]}}}"#
    );
    assert_eq!(text, expected);
}

#[test]
fn seed_000_test_convert_basic_tool() {
    check(
        "argo",
        json!({
            "name": "test_tool",
            "description": "A test tool",
            "inputSchema": {"type": "object", "properties": {"param1": {"type": "string"}}}
        }),
        json!({
            "type": "function",
            "function": {
                "name": "test_tool",
                "description": "A test tool",
                "parameters": {"type": "object", "properties": {"param1": {"type": "string"}}}
            }
        }),
    );
}

#[test]
fn seed_000_test_removes_default_values() {
    check(
        "argo",
        json!({
            "name": "test_tool",
            "description": "Test",
            "inputSchema": {
                "type": "object",
                "properties": {"param1": {"type": "string", "default": "value"}}
            }
        }),
        json!({
            "type": "function",
            "function": {
                "name": "test_tool",
                "description": "Test",
                "parameters": {"type": "object", "properties": {"param1": {"type": "string"}}}
            }
        }),
    );
}

#[test]
fn seed_000_test_preserves_enum() {
    check_property(
        "argo",
        json!({"type": "string", "enum": ["a", "b", "c"]}),
        json!({"type": "string", "enum": ["a", "b", "c"]}),
    );
}

#[test]
fn seed_000_test_deep_copy() {
    let tool = json!({
        "name": "test_tool",
        "description": "Test",
        "inputSchema": {"type": "object", "properties": {"param1": {"type": "string", "default": "value"}}}
    });
    let before = tool.clone();
    let definition = one("argo", &tool);
    assert_eq!(tool, before);
    assert_eq!(definition["function"]["parameters"]["properties"]["param1"], json!({"type": "string"}));
}

#[test]
fn seed_000_test_convert_all_tools() {
    let tools = [
        json!({"name": "tool1", "description": "First tool", "inputSchema": {"type": "object", "properties": {}}}),
        json!({"name": "tool2", "description": "Second tool", "inputSchema": {"type": "object", "properties": {}}}),
    ];
    let expected = json!([
        {"type": "function", "function": {"name": "tool1", "description": "First tool", "parameters": {"type": "object", "properties": {}}}},
        {"type": "function", "function": {"name": "tool2", "description": "Second tool", "parameters": {"type": "object", "properties": {}}}}
    ]);
    assert_eq!(list("argo", &tools), expected);
}

#[test]
fn seed_000_test_nested_objects() {
    check_property(
        "argo",
        json!({
            "type": "object",
            "properties": {"nested_param": {"type": "string", "default": "nested_value"}}
        }),
        json!({"type": "object", "properties": {"nested_param": {"type": "string"}}}),
    );
}

#[test]
fn seed_000_rule_2_default_value_removal() {
    check_property(
        "argo",
        json!({"type": "string", "description": "A parameter", "default": "default_value"}),
        json!({"type": "string", "description": "A parameter"}),
    );
}

#[test]
fn seed_000_edge_case_empty_tools_list() {
    assert_eq!(list("argo", &[]), json!([]));
}

#[test]
fn seed_000_edge_case_tool_with_no_parameters() {
    check(
        "argo",
        json!({
            "name": "list_models",
            "description": "List all models",
            "inputSchema": {"type": "object", "properties": {}}
        }),
        json!({
            "type": "function",
            "function": {
                "name": "list_models",
                "description": "List all models",
                "parameters": {"type": "object", "properties": {}}
            }
        }),
    );
}

#[test]
fn missing_and_null_schemas_are_empty_objects() {
    let expected = json!({
        "type": "function",
        "function": {"name": "t", "description": "d", "parameters": {"type": "object", "properties": {}}}
    });
    check("argo", json!({"name": "t", "description": "d"}), expected.clone());
    check("argo", json!({"name": "t", "description": "d", "inputSchema": null}), expected);
}

#[test]
fn seed_000_edge_case_tool_with_enum() {
    let source = json!({
        "type": "string",
        "enum": ["rast_id", "fasta_file", "annotation_dict"],
        "description": "Source type"
    });
    check_property("argo", source.clone(), source);
}

#[test]
fn seed_000_edge_case_nested_objects_with_defaults() {
    check_property(
        "argo",
        json!({"type": "object", "properties": {"timeout": {"type": "number", "default": 30}}}),
        json!({"type": "object", "properties": {"timeout": {"type": "number"}}}),
    );
}

#[test]
fn non_string_enums_are_kept() {
    let values = json!({"enum": [1, null, true, {"a": 1}, [2]]});
    check_property("argo", values.clone(), values);
}
