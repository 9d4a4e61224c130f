//! YAML as a document: the values of JSON, and the line of each of them.
//!
//! One document, without aliases: a few lines with them can stand for more values than any memory holds, and nobody writes
//! them into a configuration of servers.

use std::collections::HashMap;

use gateway_notation::pointer;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};
use serde_json::{Map, Number, Value};

use crate::jsonc::{Document, JsoncError};

/// Deeper values are refused.
const DEEPEST: usize = 64;

/// Reads a text.
pub(crate) fn parse(text: &str) -> Result<Document, JsoncError> {
    let line_starts: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(end, _)| end + 1)).collect();
    let mut reader =
        Reader { line_starts, open: Vec::new(), root: None, offsets: HashMap::new(), duplicates: Vec::new() };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| refused(&error))?;
        reader.take(event, span)?;
    }
    let Reader { root, mut offsets, duplicates, .. } = reader;
    offsets.entry(String::new()).or_insert(0);
    Ok(Document::located(text, root.unwrap_or_default(), offsets, duplicates))
}

fn refused(error: &ScanError) -> JsoncError {
    let marker = error.marker();
    JsoncError { line: marker.line(), column: marker.col() + 1, message: error.info().to_owned() }
}

/// What has been read so far.
struct Reader {
    line_starts: Vec<usize>,
    /// The collections that are not closed yet, from the outermost on.
    open: Vec<Open>,
    root: Option<Value>,
    offsets: HashMap<String, usize>,
    duplicates: Vec<String>,
}

/// A collection that is not closed yet.
struct Open {
    pointer: String,
    value: Collection,
}

enum Collection {
    List(Vec<Value>),
    /// The members, and the name of the one whose value comes next.
    Map(Map<String, Value>, Option<String>),
}

impl Reader {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), JsoncError> {
        let refuse = |message: &str| {
            Err(JsoncError {
                line: span.start.line(),
                column: span.start.col() + 1,
                message: message.to_owned(),
            })
        };
        match event {
            Event::DocumentStart(_) if self.root.is_some() => refuse("only one document is read"),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
            Event::Alias(_) => refuse("aliases are not read; write the value out"),
            Event::Scalar(text, style, ..) => {
                if let Some(Open { pointer, value: Collection::Map(members, key @ None) }) =
                    self.open.last_mut()
                {
                    let pointer = pointer::join(pointer, &text);
                    if members.contains_key(&*text) {
                        self.duplicates.push(pointer.clone());
                    }
                    *key = Some(text.into_owned());
                    self.note(pointer, span);
                    return Ok(());
                }
                let value = if style == ScalarStyle::Plain { plain(&text) } else { text.into_owned().into() };
                self.note_item(span);
                self.put(value);
                Ok(())
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if self.open.len() >= DEEPEST => {
                refuse("it is nested too deeply")
            }
            Event::SequenceStart(..) => self.begin(Collection::List(Vec::new()), span).or_else(refuse),
            Event::MappingStart(..) => self.begin(Collection::Map(Map::new(), None), span).or_else(refuse),
            Event::SequenceEnd | Event::MappingEnd => {
                match self.open.pop().map(|open| open.value) {
                    Some(Collection::List(items)) => self.put(Value::Array(items)),
                    Some(Collection::Map(members, _)) => self.put(Value::Object(members)),
                    None => {}
                }
                Ok(())
            }
        }
    }

