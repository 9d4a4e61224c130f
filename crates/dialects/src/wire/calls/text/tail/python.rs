//! Python calls with keyword arguments that are literals: `f(a=1, b="x")`, also inside `print(…)`.

use serde_json::{Map, Value};

use super::literal::{Fed, LiteralReader, Syntax};
use crate::json::from_str;

/// Bytes of a name.
const MAX_NAME: usize = 128;

/// Calls as they arrive.
#[derive(Clone, Debug, Default)]
pub(super) struct PythonReader {
    state: State,
    /// Whether a `print(` is open.
    printed: bool,
    calls: usize,
}

#[derive(Clone, Debug, Default)]
enum State {
    /// Before a call.
    #[default]
    Gap,
    Name(usize),
    /// Behind a bracket or a comma.
    Argument,
    Keyword,
    /// White space before `=`.
    Equals,
    Value(LiteralReader),
    /// Behind a value.
    Comma,
    /// Behind a call inside `print(`.
    Printed,
}

impl PythonReader {
    /// Takes one more byte. Each call ends with [`Fed::Done`], all of them with [`Fed::Before`].
    pub(super) fn feed(&mut self, text: &str, at: usize, byte: u8, is_offered: &dyn Fn(&str) -> bool) -> Fed {
        let is_space = byte.is_ascii_whitespace();
        let next = match &mut self.state {
            State::Gap if is_space || (self.calls > 0 && !self.printed && matches!(byte, b',' | b';')) => {
                return Fed::More;
            }
            State::Gap if is_start(byte) => State::Name(at),
            State::Gap if self.calls > 0 && !self.printed => return Fed::Before,
            State::Name(start) if is_start(byte) || byte.is_ascii_digit() || byte == b'.' => {
                return if at - *start < MAX_NAME { Fed::More } else { Fed::Dead };
            }
            State::Name(start) if byte == b'(' => {
                let name = text.get(*start..at).unwrap_or_default();
                if is_offered(name) {
                    State::Argument
                } else if name == "print" && !self.printed {
                    self.printed = true;
                    State::Gap
                } else {
                    return Fed::Dead;
                }
            }
            State::Argument | State::Keyword | State::Equals | State::Comma if is_space => {
                if let State::Keyword = self.state {
                    self.state = State::Equals;
                }
                return Fed::More;
            }
            State::Argument | State::Comma if byte == b')' => {
                self.calls += 1;
                self.state = if self.printed { State::Printed } else { State::Gap };
                return if self.printed { Fed::More } else { Fed::Done };
            }
            State::Argument if is_start(byte) => State::Keyword,
            State::Keyword if is_start(byte) || byte.is_ascii_digit() => return Fed::More,
            State::Keyword | State::Equals if byte == b'=' => {
                State::Value(LiteralReader::new(Syntax::Python))
            }
            State::Value(reader) => match reader.feed(byte, at) {
                Fed::Done => State::Comma,
                Fed::Before => {
                    self.state = State::Comma;
                    return self.feed(text, at, byte, is_offered);
                }
                Fed::Key(_) => return Fed::More,
                other => return other,
            },
            State::Comma if byte == b',' => State::Argument,
            State::Printed if is_space => return Fed::More,
            State::Printed if byte == b')' => {
                self.printed = false;
                self.state = State::Gap;
                return Fed::Done;
            }
            State::Gap
            | State::Name(_)
            | State::Argument
            | State::Keyword
            | State::Equals
            | State::Comma
            | State::Printed => return Fed::Dead,
        };
        self.state = next;
        Fed::More
    }
}

fn is_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

/// The calls in `text`, which a reader has read: names and arguments.
pub(super) fn python_calls(text: &str) -> Option<Vec<(&str, Map<String, Value>)>> {
    let mut cursor = Cursor { rest: text };
    let mut calls = Vec::new();
    loop {
        cursor.skip(|c| c.is_whitespace() || matches!(c, ',' | ';' | ')'));
        if cursor.rest.is_empty() {
            return (!calls.is_empty()).then_some(calls);
        }
        let name = cursor.word();
        cursor.expect('(')?;
        cursor.skip(char::is_whitespace);
        // `print(f(…))`: what stands inside is the call.
        let inside = cursor.rest.find(['(', '=', ')']).and_then(|end| cursor.rest.get(end..));
        if name == "print" && inside.is_some_and(|inside| inside.starts_with('(')) {
            continue;
        }
        calls.push((name, cursor.arguments()?));
    }
}

