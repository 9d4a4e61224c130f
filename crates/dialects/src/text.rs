//! Constraints as words in a description.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use crate::dialect::TextStyle;
use crate::schema::Keyword;

/// Something that the schema can no longer say.
#[derive(Clone, Debug)]
pub(crate) enum Note<'a> {
    /// A keyword of the original.
    Keyword(&'a str, &'a Value),
    /// A sentence of ours, without a full stop.
    Sentence(Cow<'a, str>),
    /// A default value.
    Default(&'a Value),
}

/// `description` with `notes` after it, in `style`; each note once, and none that the text says already.
pub(crate) fn compose<'a>(
    style: TextStyle,
    description: Option<Cow<'a, str>>,
    notes: &[Note<'a>],
) -> Option<Cow<'a, str>> {
    if notes.is_empty() || style == TextStyle::None {
        return description;
    }
    let mut text = description.unwrap_or_default().into_owned();
    let mut sentences: Vec<String> = Vec::new();
    let mut members: Vec<(&str, &Value)> = Vec::new();
    let mut asides = String::new();
    for note in notes {
        match note {
            Note::Keyword(name, value) if style == TextStyle::Json => members.push((name, value)),
            Note::Keyword(name, value) => {
                let sentence = sentence(style, name, value);
                if !text.contains(&sentence) && !sentences.contains(&sentence) {
                    sentences.push(sentence);
                }
            }
            Note::Sentence(sentence) => {
                if !text.contains(sentence.as_ref()) && !sentences.iter().any(|known| known == sentence) {
                    sentences.push(sentence.clone().into_owned());
                }
            }
            Note::Default(value) => {
                let aside = match value {
                    Value::String(text) if !text.trim().is_empty() => format!("(default: {text})"),
                    other => format!("(default: {other})"),
                };
                if !text.contains(&aside) && !asides.contains(&aside) {
                    append(&mut asides, " ", &aside);
                }
            }
        }
    }
    if !asides.is_empty() {
        append(&mut text, " ", &asides);
    }
    if !members.is_empty() {
        let json = compact_object(&members);
        if !text.contains(&json) && !has_members(&text, &members) {
            append(&mut text, "\n", &json);
        }
    }
    match style {
        TextStyle::Constraints if !sentences.is_empty() => {
            append(&mut text, "\n\n", &format!("Constraints: {}", sentences.join("; ")));
        }
        TextStyle::Important if !sentences.is_empty() => {
            append(&mut text, "\n\n", &format!("IMPORTANT: {}", sentences.join(", ")));
        }
        TextStyle::Hints
        | TextStyle::Json
        | TextStyle::Constraints
        | TextStyle::Important
        | TextStyle::None => {
            for sentence in &sentences {
                let separator = if text.ends_with(['.', '!', '?']) { " " } else { ". " };
                append(&mut text, separator, sentence);
            }
        }
    }
    if text.is_empty() { None } else { Some(Cow::Owned(text)) }
}

fn append(text: &mut String, separator: &str, more: &str) {
    if !text.is_empty() {
        text.push_str(separator);
    }
    text.push_str(more);
}

fn compact_object(members: &[(&str, &Value)]) -> String {
    let mut json = String::from("{");
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        let _ = write!(json, "{}:{value}", Value::from(*name));
    }
    json.push('}');
    json
}

/// A value as a person would write it: strings bare, the rest as JSON.
pub(crate) fn plain(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

fn listed(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Array(values) => Cow::Owned(values.iter().map(plain).collect::<Vec<_>>().join(", ")),
        other => plain(other),
    }
}

/// The sentence that says `name: value`.
fn sentence(style: TextStyle, name: &str, value: &Value) -> String {
    let words = Keyword::parse(name).and_then(|keyword| {
        let template = match style {
            TextStyle::Constraints => templates(keyword, value)?[0],
            TextStyle::Important => templates(keyword, value)?[1],
            TextStyle::Hints => return hint(keyword, value),
            TextStyle::Json | TextStyle::None => return None,
        };
        let text = if keyword == Keyword::Enum { listed(value) } else { plain(value) };
        Some(match template.split_once('#') {
            Some((before, after)) => [before, &text, after].concat(),
            None => template.to_owned(),
        })
        .filter(|sentence| !sentence.is_empty())
    });
    // A rule without a sentence of its own is still said.
    words.unwrap_or_else(|| format!("{name}: {}", plain(value)))
}

