//! Reading JSON text.
//!
//! Nearly all text is usual and is read here, in a third of the time that `serde_json` takes: members are collected before their map is
//! made, so that it never grows. What is unusual or wrong goes to [`unrepeated`](super::unrepeated), which decides and has the words.

use serde_json::{Map, Value};

use super::scan::find_special;
use super::unrepeated;

/// Far below the depth that is refused, so that only one place refuses.
const DEEPEST: usize = 100;
/// The most digits of which every number fits.
const DIGITS: usize = 18;

/// Reads a JSON value. A repeated member is an error of the kind "data"; no other error is.
///
/// ```
/// assert!(gateway_dialects::from_slice(br#"{"a": {"b": 1}, "c": [{"b": 1}]}"#).is_ok());
/// let error = gateway_dialects::from_slice(br#"{"a": {"b": 1, "\u0062": 2}}"#).unwrap_err();
/// assert!(error.is_data());
/// ```
pub fn from_slice(text: &[u8]) -> Result<Value, serde_json::Error> {
    match std::str::from_utf8(text) {
        Ok(text) => from_str(text),
        Err(_) => unrepeated::from_slice(text),
    }
}

/// Reads a JSON value from a string slice.
pub(crate) fn from_str(text: &str) -> Result<Value, serde_json::Error> {
    read_usual(text).map_or_else(|| unrepeated::from_str(text), Ok)
}

/// Reads a text that is JSON; `None` where it is not, repeats a member, or is deep.
fn read_usual(text: &str) -> Option<Value> {
    let mut reader = Reader { text, index: 0, items: Vec::new(), members: Vec::new() };
    let first = reader.next_byte()?;
    let value = reader.value(first, 0)?;
    reader.next_byte().is_none().then_some(value)
}

struct Reader<'t> {
    text: &'t str,
    index: usize,
    /// The items of the arrays that are open, those of the innermost last.
    items: Vec<Value>,
    /// The members of the objects that are open.
    members: Vec<(String, Value)>,
}

