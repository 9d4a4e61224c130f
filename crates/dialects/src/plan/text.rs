//! Values inside strings, so that nothing a string could already mean is taken from it.

use serde_json::Value;

/// The word for a real null where a plain null stands for "absent".
pub(crate) const NULL_TEXT: &str = "(null)";

/// A string that could be mistaken for JSON text of an array or object is sent as a JSON string.
fn needs_quotes(text: &str) -> bool {
    match text.trim_start().as_bytes().first() {
        Some(b'{' | b'[') => serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok(),
        Some(b'"') => serde_json::from_str::<String>(text).is_ok_and(|inner| needs_quotes(&inner)),
        _ => false,
    }
}

pub(super) fn encode_container(value: &Value) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) => Value::String(value.to_string()),
        Value::String(text) if needs_quotes(text) => Value::String(value.to_string()),
        scalar => scalar.clone(),
    }
}

pub(super) fn decode_container(value: &Value) -> Value {
    if let Value::String(text) = value
        && let Some(b'{' | b'[' | b'"') = text.trim_start().as_bytes().first()
    {
        match crate::unrepeated::from_str(text) {
            Ok(parsed @ (Value::Array(_) | Value::Object(_))) => return parsed,
            Ok(Value::String(inner)) if needs_quotes(&inner) => return Value::String(inner),
            _ => {}
        }
    }
    value.clone()
}

/// Whether `text` is the word for null behind any number of backslashes.
fn is_spelled_null(text: &str) -> bool {
    text.trim_start_matches('\\') == NULL_TEXT
}

pub(super) fn escape_null(value: Value) -> Value {
    match value {
        Value::String(text) if is_spelled_null(&text) => Value::String(format!("\\{text}")),
        other => other,
    }
}

/// `None` where the text means null.
pub(super) fn unescape_null(text: &str) -> Option<String> {
    if text == NULL_TEXT {
        return None;
    }
    let escaped = text.strip_prefix('\\').filter(|rest| is_spelled_null(rest));
    Some(escaped.unwrap_or(text).to_owned())
}
