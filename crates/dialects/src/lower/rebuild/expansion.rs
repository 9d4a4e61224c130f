//! Which references are written out, for dialects without definitions, where writing all of them out would cost too much.
//!
//! References around which few others stand come first, and among those the ones to short schemas: most of the structure for the
//! room that there is. The rest travels as JSON text.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::reader::Reader;
use crate::schema::{Holds, Source};

/// What a reference takes that is not written out.
const CUT_BYTES: usize = 120;

/// References inside one another that are looked at.
const MOST_LEVELS: usize = 64;

/// What stands in one schema, without what its references name.
#[derive(Clone, Debug, Default)]
struct Body<'a> {
    bytes: usize,
    /// Targets of its references, in order, and where the references stand.
    references: Vec<(Source<'a>, String)>,
    /// Schemas inside it that are wanted, and where they stand.
    inside: Vec<(*const Value, String)>,
}

/// Schemas that references name, with the references around them.
#[derive(Debug, Default)]
struct Level<'a> {
    /// Each once, in the order in which they are met, with the number of references to it and where the first one stands.
    targets: Vec<(Source<'a>, usize, String)>,
    known: HashMap<*const Value, usize>,
}

impl<'a> Level<'a> {
    fn add(&mut self, target: Source<'a>, times: usize, location: String) {
        let at = *self.known.entry(target.schema).or_insert(self.targets.len());
        match self.targets.get_mut(at) {
            Some((_, count, _)) => *count = count.saturating_add(times),
            None => self.targets.push((target, times, location)),
        }
    }
}

/// Plans which references are written out.
pub(super) struct Planner<'p, 'a, 'r> {
    reader: &'p mut Reader<'a, 'r>,
    bodies: HashMap<*const Value, Body<'a>>,
    /// Schemas whose locations are wanted.
    wanted: HashSet<*const Value>,
}

impl<'p, 'a, 'r> Planner<'p, 'a, 'r> {
    pub(super) fn new(reader: &'p mut Reader<'a, 'r>) -> Self {
        Self { reader, bodies: HashMap::new(), wanted: HashSet::new() }
    }

    /// How many references may stand around one to each schema, so that no more than `most` bytes are written.
    pub(super) fn limits(&mut self, most: usize) -> HashMap<*const Value, usize> {
        let mut limits = HashMap::new();
        let mut spent = 0;
        self.walk(&mut |target, body, level, times| {
            let cost = body.bytes.saturating_mul(times);
            let is_open = level == 1 || limits.get(&std::ptr::from_ref(target)) == Some(&(level - 1));
            let is_short = body.bytes <= CUT_BYTES && body.references.is_empty();
            if is_short || (is_open && cost.saturating_add(spent) <= most) {
                spent = spent.saturating_add(cost);
                limits.insert(std::ptr::from_ref(target), level);
                return true;
            }
            spent = spent.saturating_add(times.saturating_mul(CUT_BYTES));
            false
        });
        limits
    }

    /// Where each schema that references name is written first, if `limits` are kept.
    pub(super) fn first_uses(
        &mut self,
        limits: Option<&HashMap<*const Value, usize>>,
    ) -> HashMap<*const Value, String> {
        self.find_targets();
        let mut uses: HashMap<*const Value, String> = HashMap::new();
        let root = self.reader.root_source();
        uses.extend(self.body(root).inside.iter().cloned());
        let mut level = self.root_level();
        let mut seen = HashSet::new();
        for number in 1..=MOST_LEVELS {
            let mut next = Level::default();
            for (target, _, location) in std::mem::take(&mut level.targets) {
                let address = std::ptr::from_ref(target.schema);
                let most =
                    limits.map_or(MOST_LEVELS, |limits| limits.get(&address).copied().unwrap_or_default());
                if number > most || !seen.insert(address) {
                    continue;
                }
                let body = self.body(target);
                for (inner, inside) in &body.references {
                    next.add(*inner, 1, joined(&location, inside));
                }
                for (inner, inside) in &body.inside {
                    uses.entry(*inner).or_insert_with(|| joined(&location, inside));
                }
            }
            level = next;
        }
        uses
    }

