//! Reading the members of one object, with what is wrong about them.

use std::cell::RefCell;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use gateway_notation::pointer;
use gateway_protocol::printable;
use serde_json::{Map, Value};

use super::units;
use crate::jsonc::Document;
use crate::problems::ConfigError;

/// One thing that is wrong, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingProblem {
    /// The file; `environment` where it was a variable.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The field: `limits.bodyBytes`; or the variable. Empty where the whole file is meant.
    pub field: String,
    /// What is wrong, and what is expected. It never holds a key.
    pub message: String,
}

impl From<ConfigError> for SettingProblem {
    fn from(error: ConfigError) -> Self {
        Self { file: error.file, line: error.line, field: error.field, message: error.message }
    }
}

/// `file:line: field: text`, which editors can jump to.
impl fmt::Display for SettingProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        if !self.field.is_empty() {
            // Names of members are foreign text too.
            write!(formatter, ": {}", printable(&self.field))?;
        }
        write!(formatter, ": {}", self.message)
    }
}

/// Everything that is wrong at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingProblems(pub Vec<SettingProblem>);

impl fmt::Display for SettingProblems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, problem) in self.0.iter().enumerate() {
            if place > 0 {
                formatter.write_str("\n")?;
            }
            problem.fmt(formatter)?;
        }
        Ok(())
    }
}

impl std::error::Error for SettingProblems {}

/// Collects what is wrong.
pub(super) struct Notes<'a> {
    pub(super) file: &'a str,
    pub(super) document: Option<&'a Document>,
    pub(super) errors: RefCell<Vec<SettingProblem>>,
    pub(super) warnings: RefCell<Vec<SettingProblem>>,
}

impl Notes<'_> {
    pub(super) fn error(&self, pointer: &str, message: impl Into<String>) {
        self.errors.borrow_mut().push(self.problem(pointer, message.into()));
    }

    pub(super) fn warn(&self, pointer: &str, message: impl Into<String>) {
        self.warnings.borrow_mut().push(self.problem(pointer, message.into()));
    }

    fn problem(&self, pointer: &str, message: String) -> SettingProblem {
        let field = pointer::dotted(pointer);
        let line = self.document.map(|document| document.line_of(pointer));
        SettingProblem { file: self.file.to_owned(), line, field, message }
    }

    pub(super) fn variable(&self, name: &str, message: impl Into<String>, is_error: bool) {
        let problem = SettingProblem {
            file: "environment".to_owned(),
            line: None,
            field: name.to_owned(),
            message: message.into(),
        };
        let list = if is_error { &self.errors } else { &self.warnings };
        list.borrow_mut().push(problem);
    }
}

/// One object of the file.
pub(super) struct Section<'a> {
    pub(super) notes: &'a Notes<'a>,
    pub(super) pointer: String,
    pub(super) members: &'a Map<String, Value>,
}

impl<'a> Section<'a> {
    pub(super) fn at(&self, name: &str) -> String {
        format!("{}/{}", self.pointer, pointer::escape(name))
    }

    pub(super) fn error(&self, name: &str, message: impl Into<String>) {
        self.notes.error(&self.at(name), message);
    }

    /// A member that is there and not `null`.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    fn read<T>(&self, name: &str, expected: &str, read: impl FnOnce(&'a Value) -> Option<T>) -> Option<T> {
        let value = self.get(name)?;
        let result = read(value);
        if result.is_none() {
            self.error(name, format!("must be {expected}"));
        }
        result
    }

    pub(super) fn object(&self, name: &str) -> Option<Self> {
        let members = self.read(name, "an object", Value::as_object)?;
        Some(Self { notes: self.notes, pointer: self.at(name), members })
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.read(name, "a text that is not empty", |value| value.as_str().filter(|text| !text.is_empty()))
    }

    pub(super) fn texts(&self, name: &str) -> Option<Vec<String>> {
        self.read(name, "a text or a list of texts", |value| match value {
            Value::String(text) => Some(vec![text.clone()]),
            Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        })
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.read(name, "true or false", Value::as_bool)
    }

    pub(super) fn whole(&self, name: &str, bounds: RangeInclusive<u64>) -> Option<u64> {
        let expected = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        self.read(name, &expected, |value| value.as_u64().filter(|number| bounds.contains(number)))
    }

    pub(super) fn count(&self, name: &str, bounds: RangeInclusive<u64>) -> Option<usize> {
        self.whole(name, bounds).and_then(|number| usize::try_from(number).ok())
    }

    pub(super) fn time(&self, name: &str, bounds: RangeInclusive<Duration>) -> Option<Duration> {
        let (least, most) = (bounds.start().as_secs_f64(), bounds.end().as_secs_f64());
        let expected = format!(
            "a time from {least} to {most} seconds: a number of seconds, or a text such as \"500ms\""
        );
        self.read(name, &expected, |value| units::time(value).filter(|time| bounds.contains(time)))
    }

    pub(super) fn bytes(&self, name: &str, bounds: RangeInclusive<u64>) -> Option<u64> {
        let expected = format!(
            "a size from {} to {} bytes: a number, or a text such as \"1MB\"",
            bounds.start(),
            bounds.end()
        );
        self.read(name, &expected, |value| units::bytes(value).filter(|size| bounds.contains(size)))
    }

    pub(super) fn positive(&self, name: &str, most: f64) -> Option<f64> {
        let expected = format!("a number above 0, up to {most}");
        self.read(name, &expected, |value| value.as_f64().filter(|number| *number > 0.0 && *number <= most))
    }

    /// Warns of members that mean nothing.
    pub(super) fn warn_of_unknown(&self, known: &[&str]) {
        for name in self.members.keys().filter(|name| !known.contains(&name.as_str())) {
            self.notes.warn(&self.at(name), format!("is not known here; known: {}", known.join(", ")));
        }
    }
}
