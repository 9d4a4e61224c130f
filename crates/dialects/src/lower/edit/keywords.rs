//! What becomes of one keyword.

use super::reader::members::is_trivial_name_rule;
use super::{Edit, Exactness, NodeEdit};
use crate::dialect::{Defaults, RefStyle, Verdict};
use crate::json::Json;
use crate::report::PathId;
use crate::schema::repair::{Checked, check};
use crate::schema::{Keyword, Kind, Members, TypeSet, pattern};
use crate::text::{Note, is_mentioned};
use serde_json::Value;

impl<'a> Edit<'a, '_> {
    pub(super) fn edit_keyword(&mut self, node: &mut NodeEdit<'a>) {
        let (name, value) = (node.name, node.value);
        let Some(keyword) = Keyword::parse(name) else {
            match self.rules.keywords.unknown {
                Verdict::Keep | Verdict::Hint => self.edit_unknown(node),
                Verdict::Describe => self.remove(node, "not a keyword of this dialect"),
                Verdict::Drop => self.drop_keyword(node, "not a keyword of JSON Schema"),
            }
            return;
        };
        if self.resolver.ref_hides_siblings
            && !matches!(keyword, Keyword::Ref | Keyword::Defs | Keyword::Definitions)
            && !matches!(keyword.kind(), Kind::Annotation | Kind::Hint)
            && node.map.has("$ref")
        {
            return self.rewrite(node, "this draft ignores it beside $ref");
        }
        match check(keyword, value) {
            Checked::Fine => {}
            Checked::Repaired(json) => {
                self.rewrite(node, "repaired: not what the keyword asks for");
                if keyword == Keyword::Required {
                    node.write(self.renamed_list(json));
                } else if keyword == Keyword::Enum
                    && self.rules.satisfiable
                    && !node.types.contains(TypeSet::of(value))
                {
                    // The one value that stood for a list: nothing can have it.
                    node.exact = false;
                } else if self.rules.keywords.of(keyword) == Verdict::Keep {
                    node.write(json);
                } else {
                    node.notes.push(Note::Keyword(name, value));
                }
                return;
            }
            Checked::Unusable => return self.edit_unusable(keyword, node),
        }
        match self.rules.keywords.of(keyword) {
            Verdict::Drop => return self.drop_keyword(node, "an annotation"),
            Verdict::Describe => {
                if keyword == Keyword::PropertyNames && is_trivial_name_rule(value) {
                    return self.rewrite(node, "keys are text anyway");
                }
                if keyword == Keyword::OneOf {
                    return self.edit_list(keyword, node);
                }
                node.patterns_gone |= keyword == Keyword::PatternProperties;
                return self.remove(node, "not a keyword of this dialect");
            }
            Verdict::Hint if is_mentioned(self.rules.text, keyword, value) => {
                node.notes.push(Note::Keyword(name, value));
            }
            Verdict::Keep | Verdict::Hint => {}
        }
        match keyword {
            _ if !self.takes_number(keyword, value) => {
                self.remove(node, "the dialect does not take such a number");
            }
            Keyword::PatternProperties
                if value.as_object().is_some_and(|table| {
                    !table.keys().all(|text| pattern::takes(self.rules.patterns, text))
                }) =>
            {
                node.patterns_gone = true;
                self.remove(node, "the dialect does not take such a regular expression");
            }
            Keyword::PatternProperties | Keyword::PropertyNames
                if self.known.misled.contains(&std::ptr::from_ref(node.source.schema))
                    && !(keyword == Keyword::PropertyNames && is_trivial_name_rule(value)) =>
            {
                node.patterns_gone |= keyword == Keyword::PatternProperties;
                self.remove(node, "keys travel under other names");
            }
            Keyword::Defs | Keyword::Definitions if self.rules.refs == RefStyle::Defs => {
                self.rewrite(node, "what is used stands at the root");
            }
            Keyword::Id | Keyword::DraftFourId if node.source.path != PathId::ROOT && value.is_string() => {
                // References no longer need it: they are written as pointers.
                self.drop_keyword(node, "an annotation");
            }
            Keyword::Minimum | Keyword::Maximum | Keyword::ExclusiveMinimum | Keyword::ExclusiveMaximum
                if self.choices.whole_bounds && node.types == TypeSet::INTEGER =>
            {
                self.edit_whole_bound(keyword, node);
            }
            Keyword::Properties => self.edit_properties(node),
            Keyword::PatternProperties | Keyword::Defs | Keyword::Definitions | Keyword::DependentSchemas => {
                self.edit_table(node);
            }
            Keyword::Required => self.edit_required(node),
            Keyword::Items => self.edit_items(node),
            Keyword::AdditionalItems => {
                if node.map.member("items").is_some_and(Value::is_array) && !self.rules.items_lists {
                    // Written as `items` beside `prefixItems`.
                    node.changed = true;
                } else {
                    self.edit_child(node, Exactness::Free);
                }
            }
            Keyword::ContentSchema if value.is_object() => {
                self.edit_child(node, Exactness::Free);
            }
            Keyword::AdditionalProperties
            | Keyword::Then
            | Keyword::Else
            | Keyword::UnevaluatedItems
            | Keyword::UnevaluatedProperties => self.edit_child(node, Exactness::Free),
            Keyword::Not | Keyword::If | Keyword::Contains | Keyword::PropertyNames => {
                self.edit_child(node, Exactness::Needed);
            }
            Keyword::AnyOf | Keyword::AllOf | Keyword::PrefixItems | Keyword::OneOf => {
                self.edit_list(keyword, node);
            }
            Keyword::Ref => self.edit_reference(node),
            Keyword::DynamicRef | Keyword::RecursiveRef if self.resolver.has_resources() => {
                self.remove(node, "it depends on ids, which are gone");
            }
            Keyword::DependentRequired | Keyword::Dependencies if self.mentions_renamed(value) => {
                self.remove(node, "keys travel under other names");
            }
            Keyword::Dependencies => self.edit_table(node),
            Keyword::Enum | Keyword::Const if self.holds_renamed(value) => {
                self.remove(node, "keys travel under other names");
            }
            Keyword::Default => match self.defaults() {
                Defaults::Keep => node.keep(),
                Defaults::Strip => self.drop_keyword(node, "defaults are stripped"),
                Defaults::Describe => {
                    node.changed = true;
                    node.notes.push(Note::Default(value));
                    self.described(node.source.path, name, Some(value), "defaults cannot be said here");
                }
            },
            Keyword::Pattern
                if !value.as_str().is_some_and(|text| pattern::takes(self.rules.patterns, text)) =>
            {
                self.remove(node, "the dialect does not take this regular expression");
            }
            Keyword::Format
                if !value.as_str().is_some_and(|format| self.takes_format(format, node.types)) =>
            {
                self.remove(node, "the dialect does not take this format");
            }
            Keyword::Enum if self.rules.satisfiable => self.edit_enum(node),
            _ => node.keep(),
        }
    }

    /// Leaves the keyword to what else says the same.
    pub(super) fn rewrite(&mut self, node: &mut NodeEdit<'a>, reason: &'static str) {
        node.changed = true;
        self.rewritten(node.source.path, node.name, Some(node.value), reason);
    }

    /// Takes a constraint out of the schema and into the description.
    pub(super) fn remove(&mut self, node: &mut NodeEdit<'a>, reason: &'static str) {
        node.changed = true;
        node.exact = false;
        node.notes.push(Note::Keyword(node.name, node.value));
        self.described(node.source.path, node.name, Some(node.value), reason);
    }

    /// Takes a keyword that has been written out of the schema again, and into the description.
    pub(super) fn withdraw(&mut self, name: &'a str, node: &mut NodeEdit<'a>, reason: &'static str) {
        if let Some(value) = node.map.member(name).filter(|_| node.has(name)) {
            self.abandoned |= value.is_object();
            node.out.retain(|(known, _)| known != name);
            (node.name, node.value) = (name, value);
            self.remove(node, reason);
        }
    }

    fn drop_keyword(&mut self, node: &mut NodeEdit<'a>, reason: &'static str) {
        node.changed = true;
        self.dropped(node.source.path, node.name, Some(node.value), reason);
    }

    fn edit_unusable(&mut self, keyword: Keyword, node: &mut NodeEdit<'a>) {
        match (keyword, node.value) {
            (Keyword::ExclusiveMinimum | Keyword::ExclusiveMaximum, Value::Bool(flag)) => {
                self.rewrite(node, "a flag on the bound, as in draft 4");
                let bound = if keyword == Keyword::ExclusiveMinimum { "minimum" } else { "maximum" };
                if *flag && let Some(bound) = node.map.member(bound).filter(|bound| bound.is_number()) {
                    node.write(Json::Same(bound));
                }
            }
            (_, Value::Null) | (Keyword::Required, Value::Bool(_)) => {
                self.rewrite(node, "says nothing in this form");
            }
            _ => self.remove(node, "not what the keyword asks for"),
        }
    }
}
