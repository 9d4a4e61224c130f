//! Lowering keyword by keyword, for dialects that read JSON Schema: structure and order stay.

mod children;
mod definitions;
mod keywords;
mod references;
mod rename;
mod root;
mod values;

use super::reader::Reader;
use super::{Excess, LoweredSchema, reader};
use crate::dialect::EditRules;
use crate::json::{Entries, Json};
use crate::schema::repair::type_alias;
use crate::schema::{Members, Source, TypeSet};
use crate::text::{Note, compose};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::{Deref, DerefMut};

pub(super) use root::hide_parameters;

/// The state of editing one schema.
pub(super) struct Edit<'a, 'r> {
    reader: Reader<'a, 'r>,
    choices: &'r EditRules,
    /// What an earlier attempt has shown.
    known: &'r Findings,
    definitions: Vec<Definition<'a>>,
    /// The schema that the next definition is made of.
    defining: Option<&'a Value>,
    /// Schemas that take more values than before.
    inexact: Vec<&'a Value>,
    /// References that stay where they are: what is written, and what it named.
    kept_references: Vec<(Cow<'a, str>, &'a Value)>,
    /// Schemas that references name under words that are no keywords.
    outside: HashSet<*const Value>,
    /// Whether something that needs an exact sub-schema relied on a reference.
    relied: bool,
    /// Whether something was edited and then left out.
    abandoned: bool,
    /// Whether the result uses what only 2020-12 knows.
    modern: bool,
}

/// A definition at the root that references are pointed to.
struct Definition<'a> {
    target: Source<'a>,
    name: String,
    /// Absent until it is edited: definitions can refer to each other without end, so that they take turns.
    json: Option<Json<'a>>,
}

/// What only the whole edited schema shows, so that it is edited once more.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Schemas that came out looser than they were, where something else relied on them.
    inexact: HashSet<*const Value>,
    /// Schemas that references name and that are no longer where they were.
    gone: HashSet<*const Value>,
    /// Schemas whose rules about the look of keys would judge the names under which keys travel.
    misled: HashSet<*const Value>,
    /// Schemas that references name under words that are no keywords.
    outside: HashSet<*const Value>,
    /// Schemas that references name where they stand, and that are now definitions.
    shared: HashSet<*const Value>,
}

impl Findings {
    /// Whether `more` has anything new.
    pub(super) fn learn(&mut self, more: Self) -> bool {
        let before = self.count();
        self.inexact.extend(more.inexact);
        self.gone.extend(more.gone);
        self.misled.extend(more.misled);
        self.outside.extend(more.outside);
        self.shared.extend(more.shared);
        self.count() > before
    }

    fn count(&self) -> usize {
        let sets = [&self.inexact, &self.gone, &self.misled, &self.outside, &self.shared];
        sets.iter().map(|set| set.len()).sum()
    }
}

// Everything that is edited is read first: most methods need both.
impl<'a, 'r> Deref for Edit<'a, 'r> {
    type Target = Reader<'a, 'r>;

    fn deref(&self) -> &Self::Target {
        &self.reader
    }
}

impl DerefMut for Edit<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.reader
    }
}

/// An edited schema.
struct Edited<'a> {
    json: Json<'a>,
    /// Whether it takes the same values as before, under the same names.
    exact: bool,
    /// Whether that relies on what it refers to.
    relies: bool,
}

/// What is known about a node while its keywords are read.
struct NodeEdit<'a> {
    source: Source<'a>,
    map: &'a Map<String, Value>,
    /// The keyword that is being edited, and its value.
    name: &'a str,
    value: &'a Value,
    types: TypeSet,
    out: Entries<'a>,
    notes: Vec<Note<'a>>,
    changed: bool,
    exact: bool,
    /// Whether `exact` relies on what the node refers to.
    relies: bool,
    patterns_gone: bool,
}

impl<'a, 'r> Edit<'a, 'r> {
    pub(super) fn new(reader: Reader<'a, 'r>, choices: &'r EditRules, known: &'r Findings) -> Self {
        Self {
            reader,
            choices,
            known,
            definitions: Vec::new(),
            defining: None,
            inexact: Vec::new(),
            kept_references: Vec::new(),
            outside: HashSet::new(),
            relied: false,
            abandoned: false,
            modern: false,
        }
    }

