//! The regular expressions of a schema, and what they cost.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use gateway_regex::{Expression, MAX_INSTRUCTIONS, OutOfSteps, Program};
use jsonschema::json::SerdeJson;
use serde_json::{Value, json};

use super::{
    compile::library_options,
    issues::child,
    walk::{REFERENCES, each_schema, each_schema_and_value, holds_values},
};
use crate::schema::refs::percent_decoded;

/// States of an automaton that look at one byte in the time of one instruction of a search.
const STATES_PER_INSTRUCTION: u64 = 2;
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
    text: String,
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
    TooExpensive,
}

impl Pattern {
    /// At most as many states as there is room for are worth a closer look. Besides, the states that were looked at.
    fn within(text: &str, room: u64) -> (Self, u64) {
        let (price, program, states) = match Expression::read(text) {
            Some(tree) => Self::of_tree(text, &tree, room),
            None => Self::of_unread(text, room),
        };
        (Self { text: text.to_owned(), price, compiled: OnceLock::new(), program }, states)
    }

    fn of_tree(text: &str, tree: &Expression, room: u64) -> (Price, Option<Program>, u64) {
        let states = tree.states().saturating_add(states_to_translate(text));
        if !tree.backtracks() && states <= room.min(MAX_STATES) {
            return (Price::Linear { active: tree.active() }, None, states);
        }
        // What repeats large classes is large only as an automaton.
        let instructions = tree.instructions();
        let states = instructions.saturating_add(tree.class_states());
        if instructions > u64::try_from(MAX_INSTRUCTIONS).unwrap_or(u64::MAX) || states > room {
            return (Price::TooExpensive, None, 0);
        }
        match Program::new(tree) {
            Some(program) => (Price::Counted, Some(program), states),
            None => Self::of_unread(text, room),
        }
    }

    /// Small automata are compiled to see that they are. That takes its time whatever comes of it.
    fn of_unread(text: &str, room: u64) -> (Price, Option<Program>, u64) {
        if room < UNREAD_STATES {
            return (Price::TooExpensive, None, 0);
        }
        let engine = jsonschema::PatternOptions::regex().size_limit(UNREAD_SIZE);
        let options = jsonschema::options().offline().with_pattern_options(engine);
        let is_linear = options.build(&json!({ "pattern": text })).is_ok();
        // What is wrong altogether is the library's to say; how often something is repeated does not make it wrong.
        let is_wrong =
            || library_options::<SerdeJson>(None).build(&json!({ "pattern": unrepeated(text) })).is_err();
        let price = if is_linear || is_wrong() {
            Price::Linear { active: UNREAD_STATES }
        } else {
            Price::TooExpensive
        };
        (price, None, UNREAD_STATES)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn active(&self) -> u64 {
        match self.price {
            Price::Linear { active } => active,
            Price::Counted | Price::TooExpensive => 0,
        }
    }

    fn compiled(&self) -> Option<&jsonschema::Validator> {
        let build = || library_options::<SerdeJson>(None).build(&json!({ "pattern": self.text })).ok();
        self.compiled.get_or_init(build).as_ref()
    }

    fn is_counted(&self) -> bool {
        self.price == Price::Counted
    }

    /// Whether it is an expression that can be matched in counted time.
    pub(super) fn is_sound(&self) -> bool {
        self.program.is_some() || self.compiled().is_some()
    }

    /// Whether the pattern is in the text. Takes states of an automaton, or instructions of a search, from `states`.
    pub(super) fn is_in(&self, text: &str, states: &mut u64) -> Result<bool, OutOfSteps> {
        if let Some(program) = &self.program {
            let mut instructions = *states / STATES_PER_INSTRUCTION;
            let found = program.finds(text, &mut instructions);
            *states = instructions.saturating_mul(STATES_PER_INSTRUCTION);
            return found;
        }
        let price = price_of(self.active(), text);
        *states = states.checked_sub(price).ok_or(OutOfSteps)?;
        let compiled = self.compiled().ok_or(OutOfSteps)?;
        Ok(compiled.is_valid(&Value::String(text.to_owned())))
    }
}

/// What translating an expression takes before it is compiled, in states: for each of its classes the library copies all of it.
fn states_to_translate(text: &str) -> u64 {
    let is_class = |escape: &&str| escape.starts_with(['d', 'D', 'w', 'W', 's', 'S']);
    let classes = u64::try_from(text.split('\\').skip(1).filter(is_class).count()).unwrap_or(u64::MAX);
    classes.saturating_mul(classes) / 10
}

/// What it costs at most that an automaton with so many active states looks at a text.
pub(super) fn price_of(active: u64, text: &str) -> u64 {
    active.saturating_mul(u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_add(1))
}

/// The regular expressions of a schema.
#[derive(Debug, Default)]
pub(super) struct Survey {
    known: HashMap<String, Arc<Pattern>>,
    /// Where those are that are not to be used.
    pub(super) too_expensive: Vec<String>,
    all_states: u64,
    /// The active states of all, each as often as it occurs.
    pub(super) active: u64,
    /// Those of the most expensive `patternProperties`, all of its patterns together.
    pub(super) active_for_names: u64,
    /// Whether steps are counted for some, and for some of those that names are matched with.
    pub(super) is_counted: bool,
    pub(super) has_counted_names: bool,
}

impl Survey {
    pub(super) fn of(schema: &Value) -> Self {
        Self::default().again(schema)
    }

