//! Texts of files: what counts as text, and lines that keep their ends.

use std::ops::Range;

/// A text as its lines. Joining them gives the same bytes again.
///
/// Where every line ends with CR LF, lines are without the CR and get it back at the end. In a file with mixed ends, the CR
/// is the last character of its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileText {
    pub(super) lines: Vec<String>,
    /// Whether all lines end with CR LF.
    pub(super) are_crlf: bool,
    /// Whether the last line has an end.
    ends: bool,
}

impl FileText {
    pub(super) fn of(text: &str) -> Self {
        if is_crlf(text) { Self::split(&text.replace("\r\n", "\n"), true) } else { Self::split(text, false) }
    }

    /// The lines of a text without carriage returns that were taken out before.
    pub(super) fn split(text: &str, are_crlf: bool) -> Self {
        let body = text.strip_suffix('\n');
        // What is put into an empty file gets an end.
        let ends = text.is_empty() || body.is_some();
        let lines = if text.is_empty() {
            Vec::new()
        } else {
            body.unwrap_or(text).split('\n').map(str::to_owned).collect()
        };
        Self { lines, are_crlf, ends }
    }

    pub(super) fn to_text(&self) -> String {
        self.joined(if self.are_crlf { "\r\n" } else { "\n" })
    }

    /// The text without the carriage returns that were taken out; `split` reads it again.
    pub(super) fn to_plain_text(&self) -> String {
        self.joined("\n")
    }

    /// Puts other lines where these are. In a file with mixed ends, they end as the first one that they replace.
    pub(super) fn replace(&mut self, range: Range<usize>, new: &[String]) {
        let has_return = self.lines.get(range.start).is_some_and(|line| line.ends_with('\r'));
        let new = new.iter().map(|line| {
            let line = line.trim_end_matches('\r');
            if has_return { format!("{line}\r") } else { line.to_owned() }
        });
        self.lines.splice(range, new.collect::<Vec<_>>());
    }

    fn joined(&self, end: &str) -> String {
        let mut text = self.lines.join(end);
        if self.ends && !self.lines.is_empty() {
            text.push_str(end);
        }
        text
    }
}

/// Whether a text has lines and all of them end with CR LF.
pub(super) fn is_crlf(text: &str) -> bool {
    let ends = text.matches('\n').count();
    ends > 0 && text.matches("\r\n").count() == ends
}

/// A text whose lines end with CR LF, whatever they ended with before.
pub(super) fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// How many lines a text has. An end after the last line begins no further one.
pub(super) fn line_count(text: &str) -> usize {
    text.matches('\n').count() + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// The text of a file, or why it is none.
pub(super) fn read_text(bytes: Vec<u8>) -> Result<String, &'static str> {
    const BINARY: &str = "is a binary file, and only text can be read and edited here";
    if bytes.contains(&0) {
        return Err(BINARY);
    }
    String::from_utf8(bytes).map_err(|_| "is no UTF-8 text: it is a binary file, or has another encoding")
}

/// A line in a message: short, and on one line.
pub(super) fn shown_line(line: &str) -> String {
    let short: String = line.chars().take(120).collect();
    let dots = if short.len() < line.len() { "…" } else { "" };
    format!("`{short}{dots}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_give_the_same_bytes_again() {
        for text in [
            "",
            "a",
            "a\n",
            "a\nb",
            "\n",
            "\n\n",
            "a\r\nb\r\n",
            "a\r\nb",
            "a\r\nb\n",
            "\r\n",
            "a\r",
            "a\rb\n",
        ] {
            assert_eq!(FileText::of(text).to_text(), text, "{text:?}");
        }
        assert_eq!(FileText::of("a\r\nb\r\n").lines, ["a", "b"]);
        assert_eq!(FileText::of("a\r\nb\n").lines, ["a\r", "b"]);
    }

    #[test]
    fn lines_are_counted_as_people_do() {
        for (text, count) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("a\n\n", 2)] {
            assert_eq!(line_count(text), count, "{text:?}");
        }
    }
}
