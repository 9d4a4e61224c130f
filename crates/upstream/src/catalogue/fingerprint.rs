//! What a definition is known by.
//!
//! A server that changes what a tool does while keeping its name ("rug pull") changes its description, its schema or
//! its annotations. The fingerprint covers these and nothing else: `_meta`, icons and key order may change freely.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::view::Members;

/// The SHA-256 of a tool's definition in canonical form, and short digests of its parts to tell what changed.
///
/// As text: the digest in hexadecimal, then those of description, schemas and annotations, joined by dots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint {
    whole: [u8; 32],
    pub(super) description: [u8; 8],
    pub(super) schema: [u8; 8],
    pub(super) annotations: [u8; 8],
}

impl Fingerprint {
    /// The fingerprint of a definition.
    pub(super) fn of(name: &str, definition: &Members<'_>) -> Self {
        let description = digest(definition, &["title", "description"]);
        let schema = digest(definition, &["inputSchema", "outputSchema"]);
        let annotations = digest(definition, &["annotations"]);
        let mut whole = Sha256::new();
        write_text(name, &mut whole);
        for part in [&description, &schema, &annotations] {
            whole.update(part);
        }
        Self {
            whole: whole.finalize().into(),
            description: shorten(description),
            schema: shorten(schema),
            annotations: shorten(annotations),
        }
    }

    /// The SHA-256 over the whole, in hexadecimal.
    pub fn hex(&self) -> String {
        hex(&self.whole)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [hex(&self.whole), hex(&self.description), hex(&self.schema), hex(&self.annotations)];
        formatter.write_str(&parts.join("."))
    }
}

/// The text is no fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no fingerprint of a tool")]
pub struct InvalidFingerprint {
    text: String,
}

impl FromStr for Fingerprint {
    type Err = InvalidFingerprint;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let mut parts = text.split('.');
            let fingerprint = Self {
                whole: unhex(parts.next()?)?,
                description: unhex(parts.next()?)?,
                schema: unhex(parts.next()?)?,
                annotations: unhex(parts.next()?)?,
            };
            parts.next().is_none().then_some(fingerprint)
        };
        parse().ok_or_else(|| InvalidFingerprint { text: text.chars().take(100).collect() })
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = InvalidFingerprint;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}

fn digest(definition: &Members<'_>, members: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for name in members {
        if let Some(value) = definition.get(name) {
            write_text(name, &mut hash);
            write_canonical(value, &mut hash);
        } else if let Some(text) = definition.unread(name) {
            write_text(name, &mut hash);
            hash.update(text);
        }
    }
    hash.finalize().into()
}

/// Feeds a value with its keys sorted. The parser's own bound on depth bounds the recursion.
fn write_canonical(value: &Value, hash: &mut Sha256) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            hash.update(b"{");
            for (name, value) in members {
                write_text(name, hash);
                write_canonical(value, hash);
            }
            hash.update(b"}");
        }
        Value::Array(items) => {
            hash.update(b"[");
            for item in items {
                write_canonical(item, hash);
            }
            hash.update(b"]");
        }
        Value::String(text) => write_text(text, hash),
        Value::Number(number) => {
            hash.update(b"#");
            hash.update(number.to_string());
            hash.update(b";");
        }
        Value::Bool(true) => hash.update(b"t"),
        Value::Bool(false) => hash.update(b"f"),
        Value::Null => hash.update(b"n"),
    }
}

/// Texts carry their length, so that no two values give the same bytes.
fn write_text(text: &str, hash: &mut Sha256) {
    hash.update(b"\"");
    hash.update(text.len().to_string());
    hash.update(b":");
    hash.update(text);
}

fn shorten(digest: [u8; 32]) -> [u8; 8] {
    digest.first_chunk().copied().unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != N * 2 {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| !pair.starts_with('+'))?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(bytes)
}
