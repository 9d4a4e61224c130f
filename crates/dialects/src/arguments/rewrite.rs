//! Schemas written in another way where the library does not read what they mean.

use std::fmt::Write as _;

use serde_json::Value;

use super::walk::{REFERENCES, each_schema_mut};

/// Percent-encodes what must not stand in a reference as it is, such as the brackets in `#/$defs/List<Pet>`. Whether there
/// was any.
pub(super) fn escape_references(schema: &mut Value) -> bool {
    let mut found = false;
    each_schema_mut(schema, &mut |schema| {
        for keyword in REFERENCES {
            if let Some(Value::String(target)) = schema.get_mut(keyword) {
                let escaped = escaped(target);
                found |= escaped != *target;
                *target = escaped;
            }
        }
    });
    found
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
