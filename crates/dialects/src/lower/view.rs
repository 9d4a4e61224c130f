//! All that several schemas say together about one value.
//!
//! A position in a lowered schema is described by one or more *sources* that must all hold: the schema itself,
//! the members of its `allOf`, the targets of its references. A view sorts their keywords by what they speak of.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::Lowerer;
use crate::dialect::Verdict;
use crate::json::Json;
use crate::plan::{digest, equal};
use crate::report::{Fate, PathId};
use crate::schema::repair::{Checked, check, type_alias};
use crate::schema::{Keyword, Kind, Members, Source, TypeSet};
use crate::text::Note;

/// What all sources of one position say.
#[derive(Clone, Debug)]
pub(crate) struct View<'a> {
    pub(crate) types: TypeSet,
    pub(crate) description: Option<Cow<'a, str>>,
    pub(crate) values: Option<Vec<&'a Value>>,
    /// The values came from `const`.
    pub(crate) constant: bool,
    pub(crate) facets: Vec<Facet<'a>>,
    pub(crate) objects: Vec<ObjectPart<'a>>,
    pub(crate) arrays: Vec<ArrayPart<'a>>,
    pub(crate) unions: Vec<UnionPart<'a>>,
    /// Sub-schemas that hold under a condition: their properties are known, their rules are not enforced.
    pub(crate) conditional: Vec<Source<'a>>,
    /// Sub-schemas that some item of a list must satisfy: no other item is bound by them.
    pub(crate) contained: Vec<Source<'a>>,
    /// Sets of objects of which one must hold, each set from one folded union.
    pub(crate) alternatives: Vec<Vec<Vec<ObjectPart<'a>>>>,
    pub(crate) notes: Vec<Note<'a>>,
    pub(crate) hints: Vec<(Keyword, &'a Value, PathId)>,
    /// No value satisfies all sources.
    pub(crate) impossible: bool,
    /// A recursion that is not written out any further.
    pub(crate) cut: bool,
    /// The schema calls itself required, as draft 3 did.
    pub(crate) required: bool,
    /// Where the first source stands.
    pub(crate) path: PathId,
    /// The first source.
    pub(crate) schema: Option<&'a Value>,
}

/// A bound, a pattern, a format.
#[derive(Clone, Debug)]
pub(crate) struct Facet<'a> {
    pub(crate) keyword: Keyword,
    pub(crate) value: Json<'a>,
    pub(crate) original: &'a Value,
    pub(crate) path: PathId,
}

/// What one source says about objects.
#[derive(Clone, Debug)]
pub(crate) struct ObjectPart<'a> {
    pub(crate) schema: &'a Value,
    pub(crate) path: PathId,
    /// It is only asked whether this holds.
    pub(crate) asked: bool,
    /// The schema speaks of keys in other ways than the fields below say: how many there are, which go together.
    pub(crate) further: bool,
    pub(crate) resource: usize,
    pub(crate) properties: Option<&'a Map<String, Value>>,
    pub(crate) required: Vec<&'a str>,
    pub(crate) additional: Option<&'a Value>,
    pub(crate) patterns: Option<&'a Map<String, Value>>,
    pub(crate) names: Option<&'a Value>,
}

/// What one source says about arrays.
#[derive(Clone, Debug)]
pub(crate) struct ArrayPart<'a> {
    pub(crate) schema: &'a Value,
    pub(crate) path: PathId,
    /// It is only asked whether this holds.
    pub(crate) asked: bool,
    pub(crate) resource: usize,
    pub(crate) prefix: Option<(&'a str, &'a [Value])>,
    pub(crate) items: Option<(&'a str, &'a Value)>,
}

/// One `anyOf` or `oneOf`.
#[derive(Clone, Debug)]
pub(crate) struct UnionPart<'a> {
    pub(crate) keyword: Keyword,
    pub(crate) branches: &'a [Value],
    pub(crate) original: &'a Value,
    pub(crate) path: PathId,
    pub(crate) resource: usize,
}

impl<'a> ObjectPart<'a> {
    pub(crate) fn new(schema: &'a Value, path: PathId, resource: usize) -> Self {
        Self {
            schema,
            path,
            asked: false,
            further: false,
            resource,
            properties: None,
            required: Vec::new(),
            additional: None,
            patterns: None,
            names: None,
        }
    }

