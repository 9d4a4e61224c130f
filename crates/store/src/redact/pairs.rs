//! Names and values that stand beside each other in JSON: `{"name": "PASSWORD", "value": "x"}`, `["--token", "x"]`.

use super::{
    rules::Rules,
    value::{is_code_value, is_odd, is_random},
    walk::{string_end, unescape, value_end},
    words::{Kind, classify},
};

const NAMES: &[&str] = &[
    "name",
    "key",
    "header",
    "field",
    "variable",
    "var",
    "param",
    "parameter",
    "property",
    "attribute",
    "title",
    "label",
    "id",
    "setting",
    "option",
    "k",
    "n",
];
const VALUES: &[&str] = &["value", "val", "v", "secretvalue", "values", "default", "stringvalue"];
/// Members of JSON Schema that hold a value.
const TYPES: &[&str] = &["string", "number", "integer", "object", "array", "boolean", "null"];
/// How far into an object is looked for the name that says what its value is.
const LOOK: usize = 4096;

/// Whether a member of this name is the value of a pair.
pub(super) fn is_value(key: &str) -> bool {
    VALUES.iter().any(|name| name.eq_ignore_ascii_case(key))
}

/// What the name of the object at `start` says about its value: `{"name": "PASSWORD", …}`.
pub(super) fn kind_of_value(json: &str, start: usize, rules: &Rules) -> Option<Kind> {
    members(json, start).find_map(|(key, value)| {
        if key.eq_ignore_ascii_case("type") && value == "\"password\"" {
            return Some(Kind::Password);
        }
        let is_name = NAMES.iter().any(|name| name.eq_ignore_ascii_case(&key));
        (is_name && value.starts_with('"') && value.len() <= 128)
            .then(|| rules.kind_of(&unescape(value)))
            .flatten()
    })
}

/// Whether the object at `start` describes a parameter instead of giving its value.
pub(super) fn is_schema(json: &str, start: usize) -> bool {
    let mut has_type = false;
    for (key, value) in members(json, start) {
        if is_value(&key) && !key.eq_ignore_ascii_case("default") {
            return false;
        }
        has_type |= &*key == "$ref"
            || (&*key == "type" && (value.starts_with('[') || TYPES.contains(&value.trim_matches('"'))));
    }
    has_type
}

/// The first members of the object at `start`, with their values as they are.
fn members(json: &str, start: usize) -> impl Iterator<Item = (std::borrow::Cow<'_, str>, &str)> {
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
        // A long value is not read to its end: what is after it is not looked at.
        let window = json.get(..json.floor_char_boundary(value.saturating_add(LOOK))).unwrap_or(json);
        at = value_end(window, value);
        Some((key, json.get(value..at)?))
    })
}

/// What an element of an array says about the one after it.
pub(super) fn kind_after(previous: &str, first: Option<&str>, content: &str, is_pair: bool) -> Option<Kind> {
    if let Some(flag) = previous.strip_prefix('-') {
        let program = first.unwrap_or_default().rsplit('/').next().unwrap_or_default();
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
        Kind::Password => is_odd(content),
        Kind::Code => is_code_value(content) && content.bytes().filter(u8::is_ascii_digit).count() >= 4,
        Kind::Secret | Kind::Token => {
            is_random(content) || (is_odd(content) && content.len() >= 8 && !content.contains('_'))
        }
        Kind::Random | Kind::Address => false,
    };
    taken.then_some(kind)
}
