//! JSON with comments and trailing commas, and the line of everything in it.
//!
//! Comments and trailing commas are replaced by spaces of the same length, so that lines and columns of the plain JSON
//! are those of the file.

use std::collections::{HashMap, HashSet};
use std::fmt;

use gateway_notation::pointer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// A text that was read, with its value and the lines of its members.
pub struct Document {
    plain: String,
    /// The value.
    pub value: Value,
    /// Where each member begins, by its JSON Pointer.
    offsets: HashMap<String, usize>,
    /// The keys that stand twice in one object, as JSON Pointers. Nobody can say which one was meant.
    pub duplicates: Vec<String>,
}

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (line {line}, column {column})")]
pub struct JsoncError {
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 1.
    pub column: usize,
    /// What is wrong; never a part of the text.
    pub message: String,
}

impl JsoncError {
    pub(crate) fn at(text: &str, offset: usize, message: &str) -> Self {
        error_at(text.as_bytes(), offset, message)
    }
}

impl Document {
    /// Reads a text.
    pub fn parse(text: &str) -> Result<Self, JsoncError> {
        let plain = to_json(text)?;
        let value = serde_json::from_str(&plain).map_err(|error| JsoncError {
            line: error.line(),
            column: error.column(),
            message: message_of(&error),
        })?;
        let mut index = Index { text: &plain, offsets: HashMap::new(), repeated: Vec::new() };
        index.add("", plain.trim(), plain.trim());
        let Index { offsets, repeated: duplicates, .. } = index;
        Ok(Self { plain, value, offsets, duplicates })
    }

    /// What another notation gave: its text, and where each member begins in it.
    pub(crate) fn located(
        text: &str,
        value: Value,
        offsets: HashMap<String, usize>,
        duplicates: Vec<String>,
    ) -> Self {
        Self { plain: text.to_owned(), value, offsets, duplicates }
    }

    /// The line, from 1, of what a JSON Pointer leads to: the line of its key, if it has one. If the pointer leads nowhere,
    /// the line of the last thing on its way.
    pub fn line_of(&self, pointer: &str) -> usize {
        let mut known = pointer;
        while !self.offsets.contains_key(known) && !known.is_empty() {
            known = known.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
        let offset = self.offsets.get(known).copied().unwrap_or_default();
        self.plain.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }
}

/// The same text as plain JSON of the same length.
pub fn to_json(text: &str) -> Result<String, JsoncError> {
    let mut bytes = text.as_bytes().to_vec();
    if bytes.starts_with(b"\xef\xbb\xbf") {
        blank(&mut bytes, 0, 3);
    }
    let mut at = 0;
    // A comma that nothing has followed yet, and the last byte that means something.
    let mut comma = None;
    let mut last = b'{';
    while let Some(byte) = bytes.get(at).copied() {
        let next = bytes.get(at + 1).copied();
        match (byte, next) {
            (b'"', _) => {
                (comma, last) = (None, byte);
                at = end_of_text(&bytes, at);
            }
            (b'/', Some(b'/')) => {
                let end =
                    bytes.iter().skip(at).position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end);
                blank(&mut bytes, at, end);
                at = end;
            }
            (b'/', Some(b'*')) => {
                let rest = bytes.get(at + 2..).unwrap_or_default();
                let Some(end) = rest.windows(2).position(|pair| pair == b"*/") else {
                    return Err(error_at(&bytes, at, "the comment is not closed"));
                };
                let end = at + 2 + end + 2;
                blank(&mut bytes, at, end);
                at = end;
            }
            (b',', _) => {
                // A comma after nothing is a mistake and stays one.
                comma = (!matches!(last, b'{' | b'[' | b',' | b':')).then_some(at);
                last = byte;
                at += 1;
            }
            (b'}' | b']', _) => {
                if let Some(comma) = comma.take() {
                    blank(&mut bytes, comma, comma + 1);
                }
                last = byte;
                at += 1;
            }
            (byte, _) => {
                if !byte.is_ascii_whitespace() {
                    (comma, last) = (None, byte);
                }
                at += 1;
            }
        }
    }
    // Only whole characters were replaced, by spaces.
    String::from_utf8(bytes).map_err(|error| error_at(error.as_bytes(), 0, "the text is not UTF-8"))
}

/// Replaces a part by spaces; line ends stay.
fn blank(bytes: &mut [u8], from: usize, to: usize) {
    for byte in bytes.get_mut(from..to).unwrap_or_default() {
        if !matches!(*byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// The index after the string that begins at `at`, or the end if it is not closed.
fn end_of_text(bytes: &[u8], at: usize) -> usize {
    let mut next = at + 1;
    while let Some(byte) = bytes.get(next) {
        match byte {
            b'\\' => next += 2,
            b'"' => return next + 1,
            _ => next += 1,
        }
    }
    bytes.len()
}

fn error_at(bytes: &[u8], at: usize, message: &str) -> JsoncError {
    let before = bytes.get(..at).unwrap_or_default();
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |index| index + 1);
    JsoncError {
        line: before.split(|byte| *byte == b'\n').count(),
        column: 1 + at - line_start,
        message: message.to_owned(),
    }
}

/// The parser's words without its location, which is reported separately.
fn message_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

/// Finds the members of a text that is known to be JSON.
struct Index<'t> {
    text: &'t str,
    offsets: HashMap<String, usize>,
    repeated: Vec<String>,
}

impl<'t> Index<'t> {
    /// Adds a value and all in it. `start` is its key, or the value itself if it has none.
    fn add(&mut self, pointer: &str, start: &'t str, value: &'t str) {
        let offset = start.as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        self.offsets.insert(pointer.to_owned(), offset);
        // The parser's bound on depth bounds this recursion.
        if let Ok(Members(members)) = serde_json::from_str(value) {
            let mut names = HashSet::new();
            for (key, value) in members {
                let name: String = serde_json::from_str(key.get()).unwrap_or_default();
                let pointer = pointer::join(pointer, &name);
                self.add(&pointer, key.get(), value.get());
                if !names.insert(name) {
                    self.repeated.push(pointer);
                }
            }
        } else if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(value) {
            for (index, item) in items.into_iter().enumerate() {
                self.add(&format!("{pointer}/{index}"), item.get(), item.get());
            }
        }
    }
}

/// All members of an object, repeated ones too: the texts of keys and values.
struct Members<'t>(Vec<(&'t RawValue, &'t RawValue)>);

impl<'t> Deserialize<'t> for Members<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'t> Visitor<'t> for Collect {
            type Value = Members<'t>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Members<'t>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}
