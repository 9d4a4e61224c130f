//! Lines of a text, for the search of assignments.

use super::secrets::work;

/// A line of the text, measured once for all of its separators.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) start: usize,
    /// Its first character that is not a space.
    pub(super) content: usize,
    /// The end of the line, or the next carriage return.
    pub(super) end: usize,
    /// The end without trailing spaces.
    pub(super) trimmed: usize,
    /// The last character that ends a value.
    last_end: Option<usize>,
    pub(super) last_semicolon: Option<usize>,
    pub(super) last_ampersand: Option<usize>,
    /// The last three colons and equals signs, in order.
    last_separators: [Option<usize>; 3],
}

impl Line {
    pub(super) fn first(text: &str) -> Self {
        let mut line = Self::default();
        line.measure(text, 0, 0);
        line
    }

    /// Advances to the line of the separator at `at`.
    pub(super) fn advance(&mut self, text: &str, at: usize) {
        while self.end <= at && self.end < text.len() {
            let from = self.end + 1;
            let start = if text.as_bytes().get(self.end) == Some(&b'\n') { from } else { self.start };
            self.measure(text, start, from);
        }
    }

    /// Measures the text from `from` on, which is in the line that begins at `start`.
    fn measure(&mut self, text: &str, start: usize, from: usize) {
        let rest = text.get(from..).unwrap_or_default();
        let length = memchr::memchr2(b'\n', b'\r', rest.as_bytes()).unwrap_or(rest.len());
        let piece = rest.get(..length).unwrap_or_default();
        work::count(length);
        let content = from + (length - piece.trim_start().len());
        // A carriage return does not begin a line: the earlier start is kept.
        let is_begun = start < from && self.content < self.end;
        *self = Self {
            start,
            content: if is_begun { self.content } else { content },
            end: from + length,
            trimmed: from + piece.trim_end().len(),
            ..Self::default()
        };
        for (at, byte) in piece.bytes().enumerate() {
            let at = Some(from + at);
            match byte {
                b';' => (self.last_end, self.last_semicolon) = (at, at),
                b'&' => (self.last_end, self.last_ampersand) = (at, at),
                b',' | b'{' | b'"' => self.last_end = at,
                b':' | b'=' => {
                    let [_, second, third] = self.last_separators;
                    self.last_separators = [second, third, at];
                }
                _ => {}
            }
        }
    }

    /// Whether more than one setting may follow `start`.
    pub(super) fn has_more(&self, start: usize) -> bool {
        let [third, ..] = self.last_separators;
        self.last_end.max(third) >= Some(start)
    }
}
