//! Keys that an object is about without declaring them: where objects are closed, they must get through all the same.

use super::Reader;
use super::members::{ObjectRules, Property, Undeclared, named};
use super::view::{Facet, ObjectPart};
use crate::plan::is_kept;
use crate::report::PathId;
use crate::schema::{Keyword, Members, Source, TypeSet};
use serde_json::Value;
use std::collections::HashSet;

/// Names in `propertyNames` that become properties; more of them share a carrier.
const MOST_NAMES: usize = 32;

/// Unions inside one another that are searched for names.
const MOST_UNIONS: usize = 4;

/// What is said about keys beyond declaring, requiring or inviting them.
#[derive(Default)]
pub(crate) struct ImpliedKeys<'a> {
    /// Keys that are only mentioned, and by what.
    mentions: Vec<Mention<'a>>,
    /// The same keys, and others that are declared somewhere.
    names: HashSet<&'a str>,
    /// There must be more properties than are declared: any key may have to come, with any value.
    many: bool,
    /// Too many keys are listed to declare them all.
    crowded: bool,
}

struct Mention<'a> {
    name: &'a str,
    path: PathId,
    keyword: &'static str,
}

impl ObjectRules<'_> {
    /// Whether a key is named by a rule that says nothing about its values.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.implied_keys.as_ref().is_some_and(|implied| implied.many || implied.names.contains(name))
    }

    /// How many properties what always holds lets come. What only an alternative or a condition declares may not be there to be
    /// counted.
    fn count(&self) -> usize {
        let mut names: HashSet<&str> = self.parts.iter().flat_map(named).collect();
        for (name, schema) in self.parts.iter().filter_map(|part| part.properties).flatten() {
            if schema == &Value::Bool(false) {
                names.remove(name.as_str());
            }
        }
        names.len()
    }
}

impl<'a> Reader<'a, '_> {
    /// What the parts say beyond declaring, requiring or inviting keys; `None` where that is nothing, as nearly always.
    pub(crate) fn implied_keys(&mut self, said: &ObjectRules<'a>) -> Option<Box<ImpliedKeys<'a>>> {
        let mut parts = said.parts.iter().chain(said.uncertain());
        if !parts.any(|part| part.implies_keys || part.source.asked) {
            return None;
        }
        let mut implied = ImpliedKeys::default();
        let mut least = 0.0_f64;
        for part in said.parts.iter().chain(said.uncertain()) {
            if part.source.asked {
                for name in named(part) {
                    let declared = part.properties.is_some_and(|table| table.has(name));
                    implied.add(name, part, if declared { "properties" } else { "required" });
                }
            }
            if !part.implies_keys {
                continue;
            }
            let count = part.source.schema.member("minProperties").and_then(Value::as_f64);
            least = least.max(count.unwrap_or_default());
            for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
                for name in depending(part.source.schema.member(keyword)) {
                    implied.add(name, part, keyword);
                }
            }
            let names = self.key_names(part);
            implied.crowded |= names.len() > MOST_NAMES;
            if implied.crowded {
                implied.names.extend(names);
            } else {
                for name in names {
                    implied.add(name, part, "propertyNames");
                }
            }
        }
        implied.many = least > 0.0 && least > f64::from(u32::try_from(said.count()).unwrap_or(u32::MAX));
        Some(Box::new(implied))
    }

    /// Adds properties for keys that are only mentioned, and makes room for as many as there must be.
    pub(crate) fn declare_implied_keys(
        &mut self,
        said: &ObjectRules<'a>,
        implied: &ImpliedKeys<'a>,
        properties: &mut Vec<Property<'a>>,
        undeclared: &mut Undeclared<'a>,
        root: bool,
    ) {
        // An object that declares nothing takes every key anyway, unless it is the root.
        if matches!(undeclared, Undeclared::Forbidden) || (properties.is_empty() && !root) {
            return;
        }
        let known: HashSet<&'a str> = properties.iter().map(|property| property.name).collect();
        for mention in implied.mentions.iter().filter(|mention| !known.contains(mention.name)) {
            if said.parts.iter().any(|part| self.forbids_key(part, mention.name)) {
                continue;
            }
            if let Some(described) = self.key_kinds(said, mention.name, true) {
                let reason = "speaks of a property that is not declared: declared";
                self.rewritten(mention.path, mention.keyword, None, reason);
                properties.push(Property::new(mention.name, described, true));
            }
        }
        if (implied.crowded || implied.many) && matches!(undeclared, Undeclared::Unsaid) {
            *undeclared = Undeclared::anything();
        }
    }

    /// Whether no key that `propertyNames` takes is called `name`.
    fn forbids_key(&mut self, part: &ObjectPart<'a>, name: &str) -> bool {
        let Some(schema) = part.names else { return false };
        let source = self.inside(part.source, "propertyNames", schema);
        let view = self.glimpse(source);
        let listed = |values: &Vec<&Value>| values.iter().any(|value| value.as_str() == Some(name));
        let breaks = |facet: &Facet<'a>| match (facet.keyword, facet.original) {
            (Keyword::Pattern, Value::String(pattern)) => self.fits(pattern, name) == Some(false),
            (keyword, bound) => !is_kept(keyword, bound, &Value::from(name)),
        };
        view.impossible
            || !view.types.contains(TypeSet::STRING)
            || view.values.as_ref().is_some_and(|values| !listed(values))
            || view.facets.iter().any(breaks)
    }

    /// The keys that `propertyNames` lists.
    fn key_names(&mut self, part: &ObjectPart<'a>) -> Vec<&'a str> {
        let mut names = Vec::new();
        if let Some(schema) = part.names {
            let source = self.inside(part.source, "propertyNames", schema);
            self.listed(source, MOST_UNIONS, &mut names);
        }
        names
    }

    fn listed(&mut self, source: Source<'a>, unions: usize, names: &mut Vec<&'a str>) {
        if self.branches_left == 0 {
            return;
        }
        let view = self.glimpse(source);
        if let Some(values) = view.values {
            names.extend(values.into_iter().filter_map(Value::as_str));
            return;
        }
        for union in view.unions.iter().filter(|_| unions > 0) {
            for branch in self.branches(union) {
                self.listed(branch, unions - 1, names);
            }
        }
    }
}

impl<'a> ImpliedKeys<'a> {
    fn add(&mut self, name: &'a str, part: &ObjectPart<'a>, keyword: &'static str) {
        if self.names.insert(name) {
            self.mentions.push(Mention { name, path: part.source.path, keyword });
        }
    }
}

/// The keys in rules about which go together.
fn depending(rules: Option<&Value>) -> impl Iterator<Item = &str> {
    let rules = rules.and_then(Value::as_object).into_iter().flatten();
    rules.flat_map(|(key, others)| {
        let others = others.as_array().into_iter().flatten();
        std::iter::once(key.as_str()).chain(others.filter_map(Value::as_str))
    })
}
