//! Values inside strings, so that nothing a string could already mean is taken from it.

use serde_json::Value;

use crate::schema::TypeSet;

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
        match crate::json::from_str(text) {
            Ok(parsed @ (Value::Array(_) | Value::Object(_))) => return parsed,
            Ok(Value::String(inner)) if needs_quotes(&inner) => return Value::String(inner),
            _ => {}
        }
    }
    value.clone()
}

/// What JSON text holds, where values of the types `others` travel as JSON text beside plain text; `None` where `text` is plain.
fn loose_value(text: &str, others: TypeSet) -> Option<Value> {
    // Most texts are no JSON, which their first byte shows.
    let first = *text.trim_start().as_bytes().first()?;
    if !matches!(first, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') {
        return None;
    }
    match crate::json::from_str(text).ok()? {
        // Quotes are ours only around a text that would be read as something else without them.
        Value::String(inner) => loose_value(&inner, others).map(|_| Value::String(inner)),
        parsed => others.contains(TypeSet::of(&parsed)).then_some(parsed),
    }
}

pub(super) fn encode_loose(value: &Value, others: TypeSet) -> Value {
    let as_json = match value {
        Value::String(text) => loose_value(text, others).is_some(),
        other => others.contains(TypeSet::of(other)),
    };
    if as_json { Value::String(value.to_string()) } else { value.clone() }
}

pub(super) fn decode_loose(value: &Value, others: TypeSet) -> Value {
    let parsed = value.as_str().and_then(|text| loose_value(text, others));
    parsed.unwrap_or_else(|| value.clone())
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
