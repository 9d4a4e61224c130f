//! The value that a piece of text stands for.

use serde_json::Value;

use crate::arguments::Kinds;
use crate::json::from_str;

/// What the text looks like, if no schema says what it is.
pub(super) fn guess(text: &str) -> Value {
    let as_text = || Value::String(text.to_owned());
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ if text.starts_with(['{', '[']) => from_str(text).unwrap_or_else(|_| as_text()),
        _ => number(text).unwrap_or_else(as_text),
    }
}

/// The text as one of `kinds`. Text that fits none stays text, for validation to name.
pub(super) fn typed_text(text: &str, kinds: Kinds) -> Value {
    if kinds == Kinds::ALL {
        return guess(text);
    }
    if kinds.has(Kinds::STRING) {
        return Value::String(text.to_owned());
    }
    let value = match text {
        "null" => Value::Null,
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        _ => guess(text),
    };
    let fits = kinds.has(Kinds::of(&value)) || (value.is_number() && kinds.has(Kinds::INTEGER));
    if fits { value } else { Value::String(text.to_owned()) }
}

/// Plain integers and decimals. What a double or an integer cannot hold stays text.
fn number(text: &str) -> Option<Value> {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, fraction) =
        digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !fraction.is_none_or(is_digits) {
        return None;
    }
    let significant = whole.trim_start_matches('0');
    let whole = if significant.is_empty() { "0" } else { significant };
    match (fraction, sign) {
        (None, "") => whole.parse::<u64>().ok().map(Value::from),
        (None, _) => format!("-{whole}").parse::<i64>().ok().map(Value::from),
        (Some(fraction), _) => serde_json::from_str(&format!("{sign}{whole}.{fraction}")).ok(),
    }
}
