//! Lowering `enum` and `const`.

use serde_json::Value;

use super::position::Lowered;
use super::reader::view::View;
use super::{Node, Rebuild};
use crate::dialect::Verdict;
use crate::json::Json;
use crate::plan::{Codec, equal};
use crate::schema::{Keyword, TypeSet};
use crate::text::{Note, is_mentioned};

impl<'a> Rebuild<'a, '_> {
    /// One of a few values.
    pub(crate) fn lower_values(&mut self, view: &mut View<'a>, values: Vec<&'a Value>) -> Lowered<'a> {
        let keyword = if view.constant { "const" } else { "enum" };
        let mut kept: Vec<&'a Value> = Vec::with_capacity(values.len());
        let mut null = false;
        let total = values.len();
        // So few that looking through them takes less time than hashing.
        let few = total <= 16;
        let distinct = !few && are_distinct(&values);
        let mut seen = std::collections::HashSet::new();
        for value in values {
            if !view.types.contains(TypeSet::of(value)) {
                continue;
            }
            let known = match value {
                Value::Null => {
                    null = true;
                    continue;
                }
                Value::String(text) if few => kept.iter().any(|known| known.as_str() == Some(text)),
                Value::String(text) => !distinct && !seen.insert(text.as_str()),
                other => kept.len() <= 512 && kept.iter().any(|known| equal(known, other)),
            };
            if !known {
                kept.push(value);
            }
        }
        if kept.len() + usize::from(null) < total {
            let reason = "values twice or of another type left out";
            self.rewritten(view.path, keyword, view.original(keyword), reason);
        }
        for union in std::mem::take(&mut view.unions) {
            let name = union.keyword.name();
            self.describe(union.source.path, name, union.original, view, "the values are listed already");
        }
        if kept.is_empty() {
            return if null { self.lower_null() } else { Lowered::impossible() };
        }
        if self.rules.keywords.of(Keyword::Enum) == Verdict::Hint
            && let Some(original) = view.original("enum")
            && is_mentioned(self.rules.text, Keyword::Enum, original)
        {
            view.notes.push(Note::Keyword("enum", original));
        }
        let mut lowered = self.lower_listed(view, &kept, keyword);
        let types = if null { lowered.node.types.or(TypeSet::NULL) } else { lowered.node.types };
        if let Some(original) = view.original("type").filter(|original| original.is_array())
            && types.count() < view.types.count()
        {
            self.rewritten(view.path, "type", Some(original), "the values show the types");
        }
        if null {
            lowered.node.accept_null();
            lowered.codec = super::union::keep_null(lowered.codec);
            if self.choices.null == crate::dialect::NullStyle::Nullable {
                let reason = "null is said by nullable";
                self.rewritten(view.path, keyword, view.original(keyword), reason);
                let listed = view.original("type").filter(|original| original.is_array());
                if let Some(original) = listed.filter(|_| types.count() == view.types.count()) {
                    self.rewritten(view.path, "type", Some(original), reason);
                }
            }
        }
        lowered
    }

    fn lower_listed(
        &mut self,
        view: &mut View<'a>,
        values: &[&'a Value],
        keyword: &'static str,
    ) -> Lowered<'a> {
        let mut types = values.iter().fold(TypeSet::NONE, |types, value| types.or(TypeSet::of(value)));
        if types.meets(TypeSet::NUMBER) && view.types != TypeSet::ALL && view.types.contains(TypeSet::NUMBER)
        {
            // The type that the server declares, not the narrower one of its examples.
            types = types.or(TypeSet::NUMBER);
        }
        let booleans = types == TypeSet::BOOLEAN && values.len() == 2;
        if booleans {
            self.rewritten(view.path, keyword, view.original(keyword), "true and false are all booleans");
            return Lowered::new(Node::of(TypeSet::BOOLEAN), Codec::Same);
        }
        if self.too_many(values) {
            if let Some(original) = view.original(keyword) {
                self.describe(view.path, keyword, original, view, "more values than the dialect takes");
            }
            let mut node = Node::of(types);
            self.write_facets(view, types, &mut node);
            if types.count() == 1 && !types.meets(TypeSet::CONTAINERS) {
                return Lowered::new(node, Codec::Same);
            }
        }
        let strings = types == TypeSet::STRING;
        let empty_text = values.iter().any(|value| value.as_str() == Some(""));
        let native = !types.meets(TypeSet::CONTAINERS)
            && (strings || self.choices.enum_any)
            && (!empty_text || self.choices.enum_empty_text);
        if native {
            let mut node = Node::of(types);
            let verdict = self.rules.keywords.of(Keyword::Const);
            node.constant = view.constant && values.len() == 1 && verdict == Verdict::Keep;
            if view.constant && !node.constant {
                self.rewritten(view.path, keyword, view.original(keyword), "a list of one value");
            }
            if types.count() > 1
                && !self.choices.type_lists
                && let Some(original) = view.original("type")
            {
                self.rewritten(view.path, "type", Some(original), "said by the values");
            }
            self.write_facets(view, types, &mut node);
            node.values = Some(values.iter().map(|value| Json::Same(value)).collect());
            return Lowered::new(node, Codec::Same);
        }
        self.encoded(view.path, keyword, view.original(keyword), "values travel as labels");
        if types != TypeSet::STRING
            && let Some(original) = view.original("type")
        {
            self.encoded(view.path, "type", Some(original), "values travel as labels");
        }
        for facet in &view.facets {
            self.facet_rewritten(facet, "the values are listed");
        }
        let labels = labels(values);
        let node = Node {
            values: Some(labels.iter().map(|(label, _)| Json::from(label.to_string())).collect()),
            ..Node::of(TypeSet::STRING)
        };
        Lowered::new(node, Codec::Labels(labels))
    }

    fn too_many(&self, values: &[&'a Value]) -> bool {
        let limit = self.limits.enum_values;
        let characters = self.limits.long_enum_characters;
        (limit > 0 && values.len() > limit)
            || (characters > 0
                && values.len() > 250
                && values
                    .iter()
                    .filter_map(|value| value.as_str())
                    .map(|text| text.chars().count())
                    .sum::<usize>()
                    > characters)
    }
}

/// A distinct, non-empty word for each value.
fn labels(values: &[&Value]) -> Vec<(Box<str>, Value)> {
    let mut labels: Vec<(Box<str>, Value)> =
        values.iter().map(|value| (Box::default(), (*value).clone())).collect();
    // Strings come first so that they keep their own spelling.
    let (texts, others): (Vec<_>, Vec<_>) = labels.iter_mut().partition(|(_, value)| value.is_string());
    let mut taken = std::collections::HashSet::new();
    for (label, value) in texts.into_iter().chain(others) {
        let mut word = match &*value {
            Value::String(text) if text.is_empty() => "(empty)".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if taken.contains(&word) {
            word = format!("{word} ({})", TypeSet::of(value).names().next().unwrap_or("other"));
        }
        while taken.contains(&word) {
            word.push('\'');
        }
        *label = Box::from(word.as_str());
        taken.insert(word);
    }
    labels
}

/// Whether no text is there twice. To sort them takes less time than to hash them, and hardly ever is one there twice.
fn are_distinct(values: &[&Value]) -> bool {
    let mut texts: Vec<&str> = values.iter().filter_map(|value| value.as_str()).collect();
    texts.sort_unstable();
    texts.windows(2).all(|pair| pair.first() != pair.get(1))
}