    fn begin(&mut self, value: Collection, span: Span) -> Result<(), &'static str> {
        if let Some(Open { value: Collection::Map(_, None), .. }) = self.open.last() {
            return Err("a key must be a text");
        }
        self.note_item(span);
        let pointer = self.next_pointer();
        self.open.push(Open { pointer, value });
        Ok(())
    }

    /// The pointer of the value that comes next.
    fn next_pointer(&self) -> String {
        match self.open.last() {
            None => String::new(),
            Some(Open { pointer, value: Collection::List(items) }) => format!("{pointer}/{}", items.len()),
            Some(Open { pointer, value: Collection::Map(_, key) }) => {
                pointer::join(pointer, key.as_deref().unwrap_or_default())
            }
        }
    }

    /// Notes where an item of a list begins; members of a map are where their keys are.
    fn note_item(&mut self, span: Span) {
        if !matches!(self.open.last(), Some(Open { value: Collection::Map(..), .. })) {
            self.note(self.next_pointer(), span);
        }
    }

    fn note(&mut self, pointer: String, span: Span) {
        let offset = self.line_starts.get(span.start.line().saturating_sub(1)).copied();
        self.offsets.insert(pointer, offset.unwrap_or_default());
    }

    fn put(&mut self, value: Value) {
        match self.open.last_mut().map(|open| &mut open.value) {
            None => self.root = Some(value),
            Some(Collection::List(items)) => items.push(value),
            Some(Collection::Map(members, key)) => {
                members.insert(key.take().unwrap_or_default(), value);
            }
        }
    }
}

/// What a text without quotes means, by the core schema of YAML 1.2.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let radix = |prefix: &str, radix: u32| {
        digits.strip_prefix(prefix).and_then(|digits| i64::from_str_radix(digits, radix).ok())
    };
    if let Some(number) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return if text.starts_with('-') { (-number).into() } else { number.into() };
    }
    if digits.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.') {
        let text = text.strip_prefix('+').unwrap_or(text);
        if let Ok(number) = text.parse::<i64>() {
            return number.into();
        }
        if let Some(number) = text.parse::<f64>().ok().and_then(Number::from_f64) {
            return Value::Number(number);
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_and_lines_are_those_of_the_text() {
        let text = "# goose\nextensions:\n  a:\n    cmd: npx\n    args:\n    - -y\n    - 'true'\n    timeout: 300\n    envs: {A: 1.5, B: ~, C: \"x\"}\n    enabled: true\n  b: |\n    two\n    lines\n";
        let document = parse(text).unwrap();
        let expected = json!({"extensions": {
            "a": {"cmd": "npx", "args": ["-y", "true"], "timeout": 300, "envs": {"A": 1.5, "B": null, "C": "x"}, "enabled": true},
            "b": "two\nlines\n",
        }});
        assert_eq!(document.value, expected);
        for (pointer, line) in [
            ("", 2),
            ("/extensions", 2),
            ("/extensions/a", 3),
            ("/extensions/a/cmd", 4),
            ("/extensions/a/args/1", 7),
            ("/extensions/a/envs/C", 9),
            ("/extensions/b", 11),
            ("/extensions/a/none", 3),
        ] {
            assert_eq!(document.line_of(pointer), line, "{pointer}");
        }
    }

    #[test]
    fn numbers_and_words_are_told_apart() {
        for (text, expected) in [
            ("1", json!(1)),
            ("-7", json!(-7)),
            ("+7", json!(7)),
            ("0x1f", json!(31)),
            ("0o17", json!(15)),
            ("-0x1f", json!(-31)),
            ("1e3", json!(1000.0)),
            (".5", json!(0.5)),
            ("1.2.3", json!("1.2.3")),
            ("12:30", json!("12:30")),
            ("yes", json!("yes")),
            ("-y", json!("-y")),
            (".inf", json!(".inf")),
            ("", json!(null)),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_read_is_refused_with_its_line() {
        for (text, line, message) in [
            ("a: &x 1\nb: *x\n", 2, "aliases are not read"),
            ("a: 1\n---\nb: 2\n", 2, "only one document"),
            ("a: 1\n? [b]\n: 2\n", 2, "a key must be a text"),
            ("a: [\n", 2, ""),
        ] {
            let error = parse(text).err().unwrap();
            assert!(error.line == line && error.message.contains(message), "{text}: {error:?}");
        }
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        assert!(parse(&deep).err().unwrap().message.contains("too deeply"));
        assert_eq!(parse("a: 1\na: 2\n").unwrap().duplicates, ["/a"]);
        assert_eq!(parse("").unwrap().value, Value::Null);
    }
}
