//! Positions that travel as JSON text, and the words about what the text holds.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::Rebuild;
use super::expansion::Planner;
use super::node::Node;
use super::position::Lowered;
use super::reader::view::View;
use crate::plan::Codec;
use crate::schema::{Holds, Members, Source, TypeSet};

const JSON_TEXT: &str = "JSON text";

/// What stands before the location of a schema of the same form.
const SAME_FORM: &str = "JSON text of the same form as ";

impl<'a> Lowered<'a> {
    /// Any value, as JSON text.
    pub(crate) fn json_text() -> Self {
        Self::described_text(Cow::Borrowed(JSON_TEXT))
    }

    fn described_text(words: Cow<'a, str>) -> Self {
        Self::new(Node { description: Some(words), ..Node::of(TypeSet::STRING) }, Codec::Text)
    }

    /// Whether it is a reference that is not written out, and nothing more is said about it.
    pub(crate) fn is_bare_cut(&self) -> bool {
        self.cut
            && self.node.description.as_deref().is_some_and(|words| words.starts_with(JSON_TEXT))
            && self.node.types == TypeSet::STRING
            && self.node.keywords.is_empty()
    }

    /// Says that the text may also hold what that of `other` does.
    pub(crate) fn or_form_of(&mut self, other: &Self) {
        let (Some(own), Some(more)) = (&self.node.description, &other.node.description) else { return };
        let form = more.strip_prefix(SAME_FORM);
        let is_known = match form {
            Some(form) => {
                own.strip_prefix(SAME_FORM).is_some_and(|own| own.split(" or ").any(|one| one == form))
            }
            None => own.contains(more.as_ref()),
        };
        if is_known {
            return;
        }
        let words = match form {
            Some(form) if own.starts_with(SAME_FORM) && !own.contains('\n') => format!("{own} or {form}"),
            _ => format!("{own}\nor {more}"),
        };
        self.node.description = Some(Cow::Owned(words));
    }
}

