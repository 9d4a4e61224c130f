//! Which kinds of JSON values a schema accepts, as far as its own words tell.

use serde_json::Value;

use crate::schema::refs::percent_decoded;

/// References followed in a row before giving up.
const MAX_HOPS: u32 = 16;
/// Schemas looked at before one is taken to accept everything: references can make a short schema endless.
const MAX_VISITS: u32 = 256;

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    /// Every number, integers included.
    pub(crate) const NUMBER: Self = Self(8 | 4);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub(crate) const ALL: Self = Self(127);

    /// The kind of one value.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_f64() => Self(8),
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    fn named(name: &str) -> Self {
        // Upper case is how one provider spells the same names.
        match name.to_ascii_lowercase().as_str() {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::NONE,
        }
    }

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// The kinds that `schema` accepts; everything when it does not say.
pub(crate) fn accepted_kinds(root: &Value, schema: &Value) -> Kinds {
    let mut visits = MAX_VISITS;
    accepted(root, schema, &mut visits)
}

fn accepted(root: &Value, schema: &Value, visits: &mut u32) -> Kinds {
    if *visits == 0 {
        return Kinds::ALL;
    }
    *visits -= 1;
    let schema = resolve(root, schema);
    let map = match schema {
        Value::Object(map) => map,
        Value::Bool(false) => return Kinds::NONE,
        _ => return Kinds::ALL,
    };
    let mut kinds = match map.get("type") {
        Some(Value::String(name)) => Kinds::named(name),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).fold(Kinds::NONE, |all, name| all.or(Kinds::named(name)))
        }
        _ => Kinds::ALL,
    };
    if kinds == Kinds::NONE {
        // A type name that nobody knows says nothing.
        kinds = Kinds::ALL;
    }
    if let Some(constant) = map.get("const") {
        kinds = kinds.and(of_listed(constant));
    }
    if let Some(Value::Array(values)) = map.get("enum") {
        kinds = kinds.and(values.iter().fold(Kinds::NONE, |all, value| all.or(of_listed(value))));
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = map.get(keyword) {
            let any = branches.iter().fold(Kinds::NONE, |all, branch| all.or(accepted(root, branch, visits)));
            kinds = kinds.and(any);
        }
    }
    if let Some(Value::Array(parts)) = map.get("allOf") {
        kinds = parts.iter().fold(kinds, |all, part| all.and(accepted(root, part, visits)));
    }
    if map.get("nullable") == Some(&Value::Bool(true)) {
        kinds = kinds.or(Kinds::NULL);
    }
    kinds
}

/// A listed number admits every spelling of itself: `1` and `1.0` are one value in JSON Schema.
fn of_listed(value: &Value) -> Kinds {
    if value.is_number() && value.as_f64().is_some_and(|number| number.fract() == 0.0) {
        return Kinds::INTEGER;
    }
    if value.is_number() { Kinds::NUMBER } else { Kinds::of(value) }
}

/// Follows local references; a reference that leads nowhere accepts everything.
pub(crate) fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut current = schema;
    for _ in 0..MAX_HOPS {
        let Some(reference) = current.get("$ref").and_then(Value::as_str) else { return current };
        let Some(fragment) = reference.strip_prefix('#') else { return &Value::Bool(true) };
        let Some(target) = root.pointer(&percent_decoded(fragment)) else { return &Value::Bool(true) };
        current = target;
    }
    &Value::Bool(true)
}

/// What a person calls this kind of value.
pub(crate) fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
