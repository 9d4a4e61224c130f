//! The search in the text of a document, which keeps the bytes of all that is not masked.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::names::{Names, Taken};
use super::{JsonError, JsonReport, Location};
use crate::context::{self, Hints};
use crate::detector::{Detector, mask};
use crate::kind::Finding;

/// The text with masks, `None` if nothing is masked, and what was found.
pub(super) fn masked(detector: &Detector, text: &str) -> Result<(Option<String>, JsonReport), JsonError> {
    serde_json::from_str::<IgnoredAny>(text)
        .map_err(|cause| JsonError::Malformed { bytes: text.len(), cause })?;
    let mut taken = Taken::default();
    for (token, start, end) in Tokens::new(text) {
        // A name is a string with a colon behind it.
        if token == Token::Text && text.get(end..).unwrap_or_default().trim_start().starts_with(':') {
            taken.note(&decode(text.get(start + 1..end - 1).unwrap_or_default()));
        }
    }
    let mut walk = Walk {
        detector,
        taken,
        frames: Vec::new(),
        report: JsonReport::default(),
        text,
        output: None,
        copied: 0,
    };
    for (token, start, end) in Tokens::new(text) {
        walk.token(token, start, end);
    }
    if let Some(output) = &mut walk.output {
        output.push_str(text.get(walk.copied..).unwrap_or_default());
    }
    Ok((walk.output, walk.report))
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    ObjectStart,
    ArrayStart,
    End,
    Comma,
    Colon,
    Text,
    Number,
}

/// The tokens of a text that is known to be JSON, without words and spaces, each with its bytes.
pub(super) struct Tokens<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Tokens<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }
}

impl Iterator for Tokens<'_> {
    type Item = (Token, usize, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        loop {
            let start = self.position;
            let token = match bytes.get(start)? {
                b'{' => Token::ObjectStart,
                b'[' => Token::ArrayStart,
                b'}' | b']' => Token::End,
                b',' => Token::Comma,
                b':' => Token::Colon,
                b'"' => Token::Text,
                b'-' | b'0'..=b'9' => Token::Number,
                _ => {
                    self.position += 1;
                    continue;
                }
            };
            self.position += match token {
                Token::Text => text_length(bytes.get(start..).unwrap_or_default()),
                Token::Number => {
                    let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                    bytes.iter().skip(start).take_while(is_part).count()
                }
                Token::ObjectStart | Token::ArrayStart | Token::End | Token::Comma | Token::Colon => 1,
            };
            return Some((token, start, self.position));
        }
    }
}

/// The length of the string that `bytes` begin with, in quotes.
fn text_length(bytes: &[u8]) -> usize {
    let mut length = 1;
    while let Some(byte) = bytes.get(length) {
        length += 1;
        match byte {
            b'"' => break,
            b'\\' => length += 1,
            _ => {}
        }
    }
    length
}

/// An object or an array that is open.
struct Frame {
    /// The current member, as pointers name it; `None` in an array.
    name: Option<String>,
    awaits_name: bool,
    index: usize,
    hints: Hints,
    names: Names,
}

struct Walk<'a> {
    detector: &'a Detector,
    taken: Taken,
    frames: Vec<Frame>,
    report: JsonReport,
    text: &'a str,
    /// The masked text as far as `copied`, once something was masked.
    output: Option<String>,
    copied: usize,
}

