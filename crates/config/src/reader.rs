//! Reading typed fields; what is wrong is noted and reading goes on, so that all errors are reported at once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use gateway_notation::pointer;
use serde_json::{Map, Value};

use crate::jsonc::Document;
use crate::problems::{ConfigError, ConfigErrors};

/// Takes notes of what is wrong in one file.
pub(crate) struct Notes<'a> {
    pub(crate) file: &'a str,
    pub(crate) document: &'a Document,
    pub(crate) found: &'a RefCell<ConfigErrors>,
    /// Values that must not be shown.
    pub(crate) secrets: RefCell<Vec<String>>,
}

impl Notes<'_> {
    pub(crate) fn error(&self, pointer: &str, message: &str) {
        let problem = self.problem(pointer, message);
        self.found.borrow_mut().errors.push(problem);
    }

    pub(crate) fn warn(&self, pointer: &str, message: &str) {
        let problem = self.problem(pointer, message);
        self.found.borrow_mut().warnings.push(problem);
    }

    pub(crate) fn problem(&self, pointer: &str, message: &str) -> ConfigError {
        let secrets = self.secrets.borrow();
        // Short values are words such as `1` or `on`, which would only garble the text.
        let message = secrets
            .iter()
            .filter(|secret| secret.len() >= 4)
            .fold(message.to_owned(), |message, secret| message.replace(secret.as_str(), "***"));
        ConfigError {
            file: self.file.to_owned(),
            line: Some(self.document.line_of(pointer)),
            field: pointer::dotted(pointer),
            message,
        }
    }
}

/// Reads the members of one object.
pub(crate) struct Reader<'a> {
    pub(crate) notes: &'a Notes<'a>,
    pub(crate) pointer: String,
    pub(crate) members: &'a Map<String, Value>,
}

impl<'a> Reader<'a> {
    pub(crate) fn error(&self, name: &str, message: &str) {
        self.notes.error(&self.at(name), message);
    }

    pub(crate) fn warn(&self, name: &str, message: &str) {
        self.notes.warn(&self.at(name), message);
    }

    /// Notes an error at a member of a member.
    pub(crate) fn error_within(&self, name: &str, inner: &str, message: &str) {
        self.notes.error(&pointer::join(&self.at(name), inner), message);
    }

    fn at(&self, name: &str) -> String {
        if name.is_empty() { self.pointer.clone() } else { pointer::join(&self.pointer, name) }
    }

    /// A member that is there and not `null`.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The first of several names for one thing that is there.
    pub(crate) fn first_of(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.has(name))
    }

    fn wrong<T>(&self, name: &str, wanted: &str) -> Option<T> {
        self.error(name, &format!("must be {wanted}"));
        None
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        match self.get(name)? {
            Value::String(text) => Some(text.clone()),
            _ => self.wrong(name, "a text"),
        }
    }

    /// A text that is not empty.
    pub(crate) fn filled_text(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.trim().is_empty())
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            Value::Bool(flag) => Some(*flag),
            _ => self.wrong(name, "true or false"),
        }
    }

    /// A list of texts; one text alone is a list too.
    pub(crate) fn texts(&self, name: &str) -> Option<Vec<String>> {
        let wanted = "a list of texts";
        match self.get(name)? {
            Value::String(text) => Some(vec![text.clone()]),
            Value::Array(items) => {
                let texts: Option<Vec<String>> = items.iter().map(scalar_text).collect();
                texts.or_else(|| self.wrong(name, wanted))
            }
            _ => self.wrong(name, wanted),
        }
    }

    /// Texts by name; numbers and flags are taken as texts.
    pub(crate) fn text_map(&self, name: &str) -> Option<BTreeMap<String, String>> {
        let mut found = BTreeMap::new();
        let reader = self.object(name)?;
        for (key, value) in reader.members {
            match scalar_text(value) {
                Some(text) => {
                    found.insert(key.clone(), text);
                }
                // An editor's way to say: not this one.
                None if value.is_null() => {}
                None => reader.error(key, "must be a text"),
            }
        }
        Some(found)
    }

    /// Something by name, each value read by `read`.
    pub(crate) fn map_of<T>(
        &self,
        name: &str,
        read: impl Fn(&Reader<'a>, &str) -> Option<T>,
    ) -> Option<BTreeMap<String, T>> {
        let reader = self.object(name)?;
        Some(reader.members.keys().filter_map(|key| Some((key.clone(), read(&reader, key)?))).collect())
    }

    pub(crate) fn object(&self, name: &str) -> Option<Reader<'a>> {
        match self.get(name)? {
            Value::Object(members) => Some(Reader { notes: self.notes, pointer: self.at(name), members }),
            _ => self.wrong(name, "an object"),
        }
    }

    /// A whole number from `least` to `most`.
    pub(crate) fn whole(&self, name: &str, least: u64, most: u64) -> Option<u64> {
        match self.get(name)?.as_u64() {
            Some(number) if (least..=most).contains(&number) => Some(number),
            _ => self.wrong(name, &format!("a whole number from {least} to {most}")),
        }
    }

    /// A number of bytes: `1048576`, `"64KB"`, `"32MB"`.
    pub(crate) fn bytes(&self, name: &str) -> Option<usize> {
        let value = self.get(name)?;
        let parsed = match value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => parse_bytes(text),
            _ => None,
        };
        parsed
            .and_then(|bytes| usize::try_from(bytes).ok())
            .filter(|bytes| *bytes > 0)
            .or_else(|| self.wrong(name, "a number of bytes, such as 65536 or \"32MB\""))
    }

    /// A time: a number of seconds, or a text with its unit.
    pub(crate) fn duration(&self, name: &str) -> Option<Duration> {
        parse_time(self.get(name)?).or_else(|| {
            self.wrong(name, "a time: a number of seconds, or a text such as \"500ms\", \"30s\", \"5m\"")
        })
    }

    /// One of several words.
    pub(crate) fn choice<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Option<T> {
        let found = self.get(name)?.as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
        found.map(|(_, value)| *value).or_else(|| {
            let words: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            self.wrong(name, &format!("one of {}", words.join(", ")))
        })
    }
}

/// Nothing that is configured takes longer than a day.
const LONGEST: Duration = Duration::from_hours(24);

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A time: a number of seconds, or a text with its unit.
pub fn parse_time(value: &Value) -> Option<Duration> {
    let parsed = match value {
        Value::Number(number) => {
            number.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        }
        Value::String(text) => parse_duration(text),
        _ => None,
    };
    parsed.filter(|time| !time.is_zero() && *time <= LONGEST)
}

/// `500ms`, `30s`, `5m`, `1h`, or seconds without a unit.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let unit = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let number: f64 = number.trim().parse().ok()?;
    let seconds = match unit {
        "ms" => number / 1_000.0,
        "s" | "" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3_600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return None,
    };
    number.trim().parse::<u64>().ok()?.checked_mul(factor)
}
