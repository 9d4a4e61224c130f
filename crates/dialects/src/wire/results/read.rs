//! Results read so that nothing of them is lost, whatever a server wrote.
//!
//! JSON knows more than a [`Value`] can hold: numbers of any size, values of any depth, halves of surrogate pairs. Such a
//! part becomes text, digit by digit, instead of being rounded or taking the whole result with it.

use gateway_notation::pointer;
use serde_json::{Map, Number, Value};

use crate::arguments::{has_doubles, string_end};

/// Values deeper than this become their JSON text.
const DEEPEST: usize = 100;

/// Numbers of so few characters, without an exponent, are always held exactly.
const SURELY_EXACT: usize = 15;

/// A result as it can be worked with.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ReadResult {
    /// The result.
    pub value: Value,
    /// What has another form than it came in.
    pub substitutions: Vec<Substitution>,
}

/// A part of a result that no [`Value`] can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Substitution {
    /// JSON Pointer to it.
    pub path: String,
    /// What stands for it, and why.
    pub reason: String,
}

/// Reads a result as it came. What is no JSON is one text.
///
/// ```
/// use gateway_dialects::results::read_result;
///
/// let read = read_result(r#"{"structuredContent": {"id": 12345678901234567890123, "huge": 1e400}}"#);
/// assert_eq!(read.value["structuredContent"]["id"], "12345678901234567890123");
/// assert_eq!(read.value["structuredContent"]["huge"], "1e400");
/// assert_eq!(read.substitutions[1].path, "/structuredContent/huge");
/// ```
pub fn read_result(text: &str) -> ReadResult {
    // Doubles alone may say other digits than came; few results have any.
    if let Ok(value) = crate::json::from_str(text)
        && (!has_doubles(&value) || has_only_exact_numbers(text))
    {
        return ReadResult { value, substitutions: Vec::new() };
    }
    let mut reader = Reader { text, at: 0, path: String::new(), substitutions: Vec::new() };
    if let Some(value) = reader.value(0) {
        return ReadResult { value, substitutions: reader.substitutions };
    }
    let reason = "it is no JSON, and sent as the text that came".to_owned();
    let substitutions = vec![Substitution { path: String::new(), reason }];
    ReadResult { value: Value::String(text.to_owned()), substitutions }
}

/// Whether a double or an integer holds every number outside of strings.
fn has_only_exact_numbers(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(|letter: char| letter == '"' || letter == '-' || letter.is_ascii_digit()) {
        let here = rest.get(at..).unwrap_or_default();
        let length = if here.starts_with('"') {
            string_end(here)
        } else {
            let token = number_token(here);
            if !is_exact(token) {
                return false;
            }
            token.len()
        };
        rest = here.get(length.max(1)..).unwrap_or_default();
    }
    true
}

