//! Secrets that were found once, taken out wherever they stand.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::ops::Range;

use gateway_protocol::RawJson;
use memchr::memmem;

use crate::matching::REDACTED;

/// Shorter texts are hidden only where they were named as secrets.
pub(crate) const SHORTEST_FOUND: usize = 8;
/// Shorter texts stand everywhere by chance.
pub(crate) const SHORTEST_NAMED: usize = 4;
/// JSON that stands in a string of JSON that stands in a string.
const NESTING: usize = 2;

/// A text that is taken out, in all ways in which it may be written.
#[derive(Clone)]
pub(crate) struct Secret {
    spellings: Vec<memmem::Finder<'static>>,
    /// A short text may also be the name of a member, which stays.
    is_short: bool,
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not its text.
        formatter.debug_struct("Secret").field("spellings", &self.spellings.len()).finish_non_exhaustive()
    }
}

impl Secret {
    pub(crate) fn new(text: &str) -> Self {
        let spellings = spellings(text);
        let finders = spellings.iter().map(|one| memmem::Finder::new(one.as_bytes()).into_owned());
        Self { spellings: finders.collect(), is_short: text.len() < SHORTEST_FOUND }
    }
}

/// Whether the same text elsewhere is the same secret, and not a word or a number.
pub(crate) fn is_recognisable(secret: &str) -> bool {
    secret.len() >= SHORTEST_FOUND
        && !secret.starts_with(['{', '['])
        && secret.chars().any(char::is_alphabetic)
        && !secret.chars().all(|letter| letter.is_lowercase() || matches!(letter, '-' | '_' | ' '))
}

/// The text without the secrets, and how many there were.
pub(crate) fn without(json: &RawJson, secrets: &[Secret]) -> (RawJson, usize) {
    if secrets.is_empty() {
        return (json.clone(), 0);
    }
    match hidden(json.as_str(), secrets) {
        None => (json.clone(), 0),
        Some((text, count)) => (RawJson::parse(text).unwrap_or_else(|_| RawJson::text(REDACTED)), count),
    }
}

/// How a secret may stand in a text. It was found in JSON, perhaps in JSON in a string, so what it is may be what its escapes
/// mean; and it may come back with escapes of its own.
fn spellings(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::from([text.to_owned()]);
    let mut inner = text.to_owned();
    for _ in 0..=NESTING {
        // The quotes around a secret were cut off, and its last one with them if that is a quote.
        let read = |text: &str| serde_json::from_str::<String>(&format!("\"{text}\"")).ok();
        let Some(decoded) = read(&inner).or_else(|| read(&format!("{inner}\""))) else { break };
        if decoded == inner {
            break;
        }
        all.insert(decoded.clone());
        inner = decoded;
    }
    let mut forms = all.clone();
    for _ in 0..NESTING {
        forms = forms.iter().flat_map(|form| [escaped(form), ascii(&escaped(form))]).collect();
        all.extend(forms.iter().cloned());
    }
    all.retain(|spelling| spelling.len() >= SHORTEST_NAMED.min(text.len()));
    all
}

