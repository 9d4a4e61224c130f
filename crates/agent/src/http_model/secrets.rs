//! Keys, kept out of what APIs say of them.

use std::fmt;

use bytes::Bytes;
use http::HeaderMap;

/// What stands in place of a key.
const HIDDEN: &str = "***";

/// Shorter values are no secrets, and would be found everywhere.
const SECRET_CHARACTERS: usize = 6;

/// So many characters of a key at the end of a text that was cut are taken for its beginning.
const CUT_CHARACTERS: usize = 4;

/// Values of headers that nobody is to see, the longest first. They are found in every spelling that an error may have them in: as they are,
/// escaped in JSON, and encoded for an address.
pub(super) struct KeySecrets(Vec<Vec<char>>);

/// How a text ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextEnd {
    /// Where its author ended it.
    Whole,
    /// Where we stopped reading, which may be in the middle of a key.
    Cut,
}

impl fmt::Debug for KeySecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} secrets", self.0.len())
    }
}

impl KeySecrets {
    /// What is sensitive among headers.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let values = headers.values().filter(|value| value.is_sensitive());
        let texts = values.filter_map(|value| std::str::from_utf8(value.as_bytes()).ok());
        let words = texts.flat_map(str::split_whitespace).map(|word| word.chars().collect::<Vec<_>>());
        let mut secrets: Vec<Vec<char>> = words.filter(|word| word.len() >= SECRET_CHARACTERS).collect();
        // One may be a part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets)
    }

    /// Hides them in a text.
    pub(super) fn hide(&self, text: String, end: TextEnd) -> String {
        let found = self.find(&text, end);
        if found.is_empty() {
            return text;
        }
        let mut shown = String::with_capacity(text.len());
        let mut after = 0;
        for (start, stop) in found {
            shown.push_str(text.get(after..start).unwrap_or_default());
            shown.push_str(HIDDEN);
            after = stop;
        }
        shown.push_str(text.get(after..).unwrap_or_default());
        shown
    }

    /// Hides them in bytes. What is no UTF-8 is replaced, but only if there is something to hide.
    pub(super) fn hide_bytes(&self, bytes: Bytes, end: TextEnd) -> Bytes {
        let text = String::from_utf8_lossy(&bytes);
        if self.find(&text, end).is_empty() {
            return bytes;
        }
        self.hide(text.into_owned(), end).into()
    }

    /// Where they stand, in order and apart from each other.
    fn find(&self, text: &str, end: TextEnd) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut after = 0;
        for (start, _) in text.char_indices() {
            if start < after {
                continue;
            }
            let rest = text.get(start..).unwrap_or_default();
            if let Some(length) = self.0.iter().find_map(|secret| matched(rest, secret, end)) {
                after = start + length;
                found.push((start, after));
            }
        }
        found
    }
}

/// Bytes of the secret with which `text` begins, in any spelling.
fn matched(text: &str, secret: &[char], end: TextEnd) -> Option<usize> {
    let mut rest = text;
    for (count, wanted) in secret.iter().enumerate() {
        match after_letter(rest, *wanted) {
            Some(after) => rest = after,
            // A letter of several bytes may be cut, too.
            None if end == TextEnd::Cut && count >= CUT_CHARACTERS && is_cut_letter(rest) => {
                return Some(text.len());
            }
            None => return None,
        }
    }
    Some(text.len() - rest.len())
}

/// The text behind one letter, in any spelling of it.
fn after_letter(text: &str, wanted: char) -> Option<&str> {
    if let Some(after) = text.strip_prefix(wanted) {
        // A backslash is two in JSON.
        return Some(if wanted == '\\' { after.strip_prefix('\\').unwrap_or(after) } else { after });
    }
    // JSON inside of JSON has several.
    let bare = text.trim_start_matches('\\');
    if bare.len() < text.len() {
        if let Some(code) = bare.strip_prefix('u') {
            let number = code.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok())?;
            return (number == u32::from(wanted)).then(|| code.get(4..)).flatten();
        }
        return bare.strip_prefix(wanted).filter(|_| matches!(wanted, '/' | '"' | '\''));
    }
    let mut rest = text;
    for byte in wanted.encode_utf8(&mut [0; 4]).bytes() {
        let digits = rest.strip_prefix('%')?.get(..2)?;
        if u8::from_str_radix(digits, 16).ok()? != byte {
            return None;
        }
        rest = rest.get(3..)?;
    }
    Some(rest)
}

/// Whether nothing, or less than one letter in some spelling, is left of a text.
fn is_cut_letter(rest: &str) -> bool {
    rest.is_empty() || rest.len() < 8 && (rest.starts_with(['\\', '%', char::REPLACEMENT_CHARACTER]))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue};

    use super::*;

    fn secrets(key: &str) -> KeySecrets {
        let mut value = HeaderValue::from_str(&format!("Bearer {key}")).unwrap();
        value.set_sensitive(true);
        KeySecrets::of(&HeaderMap::from_iter([(HeaderName::from_static("authorization"), value)]))
    }

    #[track_caller]
    fn check(key: &str, text: &str, expected: &str, end: TextEnd) {
        assert_eq!(secrets(key).hide(text.to_owned(), end), expected, "{text}");
        assert_eq!(secrets(key).hide_bytes(Bytes::from(text.to_owned()), end), expected, "{text}");
    }

    #[test]
    fn keys_are_found_in_every_spelling() {
        for (key, text) in [
            ("sk/ab+cd", "no sk/ab+cd here"),
            ("sk/ab+cd", r"no sk\/ab\u002bcd here"),
            ("sk/ab+cd", r"no \u0073\u006B\/ab\u002Bcd here"),
            ("sk/ab+cd", r"no sk\\/ab\\u002bcd here"),
            ("sk/ab+cd", "no sk%2Fab%2bcd here"),
            ("sk-ä-123", "no sk-%C3%A4-123 here"),
            ("sk-ä-123", r"no sk-\u00e4-123 here"),
            ("a\"b\\c123", r#"no a\"b\\c123 here"#),
            ("a\"b\\c123", "no a\"b\\c123 here"),
        ] {
            check(key, text, "no *** here", TextEnd::Whole);
        }
        check("sk-123456", "sk-12345 and sk-123457", "sk-12345 and sk-123457", TextEnd::Whole);
        check("sk-123456", "twice sk-123456sk-123456.", "twice ******.", TextEnd::Whole);
    }

    #[test]
    fn a_key_that_was_cut_is_hidden_as_far_as_it_goes() {
        check("sk-123456", "no sk-1234", "no ***", TextEnd::Cut);
        check("sk/-23456", r"no sk\/-2\u00", "no ***", TextEnd::Cut);
        check("sk-123456", "no sk-1234", "no sk-1234", TextEnd::Whole);
        check("sk-123456", "no sk-", "no sk-", TextEnd::Cut);
    }
}