    /// Whether it only says which keys go together, or how many.
    fn binds_nothing(&self) -> bool {
        self.properties.is_none()
            && self.required.is_empty()
            && self.additional.is_none()
            && self.patterns.is_none()
            && self.names.is_none()
    }
}

impl<'a> View<'a> {
    pub(crate) fn new(path: PathId, schema: Option<&'a Value>) -> Self {
        Self {
            types: TypeSet::ALL,
            description: None,
            values: None,
            constant: false,
            facets: Vec::new(),
            objects: Vec::new(),
            arrays: Vec::new(),
            unions: Vec::new(),
            conditional: Vec::new(),
            contained: Vec::new(),
            alternatives: Vec::new(),
            notes: Vec::new(),
            hints: Vec::new(),
            impossible: false,
            cut: false,
            required: false,
            path,
            schema,
        }
    }

    /// A keyword of the first source.
    pub(crate) fn original(&self, keyword: &str) -> Option<&'a Value> {
        self.schema.and_then(|schema| schema.member(keyword))
    }

    /// Whether it says nothing about values.
    pub(crate) fn is_unconstrained(&self) -> bool {
        self.types == TypeSet::ALL
            && self.values.is_none()
            && self.facets.is_empty()
            && self.objects.iter().all(ObjectPart::binds_nothing)
            && self.arrays.is_empty()
            && self.unions.is_empty()
            && self.conditional.is_empty()
    }

    /// Whether a dialect that closes objects could keep out something that only others declare.
    pub(crate) fn keeps_out(&self) -> bool {
        !self.unions.is_empty()
            || !self.arrays.is_empty()
            || !self.conditional.is_empty()
            || self.objects.iter().any(|part| {
                part.properties.is_some_and(|properties| !properties.is_empty())
                    || part.patterns.is_some()
                    || part.additional.is_some()
                    || !part.required.is_empty()
            })
    }

    /// The same rules, without words: what every branch of a union inherits.
    pub(crate) fn rules_only(&self) -> Self {
        Self { description: None, notes: Vec::new(), hints: Vec::new(), ..self.clone() }
    }

    /// Adds what one more source says about itself.
    fn add_description(&mut self, more: Cow<'a, str>) {
        self.description = Some(match self.description.take() {
            None => more,
            Some(text) if text.contains(more.as_ref()) => text,
            Some(text) => Cow::Owned(format!("{text}\n{more}")),
        });
    }

    fn restrict_values(&mut self, allowed: Vec<&'a Value>) {
        self.values = Some(match self.values.take() {
            None => allowed,
            Some(values) => intersection(values, allowed),
        });
    }
}

