//! Lowering objects: properties, maps, and carriers for properties that are not declared.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Value, json};

use super::node::{ArrayNode, Node, ObjectNode, Rest as RestNode};
use super::position::{Lowered, Place};
use super::union::keep_null;
use super::view::{ObjectPart, View};
use super::{Definition, Lowerer};
use crate::dialect::{Additional, EmptyObject, RefStyle, Verdict};
use crate::json::Json;
use crate::options::Open;
use crate::plan::{Codec, Entries, ObjectCodec, PropertyCodec, Rest};
use crate::report::{Fate, PathId};
use crate::schema::{Keyword, Source, TypeSet};

/// What all parts together say about properties that are not declared.
enum Undeclared<'a> {
    Unsaid,
    Forbidden,
    /// Values of any of these kinds, each kind described by all of its sources.
    Allowed(Vec<Vec<Source<'a>>>),
}

/// The schemas that describe one property.
pub(crate) enum Kinds<'a> {
    /// One schema, as nearly always.
    One(Source<'a>),
    /// Any of these kinds, each described by all of its sources.
    Any(Vec<Vec<Source<'a>>>),
}

impl<'a> Kinds<'a> {
    fn first(&self) -> Option<&Source<'a>> {
        match self {
            Self::One(source) => Some(source),
            Self::Any(kinds) => kinds.first().and_then(|kind| kind.first()),
        }
    }
}

/// A property and the schemas that describe it.
struct Property<'a> {
    name: &'a str,
    kinds: Kinds<'a>,
    /// Only a condition declares it.
    conditional: bool,
}

/// The properties of a root that was folded into one object.
pub(crate) struct Folded<'a> {
    /// Name, kinds, and whether it is required.
    pub(crate) properties: Vec<(&'a str, Kinds<'a>, bool)>,
    pub(crate) closed: bool,
}

