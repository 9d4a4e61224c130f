//! Defaults for what a model left out.

use std::collections::HashSet;

use gateway_notation::pointer;
use serde_json::Value;

use super::kinds::{Kinds, accepted_kinds, resolve};
use super::validate::Validator;
use super::walk::each_schema;

/// Schemas inside one another that are looked into.
const DEEPEST: usize = 32;

/// Schemas that are looked into: references can make a short schema endless.
const MOST_VISITS: usize = 10_000;

/// Most defaults of one call. Where more are missing, none is filled in: arguments that are filled in up to some item would be
/// worse than those that came.
const MOST: usize = 256;

/// Arguments with the defaults of what they left out.
#[derive(Clone, Debug, PartialEq)]
pub struct FilledArguments {
    /// The arguments.
    pub arguments: Value,
    /// Where defaults were filled in, as JSON Pointers.
    pub filled: Vec<String>,
    /// Defaults that were not filled in, besides those that the schema itself refuses.
    pub unfilled: Vec<UnfilledDefault>,
}

/// A default that was not filled in, for another reason than that the schema refuses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfilledDefault {
    /// Where it would stand, as a JSON Pointer; empty where it is about all of them.
    pub path: String,
    /// Why it was not filled in.
    pub reason: UnfilledReason,
}

/// Why a default was not filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnfilledReason {
    /// More defaults are missing than one call gets, so that it gets none.
    TooMany,
    /// Schema and arguments are too large to look for defaults, so that none is filled in.
    TooLarge,
    /// It has a number beyond 64 bits, of which digits are lost.
    LosesDigits,
}

impl UnfilledReason {
    /// The reason in words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::TooMany => "more than 256 defaults are missing, so none is filled in",
            Self::TooLarge => {
                "the schema and the arguments are too large to look for defaults, so none is filled in"
            }
            Self::LosesDigits => "the default has a number beyond 64 bits, which would lose digits",
        }
    }
}

/// What is found, and how much more may be looked at.
struct Search<'s> {
    missing: Vec<Missing<'s>>,
    /// Where those belong.
    known: HashSet<(String, &'s str)>,
    visits: usize,
    /// Why nothing is filled in.
    cut: Option<UnfilledReason>,
}

/// A default that is missing: where it belongs, as a JSON Pointer to the object around it and a name in that.
struct Missing<'s> {
    object: String,
    name: &'s str,
    value: &'s Value,
}

impl Validator {
    /// Valid `arguments` with the defaults of properties that they leave out. A default that the schema itself refuses is left out, and
    /// so is one for a property that is null. Invalid arguments stay as they are.
    pub fn fill_defaults(&self, arguments: &Value) -> FilledArguments {
        let mut search =
            Search { missing: Vec::new(), known: HashSet::new(), visits: MOST_VISITS, cut: None };
        self.find_missing(self.schema(), arguments, "", DEEPEST, &mut search);
        let mut result =
            FilledArguments { arguments: arguments.clone(), filled: Vec::new(), unfilled: Vec::new() };
        if let Some(reason) = search.cut {
            // Without any default there was nothing to be found.
            if !search.missing.is_empty() || has_defaults(self.schema()) {
                result.unfilled.push(UnfilledDefault { path: String::new(), reason });
            }
            return result;
        }
        let (inexact, missing): (Vec<_>, Vec<_>) =
            search.missing.into_iter().partition(|default| loses_digits(default.value));
        result.unfilled = inexact
            .into_iter()
            .map(|default| UnfilledDefault { path: default.path(), reason: UnfilledReason::LosesDigits })
            .collect();
        if missing.is_empty() {
            return result;
        }
        let mut all = arguments.clone();
        let paths: Vec<String> = missing.iter().filter_map(|default| default.fill(&mut all)).collect();
        if self.is_valid(&all) {
            return FilledArguments { arguments: all, filled: paths, ..result };
        }
        // One of them does not fit, so that each is tried by itself.
        for default in &missing {
            let mut more = result.arguments.clone();
            if let Some(path) = default.fill(&mut more)
                && self.is_valid(&more)
            {
                result.arguments = more;
                result.filled.push(path);
            }
        }
        result
    }

    fn find_missing<'s>(
        &'s self,
        schema: &'s Value,
        value: &Value,
        path: &str,
        levels: usize,
        search: &mut Search<'s>,
    ) {
        let root = self.schema();
        let schema = resolve(root, schema);
        let (Some(levels), Some(visits)) = (levels.checked_sub(1), search.visits.checked_sub(1)) else {
            search.cut.get_or_insert(UnfilledReason::TooLarge);
            return;
        };
        search.visits = visits;
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.find_missing(part, value, path, levels, search);
        }
        for union in ["anyOf", "oneOf"].iter().filter_map(|name| schema.get(name)?.as_array()) {
            // Where several alternatives could be meant, their defaults are nobody's.
            let mut meant = union.iter().filter(|one| accepted_kinds(root, one).has(Kinds::of(value)));
            if let (Some(only), None) = (meant.next(), meant.next()) {
                self.find_missing(only, value, path, levels, search);
            }
        }
        if search.cut.is_some() {
            return;
        }
        match value {
            Value::Object(members) => {
                let properties = schema.get("properties").and_then(Value::as_object);
                for (name, property) in properties.into_iter().flatten() {
                    if let Some(value) = members.get(name) {
                        self.find_missing(property, value, &pointer::join(path, name), levels, search);
                        continue;
                    }
                    let own = property.get("default");
                    let default = own.or_else(|| resolve(root, property).get("default"));
                    let Some(value) = default else { continue };
                    if search.known.insert((path.to_owned(), name)) {
                        search.missing.push(Missing { object: path.to_owned(), name, value });
                    }
                    if search.missing.len() > MOST {
                        search.cut = Some(UnfilledReason::TooMany);
                        return;
                    }
                }
            }
            Value::Array(items) => {
                let Some(item) = schema.get("items").filter(|item| item.is_object()) else { return };
                for (index, value) in items.iter().enumerate() {
                    let path = pointer::join(path, &index.to_string());
                    self.find_missing(item, value, &path, levels, search);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

impl Missing<'_> {
    fn path(&self) -> String {
        pointer::join(&self.object, self.name)
    }

    /// Writes it into `arguments`, and gives the JSON Pointer to it.
    fn fill(&self, arguments: &mut Value) -> Option<String> {
        let object = arguments.pointer_mut(&self.object)?.as_object_mut()?;
        object.insert(self.name.to_owned(), self.value.clone());
        Some(self.path())
    }
}

/// Whether any schema in `schema` has a default.
fn has_defaults(schema: &Value) -> bool {
    let mut found = false;
    each_schema(schema, &mut |schema, _| found |= schema.get("default").is_some());
    found
}

/// Whether a number in `value` may have been a whole one of more than 64 bits. Such a number was read as a double.
fn loses_digits(value: &Value) -> bool {
    /// 2^64, which is the least double that a longer positive number is read as.
    const OVER: f64 = 18_446_744_073_709_551_616.0;
    /// -2^63, which -2^63 - 1 is read as.
    const UNDER: f64 = -9_223_372_036_854_775_808.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            number.as_f64().is_some_and(|number| number >= OVER || number <= UNDER)
        }
        Value::Array(items) => items.iter().any(loses_digits),
        Value::Object(members) => members.values().any(loses_digits),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
