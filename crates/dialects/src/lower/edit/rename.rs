//! The codec of an edited schema: nothing but keys that travel under other names.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::Edit;
use crate::plan::{Branch, Codec, Guard, ObjectCodec, PropertyCodec, Rest};
use crate::schema::{Members, Source, TypeSet, held};

/// Keywords whose sub-schemas speak of the same value.
const IN_PLACE: &[&str] =
    &["allOf", "anyOf", "oneOf", "then", "else", "if", "not", "dependentSchemas", "dependencies"];
const REFERENCES: &[&str] = &["$ref", "$dynamicRef", "$recursiveRef"];

/// Keywords whose sub-schemas speak of items.
const ITEMS: &[&str] = &["items", "additionalItems", "prefixItems", "contains", "unevaluatedItems"];

/// Keywords whose sub-schemas speak of properties that are not named.
const OTHERS: &[&str] = &["additionalProperties", "unevaluatedProperties", "patternProperties"];

/// Keywords that judge keys by what they look like.
const NAME_RULES: &[&str] = &["patternProperties", "propertyNames"];

/// What the walk through the positions of a schema shows.
pub(super) struct Renaming {
    pub(super) root: Codec,
    pub(super) definitions: Vec<Codec>,
    /// Schemas with rules about the look of keys, some of which travel under other names.
    pub(super) misled: HashSet<*const Value>,
    /// Whether the schema was too tangled to be walked through.
    pub(super) gave_up: bool,
}

/// Positions being worked on, by the schemas that describe them.
#[derive(Default)]
struct Walk<'a> {
    positions: HashMap<Vec<*const Value>, usize>,
    /// `None` while they are being worked on.
    codecs: Vec<Option<Codec>>,
    /// Positions that are being worked on, each inside the one before.
    depth: usize,
    /// Positions that stood too deep; their turn comes when the others are done.
    waiting: Vec<(usize, Vec<Source<'a>>)>,
    misled: HashSet<*const Value>,
    /// Schemas that may still be counted among those of a position.
    room: usize,
}

/// References can lead through a chain as long as the schema; the stack must not follow them all the way.
const DEEPEST: usize = 64;

/// Schemas of all positions together: references can make each position as large as the whole schema.
const MOST_SOURCES: usize = 1_000_000;

