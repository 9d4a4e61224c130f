//! The arguments of a call, with texts that let a model correct itself.

use serde_json::{Map, Number, Value};

/// The arguments of a call, or of one operation in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a>(pub(crate) &'a Map<String, Value>);

impl<'a> Arguments<'a> {
    /// Refuses names that are not known.
    pub(crate) fn only(self, known: &[&str]) -> Result<(), String> {
        match self.0.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => {
                Err(format!("there is no argument `{name}`; the arguments are: {}", known.join(", ")))
            }
        }
    }

    /// A value that is there; `null` counts as absent, as some callers fill in what is optional.
    pub(crate) fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn text(self, name: &str) -> Result<&'a str, String> {
        match self.get(name) {
            Some(Value::String(text)) => Ok(text),
            other => Err(expected(name, "a string", other)),
        }
    }

    /// A number of any kind.
    pub(crate) fn number(self, name: &str) -> Result<&'a Number, String> {
        match self.0.get(name) {
            Some(Value::Number(number)) => Ok(number),
            other => Err(expected(name, "a number", other)),
        }
    }

    pub(crate) fn text_or(self, name: &str, otherwise: &'a str) -> Result<&'a str, String> {
        if self.get(name).is_some() { self.text(name) } else { Ok(otherwise) }
    }

    pub(crate) fn flag(self, name: &str) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            other => Err(expected(name, "true or false", other)),
        }
    }

    /// A whole number that is not negative.
    pub(crate) fn whole(self, name: &str) -> Result<usize, String> {
        whole(self.get(name)).ok_or_else(|| expected(name, "a whole number, 0 or more", self.get(name)))
    }

    /// The first and the last line of a range, from 1.
    pub(crate) fn lines(self) -> Result<(Option<usize>, Option<usize>), String> {
        let (first, last) = (self.line("start_line")?, self.line("end_line")?);
        match (first, last) {
            (Some(first), Some(last)) if first > last => {
                Err(format!("start_line {first} is after end_line {last}"))
            }
            range => Ok(range),
        }
    }

    /// The number of a line, from 1.
    fn line(self, name: &str) -> Result<Option<usize>, String> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match whole(Some(value)) {
            Some(0) => Err(format!("argument `{name}` is 0, but lines are counted from 1")),
            Some(line) => Ok(Some(line)),
            None => Err(expected(name, "a whole number, 1 or more", Some(value))),
        }
    }

    /// Objects in a list; also as JSON text, which is how some callers give them.
    pub(crate) fn objects(self, name: &str, most: usize) -> Result<Vec<Map<String, Value>>, String> {
        let wanted = "a list of objects";
        let list = match self.get(name) {
            Some(Value::Array(list)) => list.clone(),
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Array(list)) => list,
                Ok(one @ Value::Object(_)) => vec![one],
                Ok(other) => return Err(expected(name, wanted, Some(&other))),
                Err(error) => {
                    return Err(format!("argument `{name}` must be {wanted}, or JSON text of it: {error}"));
                }
            },
            other => return Err(expected(name, wanted, other)),
        };
        if list.is_empty() || list.len() > most {
            return Err(format!("argument `{name}` must have 1 to {most} entries, not {}", list.len()));
        }
        list.into_iter()
            .map(|entry| match entry {
                Value::Object(members) => Ok(members),
                _ => Err(format!("argument `{name}` must be {wanted}, not a list of something else")),
            })
            .collect()
    }
}

/// A whole number, also where it is written as `3.0`.
fn whole(value: Option<&Value>) -> Option<usize> {
    let number = value?.as_number()?;
    let whole = number.as_u64().or_else(|| {
        let text = number.to_string();
        text.strip_suffix(".0")?.parse().ok()
    })?;
    usize::try_from(whole).ok()
}

fn expected(name: &str, wanted: &str, found: Option<&Value>) -> String {
    let found = match found {
        None => return format!("argument `{name}` is missing; it must be {wanted}"),
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Number(number)) => return format!("argument `{name}` must be {wanted}, not {number}"),
        Some(Value::String(_)) => "a string",
        Some(Value::Array(_)) => "an array",
        Some(Value::Object(_)) => "an object",
    };
    format!("argument `{name}` must be {wanted}, not {found}")
}
