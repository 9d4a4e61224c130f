//! The regular expressions of a schema, and what they cost.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::{
    bounded::Spent,
    compile::library_options,
    expression::Tree,
    issues::child,
    kinds::percent_decoded,
    omit::{holds_names, holds_values},
    search::{MAX_INSTRUCTIONS, OutOfSteps, Program},
};

/// States of an automaton that look at one byte in the time of one step.
const STATES_PER_STEP: u64 = 128;
/// Instructions of a search that take the time of one step.
const INSTRUCTIONS_PER_STEP: u64 = 64;
/// States of one expression, and of all that a schema has.
const MAX_STATES: u64 = 150_000;
const MAX_ALL_STATES: u64 = 300_000;
/// What any expression takes to be compiled, in states.
const STATES_TO_BEGIN: u64 = 50;
/// What each class of characters in one that goes back takes besides.
const CLASS_STATES: u64 = 40;
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
    program: OnceLock<Option<Program>>,
}

/// What matching costs.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Price {
    /// Time grows with the text and with the states that can be active at once.
    Linear { states: u64, active: u64 },
    /// Time can grow with any power of the text, so that steps are counted.
    Counted(Tree),
    /// Not to be used.
    TooDear,
}

impl Price {
    /// At most as many states as there is room for are worth a closer look.
    pub(super) fn of(pattern: &str, room: u64) -> Self {
        let Some(tree) = Tree::read(pattern) else {
            return if room < UNREAD_STATES { Self::TooDear } else { Self::of_unread(pattern) };
        };
        let states = tree.states();
        let instructions = u64::try_from(MAX_INSTRUCTIONS).unwrap_or(u64::MAX);
        if states > MAX_STATES || (tree.goes_back() && tree.instructions() > instructions) {
            Self::TooDear
        } else if tree.goes_back() {
            Self::Counted(tree)
        } else {
            Self::Linear { states, active: tree.active() }
        }
    }

    /// Small automata are compiled to see that they are.
    fn of_unread(pattern: &str) -> Self {
        let engine = jsonschema::PatternOptions::regex().size_limit(UNREAD_SIZE);
        let options = jsonschema::options().offline().with_pattern_options(engine);
        // What is wrong altogether is the library's to say.
        let is_linear = options.build(&json!({ "pattern": pattern })).is_ok();
        let is_wrong = || library_options().build(&json!({ "pattern": pattern })).is_err();
        if is_linear || is_wrong() {
            Self::Linear { states: UNREAD_STATES, active: UNREAD_STATES }
        } else {
            Self::TooDear
        }
    }

    fn active(&self) -> u64 {
        match self {
            Self::Linear { active, .. } => *active,
            Self::Counted(_) | Self::TooDear => 0,
        }
    }

    fn states(&self) -> u64 {
        match self {
            Self::Linear { states, .. } => *states,
            Self::Counted(tree) => tree.states().saturating_add(CLASS_STATES.saturating_mul(tree.classes())),
            Self::TooDear => u64::MAX,
        }
    }
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            price: Price::of(text, u64::MAX),
            compiled: OnceLock::new(),
            program: OnceLock::new(),
        }
    }

    fn compiled(&self) -> Option<&jsonschema::Validator> {
        let build = || library_options().build(&json!({ "pattern": self.text })).ok();
        self.compiled.get_or_init(build).as_ref()
    }

    /// Whether the library takes it, and it can be matched in counted time.
    pub(super) fn is_sound(&self) -> bool {
        self.compiled().is_some() && self.price != Price::TooDear
    }

    /// The steps that the library needs at most for a text; nothing where that cannot be said.
    pub(super) fn steps(&self, text: &str) -> Option<u64> {
        match &self.price {
            Price::Linear { active, .. } => {
                let length = u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_add(1);
                Some(1 + active.saturating_mul(length) / STATES_PER_STEP)
            }
            Price::Counted(_) | Price::TooDear => None,
        }
    }

    /// Whether the pattern is in the text. Takes the price from `steps`, which is known before for all but those that
    /// go back.
    pub(super) fn is_in(&self, text: &str, steps: &mut u64) -> Result<bool, Spent> {
        if let Price::Counted(tree) = &self.price {
            let program = self.program.get_or_init(|| Program::new(tree)).as_ref().ok_or(Spent)?;
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
    prices: HashMap<String, Price>,
    /// Where those stand that are not to be used.
    pub(super) too_dear: Vec<String>,
    all_states: u64,
    /// The active states of all, each where it stands.
    pub(super) active: u64,
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
        let mut survey = Self::default();
        survey.refers_to_values = refers_to_values(schema);
        survey.walk(schema, Inside::Schema, &mut Vec::new());
        survey
    }

    /// Whether time can grow faster than the text.
    pub(super) fn is_counted(&self) -> bool {
        self.prices.values().any(|price| matches!(price, Price::Counted(_)))
    }

    /// The states that one pattern can have active at once.
    pub(super) fn active_states(&self, pattern: &str) -> u64 {
        self.prices.get(pattern).map_or(0, Price::active)
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

    fn add(&mut self, pattern: &str, last: &str, path: &[Cow<'_, str>]) {
        if !self.prices.contains_key(pattern) {
            let mut price = Price::of(pattern, MAX_ALL_STATES - self.all_states);
            let states = price.states().saturating_add(STATES_TO_BEGIN);
            match self.all_states.checked_add(states).filter(|all| *all <= MAX_ALL_STATES) {
                Some(all) => self.all_states = all,
                None => price = Price::TooDear,
            }
            self.prices.insert(pattern.to_owned(), price);
        }
        self.active = self.active.saturating_add(self.active_states(pattern));
        if self.prices.get(pattern) == Some(&Price::TooDear) {
            let place = path.iter().fold(String::new(), |place, name| child(&place, name));
            self.too_dear.push(child(&place, last));
        }
    }
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