/// A place in text that has been read once, so that its depth is bounded.
struct Cursor<'t> {
    rest: &'t str,
}

impl<'t> Cursor<'t> {
    fn skip(&mut self, what: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(what);
    }

    fn expect(&mut self, wanted: char) -> Option<()> {
        self.skip(char::is_whitespace);
        self.rest = self.rest.strip_prefix(wanted)?;
        Some(())
    }

    /// Whether `wanted` comes next, which is then taken.
    fn has(&mut self, wanted: char) -> bool {
        self.expect(wanted).is_some()
    }

    /// Letters, digits and what stands in names and numbers.
    fn word(&mut self) -> &'t str {
        self.skip(char::is_whitespace);
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end).unwrap_or_default();
        self.rest = rest;
        word
    }

    fn arguments(&mut self) -> Option<Map<String, Value>> {
        let mut arguments = Map::new();
        while !self.has(')') {
            let key = self.word();
            self.expect('=')?;
            let value = self.value()?;
            if arguments.insert(key.to_owned(), value).is_some() {
                return None;
            }
            if !self.has(',') {
                self.expect(')')?;
                break;
            }
        }
        Some(arguments)
    }

    fn value(&mut self) -> Option<Value> {
        self.skip(char::is_whitespace);
        match self.rest.chars().next()? {
            '[' => self.items('[', ']'),
            '(' => self.items('(', ')'),
            '{' => self.members(),
            '"' | '\'' => self.text().map(Value::String),
            _ => scalar(self.word()),
        }
    }

    fn items(&mut self, open: char, close: char) -> Option<Value> {
        self.expect(open)?;
        let mut items = Vec::new();
        while !self.has(close) {
            items.push(self.value()?);
            if !self.has(',') {
                self.expect(close)?;
                break;
            }
        }
        Some(Value::Array(items))
    }

    fn members(&mut self) -> Option<Value> {
        self.expect('{')?;
        let mut members = Map::new();
        while !self.has('}') {
            self.skip(char::is_whitespace);
            let key = self.text()?;
            self.expect(':')?;
            let value = self.value()?;
            if members.insert(key, value).is_some() {
                return None;
            }
            if !self.has(',') {
                self.expect('}')?;
                break;
            }
        }
        Some(Value::Object(members))
    }

    fn text(&mut self) -> Option<String> {
        let quote = self.rest.chars().next()?;
        let mut rest = self.rest.strip_prefix(quote)?;
        let mut out = String::new();
        loop {
            let end = rest.find([quote, '\\'])?;
            let (plain, tail) = rest.split_at_checked(end)?;
            out.push_str(plain);
            if let Some(after) = tail.strip_prefix(quote) {
                self.rest = after;
                return Some(out);
            }
            let mut escape = tail.chars();
            escape.next();
            let character = escape.next()?;
            rest = escape.as_str();
            let digits = match character {
                'x' => 2,
                'u' => 4,
                'U' => 8,
                _ => 0,
            };
            if digits > 0 {
                let (code, after) = rest.split_at_checked(digits)?;
                out.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
                rest = after;
                continue;
            }
            match character {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                '\\' | '\'' | '"' => out.push(character),
                // Python keeps what it does not know.
                other => out.extend(['\\', other]),
            }
        }
    }
}

fn scalar(word: &str) -> Option<Value> {
    match word {
        "True" | "true" => Some(Value::Bool(true)),
        "False" | "false" => Some(Value::Bool(false)),
        "None" | "null" => Some(Value::Null),
        number => {
            let number = number.strip_prefix('+').unwrap_or(number).replace('_', "");
            let is_number = number.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.'));
            let parsed = from_str(&number).ok().filter(Value::is_number);
            // Python also writes `.5` and `5.`.
            let loose = || number.parse().ok().and_then(serde_json::Number::from_f64).map(Value::Number);
            parsed.or_else(loose).filter(|_| is_number)
        }
    }
}
