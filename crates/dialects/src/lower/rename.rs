//! The codec of an edited schema: nothing but keys that travel under other names.

use std::sync::Arc;

use serde_json::Value;

use super::Lowerer;
use crate::plan::{Branch, Codec, Guard, ObjectCodec, PropertyCodec, Rest};
use crate::report::PathId;
use crate::schema::{Source, TypeSet};

/// Keywords whose sub-schemas speak of the same value.
const IN_PLACE: &[&str] = &["allOf", "anyOf", "oneOf"];
const IN_PLACE_ONE: &[&str] = &["then", "else", "if"];

/// Positions being worked on, by the schemas that describe them.
struct Walk<'a> {
    positions: Vec<Vec<&'a Value>>,
    /// Absent while they are being worked on.
    codecs: Vec<Option<Codec>>,
    /// Positions that are being worked on, each inside the one before.
    depth: usize,
    /// Positions that stood too deep; their turn comes when the others are done.
    waiting: Vec<(usize, Vec<Source<'a>>)>,
}

/// References can lead through a chain as long as the schema; the stack must not follow them all the way.
const DEEPEST: usize = 64;

impl<'a> Lowerer<'a, '_> {
    /// The codec for the whole schema, and its definitions.
    pub(crate) fn rename_codec(&mut self) -> (Codec, Vec<Codec>) {
        if !self.keys.renames() {
            return (Codec::Same, Vec::new());
        }
        let mut walk = Walk { positions: Vec::new(), codecs: Vec::new(), depth: 0, waiting: Vec::new() };
        let root =
            self.rename_position(&[Source { schema: self.root, path: PathId::ROOT, resource: 0 }], &mut walk);
        while let Some((index, all)) = walk.waiting.pop() {
            self.rename_all(&all, index, &mut walk);
        }
        (root, walk.codecs.into_iter().map(Option::unwrap_or_default).collect())
    }

    fn rename_position(&mut self, sources: &[Source<'a>], walk: &mut Walk<'a>) -> Codec {
        let mut all: Vec<Source<'a>> = Vec::new();
        for source in sources {
            self.flatten(*source, &mut all);
        }
        let identity: Vec<&'a Value> = all.iter().map(|source| source.schema).collect();
        let same = |known: &Vec<&'a Value>| {
            known.len() == identity.len()
                && known.iter().zip(&identity).all(|(left, right)| std::ptr::eq(*left, *right))
        };
        if let Some(index) = walk.positions.iter().position(same) {
            return match walk.codecs.get(index) {
                Some(Some(Codec::Same)) => Codec::Same,
                _ => Codec::Definition(index),
            };
        }
        let index = walk.positions.len();
        walk.positions.push(identity);
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
        let items = Self::children(all, &["items", "additionalItems", "prefixItems", "contains"]);
        let list = if items.is_empty() { Codec::Same } else { self.rename_position(&items, walk) };
        let codec = match (object, list) {
            (object, Codec::Same) => object,
            (Codec::Same, list) => Codec::List(Box::new(list)),
            (object, list) => {
                let branch = |types, codec| Branch {
                    tag: None,
                    mcp: Guard::of_types(types),
                    wire: Guard::of_types(types),
                    codec,
                };
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
        let mut names: Vec<&'a str> = Vec::new();
        for source in all {
            if let Some(Value::Object(properties)) = source.schema.get("properties") {
                for key in properties.keys() {
                    if !names.contains(&key.as_str()) {
                        names.push(key);
                    }
                }
            }
            // Required, but declared nowhere: renamed all the same.
            for key in source.schema.get("required").and_then(Value::as_array).into_iter().flatten() {
                if let Value::String(key) = key
                    && self.keys.wire(key) != key.as_str()
                    && !names.contains(&key.as_str())
                {
                    names.push(key);
                }
            }
        }
        let mut properties = Vec::new();
        for name in names {
            let mut sources = Vec::new();
            for source in all {
                if let Some(schema) =
                    source.schema.get("properties").and_then(|properties| properties.get(name))
                {
                    sources.push(Source { schema, ..*source });
                }
            }
            let codec = self.rename_position(&sources, walk);
            let wire = self.keys.wire(name);
            if codec != Codec::Same || wire != name {
                properties.push(PropertyCodec {
                    mcp: Arc::from(name),
                    wire: Arc::from(wire.as_ref()),
                    codec,
                    null_is_absent: false,
                });
            }
        }
        let others =
            Self::children(all, &["additionalProperties", "unevaluatedProperties", "patternProperties"]);
        let rest = if others.is_empty() { Codec::Same } else { self.rename_position(&others, walk) };
        if properties.is_empty() && rest == Codec::Same {
            return Codec::Same;
        }
        let rest = if rest == Codec::Same { Rest::Same } else { Rest::Each(rest) };
        Codec::Object(Arc::new(ObjectCodec { properties, rest }))
    }

    /// `source` and every schema that speaks of the same value.
    fn flatten(&mut self, source: Source<'a>, all: &mut Vec<Source<'a>>) {
        if all.len() > 256 || all.iter().any(|known| std::ptr::eq(known.schema, source.schema)) {
            return;
        }
        let Value::Object(map) = source.schema else { return };
        all.push(source);
        if let Some(Value::String(reference)) = map.get("$ref")
            && let Some(target) = self.resolver.resolve(reference, source.resource, &mut self.changes.paths)
        {
            self.flatten(target, all);
        }
        for keyword in IN_PLACE {
            for schema in map.get(*keyword).and_then(Value::as_array).into_iter().flatten() {
                self.flatten(Source { schema, ..source }, all);
            }
        }
        for keyword in IN_PLACE_ONE {
            if let Some(schema) = map.get(*keyword) {
                self.flatten(Source { schema, ..source }, all);
            }
        }
        for schema in map
            .get("dependentSchemas")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|table| table.values())
        {
            self.flatten(Source { schema, ..source }, all);
        }
    }

    /// The sub-schemas of `all` under `keywords`.
    fn children(all: &[Source<'a>], keywords: &[&str]) -> Vec<Source<'a>> {
        let mut found = Vec::new();
        for source in all {
            for keyword in keywords {
                match source.schema.get(*keyword) {
                    Some(Value::Object(table)) if *keyword == "patternProperties" => {
                        found.extend(table.values().map(|schema| Source { schema, ..*source }));
                    }
                    Some(schema @ Value::Object(_)) => found.push(Source { schema, ..*source }),
                    Some(Value::Array(list)) => {
                        found.extend(list.iter().map(|schema| Source { schema, ..*source }));
                    }
                    _ => {}
                }
            }
        }
        found
    }
}