impl<'a> Rebuild<'a, '_> {
    /// A reference to `target` that is not written out.
    pub(super) fn lower_cut(&mut self, target: Source<'a>) -> Lowered<'a> {
        let words = match self.form_of(target.schema) {
            Some(location) => Cow::Owned([SAME_FORM, &location].concat()),
            None => Cow::Owned(self.schema_in_words(target)),
        };
        Lowered { cut: true, ..Lowered::described_text(words) }
    }

    /// A position that is deeper than is written out this time, and no scalar.
    pub(super) fn lower_described(&mut self, sources: &[Source<'a>], view: &View<'a>) -> Lowered<'a> {
        self.nodes += 1;
        let mut words = Vec::with_capacity(sources.len());
        for source in sources {
            for (name, value) in source.schema.as_object().into_iter().flatten() {
                let reason = "JSON text with its schema in words: writing it out would cost too much";
                self.encoded(source.path, name, Some(value), reason);
            }
            words.push(self.schema_in_words(*source));
        }
        Lowered { required: view.required, ..Lowered::described_text(Cow::Owned(words.join("\n"))) }
    }

    /// Where a schema is written that has the form of `target`.
    fn form_of(&mut self, target: &Value) -> Option<String> {
        if let Some(index) = self.definition_of(target) {
            return self.definitions.get(index).map(|definition| ["$defs/", &definition.name].concat());
        }
        if self.first_uses.is_none() {
            let limits = self.chain.reach.expansion.clone();
            self.first_uses = Some(Planner::new(&mut self.reader).first_uses(limits.as_deref()));
        }
        let address = std::ptr::from_ref(target);
        if !self.chain.reach.refers || self.chain.reach.unwritten.contains(&address) {
            return None;
        }
        let location =
            self.first_uses.as_ref()?.get(&address).filter(|location| !location.is_empty()).cloned();
        if location.is_some() {
            self.referred.insert(address);
        }
        location
    }

    /// The schema of a JSON text, and of all that it refers to; each is said once.
    fn schema_in_words(&mut self, source: Source<'a>) -> String {
        if let Some(name) = self.explained.get(&std::ptr::from_ref(source.schema)) {
            return format!("{JSON_TEXT}, schema {name}");
        }
        let mut ahead = vec![source];
        let mut words = format!("{JSON_TEXT}, schema ");
        let mut index = 0;
        while let Some(source) = ahead.get(index).copied() {
            let name = self.explain(source);
            let schema = self.with_named_references(source, Holds::Schema, &mut ahead);
            let separator = if index == 0 { "" } else { "; " };
            // Writing to a string cannot fail.
            let _ = write!(words, "{separator}{name}: {schema}");
            index += 1;
        }
        words
    }

    /// The name by which words speak of a schema.
    pub(super) fn explain(&mut self, source: Source<'a>) -> String {
        if let Some(name) = self.explained.get(&std::ptr::from_ref(source.schema)) {
            return name.clone();
        }
        let taken: Vec<String> = self.explained.values().cloned().collect();
        let name = self.definition_name(source.path, |name| taken.iter().any(|known| known == name));
        self.explained.insert(std::ptr::from_ref(source.schema), name.clone());
        name
    }

    /// What a reference in words says: where `target` is written out, or its name; if that has not been explained yet, it goes `ahead`.
    fn name_of_target(&mut self, target: Source<'a>, ahead: &mut Vec<Source<'a>>) -> String {
        if let Some(location) = self.form_of(target.schema) {
            return location;
        }
        if !self.explained.contains_key(&std::ptr::from_ref(target.schema)) {
            ahead.push(target);
        }
        self.explain(target)
    }

    /// What stands in `source`, with references that name other schemas; those that have not been explained yet go `ahead`. Its depth
    /// is bounded by the budget.
    pub(super) fn with_named_references(
        &mut self,
        source: Source<'a>,
        holds: Holds,
        ahead: &mut Vec<Source<'a>>,
    ) -> Value {
        match source.schema {
            Value::Object(members) if holds != Holds::Values => {
                let resource = self.resolver.resource_of(source.schema, source.resource);
                let source = Source { resource, ..source };
                let mut written = serde_json::Map::new();
                for (name, value) in members.iter().filter(|(name, _)| !holds.has_definitions_in(name)) {
                    let reference = holds.reference_in(name, value);
                    let target = reference.and_then(|reference| self.resolve(reference, resource));
                    let value = if let Some(target) = target {
                        Value::String(self.name_of_target(target, ahead))
                    } else {
                        let inside = self.inside(source, name, value);
                        self.with_named_references(inside, holds.inside(name), ahead)
                    };
                    written.insert(name.clone(), value);
                }
                Value::Object(written)
            }
            Value::Array(items) if holds != Holds::Values => {
                let written = items.iter().enumerate().map(|(index, item)| {
                    let inside = self.item(source, index, item);
                    self.with_named_references(inside, Holds::Schema, ahead)
                });
                Value::Array(written.collect())
            }
            other => other.clone(),
        }
    }
}

/// Whether a schema describes more than a scalar.
pub(super) fn is_composite(view: &View<'_>) -> bool {
    let is_scalar = |branch: &Value| {
        branch.has("const")
            || branch.has("enum")
            || matches!(branch.member("type"), Some(Value::String(name)) if TypeSet::named(name).is_some_and(|types| !types.meets(TypeSet::CONTAINERS)))
    };
    view.values.is_none()
        && ((view.types.meets(TypeSet::OBJECT) && !view.objects.is_empty())
            || (view.types.meets(TypeSet::ARRAY) && !view.arrays.is_empty())
            || view.unions.iter().any(|union| !union.branches.iter().all(is_scalar)))
}

/// Where schemas are written that are referred to elsewhere.
pub(super) type FirstUses = HashMap<*const Value, String>;
