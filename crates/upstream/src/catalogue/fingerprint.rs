//! What a definition is known by.
//!
//! A server that changes what a tool does while keeping its name ("rug pull") changes its description, its schema or
//! its annotations. The fingerprint covers these and nothing else: `_meta`, icons and key order may change freely.

use std::fmt;

use serde_json::Value;
use sha2::digest::Output;
use sha2::{Digest as _, Sha256};

use super::view::Members;

/// The SHA-256 of a tool's definition in canonical form, and short digests of its parts that show what changed.
///
/// As text: the digest in hexadecimal, then those of description, schemas and annotations, joined by dots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    whole: Output<Sha256>,
    description: u64,
    schema: u64,
    annotations: u64,
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
        let shorten = |digest: Output<Sha256>| digest.first_chunk().copied().map_or(0, u64::from_be_bytes);
        Self {
            whole: whole.finalize(),
            description: shorten(description),
            schema: shorten(schema),
            annotations: shorten(annotations),
        }
    }

    /// The SHA-256 over the whole, in hexadecimal.
    pub fn hex(&self) -> String {
        format!("{:x}", self.whole)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { whole, description, schema, annotations } = self;
        write!(formatter, "{whole:x}.{description:016x}.{schema:016x}.{annotations:016x}")
    }
}

fn digest(definition: &Members<'_>, members: &[&str]) -> Output<Sha256> {
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
    hash.finalize()
}

/// Feeds a value with its keys sorted. The form is part of every remembered fingerprint, so it must not change. The parser's
/// own bound on depth bounds the recursion.
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