fn number_token(text: &str) -> &str {
    let is_part = |letter: char| letter.is_ascii_digit() || matches!(letter, '-' | '+' | '.' | 'e' | 'E');
    let end = text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Whether what is read from a number says the same digits.
fn is_exact(token: &str) -> bool {
    let is_whole = !token.contains(['.', 'e', 'E']);
    if is_whole {
        return token.len() <= SURELY_EXACT || token.parse::<i64>().is_ok() || token.parse::<u64>().is_ok();
    }
    if token.len() <= SURELY_EXACT && !token.contains(['e', 'E']) {
        return true;
    }
    let Ok(double) = token.parse::<f64>() else { return false };
    double.is_finite() && decimal(token) == decimal(&format!("{double:e}"))
}

/// The significant digits of a number, and the power of ten of the first; `None` if the power is beyond all bounds.
fn decimal(token: &str) -> Option<(String, i64)> {
    let unsigned = token.trim_start_matches('-');
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let leading = digits.len() - digits.trim_start_matches('0').len();
    let significant = digits.trim_matches('0').to_owned();
    if significant.is_empty() {
        return Some((significant, 0));
    }
    let exponent: i64 = exponent.trim_start_matches('+').parse().ok()?;
    let first = i64::try_from(whole.len()).ok()?.checked_sub(i64::try_from(leading).ok()?)?;
    Some((significant, exponent.checked_add(first)?))
}

/// Reads value by value; the text is JSON already, so that little can go wrong.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    path: String,
    substitutions: Vec<Substitution>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next letter that is no white space.
    fn next(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
        self.rest().chars().next()
    }

    /// Takes the next letter if it is this one.
    fn takes(&mut self, letter: char) -> bool {
        let is_it = self.next() == Some(letter);
        if is_it {
            self.at += letter.len_utf8();
        }
        is_it
    }

    fn substituted(&mut self, reason: &str) {
        self.substitutions.push(Substitution { path: self.path.clone(), reason: reason.to_owned() });
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        match self.next()? {
            '{' | '[' if depth >= DEEPEST => {
                let raw = self.skipped()?;
                self.substituted("it is nested too deeply, and sent as its JSON text");
                Some(Value::String(raw.to_owned()))
            }
            '{' => self.object(depth),
            '[' => self.array(depth),
            '"' => self.string().map(Value::String),
            't' => self.word("true", Value::Bool(true)),
            'f' => self.word("false", Value::Bool(false)),
            'n' => self.word("null", Value::Null),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Option<Value> {
        self.rest().starts_with(word).then(|| {
            self.at += word.len();
            value
        })
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut members = Map::new();
        self.each('}', |this| {
            this.next().filter(|letter| *letter == '"')?;
            let key = this.string()?;
            if !this.takes(':') {
                return None;
            }
            let value = this.below(&pointer::escape(&key), depth)?;
            members.insert(key, value);
            Some(())
        })?;
        Some(Value::Object(members))
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        self.each(']', |this| {
            let item = this.below(&items.len().to_string(), depth)?;
            items.push(item);
            Some(())
        })?;
        Some(Value::Array(items))
    }

    /// Reads what stands between a bracket and its end, part by part.
    fn each(&mut self, end: char, mut part: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        if self.takes(end) {
            return Some(());
        }
        loop {
            part(self)?;
            if self.takes(end) {
                return Some(());
            }
            if !self.takes(',') {
                return None;
            }
        }
    }

    fn below(&mut self, step: &str, depth: usize) -> Option<Value> {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(step);
        let value = self.value(depth + 1);
        self.path.truncate(length);
        value
    }

    fn number(&mut self) -> Option<Value> {
        let token = number_token(self.rest());
        let read = serde_json::from_str::<Number>(token);
        if token.is_empty() || (read.is_err() && decimal(token).is_some_and(|(digits, _)| digits.is_empty()))
        {
            return None;
        }
        self.at += token.len();
        match read {
            Ok(number) if is_exact(token) => Some(Value::Number(number)),
            Ok(_) | Err(_) => {
                self.substituted(
                    "the number has more digits or size than a double holds, and is sent as text",
                );
                Some(Value::String(token.to_owned()))
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let rest = self.rest();
        let token = rest.get(..string_end(rest))?;
        self.at += token.len();
        if let Ok(text) = serde_json::from_str(token) {
            return Some(text);
        }
        self.substituted("half of a surrogate pair is sent as U+FFFD");
        unescaped(token.strip_prefix('"')?.strip_suffix('"')?)
    }

    /// A whole object or list, unread.
    fn skipped(&mut self) -> Option<&'a str> {
        let begin = self.at;
        let mut open = 0_usize;
        loop {
            let rest = self.rest();
            let at = rest.find(['"', '{', '}', '[', ']'])?;
            let here = rest.get(at..)?;
            self.at += at;
            match here.as_bytes().first()? {
                b'"' => {
                    self.at += string_end(here);
                    continue;
                }
                b'{' | b'[' => open += 1,
                _ => open = open.checked_sub(1)?,
            }
            self.at += 1;
            if open == 0 {
                return self.text.get(begin..self.at);
            }
        }
    }
}

/// What the inside of a string says; halves of surrogate pairs are U+FFFD.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let letter = escape.chars().next()?;
        let after = escape.get(letter.len_utf8()..)?;
        rest = after;
        out.push(match letter {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let unit = code_unit(after)?;
                rest = after.get(4..)?;
                let low = rest.strip_prefix("\\u").and_then(code_unit).unwrap_or_default();
                let pair = char::decode_utf16([unit, low]).next();
                if let Some(Ok(letter)) = pair {
                    if (0xd800..0xdc00).contains(&unit) {
                        rest = rest.get(6..)?;
                    }
                    letter
                } else {
                    char::REPLACEMENT_CHARACTER
                }
            }
            same => same,
        });
    }
    out.push_str(rest);
    Some(out)
}

