//! The regular expressions of a schema, and what they cost.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::{
    bounded::Spent,
    compile::library_options,
    expression::Tree,
    issues::child,
    omit::{holds_names, holds_values},
    search::{MAX_INSTRUCTIONS, OutOfSteps, Program},
};
use crate::schema::refs::percent_decoded;

/// States of an automaton that look at one byte in the time of one step.
const STATES_PER_STEP: u64 = 128;
/// Instructions of a search that take the time of one step.
const INSTRUCTIONS_PER_STEP: u64 = 64;
/// States of one expression that the library compiles, and of all that a schema has.
const MAX_STATES: u64 = 50_000;
const MAX_ALL_STATES: u64 = 300_000;
/// What any expression takes to be compiled, in states.
const STATES_TO_BEGIN: u64 = 50;
/// Bytes of an automaton whose expression cannot be read here, and the states that fit into them.
const UNREAD_SIZE: usize = 1 << 18;
const UNREAD_STATES: u64 = 10_000;

/// A regular expression.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    price: Price,
    /// Compiled when it is first needed; nothing when the library does not take it.
    compiled: OnceLock<Option<jsonschema::Validator>>,
    /// Of those whose steps are counted.
    program: Option<Program>,
}

/// What matching costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Price {
    /// Time grows with the text and with the states that can be active at once.
    Linear { active: u64 },
    /// Time can grow with any power of the text, so that steps are counted. The library never sees it.
    Counted,
    /// Not to be used.
    TooDear,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self::within(text, u64::MAX).0
    }

    /// At most as many states as there is room for are worth a closer look. Besides, the states that were looked at.
    fn within(text: &str, room: u64) -> (Self, u64) {
        let (price, program, states) = match Tree::read(text) {
            Some(tree) => Self::of_tree(text, &tree, room),
            None => Self::of_unread(text, room),
        };
        (Self { text: text.to_owned(), price, compiled: OnceLock::new(), program }, states)
    }

    fn of_tree(text: &str, tree: &Tree, room: u64) -> (Price, Option<Program>, u64) {
        let states = tree.states();
        if !tree.goes_back() && states <= room.min(MAX_STATES) {
            return (Price::Linear { active: tree.active() }, None, states);
        }
        // What repeats large classes is large only as an automaton.
        let instructions = tree.instructions();
        let states = instructions.saturating_add(tree.class_states());
        if instructions > u64::try_from(MAX_INSTRUCTIONS).unwrap_or(u64::MAX) || states > room {
            return (Price::TooDear, None, 0);
        }
        match Program::new(tree) {
            Some(program) => (Price::Counted, Some(program), states),
            None => Self::of_unread(text, room),
        }
    }

    /// Small automata are compiled to see that they are. That takes its time whatever comes of it.
    fn of_unread(text: &str, room: u64) -> (Price, Option<Program>, u64) {
        if room < UNREAD_STATES {
            return (Price::TooDear, None, 0);
        }
        let engine = jsonschema::PatternOptions::regex().size_limit(UNREAD_SIZE);
        let options = jsonschema::options().offline().with_pattern_options(engine);
        let is_linear = options.build(&json!({ "pattern": text })).is_ok();
        // What is wrong altogether is the library's to say; how often something is repeated does not make it wrong.
        let is_wrong = || library_options().build(&json!({ "pattern": unrepeated(text) })).is_err();
        let price =
            if is_linear || is_wrong() { Price::Linear { active: UNREAD_STATES } } else { Price::TooDear };
        (price, None, UNREAD_STATES)
    }

    fn active(&self) -> u64 {
        match self.price {
            Price::Linear { active } => active,
            Price::Counted | Price::TooDear => 0,
        }
    }

    fn compiled(&self) -> Option<&jsonschema::Validator> {
        let build = || library_options().build(&json!({ "pattern": self.text })).ok();
        self.compiled.get_or_init(build).as_ref()
    }

    /// Whether it is an expression that can be matched in counted time.
    pub(super) fn is_sound(&self) -> bool {
        match self.price {
            Price::Linear { .. } => self.compiled().is_some(),
            Price::Counted => true,
            Price::TooDear => false,
        }
    }

    /// The steps that the library needs at most for a text; nothing where that cannot be said.
    pub(super) fn steps(&self, text: &str) -> Option<u64> {
        match self.price {
            Price::Linear { active } => {
                let length = u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_add(1);
                Some(1 + active.saturating_mul(length) / STATES_PER_STEP)
            }
            Price::Counted | Price::TooDear => None,
        }
    }

    /// Whether the pattern is in the text. Takes the price from `steps`, which is known before for all but those that
    /// go back.
    pub(super) fn is_in(&self, text: &str, steps: &mut u64) -> Result<bool, Spent> {
        if let Some(program) = &self.program {
            let mut instructions = steps.saturating_mul(INSTRUCTIONS_PER_STEP);
            let found = program.finds(text, &mut instructions);
            *steps = (instructions / INSTRUCTIONS_PER_STEP).saturating_sub(1);
            return found.map_err(|OutOfSteps| Spent);
        }
        *steps = self.steps(text).and_then(|price| steps.checked_sub(price)).ok_or(Spent)?;
        let compiled = self.compiled().ok_or(Spent)?;
        Ok(compiled.is_valid(&Value::String(text.to_owned())))
    }
}

