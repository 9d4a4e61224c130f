//! Schemas written in another way where the library does not read what they mean.

use std::fmt::Write as _;

use serde_json::Value;

use super::omit::{holds_names, holds_values};

/// Percent-encodes what must not stand in a reference as it is, such as the brackets in `#/$defs/List<Pet>`. Whether there
/// was any.
pub(super) fn escape_references(schema: &mut Value) -> bool {
    match schema {
        Value::Object(map) => {
            let mut found = false;
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target)) => {
                        let escaped = escaped(target);
                        found |= escaped != *target;
                        *target = escaped;
                    }
                    (key, _) if holds_values(key) => {}
                    (key, Value::Object(named)) if holds_names(key) => {
                        found |=
                            named.values_mut().fold(false, |found, schema| escape_references(schema) | found);
                    }
                    (_, other) => found |= escape_references(other),
                }
            }
            found
        }
        Value::Array(items) => items.iter_mut().fold(false, |found, item| escape_references(item) | found),
        _ => false,
    }
}

fn escaped(target: &str) -> String {
    let mut written = String::with_capacity(target.len());
    for byte in target.bytes() {
        // RFC 3986: these and the percent sign of what is escaped already.
        if byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&'()*+,;=%".contains(&byte) {
            written.push(char::from(byte));
        } else {
            // Writing to a text cannot go wrong.
            let _ = write!(written, "%{byte:02X}");
        }
    }
    written
}

/// Writes back-references by name as back-references by number, which the compiler reads. Whether there were any.
pub(super) fn number_groups(schema: &mut Value) -> bool {
    match schema {
        Value::Object(map) => {
            let mut found = false;
            for (key, value) in map {
                match value {
                    Value::String(pattern) if key == "pattern" && pattern.contains("\\k<") => {
                        *pattern = numbered(pattern);
                        found = true;
                    }
                    other => found |= number_groups(other),
                }
            }
            found
        }
        Value::Array(items) => items.iter_mut().fold(false, |found, item| number_groups(item) | found),
        _ => false,
    }
}

fn numbered(pattern: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut written = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(char) = rest.chars().next() {
        let group = rest.strip_prefix("(?<").filter(|inner| !inner.starts_with(['=', '!']));
        if let Some((name, after)) = group.and_then(|inner| inner.split_once('>')) {
            names.push(name);
            written.push('(');
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix("\\k<").and_then(|inner| inner.split_once('>'))
        {
            let number = names.iter().position(|known| *known == name).map_or(0, |index| index + 1);
            written.push('\\');
            written.push_str(&number.to_string());
            rest = after;
        } else {
            if char == '(' && !rest.starts_with("(?") {
                names.push("");
            }
            // An escape and what it escapes belong together.
            let length = match char {
                '\\' => 1 + rest.get(1..).and_then(|more| more.chars().next()).map_or(0, char::len_utf8),
                other => other.len_utf8(),
            };
            written.push_str(rest.get(..length).unwrap_or_default());
            rest = rest.get(length..).unwrap_or_default();
        }
    }
    written
}
