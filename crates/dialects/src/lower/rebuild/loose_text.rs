//! Alternatives that travel as text: strings as they are, values of other types as JSON text.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use super::position::Lowered;
use super::reader::view::View;
use super::{Node, Rebuild};
use crate::plan::Codec;
use crate::schema::{Holds, Members, Source, TypeSet};

/// Why the type of a position is not what its alternatives say.
pub(super) const ONE_TYPE: &str = "one type for all alternatives";

/// Unions inside alternatives that are looked into for their types.
pub(super) const LEVELS: usize = 3;

/// Whether values of these types travel as text: text is among them, or all of them are scalars.
pub(super) fn travels_loosely(types: TypeSet) -> bool {
    types.contains(TypeSet::STRING) || !types.meets(TypeSet::CONTAINERS)
}

impl<'a> Rebuild<'a, '_> {
    /// Several types as one; `None` where they are written by themselves and joined.
    pub(super) fn types_as_one(&mut self, view: &mut View<'a>) -> Option<Lowered<'a>> {
        let null = view.types.contains(TypeSet::NULL);
        let types = view.types.without(TypeSet::NULL);
        if !travels_loosely(types) {
            return None;
        }
        let reason = reason_of(types);
        self.encoded(view.path, "type", view.original("type"), reason);
        let parts =
            view.objects.iter().map(|part| part.source).chain(view.arrays.iter().map(|part| part.source));
        let mut sources: Vec<Source<'a>> = Vec::new();
        for source in parts {
            if !sources.iter().any(|known| std::ptr::eq(known.schema, source.schema)) {
                sources.push(source);
            }
        }
        let mut forms: Vec<String> = types.without(TypeSet::STRING).names().map(str::to_owned).collect();
        for source in sources {
            for name in [
                "properties",
                "required",
                "additionalProperties",
                "patternProperties",
                "propertyNames",
                "items",
                "prefixItems",
                "additionalItems",
            ] {
                if let Some(value) = source.schema.member(name) {
                    self.encoded(source.path, name, Some(value), reason);
                }
            }
            forms.push(format!("with {}", self.form_in_words(source)));
        }
        Some(self.lower_loosely(view, types, &[], forms, null))
    }

    /// One rule for positions of several types: those that are not text travel as JSON text.
    pub(super) fn items_as_one_type(
        positions: &mut [Lowered<'a>],
        rest: &mut Option<Lowered<'a>>,
    ) -> Node<'a> {
        let all = || positions.iter().chain(rest.as_ref()).filter(|position| position.possible);
        let types = all().fold(TypeSet::NONE, |types, position| types.or(position.node.types));
        let is_plain = all().all(|position| position.codec == Codec::Same);
        if is_plain && !types.meets(TypeSet::ALL.without(TypeSet::NUMBER).without(TypeSet::NULL)) {
            return Node::of(types);
        }
        for position in positions.iter_mut().chain(rest.as_mut()) {
            if position.node.types.without(TypeSet::NULL) != TypeSet::STRING {
                position.codec = Codec::Text;
            }
        }
        let words = "JSON text where an item is not text";
        let types = null_or(TypeSet::STRING, types.contains(TypeSet::NULL));
        Node { description: Some(Cow::Borrowed(words)), ..Node::of(types) }
    }

    /// A node of text that takes values of other types as JSON text.
    pub(super) fn lower_loosely(
        &mut self,
        view: &mut View<'a>,
        types: TypeSet,
        texts: &[String],
        mut forms: Vec<String>,
        null: bool,
    ) -> Lowered<'a> {
        let facets = std::mem::take(&mut view.facets);
        for facet in &facets {
            self.describe_facet(facet, view, ONE_TYPE);
        }
        forms.dedup();
        let forms = forms.join(" or ");
        let words = match texts {
            [] if !types.contains(TypeSet::STRING) => format!("JSON text: {forms}"),
            [] => format!("Text as it is, or JSON text: {forms}"),
            texts => format!("Text as it is ({}), or JSON text: {forms}", texts.join(" or ")),
        };
        let node = Node { description: Some(Cow::Owned(words)), ..Node::of(null_or(TypeSet::STRING, null)) };
        Lowered::new(node, Codec::LooseText(types.without(TypeSet::STRING)))
    }

    /// What alternatives say, in words: those that are text, unless they say nothing more, and all others. None of them is null.
    pub(super) fn forms_in_words(
        &mut self,
        sources: &[Source<'a>],
        outer: TypeSet,
    ) -> (Vec<String>, Vec<String>) {
        let (mut texts, mut forms) = (Vec::new(), Vec::new());
        for source in sources {
            let view = self.glimpse(*source);
            let types = self.types_in(&view, LEVELS).and(outer).without(TypeSet::NULL);
            if types.is_empty() {
                continue;
            }
            let map = source.schema.as_object();
            let is_bare =
                map.is_some_and(|map| map.keys().all(|name| matches!(name.as_str(), "type" | "title")));
            let words = match map.and_then(|map| map.member("type")).and_then(Value::as_str) {
                Some(name) if is_bare => name.to_owned(),
                _ => self.form_in_words(*source),
            };
            if types != TypeSet::STRING {
                forms.push(words);
            } else if !is_bare {
                texts.push(words);
            }
        }
        (texts, forms)
    }

    /// A schema in words, with all that it refers to.
    fn form_in_words(&mut self, source: Source<'a>) -> String {
        let mut ahead = Vec::new();
        let mut words = self.with_named_references(source, Holds::Schema, &mut ahead).to_string();
        let mut index = 0;
        while let Some(target) = ahead.get(index).copied() {
            let name = self.explain(target);
            let schema = self.with_named_references(target, Holds::Schema, &mut ahead);
            // Writing to a string cannot fail.
            let _ = write!(words, "; {name}: {schema}");
            index += 1;
        }
        words
    }
}

pub(super) fn reason_of(types: TypeSet) -> &'static str {
    if types.meets(TypeSet::CONTAINERS) {
        "JSON text, where it is not text: one type for all"
    } else {
        "spelled as text: one type for all"
    }
}

pub(super) fn null_or(types: TypeSet, null: bool) -> TypeSet {
    if null { types.or(TypeSet::NULL) } else { types }
}
