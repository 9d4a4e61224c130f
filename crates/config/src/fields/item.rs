//! A value of the file with its path; what is wrong with it is reported there and reading goes on.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use gateway_notation::pointer;
use serde_json::{Map, Value};

use super::setting::Setting;
use crate::expand::{Expanded, Source};
use crate::jsonc::Document;
use crate::problem::{Problem, Problems};

/// The file that is being read, and where its problems are collected.
pub(crate) struct Context<'a> {
    /// How problems name it.
    pub(crate) file: &'a str,
    /// The directory that it is in, where relative paths start.
    pub(crate) directory: &'a Path,
    /// The text of the file, for lines; `None` if there is no file.
    pub(crate) document: Option<&'a Document>,
    pub(crate) source: Source<'a>,
    pub(crate) problems: &'a RefCell<Problems>,
    /// Values of variables, which must not be shown.
    pub(crate) secrets: RefCell<Vec<String>>,
    /// The variables that values come from instead of the file, by JSON Pointer.
    pub(crate) variables: BTreeMap<String, String>,
}

impl Context<'_> {
    pub(crate) fn error(&self, pointer: &str, message: &str) {
        let problem = self.problem(pointer, message);
        self.problems.borrow_mut().errors.push(problem);
    }

    pub(crate) fn warn(&self, pointer: &str, message: &str) {
        let problem = self.problem(pointer, message);
        self.problems.borrow_mut().warnings.push(problem);
    }

    pub(crate) fn problem(&self, pointer: &str, message: &str) -> Problem {
        let secrets = self.secrets.borrow();
        // Short values are words such as `1` or `on`, which would only garble the text.
        let message = secrets
            .iter()
            .filter(|secret| secret.len() >= 4)
            .fold(message.to_owned(), |message, secret| message.replace(secret.as_str(), "***"));
        let inside = |outer: &str| {
            pointer.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if let Some((_, variable)) = self.variables.iter().find(|(outer, _)| inside(outer)) {
            return Problem::of_variable(variable, message);
        }
        Problem {
            file: self.file.to_owned(),
            line: self.document.map(|document| document.line_of(pointer)),
            field: pointer::dotted(pointer),
            message,
        }
    }

    /// Replaces the variables in a text, whose values are secrets from then on.
    pub(crate) fn expand(&self, source: Source<'_>, text: &str) -> Result<Expanded, String> {
        let expanded = source.expand(text)?;
        self.secrets.borrow_mut().extend(expanded.values.iter().cloned());
        Ok(expanded)
    }
}

/// A value of the file.
pub(crate) struct Item<'a> {
    pub(crate) context: &'a Context<'a>,
    /// Its JSON Pointer.
    pub(crate) pointer: String,
    pub(crate) value: &'a Value,
}

impl<'a> Item<'a> {
    pub(crate) fn error(&self, message: &str) {
        self.context.error(&self.pointer, message);
    }

    pub(crate) fn warn(&self, message: &str) {
        self.context.warn(&self.pointer, message);
    }

    /// Reports what was expected here.
    pub(crate) fn expected<T>(&self, what: &str) -> Option<T> {
        self.error(&format!("must be {what}"));
        None
    }

    /// The value as its type is read, or `None` after reporting what is wrong.
    pub(crate) fn read<V: Setting>(&self) -> Option<V> {
        V::read(self)
    }

    pub(crate) fn object(&self) -> Option<&'a Map<String, Value>> {
        self.value.as_object().or_else(|| self.expected("an object"))
    }

    /// A value inside this one.
    pub(crate) fn inner(&self, name: &str, value: &'a Value) -> Self {
        Self { context: self.context, pointer: pointer::join(&self.pointer, name), value }
    }

    /// All members of an object, also those that are `null`.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&'a String, Self)> {
        self.object().into_iter().flatten().map(|(name, value)| (name, self.inner(name, value)))
    }

    /// The members of an object without those that are `null`, which is how editors say: not this one.
    pub(crate) fn present_members(&self) -> impl Iterator<Item = (&'a String, Self)> {
        self.members().filter(|(_, item)| !item.value.is_null())
    }

    /// The same with the variables in all its texts replaced. If `lenient`, those that have no value are only warned about.
    pub(crate) fn expand(&self, lenient: bool) -> Value {
        match self.value {
            Value::String(text) => Value::String(match self.context.expand(self.context.source, text) {
                Ok(expanded) => expanded.text,
                Err(message) if lenient => {
                    self.warn(&message);
                    String::new()
                }
                Err(message) => {
                    self.error(&message);
                    text.clone()
                }
            }),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(index, item)| self.inner(&index.to_string(), item).expand(lenient)).collect()
            }
            Value::Object(members) => {
                let members = members.iter();
                members.map(|(name, value)| (name.clone(), self.inner(name, value).expand(lenient))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => self.value.clone(),
        }
    }
}
