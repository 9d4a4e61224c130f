//! All that several schemas say together about one value.
//!
//! A position in a lowered schema is described by one or more *sources* that must all hold: the schema itself,
//! the members of its `allOf`, the targets of its references. A view sorts their keywords by what they speak of.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::json::Json;
use crate::plan::{digest, equal};
use crate::report::PathId;
use crate::schema::{Keyword, Members, Source, TypeSet};
use crate::text::Note;

/// What all sources of one position say.
#[derive(Clone, Debug, Default)]
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
    /// What a reference names that is not written out here.
    pub(crate) cut: Option<Source<'a>>,
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
    pub(crate) source: Source<'a>,
    /// The schema speaks of keys in other ways than the fields below say: how many there are, which go together.
    pub(crate) implies_keys: bool,
    pub(crate) properties: Option<&'a Map<String, Value>>,
    pub(crate) required: Vec<&'a str>,
    pub(crate) additional: Option<&'a Value>,
    pub(crate) patterns: Option<&'a Map<String, Value>>,
    pub(crate) names: Option<&'a Value>,
}

/// What one source says about arrays.
#[derive(Clone, Debug)]
pub(crate) struct ArrayPart<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) prefix: Option<(&'a str, &'a [Value])>,
    pub(crate) items: Option<(&'a str, &'a Value)>,
}

/// One `anyOf` or `oneOf`.
#[derive(Clone, Debug)]
pub(crate) struct UnionPart<'a> {
    pub(crate) keyword: Keyword,
    pub(crate) branches: &'a [Value],
    pub(crate) original: &'a Value,
    /// The schema that has the keyword.
    pub(crate) source: Source<'a>,
}

impl<'a> ObjectPart<'a> {
    pub(crate) fn new(source: Source<'a>) -> Self {
        Self {
            source,
            implies_keys: false,
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
        Self { types: TypeSet::ALL, path, schema, ..Self::default() }
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
    pub(crate) fn add_description(&mut self, more: Cow<'a, str>) {
        self.description = Some(match self.description.take() {
            None => more,
            Some(text) if text.contains(more.as_ref()) => text,
            Some(text) => Cow::Owned(format!("{text}\n{more}")),
        });
    }

    pub(crate) fn restrict_values(&mut self, allowed: Vec<&'a Value>) {
        self.values = Some(match self.values.take() {
            None => allowed,
            Some(values) => intersection(values, allowed),
        });
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
