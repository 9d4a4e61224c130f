//! Header rules of the modern era.

use gateway_protocol::{encode_header_value, header_parameters};
use serde_json::json;

#[test]
fn parameters_are_found_along_properties() {
    let schema = json!({"properties": {
        "tenant": {"type": "string", "x-mcp-header": "Tenant"},
        "where": {"type": "object", "properties": {"region": {"type": "integer", "x-mcp-header": "Region"}}},
        "plain": {"type": "string"}
    }});
    let found = header_parameters(&schema).unwrap();
    let found: Vec<_> = found.iter().map(|one| (one.path.join("."), one.header.as_str())).collect();
    assert_eq!(
        found,
        [("tenant".to_owned(), "mcp-param-tenant"), ("where.region".to_owned(), "mcp-param-region")]
    );
}

#[test]
fn wrong_annotations_are_refused() {
    for schema in [
        json!({"properties": {"a": {"type": "object", "x-mcp-header": "A"}}}),
        json!({"properties": {"a": {"type": "string", "x-mcp-header": "A B"}}}),
        json!({"properties": {"a": {"type": "string", "x-mcp-header": 1}}}),
        json!({"properties": {"a": {"items": {"type": "string", "x-mcp-header": "A"}}}}),
        json!({"type": "string", "x-mcp-header": "A"}),
        json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}}),
    ] {
        assert!(header_parameters(&schema).is_err(), "{schema}");
    }
}

#[test]
fn values_are_written_safely() {
    for (value, text) in [
        (json!("plain text"), Some("plain text")),
        (json!(5), Some("5")),
        (json!(true), Some("true")),
        (json!("é"), Some("=?base64?w6k=?=")),
        (json!(" padded"), Some("=?base64?IHBhZGRlZA==?=")),
        (json!("=?base64?eA==?="), Some("=?base64?PT9iYXNlNjQ/ZUE9PT89?=")),
        (json!("a\r\nx: y"), Some("=?base64?YQ0KeDogeQ==?=")),
        (json!({}), None),
    ] {
        assert_eq!(encode_header_value(&value).as_deref(), text, "{value}");
    }
}
