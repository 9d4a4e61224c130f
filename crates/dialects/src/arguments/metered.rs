//! Runs of the library that end when their budget is used up.
//!
//! The library cannot be stopped, but it reads values through a trait. These values count how often they are read, and
//! unwind out of the library when the budget is spent. A schema that is checked in this way has a `type` everywhere, so that
//! whichever part of it is applied, the value is read first.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, OnceLock};

use gateway_notation::pointer;
use gateway_regex::OutOfSteps;
use jsonschema::{
    Draft, JsonType, Keyword, ValidationError,
    json::{Array, Json, Node, NodeIdentity, Object, SerdeJson},
};
use serde_json::{Map, Number, Value, json, map};

use super::{
    compile::{compiled, library_options, omission},
    issues::wanted_pattern,
    patterns::{Pattern, Survey, price_of},
    validate::{Omission, parts},
    walk::each_schema_mut,
};

/// What reading a value costs. Looking for a member that is not there is one unit.
const READ: u64 = 16;
/// What an error costs, which holds locations and messages.
const ERROR: u64 = 8 * READ;
/// The budget of any value, and for each part of it.
const BUDGET: u64 = 400_000 * READ;
const BUDGET_PER_PART: u64 = 64 * READ;
/// States of an automaton that look at one byte for one unit.
const STATES_PER_UNIT: u64 = 8;
/// Bytes of a text that are read for one unit.
const BYTES_PER_UNIT: u64 = 16;
/// Bytes on the stack, of which threads have at least two megabytes.
const MOST_STACK: usize = 1 << 20;

/// A schema whose runs are metered.
#[derive(Debug)]
pub(super) struct MeteredValidator {
    schema: Value,
    draft: Option<Draft>,
    patterns: Arc<Survey>,
    /// Compiled when it is first needed; `None` if the library refuses it.
    compiled: OnceLock<Option<jsonschema::Validator<Metered>>>,
}

impl MeteredValidator {
    pub(super) fn new(schema: Value, draft: Option<Draft>, patterns: Survey) -> Self {
        Self { schema, draft, patterns: Arc::new(patterns), compiled: OnceLock::new() }
    }

    /// Compiles the schema now.
    pub(super) fn compile(self) -> Result<Self, Omission> {
        // Without names no pattern is matched.
        let names = self.patterns.names_in(&Value::Null, &mut 0).unwrap_or_default();
        let compiled = self.build(&self.with_names(&names)).map_err(|error| {
            let omission = omission(&error);
            let segments =
                names.iter().map(|(text, name)| (pointer::join("", name), pointer::join("", text)));
            let path = segments.fold(omission.path, |path, (given, written)| path.replace(&given, &written));
            Omission { path, ..omission }
        })?;
        Ok(Self { compiled: OnceLock::from(Some(compiled)), ..self })
    }

    /// The schema with these names in place of patterns. A reference through such a pattern leads nowhere then, which is
    /// reported as an omission.
    fn with_names(&self, names: &HashMap<&str, String>) -> Value {
        let mut schema = self.schema.clone();
        if !names.is_empty() {
            each_schema_mut(&mut schema, &mut |schema| {
                let Some(Value::Object(parts)) = schema.get_mut("patternProperties") else { return };
                let members = std::mem::take(parts).into_iter();
                let rename = |text: String| names.get(text.as_str()).cloned().unwrap_or(text);
                *parts = members.map(|(text, part)| (rename(text), part)).collect();
            });
        }
        schema
    }

    fn build(&self, schema: &Value) -> Result<jsonschema::Validator<Metered>, ValidationError<'static>> {
        let mut schema = schema.clone();
        // The library looks at types first. Whichever schema is applied, the value is read.
        let every = json!(["null", "boolean", "number", "string", "array", "object"]);
        each_schema_mut(&mut schema, &mut |schema| {
            schema.entry("type").or_insert_with(|| every.clone());
        });
        let patterns = Arc::clone(&self.patterns);
        let options = library_options(self.draft)
            .with_keyword("pattern", move |_, text, _| metered_pattern(&patterns, text));
        compiled(&options, &schema)
    }

    /// The schema for `value`; `None` if the budget does not suffice to make it.
    pub(super) fn prepare(&self, value: &Value) -> Option<Prepared<'_>> {
        let prepared = |schema, compiled| Prepared { schema, compiled, patterns: &self.patterns };
        if !self.patterns.has_counted_names {
            let compiled = self.compiled.get_or_init(|| self.build(&self.schema).ok()).as_ref()?;
            return Some(prepared(Cow::Borrowed(&self.schema), Compiled::Kept(compiled)));
        }
        let mut states = budget(value).saturating_mul(STATES_PER_UNIT);
        let names = self.patterns.names_in(value, &mut states).ok()?;
        let schema = self.with_names(&names);
        let compiled = Compiled::Own(Box::new(self.build(&schema).ok()?));
        Some(prepared(Cow::Owned(schema), compiled))
    }
}

