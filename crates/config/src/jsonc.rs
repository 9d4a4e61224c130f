//! JSON with comments and trailing commas, and the line of everything in it.
//!
//! Comments and trailing commas are replaced by spaces of the same length, so that lines and columns of the plain JSON
//! are those of the file.

use gateway_notation::pointer;
use serde_json::Value;

/// A text that was read, with its value and the lines of its members.
#[derive(Clone, PartialEq)]
pub struct Document {
    plain: String,
    value: Value,
}

/// The text may hold secrets, so it is not shown.
impl std::fmt::Debug for Document {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Document").field("bytes", &self.plain.len()).finish_non_exhaustive()
    }
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

impl Document {
    /// Reads a text.
    pub fn parse(text: &str) -> Result<Self, JsoncError> {
        let plain = to_json(text)?;
        let value = serde_json::from_str(&plain).map_err(|error| JsoncError {
            line: error.line(),
            column: error.column(),
            message: message_of(&error),
        })?;
        Ok(Self { plain, value })
    }

    /// The value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The line, from 1, of what a JSON Pointer leads to: the line of its key, where it has one. Where the pointer leads
    /// nowhere, the line of the last thing on its way.
    pub fn line_of(&self, pointer: &str) -> usize {
        let bytes = self.plain.as_bytes();
        let mut cursor = Cursor { bytes, at: 0 };
        cursor.skip_space();
        let mut found = cursor.at;
        for step in pointer::steps(pointer) {
            let Some((name, value)) = cursor.step_into(&step) else { break };
            found = name;
            cursor.at = value;
        }
        bytes.get(..found).unwrap_or_default().split(|byte| *byte == b'\n').count()
    }

    /// The keys that stand twice in one object, as JSON Pointers. Nobody can say which one was meant.
    pub fn duplicates(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut cursor = Cursor { bytes: self.plain.as_bytes(), at: 0 };
        cursor.collect_duplicates("", &mut found);
        found
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
                if let Some(place) = comma.take() {
                    blank(&mut bytes, place, place + 1);
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

/// The place after the string that begins at `at`, or the end where it is not closed.
fn end_of_text(bytes: &[u8], at: usize) -> usize {
    let mut place = at + 1;
    while let Some(byte) = bytes.get(place) {
        match byte {
            b'\\' => place += 2,
            b'"' => return place + 1,
            _ => place += 1,
        }
    }
    bytes.len()
}

fn error_at(bytes: &[u8], at: usize, message: &str) -> JsoncError {
    let before = bytes.get(..at).unwrap_or_default();
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
    JsoncError {
        line: before.split(|byte| *byte == b'\n').count(),
        column: 1 + at - line_start,
        message: message.to_owned(),
    }
}

/// The parser's words without its place, which is told separately.
fn message_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

/// Walks over a text that is known to be JSON.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// From the start of an object or array to one of its members: the places of its key and its value.
    fn step_into(&mut self, step: &str) -> Option<(usize, usize)> {
        let mut found = None;
        let mut index = 0_usize;
        self.members(|name, places| {
            let same = name.map_or_else(|| index.to_string() == step, |name| name == step);
            index += 1;
            // The last one of equal keys counts.
            if same {
                found = Some(places);
            }
        });
        found
    }

    fn collect_duplicates(&mut self, pointer: &str, found: &mut Vec<String>) {
        self.skip_space();
        let mut names = std::collections::HashSet::new();
        let mut inner = Vec::new();
        let mut index = 0_usize;
        self.members(|name, (_, value)| {
            let step = name.map_or_else(|| index.to_string(), |name| pointer::escape(name).into_owned());
            index += 1;
            let pointer = format!("{pointer}/{step}");
            if !names.insert(step) {
                found.push(pointer.clone());
            }
            inner.push((pointer, value));
        });
        let after = self.at;
        for (pointer, value) in inner {
            self.at = value;
            // The parser's bound on depth bounds this recursion.
            self.collect_duplicates(&pointer, found);
        }
        self.at = after;
    }

    /// Visits the members of the object or array here, and stands after it then.
    fn members(&mut self, mut visit: impl FnMut(Option<&str>, (usize, usize))) {
        self.skip_space();
        let is_object = match self.peek() {
            Some(b'{') => true,
            Some(b'[') => false,
            _ => return,
        };
        self.at += 1;
        loop {
            self.skip_space();
            match self.peek() {
                None => return,
                Some(b'}' | b']') => {
                    self.at += 1;
                    return;
                }
                Some(b',') => {
                    self.at += 1;
                    continue;
                }
                Some(_) => {}
            }
            let start = self.at;
            let name = is_object.then(|| {
                self.at = end_of_text(self.bytes, start);
                let name = self.bytes.get(start..self.at).unwrap_or_default();
                let name = serde_json::from_slice::<String>(name).unwrap_or_default();
                self.skip_space();
                self.at += 1;
                self.skip_space();
                name
            });
            visit(name.as_deref(), (start, self.at));
            self.skip_value();
        }
    }

    fn skip_value(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => self.at = end_of_text(self.bytes, self.at),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' | b',' if depth == 0 => return,
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
    }
}