/// The text as JSON writes it, without the quotes.
fn escaped(text: &str) -> String {
    let quoted = RawJson::text(text);
    quoted.as_str().get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// The same without letters beyond ASCII, as Python writes it.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii() {
            out.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // Writing into a text does not fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

/// The JSON text with each secret replaced that stands in it as a word; `None` if there is none.
fn hidden(json: &str, secrets: &[Secret]) -> Option<(String, usize)> {
    // What strings mean: an escape is no letter of the word behind it, and may be one of the secret.
    let decoded: Option<String> =
        json.contains('\\').then(|| Letters::of(json).map(|letter| letter.value).collect());
    let plain = decoded.as_deref().unwrap_or(json);
    let mut found: Vec<(Range<usize>, bool)> = Vec::new();
    for secret in secrets {
        for spelling in &secret.spellings {
            let length = spelling.needle().len();
            let places = spelling.find_iter(plain.as_bytes()).map(|start| start..start + length);
            found.extend(places.filter(|place| is_word(plain, place)).map(|place| (place, secret.is_short)));
        }
    }
    if found.is_empty() {
        return None;
    }
    found.sort_by_key(|(place, _)| (place.start, std::cmp::Reverse(place.end)));
    let mut out = String::with_capacity(json.len());
    let (mut count, mut copied, mut at) = (0, 0, 0);
    let mut letters = Letters::of(json);
    for (place, is_short) in found {
        // Within one that is already out.
        if place.start < at {
            continue;
        }
        let mut raw: Option<(Range<usize>, bool)> = None;
        while at < place.end {
            let Some(letter) = letters.next() else { break };
            if at >= place.start {
                let (range, in_string) = raw.get_or_insert((letter.raw.clone(), letter.in_string));
                range.end = letter.raw.end;
                *in_string &= letter.in_string;
            }
            at += letter.value.len_utf8();
        }
        let Some((range, in_string)) = raw else { break };
        if !in_string && !is_number(json, &range) || is_short && in_string && is_name(json, range.end) {
            continue;
        }
        out.push_str(json.get(copied..range.start).unwrap_or_default());
        if in_string {
            out.push_str(REDACTED);
        } else {
            out.push_str(RawJson::text(REDACTED).as_str());
        }
        copied = range.end;
        count += 1;
    }
    out.push_str(json.get(copied..).unwrap_or_default());
    (count > 0).then_some((out, count))
}

/// Whether a part of a text is no part of a longer word. Languages that are written without spaces have no such words, so only
/// ASCII counts.
fn is_word(text: &str, place: &Range<usize>) -> bool {
    let before = text.get(..place.start).unwrap_or_default();
    let after = text.get(place.end..).unwrap_or_default();
    let joins = |letter: char| letter.is_ascii_alphanumeric();
    !after.starts_with(joins) && (!before.ends_with(joins) || ends_with_escape(before.as_bytes()))
}

/// Whether a text ends with an escape of JSON or of a URL, as in JSON that stands in a string.
fn ends_with_escape(text: &[u8]) -> bool {
    let hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    match text {
        [.., b'\\', b'b' | b'f' | b'n' | b'r' | b't'] => true,
        [.., b'\\', b'u', one, two, three, four] => hex(&[*one, *two, *three, *four]),
        [.., b'%', one, two] => hex(&[*one, *two]),
        _ => false,
    }
}

/// Whether a part of JSON outside of strings is a number, and not a part of one or a word of JSON.
fn is_number(json: &str, place: &Range<usize>) -> bool {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let joins = |letter: char| matches!(letter, '-' | '+' | '.');
    json.get(place.clone()).is_some_and(digits)
        && !json.get(..place.start).is_some_and(|before| before.ends_with(joins))
        && !json.get(place.end..).is_some_and(|after| after.starts_with(joins))
}

/// Whether the string that goes on here is the name of a member.
fn is_name(json: &str, at: usize) -> bool {
    let rest = Letters { text: json, at, in_string: true };
    let mut behind = rest.skip_while(|letter| letter.in_string).skip(1);
    behind.find(|letter| !letter.value.is_ascii_whitespace()).is_some_and(|letter| letter.value == ':')
}

/// The letters of JSON text, those of strings without their escapes.
struct Letters<'a> {
    text: &'a str,
    at: usize,
    in_string: bool,
}

struct Letter {
    value: char,
    raw: Range<usize>,
    /// The quotes around a string are not in it.
    in_string: bool,
}

impl<'a> Letters<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, at: 0, in_string: false }
    }

    /// What the escape at this index means, and its length.
    fn escape(&self, at: usize) -> Option<(char, usize)> {
        let short = match self.text.as_bytes().get(at + 1)? {
            b'u' => {
                let unit = |at: usize| u16::from_str_radix(self.text.get(at + 2..at + 6)?, 16).ok();
                let first = unit(at)?;
                let pair = self.text.get(at + 6..).filter(|rest| rest.starts_with("\\u"));
                let units = [Some(first), pair.and_then(|_| unit(at + 6))];
                return match char::decode_utf16(units.into_iter().flatten()).next()? {
                    Ok(letter) => Some((letter, 6 * letter.len_utf16())),
                    Err(_) => Some((char::REPLACEMENT_CHARACTER, 6)),
                };
            }
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            other => char::from(*other),
        };
        Some((short, 2))
    }
}

impl Iterator for Letters<'_> {
    type Item = Letter;

    fn next(&mut self) -> Option<Letter> {
        let start = self.at;
        let first = self.text.get(start..)?.chars().next()?;
        let (mut value, mut length, mut in_string) = (first, first.len_utf8(), self.in_string);
        match first {
            '"' => (self.in_string, in_string) = (!self.in_string, false),
            '\\' if in_string => (value, length) = self.escape(start).unwrap_or((first, 1)),
            _ => {}
        }
        self.at += length;
        Some(Letter { value, raw: start..self.at, in_string })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn escapes_are_read_as_json_reads_them() {
        let text = r#"["a\"b\\\/\b\f\n\r\t\u00e9\ud83d\ude00é😀", 12]"#;
        let read: Value = serde_json::from_str(text).unwrap();
        let inside: String =
            Letters::of(text).filter(|letter| letter.in_string).map(|letter| letter.value).collect();
        assert_eq!(inside, read[0].as_str().unwrap());
        let raw: String = Letters::of(text).map(|letter| &text[letter.raw]).collect();
        assert_eq!(raw, text);
    }

    proptest! {
        #[test]
        fn what_remains_is_json_without_the_secret(value in crate::matching::tests::json(), around in "[ \\n\"\\\\{:é]{0,3}", depth in 0..3) {
            let secret = "Zx9\"Kqw\\77é";
            let mut text = serde_json::json!({"value": value, "text": format!("{around}{secret}{around}")}).to_string();
            for _ in 0..depth {
                text = serde_json::json!([text]).to_string();
            }
            let (out, count) = without(&RawJson::parse(text).unwrap(), &[Secret::new(secret)]);
            prop_assert_eq!(count, 1);
            prop_assert!(!out.as_str().contains("Kqw"), "{}", out);
            serde_json::from_str::<Value>(out.as_str()).unwrap();
        }
    }
}