impl<'a> Edit<'a, '_> {
    /// The codec for the whole schema, and its definitions.
    pub(super) fn rename_codec(&mut self) -> Renaming {
        let mut walk = Walk { room: MOST_SOURCES, ..Walk::default() };
        let mut root = Codec::Same;
        if self.keys.renames() && self.renames_in(self.root) {
            root = self.rename_position(&[self.root_source()], &mut walk);
        }
        while let Some((index, all)) = walk.waiting.pop() {
            self.rename_all(&all, index, &mut walk);
        }
        Renaming {
            root,
            definitions: walk.codecs.into_iter().map(Option::unwrap_or_default).collect(),
            misled: walk.misled,
            gave_up: walk.room == 0,
        }
    }

    /// Whether a schema in `value` names a key that travels under another name. Values that only look like schemas count as well. Its
    /// depth is bounded by the budget.
    fn renames_in(&self, value: &'a Value) -> bool {
        let is_renamed = |key: &'a str| self.keys.wire(key) != key;
        match value {
            Value::Object(members) => members.iter().any(|(name, child)| {
                let named = match (name.as_str(), child) {
                    ("properties" | "dependentSchemas", Value::Object(table)) => {
                        table.keys().any(|key| is_renamed(key))
                    }
                    ("required", Value::Array(names)) => {
                        names.iter().filter_map(Value::as_str).any(is_renamed)
                    }
                    _ => false,
                };
                named || self.renames_in(child)
            }),
            Value::Array(items) => items.iter().any(|item| self.renames_in(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }

    fn rename_position(&mut self, sources: &[Source<'a>], walk: &mut Walk<'a>) -> Codec {
        let all = self.flatten(sources, &mut walk.room);
        let identity: Vec<*const Value> =
            all.iter().map(|source| std::ptr::from_ref(source.schema)).collect();
        if let Some(index) = walk.positions.get(&identity).copied() {
            return match walk.codecs.get(index) {
                Some(Some(Codec::Same)) => Codec::Same,
                _ => Codec::Definition(index),
            };
        }
        let index = walk.codecs.len();
        walk.positions.insert(identity, index);
        walk.codecs.push(None);
        if walk.depth >= DEEPEST {
            walk.waiting.push((index, all));
            return Codec::Definition(index);
        }
        walk.depth += 1;
        let codec = self.rename_all(&all, index, walk);
        walk.depth -= 1;
        codec
    }

    /// The codec of a value that all of these schemas describe.
    fn rename_all(&mut self, all: &[Source<'a>], index: usize, walk: &mut Walk<'a>) -> Codec {
        let object = self.rename_object(all, walk);
        let items = Self::children(all, ITEMS);
        let list = if items.is_empty() { Codec::Same } else { self.rename_position(&items, walk) };
        let codec = match (object, list) {
            (object, Codec::Same) => object,
            (Codec::Same, list) => Codec::List(Box::new(list)),
            (object, list) => {
                let branch =
                    |types, codec| Branch::untagged(Guard::of_types(types), Guard::of_types(types), codec);
                Codec::Union(vec![
                    branch(TypeSet::OBJECT, object),
                    branch(TypeSet::ARRAY, Codec::List(Box::new(list))),
                    branch(TypeSet::ALL.without(TypeSet::CONTAINERS), Codec::Same),
                ])
            }
        };
        if let Some(slot) = walk.codecs.get_mut(index) {
            *slot = Some(codec.clone());
        }
        codec
    }

    fn rename_object(&mut self, all: &[Source<'a>], walk: &mut Walk<'a>) -> Codec {
        let mut names: Vec<(&'a str, Vec<Source<'a>>)> = Vec::new();
        let mut known: HashMap<&'a str, usize> = HashMap::new();
        let mut slot = |names: &mut Vec<(&'a str, Vec<Source<'a>>)>, key: &'a str| {
            *known.entry(key).or_insert_with(|| {
                names.push((key, Vec::new()));
                names.len() - 1
            })
        };
        for source in all {
            for (key, schema) in table(source.schema, "properties") {
                let at = slot(&mut names, key);
                if let Some((_, sources)) = names.get_mut(at) {
                    sources.push(Source { schema, ..*source });
                }
            }
            // Named, but declared nowhere: renamed all the same.
            let slipped = source.schema.get("properties").and_then(|properties| properties.get("required"));
            let lists = source.schema.get("required").into_iter().chain(slipped).filter_map(Value::as_array);
            let listed = lists.flatten().filter_map(Value::as_str);
            let tabled = table(source.schema, "dependentSchemas").map(|(key, _)| key.as_str());
            for key in listed.chain(tabled) {
                if self.keys.wire(key) != key {
                    slot(&mut names, key);
                }
            }
        }
        let has_any =
            |source: &Source<'a>, names: &[&str]| names.iter().any(|name| source.schema.get(*name).is_some());
        let general: Vec<&Source<'a>> = all.iter().filter(|source| has_any(source, OTHERS)).collect();
        for (name, sources) in &mut names {
            for source in &general {
                self.add_general(source, name, sources);
            }
            walk.room = walk.room.saturating_sub(general.len());
        }
        let others = Self::children(all, OTHERS);
        let rest = if others.is_empty() { Codec::Same } else { self.rename_position(&others, walk) };
        let mut properties = Vec::new();
        let mut renames = false;
        for (name, sources) in names {
            let codec = self.rename_position(&sources, walk);
            let wire = self.keys.wire(name);
            renames |= wire != name;
            // What travels as it is goes without saying, unless the others do not.
            if codec != Codec::Same || wire != name || rest != Codec::Same {
                properties.push(PropertyCodec {
                    mcp: Arc::from(name),
                    wire: Arc::from(wire.as_ref()),
                    codec,
                    null_is_absent: false,
                });
            }
        }
        if renames {
            let judging = all.iter().filter(|source| has_any(source, NAME_RULES));
            walk.misled.extend(judging.map(|source| std::ptr::from_ref(source.schema)));
        }
        if properties.is_empty() && rest == Codec::Same {
            return Codec::Same;
        }
        let rest = if rest == Codec::Same { Rest::Same } else { Rest::Each(rest) };
        Codec::Object(Arc::new(ObjectCodec { properties, rest }))
    }

    /// What `source` says about the key `name` without naming it.
    fn add_general(&mut self, source: &Source<'a>, name: &str, sources: &mut Vec<Source<'a>>) {
        let mut known = source.schema.get("properties").is_some_and(|table| table.get(name).is_some());
        for (pattern, schema) in table(source.schema, "patternProperties") {
            // Where that is not known, one schema too many does no harm: all of them agree on the names.
            if self.fits(pattern, name) != Some(false) {
                known = true;
                sources.push(Source { schema, ..*source });
            }
        }
        let additional = source.schema.get("additionalProperties").filter(|_| !known);
        let unevaluated = source.schema.get("unevaluatedProperties");
        let others = additional.into_iter().chain(unevaluated).filter(|schema| schema.is_object());
        sources.extend(others.map(|schema| Source { schema, ..*source }));
    }

    /// `sources` and every schema that speaks of the same value, in the order in which they are met.
    fn flatten(&mut self, sources: &[Source<'a>], room: &mut usize) -> Vec<Source<'a>> {
        let mut all = Vec::new();
        let mut seen: HashSet<*const Value> = HashSet::new();
        let mut ahead: Vec<Source<'a>> = sources.iter().rev().copied().collect();
        while let Some(source) = ahead.pop() {
            let Value::Object(map) = source.schema else { continue };
            if !seen.insert(source.schema) {
                continue;
            }
            if *room == 0 {
                break;
            }
            *room -= 1;
            let resource = self.resolver.resource_of(source.schema, source.resource);
            let source = Source { resource, ..source };
            let mark = ahead.len();
            for keyword in REFERENCES {
                if let Some(Value::String(reference)) = map.get(*keyword) {
                    ahead.extend(self.resolve_once(reference, resource));
                }
            }
            let hidden = self.resolver.ref_hides_siblings && map.contains_key("$ref");
            if !hidden {
                all.push(source);
                ahead.extend(IN_PLACE.iter().flat_map(|keyword| sources_under(&source, keyword)));
            }
            // What was found last is looked at first.
            if let Some(found) = ahead.get_mut(mark..) {
                found.reverse();
            }
        }
        all
    }

    /// The sub-schemas of `all` under `keywords`.
    fn children(all: &[Source<'a>], keywords: &[&str]) -> Vec<Source<'a>> {
        let under = |source| keywords.iter().flat_map(move |keyword| sources_under(source, keyword));
        all.iter().flat_map(under).collect()
    }
}

/// The members of an object under `name`.
fn table<'a>(schema: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    schema.get(name).and_then(Value::as_object).into_iter().flatten()
}

/// The sub-schemas of `source` under one keyword; a boolean that stands alone speaks of no key.
fn sources_under<'a>(source: &Source<'a>, keyword: &str) -> impl Iterator<Item = Source<'a>> + use<'a> {
    let source = *source;
    let held = source.schema.entry(keyword).into_iter().flat_map(|(name, value)| held(name, value));
    held.filter(|child| child.step.is_some() || child.schema.is_object())
        .map(move |child| Source { schema: child.schema, ..source })
}
