//! Validation against a tool's original schema.

use jsonschema::{ValidationError, error::ValidationErrorKind};
use serde_json::Value;

use super::{
    coerce::{Coercion, coerce_partly, coerce_with},
    compile::compile,
    issues::{Issue, MAX_EXPECTED, MAX_ISSUES, collect_issues, unchecked},
    metered::{MeteredValidator, Prepared},
    walk::each_schema,
};

/// With fewer alternatives nothing needs to be counted.
const FEW_BRANCHES: usize = 32;

/// Errors of alternatives that may be made, each of some hundred bytes, before only the first one is looked for.
const MOST_ERRORS: u64 = 300_000;

/// States of patterns times bytes of the value that nobody needs to look at more closely.
const FEW_STATES: u64 = 10_000_000;

/// A part of the schema that could not be used as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Omission {
    /// Where it stands in the schema, as a JSON Pointer; empty for the whole schema.
    pub path: String,
    /// What became of it.
    pub kind: OmissionKind,
    /// What is wrong with it.
    pub reason: String,
}

/// What became of a part of the schema that could not be used as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OmissionKind {
    /// The schema is checked, but read as one of another draft.
    OtherDraft,
    /// Arguments are not checked against it, because it is broken.
    Unchecked,
    /// Arguments are not checked against it although nothing is wrong with it: that would take too long, or the engine for
    /// regular expressions cannot do it.
    TooLarge,
}

impl Omission {
    pub(super) fn unchecked(path: String, reason: impl Into<String>) -> Self {
        Self { path, kind: OmissionKind::Unchecked, reason: reason.into() }
    }
}

/// A tool's original schema, ready to check arguments.
///
/// References are followed only inside the schema, `format` is not asserted. A schema that is partly broken
/// checks what can be checked; [`Validator::omissions`] says what cannot.
#[derive(Debug)]
pub struct Validator {
    schema: Value,
    checks: Option<Checks>,
    /// The alternatives of all unions in the schema.
    branches: usize,
    omissions: Vec<Omission>,
}

impl Validator {
    /// Compiles `schema`: the draft that `$schema` names, 2020-12 without one.
    pub fn new(schema: &Value) -> Self {
        let mut omissions = Vec::new();
        let checks = compile(schema, &mut omissions);
        Self { schema: schema.clone(), checks, branches: branches(schema), omissions }
    }

    /// The parts of the schema that are not checked.
    pub fn omissions(&self) -> &[Omission] {
        &self.omissions
    }

    /// The first part of the schema that is not checked at all. A schema that is read as one of another draft is checked.
    pub fn unchecked(&self) -> Option<&Omission> {
        self.omissions.iter().find(|omission| omission.kind != OmissionKind::OtherDraft)
    }

    /// The schema as it came.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Whether `value` is valid. What cannot be checked in bounded time is not.
    pub fn is_valid(&self, value: &Value) -> bool {
        match self.way(value) {
            Way::Free => true,
            Way::Library(compiled) => compiled.is_valid(value),
            Way::Metered(metered) => metered
                .prepare(value)
                .and_then(|prepared| prepared.run(value, |compiled, node| compiled.is_valid(node)))
                .unwrap_or(false),
        }
    }

    /// Everything that is wrong with `value`, at most a hundred entries.
    pub fn validate(&self, value: &Value) -> Vec<Issue> {
        match self.way(value) {
            Way::Free => Vec::new(),
            Way::Library(compiled) if self.is_wide(value) => {
                list(&self.schema, value, compiled.validate(value).err())
            }
            Way::Library(compiled) => list(&self.schema, value, compiled.iter_errors(value)),
            Way::Metered(metered) => {
                let issues = metered.prepare(value).and_then(|prepared| validate_metered(&prepared, value));
                issues.unwrap_or_else(|| vec![unchecked(value)])
            }
        }
    }