impl<'a> Lowerer<'a, '_> {
    /// Adds what `source` says to `view`.
    pub(crate) fn gather(&mut self, source: Source<'a>, view: &mut View<'a>) {
        let map = match source.schema {
            Value::Object(map) => map,
            Value::Bool(true) => return,
            Value::Bool(false) => {
                view.impossible = true;
                return;
            }
            other => {
                // A type name in place of a schema is a common slip; anything else says nothing.
                if let Some(types) = other.as_str().and_then(type_alias).and_then(TypeSet::named) {
                    view.types = view.types.and(types);
                }
                self.change(source.path, "", Some(other), Fate::Rewritten, "not a schema");
                return;
            }
        };
        let path = source.path;
        let resource = self.resolver.resource_of(source.schema, source.resource);
        if self.draft.ref_hides_siblings
            && let Some(Value::String(reference)) = map.member("$ref")
        {
            self.gather_reference(Source { resource, ..source }, reference, view);
            for (name, value) in map {
                match Keyword::parse(name) {
                    Some(Keyword::Description) => self.gather_description(path, value, view),
                    Some(Keyword::Ref | Keyword::Defs | Keyword::Definitions) => {}
                    Some(keyword) if matches!(keyword.kind(), Kind::Annotation | Kind::Hint) => {
                        view.hints.push((keyword, value, path));
                    }
                    _ => self.change(
                        path,
                        name,
                        Some(value),
                        Fate::Rewritten,
                        "this draft ignores it beside $ref",
                    ),
                }
            }
            return;
        }
        let mut object: Option<ObjectPart<'a>> = None;
        let mut array: Option<ArrayPart<'a>> = None;
        let mut types = TypeSet::ALL;
        let mut nullable = false;
        let object_part = |object: &mut Option<ObjectPart<'a>>| {
            object.get_or_insert_with(|| ObjectPart {
                asked: source.asked,
                ..ObjectPart::new(source.schema, path, resource)
            });
        };
        for (name, value) in map {
            let Some(keyword) = Keyword::parse(name) else {
                self.unknown_keyword(path, name, value, view);
                continue;
            };
            let mended = match check(keyword, value) {
                Checked::Fine => None,
                Checked::Mended(json) => {
                    self.change(
                        path,
                        name,
                        Some(value),
                        Fate::Rewritten,
                        "mended: not what the keyword asks for",
                    );
                    Some(json)
                }
                Checked::Unusable => {
                    self.unusable(path, keyword, map, value, view);
                    continue;
                }
            };
            match keyword {
                Keyword::Type => types = named_types(value, mended.as_ref()),
                Keyword::Description => self.gather_description(path, value, view),
                Keyword::Enum => match value {
                    Value::Array(values) if values.is_empty() => {
                        self.change(
                            path,
                            name,
                            Some(value),
                            Fate::Rewritten,
                            "an empty list allows nothing; taken as absent",
                        );
                    }
                    Value::Array(values) => view.restrict_values(values.iter().collect()),
                    single => view.restrict_values(vec![single]),
                },
                Keyword::Const => {
                    view.constant = true;
                    view.restrict_values(vec![value]);
                }
                Keyword::Ref => {
                    if let Value::String(reference) = value {
                        self.gather_reference(Source { resource, ..source }, reference, view);
                    }
                }
                Keyword::AllOf => {
                    if let Value::Array(members) = value {
                        self.change(path, name, Some(value), Fate::Rewritten, "merged");
                        let list = self.step(path, "allOf");
                        for (index, member) in members.iter().enumerate() {
                            let path = self.changes.paths.index(list, index);
                            self.gather(Source { schema: member, path, resource, ..source }, view);
                        }
                    }
                }
                Keyword::AnyOf | Keyword::OneOf => {
                    if let Value::Array(branches) = value {
                        view.unions.push(UnionPart { keyword, branches, original: value, path, resource });
                    }
                }
                Keyword::Properties => {
                    object_part(&mut object);
                    if let Some(part) = &mut object {
                        part.properties = value.as_object();
                        // `required` inside `properties` is a slip of indentation.
                        if let Some(Value::Array(names)) = value.member("required") {
                            part.required.extend(names.iter().filter_map(Value::as_str));
                        }
                    }
                }
                Keyword::Required => {
                    object_part(&mut object);
                    if let (Some(part), Value::Array(names)) = (&mut object, value) {
                        part.required.reserve(names.len());
                        part.required.extend(names.iter().filter_map(Value::as_str));
                    }
                }
                Keyword::AdditionalProperties => {
                    object_part(&mut object);
                    if let Some(part) = &mut object {
                        part.additional = match (value, mended) {
                            (Value::Object(_) | Value::Bool(_), _) => Some(value),
                            (_, Some(Json::Bool(false))) => Some(&Value::Bool(false)),
                            _ => Some(&Value::Bool(true)),
                        };
                    }
                }
                Keyword::PatternProperties => {
                    object_part(&mut object);
                    if let Some(part) = &mut object {
                        part.patterns = value.as_object();
                    }
                }
                Keyword::PropertyNames => {
                    object_part(&mut object);
                    if let Some(part) = &mut object {
                        part.names = Some(value);
                        part.further = true;
                    }
                }
                Keyword::Items | Keyword::PrefixItems | Keyword::AdditionalItems => {
                    let part = array.get_or_insert(ArrayPart {
                        schema: source.schema,
                        path,
                        asked: source.asked,
                        resource,
                        prefix: None,
                        items: None,
                    });
                    match (keyword, value) {
                        (Keyword::PrefixItems | Keyword::Items, Value::Array(prefix)) => {
                            part.prefix = Some((keyword.name(), prefix));
                        }
                        (Keyword::AdditionalItems, _) => {
                            // It speaks only beside the list form of `items`.
                            if map.member("items").is_some_and(Value::is_array) {
                                part.items = Some((keyword.name(), value));
                            } else {
                                self.change(
                                    path,
                                    name,
                                    Some(value),
                                    Fate::Rewritten,
                                    "says nothing without a list of items",
                                );
                            }
                        }
                        _ => part.items = Some((keyword.name(), value)),
                    }
                }
                Keyword::Nullable => {
                    nullable = value == &Value::Bool(true);
                    self.change(path, name, Some(value), Fate::Rewritten, "said by the type");
                }
                Keyword::If => {
                    if map.has("then") || map.has("else") {
                        let path_in = self.step(path, keyword.name());
                        view.conditional.push(Source { schema: value, path: path_in, resource, asked: true });
                    }
                    view.notes.push(Note::Keyword(name, value));
                    self.change(path, name, Some(value), Fate::Described, "conditions cannot be said here");
                }
                Keyword::Then | Keyword::Else if !map.has("if") => {
                    self.change(path, name, Some(value), Fate::Rewritten, "says nothing without if");
                }
                Keyword::Then | Keyword::Else => {
                    let path_in = self.step(path, keyword.name());
                    view.conditional.push(Source { schema: value, path: path_in, resource, ..source });
                    view.notes.push(Note::Keyword(name, value));
                    self.change(path, name, Some(value), Fate::Described, "conditions cannot be said here");
                }
                Keyword::DependentSchemas | Keyword::Dependencies => {
                    object_part(&mut object);
                    if let (Some(part), Value::Object(members)) = (&mut object, value) {
                        part.further = true;
                        let list = self.step(path, keyword.name());
                        for (key, member) in members {
                            if member.is_object() {
                                let path = self.step(list, key);
                                view.conditional.push(Source { schema: member, path, resource, ..source });
                            }
                        }
                    }
                    self.describe(path, name, value, view, "dependencies cannot be said here");
                }
                Keyword::UnevaluatedProperties => {
                    object_part(&mut object);
                    if let Some(part) = &mut object
                        && part.additional.is_none()
                        && value != &Value::Bool(false)
                        && !map.has("additionalProperties")
                    {
                        part.additional = Some(&Value::Bool(true));
                    }
                    self.describe(path, name, value, view, "cannot be said here");
                }
                Keyword::Format
                | Keyword::Pattern
                | Keyword::MinLength
                | Keyword::MaxLength
                | Keyword::Minimum
                | Keyword::Maximum
                | Keyword::ExclusiveMinimum
                | Keyword::ExclusiveMaximum
                | Keyword::MultipleOf
                | Keyword::MinItems
                | Keyword::MaxItems
                | Keyword::UniqueItems
                | Keyword::MinProperties
                | Keyword::MaxProperties => {
                    if keyword == Keyword::MinProperties {
                        object_part(&mut object);
                        if let Some(part) = &mut object {
                            part.further = true;
                        }
                    }
                    let facet =
                        Facet { keyword, value: mended.unwrap_or(Json::Same(value)), original: value, path };
                    self.add_facet(facet, view);
                }
                Keyword::DependentRequired => {
                    object_part(&mut object);
                    if let Some(part) = &mut object {
                        part.further = true;
                    }
                    self.describe(path, name, value, view, "cannot be said here");
                }
                Keyword::Contains => {
                    let path_in = self.step(path, keyword.name());
                    view.contained.push(Source { schema: value, path: path_in, resource, asked: true });
                    self.describe(path, name, value, view, "cannot be said here");
                }
                Keyword::Not => match denied(value) {
                    // What is denied twice must hold.
                    Some(schema) => {
                        self.change(path, name, Some(value), Fate::Rewritten, "denied twice: merged");
                        let once = self.step(path, keyword.name());
                        let path = self.step(once, keyword.name());
                        self.gather(Source { schema, path, resource, ..source }, view);
                    }
                    None => self.describe(path, name, value, view, "cannot be said here"),
                },
                Keyword::MinContains
                | Keyword::MaxContains
                | Keyword::UnevaluatedItems
                | Keyword::DynamicRef
                | Keyword::RecursiveRef => {
                    self.describe(path, name, value, view, "cannot be said here");
                }
                Keyword::Defs | Keyword::Definitions => {
                    self.change(
                        path,
                        name,
                        Some(value),
                        Fate::Rewritten,
                        "what is used is written where it is needed",
                    );
                }
                Keyword::Default
                | Keyword::Examples
                | Keyword::Example
                | Keyword::ContentEncoding
                | Keyword::ContentMediaType
                | Keyword::ContentSchema
                | Keyword::Title
                | Keyword::Schema
                | Keyword::Id
                | Keyword::DraftFourId
                | Keyword::Anchor
                | Keyword::DynamicAnchor
                | Keyword::RecursiveAnchor
                | Keyword::Vocabulary
                | Keyword::Comment
                | Keyword::Deprecated
                | Keyword::ReadOnly
                | Keyword::WriteOnly
                | Keyword::PropertyOrdering
                | Keyword::Discriminator => {
                    view.hints.push((keyword, value, path));
                }
            }
        }
        if array.as_ref().is_some_and(|part| part.prefix.is_some_and(|(name, _)| name == "items")) {
            // The list form of `items` under 2020-12, or beside `prefixItems`, still means positions.
            self.change(
                path,
                "items",
                map.member("items"),
                Fate::Rewritten,
                "a list of items means positions",
            );
        }
        if nullable {
            types = types.or(TypeSet::NULL);
        }
        view.types = view.types.and(types);
        push_part(&mut view.objects, object);
        push_part(&mut view.arrays, array);
    }

    fn gather_description(&mut self, path: PathId, value: &'a Value, view: &mut View<'a>) {
        match value {
            Value::String(text) if !text.is_empty() => view.add_description(Cow::Borrowed(text)),
            Value::String(_) | Value::Null => {}
            other => {
                self.change(path, "description", Some(other), Fate::Rewritten, "mended: not text");
                view.add_description(Cow::Owned(other.to_string()));
            }
        }
    }

    fn gather_reference(&mut self, source: Source<'a>, reference: &'a str, view: &mut View<'a>) {
        let original = source.schema.member("$ref");
        let Some(target) = self.resolve(reference, source.resource) else {
            self.change(source.path, "$ref", original, Fate::Described, "names nothing in this schema");
            if let Some(original) = original {
                view.notes.push(Note::Keyword("$ref", original));
            }
            return;
        };
        let times = self.active.iter().filter(|active| std::ptr::eq(**active, target.schema)).count();
        if times > self.reach.unroll || self.active.len() > self.reach.chain {
            view.cut = true;
            self.change(
                source.path,
                "$ref",
                original,
                Fate::Encoded,
                "recursion beyond this depth travels as JSON text",
            );
            return;
        }
        self.change(source.path, "$ref", original, Fate::Rewritten, "written out");
        self.active.push(target.schema);
        self.longest = self.longest.max(self.active.len());
        self.gather(Source { asked: source.asked, ..target }, view);
    }

    /// Adds a facet, or tightens the one that is there.
    fn add_facet(&mut self, facet: Facet<'a>, view: &mut View<'a>) {
        let Some(known) = view.facets.iter_mut().find(|known| known.keyword == facet.keyword) else {
            view.facets.push(facet);
            return;
        };
        if equal(known.original, facet.original) {
            return;
        }
        let number = |value: &Json<'_>| match value {
            Json::Same(Value::Number(number)) | Json::Number(number) => number.as_f64(),
            _ => None,
        };
        let tighter = match (number(&known.value), number(&facet.value)) {
            (Some(old), Some(new)) => match facet.keyword {
                Keyword::MinLength
                | Keyword::MinItems
                | Keyword::MinProperties
                | Keyword::Minimum
                | Keyword::ExclusiveMinimum => Some(new > old),
                Keyword::MaxLength
                | Keyword::MaxItems
                | Keyword::MaxProperties
                | Keyword::Maximum
                | Keyword::ExclusiveMaximum => Some(new < old),
                _ => None,
            },
            _ => None,
        };
        match tighter {
            Some(true) => {
                let old = std::mem::replace(known, facet);
                self.change(
                    old.path,
                    old.keyword.name(),
                    Some(old.original),
                    Fate::Rewritten,
                    "a tighter bound holds",
                );
            }
            Some(false) => {
                self.change(
                    facet.path,
                    facet.keyword.name(),
                    Some(facet.original),
                    Fate::Rewritten,
                    "a tighter bound holds",
                );
            }
            None => {
                self.describe(
                    facet.path,
                    facet.keyword.name(),
                    facet.original,
                    view,
                    "a second one cannot be said here",
                );
            }
        }
    }

    fn unknown_keyword(&mut self, path: PathId, name: &'a str, value: &'a Value, view: &mut View<'a>) {
        match self.rules.keywords.unknown {
            Verdict::Drop => {
                self.change(path, name, Some(value), Fate::Dropped, "not a keyword of JSON Schema");
            }
            _ if name.starts_with("x-") => {
                self.change(path, name, Some(value), Fate::Dropped, "an extension of the server's own");
            }
            _ => self.describe(path, name, value, view, "not a keyword of this dialect"),
        }
    }

    /// A keyword whose value is beyond mending.
    fn unusable(
        &mut self,
        path: PathId,
        keyword: Keyword,
        map: &'a Map<String, Value>,
        value: &'a Value,
        view: &mut View<'a>,
    ) {
        match (keyword, value) {
            (Keyword::ExclusiveMinimum | Keyword::ExclusiveMaximum, Value::Bool(flag)) => {
                // Draft 4: a flag on `minimum` / `maximum`.
                let bound = if keyword == Keyword::ExclusiveMinimum { "minimum" } else { "maximum" };
                self.change(
                    path,
                    keyword.name(),
                    Some(value),
                    Fate::Rewritten,
                    "a flag on the bound, as in draft 4",
                );
                if *flag && let Some(original) = map.member(bound).filter(|bound| bound.is_number()) {
                    let facet = Facet { keyword, value: Json::Same(original), original, path };
                    self.add_facet(facet, view);
                }
            }
            (_, Value::Null) | (Keyword::Required, Value::Bool(_)) => {
                view.required |= value == &Value::Bool(true);
                self.change(path, keyword.name(), Some(value), Fate::Rewritten, "says nothing in this form");
            }
            _ => self.describe(path, keyword.name(), value, view, "not what the keyword asks for"),
        }
    }

    pub(crate) fn describe(
        &mut self,
        path: PathId,
        name: &'a str,
        value: &'a Value,
        view: &mut View<'a>,
        reason: &'static str,
    ) {
        view.notes.push(Note::Keyword(name, value));
        self.change(path, name, Some(value), Fate::Described, reason);
    }
}

