//! Facets: bounds, patterns and formats of a type.

use serde_json::{Number, Value};

use super::reader::view::{Facet, View};
use super::{Node, Rebuild};
use crate::dialect::Verdict;
use crate::json::Json;
use crate::schema::{Keyword, Kind, TypeSet, pattern};
use crate::text::{Note, is_mentioned};

impl<'a> Rebuild<'a, '_> {
    /// Writes the facets that speak of `types` onto `node`, or into its description.
    pub(crate) fn write_facets(&mut self, view: &mut View<'a>, types: TypeSet, node: &mut Node<'a>) {
        if view.facets.is_empty() {
            return;
        }
        let facets = std::mem::take(&mut view.facets);
        for facet in &facets {
            self.write_facet(facet, types, node, view);
        }
        view.facets = facets;
    }

    fn write_facet(&mut self, facet: &Facet<'a>, types: TypeSet, node: &mut Node<'a>, view: &mut View<'a>) {
        let Facet { keyword, ref value, original, .. } = *facet;
        let subject = match keyword.kind() {
            Kind::String if keyword == Keyword::Format => TypeSet::STRING.or(TypeSet::NUMBER),
            Kind::String => TypeSet::STRING,
            Kind::Number => TypeSet::NUMBER,
            Kind::Array => TypeSet::ARRAY,
            Kind::Object => TypeSet::OBJECT,
            Kind::Any | Kind::Annotation | Kind::Hint => TypeSet::ALL,
        };
        if !types.meets(subject) {
            if !view.types.meets(subject) {
                self.facet_rewritten(facet, "says nothing about this type");
            }
            return;
        }
        if original == &Value::Bool(false) {
            // `uniqueItems: false` asks for nothing.
            if self.rules.keywords.of(keyword) == Verdict::Keep {
                node.keywords.push((keyword.name(), value.clone()));
            } else {
                self.facet_rewritten(facet, "asks for nothing");
            }
            return;
        }
        let mut verdict = self.rules.keywords.of(keyword);
        if verdict == Verdict::Keep && !self.takes_facet(keyword, original, types) {
            verdict = Verdict::Describe;
        }
        match verdict {
            Verdict::Keep => node.keywords.push((keyword.name(), value.clone())),
            Verdict::Hint => {
                if is_mentioned(self.rules.text, keyword, original) {
                    view.notes.push(Note::Keyword(keyword.name(), original));
                }
                node.keywords.push((keyword.name(), value.clone()));
            }
            Verdict::Describe | Verdict::Drop => {
                if self.rewrite_bound(keyword, original, types, node) {
                    self.facet_rewritten(facet, "an inclusive bound says the same");
                } else {
                    self.describe_facet(facet, view, "not a keyword of this dialect");
                }
            }
        }
    }

    /// Whether the dialect takes this very value of a keyword that it knows.
    pub(super) fn takes_facet(&self, keyword: Keyword, value: &Value, types: TypeSet) -> bool {
        match (keyword, value) {
            (Keyword::Pattern, Value::String(text)) => pattern::takes(self.rules.patterns, text),
            (Keyword::Format, Value::String(format)) => self.takes_format(format, types),
            (Keyword::MinItems, value) => {
                let most = self.choices.min_items_up_to;
                most.is_none_or(|most| value.as_u64().is_some_and(|count| count <= most))
                    && self.takes_number(keyword, value)
            }
            _ => self.takes_number(keyword, value),
        }
    }

    /// Exclusive bounds of integers as inclusive ones; exact, and therefore no loss.
    fn rewrite_bound(
        &mut self,
        keyword: Keyword,
        value: &Value,
        types: TypeSet,
        node: &mut Node<'a>,
    ) -> bool {
        let (inclusive, step) = match keyword {
            Keyword::ExclusiveMinimum => (Keyword::Minimum, 1),
            Keyword::ExclusiveMaximum => (Keyword::Maximum, -1),
            _ => return false,
        };
        if self.rules.keywords.of(inclusive) != Verdict::Keep || !self.takes_number(inclusive, value) {
            return false;
        }
        let exact = types.and(TypeSet::NUMBER) == TypeSet::INTEGER;
        let bound = if exact { shifted(value, step) } else { value.as_number().cloned() };
        let Some(bound) = bound else { return false };
        let known = node.keywords.iter_mut().find(|(name, _)| *name == inclusive.name());
        match known {
            None => node.keywords.push((inclusive.name(), Json::Number(bound))),
            Some((_, known)) => {
                if let (Some(old), Some(new)) = (known.as_f64(), bound.as_f64())
                    && ((step > 0 && new > old) || (step < 0 && new < old))
                {
                    *known = Json::Number(bound);
                }
            }
        }
        exact
    }
}

/// The nearest integer beyond `value` in the direction of `step`.
fn shifted(value: &Value, step: i64) -> Option<Number> {
    if let Some(integer) = value.as_i64() {
        return integer.checked_add(step).map(Number::from);
    }
    let float = value.as_f64()?;
    let beyond = if step > 0 { float.floor() + 1.0 } else { float.ceil() - 1.0 };
    format!("{beyond}").parse::<i64>().ok().map(Number::from)
}