    fn edit(&mut self, source: Source<'a>) -> Edited<'a> {
        let is_definition = self.defining.take().is_some_and(|schema| std::ptr::eq(schema, source.schema));
        if !is_definition && self.known.shared.contains(&std::ptr::from_ref(source.schema)) {
            return self.edit_shared(source);
        }
        let map = match source.schema {
            Value::Object(map) => map,
            Value::Bool(flag) => {
                if self.rules.boolean_schemas {
                    return Edited { json: Json::Same(source.schema), exact: true, relies: false };
                }
                self.rewritten(source.path, "", Some(source.schema), "boolean schemas are not taken");
                let json = if *flag {
                    Json::Object(Vec::new())
                } else {
                    Json::object([("description", Json::literal("No value is allowed here"))])
                };
                return Edited { json, exact: *flag, relies: false };
            }
            other => {
                self.rewritten(source.path, "", Some(other), "not a schema");
                let named = other.as_str().and_then(type_alias);
                let json = named
                    .map_or(Json::Object(Vec::new()), |name| Json::object([("type", Json::literal(name))]));
                return Edited { json, exact: false, relies: false };
            }
        };
        let mut node = NodeEdit {
            source: Source { resource: self.resolver.resource_of(source.schema, source.resource), ..source },
            map,
            name: "",
            value: source.schema,
            types: declared_types(map),
            out: Vec::with_capacity(map.len() + 1),
            notes: Vec::new(),
            changed: false,
            exact: true,
            relies: false,
            patterns_gone: false,
        };
        for (name, value) in map {
            (node.name, node.value) = (name, value);
            self.edit_keyword(&mut node);
        }
        self.finish(&mut node);
        let NodeEdit { exact, relies, .. } = node;
        if !exact {
            self.inexact.push(source.schema);
        }
        let json = if node.changed { Json::Object(node.out) } else { Json::Same(source.schema) };
        Edited { json, exact, relies }
    }

    /// What depends on the whole node.
    fn finish(&mut self, node: &mut NodeEdit<'a>) {
        if self.rules.items_required
            && node.map.has("type")
            && node.types.contains(TypeSet::ARRAY)
            && !node.has("items")
            && !node.has("prefixItems")
        {
            node.changed = true;
            let items = node.map.member("items");
            self.rewritten(node.source.path, "items", items, "the dialect wants to know the items");
            node.out.push((Cow::Borrowed("items"), Json::Object(Vec::new())));
            // All items are looked at now, so none is left to be unevaluated.
            node.exact &= !node.map.contains_key("unevaluatedItems");
        }
        if node.patterns_gone && node.map.member("additionalProperties") != Some(&Value::Bool(true)) {
            self.withdraw("additionalProperties", node, "it speaks of what the patterns leave");
        }
        if self.rules.satisfiable {
            self.drop_contradictions(node);
        }
        if self.choices.pattern_alone && node.has("pattern") {
            for name in ["minLength", "maxLength"] {
                self.withdraw(name, node, "not taken beside a pattern");
            }
        }
        for name in ["unevaluatedProperties", "unevaluatedItems"] {
            self.relied |= node.exact && node.relies && node.has(name);
            if !node.exact {
                self.withdraw(name, node, "it speaks of what other keywords leave");
            }
        }
        // A condition that is gone takes its consequences along.
        if node.map.has("if") && !node.has("if") {
            for name in ["then", "else"] {
                self.withdraw(name, node, "its condition cannot be said here");
            }
        }
        if node.notes.is_empty() {
            return;
        }
        node.changed = true;
        let at = node.out.iter().position(|(name, _)| name == "description");
        let description = at.and_then(|at| node.out.get(at)).and_then(|(_, json)| match json {
            Json::Same(Value::String(text)) => Some(Cow::Borrowed(text.as_str())),
            Json::Text(text) => Some(text.clone()),
            _ => None,
        });
        let Some(text) = compose(self.rules.text, description, &node.notes) else { return };
        let entry = (Cow::Borrowed("description"), Json::Text(text));
        match at.and_then(|at| node.out.get_mut(at)) {
            Some(slot) => *slot = entry,
            None => node.out.push(entry),
        }
    }
}

/// Whether a sub-schema may be loosened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exactness {
    Free,
    Needed,
}

impl<'a> NodeEdit<'a> {
    /// Takes over what is known about a part of the node.
    fn adopt(&mut self, part: &Edited<'a>) {
        self.exact &= part.exact;
        self.relies |= part.relies;
    }

    /// Whether a keyword has been written.
    fn has(&self, name: &str) -> bool {
        self.out.iter().any(|(known, _)| known == name)
    }

    /// Leaves the keyword as it is.
    fn keep(&mut self) {
        self.write(Json::Same(self.value));
    }

    /// Writes the keyword with another value.
    fn write(&mut self, json: Json<'a>) {
        self.out.push((Cow::Borrowed(self.name), json));
    }

    fn push(&mut self, changed: bool, json: impl FnOnce() -> Json<'a>) {
        self.changed |= changed;
        self.write(if changed { json() } else { Json::Same(self.value) });
    }
}

/// The members of an edited schema.
fn into_entries(json: Json<'_>) -> Entries<'_> {
    json.into_entries().unwrap_or_default()
}

fn declared_types(map: &Map<String, Value>) -> TypeSet {
    // Slips such as `int` are repaired elsewhere; they mean a type here too.
    let read = |name: &str| TypeSet::named(name).or_else(|| type_alias(name).and_then(TypeSet::named));
    match map.member("type") {
        Some(Value::String(name)) => read(name).unwrap_or(TypeSet::ALL),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).filter_map(read).fold(TypeSet::NONE, TypeSet::or)
        }
        _ => TypeSet::ALL,
    }
}