impl<'a> Lowerer<'a, '_> {
    /// The properties that all parts of `view` declare together.
    pub(crate) fn fold_parts(&mut self, view: &mut View<'a>) -> Folded<'a> {
        let parts = std::mem::take(&mut view.objects);
        let alternatives = std::mem::take(&mut view.alternatives);
        let conditional = std::mem::take(&mut view.conditional);
        let undeclared = self.undeclared(&parts, &alternatives);
        let required = required_names(&parts, &alternatives);
        let properties = self
            .properties(&parts, &alternatives, &conditional, &undeclared)
            .into_iter()
            .map(|property| (property.name, property.kinds, required.contains(property.name)))
            .collect();
        Folded { properties, closed: matches!(undeclared, Undeclared::Forbidden) }
    }

    pub(crate) fn lower_object(&mut self, view: &mut View<'a>, place: Place) -> Lowered<'a> {
        if self.too_deep(place, 1) {
            return self.hoist(view, place, Self::lower_object);
        }
        let parts = std::mem::take(&mut view.objects);
        let alternatives = std::mem::take(&mut view.alternatives);
        let conditional = std::mem::take(&mut view.conditional);
        let undeclared = self.undeclared(&parts, &alternatives);
        let properties = self.properties(&parts, &alternatives, &conditional, &undeclared);
        let open = match &undeclared {
            Undeclared::Forbidden => false,
            Undeclared::Allowed(_) => true,
            Undeclared::Unsaid => self.options.open == Open::All || (properties.is_empty() && !place.root),
        };
        let carried = open && matches!(self.rules.additional, Additional::Closed | Additional::Declared);
        if properties.is_empty() && !place.root {
            if carried {
                return self.lower_map(view, &parts, undeclared, place);
            }
            let empty = match self.rules.empty_object {
                EmptyObject::Keep => false,
                EmptyObject::Root | EmptyObject::Never => true,
            };
            if empty && !open {
                for name in ["type", "properties", "additionalProperties", "propertyNames", "required"] {
                    let original = view.original(name);
                    if original.is_some() || name == "type" {
                        self.change(
                            view.path,
                            name,
                            original,
                            Fate::Encoded,
                            "an object that must be empty travels as a label",
                        );
                    }
                }
                let node = Node { values: Some(vec![Json::literal("{}")]), ..Node::of(TypeSet::STRING) };
                return Lowered::new(node, Codec::Labels(vec![("{}".into(), json!({}))]));
            }
        }
        self.lower_declared(view, &parts, &alternatives, properties, undeclared, open, place)
    }

    #[expect(clippy::too_many_arguments, reason = "one object's parts, taken apart only once")]
    fn lower_declared(
        &mut self,
        view: &mut View<'a>,
        parts: &[ObjectPart<'a>],
        alternatives: &[Vec<Vec<ObjectPart<'a>>>],
        properties: Vec<Property<'a>>,
        undeclared: Undeclared<'a>,
        open: bool,
        place: Place,
    ) -> Lowered<'a> {
        let carried = open && matches!(self.rules.additional, Additional::Closed | Additional::Declared);
        let required = required_names(parts, alternatives);
        let mut object = ObjectNode::default();
        let mut codecs: Vec<PropertyCodec> = Vec::new();
        let list_all = carried || matches!(undeclared, Undeclared::Allowed(_));
        let mut identity = true;
        let inside = place.deeper(1);
        object.properties.reserve(properties.len());

        for property in properties {
            if place.root && self.is_hidden(property.name) {
                self.change(view.path, property.name, None, Fate::Rewritten, "hidden from the model");
                continue;
            }
            let (path, schema) =
                property.kinds.first().map_or((view.path, None), |source| (source.path, Some(source.schema)));
            self.conditions += usize::from(property.conditional);
            let mut lowered = match &property.kinds {
                Kinds::One(source) => self.lower(std::slice::from_ref(source), inside),
                Kinds::Any(kinds) => self.lower_kinds(kinds, inside),
            };
            self.conditions -= usize::from(property.conditional);
            let must = required.contains(property.name) || lowered.required;
            if !lowered.possible {
                if !must {
                    self.change(path, "", None, Fate::Rewritten, "no value can satisfy it: left out");
                    continue;
                }
                lowered = self.lower(&[], inside);
            }
            let wire = self.keys.wire(property.name);
            if wire != property.name {
                self.change(path, "", None, Fate::Encoded, "the key travels under another name");
            }
            let absent_as_null = self.rules.all_required && !must;
            if absent_as_null {
                self.make_optional(&mut lowered, path, schema);
            }
            if must || self.rules.all_required {
                object.required.push(wire.clone());
            }
            let plain = lowered.codec == Codec::Same && !absent_as_null && wire == property.name;
            identity &= plain;
            // What else may come has to be told from what is declared; otherwise plain ones go without saying.
            if list_all || !plain {
                codecs.push(PropertyCodec {
                    mcp: Box::from(property.name),
                    wire: Box::from(wire.as_ref()),
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
            Codec::Object(Box::new(ObjectCodec { properties: codecs, rest }))
        };
        Lowered::new(node, codec)
    }

    /// An object without declared properties, as a list of entries.
    fn lower_map(
        &mut self,
        view: &mut View<'a>,
        parts: &[ObjectPart<'a>],
        undeclared: Undeclared<'a>,
        place: Place,
    ) -> Lowered<'a> {
        let wrapped = place.in_union;
        let levels = if wrapped { 3 } else { 2 };
        if self.too_deep(place, levels) {
            view.objects = parts.to_vec();
            return self.hoist(view, place, Self::lower_object);
        }
        for part in parts {
            if let Some(additional) = part.additional {
                self.change(
                    part.path,
                    "additionalProperties",
                    Some(additional),
                    Fate::Encoded,
                    "a list of entries",
                );
            }
            if part.patterns.is_some() {
                let original = part.schema.get("patternProperties");
                match original {
                    Some(value) => {
                        self.describe(part.path, "patternProperties", value, view, "a list of entries");
                    }
                    None => {
                        self.change(part.path, "patternProperties", None, Fate::Encoded, "a list of entries");
                    }
                }
            }
        }
        self.change(view.path, "type", view.original("type"), Fate::Encoded, "a list of entries");
        for part in parts.iter().filter(|part| part.properties.is_some() || !part.required.is_empty()) {
            for name in ["properties", "required"] {
                if let Some(original) = part.schema.get(name) {
                    self.change(part.path, name, Some(original), Fate::Encoded, "a list of entries");
                }
            }
        }
        let inside = place.deeper(levels);
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
            let small = items == Keyword::MaxItems
                || self
                    .rules
                    .min_items_up_to
                    .is_none_or(|most| facet.original.as_u64().is_some_and(|count| count <= most));
            if !wrapped && small && self.rules.keywords.of(items) == Verdict::Keep {
                node.keywords.push((items.name(), facet.value.clone()));
                self.change(
                    facet.path,
                    facet.keyword.name(),
                    Some(facet.original),
                    Fate::Rewritten,
                    "counts the entries",
                );
            } else {
                self.describe(
                    facet.path,
                    facet.keyword.name(),
                    facet.original,
                    view,
                    "not a keyword of this dialect",
                );
            }
        }
        view.facets = counts;
        self.write_facets(view, TypeSet::OBJECT, &mut node);
        Lowered::new(node, Codec::Entries(Box::new(Entries { value: value.codec, wrapped })))
    }

    /// `[{"key": …, "value": …}]`, in `{"entries": …}` where `wrapped`.
    pub(crate) fn entries_node(&self, mut key: Node<'a>, value: Node<'a>, wrapped: bool) -> Node<'a> {
        key.types = TypeSet::STRING;
        let mut entry = Node::of(TypeSet::OBJECT);
        entry.object = Some(Box::new(ObjectNode {
            properties: vec![(Cow::Borrowed("key"), key), (Cow::Borrowed("value"), value)],
            required: vec![Cow::Borrowed("key"), Cow::Borrowed("value")],
            additional: self.closed_rest(),
        }));
        let mut list = Node::of(TypeSet::ARRAY);
        list.array = Some(Box::new(ArrayNode { prefix: Vec::new(), items: Some(entry) }));
        if !wrapped {
            return list;
        }
        let mut object = Node::of(TypeSet::OBJECT);
        object.object = Some(Box::new(ObjectNode {
            properties: vec![(Cow::Borrowed("entries"), list)],
            required: vec![Cow::Borrowed("entries")],
            additional: self.closed_rest(),
        }));
        object
    }

    /// What an object of ours says about other properties.
    pub(crate) fn closed_rest(&self) -> RestNode<'a> {
        match self.rules.additional {
            Additional::Closed | Additional::Keep | Additional::Explicit => RestNode::Closed,
            Additional::Declared | Additional::Open => RestNode::Unsaid,
        }
    }

    /// The rule for keys of a map.
    fn key_node(&mut self, parts: &[ObjectPart<'a>], inside: Place, view: &mut View<'a>) -> Node<'a> {
        let mut sources = Vec::new();
        for part in parts {
            if let Some(names) = part.names {
                let path = self.step(part.path, "propertyNames");
                sources.push(Source { schema: names, path, resource: part.resource });
                self.change(
                    part.path,
                    "propertyNames",
                    Some(names),
                    Fate::Rewritten,
                    "a rule for the key of each entry",
                );
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
    fn lower_undeclared(&mut self, undeclared: Undeclared<'a>, inside: Place) -> Lowered<'a> {
        let lowered = match undeclared {
            Undeclared::Allowed(kinds) => self.lower_kinds(&kinds, inside),
            Undeclared::Unsaid | Undeclared::Forbidden => self.lower(&[], inside),
        };
        if lowered.possible { lowered } else { self.lower(&[], inside) }
    }

    fn lower_kinds(&mut self, kinds: &[Vec<Source<'a>>], inside: Place) -> Lowered<'a> {
        match kinds {
            [] => self.lower(&[], inside),
            [only] => self.lower(only, inside),
            several if several.iter().any(|kind| kind.iter().all(says_nothing)) => self.lower(&[], inside),
            several => self.lower_any_of(several, inside),
        }
    }

    /// A property of ours that carries all properties that are not declared.
    fn add_carrier(
        &mut self,
        object: &mut ObjectNode<'a>,
        parts: &[ObjectPart<'a>],
        undeclared: Undeclared<'a>,
        inside: Place,
        view: &mut View<'a>,
    ) -> Rest {
        let mut wire = String::from("additional_properties");
        while object.properties.iter().any(|(name, _)| *name == wire)
            || parts.iter().any(|part| part.required.contains(&wire.as_str()))
        {
            wire.push('_');
        }
        for part in parts {
            if let Some(additional) = part.additional {
                self.change(
                    part.path,
                    "additionalProperties",
                    Some(additional),
                    Fate::Encoded,
                    "a list of entries",
                );
            }
            if part.patterns.is_some()
                && let Some(value) = part.schema.get("patternProperties")
            {
                self.describe(part.path, "patternProperties", value, view, "a list of entries");
            }
        }
        if parts.iter().all(|part| part.additional.is_none()) {
            self.change(view.path, "additionalProperties", None, Fate::Encoded, "a list of entries");
        }
        let key = self.key_node(parts, inside.deeper(2), view);
        let value = self.lower_undeclared(undeclared, inside.deeper(2));
        let mut node = self.entries_node(key, value.node, false);
        if self.too_deep(inside, 2) && self.rules.refs == RefStyle::Defs {
            let index = self.add_part(node);
            node = Node { reference: Some(index), ..Node::default() };
        }
        node.description = Some(Cow::Borrowed("Properties that are not declared"));
        let optional = self.rules.all_required;
        if optional {
            node = node.or_null();
            object.required.push(Cow::Owned(wire.clone()));
        }
        object.properties.push((Cow::Owned(wire.clone()), node));
        object.additional = match self.rules.additional {
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
    fn say_undeclared(
        &mut self,
        object: &mut ObjectNode<'a>,
        parts: &[ObjectPart<'a>],
        undeclared: Undeclared<'a>,
        open: bool,
        inside: Place,
        view: &mut View<'a>,
    ) -> Rest {
        for part in parts {
            if let Some(names) = part.names {
                let trivial =
                    names == &json!({"type": "string"}) || names == &json!({}) || names == &json!(true);
                if trivial {
                    self.change(
                        part.path,
                        "propertyNames",
                        Some(names),
                        Fate::Rewritten,
                        "keys are text anyway",
                    );
                } else {
                    self.describe(part.path, "propertyNames", names, view, "not a keyword of this dialect");
                }
            }
            if part.patterns.is_some()
                && let Some(value) = part.schema.get("patternProperties")
            {
                self.describe(part.path, "patternProperties", value, view, "not a keyword of this dialect");
            }
        }
        let merged = parts.len() > 1;
        match self.rules.additional {
            Additional::Keep | Additional::Explicit => {}
            Additional::Closed => {
                object.additional = RestNode::Closed;
                if !matches!(undeclared, Undeclared::Forbidden) {
                    self.change(
                        view.path,
                        "additionalProperties",
                        None,
                        Fate::Rewritten,
                        "closed: the dialect wants it so",
                    );
                }
                return Rest::Same;
            }
            Additional::Declared => {
                for part in parts {
                    if let Some(additional) = part.additional {
                        self.change(
                            part.path,
                            "additionalProperties",
                            Some(additional),
                            Fate::Rewritten,
                            "only declared properties can be written",
                        );
                    }
                }
                return Rest::Same;
            }
            Additional::Open => {
                for part in parts {
                    match part.additional {
                        None => {}
                        Some(Value::Bool(true)) => {
                            self.change(
                                part.path,
                                "additionalProperties",
                                part.additional,
                                Fate::Rewritten,
                                "open anyway",
                            );
                        }
                        Some(additional) => {
                            self.describe(
                                part.path,
                                "additionalProperties",
                                additional,
                                view,
                                "not a keyword of this dialect",
                            );
                        }
                    }
                }
                return Rest::Same;
            }
        }
        match undeclared {
            Undeclared::Unsaid => {
                if open && self.rules.additional == Additional::Explicit {
                    object.additional = RestNode::Open;
                    self.change(
                        view.path,
                        "additionalProperties",
                        None,
                        Fate::Rewritten,
                        "open: said where it is needed",
                    );
                }
                Rest::Same
            }
            Undeclared::Forbidden => {
                object.additional = RestNode::Closed;
                if merged {
                    self.change(
                        view.path,
                        "additionalProperties",
                        None,
                        Fate::Rewritten,
                        "one of the merged parts forbids others",
                    );
                }
                Rest::Same
            }
            Undeclared::Allowed(kinds) if kinds.iter().all(|kind| kind.iter().all(says_nothing)) => {
                object.additional = RestNode::Open;
                for part in parts {
                    if let Some(additional @ Value::Object(_)) = part.additional {
                        self.change(
                            part.path,
                            "additionalProperties",
                            Some(additional),
                            Fate::Rewritten,
                            "any value: said by true",
                        );
                    }
                }
                Rest::Same
            }
            allowed @ Undeclared::Allowed(_) => {
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

    /// Makes null stand for an absent property, and a word for a real null.
    fn make_optional(&mut self, lowered: &mut Lowered<'a>, path: PathId, schema: Option<&'a Value>) {
        let nullable = match lowered.node.reference {
            Some(index) => {
                lowered.node.takes_null()
                    || self
                        .definitions
                        .get(index)
                        .and_then(|definition| definition.node.as_ref())
                        .is_none_or(Node::takes_null)
            }
            None => lowered.node.takes_null(),
        };
        let original = schema.and_then(|schema| schema.get("type"));
        if nullable {
            let node = std::mem::take(&mut lowered.node);
            lowered.node = node.or_spelled_null().or_null();
            let codec = std::mem::take(&mut lowered.codec);
            lowered.codec = Codec::SpelledNull(Box::new(codec));
            self.change(
                path,
                "type",
                original,
                Fate::Encoded,
                "null means absent; a real null is spelled (null)",
            );
        } else {
            let node = std::mem::take(&mut lowered.node);
            if node.constant
                && let Some(value) = schema.and_then(|schema| schema.get("const"))
            {
                self.change(path, "const", Some(value), Fate::Rewritten, "null means absent");
            }
            lowered.node = node.or_null();
            lowered.codec = keep_null(std::mem::take(&mut lowered.codec));
            self.change(path, "type", original, Fate::Rewritten, "null means absent");
        }
    }

    fn report_required(&mut self, view: &View<'a>, parts: &[ObjectPart<'a>], object: &ObjectNode<'a>) {
        let [part] = parts else { return };
        let same = part.required.len() == object.required.len()
            && part.required.iter().zip(&object.required).all(|(left, right)| *left == right.as_ref());
        if !same {
            let original = view.original("required");
            if original.is_some() || self.rules.all_required {
                self.change(
                    view.path,
                    "required",
                    original,
                    Fate::Rewritten,
                    "lists what the dialect wants listed",
                );
            }
        }
    }

    /// Counts of properties do not hold for the form in which they travel.
    fn describe_counts(&mut self, view: &mut View<'a>) {
        for facet in view.facets.clone() {
            if matches!(facet.keyword, Keyword::MinProperties | Keyword::MaxProperties) {
                self.describe(
                    facet.path,
                    facet.keyword.name(),
                    facet.original,
                    view,
                    "counts differ in this form",
                );
            } else if !view.types.meets(TypeSet::ALL.without(TypeSet::OBJECT)) {
                self.change(
                    facet.path,
                    facet.keyword.name(),
                    Some(facet.original),
                    Fate::Rewritten,
                    "says nothing about this type",
                );
            }
        }
    }

    fn is_hidden(&self, name: &str) -> bool {
        self.options.hidden.iter().any(|hidden| hidden == name) || self.options.injected.contains_key(name)
    }

    fn undeclared(
        &mut self,
        parts: &[ObjectPart<'a>],
        alternatives: &[Vec<Vec<ObjectPart<'a>>>],
    ) -> Undeclared<'a> {
        let mut all: Vec<Source<'a>> = Vec::new();
        let mut any: Option<Vec<Vec<Source<'a>>>> = None;
        let mut said = false;
        for part in parts {
            if let Some(patterns) = part.patterns.filter(|patterns| !patterns.is_empty()) {
                said = true;
                let list = self.step(part.path, "patternProperties");
                let mut kinds: Vec<Vec<Source<'a>>> = Vec::with_capacity(patterns.len() + 1);
                for (pattern, schema) in patterns {
                    let path = self.step(list, pattern);
                    kinds.push(vec![Source { schema, path, resource: part.resource }]);
                }
                match part.additional {
                    Some(Value::Bool(false)) => {}
                    Some(schema) => {
                        let source = self.source(schema, part.path, "additionalProperties", part.resource);
                        kinds.push(vec![source]);
                    }
                    None => kinds.push(Vec::new()),
                }
                any.get_or_insert(kinds);
                continue;
            }
            match part.additional {
                None => {}
                Some(Value::Bool(false)) => return Undeclared::Forbidden,
                Some(schema) => {
                    said = true;
                    if schema != &Value::Bool(true) {
                        all.push(self.source(schema, part.path, "additionalProperties", part.resource));
                    }
                }
            }
        }
        for set in alternatives {
            let closed = |parts: &Vec<ObjectPart<'a>>| {
                parts
                    .iter()
                    .any(|part| part.additional == Some(&Value::Bool(false)) && part.patterns.is_none())
            };
            if !set.is_empty() && set.iter().all(closed) {
                return Undeclared::Forbidden;
            }
            said |= set
                .iter()
                .flatten()
                .any(|part| part.additional.is_some_and(|more| more != &Value::Bool(false)));
        }
        match any {
            Some(kinds) if all.is_empty() => Undeclared::Allowed(kinds),
            Some(_) | None if said => Undeclared::Allowed(vec![all]),
            _ => Undeclared::Unsaid,
        }
    }

    /// Every property that some part names, in order.
    fn properties(
        &mut self,
        parts: &[ObjectPart<'a>],
        alternatives: &[Vec<Vec<ObjectPart<'a>>>],
        conditional: &[Source<'a>],
        undeclared: &Undeclared<'a>,
    ) -> Vec<Property<'a>> {
        let mut found: Vec<Property<'a>> = Vec::new();
        let mut known = Names::default();
        let single = parts.len() == 1;
        for part in parts {
            let Some(properties) = part.properties else { continue };
            let list = self.step(part.path, "properties");
            found.reserve(properties.len());
            for (name, schema) in properties {
                if name == "required" && schema.is_array() {
                    self.change(
                        part.path,
                        "properties",
                        None,
                        Fate::Rewritten,
                        "required stood inside properties",
                    );
                    continue;
                }
                if !known.insert(name) {
                    continue;
                }
                let path = self.step(list, name);
                let own = Source { schema, path, resource: part.resource };
                if single {
                    found.push(Property { name, kinds: Kinds::One(own), conditional: false });
                    continue;
                }
                match self.all_sources(parts, name) {
                    sources if sources.is_empty() => {
                        self.change(path, "", None, Fate::Rewritten, "another rule forbids it: left out");
                    }
                    sources => {
                        found.push(Property { name, kinds: Kinds::Any(vec![sources]), conditional: false });
                    }
                }
            }
        }
        let mut optional: Vec<Vec<Vec<ObjectPart<'a>>>> = alternatives.to_vec();
        if !conditional.is_empty() && self.conditions < 2 {
            let mut branches: Vec<Vec<ObjectPart<'a>>> =
                conditional.iter().map(|source| self.discover(*source, 4)).collect();
            // Where no condition holds, nothing is said.
            branches.push(Vec::new());
            optional.push(branches);
        }
        for set in &optional {
            self.add_alternatives(set, &mut known, &mut found);
        }
        let wants_all = self.rules.required_known
            || self.rules.all_required
            || matches!(self.rules.additional, Additional::Closed | Additional::Declared);
        if wants_all && !matches!(undeclared, Undeclared::Forbidden) {
            // Required, but declared nowhere: any value will do.
            for part in parts {
                for name in &part.required {
                    if known.insert(name) {
                        self.change(
                            part.path,
                            "required",
                            None,
                            Fate::Rewritten,
                            "names a property that is not declared: declared",
                        );
                        let kinds = match undeclared {
                            Undeclared::Allowed(kinds) => kinds.clone(),
                            Undeclared::Unsaid | Undeclared::Forbidden => vec![Vec::new()],
                        };
                        found.push(Property { name, kinds: Kinds::Any(kinds), conditional: false });
                    }
                }
            }
        }
        found
    }

    fn add_alternatives(
        &mut self,
        set: &[Vec<ObjectPart<'a>>],
        known: &mut Names<'a>,
        found: &mut Vec<Property<'a>>,
    ) {
        let mut names: Vec<&'a str> = Vec::new();
        let mut listed = HashSet::new();
        for part in set.iter().flatten() {
            for name in part.properties.iter().flat_map(|properties| properties.keys()) {
                if !known.contains(name.as_str()) && listed.insert(name.as_str()) {
                    names.push(name);
                }
            }
        }
        for name in names {
            let mut kinds: Vec<Vec<Source<'a>>> = Vec::new();
            let mut everywhere = true;
            for parts in set {
                let declared = parts.iter().any(|part| part.properties.is_some_and(|p| p.contains_key(name)));
                if declared {
                    let sources = self.all_sources(parts, name);
                    let same = |kind: &Vec<Source<'a>>| {
                        kind.len() == sources.len()
                            && kind.iter().zip(&sources).all(|(left, right)| left.schema == right.schema)
                    };
                    if !kinds.iter().any(same) {
                        kinds.push(sources);
                    }
                } else {
                    everywhere = false;
                }
            }
            if !everywhere && self.options.open == Open::All {
                // Where an alternative does not declare it, it may hold anything.
                kinds = vec![Vec::new()];
            }
            known.insert(name);
            found.push(Property { name, kinds: Kinds::Any(kinds), conditional: true });
        }
    }

    /// Everything that `parts` say together about the property `name`; empty where one forbids it.
    fn all_sources(&mut self, parts: &[ObjectPart<'a>], name: &'a str) -> Vec<Source<'a>> {
        let mut sources = Vec::new();
        for part in parts {
            if let Some((key, schema)) = part.properties.and_then(|properties| properties.get_key_value(name))
            {
                let list = self.step(part.path, "properties");
                sources.push(self.source(schema, list, key, part.resource));
            } else if part.patterns.is_none_or(serde_json::Map::is_empty) {
                match part.additional {
                    Some(Value::Bool(false)) => return Vec::new(),
                    Some(schema @ Value::Object(_)) => {
                        sources.push(self.source(schema, part.path, "additionalProperties", part.resource));
                    }
                    _ => {}
                }
            }
        }
        sources
    }

    /// The object parts of a schema that holds under a condition, without reporting on it.
    fn discover(&mut self, source: Source<'a>, depth: usize) -> Vec<ObjectPart<'a>> {
        let entries = self.changes.entries.len();
        let mark = self.active.len();
        let mut view = View::new(source.path, Some(source.schema));
        self.gather(source, &mut view);
        let mut parts = std::mem::take(&mut view.objects);
        if depth > 0 {
            for inner in std::mem::take(&mut view.conditional) {
                parts.extend(self.discover(inner, depth - 1));
            }
            for union in std::mem::take(&mut view.unions) {
                let list = self.step(union.path, union.keyword.name());
                for (index, schema) in union.branches.iter().enumerate() {
                    let path = self.changes.paths.index(list, index);
                    parts.extend(self.discover(Source { schema, path, resource: union.resource }, depth - 1));
                }
            }
        }
        self.active.truncate(mark);
        self.changes.entries.truncate(entries);
        parts
    }

    /// Makes a definition of ours.
    fn add_part(&mut self, node: Node<'a>) -> usize {
        let taken = |name: &str| self.definitions.iter().any(|definition| definition.name == name);
        let name = (1..=usize::MAX).map(|number| format!("part_{number}")).find(|name| !taken(name));
        self.definitions.push(Definition {
            target: None,
            name: name.unwrap_or_default(),
            node: Some(node),
            codec: Codec::Same,
            json: None,
        });
        self.definitions.len() - 1
    }

    pub(crate) fn too_deep(&self, place: Place, levels: usize) -> bool {
        self.limits.depth > 0 && place.depth + levels > self.limits.depth
    }

    /// Puts a position that stands too deep into a definition, or into JSON text.
    pub(crate) fn hoist(
        &mut self,
        view: &mut View<'a>,
        place: Place,
        lower: fn(&mut Self, &mut View<'a>, Place) -> Lowered<'a>,
    ) -> Lowered<'a> {
        if self.rules.refs != RefStyle::Defs || (place.in_union && !self.rules.ref_in_union) || place.root {
            self.encode_whole(view.path, view.schema, "JSON text: deeper than the dialect takes");
            view.facets.clear();
            view.objects.clear();
            view.arrays.clear();
            return Lowered::new(Node::text("JSON text"), Codec::Text);
        }
        let index = self.add_part(Node::default());
        self.change(
            view.path,
            "",
            None,
            Fate::Rewritten,
            "moved into a definition: deeper than the dialect takes",
        );
        let lowered = lower(self, view, Place { depth: 1, root: false, in_union: place.in_union });
        if let Some(definition) = self.definitions.get_mut(index) {
            definition.node = Some(lowered.node);
        }
        Lowered::new(Node { reference: Some(index), ..Node::default() }, lowered.codec)
    }
}

fn says_nothing(source: &Source<'_>) -> bool {
    match source.schema {
        Value::Bool(flag) => *flag,
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// A set of names that is quick to ask while it is small.
#[derive(Default)]
struct Names<'a> {
    few: Vec<&'a str>,
    many: HashSet<&'a str>,
}

impl<'a> Names<'a> {
    const FEW: usize = 16;

    fn contains(&self, name: &str) -> bool {
        if self.many.is_empty() { self.few.contains(&name) } else { self.many.contains(name) }
    }

    /// Whether it is new.
    fn insert(&mut self, name: &'a str) -> bool {
        if self.contains(name) {
            return false;
        }
        if self.many.is_empty() && self.few.len() < Self::FEW {
            self.few.push(name);
            return true;
        }
        if self.many.is_empty() {
            self.many.extend(self.few.drain(..));
        }
        self.many.insert(name)
    }
}

fn required_names<'a>(parts: &[ObjectPart<'a>], alternatives: &[Vec<Vec<ObjectPart<'a>>>]) -> Names<'a> {
    let mut names = Names::default();
    for name in parts.iter().flat_map(|part| part.required.iter().copied()) {
        names.insert(name);
    }
    for set in alternatives {
        let mut sets = set.iter().map(|parts| {
            parts.iter().flat_map(|part| part.required.iter().copied()).collect::<HashSet<&'a str>>()
        });
        if let Some(first) = sets.next() {
            for name in sets.fold(first, |common, other| common.intersection(&other).copied().collect()) {
                names.insert(name);
            }
        }
    }
    names
}
