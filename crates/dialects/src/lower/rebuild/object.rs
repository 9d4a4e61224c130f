//! Lowering objects: properties, maps, and carriers for properties that are not declared.

use super::Rebuild;
use super::node::{Node, ObjectNode};
use super::position::{Location, Lowered};
use super::reader::view::{ObjectPart, View};
use super::union::keep_null;
use crate::dialect::EmptyObject;
use crate::json::Json;
use crate::options::Open;
use crate::plan::{Codec, ObjectCodec, PropertyCodec, Rest, all_hold};
use crate::report::PathId;
use crate::schema::{Keyword, Members, Source, TypeSet};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

use super::reader::members::{Kinds, ObjectRules, Property, Undeclared, required_names, says_nothing};

/// The word for null, and the texts that stand for texts which look like it: each escapes the one before.
const NULLS: [&str; 8] = [
    "(null)",
    r"\(null)",
    r"\\(null)",
    r"\\\(null)",
    r"\\\\(null)",
    r"\\\\\(null)",
    r"\\\\\\(null)",
    r"\\\\\\\(null)",
];

impl<'a> Rebuild<'a, '_> {
    pub(crate) fn lower_object(&mut self, view: &mut View<'a>, location: Location) -> Lowered<'a> {
        if self.too_deep(location, 1) {
            return self.hoist(view, location, Self::lower_object);
        }
        let said = self.object_rules(view);
        let mut undeclared = self.undeclared(&said);
        let mut properties = self.properties(&said, &undeclared);
        if let Some(implied) = said.implied_keys.as_ref().filter(|_| self.closed) {
            self.declare_implied_keys(&said, implied, &mut properties, &mut undeclared, location.root);
        }
        let open = match &undeclared {
            Undeclared::Forbidden => false,
            Undeclared::Allowed { .. } => true,
            Undeclared::Unsaid => self.options.open == Open::All || (properties.is_empty() && !location.root),
        };
        let carried = open && self.closed;
        if properties.is_empty() && !location.root {
            if carried {
                return self.lower_map(view, &said.parts, undeclared, location);
            }
            if self.choices.empty_object != EmptyObject::Keep && !open {
                for name in ["type", "properties", "additionalProperties", "propertyNames", "required"] {
                    let original = view.original(name);
                    if original.is_some() || name == "type" {
                        let reason = "an object that must be empty travels as a label";
                        self.encoded(view.path, name, original, reason);
                    }
                }
                let node = Node { values: Some(vec![Json::literal("{}")]), ..Node::of(TypeSet::STRING) };
                return Lowered::new(node, Codec::Labels(vec![("{}".into(), json!({}))]));
            }
        }
        self.lower_declared(view, &said, properties, undeclared, open, location)
    }

    fn lower_declared(
        &mut self,
        view: &mut View<'a>,
        said: &ObjectRules<'a>,
        properties: Vec<Property<'a>>,
        undeclared: Undeclared<'a>,
        open: bool,
        location: Location,
    ) -> Lowered<'a> {
        let parts = said.parts.as_slice();
        let carried = open && self.closed;
        let required = required_names(said);
        let mut object = ObjectNode::default();
        let mut codecs: Vec<PropertyCodec> = Vec::new();
        let list_all = carried || matches!(undeclared, Undeclared::Allowed { .. });
        let mut identity = true;
        let inside = location.deeper(1);
        let count = properties.len();
        object.properties.reserve_exact(count);
        object.required.reserve_exact(if self.choices.all_required {
            count
        } else {
            parts.iter().map(|part| part.required.len()).sum::<usize>().min(count)
        });

        for (index, property) in properties.into_iter().enumerate() {
            if location.root && self.options.hides(property.name) {
                self.rewritten(view.path, property.name, None, "hidden from the model");
                continue;
            }
            let (path, schema) =
                property.kinds.first().map_or((view.path, None), |source| (source.path, Some(source.schema)));
            self.conditions += usize::from(property.conditional);
            let mut lowered = match &property.kinds {
                Kinds::One(source) => self.lower(std::slice::from_ref(source), &property.may, inside),
                Kinds::Any(kinds) => self.lower_kinds(kinds, &property.may, inside),
            };
            self.conditions -= usize::from(property.conditional);
            let must = required.contains(property.name) || lowered.required;
            if !lowered.possible {
                if !must {
                    self.rewritten(path, "", None, "no value can satisfy it: left out");
                    continue;
                }
                lowered = self.lower(&[], &[], inside);
            }
            let wire = self.keys.wire(property.name);
            let renamed = matches!(wire, Cow::Owned(_));
            if renamed {
                self.encoded(path, "properties", None, "the key travels under another name");
            }
            let absent_as_null = self.choices.all_required && !must;
            if absent_as_null {
                self.make_optional(&mut lowered, path, schema);
            }
            if must || self.choices.all_required {
                object.required.push(wire.clone());
            }
            let plain = matches!(lowered.codec, Codec::Same) && !absent_as_null && !renamed;
            identity &= plain;
            // Where undeclared properties can come, declared ones need an entry each; otherwise plain ones need none.
            if list_all || !plain {
                if codecs.is_empty() {
                    codecs.reserve_exact(count - index);
                }
                let mcp: Arc<str> = Arc::from(property.name);
                codecs.push(PropertyCodec {
                    wire: if renamed { Arc::from(wire.as_ref()) } else { mcp.clone() },
                    mcp,
                    codec: lowered.codec,
                    null_is_absent: absent_as_null,
                });
            }
            object.properties.push((wire, lowered.node));
        }
        let rest = if carried {
            identity = false;
            self.add_carrier(&mut object, parts, undeclared, inside, view)
        } else {
            self.say_undeclared(&mut object, parts, undeclared, open, inside, view)
        };
        self.report_required(view, parts, &object);
        identity &= matches!(rest, Rest::Same);
        let mut node = Node::of(TypeSet::OBJECT);
        if identity {
            self.write_facets(view, TypeSet::OBJECT, &mut node);
        } else {
            self.describe_counts(view);
        }
        node.object = Some(Box::new(object));
        let codec = if identity {
            Codec::Same
        } else {
            Codec::Object(Arc::new(ObjectCodec { properties: codecs, rest }))
        };
        Lowered::new(node, codec)
    }

    pub(super) fn lower_kinds(
        &mut self,
        kinds: &[Vec<Source<'a>>],
        may: &[Source<'a>],
        inside: Location,
    ) -> Lowered<'a> {
        match kinds {
            [] => self.lower(&[], &[], inside),
            [only] => self.lower(only, may, inside),
            several if several.iter().any(|kind| kind.iter().all(says_nothing)) => {
                self.lower(&[], &[], inside)
            }
            several => self.lower_any_of(several, may, inside),
        }
    }

    /// Whether null is among the values of `node`, also behind references.
    fn takes_null(&self, node: &Node<'a>, depth: usize) -> bool {
        let behind = |index: usize| match self.definitions.get(index).map(|definition| &definition.node) {
            Some(Some(target)) => depth > 0 && self.takes_null(target, depth - 1),
            // Not finished yet: it may.
            _ => true,
        };
        node.takes_null()
            || node.reference.is_some_and(behind)
            || node.branches.iter().any(|branch| depth > 0 && self.takes_null(branch, depth - 1))
    }

    /// The escaped forms of texts of `node` that could be mistaken for the word for null, unless it takes them anyway.
    #[inline(never)]
    pub(super) fn escaped_nulls(&self, node: &Node<'a>) -> Vec<&'static str> {
        let mut left = NULLS.to_vec();
        self.retain_refused(node, &mut left, 8);
        let taken = |text: &str| !left.contains(&text);
        NULLS
            .windows(2)
            .filter_map(|pair| pair.first().zip(pair.get(1)))
            .filter(|(text, escaped)| taken(text) && !taken(escaped))
            .map(|(_, escaped)| *escaped)
            .collect()
    }

    /// Leaves only `texts` that are not among the values of `node`, also behind references.
    fn retain_refused(&self, node: &Node<'a>, texts: &mut Vec<&'static str>, depth: usize) {
        if node.free {
            texts.clear();
        }
        let Some(inside) = depth.checked_sub(1).filter(|_| !texts.is_empty()) else { return };
        if let Some(target) = node.reference.and_then(|index| self.definitions.get(index)?.node.as_ref()) {
            self.retain_refused(target, texts, inside);
        }
        for branch in &node.branches {
            self.retain_refused(branch, texts, inside);
        }
        if !node.types.contains(TypeSet::STRING) {
            return;
        }
        if let Some(values) = &node.values {
            texts.retain(|text| !values.iter().any(|value| value.as_str() == Some(*text)));
            return;
        }
        let bounds: Vec<(Keyword, Value)> = node
            .keywords
            .iter()
            .filter_map(|(name, bound)| Some((Keyword::parse(name)?, bound.to_value())))
            .filter(|(keyword, _)| keyword.is_bound())
            .collect();
        let all: Vec<Value> = texts.iter().map(|text| Value::from(*text)).collect();
        let mut taken = all_hold(&bounds, &all).into_iter();
        texts.retain(|_| !taken.next().unwrap_or_default());
    }

    /// Makes null stand for an absent property, and a word for a real null.
    fn make_optional(&mut self, lowered: &mut Lowered<'a>, path: PathId, schema: Option<&'a Value>) {
        let nullable = self.takes_null(&lowered.node, 8);
        let original = schema.and_then(|schema| schema.member("type"));
        if nullable {
            let node = std::mem::take(&mut lowered.node);
            let shown = node.shows_spelled_null();
            let escaped = if shown { self.escaped_nulls(&node) } else { Vec::new() };
            lowered.node = node.or_spelled_null(&escaped);
            lowered.node.accept_null();
            if !shown {
                // Nothing in the schema shows the word: the description has to.
                lowered.node.add_words(Cow::Borrowed("Real null: (null)"));
            }
            let codec = std::mem::take(&mut lowered.codec);
            lowered.codec = Codec::SpelledNull(Box::new(codec));
            self.encoded(path, "type", original, "null means absent; a real null is spelled (null)");
        } else {
            if lowered.node.constant
                && let Some(value) = schema.and_then(|schema| schema.member("const"))
            {
                self.rewritten(path, "const", Some(value), "null means absent");
            }
            lowered.node.accept_null();
            if !matches!(lowered.codec, Codec::Same) {
                lowered.codec = keep_null(std::mem::take(&mut lowered.codec));
            }
            self.rewritten(path, "type", original, "null means absent");
        }
    }

    fn report_required(&mut self, view: &View<'a>, parts: &[ObjectPart<'a>], object: &ObjectNode<'a>) {
        let [part] = parts else { return };
        let same = part.required.len() == object.required.len()
            && part.required.iter().zip(&object.required).all(|(left, right)| *left == right.as_ref());
        if !same {
            let original = view.original("required");
            if original.is_some() || self.choices.all_required {
                self.rewritten(view.path, "required", original, "lists what the dialect wants listed");
            }
        }
    }

    /// Counts of properties do not hold for the form in which they travel.
    fn describe_counts(&mut self, view: &mut View<'a>) {
        if view.facets.is_empty() {
            return;
        }
        let facets = std::mem::take(&mut view.facets);
        for facet in &facets {
            if matches!(facet.keyword, Keyword::MinProperties | Keyword::MaxProperties) {
                self.describe_facet(facet, view, "counts differ in this form");
            } else if !view.types.meets(TypeSet::ALL.without(TypeSet::OBJECT)) {
                self.facet_rewritten(facet, "says nothing about this type");
            }
        }
        view.facets = facets;
    }
}
