//! The root of a schema that is written anew, and the whole of what is written.

use std::borrow::Cow;

use serde_json::Value;

use super::attempts::Attempt;
use super::node::Rest;
use super::position::Location;
use super::reader::view::View;
use super::{LoweredSchema, Node, Rebuild, Writer};
use crate::dialect::Additional;
use crate::json::Json;
use crate::options::Open;
use crate::plan::{Guard, Plan};
use crate::report::PathId;
use crate::schema::{Members, TypeSet};
use crate::text::Note;

impl<'a> Rebuild<'a, '_> {
    /// The whole schema.
    pub(super) fn lower_root(mut self, omit_empty: bool) -> Attempt<'a> {
        let root = self.root;
        let location = Location { depth: 0, total: 0, root: true, in_union: false };
        let mut view = View::new(PathId::ROOT, Some(root));
        let source = self.root_source();
        self.gather(source, &mut view);
        self.note_written(&[source], 0);
        if view.types != TypeSet::OBJECT {
            if root.member("type").and_then(Value::as_str) != Some("object") {
                self.rewritten(PathId::ROOT, "type", root.member("type"), "arguments are an object");
            }
            view.types = TypeSet::OBJECT;
        }
        view.cut = None;
        view.impossible = false;
        if view.values.take().is_some() {
            self.describe_root_values(&mut view);
        }
        let unions = std::mem::take(&mut view.unions);
        self.fold(unions, &mut view);
        let root_description = view.description.clone();
        let mut lowered = self.lower_object(&mut view, location);
        let mut tool_notes = Vec::new();
        let takes_description = self.choices.additional != Additional::Open;
        self.finish_words(&mut lowered, &mut view, takes_description, &mut tool_notes);
        if !takes_description {
            lowered.node.description = None;
            if let Some(text) = root_description {
                tool_notes.insert(0, Note::Sentence(text));
                let original = root.member("description");
                self.described(PathId::ROOT, "description", original, "said by the tool's description");
            }
        }
        let empty = lowered.node.object.as_ref().is_none_or(|object| {
            object.properties.is_empty()
                && match object.additional {
                    Rest::Closed => true,
                    // What is not declared may be meant to come all the same.
                    Rest::Unsaid => self.options.open == Open::Declared,
                    Rest::Open | Rest::Each(_) => false,
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
                self.dropped(PathId::ROOT, name, root.member(name), "no arguments, no schema");
            }
            for name in ["type", "properties", "additionalProperties", "required"] {
                if let Some(value) = root.member(name) {
                    self.rewritten(PathId::ROOT, name, Some(value), "no arguments, no schema");
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
        let abandoned = self.is_in_vain();
        let unwritten = self.referred.difference(&self.written).copied().collect();
        let definitions = self.definitions.into_iter().map(|definition| definition.codec).collect();
        let lowered = LoweredSchema {
            schema,
            plan: Plan { root: codec, definitions, guards, injected: Vec::new() }.simplified(),
            changes: self.reader.changes,
            tool_notes,
            excess: None,
        };
        Attempt { lowered, abandoned, deepest: self.deepest, unwritten }
    }

    /// Writes the root node and its definitions.
    fn write(&mut self, node: &mut Node<'a>) -> Json<'a> {
        let names: Vec<String> =
            self.definitions.iter_mut().map(|definition| std::mem::take(&mut definition.name)).collect();
        let writer = Writer { choices: self.choices, names: &names };
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
