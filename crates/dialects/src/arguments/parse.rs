//! From what the model wrote to an arguments object.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::kinds::kind_name;
use super::lenient::{Repaired, parse_lenient};
use crate::json::{from_str, repeated};

/// Arguments as they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Arguments {
    /// There were none.
    #[default]
    Missing,
    /// JSON text, not looked at yet.
    Text(String),
    /// JSON, an object where all is well.
    Json(Value),
}

impl Arguments {
    /// The arguments as JSON text, as the model wrote them; an empty object if there are none.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Missing => Cow::Borrowed("{}"),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Json(value) => Cow::Owned(value.to_string()),
        }
    }
}

/// What to do with arguments that are not a JSON object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadArguments {
    /// Refuse them.
    #[default]
    Error,
    /// Hand them on as `{"raw": text}`.
    Raw,
    /// Mend them, and refuse what cannot be mended.
    Repair,
    /// Mend them if all of them are there: not if they were cut off, nor if another object stands beside them. For whoever runs calls
    /// without a person who looks at them first.
    RepairWhole,
}

/// One way in which arguments were mended, in the order of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Repair {
    /// Raw control characters inside strings.
    ControlCharacters,
    /// A backslash before a character that needs none.
    InvalidEscapes,
    /// Markdown fences around the JSON.
    CodeFences,
    /// Other text around the JSON.
    SurroundingText,
    /// A comma before a closing bracket.
    TrailingCommas,
    /// Strings in single quotes.
    SingleQuotes,
    /// `True`, `False`, `None`.
    PythonLiterals,
    /// Keys without quotes.
    UnquotedKeys,
    /// `//`, `/* */` or `#` comments.
    Comments,
    /// An end that never came.
    TruncatedTail,
    /// JSON text inside a JSON string.
    TwiceEncoded,
}

impl Repair {
    /// The name under which the repair is reported.
    pub fn name(self) -> &'static str {
        match self {
            Self::ControlCharacters => "control-characters",
            Self::InvalidEscapes => "invalid-escapes",
            Self::CodeFences => "code-fences",
            Self::SurroundingText => "surrounding-text",
            Self::TrailingCommas => "trailing-commas",
            Self::SingleQuotes => "single-quotes",
            Self::PythonLiterals => "python-literals",
            Self::UnquotedKeys => "unquoted-keys",
            Self::Comments => "comments",
            Self::TruncatedTail => "truncated-tail",
            Self::TwiceEncoded => "twice-encoded",
        }
    }
}

/// Arguments as an object, and what it took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The arguments.
    pub object: Map<String, Value>,
    /// What was mended, in the order of the ladder; empty when nothing was.
    pub repairs: Vec<Repair>,
    /// Whether `object` is `{"raw": text}` because the text was no object.
    pub raw: bool,
}

/// Arguments that are no JSON object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// The text is not JSON.
    #[error("arguments field is not valid JSON: {cause}")]
    NotJson {
        /// What the JSON parser says.
        cause: String,
    },
    /// A whole number of more than 64 bits: reading it would change it.
    #[error("the number {number} does not fit into 64 bits and would lose digits; send it as text")]
    Imprecise {
        /// The number as it came.
        number: String,
    },
    /// A member stands twice in one object, so that nobody can say what was meant.
    #[error("arguments field is ambiguous: {cause}")]
    Repeated {
        /// Which member.
        cause: String,
    },
    /// The JSON is not an object.
    #[error("arguments field must be a JSON object, got {got}")]
    NotObject {
        /// What it is instead.
        got: &'static str,
    },
}

/// Makes an object of a call's arguments. Absent, null and blank arguments mean none.
pub fn parse_arguments(arguments: &Arguments, bad: BadArguments) -> Result<Parsed, ArgumentError> {
    match arguments {
        Arguments::Missing | Arguments::Json(Value::Null) => Ok(Parsed::default()),
        Arguments::Json(Value::Object(object)) => Ok(Parsed { object: object.clone(), ..Parsed::default() }),
        Arguments::Text(text) | Arguments::Json(Value::String(text)) => parse_text(text, bad),
        Arguments::Json(other) => match bad {
            BadArguments::Raw => Ok(raw(other.to_string())),
            BadArguments::Error | BadArguments::Repair | BadArguments::RepairWhole => {
                Err(ArgumentError::NotObject { got: kind_name(other) })
            }
        },
    }
}

