//! Reads an object out of text that is nearly JSON, and says what was wrong with it.
//!
//! One pass per candidate start, a bounded number of candidates, bounded nesting: linear time on any input.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::parse::Repair;
use crate::json::from_str;

/// Opening braces tried before the text is given up.
const MAX_STARTS: usize = 16;
/// Nesting, as deep as `serde_json` itself goes.
const MAX_DEPTH: u32 = 128;
/// Layers of JSON text inside JSON strings.
const MAX_LAYERS: u32 = 4;

/// An object that was found.
#[derive(Default)]
pub(super) struct Repaired {
    pub(super) object: Map<String, Value>,
    /// What it took.
    pub(super) repairs: BTreeSet<Repair>,
    /// A member that stands twice in one object.
    pub(super) repeated: Option<String>,
    /// Whether it has an end, and no other object stands beside it.
    pub(super) is_whole: bool,
}

/// The first object in `text`.
pub(super) fn parse_lenient(text: &str) -> Option<Repaired> {
    parse_layer(text, 0)
}

fn parse_layer(text: &str, layer: u32) -> Option<Repaired> {
    if let Ok(Value::Object(object)) = from_str(text) {
        return Some(Repaired { object, is_whole: true, ..Repaired::default() });
    }
    if layer < MAX_LAYERS
        && text.trim_start().starts_with('"')
        && let Ok(inner) = serde_json::from_str::<String>(text)
    {
        let mut repaired = parse_layer(&inner, layer + 1)?;
        repaired.repairs.insert(Repair::TwiceEncoded);
        return Some(repaired);
    }
    text.match_indices('{').take(MAX_STARTS).find_map(|(start, _)| {
        let (before, rest) = text.split_at_checked(start)?;
        // A fence that opened before the object may close before the object does.
        let fence = before.contains(FENCE).then(|| rest.rfind(FENCE)).flatten();
        read_from(before, rest, rest.len()).or_else(|| read_from(before, rest, fence?))
    })
}

const FENCE: &str = "```";

fn read_from(before: &str, rest: &str, end: usize) -> Option<Repaired> {
    let mut reader = Reader::new(rest.get(..end)?);
    let object = reader.object()?;
    let after = rest.get(reader.at..)?;
    let mut used = reader.used;
    if reader.truncated {
        used.insert(Repair::TruncatedTail);
    }
    if before.contains(FENCE) || after.contains(FENCE) {
        used.insert(Repair::CodeFences);
    }
    if !is_fence_or_blank(before) || !is_fence_or_blank(after) {
        used.insert(Repair::SurroundingText);
    }
    let is_whole = !reader.truncated && !before.contains('{') && !after.contains('{');
    Some(Repaired { object, repairs: used, repeated: reader.repeated, is_whole })
}

/// Whether nothing stands there but at most a fence and its language.
fn is_fence_or_blank(text: &str) -> bool {
    match text.trim().strip_prefix(FENCE) {
        None => text.trim().is_empty(),
        Some(language) => language.chars().all(|c| c.is_ascii_alphanumeric()),
    }
}

/// What stood where a value should be.
enum Read {
    Value(Value),
    /// The text ended before it began.
    Nothing,
}

