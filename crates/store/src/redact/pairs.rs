//! Names and values next to each other in JSON: `{"name": "PASSWORD", "value": "x"}`, `["--token", "x"]`.

use std::borrow::Cow;

use super::{
    nesting::Ends,
    secret_names::{Kind, classify},
    secrets::work,
    value::{is_code_value, is_random, is_sentence, looks_like_password},
    walk::{string_end, unescape, value_end},
};
use crate::word_list::words;

const NAMES: &[&str] = words!(
    "name key header field variable var param parameter property attribute title label id setting option k \
     n"
);
const VALUES: &[&str] = &["value", "val", "v", "secretvalue", "values", "default", "stringvalue"];
/// Types of JSON Schema.
const TYPES: &[&str] = &["string", "number", "integer", "object", "array", "boolean", "null"];
/// How many bytes of an object are searched for the name of its value.
const LOOK: usize = 4096;

/// Members that name the element of a page into which a text is typed.
const ELEMENTS: &[&str] = &["selector", "element", "locator", "target", "field", "label", "placeholder"];
/// Words of such names that say nothing about the text.
const ELEMENT_WORDS: &[&str] = &["field", "input", "box", "textbox", "textfield", "entry", "element"];

/// Whether a member of this name is the value of a pair: `value`, `ParameterValue`.
pub(super) fn is_value(key: &str) -> bool {
    VALUES.iter().any(|name| name.eq_ignore_ascii_case(key))
        || without_end(key, "value").is_some_and(|start| is_listed(NAMES, start))
}

/// Whether a member of this name is the name of a pair: `name`, `ParameterKey`.
fn is_name(key: &str) -> bool {
    is_listed(NAMES, key)
        || without_end(key, "key")
            .or_else(|| without_end(key, "name"))
            .is_some_and(|start| is_listed(NAMES, start))
}

fn is_listed(list: &[&str], word: &str) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(word))
}

fn without_end<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    let (start, tail) = text.split_at_checked(text.len().checked_sub(end.len())?)?;
    tail.eq_ignore_ascii_case(end).then(|| start.trim_end_matches(['_', '-']))
}

/// What a member says about the value beside it: `"name": "PASSWORD"`, `"sensitive": true`.
pub(super) fn kind_of_value(key: &str, value: &str) -> Option<Kind> {
    let is_mark = match value {
        "\"password\"" => key.eq_ignore_ascii_case("type"),
        "true" => is_listed(&["sensitive", "secret", "is_secret", "isSecret", "secure", "masked"], key),
        _ => false,
    };
    if is_mark {
        return Some(Kind::Password);
    }
    (is_name(key) && value.starts_with('"') && value.len() <= 128)
        .then(|| classify(&unescape(value)))
        .flatten()
}

/// What a member says about the typed text: `"selector": "#password"`, `"element": "Password field"`.
pub(super) fn kind_of_typed(key: &str, value: &str) -> Option<Kind> {
    if !is_listed(ELEMENTS, key) || !value.starts_with('"') || value.len() > 128 {
        return None;
    }
    let name = unescape(value);
    let mut name = name.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    while let Some(start) = ELEMENT_WORDS.iter().find_map(|word| without_end(name, word)) {
        name = start.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    }
    classify(name)
}

/// Whether the object or array at `start` describes a parameter instead of holding its value: a schema, limits, or error
/// messages.
pub(super) fn is_description(json: &str, start: usize, ends: &Ends) -> bool {
    if json.as_bytes().get(start) == Some(&b'[') {
        let window = json.get(start..json.floor_char_boundary(start.saturating_add(LOOK)));
        let mut texts = strings(window.unwrap_or_default()).map(unescape).peekable();
        return texts.peek().is_some() && texts.all(|text| is_sentence(&text));
    }
    let mut has_type = false;
    let mut has_text = false;
    for (key, value) in members(json, start, ends) {
        if is_value(&key) && !key.eq_ignore_ascii_case("default") {
            return false;
        }
        has_type |= &*key == "$ref"
            || (matches!(&*key, "anyOf" | "oneOf" | "allOf") && value.starts_with('['))
            || (&*key == "type" && (value.starts_with('[') || TYPES.contains(&value.trim_matches('"'))));
        match &*key {
            "description" if is_sentence(&unescape(value)) => {}
            "title" if is_label(&unescape(value)) => {}
            _ => has_text |= value.contains('"'),
        }
    }
    has_type || !has_text
}

/// Whether a text is what forms call a field.
fn is_label(text: &str) -> bool {
    text.chars().all(|letter| letter.is_alphabetic() || letter == ' ')
}

/// The leading strings of an array, with their quotes.
pub(super) fn strings(array: &str) -> impl Iterator<Item = &str> {
    let mut at = 1;
    std::iter::from_fn(move || {
        let rest = array.get(at..)?;
        at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', ',']).len();
        let start = at;
        (array.as_bytes().get(at) == Some(&b'"')).then(|| at = string_end(array, at))?;
        array.get(start..at)
    })
}

/// The first members of the object at `start`, with raw values.
pub(super) fn members<'a>(
    json: &'a str,
    start: usize,
    ends: &Ends,
) -> impl Iterator<Item = (Cow<'a, str>, &'a str)> {
    let mut at = start + 1;
    let limit = start + LOOK;
    let is_gap = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':');
    std::iter::from_fn(move || {
        let skip = |at: usize| {
            at + json.as_bytes().get(at..).unwrap_or_default().iter().take_while(|byte| is_gap(byte)).count()
        };
        at = skip(at);
        if at > limit || json.as_bytes().get(at) != Some(&b'"') {
            return None;
        }
        let key_end = string_end(json, at);
        let key = unescape(json.get(at..key_end)?);
        let value = skip(key_end);
        let container = ends.of_container(value);
        at = container.unwrap_or_else(|| value_end(json, value));
        work::count(if container.is_some() { value - key_end } else { at - key_end } + key.len());
        Some((key, json.get(value..at)?))
    })
}

/// A longer first element is not the path of a program.
const LONGEST_PROGRAM: usize = 256;

/// What an element of an array says about the next one.
pub(super) fn kind_after(previous: &str, first: Option<&str>, content: &str, is_pair: bool) -> Option<Kind> {
    if let Some(flag) = previous.strip_prefix('-') {
        let program = first.filter(|path| path.len() <= LONGEST_PROGRAM).unwrap_or_default();
        let program = program.rsplit('/').next().unwrap_or_default();
        let short = match flag {
            "p" => matches!(program, "sshpass" | "docker" | "podman" | "helm" | "mongo" | "mongosh"),
            "P" => matches!(program, "zip" | "unzip" | "sqlcmd" | "mosquitto_pub" | "mosquitto_sub"),
            "a" => program == "redis-cli",
            "w" => program.starts_with("ldap"),
            _ => false,
        };
        if short && (program != "docker" || !content.contains(':')) {
            return Some(Kind::Password);
        }
        return classify(flag.trim_start_matches('-')).filter(|_| !content.starts_with('-'));
    }
    if previous.contains(' ') && !is_pair {
        return None;
    }
    let kind = classify(previous.trim_end_matches(':'))?;
    if is_pair {
        return classify(content).is_none().then_some(kind);
    }
    let taken = match kind {
        Kind::Password => looks_like_password(content),
        Kind::Code => is_code_value(content) && content.bytes().filter(u8::is_ascii_digit).count() >= 4,
        Kind::Secret | Kind::Token => {
            is_random(content)
                || (looks_like_password(content) && content.len() >= 8 && !content.contains('_'))
        }
        Kind::Random | Kind::Address => false,
    };
    taken.then_some(kind)
}
