//! The short lines that stand for what a dialect cannot take.

use serde_json::{Map, Value};

use super::piece::{Media, MediaKind, Source, is_base64};
use crate::wire::Members as _;

/// Stands for a result without content.
pub(crate) const EMPTY: &str = "(No response)";

/// Stands for a failure without a message.
pub(crate) const EMPTY_ERROR: &str = "the tool failed and gave no message";

/// Longest string of an unknown block that is shown although it could be base64.
const LONGEST_CODE: usize = 128;

/// `[image: image/png, 12 bytes, kept at …]`
pub(crate) fn media(media: &Media<'_>, kept: Option<&str>) -> String {
    let mut line = describe(media);
    if let Some(kept) = kept {
        line.extend([", kept at ", kept]);
    }
    line.push(']');
    line
}

/// `[image: image/png, 12 bytes, in the next user message]`
pub(crate) fn moved(media: &Media<'_>) -> String {
    describe(media) + ", in the user message after the tool results]"
}

/// A block whose data is not base64.
pub(crate) fn broken(kind: MediaKind, mime: &str, length: usize) -> String {
    format!("[{}: {mime}, {length} characters that are not base64]", kind.name())
}

/// A link to a resource, in one line.
pub(crate) fn link(block: &Value, uri: &str) -> String {
    let text = |key: &str| block.text(key).filter(|text| !text.is_empty());
    let name = text("title").or_else(|| text("name"));
    let mut line =
        name.map_or_else(|| format!("Resource link: {uri}"), |name| format!("Resource link: {name} ({uri})"));
    if let Some(mime) = text("mimeType") {
        line.extend([", ", mime]);
    }
    if let Some(size) = block.get("size").and_then(Value::as_u64) {
        line.extend([", ", &size.to_string(), " bytes"]);
    }
    if let Some(description) = text("description") {
        line.extend([": ", description]);
    }
    line
}

/// A block of a kind that nobody knows yet: its JSON, without binary data.
pub(crate) fn unknown(block: &Value) -> String {
    json_text(&without_binary(block))
}

/// Compact JSON.
pub(crate) fn json_text(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The text of an embedded resource below its address.
pub(crate) fn document(uri: &str, text: &str) -> String {
    format!("Resource ({uri}):\n{text}")
}

/// How many bytes some base64 holds.
pub(crate) fn byte_count(data: &str) -> usize {
    let padding = data.len() - data.trim_end_matches('=').len();
    (data.len() / 4 * 3).saturating_sub(padding)
}

fn describe(media: &Media<'_>) -> String {
    let what = media.kind.name();
    let uri = media.uri.filter(|uri| !uri.is_empty()).map(|uri| format!(" {uri}")).unwrap_or_default();
    let mime = if media.mime.is_empty() { "unknown type" } else { &media.mime };
    match &media.source {
        Source::Data(data) => format!("[{what}{uri}: {mime}, {} bytes", byte_count(data)),
        Source::Url(url) => format!("[{what}{uri}: {mime}, at {url}"),
    }
}

fn without_binary(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > LONGEST_CODE && is_code(text) => {
            Value::String(format!("[{} characters of binary data]", text.len()))
        }
        Value::Array(items) => Value::Array(items.iter().map(without_binary).collect()),
        Value::Object(entries) => Value::Object(
            entries
                .iter()
                .map(|(key, value)| match value {
                    Value::String(text) if is_binary_key(key) && is_base64(text) => {
                        (key.clone(), Value::String(format!("[{} bytes]", byte_count(text))))
                    }
                    _ => (key.clone(), without_binary(value)),
                })
                .collect::<Map<_, _>>(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The keys under which MCP puts base64.
fn is_binary_key(key: &str) -> bool {
    matches!(key, "data" | "blob" | "bytes")
}

/// One word of base64 or a data URL.
fn is_code(text: &str) -> bool {
    text.starts_with("data:")
        || text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_'))
}