/// The regular expressions that stand in a schema.
#[derive(Debug, Default)]
pub(super) struct Survey {
    known: HashMap<String, Arc<Pattern>>,
    /// Where those stand that are not to be used.
    pub(super) too_dear: Vec<String>,
    /// Where those stand that the library is to compile.
    left_to_library: Vec<(String, Arc<Pattern>)>,
    all_states: u64,
    /// The active states of all, each where it stands.
    pub(super) active: u64,
    /// Whether steps are counted for some, and for some of those that names have.
    is_counted: bool,
    pub(super) has_counted_names: bool,
    /// Whether a reference makes schemas of what would be values.
    refers_to_values: bool,
}

/// What the members of an object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Schema,
    /// Schemas under names of the author's choice.
    Names,
}

impl Survey {
    pub(super) fn of(schema: &Value) -> Self {
        Self::default().again(schema)
    }

    /// Of another schema with much the same expressions, which are not looked at again.
    pub(super) fn again(&self, schema: &Value) -> Self {
        let mut survey = Self {
            known: self.known.clone(),
            all_states: self.all_states,
            refers_to_values: refers_to_values(schema),
            ..Self::default()
        };
        survey.walk(schema, Inside::Schema, &mut Vec::new());
        survey
    }

    /// Whether time can grow faster than the text.
    pub(super) fn is_counted(&self) -> bool {
        self.is_counted
    }

    pub(super) fn pattern(&self, text: &str) -> Option<&Arc<Pattern>> {
        self.known.get(text)
    }

    /// The states that one pattern can have active at once.
    pub(super) fn active_states(&self, pattern: &str) -> u64 {
        self.known.get(pattern).map_or(0, |pattern| pattern.active())
    }

    /// Where the first one stands that is no expression, and what it is.
    pub(super) fn first_wrong(&self) -> Option<(&str, &str)> {
        let wrong = self.left_to_library.iter().find(|(_, pattern)| !pattern.is_sound());
        wrong.map(|(place, pattern)| (place.as_str(), pattern.text.as_str()))
    }

