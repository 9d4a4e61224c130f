//! Which properties an object has, and what describes them.

use super::super::Lowerer;
use super::super::view::{ObjectPart, UnionPart, View};
use crate::dialect::Additional;
use crate::options::Open;
use crate::report::Fate;
use crate::schema::{Members, Source};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// What all parts together say about properties that are not declared.
pub(super) enum Undeclared<'a> {
    Unsaid,
    Forbidden,
    /// Values of any of these kinds, each kind described by all of its sources.
    Allowed(Vec<Vec<Source<'a>>>),
}

/// The schemas that describe one property.
pub(crate) enum Kinds<'a> {
    /// One schema, as nearly always.
    One(Source<'a>),
    /// Any of these kinds, each described by all of its sources.
    Any(Vec<Vec<Source<'a>>>),
}

impl<'a> Kinds<'a> {
    pub(super) fn first(&self) -> Option<&Source<'a>> {
        match self {
            Self::One(source) => Some(source),
            Self::Any(kinds) => kinds.first().and_then(|kind| kind.first()),
        }
    }
}

/// A property and the schemas that describe it.
pub(super) struct Property<'a> {
    pub(super) name: &'a str,
    pub(super) kinds: Kinds<'a>,
    /// Only a condition declares it.
    pub(super) conditional: bool,
}

/// The properties of a root that was folded into one object.
pub(crate) struct Folded<'a> {
    /// Name, kinds, and whether it is required.
    pub(crate) properties: Vec<(&'a str, Kinds<'a>, bool)>,
    pub(crate) closed: bool,
}

