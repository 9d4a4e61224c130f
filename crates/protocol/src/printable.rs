//! Untrusted text, escaped for display.
//!
//! Names, descriptions and messages come from servers, callers and models. Raw, they could move a terminal's cursor,
//! forge lines of output, or reorder what a person reads before approving a call. Programs get the original text;
//! people get it escaped.

use std::borrow::Cow;
use std::fmt::Write as _;

/// `text` on one line: control characters, line ends, bidirectional controls and invisible characters are escaped as in
/// Rust (`\n`, `\u{1b}`). Text without any of them is borrowed.
///
/// ```
/// use gateway_protocol::printable;
///
/// assert_eq!(printable("caf\u{e9}"), "caf\u{e9}");
/// assert_eq!(printable("a\u{1b}[2Jb\r\nc"), "a\\u{1b}[2Jb\\r\\nc");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, is_unsafe, escape)
}

/// Like [`printable`], for text of several lines: line feeds and tabs stay.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, is_unsafe_in_lines, escape)
}

/// A JSON text with the same characters escaped inside its strings as JSON does (`\u001b`): the value stays the same.
/// Outside strings only `\r` needs escaping, and becomes a space.
///
/// ```
/// use gateway_protocol::printable_json;
///
/// assert_eq!(printable_json("{\"a\":\r\"\u{9b}\"}"), "{\"a\": \"\\u009b\"}");
/// ```
pub fn printable_json(text: &str) -> Cow<'_, str> {
    escaped(text, is_unsafe_in_lines, |character, out| match character {
        // Strings never contain it unescaped.
        '\r' => out.push(' '),
        _ => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a `String` cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    })
}

/// `text` with the characters that match `is_escaped` replaced by what `escape` writes.
fn escaped(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    let Some(first) = text.find(&is_escaped) else { return Cow::Borrowed(text) };
    let (clean, rest) = text.split_at(first);
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(clean);
    for character in rest.chars() {
        if is_escaped(character) { escape(character, &mut out) } else { out.push(character) }
    }
    Cow::Owned(out)
}

fn escape(character: char, out: &mut String) {
    match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        // Writing to a `String` cannot fail.
        _ => drop(write!(out, "\\u{{{:x}}}", u32::from(character))),
    }
}

fn is_unsafe_in_lines(character: char) -> bool {
    !matches!(character, '\n' | '\t') && is_unsafe(character)
}

/// Whether a character controls a terminal, changes the reading order, or is invisible.
fn is_unsafe(character: char) -> bool {
    if matches!(character, ' '..='~') {
        return false;
    }
    matches!(
        character,
        // C0, DEL, C1; soft hyphen, Arabic letter mark.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{61c}'
        // Hangul fillers and the Mongolian vowel separator, which show as nothing.
        | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{ffa0}'
        // Zero-width characters and bidirectional marks; line and paragraph separators, embeddings and overrides.
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        // Invisible operators and isolates; the byte-order mark; interlinear annotations; tags.
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, one_line: &str, lines: &str) {
        assert_eq!((printable(text).as_ref(), printable_lines(text).as_ref()), (one_line, lines));
    }

    #[test]
    fn plain_text_is_borrowed() {
        for text in ["", "plain", "größe 測試 🙂", "back\\slash `tick`"] {
            check(text, text, text);
            assert!(matches!(printable(text), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn escapes_what_acts_on_a_terminal_or_hides() {
        check("\u{1b}[31mred", "\\u{1b}[31mred", "\\u{1b}[31mred");
        check("a\nb\tc\r", "a\\nb\\tc\\r", "a\nb\tc\\r");
        check("\0\u{7}\u{9b}\u{7f}", "\\u{0}\\u{7}\\u{9b}\\u{7f}", "\\u{0}\\u{7}\\u{9b}\\u{7f}");
        check("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c", "a\\u{202e}b\\u{2066}c");
        check(
            "x\u{200b}y\u{feff}z\u{e0041}",
            "x\\u{200b}y\\u{feff}z\\u{e0041}",
            "x\\u{200b}y\\u{feff}z\\u{e0041}",
        );
        check("a\u{2028}b", "a\\u{2028}b", "a\\u{2028}b");
    }
}
