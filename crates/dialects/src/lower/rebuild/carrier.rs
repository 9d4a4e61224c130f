//! Properties that an object does not declare: maps, and carriers for them.

use super::Rebuild;
use super::node::{Node, ObjectNode, Rest as RestNode};
use super::position::{Location, Lowered};
use super::reader::members::{Undeclared, is_trivial_name_rule, says_nothing};
use super::reader::view::{ObjectPart, View};
use crate::dialect::{Additional, RefStyle, Verdict};
use crate::plan::{Codec, Entries, Rest};
use crate::report::Fate;
use crate::schema::{Keyword, Members, TypeSet};
use serde_json::Value;
use std::borrow::Cow;

impl<'a> Rebuild<'a, '_> {
    /// An object without declared properties, as a list of entries.
    pub(super) fn lower_map(
        &mut self,
        view: &mut View<'a>,
        parts: &[ObjectPart<'a>],
        undeclared: Undeclared<'a>,
        location: Location,
    ) -> Lowered<'a> {
        let wrapped = location.in_union;
        let levels = if wrapped { 3 } else { 2 };
        if self.too_deep(location, levels) {
            view.objects = parts.to_vec();
            return self.hoist(view, location, Self::lower_object);
        }
        self.report_entries(parts, view);
        self.encoded(view.path, "type", view.original("type"), "a list of entries");
        for part in parts.iter().filter(|part| part.properties.is_some() || !part.required.is_empty()) {
            for name in ["properties", "required"] {
                if let Some(original) = part.source.schema.member(name) {
                    self.encoded(part.source.path, name, Some(original), "a list of entries");
                }
            }
        }
        let inside = location.deeper(levels);
        let key = self.key_node(parts, inside, view);
        let value = self.lower_undeclared(undeclared, inside);
        let mut node = self.entries_node(key, value.node, wrapped);
        let mut counts = Vec::new();
        for facet in std::mem::take(&mut view.facets) {
            let items = match facet.keyword {
                Keyword::MinProperties => Keyword::MinItems,
                Keyword::MaxProperties => Keyword::MaxItems,
                _ => {
                    counts.push(facet);
                    continue;
                }
            };
            let taken = self.takes_facet(items, facet.original, TypeSet::ARRAY);
            if !wrapped && taken && self.rules.keywords.of(items) == Verdict::Keep {
                node.keywords.push((items.name(), facet.value.clone()));
                self.facet_rewritten(&facet, "counts the entries");
            } else {
                self.describe_facet(&facet, view, "not a keyword of this dialect");
            }
        }
        view.facets = counts;
        self.write_facets(view, TypeSet::OBJECT, &mut node);
        Lowered::new(node, Codec::Entries(Box::new(Entries { value: value.codec, wrapped })))
    }

    /// Reports that undeclared properties travel as entries.
    fn report_entries(&mut self, parts: &[ObjectPart<'a>], view: &mut View<'a>) {
        for part in parts {
            self.report_additional(part, Fate::Encoded, "a list of entries");
            self.describe_patterns(part, view, "a list of entries");
        }
    }

    /// Says the patterns of `part` for keys in the description.
    fn describe_patterns(&mut self, part: &ObjectPart<'a>, view: &mut View<'a>, reason: &'static str) {
        let patterns = part.source.schema.member("patternProperties").filter(|_| part.patterns.is_some());
        if let Some(patterns) = patterns {
            self.describe(part.source.path, "patternProperties", patterns, view, reason);
        }
    }

    /// What became of the rule of `part` for other properties, where it has one.
    fn report_additional(&mut self, part: &ObjectPart<'a>, fate: Fate, reason: &'static str) {
        if let Some(additional) = part.additional {
            self.change(part.source.path, "additionalProperties", Some(additional), fate, reason);
        }
    }

    /// `[{"key": …, "value": …}]`, in `{"entries": …}` where `wrapped`.
    pub(crate) fn entries_node(&self, mut key: Node<'a>, value: Node<'a>, wrapped: bool) -> Node<'a> {
        key.types = TypeSet::STRING;
        let entry = self.object_node([(Cow::Borrowed("key"), key), (Cow::Borrowed("value"), value)]);
        let list = Node::list(entry);
        if wrapped { self.object_node([(Cow::Borrowed("entries"), list)]) } else { list }
    }

    /// An object of ours: all of its properties are required, and there are no others.
    pub(super) fn object_node<const N: usize>(&self, properties: [(Cow<'a, str>, Node<'a>); N]) -> Node<'a> {
        let required = properties.iter().map(|(name, _)| name.clone()).collect();
        let additional = match self.choices.additional {
            Additional::Closed | Additional::Keep | Additional::Explicit => RestNode::Closed,
            Additional::Declared | Additional::Open => RestNode::Unsaid,
        };
        let object = ObjectNode { properties: properties.into(), required, additional };
        Node { object: Some(Box::new(object)), ..Node::of(TypeSet::OBJECT) }
    }

    /// The rule for keys of a map.
    pub(super) fn key_node(
        &mut self,
        parts: &[ObjectPart<'a>],
        inside: Location,
        view: &mut View<'a>,
    ) -> Node<'a> {
        let mut sources = Vec::new();
        for part in parts {
            if let Some(names) = part.names {
                let source = self.inside(part.source, "propertyNames", names);
                let reason = "a rule for the key of each entry";
                self.rewritten(part.source.path, "propertyNames", Some(names), reason);
                sources.push(source);
            }
        }
        if sources.is_empty() {
            return Node::of(TypeSet::STRING);
        }
        let mut keys = View::new(view.path, None);
        for source in sources {
            self.gather(source, &mut keys);
        }
        keys.types = keys.types.and(TypeSet::STRING);
        keys.unions.clear();
        let lowered = self.lower_view(&mut keys, inside);
        if lowered.possible
            && lowered.codec == Codec::Same
            && lowered.node.branches.is_empty()
            && !lowered.node.free
        {
            lowered.node
        } else {
            Node::of(TypeSet::STRING)
        }
    }

    /// The values of properties that are not declared.
    pub(super) fn lower_undeclared(&mut self, undeclared: Undeclared<'a>, inside: Location) -> Lowered<'a> {
        let lowered = match undeclared {
            Undeclared::Allowed { kinds, may } => self.lower_kinds(&kinds, &may, inside),
            Undeclared::Unsaid | Undeclared::Forbidden => self.lower(&[], &[], inside),
        };
        if lowered.possible { lowered } else { self.lower(&[], &[], inside) }
    }

    /// A property of ours that carries all properties that are not declared.
    pub(super) fn add_carrier(
        &mut self,
        object: &mut ObjectNode<'a>,
        parts: &[ObjectPart<'a>],
        undeclared: Undeclared<'a>,
        inside: Location,
        view: &mut View<'a>,
    ) -> Rest {
        let mut wire = String::from("additional_properties");
        while object.properties.iter().any(|(name, _)| *name == wire)
            || parts.iter().any(|part| part.required.contains(&wire.as_str()))
        {
            wire.push('_');
        }
        self.report_entries(parts, view);
        if parts.iter().all(|part| part.additional.is_none()) {
            self.encoded(view.path, "additionalProperties", None, "a list of entries");
        }
        let key = self.key_node(parts, inside.deeper(2), view);
        let value = self.lower_undeclared(undeclared, inside.deeper(2));
        let mut node = self.entries_node(key, value.node, false);
        if self.too_deep(inside, 2) && self.rules.refs == RefStyle::Defs {
            node = Node::reference(self.add_part(Some(node)));
        }
        node.description = Some(Cow::Borrowed("Other properties"));
        let optional = self.choices.all_required;
        if optional {
            node.accept_null();
            object.required.push(Cow::Owned(wire.clone()));
        }
        object.properties.push((Cow::Owned(wire.clone()), node));
        object.additional = match self.choices.additional {
            Additional::Closed => RestNode::Closed,
            _ => RestNode::Unsaid,
        };
        Rest::Carrier {
            wire: wire.into_boxed_str(),
            entries: Entries { value: value.codec, wrapped: false },
            null_is_absent: optional,
        }
    }

    /// Says what the dialect can say about properties that are not declared.
    pub(super) fn say_undeclared(
        &mut self,
        object: &mut ObjectNode<'a>,
        parts: &[ObjectPart<'a>],
        undeclared: Undeclared<'a>,
        open: bool,
        inside: Location,
        view: &mut View<'a>,
    ) -> Rest {
        for part in parts {
            let path = part.source.path;
            if let Some(names) = part.names {
                if is_trivial_name_rule(names) {
                    self.rewritten(path, "propertyNames", Some(names), "keys are text anyway");
                } else {
                    self.describe(path, "propertyNames", names, view, "not a keyword of this dialect");
                }
            }
            self.describe_patterns(part, view, "not a keyword of this dialect");
        }
        match self.choices.additional {
            Additional::Keep | Additional::Explicit => {}
            Additional::Closed => {
                object.additional = RestNode::Closed;
                if !matches!(undeclared, Undeclared::Forbidden) {
                    let reason = "closed: the dialect wants it so";
                    self.rewritten(view.path, "additionalProperties", None, reason);
                }
                return Rest::Same;
            }
            Additional::Declared => {
                for part in parts {
                    self.report_additional(part, Fate::Rewritten, "only declared properties can be written");
                }
                return Rest::Same;
            }
            Additional::Open => {
                for part in parts {
                    let path = part.source.path;
                    match part.additional {
                        None => {}
                        Some(Value::Bool(true)) => {
                            self.rewritten(path, "additionalProperties", part.additional, "open anyway");
                        }
                        Some(additional) => {
                            let reason = "not a keyword of this dialect";
                            self.describe(path, "additionalProperties", additional, view, reason);
                        }
                    }
                }
                return Rest::Same;
            }
        }
        match undeclared {
            Undeclared::Unsaid => {
                if open && self.choices.additional == Additional::Explicit {
                    object.additional = RestNode::Open;
                    self.rewritten(view.path, "additionalProperties", None, "open: said where it is needed");
                }
                Rest::Same
            }
            Undeclared::Forbidden => {
                object.additional = RestNode::Closed;
                if parts.len() > 1 {
                    let reason = "one of the merged parts forbids others";
                    self.rewritten(view.path, "additionalProperties", None, reason);
                }
                Rest::Same
            }
            Undeclared::Allowed { kinds, .. } if kinds.iter().all(|kind| kind.iter().all(says_nothing)) => {
                object.additional = RestNode::Open;
                for part in parts.iter().filter(|part| part.additional != Some(&Value::Bool(true))) {
                    self.report_additional(part, Fate::Rewritten, "any value: said by true");
                }
                Rest::Same
            }
            allowed @ Undeclared::Allowed { .. } => {
                for part in parts.iter().filter(|part| part.patterns.is_some()) {
                    self.report_additional(part, Fate::Rewritten, "what the patterns admit is said here");
                }
                let value = self.lower_undeclared(allowed, inside);
                if value.node.free && value.node.description.is_none() {
                    object.additional = RestNode::Open;
                } else {
                    object.additional = RestNode::Each(Box::new(value.node));
                }
                match value.codec {
                    Codec::Same => Rest::Same,
                    codec => Rest::Each(codec),
                }
            }
        }
    }
}