/// A schema that is ready to check one value.
pub(super) struct Prepared<'a> {
    /// The schema that errors speak of.
    pub(super) schema: Cow<'a, Value>,
    compiled: Compiled<'a>,
    patterns: &'a Survey,
}

enum Compiled<'a> {
    Kept(&'a jsonschema::Validator<Metered>),
    Own(Box<jsonschema::Validator<Metered>>),
}

impl Prepared<'_> {
    /// What `check` finds out about `value`; `None` if the budget does not suffice.
    pub(super) fn run<T>(
        &self,
        value: &Value,
        check: impl for<'i> FnOnce(&'i jsonschema::Validator<Metered>, MeteredNode<'i>) -> T,
    ) -> Option<T> {
        METER.set(Meter {
            units: budget(value),
            stack: stack_address(),
            active_for_names: self.patterns.active_for_names,
        });
        let compiled = match &self.compiled {
            Compiled::Kept(compiled) => compiled,
            Compiled::Own(compiled) => &**compiled,
        };
        // What was begun is dropped: nothing of it is seen again.
        match catch_unwind(AssertUnwindSafe(|| check(compiled, MeteredNode(value)))) {
            Ok(found) => Some(found),
            Err(payload) if payload.is::<Spent>() => None,
            Err(payload) => resume_unwind(payload),
        }
    }
}

fn budget(value: &Value) -> u64 {
    BUDGET.saturating_add(BUDGET_PER_PART.saturating_mul(parts(value)))
}

thread_local! {
    // The library makes nodes of keys by itself, so that a node cannot carry its meter.
    static METER: Cell<Meter> = const { Cell::new(Meter { units: 0, stack: 0, active_for_names: 0 }) };
}

#[derive(Clone, Copy)]
struct Meter {
    units: u64,
    /// Where the stack was when the run began.
    stack: usize,
    /// See [`Survey::active_for_names`].
    active_for_names: u64,
}

/// What is unwound with when the budget is spent.
struct Spent;

fn spend(units: u64) {
    let meter = METER.get();
    match meter.units.checked_sub(units) {
        Some(units) if meter.stack.abs_diff(stack_address()) < MOST_STACK => {
            METER.set(Meter { units, ..meter });
        }
        // No panic: no hook is called and nothing is printed.
        _ => resume_unwind(Box::new(Spent)),
    }
}

/// Lets `work` take states of automata out of the budget.
fn spend_states<T>(work: impl FnOnce(&mut u64) -> Result<T, OutOfSteps>) -> T {
    let units = METER.get().units;
    let mut states = units.saturating_mul(STATES_PER_UNIT);
    let done = work(&mut states);
    // Whatever does not suffice is more than there is.
    spend(if done.is_ok() { units.saturating_sub(states / STATES_PER_UNIT) } else { u64::MAX });
    done.unwrap_or_else(|OutOfSteps| resume_unwind(Box::new(Spent)))
}

fn stack_address() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

/// The keyword `pattern`, which spends what its pattern takes.
struct MeteredPattern(Arc<Pattern>);

fn metered_pattern<'a>(
    patterns: &Survey,
    text: &'a Value,
) -> Result<Box<dyn for<'i> Keyword<'i, Metered>>, ValidationError<'a>> {
    let pattern = patterns.pattern(text.as_str().unwrap_or_default());
    if pattern.is_sound() {
        Ok(Box::new(MeteredPattern(pattern)))
    } else {
        Err(ValidationError::custom(format!("{text} is not a \"regex\"")))
    }
}

