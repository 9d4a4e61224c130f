//! References that stay, the definitions that they name, and the definition of anything at all.

use std::borrow::Cow;

use serde_json::Value;

use super::position::{JSON_TEXT, Lowered, Place};
use super::view::View;
use super::{Definition, Lowerer, Node};
use crate::dialect::{Additional, Anything, RefStyle};
use crate::plan::Codec;
use crate::report::{Fate, PathId};
use crate::schema::{Keyword, Kind, Members, Source, TypeSet};

impl<'a> Lowerer<'a, '_> {
    /// A value without any rule.
    pub(crate) fn lower_anything(&mut self, view: &View<'a>, place: Place) -> Lowered<'a> {
        if let Some(types) = view.original("type") {
            self.change(view.path, "type", Some(types), Fate::Rewritten, "any type");
        }
        match self.rules.anything {
            Anything::Empty => Lowered::new(Node::anything(), Codec::Same),
            Anything::Scalars => {
                self.change(
                    view.path,
                    "type",
                    None,
                    Fate::Encoded,
                    "arrays and objects of any kind travel as JSON text",
                );
                let types = TypeSet::STRING.or(TypeSet::NUMBER).or(TypeSet::BOOLEAN);
                let mut node = if self.rules.type_lists {
                    Node {
                        description: Some(Cow::Borrowed("Arrays and objects as JSON text")),
                        ..Node::of(types)
                    }
                } else {
                    let mut branches: Vec<_> = types.singles().map(Node::of).collect();
                    if let Some(text) = branches.first_mut() {
                        text.description = Some(Cow::Borrowed("Text; arrays and objects as JSON text"));
                    }
                    Node { branches, ..Node::default() }
                };
                node.types = node.types.or(TypeSet::NULL);
                Lowered::new(node, Codec::Containers)
            }
            Anything::Definition => {
                if place.in_union && !self.rules.ref_in_union {
                    return Lowered::new(Node::text(JSON_TEXT), Codec::Text);
                }
                let index = self.anything_definition();
                let native = matches!(self.rules.additional, Additional::Keep | Additional::Explicit);
                if !native {
                    self.change(
                        view.path,
                        "type",
                        None,
                        Fate::Encoded,
                        "objects of any kind travel as lists of entries",
                    );
                }
                let codec = if native { Codec::Same } else { Codec::Anything };
                Lowered::new(Node { reference: Some(index), ..Node::default() }, codec)
            }
        }
    }

    /// The recursive definition of any JSON value.
    fn anything_definition(&mut self) -> usize {
        if let Some(index) = self.definitions.iter().position(|definition| definition.name == "any_json") {
            return index;
        }
        let index = self.definitions.len();
        let itself = || Node { reference: Some(index), ..Node::default() };
        let mut array = Node::of(TypeSet::ARRAY);
        array.array = Some(Box::new(super::node::ArrayNode { items: Some(itself()), ..Default::default() }));
        let object = if matches!(self.rules.additional, Additional::Keep | Additional::Explicit) {
            Node::of(TypeSet::OBJECT)
        } else {
            self.entries_node(Node::of(TypeSet::STRING), itself(), true)
        };
        let mut branches: Vec<_> =
            TypeSet::STRING.or(TypeSet::NUMBER).or(TypeSet::BOOLEAN).singles().map(Node::of).collect();
        branches.push(array);
        branches.push(object);
        self.definitions.push(Definition {
            target: None,
            name: "any_json".to_owned(),
            node: Some(Node { types: TypeSet::NULL, branches, ..Node::default() }),
            codec: Codec::Same,
            guard: std::cell::OnceCell::new(),
            json: None,
            at: 0,
        });
        index
    }

    /// A reference that stays one; `None` where it has to be written out.
    pub(super) fn lower_reference(&mut self, source: Source<'a>, place: Place) -> Option<Lowered<'a>> {
        let map = source.schema.as_object()?;
        let Value::String(reference) = map.member("$ref")? else { return None };
        let alone = map.keys().all(|name| {
            matches!(name.as_str(), "$ref" | "$defs" | "definitions")
                || Keyword::parse(name).is_some_and(|keyword| {
                    keyword == Keyword::Description || matches!(keyword.kind(), Kind::Annotation | Kind::Hint)
                })
        });
        if !(alone || self.draft.ref_hides_siblings) || (place.in_union && !self.rules.ref_in_union) {
            return None;
        }
        let resource = self.resolver.resource_of(source.schema, source.resource);
        let target = self.resolve(reference, resource)?;
        let known = self
            .definitions
            .iter()
            .position(|definition| definition.target.is_some_and(|known| std::ptr::eq(known, target.schema)));
        let index = match known {
            Some(index) => {
                let unfinished =
                    self.definitions.get(index).is_some_and(|definition| definition.node.is_none());
                if unfinished
                    && self.definitions.get(index).is_some_and(|definition| definition.at == place.total)
                {
                    // The definition is one of its own alternatives: that adds no value.
                    return Some(Lowered::impossible());
                }
                if unfinished && !self.rules.recursion {
                    return None;
                }
                index
            }
            None => self.define(target, place)?,
        };
        let name = self.definitions.get(index).map_or("", |definition| definition.name.as_str());
        if reference.strip_prefix("#/$defs/") != Some(name) {
            self.change(
                source.path,
                "$ref",
                map.member("$ref"),
                Fate::Rewritten,
                "refers to a definition at the root",
            );
        }
        let mut view = View::new(source.path, Some(source.schema));
        for (name, value) in map {
            match Keyword::parse(name) {
                Some(Keyword::Description) => {
                    if let Value::String(text) = value {
                        view.description = Some(Cow::Borrowed(text));
                    }
                }
                Some(Keyword::Ref) => {}
                Some(Keyword::Defs | Keyword::Definitions) => {
                    self.spread_definitions(source.path, name, value);
                }
                Some(keyword) if matches!(keyword.kind(), Kind::Annotation | Kind::Hint) => {
                    view.hints.push((keyword, value, source.path));
                }
                _ => self.change(
                    source.path,
                    name,
                    Some(value),
                    Fate::Rewritten,
                    "this draft ignores it beside $ref",
                ),
            }
        }
        let node = Node { reference: Some(index), ..Node::default() };
        let mut lowered = Lowered::new(node, Codec::Definition(index));
        self.finish_words(&mut lowered, &mut view, true, &mut Vec::new());
        Some(lowered)
    }

    /// Makes a definition of `target`; `None` where it is only a reference to itself, or too many are being made.
    fn define(&mut self, target: Source<'a>, place: Place) -> Option<usize> {
        if self.opened >= super::DEEPEST {
            return None;
        }
        let index = self.definitions.len();
        let name = self.definition_name(target.path);
        self.definitions.push(Definition {
            target: Some(target.schema),
            name,
            node: None,
            codec: Codec::Same,
            guard: std::cell::OnceCell::new(),
            json: None,
            at: place.total,
        });
        let place = Place { depth: 1, total: place.total, root: false, in_union: false };
        self.opened += 1;
        let lowered = self.lower(&[target], place);
        self.opened -= 1;
        if lowered.node.reference == Some(index) || !lowered.possible {
            self.definitions.truncate(index);
            return None;
        }
        if let Some(definition) = self.definitions.get_mut(index) {
            definition.node = Some(lowered.node);
            definition.codec = lowered.codec;
        }
        Some(index)
    }

    /// A legal, unused name for the definition at `path`.
    pub(crate) fn definition_name(&self, path: PathId) -> String {
        let mut parts = Vec::new();
        let mut at = path;
        while let Some((parent, step)) = self.changes.paths.last(at) {
            match step {
                crate::report::Step::Name("$defs" | "definitions" | "properties") => {
                    if !parts.is_empty() {
                        break;
                    }
                }
                crate::report::Step::Name(name) => parts.push(name.to_owned()),
                crate::report::Step::Index(index) => parts.push(index.to_string()),
            }
            at = parent;
        }
        parts.reverse();
        let mut name: String = parts
            .join("_")
            .chars()
            .map(
                |char| {
                    if char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.') { char } else { '_' }
                },
            )
            .take(60)
            .collect();
        if name.is_empty() {
            "root".clone_into(&mut name);
        }
        // Where references stay in place, so do the definitions of the schema.
        let kept = self.root.get("$defs").filter(|_| self.rules.refs != RefStyle::Defs);
        let taken = |name: &str| {
            name == "any_json"
                || kept.is_some_and(|table| table.get(name).is_some())
                || self.definitions.iter().any(|known| known.name == name)
        };
        if taken(&name) {
            let number = (2..=usize::MAX).find(|number| !taken(&format!("{name}_{number}"))).unwrap_or(0);
            name = format!("{name}_{number}");
        }
        name
    }
}
