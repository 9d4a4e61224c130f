//! Results in the neutral format.

use serde_json::{Map, Value, json};

use super::media;
use super::piece::{Answer, Piece};

/// The neutral `tool_result` block of an MCP result. One of a failure says in `error` what its first text says.
pub fn neutral_result(call_id: &str, result: &Value) -> Value {
    let answer = Answer::read(result);
    let content: Vec<Value> = answer
        .pieces
        .iter()
        .map(|(index, piece)| match (piece, result.get("content").and_then(|content| content.get(*index))) {
            (Piece::Media(medium), _) if medium.uri.is_none() => media::neutral_part(medium),
            (_, Some(block)) if block.is_object() => block.clone(),
            (Piece::Text(text), _) => json!({"type": "text", "text": text}),
            (Piece::Document { text, .. }, _) => json!({"type": "text", "text": text}),
            (Piece::Note(line), _) => json!({"type": "text", "text": line}),
            (Piece::Media(medium), _) => media::neutral_part(medium),
        })
        .collect();
    let mut block = Map::new();
    block.insert("type".into(), "tool_result".into());
    block.insert("tool_use_id".into(), call_id.into());
    block.insert("content".into(), content.into());
    block.insert("status".into(), if answer.failed { "error" } else { "success" }.into());
    if answer.failed {
        let blocks = result.get("content").and_then(Value::as_array);
        let text = blocks.into_iter().flatten().find_map(|block| block.get("text")?.as_str());
        let message = text.filter(|text| !text.is_empty()).unwrap_or("Unknown error");
        block.insert("error".into(), json!({"message": message}));
    }
    if let Some(structured) = answer.structured {
        block.insert("structuredContent".into(), structured.clone());
    }
    Value::Object(block)
}