fn parse_text(text: &str, bad: BadArguments) -> Result<Parsed, ArgumentError> {
    if text.trim().is_empty() {
        return Ok(Parsed::default());
    }
    let read = from_str(text);
    let numbers = match &read {
        // A whole number that does not fit is read as a double.
        Ok(value) if !has_doubles(value) => Ok(()),
        Ok(_) | Err(_) => check_numbers(text),
    };
    let problem = match (read, numbers) {
        (_, Err(imprecise)) if bad != BadArguments::Raw => return Err(imprecise),
        (Ok(Value::Object(_)), Err(_)) => return Ok(raw(text.to_owned())),
        (Ok(Value::Object(object)), Ok(())) => return Ok(Parsed { object, ..Parsed::default() }),
        (Ok(Value::Null), _) => return Ok(Parsed::default()),
        (Ok(other), _) => ArgumentError::NotObject { got: kind_name(&other) },
        (Err(cause), _) if cause.is_data() => ArgumentError::Repeated { cause: cause.to_string() },
        (Err(cause), _) => ArgumentError::NotJson { cause: cause.to_string() },
    };
    match (bad, &problem) {
        (BadArguments::Raw, _) => Ok(raw(text.to_owned())),
        // No repair can know which of two values was meant.
        (BadArguments::Error, _) | (_, ArgumentError::Repeated { .. }) => Err(problem),
        (BadArguments::Repair | BadArguments::RepairWhole, _) => match parse_lenient(text) {
            Some(Repaired { repeated: Some(name), .. }) => {
                Err(ArgumentError::Repeated { cause: repeated(&name) })
            }
            // What the model would have written next is a guess, and so is which of two objects it meant.
            Some(Repaired { is_whole: false, .. }) if bad == BadArguments::RepairWhole => Err(problem),
            Some(Repaired { object, repairs, .. }) => {
                Ok(Parsed { object, repairs: repairs.into_iter().collect(), raw: false })
            }
            None => Err(problem),
        },
    }
}

/// Refuses JSON text with whole numbers that would be changed by reading them into 64 bits.
///
/// ```
/// use gateway_dialects::arguments::check_numbers;
///
/// assert!(check_numbers(r#"{"id": 18446744073709551615}"#).is_ok());
/// assert!(check_numbers(r#"{"id": 18446744073709551616}"#).is_err());
/// ```
pub fn check_numbers(json: &str) -> Result<(), ArgumentError> {
    let mut rest = json;
    while let Some(at) = rest.find(|char: char| char == '"' || char == '-' || char.is_ascii_digit()) {
        rest = rest.get(at..).unwrap_or_default();
        let end = if rest.starts_with('"') {
            string_end(rest)
        } else {
            let end = rest
                .find(|char: char| !matches!(char, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'))
                .unwrap_or(rest.len());
            let number = rest.get(..end).unwrap_or_default();
            let whole = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
            if whole && end > 18 && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                return Err(ArgumentError::Imprecise { number: number.chars().take(60).collect() });
            }
            end
        };
        rest = rest.get(end..).unwrap_or_default();
    }
    Ok(())
}

/// Whether any number in `value` was read as a double.
pub(crate) fn has_doubles(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_doubles),
        Value::Object(members) => members.values().any(has_doubles),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// Where the string that `json` starts with ends.
pub(crate) fn string_end(json: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in json.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    json.len()
}

fn raw(text: String) -> Parsed {
    let mut object = Map::new();
    object.insert("raw".to_owned(), Value::String(text));
    Parsed { object, repairs: Vec::new(), raw: true }
}
