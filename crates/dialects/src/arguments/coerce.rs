//! Types mended by the schema.

use std::collections::HashMap;

use gateway_notation::pointer;
use serde_json::{Map, Number, Value};

use super::{
    kinds::{Kinds, accepted_kinds, resolve},
    validate::Validator,
};
use crate::json::from_str;

/// Schema nodes entered one inside the other.
const MAX_DEPTH: u32 = 96;
/// Parts of one object's schema looked at: references can make a short schema endless.
const MAX_PARTS: usize = 64;
/// Branches of one union that are put in order.
const MAX_BRANCHES: usize = 256;

/// What was done to one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CoercionRule {
    /// `"5"` became `5`.
    TextToNumber,
    /// `"true"` became `true`.
    TextToBoolean,
    /// `"null"` became `null`.
    TextToNull,
    /// `120000.0` became `120000`.
    WholeNumber,
    /// JSON text became the object or array in it.
    TextToJson,
    /// One value became a list of one.
    SingleToList,
    /// `null` for an optional parameter was taken away.
    NullRemoved,
}

impl CoercionRule {
    /// The name under which the coercion is reported.
    pub fn name(self) -> &'static str {
        match self {
            Self::TextToNumber => "text-to-number",
            Self::TextToBoolean => "text-to-boolean",
            Self::TextToNull => "text-to-null",
            Self::WholeNumber => "whole-number",
            Self::TextToJson => "text-to-json",
            Self::SingleToList => "single-to-list",
            Self::NullRemoved => "null-removed",
        }
    }
}

/// One value that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coercion {
    /// Where in the arguments, as a JSON Pointer.
    pub path: String,
    /// What was done.
    pub rule: CoercionRule,
}

/// Mends the types of `value` by `schema`. All or nothing: when the outcome does not validate, `value` comes
/// back as it was.
pub fn coerce(schema: &Value, value: &Value) -> (Value, Vec<Coercion>) {
    Validator::new(schema).coerce(value)
}

pub(super) fn coerce_with(validator: &Validator, value: &Value) -> (Value, Vec<Coercion>) {
    let mut walk = Walk { root: validator.schema(), kinds: HashMap::new(), done: Vec::new() };
    let mended = walk.mend(validator.schema(), value, "", 0);
    if walk.done.is_empty() || !validator.is_valid(&mended) {
        return (value.clone(), Vec::new());
    }
    (mended, walk.done)
}

pub(super) fn coerce_partly(validator: &Validator, value: &Value) -> Value {
    let mut walk = Walk { root: validator.schema(), kinds: HashMap::new(), done: Vec::new() };
    let mended = walk.mend(validator.schema(), value, "", 0);
    let is_better = validator.validate(&mended).len() < validator.validate(value).len();
    if is_better { mended } else { value.clone() }
}

struct Walk<'a> {
    root: &'a Value,
    /// By the address of the schema: the items of a list all have the same one.
    kinds: HashMap<usize, Kinds>,
    done: Vec<Coercion>,
}

impl<'a> Walk<'a> {
    fn note(&mut self, path: &str, rule: CoercionRule) {
        self.done.push(Coercion { path: path.to_owned(), rule });
    }

    fn kinds_of(&mut self, schema: &'a Value) -> Kinds {
        let address = std::ptr::from_ref(schema).addr();
        *self.kinds.entry(address).or_insert_with(|| accepted_kinds(self.root, schema))
    }

    fn mend(&mut self, schema: &'a Value, value: &Value, path: &str, depth: u32) -> Value {
        let schema = resolve(self.root, schema);
        if depth > MAX_DEPTH || !schema.is_object() {
            return value.clone();
        }
        let kinds = self.kinds_of(schema);
        if kinds.has(Kinds::of(value)) {
            return self.descend(schema, value, path, depth);
        }
        if let Value::String(text) = value
            && let Some(inner) = self.read_text(text, kinds, path)
        {
            return self.descend(schema, &inner, path, depth);
        }
        if let Some(whole) = value.as_f64().filter(|_| kinds.has(Kinds::INTEGER)).and_then(whole_number) {
            self.note(path, CoercionRule::WholeNumber);
            return whole;
        }
        if kinds.has(Kinds::ARRAY) && !value.is_null() {
            self.note(path, CoercionRule::SingleToList);
            let item = match self.items_of(schema, 0) {
                Some(items) => self.mend(items, value, &format!("{path}/0"), depth + 1),
                None => value.clone(),
            };
            return Value::Array(vec![item]);
        }
        value.clone()
    }

    /// What the text says, when the schema wants that and not text.
    fn read_text(&mut self, text: &str, kinds: Kinds, path: &str) -> Option<Value> {
        let word = text.trim();
        let (value, rule) = match word {
            "true" | "True" if kinds.has(Kinds::BOOLEAN) => (Value::Bool(true), CoercionRule::TextToBoolean),
            "false" | "False" if kinds.has(Kinds::BOOLEAN) => {
                (Value::Bool(false), CoercionRule::TextToBoolean)
            }
            "null" if kinds.has(Kinds::NULL) => (Value::Null, CoercionRule::TextToNull),
            _ => match json_in(word)? {
                number @ Value::Number(_) if kinds.has(Kinds::of(&number)) => {
                    (number, CoercionRule::TextToNumber)
                }
                Value::Number(number) if kinds.has(Kinds::INTEGER) => {
                    (number.as_f64().and_then(whole_number)?, CoercionRule::TextToNumber)
                }
                inner @ (Value::Object(_) | Value::Array(_)) if kinds.has(Kinds::of(&inner)) => {
                    (inner, CoercionRule::TextToJson)
                }
                _ => return None,
            },
        };
        self.note(path, rule);
        Some(value)
    }

