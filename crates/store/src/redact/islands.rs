//! JSON inside a text: lines of JSON, a document after a prefix, a truncated one, members without braces, and the same in
//! single quotes, as Python prints it.

use std::{borrow::Cow, ops::Range};

use super::{
    edits::{Edit, shifted},
    rules::Rules,
    secrets::work,
    walk,
};

/// A part of a text that reads as JSON, at least at its beginning.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Island {
    pub(super) range: Range<usize>,
    /// Whether it begins with a member, without the opening brace.
    is_open: bool,
    has_single_quotes: bool,
}

impl Island {
    /// The secrets of the document, as edits of the whole text.
    pub(super) fn edits(&self, text: &str, rules: &Rules, depth: usize) -> Vec<Edit> {
        let part = text.get(self.range.clone()).unwrap_or_default();
        let part =
            if self.has_single_quotes { Cow::Owned(in_double_quotes(part)) } else { Cow::Borrowed(part) };
        let mut found = if self.is_open {
            let mut found = walk::edits(&format!("{{{part}"), rules, &[], depth);
            // Positions are shifted by the brace that was added.
            for Edit { range, .. } in &mut found {
                *range = range.start.saturating_sub(1)..range.end.saturating_sub(1);
            }
            found
        } else {
            walk::edits(&part, rules, &[], depth)
        };
        if self.has_single_quotes {
            for edit in found.iter_mut().filter(|edit| edit.by.contains('"')) {
                edit.by = edit.by.replace('"', "'").into();
            }
        }
        shifted(found, self.range.start).collect()
    }
}

/// Longer strings are not names of members.
const LONGEST_KEY: usize = 128;

/// The JSON parts of a text. No byte is in two islands, so the work is linear.
pub(super) fn find(text: &str) -> Vec<Island> {
    let bytes = text.as_bytes();
    let mut islands = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let read = match byte {
            b'{' | b'[' => Some(Reader::new(bytes, at).read()),
            b'"' | b'\'' if is_member(bytes, at) => Some(Reader::after_brace(bytes, at).read()),
            _ => None,
        };
        let Some(read) = read else {
            at += 1;
            continue;
        };
        let end = read.at.min(text.len());
        work::count(end - at);
        if read.strings > 0 {
            islands.push(Island {
                range: at..end,
                is_open: !matches!(byte, b'{' | b'['),
                has_single_quotes: read.has_single_quotes,
            });
        }
        at = end.max(at + 1);
    }
    islands
}

/// Whether the quote at `start` begins a name with a colon after it.
fn is_member(bytes: &[u8], start: usize) -> bool {
    let Some(quote) = bytes.get(start).filter(|_| start == 0 || bytes.get(start - 1) != Some(&b'\\')) else {
        return false;
    };
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at).filter(|byte| **byte != b'\n' && at < start + LONGEST_KEY) {
        match byte {
            b'\\' => at += 2,
            _ if byte == quote => break,
            _ => at += 1,
        }
    }
    work::count(at - start);
    let rest = bytes.get(at..).unwrap_or_default();
    let gap = rest.iter().skip(1).take(8).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    at > start + 1
        && rest.first() == Some(quote)
        && rest.get(gap + 1) == Some(&b':')
        && rest.get(gap + 2) != Some(&b':')
}

/// Reads a text as long as it is JSON. Trailing commas are allowed, and bare words as values.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    open: Vec<u8>,
    strings: usize,
    has_single_quotes: bool,
}