impl<'i> Keyword<'i, Metered> for MeteredPattern {
    fn validate(&self, node: MeteredNode<'i>) -> Result<(), ValidationError<'i>> {
        if self.is_valid(node) {
            return Ok(());
        }
        Err(ValidationError::custom(wanted_pattern(self.0.text())))
    }

    fn is_valid(&self, node: MeteredNode<'i>) -> bool {
        node.as_string().is_none_or(|text| spend_states(|states| self.0.is_in(&text, states)))
    }
}

/// JSON whose reads are counted.
#[derive(Debug)]
pub(super) struct Metered;

#[derive(Clone, Copy)]
pub(super) struct MeteredNode<'a>(&'a Value);

impl Json for Metered {
    type Node<'a> = MeteredNode<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    // The same order of errors as without a meter.
    const KEYS_PER_LOOKUP: usize = SerdeJson::KEYS_PER_LOOKUP;

    fn prepare_key(key: &str) -> String {
        SerdeJson::prepare_key(key)
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, check: impl FnOnce(MeteredNode<'_>) -> T) -> T {
        SerdeJson::with_string_node(buffer, string, |value| check(MeteredNode(value)))
    }
}

impl<'a> Node<'a, Metered> for MeteredNode<'a> {
    type Object = MeteredObject<'a>;
    type Array = MeteredArray<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<MeteredObject<'a>> {
        spend(READ);
        self.0.as_object().map(MeteredObject)
    }

    fn as_array(&self) -> Option<MeteredArray<'a>> {
        spend(READ);
        self.0.as_array().map(|items| MeteredArray(items))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        spend(READ);
        self.0.as_str().map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        spend(READ);
        self.0.as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        spend(READ);
        self.0.as_bool()
    }

    fn is_null(&self) -> bool {
        spend(READ);
        self.0.is_null()
    }

    fn json_type(&self) -> JsonType {
        spend(READ);
        Node::<SerdeJson>::json_type(&self.0)
    }

    fn string_length(&self) -> Option<u64> {
        let text = self.0.as_str()?;
        spend(READ.saturating_add(length(text.len()) / BYTES_PER_UNIT));
        Node::<SerdeJson>::string_length(&self.0)
    }

    fn equals_value(&self, expected: &Value) -> bool {
        spend(1 + if expected.is_number() { 0 } else { weight(expected) });
        Node::<SerdeJson>::equals_value(&self.0, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        // Errors of alternatives own what they are about.
        spend(ERROR.saturating_add(weight(self.0)));
        Cow::Borrowed(self.0)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Node::<SerdeJson>::identity(&self.0)
    }
}

pub(super) struct MeteredObject<'a>(&'a Map<String, Value>);

impl<'a> Object<'a, Metered> for MeteredObject<'a> {
    type Node = MeteredNode<'a>;
    type MemberName = &'a str;
    type MembersIter =
        std::iter::Map<map::Iter<'a>, fn((&'a String, &'a Value)) -> (&'a str, MeteredNode<'a>)>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<MeteredNode<'a>> {
        let found = self.0.get(key).map(MeteredNode);
        spend(if found.is_some() { READ } else { 1 });
        found
    }

    fn members(&self) -> Self::MembersIter {
        self.0.iter().map(|(name, value)| {
            spend(READ.saturating_add(price_of(METER.get().active_for_names, name) / STATES_PER_UNIT));
            (name.as_str(), MeteredNode(value))
        })
    }
}

pub(super) struct MeteredArray<'a>(&'a [Value]);

impl<'a> Array<'a, Metered> for MeteredArray<'a> {
    type Node = MeteredNode<'a>;
    type ElementsIter = std::iter::Map<std::slice::Iter<'a, Value>, fn(&'a Value) -> MeteredNode<'a>>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> Self::ElementsIter {
        self.0.iter().map(|item| {
            spend(READ);
            MeteredNode(item)
        })
    }

    fn is_unique(&self) -> bool {
        // Every part is hashed, and those of short lists are compared with each other.
        spend(READ.saturating_mul(self.0.iter().map(weight).sum()));
        Array::<SerdeJson>::is_unique(&self.0)
    }
}

/// What reading all of a value takes.
fn weight(value: &Value) -> u64 {
    let text = |text: &str| 1 + length(text.len()) / BYTES_PER_UNIT;
    match value {
        Value::Object(map) => 1 + map.iter().map(|(name, value)| text(name) + weight(value)).sum::<u64>(),
        Value::Array(items) => 1 + items.iter().map(weight).sum::<u64>(),
        Value::String(string) => text(string),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "metered_tests.rs"]
mod tests;