    /// The schema as the library is given it: no text that has a counted pattern comes to it, so that none is there.
    pub(super) fn without_counted<'s>(&self, schema: &'s Value) -> Cow<'s, Value> {
        if !self.is_counted {
            return Cow::Borrowed(schema);
        }
        let mut rest = schema.clone();
        self.take_counted(&mut rest, Inside::Schema);
        Cow::Owned(rest)
    }

    fn take_counted(&self, schema: &mut Value, inside: Inside) {
        let is_counted = |text: &str| self.known.get(text).is_some_and(|known| known.price == Price::Counted);
        match schema {
            Value::Object(map) => {
                for (key, value) in map {
                    let is_keyword = inside == Inside::Schema;
                    match (key.as_str(), value) {
                        (key, _) if is_keyword && holds_values(key) => {}
                        ("pattern", Value::String(text)) if is_counted(text) => text.clear(),
                        ("patternProperties", Value::Object(named)) if is_keyword => {
                            named.retain(|name, _| !is_counted(name));
                            named.values_mut().for_each(|value| self.take_counted(value, Inside::Schema));
                        }
                        (key, value) if is_keyword && holds_names(key) => {
                            self.take_counted(value, Inside::Names);
                        }
                        (_, value) => self.take_counted(value, Inside::Schema),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.take_counted(item, Inside::Schema)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn walk<'a>(&mut self, schema: &'a Value, inside: Inside, path: &mut Vec<Cow<'a, str>>) {
        match schema {
            Value::Object(map) => {
                for (key, value) in map {
                    let is_keyword = inside == Inside::Schema;
                    if is_keyword && holds_values(key) && !self.refers_to_values {
                        continue;
                    }
                    match (key.as_str(), value) {
                        ("pattern", Value::String(pattern)) => self.add(pattern, "pattern", path),
                        ("patternProperties", Value::Object(inner)) if is_keyword => {
                            path.push(Cow::Borrowed(key));
                            inner.keys().for_each(|pattern| self.add(pattern, pattern, path));
                            path.pop();
                        }
                        _ => {}
                    }
                    path.push(Cow::Borrowed(key));
                    let names = is_keyword && holds_names(key);
                    self.walk(value, if names { Inside::Names } else { Inside::Schema }, path);
                    path.pop();
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    path.push(Cow::Owned(at.to_string()));
                    self.walk(item, Inside::Schema, path);
                    path.pop();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn add(&mut self, text: &str, last: &str, path: &[Cow<'_, str>]) {
        let known = if let Some(known) = self.known.get(text) {
            known
        } else {
            let room = MAX_ALL_STATES.saturating_sub(self.all_states).saturating_sub(STATES_TO_BEGIN);
            let (pattern, states) = Pattern::within(text, room);
            self.all_states = self.all_states.saturating_add(states).saturating_add(STATES_TO_BEGIN);
            self.known.entry(text.to_owned()).or_insert_with(|| Arc::new(pattern))
        };
        self.active = self.active.saturating_add(known.active());
        let place = || child(&path.iter().fold(String::new(), |place, name| child(&place, name)), last);
        match known.price {
            Price::Linear { .. } => self.left_to_library.push((place(), Arc::clone(known))),
            Price::Counted => {
                self.is_counted = true;
                self.has_counted_names |= last == text;
            }
            Price::TooDear => self.too_dear.push(place()),
        }
    }
}

/// The expression with every repetition that has numbers done once.
fn unrepeated(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        written.push_str(before);
        written.push('{');
        rest = after;
        let Some((inside, after)) = after.split_once('}') else { break };
        let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let is_right = match (number(least), number(most)) {
            (Some(least), Some(most)) => least <= most,
            (Some(_), None) => most.trim().is_empty(),
            (None, _) => false,
        };
        if is_right {
            written.push_str("1}");
            rest = after;
        }
    }
    written.push_str(rest);
    written
}

/// Whether a reference may lead into a keyword that holds values.
fn refers_to_values(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().any(|(key, value)| match value {
            Value::String(target) if matches!(key.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef") => {
                percent_decoded(target).split('/').any(holds_values)
            }
            value => refers_to_values(value),
        }),
        Value::Array(items) => items.iter().any(refers_to_values),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