#[derive(Clone, Copy)]
enum Expected {
    Value,
    Key,
    Colon,
    Comma,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, open: Vec::new(), strings: 0, has_single_quotes: false }
    }

    fn after_brace(bytes: &'a [u8], at: usize) -> Self {
        Self { open: vec![b'{'], ..Self::new(bytes, at) }
    }

    fn read(mut self) -> Self {
        let mut expected = if self.open.is_empty() { Expected::Value } else { Expected::Key };
        while let Some(byte) = self.bytes.get(self.at).copied() {
            if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                self.at += 1;
                continue;
            }
            expected = match (expected, byte) {
                (Expected::Value, b'{' | b'[') => {
                    self.open.push(byte);
                    self.at += 1;
                    if byte == b'{' { Expected::Key } else { Expected::Value }
                }
                (Expected::Value | Expected::Key | Expected::Comma, b'}' | b']') => {
                    // Two brackets of one kind differ by two in ASCII.
                    if self.open.last() != Some(&(byte - 2)) {
                        return self;
                    }
                    self.at += 1;
                    self.open.pop();
                    if self.open.is_empty() {
                        return self;
                    }
                    Expected::Comma
                }
                (Expected::Value | Expected::Key, b'"' | b'\'') => {
                    if !self.string(byte) {
                        return self;
                    }
                    if matches!(expected, Expected::Key) { Expected::Colon } else { Expected::Comma }
                }
                (Expected::Value, _) if is_word(byte) => {
                    let rest = self.bytes.get(self.at..).unwrap_or_default();
                    let length = rest.iter().take_while(|byte| is_word(**byte)).count();
                    self.at += length;
                    // `b'x'` and `u'x'`
                    let is_prefix = length == 1 && matches!(byte, b'b' | b'u' | b'r');
                    if is_prefix && self.bytes.get(self.at) == Some(&b'\'') {
                        Expected::Value
                    } else {
                        Expected::Comma
                    }
                }
                (Expected::Colon, b':') => {
                    self.at += 1;
                    Expected::Value
                }
                (Expected::Comma, b',') => {
                    self.at += 1;
                    if self.open.last() == Some(&b'{') { Expected::Key } else { Expected::Value }
                }
                _ => return self,
            };
        }
        self
    }

    /// Reads a string of one line. Returns whether it is closed.
    fn string(&mut self, quote: u8) -> bool {
        self.strings += 1;
        self.has_single_quotes |= quote == b'\'';
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at).copied() {
            match byte {
                b'\\' => self.at += 2,
                b'\n' | b'\r' => return false,
                _ => {
                    self.at += 1;
                    if byte == quote {
                        return true;
                    }
                }
            }
        }
        false
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'+' | b'-')
}

/// The same text with strings in double quotes. Every byte keeps its position: double quotes inside such strings become
/// single ones, which does not affect any search.
fn in_double_quotes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut open = None;
    let mut is_escaped = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if is_escaped {
            is_escaped = false;
            // An escaped quote must not end a string that is now in other quotes.
            out.push(if letter == '"' && open == Some('\'') { '\'' } else { letter });
            continue;
        }
        let is_prefix = open.is_none() && matches!(letter, 'b' | 'u' | 'r') && letters.peek() == Some(&'\'');
        out.push(match (letter, open) {
            ('\\', Some(_)) => {
                is_escaped = true;
                letter
            }
            ('"' | '\'', None) => {
                open = Some(letter);
                '"'
            }
            (quote, Some(opened)) if quote == opened => {
                open = None;
                '"'
            }
            ('"', Some(_)) => '\'',
            _ if is_prefix => ' ',
            // `True` and `None`
            (_, None) => letter.to_ascii_lowercase(),
            (_, Some(_)) => letter,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = find(text).into_iter().map(|island| &text[island.range]).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn json_is_found_inside_of_texts() {
        check("{\"a\":1}\n{\"b\":[2]}\n", &["{\"a\":1}", "{\"b\":[2]}"]);
        check("[info] out: {\"a\": {\"b\": \"}\"}} end", &["{\"a\": {\"b\": \"}\"}}"]);
        check("x {\"a\":[\"b\",", &["{\"a\":[\"b\","]);
        check("x {\"a\": \"cut", &["{\"a\": \"cut"]);
        check("\"a\": \"b\", \"c\": 1} more", &["\"a\": \"b\", \"c\": 1}"]);
        check("don't {'a': None, 'b': u'it', \"c\": \"d\"}.", &["{'a': None, 'b': u'it', \"c\": \"d\"}"]);
        check("{\"a\": Foo(1), \"b\": 2}", &["{\"a\": Foo", "\"b\": 2}"]);
    }

    #[test]
    fn prose_and_code_are_not_json() {
        for text in [
            "he said \"hello\" and 'bye'",
            "fn main() { println!(1); } [1, 2]",
            "{\\\"a\\\": 1}",
            "std::vec<'a'::b>",
            "see [the docs](https://example.com)",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn single_quotes_become_double_ones_without_moving_anything() {
        for (text, expected) in [
            ("{'a': 'b'}", "{\"a\": \"b\"}"),
            ("{'a': 'say \"x\"', \"b\": \"it's\"}", "{\"a\": \"say 'x'\", \"b\": \"it's\"}"),
            ("['it\\'s', b'é', True]", "[\"it\\'s\",  \"é\", true]"),
        ] {
            assert_eq!(in_double_quotes(text), expected);
            assert_eq!(text.len(), expected.len());
        }
    }
}