    /// What is to check `value`.
    fn way(&self, value: &Value) -> Way<'_> {
        match &self.checks {
            None => Way::Free,
            Some(Checks::Library(compiled)) => Way::Library(compiled),
            // Without unwinding the library could not be stopped; its time is at least linear in the text.
            Some(Checks::Priced { compiled, states, .. })
                if cfg!(panic = "abort") || !is_longer(value, FEW_STATES / states) =>
            {
                Way::Library(compiled)
            }
            Some(Checks::Priced { metered, .. } | Checks::Metered(metered)) => Way::Metered(metered),
        }
    }

    /// Whether the library would make very many errors, of which only a few are reported.
    fn is_wide(&self, value: &Value) -> bool {
        let errors = || parts(value).saturating_mul(u64::try_from(self.branches).unwrap_or(u64::MAX));
        self.branches > FEW_BRANCHES && errors() > MOST_ERRORS
    }

    /// Mends types by the schema; see [`super::coerce`].
    pub fn coerce(&self, value: &Value) -> (Value, Vec<Coercion>) {
        coerce_with(self, value)
    }

    /// Mends as many types as possible, also where the value stays invalid. For error messages, which should name only what
    /// cannot be mended.
    pub fn coerce_partly(&self, value: &Value) -> Value {
        coerce_partly(self, value)
    }
}

/// What is wrong with `value`; `None` if the budget does not suffice.
fn validate_metered(prepared: &Prepared<'_>, value: &Value) -> Option<Vec<Issue>> {
    // The library remembers verdicts, but not errors.
    if prepared.run(value, |compiled, node| compiled.is_valid(node)) == Some(true) {
        return Some(Vec::new());
    }
    let schema = &prepared.schema;
    let all = prepared.run(value, |compiled, node| list(schema, value, compiled.iter_errors(node)));
    // The first thing that is wrong may be found where all would take too long.
    let first = || prepared.run(value, |compiled, node| list(schema, value, compiled.validate(node).err()));
    all.or_else(first)
}

/// What `errors` say, as much as is reported.
fn list<'e>(
    schema: &Value,
    value: &Value,
    errors: impl IntoIterator<Item = ValidationError<'e>>,
) -> Vec<Issue> {
    let mut issues = Vec::new();
    for error in errors {
        if matches!(
            error.kind(),
            ValidationErrorKind::BacktrackLimitExceeded { .. }
                | ValidationErrorKind::RegexEngineFailure { .. }
        ) {
            return vec![unchecked(value)];
        }
        collect_issues(schema, &error, &mut issues);
        let wanted: usize = issues.iter().map(|issue| issue.expected.len()).sum();
        if issues.len() >= MAX_ISSUES || wanted > MAX_EXPECTED {
            break;
        }
    }
    issues
}

/// What checks values.
#[derive(Debug)]
pub(super) enum Checks {
    /// The library, whose time grows with the size of schema and value.
    Library(jsonschema::Validator),
    /// The library, whose time grows with the states of the patterns besides; for large values with a meter.
    Priced {
        compiled: jsonschema::Validator,
        /// More than none.
        states: u64,
        metered: Box<MeteredValidator>,
    },
    /// The library with a meter.
    Metered(Box<MeteredValidator>),
}

/// What checks one value.
enum Way<'a> {
    /// There is nothing to check.
    Free,
    Library(&'a jsonschema::Validator),
    Metered(&'a MeteredValidator),
}

/// Whether all texts and keys in `value` are longer than `most` together.
fn is_longer(value: &Value, most: u64) -> bool {
    fn rest(value: &Value, room: u64) -> Option<u64> {
        let take = |room: u64, text: &str| room.checked_sub(u64::try_from(text.len()).ok()? + 1);
        match value {
            Value::String(text) => take(room, text),
            Value::Array(items) => items.iter().try_fold(room, |room, item| rest(item, room)),
            Value::Object(map) => {
                map.iter().try_fold(room, |room, (key, value)| rest(value, take(room, key)?))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Some(room),
        }
    }
    rest(value, most).is_none()
}

/// The alternatives of all unions in `schema`.
fn branches(schema: &Value) -> usize {
    let mut count = 0;
    each_schema(schema, &mut |schema, _| {
        let unions = ["anyOf", "oneOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array());
        count += unions.map(Vec::len).sum::<usize>();
    });
    count
}

/// How many values there are in `value`, itself included.
pub(super) fn parts(value: &Value) -> u64 {
    1 + match value {
        Value::Object(map) => map.values().map(parts).sum(),
        Value::Array(items) => items.iter().map(parts).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