fn code_unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(read: &ReadResult) -> Vec<&str> {
        read.substitutions.iter().map(|substitution| substitution.path.as_str()).collect()
    }

    #[test]
    fn what_a_value_holds_is_read_as_it_is() {
        for text in [
            r#"{"content":[{"type":"text","text":"1e400 and \"12345678901234567890123\""}],"isError":false}"#,
            "[0, -0.5, 1e3, 18446744073709551615, -9223372036854775808, 0.1, 3.141592653589793, 1E+2, 0e999]",
            "[5e-324, 1.7976931348623157e308, 100000000000000.50]",
            "null",
            r#""\ud83d\ude00 \\ \" \u00e4""#,
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(
                read_result(text),
                ReadResult { value: expected, substitutions: Vec::new() },
                "{text}"
            );
        }
    }

    #[test]
    fn numbers_that_would_lose_digits_become_text() {
        let text = r#"{"a/b": [1e400, 12345678901234567890123, 0.1000000000000000055511, 7], "~": -1e-400,
                       "t": 18446744073709551616, "u": 1e99999999999999999999}"#;
        let read = read_result(text);
        let expected = json!({
            "a/b": ["1e400", "12345678901234567890123", "0.1000000000000000055511", 7],
            "~": "-1e-400", "t": "18446744073709551616", "u": "1e99999999999999999999",
        });
        assert_eq!(read.value, expected);
        assert_eq!(paths(&read), ["/a~1b/0", "/a~1b/1", "/a~1b/2", "/~0", "/t", "/u"]);
    }

    #[test]
    fn halves_of_surrogate_pairs_take_nothing_else_with_them() {
        let read = read_result(r#"{"x":"a\ud800b\n\"\\\/\u00e4\ud83d\ude00\udc00","y":"\ud83d\\u","z":1}"#);
        let expected = json!({"x": "a\u{fffd}b\n\"\\/ä😀\u{fffd}", "y": "\u{fffd}\\u", "z": 1});
        assert_eq!((&read.value, paths(&read)), (&expected, vec!["/x", "/y"]));
        assert_eq!(read_result(r#"{"\udead":1}"#).value, json!({"\u{fffd}": 1}));
    }

    #[test]
    fn what_is_too_deep_becomes_its_text() {
        let (open, close) = ("[{\"a\":".repeat(5_000), "}]".repeat(5_000));
        let text = format!("{{\"content\":[],\"deep\":{open}\"]}}\\\"\"{close}}}");
        let read = read_result(&text);
        assert_eq!(read.value["content"], json!([]));
        assert_eq!(read.substitutions.len(), 1);
        let inner = read.value.pointer(&read.substitutions[0].path).unwrap().as_str().unwrap();
        assert!(text.contains(inner) && inner.starts_with("{\"a\":[{") && inner.ends_with("}]}"), "{inner}");
        assert_eq!(
            inner.matches("{\"a\":").count(),
            inner.matches('}').count() - 1,
            "one stands in a string"
        );
    }

    #[test]
    fn what_is_no_json_is_a_text() {
        for text in
            ["", "{", "[1,", "{\"a\":", "{\"a\" 1}", "[1 2]", "{a:1}", "-", "nul", "\"x", "[1e5", "\\"]
        {
            let read = read_result(text);
            assert_eq!((read.value, read.substitutions.len()), (json!(text), 1), "{text}");
        }
    }
}
