//! The root of a schema that is written anew, and the whole of what is written.

use std::borrow::Cow;

use serde_json::Value;

use super::position::Place;
use super::view::View;
use super::{LoweredSchema, Lowerer, Node, Writer};
use crate::dialect::Additional;
use crate::json::Json;
use crate::options::Open;
use crate::plan::{Guard, Plan};
use crate::report::{Fate, PathId};
use crate::schema::{Members, Source, TypeSet};
use crate::text::Note;

impl<'a> Lowerer<'a, '_> {
    /// The whole schema, its nodes, and the longest chain of references in it.
    pub(crate) fn rebuild_root(mut self, omit_empty: bool) -> (LoweredSchema<'a>, usize, usize) {
        let place = Place { depth: 0, total: 0, root: true, in_union: false };
        let mut view = View::new(PathId::ROOT, Some(self.root));
        self.gather(Source { schema: self.root, path: PathId::ROOT, resource: 0, asked: false }, &mut view);
        if view.types != TypeSet::OBJECT {
            if self.root.member("type").and_then(Value::as_str) != Some("object") {
                self.change(
                    PathId::ROOT,
                    "type",
                    self.root.member("type"),
                    Fate::Rewritten,
                    "arguments are an object",
                );
            }
            view.types = TypeSet::OBJECT;
        }
        view.cut = false;
        view.impossible = false;
        if view.values.take().is_some() {
            for name in ["enum", "const"] {
                if let Some(value) = self.root.member(name) {
                    self.describe(PathId::ROOT, name, value, &mut view, "the root cannot list values");
                }
            }
        }
        let unions = std::mem::take(&mut view.unions);
        self.fold(unions, &mut view);
        let root_description = view.description.clone();
        let mut lowered = self.lower_object(&mut view, place);
        if self.is_in_vain() {
            let plan = Plan::default();
            let (changes, tool_notes) = (self.changes, Vec::new());
            let lowered = LoweredSchema { schema: None, plan, changes, tool_notes, excess: None };
            return (lowered, self.nodes, self.longest);
        }
        let mut tool_notes = Vec::new();
        let takes_description = self.rules.additional != Additional::Open;
        self.finish_words(&mut lowered, &mut view, takes_description, &mut tool_notes);
        if !takes_description {
            lowered.node.description = None;
            if let Some(text) = root_description {
                tool_notes.insert(0, Note::Sentence(text));
                self.change(
                    PathId::ROOT,
                    "description",
                    self.root.member("description"),
                    Fate::Described,
                    "said by the tool's description",
                );
            }
        }
        let empty = lowered.node.object.as_ref().is_none_or(|object| {
            object.properties.is_empty()
                && match object.additional {
                    super::node::Rest::Closed => true,
                    // What is not declared may be meant to come all the same.
                    super::node::Rest::Unsaid => self.options.open == Open::Declared,
                    super::node::Rest::Open | super::node::Rest::Each(_) => false,
                }
        });
        let codec = std::mem::take(&mut lowered.codec);
        if self.guarded {
            self.guard_definitions();
        }
        let schema = if empty && omit_empty {
            if let Some(text) = lowered.node.description.take() {
                tool_notes.push(Note::Sentence(text));
            }
            for (name, _) in &lowered.node.keywords {
                self.change(
                    PathId::ROOT,
                    name,
                    self.root.member(name),
                    Fate::Dropped,
                    "no arguments, no schema",
                );
            }
            for name in ["type", "properties", "additionalProperties", "required"] {
                if let Some(value) = self.root.member(name) {
                    self.change(PathId::ROOT, name, Some(value), Fate::Rewritten, "no arguments, no schema");
                }
            }
            None
        } else {
            Some(self.write(&mut lowered.node))
        };
        let mut guards = Vec::new();
        if self.guarded {
            guards.extend(
                self.definitions
                    .iter_mut()
                    .map(|known| known.guard.take().map_or_else(Guard::anything, |guard| *guard)),
            );
        }
        let definitions = self.definitions.into_iter().map(|definition| definition.codec).collect();
        let lowered = LoweredSchema {
            schema,
            plan: Plan { root: codec, definitions, guards, injected: Vec::new() }.simplified(),
            changes: self.changes,
            tool_notes,
            excess: None,
        };
        (lowered, self.nodes, self.longest)
    }

    /// Writes the root node and its definitions.
    fn write(&mut self, node: &mut Node<'a>) -> Json<'a> {
        let names: Vec<String> =
            self.definitions.iter_mut().map(|definition| std::mem::take(&mut definition.name)).collect();
        let writer = Writer { rules: self.rules, names: &names };
        let mut json = writer.write(node);
        if !self.definitions.is_empty()
            && let Json::Object(entries) = &mut json
        {
            let written: Vec<Option<Json<'a>>> = self
                .definitions
                .iter_mut()
                .map(|definition| definition.node.as_mut().map(|node| writer.write(node)))
                .collect();
            let definitions = names
                .into_iter()
                .zip(written)
                .filter_map(|(name, definition)| Some((Cow::Owned(name), definition?)))
                .collect();
            entries.push((Cow::Borrowed("$defs"), Json::Object(definitions)));
        }
        json
    }
}