impl Reader<'_> {
    /// Takes the next byte that is no white space.
    fn next_byte(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.index)?;
            self.index += 1;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
        }
    }

    /// The value that begins with `first`, which was taken.
    fn value(&mut self, first: u8, depth: usize) -> Option<Value> {
        match first {
            b'"' => self.string().map(Value::String),
            b'{' if depth < DEEPEST => self.object(depth + 1),
            b'[' if depth < DEEPEST => self.array(depth + 1),
            b't' => self.word("rue", Value::Bool(true)),
            b'f' => self.word("alse", Value::Bool(false)),
            b'n' => self.word("ull", Value::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let start = self.members.len();
        let mut byte = self.next_byte()?;
        while byte != b'}' {
            if byte != b'"' {
                return None;
            }
            let name = self.string()?;
            if self.next_byte()? != b':' {
                return None;
            }
            let first = self.next_byte()?;
            let value = self.value(first, depth)?;
            self.members.push((name, value));
            byte = self.after_element(b'}')?;
        }
        let members = self.members.drain(start..);
        let mut map = Map::with_capacity(members.len());
        for (name, value) in members {
            if map.insert(name, value).is_some() {
                return None;
            }
        }
        Some(Value::Object(map))
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        let start = self.items.len();
        let mut byte = self.next_byte()?;
        while byte != b']' {
            let item = self.value(byte, depth)?;
            self.items.push(item);
            byte = self.after_element(b']')?;
        }
        Some(Value::Array(self.items.drain(start..).collect()))
    }

    /// The first byte of the next element, or `end` if there is none.
    fn after_element(&mut self, end: u8) -> Option<u8> {
        match self.next_byte()? {
            b',' => self.next_byte().filter(|next| *next != end),
            byte if byte == end => Some(end),
            _ => None,
        }
    }

    /// The string whose quote was taken.
    fn string(&mut self) -> Option<String> {
        let start = self.index;
        let rest = self.text.as_bytes().get(start..)?;
        let mut length = find_special(rest)?;
        if rest.get(length) == Some(&b'"') {
            self.index += length + 1;
            return self.text.get(start..start + length).map(str::to_owned);
        }
        // Escapes and what is wrong with them is the library's.
        while rest.get(length) != Some(&b'"') {
            length += if rest.get(length)? == &b'\\' { 2 } else { 1 };
            length += find_special(rest.get(length..)?)?;
        }
        self.index += length + 1;
        serde_json::from_str(self.text.get(start - 1..self.index)?).ok()
    }

    /// The number whose first byte was taken.
    fn number(&mut self) -> Option<Value> {
        let start = self.index - 1;
        let rest = self.text.get(start..)?;
        let is_other = |byte: u8| !matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
        let token = rest.bytes().position(is_other).map_or(Some(rest), |length| rest.get(..length))?;
        self.index = start + token.len();
        let is_simple = token.len() <= DIGITS && token.bytes().all(|byte| byte.is_ascii_digit());
        if is_simple && (token.len() == 1 || !token.starts_with('0')) {
            return token.parse::<u64>().ok().map(Value::from);
        }
        serde_json::from_str(token).ok()
    }

    /// `value`, if the rest of its word follows.
    fn word(&mut self, rest: &str, value: Value) -> Option<Value> {
        let is_next = self.text.get(self.index..)?.starts_with(rest);
        self.index += rest.len();
        is_next.then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::{from_slice, from_str, read_usual, unrepeated};

    /// What the library makes of a text, and the words of its refusal.
    #[track_caller]
    fn check(text: &str) {
        let exact = unrepeated::from_str(text).map_err(|error| error.to_string());
        if let Some(value) = read_usual(text) {
            // Also the order of members and the kinds of numbers.
            assert_eq!(
                Ok(value.to_string()),
                exact.as_ref().map(Value::to_string).map_err(Clone::clone),
                "{text}"
            );
        }
        assert_eq!(from_str(text).map_err(|error| error.to_string()), exact, "{text}");
    }

    #[test]
    fn usual_texts_are_read_here() {
        let texts = [
            r#"{"name": "add", "inputSchema": {"type": "object", "required": ["a"], "n": [1, -2, 3.5, 1e3]}}"#,
            " [ ] ",
            "{ }",
            "[{}, [], null, true, false]",
            r#""a \"quoted\" text, é and \u00e9\ud83d\ude00 and \n""#,
            "18446744073709551615",
            "123456789012345678",
            "-0",
            "0",
            "\t{\r\n\"a\"\n:\n1\n}\n",
        ];
        for text in texts {
            assert!(read_usual(text).is_some(), "{text}");
            check(text);
        }
    }

    #[test]
    fn unusual_texts_are_decided_by_the_library() {
        let texts = [
            "",
            " ",
            "{",
            "}",
            "[",
            "]",
            "[1",
            "[1,",
            "[1,]",
            "[,1]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{,}",
            "{a:1}",
            "{\"a\":1 \"b\":2}",
            "[1 2]",
            "\"",
            "\"\\",
            "\"\\\"",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"a\nb\"",
            "\"\u{0}\"",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "+1",
            "--1",
            "1-2",
            "tru",
            "nul",
            "falsey",
            "true false",
            "1 1",
            "{} {}",
            "NaN",
            "Infinity",
            "\u{feff}{}",
            "\u{a0}1",
            "{\"a\":1,\"a\":2}",
            "{\"a\":1,\"\\u0061\":2}",
            "{1:2}",
            "1e999",
            "-1e999",
            "99999999999999999999999",
            "[[\"\\",
            "\"\\\\",
            "\"\\\\\\\"",
            "{\"a\":1]",
            "[1}",
        ];
        for text in texts {
            check(text);
        }
        for depth in [99, 100, 101, 127, 128, 129, 100_000] {
            check(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
            check(&format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth)));
        }
        assert!(from_slice(b"\"\xff\"").is_err());
        assert!(from_slice(b"\xff").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_as_by_the_library(text in r#"[\[\]{}",:0-9a-z\\ntrue.eE+\- é\n]{0,40}"#) {
            check(&text);
        }

        #[test]
        fn any_value_is_read_as_by_the_library(
            value in crate::json::arbitrary::value(),
            cut in 0..200usize,
        ) {
            let text = value.to_string();
            check(&text);
            check(&format!("{value:#}"));
            // Cut anywhere.
            let end = (0..=cut.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
            check(&text[..end]);
        }
    }
}
