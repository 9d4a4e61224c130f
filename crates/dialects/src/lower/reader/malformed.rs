//! Keywords that come twice, that are unknown, or that say something else than they should.

use serde_json::{Map, Value};

use super::Reader;
use super::view::{Facet, View};
use crate::dialect::Verdict;
use crate::json::Json;
use crate::plan::equal;
use crate::report::PathId;
use crate::schema::{Keyword, Members};
use crate::text::Note;

impl<'a> Reader<'a, '_> {
    /// Adds a facet, or tightens the one that is there.
    pub(crate) fn add_facet(&mut self, facet: Facet<'a>, view: &mut View<'a>) {
        let Some(known) = view.facets.iter_mut().find(|known| known.keyword == facet.keyword) else {
            view.facets.push(facet);
            return;
        };
        if equal(known.original, facet.original) {
            return;
        }
        let name = facet.keyword.name();
        let is_least = name.starts_with("min") || facet.keyword == Keyword::ExclusiveMinimum;
        let is_most = name.starts_with("max") || facet.keyword == Keyword::ExclusiveMaximum;
        let tighter = match (known.value.as_f64(), facet.value.as_f64()) {
            (Some(old), Some(new)) if is_least => Some(new > old),
            (Some(old), Some(new)) if is_most => Some(new < old),
            _ => None,
        };
        match tighter {
            Some(true) => {
                let old = std::mem::replace(known, facet);
                self.facet_rewritten(&old, "a tighter bound holds");
            }
            Some(false) => self.facet_rewritten(&facet, "a tighter bound holds"),
            None => self.describe_facet(&facet, view, "a second one cannot be said here"),
        }
    }

    pub(crate) fn facet_rewritten(&mut self, facet: &Facet<'a>, reason: &'static str) {
        self.rewritten(facet.path, facet.keyword.name(), Some(facet.original), reason);
    }

    pub(crate) fn describe_facet(&mut self, facet: &Facet<'a>, view: &mut View<'a>, reason: &'static str) {
        self.describe(facet.path, facet.keyword.name(), facet.original, view, reason);
    }

    pub(crate) fn unknown_keyword(
        &mut self,
        path: PathId,
        name: &'a str,
        value: &'a Value,
        view: &mut View<'a>,
    ) {
        match self.rules.keywords.unknown {
            Verdict::Drop => {
                self.dropped(path, name, Some(value), "not a keyword of JSON Schema");
            }
            _ if name.starts_with("x-") => {
                self.dropped(path, name, Some(value), "an extension of the server's own");
            }
            _ => self.describe(path, name, value, view, "not a keyword of this dialect"),
        }
    }

    /// A keyword whose value is beyond repair.
    pub(crate) fn unusable(
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
                self.rewritten(path, keyword.name(), Some(value), "a flag on the bound, as in draft 4");
                if *flag && let Some(original) = map.member(bound).filter(|bound| bound.is_number()) {
                    let facet = Facet { keyword, value: Json::Same(original), original, path };
                    self.add_facet(facet, view);
                }
            }
            (_, Value::Null) | (Keyword::Required, Value::Bool(_)) => {
                view.required |= value == &Value::Bool(true);
                self.rewritten(path, keyword.name(), Some(value), "says nothing in this form");
            }
            _ => self.describe(path, keyword.name(), value, view, "not what the keyword asks for"),
        }
    }

    /// Values that the root lists: arguments are an object of properties, so a description says them.
    pub(crate) fn describe_root_values(&mut self, view: &mut View<'a>) {
        for name in ["enum", "const"] {
            if let Some(value) = self.root.member(name) {
                self.describe(PathId::ROOT, name, value, view, "the root cannot list values");
            }
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
        self.described(path, name, Some(value), reason);
    }
}
