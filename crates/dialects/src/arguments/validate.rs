//! Validation against a tool's original schema.

use std::sync::OnceLock;

use jsonschema::Draft;
use serde_json::Value;

use super::{
    bounded::Run,
    coerce::{Coercion, coerce_with},
    compile::compile,
    graph::Graph,
    issues::{Issue, MAX_EXPECTED, MAX_ISSUES, collect_issues, unchecked},
    listing::list_issues,
    omit::{holds_names, holds_values},
    patterns::Survey,
};

/// With fewer alternatives nothing needs to be counted.
const FEW_BRANCHES: usize = 32;

/// Errors of alternatives that may be made, each of some hundred bytes, before only the first one is looked for.
const MOST_ERRORS: usize = 300_000;

/// States of patterns times bytes of the value that nobody needs to look at more closely.
const FEW_STATES: u64 = 10_000_000;

/// A part of the schema that could not be used as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Arguments are not checked against it, because that would take too long.
    TooLarge,
}

impl Omission {
    pub(super) fn unchecked(path: String, reason: impl Into<String>) -> Self {
        Self { path, kind: OmissionKind::Unchecked, reason: reason.into() }
    }
}

/// A tool's original schema, ready to check arguments.
///
/// References are followed only inside the schema, `format` is not asserted. A schema that is broken in places
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
            Way::Graph(graph) => Run::new(graph, value).verdict().unwrap_or(false),
            Way::None => false,
        }
    }

    /// Everything that is wrong with `value`, at most a hundred entries.
    pub fn validate(&self, value: &Value) -> Vec<Issue> {
        match self.way(value) {
            Way::Free => Vec::new(),
            Way::Library(compiled) if self.is_wide(value) => self.first(compiled, value),
            Way::Library(compiled) => self.collect(compiled, value),
            Way::Graph(graph) => list_issues(graph, value),
            Way::None => vec![unchecked(value)],
        }
    }

    /// What is to check `value`.
    fn way(&self, value: &Value) -> Way<'_> {
        let (compiled, graph) = match &self.checks {
            None => return Way::Free,
            Some(Checks::Library(compiled)) => return Way::Library(compiled),
            Some(Checks::Priced { compiled, states, .. }) if !is_longer(value, FEW_STATES / states) => {
                return Way::Library(compiled);
            }
            Some(Checks::Priced { compiled, source, .. }) => match source.graph() {
                Some(graph) => (Some(compiled), graph),
                None => return Way::None,
            },
            Some(Checks::Bounded(compiled, graph)) => (compiled.as_ref(), graph),
        };
        let affordable = compiled.filter(|_| Run::new(graph, value).is_affordable());
        affordable.map_or(Way::Graph(graph), Way::Library)
    }

    /// Whether the library would make very many errors, of which only a few are told.
    fn is_wide(&self, value: &Value) -> bool {
        self.branches > FEW_BRANCHES && parts(value).saturating_mul(self.branches) > MOST_ERRORS
    }

    /// The first thing that is wrong.
    fn first(&self, compiled: &jsonschema::Validator, value: &Value) -> Vec<Issue> {
        let mut issues = Vec::new();
        if let Err(error) = compiled.validate(value) {
            collect_issues(&self.schema, &error, &mut issues);
        }
        issues
    }

    fn collect(&self, compiled: &jsonschema::Validator, value: &Value) -> Vec<Issue> {
        let mut issues = Vec::new();
        for error in compiled.iter_errors(value) {
            collect_issues(&self.schema, &error, &mut issues);
            let wanted: usize = issues.iter().map(|issue| issue.expected.len()).sum();
            if issues.len() >= MAX_ISSUES || wanted > MAX_EXPECTED {
                break;
            }
        }
        issues
    }

    /// Mends types by the schema; see [`super::coerce`].
    pub fn coerce(&self, value: &Value) -> (Value, Vec<Coercion>) {
        coerce_with(self, value)
    }
}

/// What checks values.
#[derive(Debug)]
pub(super) enum Checks {
    /// The library, whose time grows with the size of schema and value.
    Library(jsonschema::Validator),
    /// The library, whose time grows with the states of the patterns besides; for large values the graph.
    Priced {
        compiled: jsonschema::Validator,
        /// More than none.
        states: u64,
        source: Box<Source>,
    },
    /// The library, where it reads the schema in bounded time, for values that it surely checks in bounded time; for
    /// all others the graph.
    Bounded(Option<jsonschema::Validator>, Graph),
}

/// A schema whose graph is made when it is first needed.
#[derive(Debug)]
pub(super) struct Source {
    schema: Value,
    draft: Draft,
    patterns: Survey,
    graph: OnceLock<Option<Graph>>,
}

impl Source {
    pub(super) fn new(schema: Value, draft: Draft, patterns: Survey) -> Self {
        Self { schema, draft, patterns, graph: OnceLock::new() }
    }

    fn graph(&self) -> Option<&Graph> {
        self.graph.get_or_init(|| Graph::new(&self.schema, self.draft, &self.patterns).ok()).as_ref()
    }
}

/// What checks one value.
enum Way<'a> {
    /// There is nothing to check.
    Free,
    Library(&'a jsonschema::Validator),
    Graph(&'a Graph),
    /// It cannot be checked.
    None,
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
    match schema {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| match (key.as_str(), value) {
                ("anyOf" | "oneOf", Value::Array(items)) => items.len() + branches(value),
                (key, _) if holds_values(key) => 0,
                (key, Value::Object(named)) if holds_names(key) => named.values().map(branches).sum(),
                (_, value) => branches(value),
            })
            .sum(),
        Value::Array(items) => items.iter().map(branches).sum(),
        _ => 0,
    }
}

/// How many values there are in `value`, itself included.
fn parts(value: &Value) -> usize {
    1 + match value {
        Value::Object(map) => map.values().map(parts).sum(),
        Value::Array(items) => items.iter().map(parts).sum(),
        _ => 0,
    }
}