impl Walk<'_> {
    fn token(&mut self, token: Token, start: usize, end: usize) {
        match token {
            Token::ObjectStart | Token::ArrayStart => {
                let object = token == Token::ObjectStart;
                self.frames.push(Frame {
                    name: object.then(String::new),
                    awaits_name: object,
                    index: 0,
                    hints: self.hints(),
                    names: Names::default(),
                });
            }
            Token::End => drop(self.frames.pop()),
            Token::Comma => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.index += 1;
                    frame.awaits_name = frame.name.is_some();
                }
            }
            Token::Colon => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.awaits_name = false;
                }
            }
            Token::Text => {
                let content = self.text.get(start + 1..end - 1).map(decode).unwrap_or_default();
                if self.frames.last().is_some_and(|frame| frame.awaits_name) {
                    self.name(&content, start, end);
                } else {
                    self.value(&content, start, end);
                }
            }
            Token::Number => {
                let digits = self.text.get(start..end).unwrap_or_default();
                if digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    self.value(digits, start, end);
                }
            }
        }
    }

    /// What the nearest name says about a value here.
    fn hints(&self) -> Hints {
        self.frames.last().map(|frame| frame.hints).unwrap_or_default()
    }

    fn value(&mut self, content: &str, start: usize, end: usize) {
        let found = self.detector.find_named(content, self.hints());
        if !found.is_empty() {
            self.replace(start, end, &mask(content, &found));
            self.note(Location::Value, found);
        }
    }

    fn name(&mut self, content: &str, start: usize, end: usize) {
        let found = self.detector.find(content);
        let Some(frame) = self.frames.last_mut() else { return };
        frame.hints = context::read(content);
        if found.is_empty() {
            frame.name = Some(content.to_owned());
            return;
        }
        let name = frame.names.unique(&mask(content, &found), &self.taken);
        frame.name = Some(name.clone());
        self.replace(start, end, &name);
        self.note(Location::Name, found);
    }

    fn note(&mut self, location: Location, found: Vec<Finding>) {
        let path = self.frames.iter().map(|frame| match &frame.name {
            Some(name) => Cow::Borrowed(name.as_str()),
            None => Cow::Owned(frame.index.to_string()),
        });
        self.report.add(path, location, found);
    }

    /// Writes a string in place of the bytes from `start` to `end`.
    fn replace(&mut self, start: usize, end: usize, content: &str) {
        let output = self.output.get_or_insert_default();
        output.push_str(self.text.get(self.copied..start).unwrap_or_default());
        output.push_str(&Value::from(content).to_string());
        self.copied = end;
    }
}

/// The content of a string without its escapes. Half of a surrogate pair, which no text can hold, becomes U+FFFD.
pub(super) fn decode(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    let mut content = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((before, escape)) = rest.split_once('\\') {
        content.push_str(before);
        let Some(letter) = escape.chars().next() else { break };
        rest = escape.get(letter.len_utf8()..).unwrap_or_default();
        match letter {
            'b' => content.push('\u{8}'),
            'f' => content.push('\u{C}'),
            'n' => content.push('\n'),
            'r' => content.push('\r'),
            't' => content.push('\t'),
            'u' => {
                let (decoded, length) = decode_unit(rest);
                content.push(decoded);
                rest = rest.get(length..).unwrap_or_default();
            }
            other => content.push(other),
        }
    }
    content.push_str(rest);
    Cow::Owned(content)
}

/// The character that begins with these four hex digits, and how many bytes of `rest` it takes.
fn decode_unit(rest: &str) -> (char, usize) {
    let unit = |at: usize| rest.get(at..at + 4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
    let first = unit(0).unwrap_or_default();
    if let Some(decoded) = char::from_u32(u32::from(first)) {
        return (decoded, 4);
    }
    let second = rest.get(4..6).filter(|escape| *escape == "\\u").and_then(|_| unit(6));
    let pair = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
    pair.map_or((char::REPLACEMENT_CHARACTER, 4), |decoded| (decoded, 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded() {
        for (raw, content) in [
            ("plain", "plain"),
            (r#"a\"\\\/\b\f\n\r\t"#, "a\"\\/\u{8}\u{C}\n\r\t"),
            (r"\u0040\u00e9x", "@éx"),
            (r"\ud83d\ude00!", "😀!"),
            (r"\ud83d!\udE00\ud83d\u0041", "\u{FFFD}!\u{FFFD}\u{FFFD}A"),
        ] {
            assert_eq!(decode(raw), content, "{raw}");
        }
    }
}