/// Values that both lists have. Rare, so it stays out of the way of what is not.
#[cold]
#[inline(never)]
fn intersection<'a>(values: Vec<&'a Value>, allowed: Vec<&'a Value>) -> Vec<&'a Value> {
    if values.len().saturating_mul(allowed.len()) < 256 {
        return values.into_iter().filter(|value| allowed.iter().any(|other| equal(value, other))).collect();
    }
    let mut known: HashMap<u64, Vec<&Value>> = HashMap::with_capacity(allowed.len());
    for value in allowed {
        known.entry(digest(value)).or_default().push(value);
    }
    let is_allowed = |value: &&Value| {
        known.get(&digest(value)).is_some_and(|alike| alike.iter().any(|other| equal(value, other)))
    };
    values.into_iter().filter(is_allowed).collect()
}

/// Adds what one source says. Nearly always there is only one: the list is made no larger than that.
fn push_part<T>(parts: &mut Vec<T>, part: Option<T>) {
    if let Some(part) = part {
        if parts.is_empty() {
            parts.reserve_exact(1);
        }
        parts.push(part);
    }
}

/// What a schema denies, where it says nothing else.
pub(crate) fn denied(schema: &Value) -> Option<&Value> {
    let map = schema.as_object().filter(|map| map.len() == 1)?;
    map.member("not").filter(|inner| inner.is_object())
}

fn named_types(value: &Value, mended: Option<&Json<'_>>) -> TypeSet {
    let read = |name: &str| TypeSet::named(name).unwrap_or(TypeSet::NONE);
    match (mended, value) {
        (Some(Json::Array(names)), _) => {
            names.iter().filter_map(Json::as_str).map(read).fold(TypeSet::NONE, TypeSet::or)
        }
        (Some(json), _) => json.as_str().map_or(TypeSet::ALL, read),
        (None, Value::String(name)) => read(name),
        (None, Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(read).fold(TypeSet::NONE, TypeSet::or)
        }
        (None, _) => TypeSet::ALL,
    }
}
