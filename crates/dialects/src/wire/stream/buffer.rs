//! The arguments of one call while they arrive.

use serde_json::Value;

use crate::wire::calls::Arguments;

/// Argument text up to a limit, or an object that came whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffer {
    limit: usize,
    text: String,
    object: Option<Value>,
    seen: bool,
    limited: bool,
    progress: Progress,
}

impl Buffer {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// More text. A whole text that comes once more is not added again.
    pub(crate) fn push(&mut self, piece: &str) {
        self.seen = true;
        if self.limited || (self.progress.done && piece == self.text) {
            return;
        }
        let room = self.limit - self.text.len().min(self.limit);
        if piece.len() > room {
            self.limited = true;
        }
        let piece = piece.get(..piece.floor_char_boundary(room)).unwrap_or_default();
        self.progress.feed(piece);
        self.text.push_str(piece);
    }

    /// Arguments that are no text.
    pub(crate) fn set(&mut self, value: &Value) {
        let text = value.to_string();
        if text.len() > self.limit {
            self.replace(&text);
        } else {
            self.object = Some(value.clone());
        }
    }

    /// The final text in place of what has come so far.
    pub(crate) fn replace(&mut self, text: &str) {
        *self = Self::new(self.limit);
        self.push(text);
    }

    /// Keeps `text` as far as it fits, as cut.
    pub(crate) fn limit_reached(&mut self, text: &str) {
        self.replace(text);
        self.limited = true;
    }

    /// Adds whatever form the provider chose.
    pub(crate) fn add(&mut self, value: Option<&Value>) {
        match value {
            None | Some(Value::Null) => {}
            Some(Value::String(piece)) => self.push(piece),
            Some(other) => self.set(other),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.object.is_none()
    }

    /// Bytes that wait as text.
    pub(crate) fn size(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn limited(&self) -> bool {
        self.limited
    }

    /// Whether this is one object from end to end.
    pub(crate) fn is_whole(&self) -> bool {
        self.object.is_some() || (self.progress.done && !self.limited)
    }

    pub(crate) fn take(&mut self) -> Arguments {
        let done = std::mem::replace(self, Self::new(self.limit));
        match done.object {
            Some(object) => Arguments::Json(object),
            None if done.seen => Arguments::Text(done.text),
            None => Arguments::Missing,
        }
    }
}

/// Follows brackets and strings to see where the first object ends.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    depth: u32,
    string: bool,
    escape: bool,
    done: bool,
}

impl Progress {
    fn feed(&mut self, piece: &str) {
        for byte in piece.bytes() {
            if self.done {
                // Anything but white space after the end means that it was no end.
                self.done = byte.is_ascii_whitespace();
                continue;
            }
            match byte {
                _ if self.escape => self.escape = false,
                b'\\' if self.string => self.escape = true,
                b'"' => self.string = !self.string,
                _ if self.string => {}
                b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.done = self.depth == 0;
                }
                _ => {}
            }
        }
    }
}