/// The sentences of the two styles that have one for most keywords; `#` stands for the value.
fn templates(keyword: Keyword, value: &Value) -> Option<[&'static str; 2]> {
    Some(match keyword {
        Keyword::MinLength => ["text must be at least # characters long", "minimum # characters"],
        Keyword::MaxLength => ["text must be no more than # characters long", "maximum # characters"],
        Keyword::Pattern => ["must match the regular expression pattern: #", "must match pattern: #"],
        Keyword::Format => return format_templates(value.as_str()?),
        Keyword::Enum => ["must be exactly one of these values: #", "must be one of: #"],
        Keyword::Const => ["must be exactly: #", ""],
        Keyword::Minimum => ["number must be >= #", "must be >= #"],
        Keyword::Maximum => ["number must be <= #", "must be <= #"],
        Keyword::ExclusiveMinimum => ["number must be > #", "must be > #"],
        Keyword::ExclusiveMaximum => ["number must be < #", "must be < #"],
        Keyword::MultipleOf => ["number must be a multiple of #", "must be a multiple of #"],
        Keyword::MinItems => ["array must contain at least # items", "array must have at least # items"],
        Keyword::MaxItems => ["array must contain no more than # items", "array must have at most # items"],
        Keyword::UniqueItems if value == &Value::Bool(true) => {
            ["array items must all be unique (no duplicates)", "array items must be unique"]
        }
        Keyword::MinProperties => ["object must have at least # properties"; 2],
        Keyword::MaxProperties => {
            ["object must have no more than # properties", "object must have at most # properties"]
        }
        Keyword::AdditionalProperties if value == &Value::Bool(false) => [
            "object must only contain the specified properties, no additional properties allowed",
            "additional properties are not allowed",
        ],
        _ => return None,
    })
}

fn format_templates(format: &str) -> Option<[&'static str; 2]> {
    Some(match format {
        "email" => ["must be a valid email address"; 2],
        "uri" | "url" => ["must be a valid URL starting with http:// or https://", "must be a valid URL"],
        "uuid" => {
            ["must be a valid UUID in the form xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "must be a valid UUID"]
        }
        "date-time" => [
            "must be a valid ISO 8601 date-time, for example 2024-01-15T10:30:00Z",
            "must be a valid ISO 8601 date-time",
        ],
        _ => return None,
    })
}

fn hint(keyword: Keyword, value: &Value) -> Option<String> {
    Some(match keyword {
        Keyword::AdditionalProperties if value == &Value::Bool(false) => {
            "Only use the specified properties".to_owned()
        }
        Keyword::Format if value == "date-time" => "Use ISO 8601 date-time format".to_owned(),
        Keyword::Pattern => format!("Must match the pattern: {}", plain(value)),
        _ => return None,
    })
}

/// Whether `style` says anything about `keyword: value` where the keyword stays in the schema. The light style has words for a few only.
pub(crate) fn is_mentioned(style: TextStyle, keyword: Keyword, value: &Value) -> bool {
    let asks = match keyword {
        Keyword::AdditionalProperties => value == &Value::Bool(false),
        Keyword::UniqueItems => value == &Value::Bool(true),
        _ => true,
    };
    asks && style.mentions(keyword) && (style != TextStyle::Hints || hint(keyword, value).is_some())
}

/// Whether a line of `text` is an object with all of `members`.
fn has_members(text: &str, members: &[(&str, &Value)]) -> bool {
    text.lines().rev().filter(|line| line.starts_with('{')).any(|line| {
        let known: Option<Value> = serde_json::from_str(line).ok();
        known.is_some_and(|known| members.iter().all(|(name, value)| known.get(name) == Some(value)))
    })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::{Value, json};

    use super::{Note, compose};
    use crate::dialect::TextStyle;

    #[track_caller]
    fn check(style: TextStyle, description: Option<&str>, schema: &Value, expected: &str) {
        let notes: Vec<_> = schema.as_object().unwrap().iter().map(|(k, v)| Note::Keyword(k, v)).collect();
        let text = compose(style, description.map(Cow::Borrowed), &notes);
        assert_eq!(text.as_deref(), Some(expected));
        let again = compose(style, text.clone(), &notes);
        assert_eq!(again, text, "a second run adds nothing");
    }

    #[test]
    fn seed_sentences() {
        let email = json!({"minLength": 5, "format": "email"});
        check(
            TextStyle::Json,
            None,
            &json!({"format": "uri", "minLength": 5}),
            r#"{"format":"uri","minLength":5}"#,
        );
        check(TextStyle::Json, Some("Mail"), &email, "Mail\n{\"minLength\":5,\"format\":\"email\"}");
        check(
            TextStyle::Important,
            None,
            &email,
            "IMPORTANT: minimum 5 characters, must be a valid email address",
        );
        check(
            TextStyle::Constraints,
            None,
            &json!({"minLength": 5, "minimum": 0}),
            "Constraints: text must be at least 5 characters long; number must be >= 0",
        );
        check(
            TextStyle::Hints,
            Some("A"),
            &json!({"additionalProperties": false}),
            "A. Only use the specified properties",
        );
    }

    #[test]
    fn zero_bounds_and_unknown_formats_are_said() {
        check(TextStyle::Important, None, &json!({"maxLength": 0}), "IMPORTANT: maximum 0 characters");
        check(
            TextStyle::Important,
            None,
            &json!({"format": "hostname", "minLength": 1}),
            "IMPORTANT: format: hostname, minimum 1 characters",
        );
        check(
            TextStyle::Constraints,
            None,
            &json!({"maxItems": 0}),
            "Constraints: array must contain no more than 0 items",
        );
    }
}
