//! The neutral format as a JSON Schema, for those who write it without this crate.

use serde_json::{Value, json};

/// The JSON Schema of a neutral conversation.
pub fn format_schema() -> Value {
    let source = json!({"oneOf": [
        {"type": "object", "required": ["type", "media_type", "data"], "properties": {
            "type": {"const": "base64"}, "media_type": {"type": "string"}, "data": {"type": "string"}}},
        {"type": "object", "required": ["type", "url"], "properties": {
            "type": {"enum": ["url", "image_url"]}, "url": {"type": "string"}, "media_type": {"type": "string"}}},
    ]});
    let block = |kind: &str, required: &[&str], mut properties: Value| {
        let mut names = vec!["type"];
        names.extend(required);
        if let Some(properties) = properties.as_object_mut() {
            properties.insert("type".into(), json!({"const": kind}));
        }
        json!({"if": {"properties": {"type": {"const": kind}}},
            "then": {"required": names, "properties": properties}})
    };
    let text = json!({"type": "string"});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Neutral conversation",
        "type": "array",
        "items": {"$ref": "#/$defs/message"},
        "$defs": {
            "message": {
                "type": "object",
                "required": ["role", "content"],
                "properties": {
                    "role": {"type": "string", "examples": ["system", "user", "assistant", "tool"]},
                    "content": {"$ref": "#/$defs/content"},
                    "ts": {},
                    "metadata": {},
                },
            },
            "content": {"anyOf": [text, {"type": "array", "items": {"$ref": "#/$defs/block"}}, {"type": "null"}]},
            "block": {
                "type": "object",
                "required": ["type"],
                "properties": {"type": text},
                "allOf": [
                    block("text", &["text"], json!({"text": text})),
                    block("image", &["source"], json!({"source": source})),
                    block("audio", &["source"], json!({"source": source})),
                    block("resource", &["resource"], json!({"resource": {"type": "object"}})),
                    block("thinking", &["thinking"], json!({"thinking": text, "signature": text, "origin": text})),
                    block("tool_use", &["id", "name", "input"], json!({
                        "id": text, "name": text, "input": {}, "signature": text, "item_id": text})),
                    block("tool_result", &["tool_use_id", "content"], json!({
                        "tool_use_id": text, "content": {"$ref": "#/$defs/content"},
                        "status": {"type": "string", "examples": ["success", "error"]},
                        "error": {}, "structuredContent": {}})),
                    block("opaque", &["origin", "payload"], json!({"origin": text, "payload": {}})),
                ],
            },
        },
    })
}
