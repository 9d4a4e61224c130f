//! Standard output and standard error, safe for terminals.
//!
//! The output of commands contains names, texts and errors of servers, callers and models. Characters that control a
//! terminal or hide text are escaped here, so that no command can forget it: as `\u{1b}` in text for people, as `\u001b` in
//! JSON, which stays the same value. Line ends stay, because commands write lines: text that must stay on one line goes
//! through [`gateway_protocol::printable`] first.

use std::borrow::Cow;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufWriter, LineWriter, Stderr, Stdout, Write};
use std::sync::LazyLock;

use gateway_protocol::{printable_json, printable_lines};

/// How much is escaped at once.
const CHUNK: usize = 1 << 16;

/// Marks our own colour codes. It is random, so foreign text cannot contain it.
static MARK: LazyLock<String> = LazyLock::new(|| format!("{:016x}", RandomState::new().hash_one(0_u8)));

/// `text` in a colour, for [`output`] and [`errors`] only.
pub(crate) fn coloured(code: &str, text: &str) -> String {
    let mark = MARK.as_str();
    format!("\u{1b}{mark}{code}m{text}\u{1b}{mark}0m")
}

/// Standard output.
pub(crate) fn output(form: Form) -> BufWriter<Escaping<Stdout>> {
    BufWriter::with_capacity(CHUNK, Escaping::new(std::io::stdout(), form))
}

/// Standard error, line by line.
pub(crate) fn errors() -> LineWriter<Escaping<Stderr>> {
    LineWriter::new(Escaping::new(std::io::stderr(), Form::Text))
}

/// How characters are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// For programs, and for people who read it.
    Json,
}

impl Form {
    /// JSON if requested, else text.
    pub(crate) fn json_if(asked: bool) -> Self {
        if asked { Self::Json } else { Self::Text }
    }
}

/// A writer that escapes.
#[derive(Debug)]
pub(crate) struct Escaping<W: Write> {
    inner: W,
    form: Form,
    /// An incomplete character or colour code, completed by the next write.
    pending: Vec<u8>,
}

impl<W: Write> Escaping<W> {
    fn new(inner: W, form: Form) -> Self {
        Self { inner, form, pending: Vec::new() }
    }

    fn write_escaped(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if bytes.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
            return self.inner.write_all(bytes);
        }
        // Bytes that are not UTF-8 could be control characters for a terminal.
        let text = String::from_utf8_lossy(bytes);
        let escaped = match self.form {
            Form::Text => Cow::Owned(escape_text(&text)),
            Form::Json => printable_json(&text),
        };
        self.inner.write_all(escaped.as_bytes())
    }
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        // Neither characters nor codes continue after one of these.
        let is_end = |byte: &u8| matches!(byte, b'\n' | b' ' | b',' | b'"' | b':');
        let end = match self.pending.iter().rposition(is_end) {
            Some(last) => last + 1,
            None if self.pending.len() > CHUNK => complete(&self.pending),
            None => 0,
        };
        let rest = self.pending.split_off(end);
        let whole = std::mem::replace(&mut self.pending, rest);
        self.write_escaped(&whole)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let whole = std::mem::take(&mut self.pending);
        self.write_escaped(&whole)?;
        self.inner.flush()
    }
}

impl<W: Write> Drop for Escaping<W> {
    fn drop(&mut self) {
        // A closed output is fine.
        let _ = self.flush();
    }
}

/// The length of `bytes` without an incomplete character at the end.
fn complete(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

fn escape_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(next) = rest.find('\u{1b}') {
        let (before, behind) = rest.split_at(next);
        escaped.push_str(&printable_lines(before));
        let behind = behind.strip_prefix('\u{1b}').unwrap_or_default();
        let own = behind.strip_prefix(MARK.as_str()).and_then(|code| code.split_once('m'));
        rest = if let Some((code, rest)) = own {
            escaped.push_str("\u{1b}[");
            escaped.push_str(code);
            escaped.push('m');
            rest
        } else {
            escaped.push_str("\\u{1b}");
            behind
        };
    }
    escaped.push_str(&printable_lines(rest));
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In pieces of every length.
    #[track_caller]
    fn check(form: Form, text: &str, expected: &str) {
        for length in 1..=text.len() {
            let mut writer = Escaping::new(Vec::new(), form);
            for piece in text.as_bytes().chunks(length) {
                writer.write_all(piece).unwrap();
            }
            writer.flush().unwrap();
            assert_eq!(String::from_utf8_lossy(&writer.inner), expected, "in pieces of {length}");
        }
    }

    #[test]
    fn people_see_what_acts_on_terminals_and_our_own_colours() {
        check(Form::Text, "gr\u{f6}\u{df}e 1\n\tx", "gr\u{f6}\u{df}e 1\n\tx");
        check(Form::Text, "a\u{1b}]0;x\u{7}b\rc\u{9b}2J", "a\\u{1b}]0;x\\u{7}b\\rc\\u{9b}2J");
        check(Form::Text, &coloured("31", "bad \u{1b}[2m"), "\u{1b}[31mbad \\u{1b}[2m\u{1b}[0m");
        check(Form::Text, "x\u{202e}y", "x\\u{202e}y");
    }

    #[test]
    fn json_stays_the_same_value() {
        let text = "{\"a\":\r\"\u{7f}\u{9b}\u{202e}\u{e0041}\u{f6}\"}";
        check(Form::Json, text, r#"{"a": "\u007f\u009b\u202e\udb40\udc41ö"}"#);
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&printable_json(text)), value(text));
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        let mut writer = Escaping::new(Vec::new(), Form::Text);
        writer.write_all(b"a\x9bb").unwrap();
        writer.flush().unwrap();
        assert_eq!(writer.inner, "a\u{fffd}b".as_bytes());
    }
}
