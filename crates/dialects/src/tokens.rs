//! How much of a context window a tool takes.

use serde_json::Value;

use crate::json::Json;

/// Estimated tokens before and after translation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Tokens {
    /// The MCP tool's name, description and schema.
    pub before: usize,
    /// The translated tool.
    pub after: usize,
}

/// Tokens of `bytes` bytes of JSON, estimated without a vocabulary: about four bytes each.
pub const fn estimate(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// The size of compact JSON, without writing it. Escapes and digits are counted roughly.
pub(crate) fn json_bytes(json: &Json<'_>) -> usize {
    match json {
        Json::Same(value) => value_bytes(value),
        Json::Null | Json::Bool(_) | Json::Number(_) => 4,
        Json::Text(text) => text.len() + 2,
        Json::Array(items) => 2 + items.iter().map(|item| json_bytes(item) + 1).sum::<usize>(),
        Json::Object(entries) => {
            2 + entries.iter().map(|(key, value)| key.len() + 4 + json_bytes(value)).sum::<usize>()
        }
    }
}

/// The size of `json`, whose member `key` is known to take `known` bytes and is not counted again.
pub(crate) fn bytes_around(json: &Json<'_>, key: &str, known: usize) -> usize {
    let Json::Object(entries) = json else { return json_bytes(json) };
    let member =
        |name: &str, value: &Json<'_>| if name == key { known } else { bytes_around(value, key, known) };
    2 + entries.iter().map(|(name, value)| name.len() + 4 + member(name, value)).sum::<usize>()
}

pub(crate) fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| value_bytes(item) + 1).sum::<usize>(),
        Value::Object(map) => {
            2 + map.iter().map(|(key, value)| key.len() + 4 + value_bytes(value)).sum::<usize>()
        }
    }
}