/// A place in the text. `None` from a method means that even leniency does not help.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    truncated: bool,
    used: BTreeSet<Repair>,
    repeated: Option<String>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0, truncated: false, used: BTreeSet::new(), repeated: None }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Skips white space and comments, then tells what comes next. The end of the text is remembered.
    fn next_token(&mut self) -> Option<char> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let end = if trimmed.starts_with("//") || trimmed.starts_with('#') {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
            } else {
                self.truncated |= trimmed.is_empty();
                return trimmed.chars().next();
            };
            self.used.insert(Repair::Comments);
            self.at += end;
        }
    }

    fn descend(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth <= MAX_DEPTH).then_some(())
    }

    fn object(&mut self) -> Option<Map<String, Value>> {
        self.descend()?;
        self.bump();
        let mut map = Map::new();
        let mut comma = false;
        loop {
            let key = match self.next_token() {
                None => break,
                Some('}') => {
                    self.close(comma);
                    break;
                }
                Some('"' | '\'') => self.string()?,
                Some(first) if is_word(first) => {
                    self.used.insert(Repair::UnquotedKeys);
                    self.word().to_owned()
                }
                Some(_) => return None,
            };
            if self.truncated {
                break;
            }
            match self.next_token() {
                None => break,
                Some(':') => self.bump(),
                Some(_) => return None,
            };
            if let Read::Value(value) = self.value()? {
                if map.contains_key(&key) {
                    self.repeated.get_or_insert_with(|| key.clone());
                }
                map.insert(key, value);
            }
            comma = false;
            match self.next_token() {
                None => break,
                Some(',') => {
                    self.bump();
                    comma = true;
                }
                Some('}') => {}
                Some(_) => return None,
            }
        }
        self.depth -= 1;
        Some(map)
    }

    fn array(&mut self) -> Option<Vec<Value>> {
        self.descend()?;
        self.bump();
        let mut items = Vec::new();
        let mut comma = false;
        loop {
            match self.next_token() {
                None => break,
                Some(']') => {
                    self.close(comma);
                    break;
                }
                Some(_) => {}
            }
            if let Read::Value(value) = self.value()? {
                items.push(value);
            }
            comma = false;
            match self.next_token() {
                None => break,
                Some(',') => {
                    self.bump();
                    comma = true;
                }
                Some(']') => {}
                Some(_) => return None,
            }
        }
        self.depth -= 1;
        Some(items)
    }

    fn close(&mut self, after_comma: bool) {
        self.bump();
        if after_comma {
            self.used.insert(Repair::TrailingCommas);
        }
    }

    fn value(&mut self) -> Option<Read> {
        match self.next_token() {
            None => Some(Read::Nothing),
            Some('{') => self.object().map(|object| Read::Value(Value::Object(object))),
            Some('[') => self.array().map(|items| Read::Value(Value::Array(items))),
            Some('"' | '\'') => self.string().map(|text| Read::Value(Value::String(text))),
            Some(first) if first == '-' || first.is_ascii_digit() => self.number(),
            Some(_) => self.literal(),
        }
    }

    fn number(&mut self) -> Option<Read> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E')))
            .unwrap_or(rest.len());
        let mut digits = rest.get(..end)?;
        self.at += end;
        if end == rest.len() {
            self.truncated = true;
            digits = digits.trim_end_matches(['-', '+', '.', 'e', 'E']);
            if digits.is_empty() {
                return Some(Read::Nothing);
            }
        }
        serde_json::from_str::<Value>(digits).ok().map(Read::Value)
    }

    fn literal(&mut self) -> Option<Read> {
        const LITERALS: [(&str, Value, bool); 6] = [
            ("true", Value::Bool(true), false),
            ("false", Value::Bool(false), false),
            ("null", Value::Null, false),
            ("True", Value::Bool(true), true),
            ("False", Value::Bool(false), true),
            ("None", Value::Null, true),
        ];
        let word = self.word();
        let cut = self.rest().is_empty();
        let (_, value, python) = LITERALS
            .into_iter()
            .find(|(name, _, _)| *name == word || (cut && !word.is_empty() && name.starts_with(word)))?;
        if python {
            self.used.insert(Repair::PythonLiterals);
        }
        self.truncated |= cut;
        Some(Read::Value(value))
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !(is_word(c) || c == '-')).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.bump()?;
        if quote == '\'' {
            self.used.insert(Repair::SingleQuotes);
        }
        let mut out = String::new();
        loop {
            let Some(next) = self.bump() else {
                self.truncated = true;
                return Some(out);
            };
            match next {
                '\\' => self.escape(&mut out),
                _ if next == quote => return Some(out),
                _ => {
                    if next < ' ' {
                        self.used.insert(Repair::ControlCharacters);
                    }
                    out.push(next);
                }
            }
        }
    }

    fn escape(&mut self, out: &mut String) {
        let Some(next) = self.peek() else { return };
        let plain = match next {
            '"' | '\\' | '/' => next,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                self.bump();
                out.push(self.unicode());
                return;
            }
            '\'' => {
                self.used.insert(Repair::SingleQuotes);
                next
            }
            _ => {
                // A pattern such as `\d` was meant as it stands.
                self.used.insert(Repair::InvalidEscapes);
                out.push('\\');
                return;
            }
        };
        self.bump();
        out.push(plain);
    }

    /// The character after `\u`; a lone half of a pair becomes the replacement character.
    fn unicode(&mut self) -> char {
        let Some(first) = self.hex4() else {
            self.bad_unicode();
            return char::REPLACEMENT_CHARACTER;
        };
        if let Some(character) = char::from_u32(first) {
            return character;
        }
        let before = self.at;
        if self.rest().starts_with("\\u") {
            self.at += 2;
            let low = self.hex4().filter(|low| (0xDC00..0xE000).contains(low));
            if let (true, Some(low)) = (first < 0xDC00, low) {
                let code = 0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00);
                return char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            }
        }
        self.at = before;
        self.bad_unicode();
        char::REPLACEMENT_CHARACTER
    }

    fn bad_unicode(&mut self) {
        if self.rest().len() >= 4 {
            self.used.insert(Repair::InvalidEscapes);
        }
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.rest().get(..4).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}
