//! Results in the neutral format, and in XML for models that call tools in plain text.

use serde_json::{Map, Value, json};

use super::media;
use super::note;
use super::piece::{Answer, Piece};

/// The neutral `tool_result` block of an MCP result.
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
    if let Some(structured) = answer.structured {
        block.insert("structuredContent".into(), structured.clone());
    }
    Value::Object(block)
}

/// Writes a neutral `tool_result` block as an XML element.
pub fn render_xml_result(block: &Value) -> String {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    let status = if text("status").is_empty() { "success" } else { text("status") };
    let mut lines = vec![format!(
        "<tool_result tool_use_id=\"{}\" status=\"{}\">",
        escape_xml(text("tool_use_id")),
        escape_xml(status)
    )];
    lines.extend(content_lines(block));
    if let Some(error) = block.get("error").filter(|error| !error.is_null()) {
        let message = error.get("message").unwrap_or(error);
        let message = message.as_str().map_or_else(|| note::json_text(message), str::to_owned);
        let details = error.get("details").filter(|details| !details.is_null());
        let details = details
            .map(|details| format!(" details=\"{}\"", escape_xml(&note::json_text(details))))
            .unwrap_or_default();
        lines.push(format!("<error message=\"{}\"{details} />", escape_xml(&message)));
    }
    lines.push("</tool_result>".to_owned());
    lines.join("\n")
}

/// Replaces the five characters that XML gives a meaning to.
pub fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn content_lines(block: &Value) -> Vec<String> {
    match block.get("content") {
        Some(Value::Array(items)) => items.iter().map(item_line).collect(),
        Some(Value::String(text)) => vec![escape_xml(text)],
        Some(Value::Null) | None => Vec::new(),
        Some(other) => vec![escape_xml(&note::json_text(other))],
    }
}

fn item_line(item: &Value) -> String {
    let text =
        |value: &Value, key: &str| escape_xml(value.get(key).and_then(Value::as_str).unwrap_or_default());
    let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
    let source = item.get("source");
    match (kind, source) {
        ("text", _) => text(item, "text"),
        ("image", Some(source)) if source.get("data").is_some() => {
            format!("<image type=\"{}\" data=\"{}\" />", text(source, "media_type"), text(source, "data"))
        }
        ("image", Some(source)) if source.get("url").is_some() => {
            format!("<image url=\"{}\" />", text(source, "url"))
        }
        ("tool_use", _) => {
            let input = item.get("input").map_or_else(|| "{}".to_owned(), note::json_text);
            format!("<tool_use name=\"{}\" input=\"{}\" />", text(item, "name"), escape_xml(&input))
        }
        ("tool_result", _) => format!(
            "<nested_tool_result tool_use_id=\"{}\">{}</nested_tool_result>",
            text(item, "tool_use_id"),
            content_lines(item).join("\n")
        ),
        _ => format!("<unknown type=\"{}\" />", escape_xml(kind)),
    }
}