    /// Of another schema with much the same expressions, which are not looked at again.
    pub(super) fn again(&self, schema: &Value) -> Self {
        let mut survey = Self { known: self.known.clone(), all_states: self.all_states, ..Self::default() };
        // A reference can make schemas of what would be values.
        let walk = if refers_to_values(schema) { each_schema_and_value } else { each_schema };
        walk(schema, &mut |schema, path| {
            if let Some(Value::String(text)) = schema.get("pattern") {
                survey.add(text, || path.child("pattern"));
            }
            if let Some(Value::Object(named)) = schema.get("patternProperties") {
                let path = |text: &str| child(&path.child("patternProperties"), text);
                let patterns = named.keys().map(|text| survey.add(text, || path(text)));
                let (active, is_counted) = patterns.fold((0, false), |(active, is_counted), pattern| {
                    (u64::saturating_add(active, pattern.active()), is_counted | pattern.is_counted())
                });
                survey.active_for_names = survey.active_for_names.max(active);
                survey.has_counted_names |= is_counted;
            }
        });
        survey
    }

    pub(super) fn pattern(&self, text: &str) -> Arc<Pattern> {
        self.known.get(text).map_or_else(|| Arc::new(Pattern::within(text, MAX_STATES).0), Arc::clone)
    }

    /// The states that one pattern can have active at once.
    pub(super) fn active_states(&self, pattern: &str) -> u64 {
        self.known.get(pattern).map_or(0, |pattern| pattern.active())
    }

    /// What stands for the counted patterns of names while `value` is checked. The library cannot count the steps in which it
    /// matches names, so that it is given those names in `value` that the pattern is in.
    pub(super) fn names_in(
        &self,
        value: &Value,
        states: &mut u64,
    ) -> Result<HashMap<&str, String>, OutOfSteps> {
        let mut names = BTreeSet::new();
        collect_names(value, &mut names);
        let mut replaced = HashMap::new();
        let counted = self.known.values().filter(|pattern| pattern.is_counted());
        for (index, pattern) in counted.enumerate() {
            let (mut matched, mut others): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
            for name in &names {
                if pattern.is_in(name, states)? { matched.push(name) } else { others.push(name) }
            }
            let is_rest = matched.len() > others.len();
            let list = if is_rest { others } else { matched };
            let active = u64::try_from(list.len()).unwrap_or(u64::MAX);
            let price = names.iter().map(|name| price_of(active, name)).fold(0, u64::saturating_add);
            *states = states.checked_sub(price).ok_or(OutOfSteps)?;
            let list: Vec<String> = list.into_iter().map(escaped).collect();
            // Nothing follows the end of a text: the first alternative is only there so that no two are the same.
            let written = match list.join("|") {
                _ if list.is_empty() => format!("$x{index}x{}", if is_rest { "|^" } else { "" }),
                list if is_rest => format!("$x{index}x|^(?!(?:{list})$)"),
                list => format!("$x{index}x|^(?:{list})$"),
            };
            replaced.insert(pattern.text(), written);
        }
        Ok(replaced)
    }

    fn add(&mut self, text: &str, path: impl FnOnce() -> String) -> Arc<Pattern> {
        let known = if let Some(known) = self.known.get(text) {
            known
        } else {
            let room = MAX_ALL_STATES.saturating_sub(self.all_states).saturating_sub(STATES_TO_BEGIN);
            let (pattern, states) = Pattern::within(text, room);
            self.all_states = self.all_states.saturating_add(states).saturating_add(STATES_TO_BEGIN);
            self.known.entry(text.to_owned()).or_insert_with(|| Arc::new(pattern))
        };
        self.active = self.active.saturating_add(known.active());
        self.is_counted |= known.is_counted();
        if known.price == Price::TooExpensive {
            self.too_expensive.push(path());
        }
        Arc::clone(known)
    }
}

/// The names of all members in `value`.
fn collect_names<'v>(value: &'v Value, names: &mut BTreeSet<&'v str>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                names.insert(name);
                collect_names(value, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// An expression for exactly this text.
fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for char in text.chars() {
        if r"\^$.*+?()[]{}|/".contains(char) {
            written.push('\\');
        }
        written.push(char);
    }
    written
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

/// Whether a reference leads into a keyword that holds values, or may do so.
fn refers_to_values(root: &Value) -> bool {
    let mut found = false;
    each_schema_and_value(root, &mut |schema, _| {
        let targets = REFERENCES.into_iter().filter_map(|keyword| schema.get(keyword)?.as_str());
        found |= targets.map(percent_decoded).any(|target| {
            let is_there = target.strip_prefix('#').is_none_or(|pointer| root.pointer(pointer).is_some());
            is_there && target.split('/').any(holds_values)
        });
    });
    found
}
