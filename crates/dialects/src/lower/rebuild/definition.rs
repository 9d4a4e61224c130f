//! References that stay, the definitions that they name, and the definition of anything at all.

use std::borrow::Cow;

use serde_json::Value;

use super::position::{Location, Lowered};
use super::reader::ANYTHING;
use super::reader::view::View;
use super::{Definition, Node, Rebuild};
use crate::dialect::{Additional, Anything};
use crate::plan::Codec;
use crate::schema::{Keyword, Kind, Members, Source, TypeSet};

impl<'a> Rebuild<'a, '_> {
    /// A value without any rule.
    pub(crate) fn lower_anything(&mut self, view: &View<'a>, location: Location) -> Lowered<'a> {
        if let Some(types) = view.original("type") {
            self.rewritten(view.path, "type", Some(types), "any type");
        }
        match self.choices.anything {
            Anything::Empty => Lowered::new(Node::anything(), Codec::Same),
            Anything::Scalars => {
                self.encoded(view.path, "type", None, "arrays and objects of any kind travel as JSON text");
                let types = TypeSet::STRING.or(TypeSet::NUMBER).or(TypeSet::BOOLEAN);
                let mut node = if self.choices.type_lists {
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
            Anything::Text => {
                self.encoded(view.path, "type", None, "values of any kind but text travel as JSON text");
                let words = Cow::Borrowed("Text as it is, or JSON text of any other value");
                let node = Node { description: Some(words), ..Node::of(TypeSet::STRING.or(TypeSet::NULL)) };
                let others = TypeSet::ALL.without(TypeSet::STRING).without(TypeSet::NULL);
                Lowered::new(node, Codec::LooseText(others))
            }
            Anything::Definition => {
                if !self.chain.reach.defines_anything {
                    self.encoded(view.path, "type", None, "JSON text: writing it out would cost too much");
                    return Lowered::json_text();
                }
                if location.in_union && !self.choices.ref_in_union {
                    return Lowered::json_text();
                }
                let index = self.anything_definition();
                let native = matches!(self.choices.additional, Additional::Keep | Additional::Explicit);
                if !native {
                    self.encoded(view.path, "type", None, "objects of any kind travel as lists of entries");
                }
                let codec = if native { Codec::Same } else { Codec::Anything };
                Lowered::new(Node::reference(index), codec)
            }
        }
    }

    /// The recursive definition of any JSON value.
    fn anything_definition(&mut self) -> usize {
        if let Some(index) = self.definitions.iter().position(|definition| definition.name == ANYTHING) {
            return index;
        }
        let index = self.definitions.len();
        let object = if matches!(self.choices.additional, Additional::Keep | Additional::Explicit) {
            Node::of(TypeSet::OBJECT)
        } else {
            self.entries_node(Node::of(TypeSet::STRING), Node::reference(index), true)
        };
        let mut branches: Vec<_> =
            TypeSet::STRING.or(TypeSet::NUMBER).or(TypeSet::BOOLEAN).singles().map(Node::of).collect();
        branches.push(Node::list(Node::reference(index)));
        branches.push(object);
        let node = Node { types: TypeSet::NULL, branches, ..Node::default() };
        self.definitions.push(Definition::new(ANYTHING.to_owned(), None, Some(node), 0));
        index
    }

    /// A reference that stays one, or a schema that becomes one; `None` if it has to be written out.
    pub(super) fn lower_reference(&mut self, source: Source<'a>, location: Location) -> Option<Lowered<'a>> {
        let map = source.schema.as_object()?;
        if location.in_union && !self.choices.ref_in_union {
            return None;
        }
        let Some(Value::String(reference)) = map.member("$ref") else {
            return self.lower_shared(source, location);
        };
        let alone = map.keys().all(|name| {
            matches!(name.as_str(), "$ref" | "$defs" | "definitions")
                || Keyword::parse(name).is_some_and(|keyword| {
                    keyword == Keyword::Description || matches!(keyword.kind(), Kind::Annotation | Kind::Hint)
                })
        });
        if !(alone || self.resolver.ref_hides_siblings) {
            return None;
        }
        let resource = self.resolver.resource_of(source.schema, source.resource);
        let target = self.resolve(reference, resource)?;
        if self.is_repeated_in_full(target.schema) {
            return None;
        }
        let index = match self.definition_of(target.schema) {
            Some(index) => {
                let unfinished = self.definitions.get(index).filter(|definition| definition.node.is_none());
                if unfinished.is_some_and(|definition| definition.at == location.total) {
                    // The definition is one of its own alternatives: that adds no value.
                    return Some(Lowered::impossible());
                }
                if unfinished.is_some() && !self.choices.recursion {
                    return None;
                }
                index
            }
            None => self.define(target, location)?,
        };
        let name = self.definitions.get(index).map_or("", |definition| definition.name.as_str());
        if reference.strip_prefix("#/$defs/") != Some(name) {
            self.rewritten(source.path, "$ref", map.member("$ref"), "refers to a definition at the root");
        }
        let mut view = View::new(source.path, Some(source.schema));
        self.gather_siblings(source.path, map, &mut view);
        let mut lowered = Lowered::new(Node::reference(index), Codec::Definition(index));
        self.finish_words(&mut lowered, &mut view, true, &mut Vec::new());
        Some(lowered)
    }

    /// A schema that references name where it stands, as a reference itself.
    fn lower_shared(&mut self, source: Source<'a>, location: Location) -> Option<Lowered<'a>> {
        if !self.is_shared(source.schema) {
            return None;
        }
        let index = match self.definition_of(source.schema) {
            Some(index) => {
                // What is being defined is written out: this is the definition.
                self.definitions.get(index).and_then(|definition| definition.node.as_ref())?;
                index
            }
            None => self.define(source, location)?,
        };
        self.rewritten(source.path, "", None, "moved into a definition: references name it");
        Some(Lowered::new(Node::reference(index), Codec::Definition(index)))
    }

    /// Makes a definition of `target`; `None` if it is only a reference to itself, or too many are being made.
    fn define(&mut self, target: Source<'a>, location: Location) -> Option<usize> {
        if self.opened >= super::DEEPEST {
            return None;
        }
        let index = self.definitions.len();
        let name = self.definition_name(target.path, |name| self.has_definition(name));
        self.definitions.push(Definition::new(name, Some(target.schema), None, location.total));
        let location = Location { depth: 1, total: location.total, root: false, in_union: false };
        self.opened += 1;
        let mark = self.chain.len();
        if !self.choices.recursion {
            // What refers to it from inside is written out, as a recursion is.
            self.chain.enter(target.schema);
        }
        let lowered = self.lower(&[target], &[], location);
        self.chain.truncate(mark);
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
}