    /// Mends the members of a value that is itself of the right kind.
    fn descend(&mut self, schema: &'a Value, value: &Value, path: &str, depth: u32) -> Value {
        match value {
            Value::Object(map) => self.members(schema, map, path, depth),
            Value::Array(items) => {
                let mended = items.iter().enumerate().map(|(at, item)| match self.items_of(schema, at) {
                    Some(inner) => self.mend(inner, item, &format!("{path}/{at}"), depth + 1),
                    None => item.clone(),
                });
                Value::Array(mended.collect())
            }
            _ => value.clone(),
        }
    }

    fn members(&mut self, schema: &'a Value, map: &Map<String, Value>, path: &str, depth: u32) -> Value {
        let mut parts = Vec::new();
        self.gather(schema, Applies::Always, map, &mut parts);
        let mut out = Map::with_capacity(map.len());
        for (name, value) in map {
            let below = pointer::join(path, name);
            let own = parts.iter().find_map(|(part, _)| part.get("properties")?.get(name));
            let others = || {
                parts.iter().find_map(|(part, _)| part.get("additionalProperties").filter(|s| s.is_object()))
            };
            let Some(inner) = own.or_else(others) else {
                out.insert(name.clone(), value.clone());
                continue;
            };
            let unwanted = value.is_null() && !self.kinds_of(inner).has(Kinds::NULL);
            if unwanted && !requires(&parts, name) {
                self.note(&below, CoercionRule::NullRemoved);
                continue;
            }
            let mended = self.mend(inner, value, &below, depth + 1);
            out.insert(name.clone(), mended);
        }
        Value::Object(out)
    }

    /// The schema and its parts, the likeliest branches first, as many as may be looked at.
    fn gather(
        &self,
        schema: &'a Value,
        applies: Applies,
        instance: &Map<String, Value>,
        parts: &mut Vec<(&'a Value, Applies)>,
    ) {
        if parts.len() >= MAX_PARTS {
            return;
        }
        let schema = resolve(self.root, schema);
        parts.push((schema, applies));
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.gather(part, applies, instance, parts);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(branches) = schema.get(keyword).and_then(Value::as_array) {
                for branch in self.by_fit(branches, instance) {
                    self.gather(branch, Applies::Perhaps, instance, parts);
                }
            }
        }
    }

    /// Branches whose constant members agree with the instance, then the others.
    fn by_fit(&self, branches: &'a [Value], instance: &Map<String, Value>) -> Vec<&'a Value> {
        let mut ordered: Vec<&Value> = branches.iter().take(MAX_BRANCHES).collect();
        ordered.sort_by_key(|branch| {
            let Some(properties) = resolve(self.root, branch).get("properties").and_then(Value::as_object)
            else {
                return 2;
            };
            let agrees =
                properties.iter().all(|(name, schema)| match (schema.get("const"), instance.get(name)) {
                    (Some(constant), Some(value)) => constant == value,
                    _ => true,
                });
            u8::from(!agrees)
        });
        ordered
    }

    /// The schema of one item.
    fn items_of(&self, schema: &'a Value, at: usize) -> Option<&'a Value> {
        let schema = resolve(self.root, schema);
        let by_position =
            |keyword: &str| schema.get(keyword).and_then(Value::as_array).and_then(|list| list.get(at));
        if let Some(position) = by_position("prefixItems").or_else(|| by_position("items")) {
            return Some(position);
        }
        if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
            return Some(items);
        }
        let branches =
            ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array());
        branches
            .flatten()
            .map(|branch| resolve(self.root, branch))
            .find_map(|branch| branch.get("items").filter(|items| items.is_object()))
    }
}

/// Whether a part of an object's schema holds in any case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Applies {
    Always,
    Perhaps,
}

fn requires(parts: &[(&Value, Applies)], name: &str) -> bool {
    let certain = parts.iter().filter(|(_, applies)| *applies == Applies::Always);
    certain
        .filter_map(|(part, _)| part.get("required")?.as_array())
        .flatten()
        .any(|required| required == name)
}

/// The same number without its `.0`, where that is exact.
fn whole_number(number: f64) -> Option<Value> {
    // Beyond 2^53 a double no longer names one integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() != 0.0 || number.abs() > EXACT {
        return None;
    }
    let text = format!("{number:.0}");
    let plain = if text == "-0" { "0" } else { &text };
    plain.parse::<i64>().ok().map(|whole| Value::Number(Number::from(whole)))
}

/// The JSON in a text, looked for twice: some models encode it twice.
fn json_in(text: &str) -> Option<Value> {
    match from_str(text).ok()? {
        Value::String(inner) => from_str(&inner).ok(),
        value => Some(value),
    }
}