    /// Makes all targets of references wanted.
    fn find_targets(&mut self) {
        let mut ahead = vec![self.reader.root_source()];
        let mut targets = HashSet::new();
        while let Some(source) = ahead.pop() {
            let references = self.body(source).references.iter().map(|(target, _)| *target);
            ahead.extend(references.filter(|target| targets.insert(std::ptr::from_ref(target.schema))));
        }
        self.wanted = targets;
        self.bodies.clear();
    }

    /// Shows the targets of references, those with fewer references around them first, and goes on in those that `visit` takes.
    fn walk(&mut self, visit: &mut dyn FnMut(&Value, &Body<'a>, usize, usize) -> bool) {
        let mut level = self.root_level();
        for number in 1..=MOST_LEVELS {
            let mut targets = std::mem::take(&mut level.targets);
            if targets.is_empty() {
                return;
            }
            targets.sort_by_cached_key(|(target, ..)| self.body(*target).bytes);
            let mut next = Level::default();
            for (target, times, _) in targets {
                let body = self.body(target);
                if visit(target.schema, body, number, times) {
                    for (inner, _) in &body.references {
                        next.add(*inner, times, String::new());
                    }
                }
            }
            level = next;
        }
    }

    fn root_level(&mut self) -> Level<'a> {
        let root = self.reader.root_source();
        let mut level = Level::default();
        for (target, location) in &self.body(root).references {
            level.add(*target, 1, location.clone());
        }
        level
    }

    fn body(&mut self, source: Source<'a>) -> &Body<'a> {
        let address = std::ptr::from_ref(source.schema);
        if !self.bodies.contains_key(&address) {
            let mut body = Body::default();
            self.read(source, Holds::Schema, &mut String::new(), &mut body);
            self.bodies.insert(address, body);
        }
        self.bodies.entry(address).or_default()
    }

    /// Adds what stands in `source` to `body`. Its depth is bounded by the budget.
    fn read(&mut self, source: Source<'a>, holds: Holds, location: &mut String, body: &mut Body<'a>) {
        if self.wanted.contains(&std::ptr::from_ref(source.schema)) {
            body.inside.push((source.schema, location.clone()));
        }
        match source.schema {
            Value::Object(members) => {
                let resource = self.reader.resolver.resource_of(source.schema, source.resource);
                let is_table = holds == Holds::Table;
                for (name, value) in members.iter().filter(|(name, _)| !holds.has_definitions_in(name)) {
                    body.bytes += name.len() + 4;
                    if let Some(reference) = holds.reference_in(name, value) {
                        if let Some(target) = self.reader.resolve(reference, resource) {
                            body.references.push((target, location.clone()));
                        }
                        continue;
                    }
                    let mark = location.len();
                    if is_table {
                        if mark > 0 {
                            location.push('.');
                        }
                        location.push_str(&self.reader.keys.wire(name));
                    } else if matches!(name.as_str(), "items" | "prefixItems") {
                        location.push_str("[]");
                    }
                    let inside = Source { schema: value, resource, ..source };
                    self.read(inside, holds.inside(name), location, body);
                    location.truncate(mark);
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.read(Source { schema: item, ..source }, Holds::Schema, location, body);
                }
            }
            Value::String(text) => body.bytes += text.len() + 2,
            Value::Null | Value::Bool(_) | Value::Number(_) => body.bytes += 4,
        }
    }
}

fn joined(outer: &str, inner: &str) -> String {
    match (outer, inner) {
        ("", inner) => inner.to_owned(),
        (outer, "") => outer.to_owned(),
        (outer, inner) if inner.starts_with('[') => format!("{outer}{inner}"),
        (outer, inner) => format!("{outer}.{inner}"),
    }
}