pub(super) fn says_nothing(source: &Source<'_>) -> bool {
    match source.schema {
        Value::Bool(flag) => *flag,
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// A set of names that is quick to ask while it is small.
#[derive(Default)]
pub(super) struct Names<'a> {
    pub(super) few: Vec<&'a str>,
    pub(super) many: HashSet<&'a str>,
}

impl<'a> Names<'a> {
    const FEW: usize = 16;

    pub(super) fn contains(&self, name: &str) -> bool {
        if self.many.is_empty() { self.few.contains(&name) } else { self.many.contains(name) }
    }

    /// Whether it is new.
    pub(super) fn insert(&mut self, name: &'a str) -> bool {
        if self.contains(name) {
            return false;
        }
        if self.many.is_empty() && self.few.len() < Self::FEW {
            self.few.push(name);
            return true;
        }
        if self.many.is_empty() {
            self.many.extend(self.few.drain(..));
        }
        self.many.insert(name)
    }
}

/// The names of required properties.
pub(super) enum Required<'p, 'a> {
    /// Those of the only part, which are few.
    One(&'p [&'a str]),
    All(Names<'a>),
}

impl Required<'_, '_> {
    pub(super) fn contains(&self, name: &str) -> bool {
        match self {
            Self::One(names) => names.contains(&name),
            Self::All(names) => names.contains(name),
        }
    }
}

pub(super) fn required_names<'p, 'a>(
    parts: &'p [ObjectPart<'a>],
    alternatives: &[Vec<Vec<ObjectPart<'a>>>],
) -> Required<'p, 'a> {
    if let ([part], []) = (parts, alternatives)
        && part.required.len() <= Names::FEW
    {
        return Required::One(&part.required);
    }
    let mut names = Names::default();
    for name in parts.iter().flat_map(|part| part.required.iter().copied()) {
        names.insert(name);
    }
    for set in alternatives {
        let mut sets = set.iter().map(|parts| {
            parts.iter().flat_map(|part| part.required.iter().copied()).collect::<HashSet<&'a str>>()
        });
        if let Some(first) = sets.next() {
            for name in sets.fold(first, |common, other| common.intersection(&other).copied().collect()) {
                names.insert(name);
            }
        }
    }
    Required::All(names)
}

impl<'a> Lowerer<'a, '_> {
    /// The properties that all parts of `view` declare together.
    pub(crate) fn fold_parts(&mut self, view: &mut View<'a>) -> Folded<'a> {
        let parts = std::mem::take(&mut view.objects);
        let alternatives = std::mem::take(&mut view.alternatives);
        let conditional = std::mem::take(&mut view.conditional);
        let undeclared = self.undeclared(&parts, &alternatives);
        let required = required_names(&parts, &alternatives);
        let properties = self
            .properties(&parts, &alternatives, &conditional, &undeclared)
            .into_iter()
            .map(|property| (property.name, property.kinds, required.contains(property.name)))
            .collect();
        Folded { properties, closed: matches!(undeclared, Undeclared::Forbidden) }
    }

    pub(super) fn undeclared(
        &mut self,
        parts: &[ObjectPart<'a>],
        alternatives: &[Vec<Vec<ObjectPart<'a>>>],
    ) -> Undeclared<'a> {
        let mut all: Vec<Source<'a>> = Vec::new();
        let mut any: Option<Vec<Vec<Source<'a>>>> = None;
        let mut said = false;
        for part in parts {
            if let Some(patterns) = part.patterns.filter(|patterns| !patterns.is_empty()) {
                said = true;
                let list = self.step(part.path, "patternProperties");
                let mut kinds: Vec<Vec<Source<'a>>> = Vec::with_capacity(patterns.len() + 1);
                for (pattern, schema) in patterns {
                    let path = self.step(list, pattern);
                    kinds.push(vec![Source { schema, path, resource: part.resource }]);
                }
                match part.additional {
                    Some(Value::Bool(false)) => {}
                    Some(schema) => {
                        let source = self.source(schema, part.path, "additionalProperties", part.resource);
                        kinds.push(vec![source]);
                    }
                    None => kinds.push(Vec::new()),
                }
                any.get_or_insert(kinds);
                continue;
            }
            match part.additional {
                None => {}
                Some(Value::Bool(false)) => return Undeclared::Forbidden,
                Some(schema) => {
                    said = true;
                    if schema != &Value::Bool(true) {
                        all.push(self.source(schema, part.path, "additionalProperties", part.resource));
                    }
                }
            }
        }
        for set in alternatives {
            let closed = |parts: &Vec<ObjectPart<'a>>| {
                parts
                    .iter()
                    .any(|part| part.additional == Some(&Value::Bool(false)) && part.patterns.is_none())
            };
            if !set.is_empty() && set.iter().all(closed) {
                return Undeclared::Forbidden;
            }
            said |= set
                .iter()
                .flatten()
                .any(|part| part.additional.is_some_and(|more| more != &Value::Bool(false)));
        }
        match any {
            Some(kinds) if all.is_empty() => Undeclared::Allowed(kinds),
            Some(_) | None if said => Undeclared::Allowed(vec![all]),
            _ => Undeclared::Unsaid,
        }
    }

    /// Every property that some part names, in order.
    pub(super) fn properties(
        &mut self,
        parts: &[ObjectPart<'a>],
        alternatives: &[Vec<Vec<ObjectPart<'a>>>],
        conditional: &[Source<'a>],
        undeclared: &Undeclared<'a>,
    ) -> Vec<Property<'a>> {
        let mut found: Vec<Property<'a>> = Vec::new();
        let mut known = Names::default();
        let single = parts.len() == 1;
        // The keys of one object are distinct: nothing has to be remembered.
        let alone = single && alternatives.is_empty() && conditional.is_empty();
        for part in parts {
            let Some(properties) = part.properties else { continue };
            let list = self.step(part.path, "properties");
            found.reserve(properties.len());
            for (name, schema) in properties {
                if name == "required" && schema.is_array() {
                    self.change(
                        part.path,
                        "properties",
                        None,
                        Fate::Rewritten,
                        "required stood inside properties",
                    );
                    continue;
                }
                if !alone && !known.insert(name) {
                    continue;
                }
                let path = self.step(list, name);
                let own = Source { schema, path, resource: part.resource };
                if single {
                    found.push(Property { name, kinds: Kinds::One(own), conditional: false });
                    continue;
                }
                match self.all_sources(parts, name) {
                    sources if sources.is_empty() => {
                        self.change(path, "", None, Fate::Rewritten, "another rule forbids it: left out");
                    }
                    sources => {
                        found.push(Property { name, kinds: Kinds::Any(vec![sources]), conditional: false });
                    }
                }
            }
        }
        for set in alternatives {
            self.add_alternatives(set, &mut known, &mut found);
        }
        if !conditional.is_empty() && self.conditions < 2 {
            let mut branches: Vec<Vec<ObjectPart<'a>>> =
                conditional.iter().flat_map(|source| self.discover(*source)).collect();
            // Where no condition holds, nothing is said.
            branches.push(Vec::new());
            self.add_alternatives(&branches, &mut known, &mut found);
        }
        let wants_all = self.rules.required_known
            || self.rules.all_required
            || matches!(self.rules.additional, Additional::Closed | Additional::Declared);
        if wants_all && !matches!(undeclared, Undeclared::Forbidden) {
            // Required, but declared nowhere: any value will do.
            for part in parts {
                for name in &part.required {
                    let declared = |properties: &Map<String, Value>| {
                        properties
                            .member(name)
                            .is_some_and(|schema| *name != "required" || !schema.is_array())
                    };
                    if alone && part.properties.is_some_and(declared) {
                        continue;
                    }
                    if known.insert(name) {
                        self.change(
                            part.path,
                            "required",
                            None,
                            Fate::Rewritten,
                            "names a property that is not declared: declared",
                        );
                        let kinds = match undeclared {
                            Undeclared::Allowed(kinds) => kinds.clone(),
                            Undeclared::Unsaid | Undeclared::Forbidden => vec![Vec::new()],
                        };
                        found.push(Property { name, kinds: Kinds::Any(kinds), conditional: false });
                    }
                }
            }
        }
        found
    }

    pub(super) fn add_alternatives(
        &mut self,
        set: &[Vec<ObjectPart<'a>>],
        known: &mut Names<'a>,
        found: &mut Vec<Property<'a>>,
    ) {
        let mut names: Vec<(&'a str, Vec<&Vec<ObjectPart<'a>>>)> = Vec::new();
        let mut listed: HashMap<&'a str, usize> = HashMap::new();
        for parts in set {
            for name in parts.iter().filter_map(|part| part.properties).flat_map(Map::keys) {
                if known.contains(name.as_str()) {
                    continue;
                }
                let at = *listed.entry(name).or_insert(names.len());
                match names.get_mut(at) {
                    Some((_, declaring)) => {
                        if !declaring.last().is_some_and(|last| std::ptr::eq(*last, parts)) {
                            declaring.push(parts);
                        }
                    }
                    None => names.push((name, vec![parts])),
                }
            }
        }
        for (name, declaring) in names {
            let mut kinds: Vec<Vec<Source<'a>>> = Vec::new();
            for parts in &declaring {
                let sources = self.all_sources(parts, name);
                let same = |kind: &Vec<Source<'a>>| {
                    kind.len() == sources.len()
                        && kind.iter().zip(&sources).all(|(left, right)| left.schema == right.schema)
                };
                if !kinds.iter().any(same) {
                    kinds.push(sources);
                }
            }
            if declaring.len() < set.len() && self.options.open == Open::All {
                // Where an alternative does not declare it, it may hold anything.
                kinds = vec![Vec::new()];
            }
            known.insert(name);
            found.push(Property { name, kinds: Kinds::Any(kinds), conditional: true });
        }
    }

    /// Everything that `parts` say together about the property `name`; empty where one forbids it.
    pub(super) fn all_sources(&mut self, parts: &[ObjectPart<'a>], name: &'a str) -> Vec<Source<'a>> {
        let mut sources = Vec::new();
        for part in parts {
            if let Some((key, schema)) = part.properties.and_then(|properties| properties.get_key_value(name))
            {
                let list = self.step(part.path, "properties");
                sources.push(self.source(schema, list, key, part.resource));
            } else if part.patterns.is_none_or(serde_json::Map::is_empty) {
                match part.additional {
                    Some(Value::Bool(false)) => return Vec::new(),
                    Some(schema @ Value::Object(_)) => {
                        sources.push(self.source(schema, part.path, "additionalProperties", part.resource));
                    }
                    _ => {}
                }
            }
        }
        sources
    }

    /// What a schema that holds under a condition says about objects, and what each alternative and condition inside it says, without
    /// reporting on it.
    pub(super) fn discover(&mut self, source: Source<'a>) -> Vec<Vec<ObjectPart<'a>>> {
        let mut found = Vec::new();
        let mut seen: HashSet<*const Value> = HashSet::new();
        let mut ahead = vec![source];
        while let Some(source) = ahead.pop() {
            if self.branches_left == 0 {
                break;
            }
            if !seen.insert(source.schema) {
                continue;
            }
            self.branches_left -= 1;
            let entries = self.changes.entries.len();
            let mark = self.active.len();
            let mut view = View::new(source.path, Some(source.schema));
            self.gather(source, &mut view);
            self.active.truncate(mark);
            self.changes.entries.truncate(entries);
            if !view.objects.is_empty() {
                found.push(std::mem::take(&mut view.objects));
            }
            let mark = ahead.len();
            ahead.append(&mut view.conditional);
            for union in &view.unions {
                ahead.extend(self.branches(union));
            }
            // What was found last is looked at first.
            if let Some(found) = ahead.get_mut(mark..) {
                found.reverse();
            }
        }
        found
    }

    /// The branches of a union, each where it stands.
    pub(crate) fn branches(&mut self, union: &UnionPart<'a>) -> Vec<Source<'a>> {
        let list = self.step(union.path, union.keyword.name());
        let branch = |(index, schema): (usize, &'a Value)| {
            let path = self.changes.paths.index(list, index);
            Source { schema, path, resource: union.resource }
        };
        union.branches.iter().enumerate().map(branch).collect()
    }
}
