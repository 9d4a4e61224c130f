//! Lowering keyword by keyword, for dialects that read JSON Schema: structure and order stay.

mod children;
mod definitions;
mod references;
mod rename;
mod root;
mod values;

use super::Lowerer;
use crate::dialect::{Defaults, RefStyle, Verdict};
use crate::json::Json;
use crate::report::{Fate, PathId};
use crate::schema::repair::{Checked, check, type_alias};
use crate::schema::{Keyword, Kind, Members, Source, TypeSet, pattern};
use crate::text::{Note, compose, has_hint};
use serde_json::{Map, Value};
use std::borrow::Cow;

type Entries<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// An edited schema.
struct Edited<'a> {
    json: Json<'a>,
    /// Whether it takes the same values as before, under the same names.
    exact: bool,
    /// Whether that relies on what it refers to.
    relies: bool,
}

/// What is known about a node while its keywords are read.
struct Draft<'a> {
    schema: &'a Value,
    path: PathId,
    resource: usize,
    map: &'a Map<String, Value>,
    types: TypeSet,
    out: Entries<'a>,
    notes: Vec<Note<'a>>,
    changed: bool,
    exact: bool,
    /// Whether `exact` relies on what the node refers to.
    relies: bool,
    patterns_gone: bool,
}

impl<'a> Lowerer<'a, '_> {
    fn edit(&mut self, source: Source<'a>) -> Edited<'a> {
        let map = match source.schema {
            Value::Object(map) => map,
            Value::Bool(flag) => {
                if self.rules.boolean_schemas {
                    return Edited { json: Json::Same(source.schema), exact: true, relies: false };
                }
                self.change(
                    source.path,
                    "",
                    Some(source.schema),
                    Fate::Rewritten,
                    "boolean schemas are not taken",
                );
                let json = if *flag {
                    Json::Object(Vec::new())
                } else {
                    Json::object([("description", Json::literal("No value is allowed here"))])
                };
                return Edited { json, exact: *flag, relies: false };
            }
            other => {
                self.change(source.path, "", Some(other), Fate::Rewritten, "not a schema");
                let named = other.as_str().and_then(type_alias);
                let json = named
                    .map_or(Json::Object(Vec::new()), |name| Json::object([("type", Json::literal(name))]));
                return Edited { json, exact: false, relies: false };
            }
        };
        let mut draft = Draft {
            schema: source.schema,
            path: source.path,
            resource: self.resolver.resource_of(source.schema, source.resource),
            map,
            types: declared_types(map),
            out: Vec::with_capacity(map.len() + 1),
            notes: Vec::new(),
            changed: false,
            exact: true,
            relies: false,
            patterns_gone: false,
        };
        for (name, value) in map {
            self.edit_keyword(name, value, &mut draft);
        }
        self.finish(&mut draft);
        let Draft { exact, relies, .. } = draft;
        if !exact {
            self.inexact.push(source.schema);
        }
        let json = if draft.changed { Json::Object(draft.out) } else { Json::Same(source.schema) };
        Edited { json, exact, relies }
    }

    fn edit_keyword(&mut self, name: &'a str, value: &'a Value, draft: &mut Draft<'a>) {
        let Some(keyword) = Keyword::parse(name) else {
            match self.rules.keywords.unknown {
                Verdict::Keep | Verdict::Hint => draft.out.push((Cow::Borrowed(name), Json::Same(value))),
                Verdict::Describe => self.remove(name, value, draft, "not a keyword of this dialect"),
                Verdict::Drop => self.drop_keyword(name, value, draft, "not a keyword of JSON Schema"),
            }
            return;
        };
        if self.draft.ref_hides_siblings
            && !matches!(keyword, Keyword::Ref | Keyword::Defs | Keyword::Definitions)
            && !matches!(keyword.kind(), Kind::Annotation | Kind::Hint)
            && draft.map.has("$ref")
        {
            draft.changed = true;
            self.change(draft.path, name, Some(value), Fate::Rewritten, "this draft ignores it beside $ref");
            return;
        }
        match check(keyword, value) {
            Checked::Fine => {}
            Checked::Mended(json) => {
                draft.changed = true;
                self.change(
                    draft.path,
                    name,
                    Some(value),
                    Fate::Rewritten,
                    "mended: not what the keyword asks for",
                );
                if keyword == Keyword::Required {
                    draft.out.push((Cow::Borrowed(name), self.renamed_list(json)));
                } else if keyword == Keyword::Enum
                    && self.rules.satisfiable
                    && !draft.types.contains(TypeSet::of(value))
                {
                    // The one value that stood in place of a list: nothing can have it.
                    draft.exact = false;
                } else if self.rules.keywords.of(keyword) == Verdict::Keep {
                    draft.out.push((Cow::Borrowed(name), json));
                } else {
                    draft.notes.push(Note::Keyword(name, value));
                }
                return;
            }
            Checked::Unusable => {
                self.edit_unusable(keyword, value, draft);
                return;
            }
        }
        match self.rules.keywords.of(keyword) {
            Verdict::Drop => return self.drop_keyword(name, value, draft, "an annotation"),
            Verdict::Describe => {
                if keyword == Keyword::PropertyNames && is_trivial_name_rule(value) {
                    draft.changed = true;
                    self.change(draft.path, name, Some(value), Fate::Rewritten, "keys are text anyway");
                    return;
                }
                if keyword == Keyword::OneOf {
                    return self.edit_list(keyword, name, value, draft);
                }
                draft.patterns_gone |= keyword == Keyword::PatternProperties;
                return self.remove(name, value, draft, "not a keyword of this dialect");
            }
            Verdict::Hint if has_hint(name, value) => draft.notes.push(Note::Keyword(name, value)),
            Verdict::Keep | Verdict::Hint => {}
        }
        match keyword {
            _ if !self.takes_number(keyword, value) => {
                self.remove(name, value, draft, "the dialect does not take such a number");
            }
            Keyword::PatternProperties
                if value.as_object().is_some_and(|table| {
                    !table.keys().all(|text| pattern::takes(self.rules.patterns, text))
                }) =>
            {
                draft.patterns_gone = true;
                self.remove(name, value, draft, "the dialect does not take such a regular expression");
            }
            Keyword::PatternProperties | Keyword::PropertyNames
                if self.known.misled.contains(&std::ptr::from_ref(draft.schema))
                    && !(keyword == Keyword::PropertyNames && is_trivial_name_rule(value)) =>
            {
                draft.patterns_gone |= keyword == Keyword::PatternProperties;
                self.remove(name, value, draft, "keys travel under other names");
            }
            Keyword::Defs | Keyword::Definitions if self.rules.refs == RefStyle::Defs => {
                draft.changed = true;
                self.change(
                    draft.path,
                    name,
                    Some(value),
                    Fate::Rewritten,
                    "what is used stands at the root",
                );
            }
            Keyword::Id | Keyword::DraftFourId if draft.path != PathId::ROOT && value.is_string() => {
                // References no longer need it: they are written as pointers.
                self.drop_keyword(name, value, draft, "an annotation");
            }
            Keyword::Minimum | Keyword::Maximum | Keyword::ExclusiveMinimum | Keyword::ExclusiveMaximum
                if self.rules.whole_bounds && draft.types == TypeSet::INTEGER =>
            {
                self.edit_whole_bound(keyword, value, draft);
            }
            Keyword::Properties => self.edit_properties(name, value, draft),
            Keyword::PatternProperties | Keyword::Defs | Keyword::Definitions | Keyword::DependentSchemas => {
                self.edit_table(name, value, draft);
            }
            Keyword::Required => self.edit_required(name, value, draft),
            Keyword::Items => self.edit_items(name, value, draft),
            Keyword::AdditionalItems => {
                if draft.map.member("items").is_some_and(Value::is_array) && !self.rules.items_lists {
                    // Written as `items` beside `prefixItems`.
                    draft.changed = true;
                } else {
                    self.edit_child(name, value, draft, Exactness::Free);
                }
            }
            Keyword::ContentSchema if value.is_object() => {
                self.edit_child(name, value, draft, Exactness::Free);
            }
            Keyword::AdditionalProperties
            | Keyword::Then
            | Keyword::Else
            | Keyword::UnevaluatedItems
            | Keyword::UnevaluatedProperties => self.edit_child(name, value, draft, Exactness::Free),
            Keyword::Not | Keyword::If | Keyword::Contains | Keyword::PropertyNames => {
                self.edit_child(name, value, draft, Exactness::Needed);
            }
            Keyword::AnyOf | Keyword::AllOf | Keyword::PrefixItems | Keyword::OneOf => {
                self.edit_list(keyword, name, value, draft);
            }
            Keyword::Ref => self.edit_reference(name, value, draft),
            Keyword::DynamicRef | Keyword::RecursiveRef if self.resolver.has_resources() => {
                self.remove(name, value, draft, "it depends on ids, which are gone");
            }
            Keyword::DependentRequired | Keyword::Dependencies if self.mentions_renamed(value) => {
                self.remove(name, value, draft, "keys travel under other names");
            }
            Keyword::Dependencies => self.edit_table(name, value, draft),
            Keyword::Enum | Keyword::Const if self.holds_renamed(value) => {
                self.remove(name, value, draft, "keys travel under other names");
            }
            Keyword::Default => match self.defaults {
                Defaults::Keep => draft.out.push((Cow::Borrowed(name), Json::Same(value))),
                Defaults::Strip => self.drop_keyword(name, value, draft, "defaults are stripped"),
                Defaults::Describe => {
                    draft.changed = true;
                    draft.notes.push(Note::Default(value));
                    self.change(
                        draft.path,
                        name,
                        Some(value),
                        Fate::Described,
                        "defaults cannot be said here",
                    );
                }
            },
            Keyword::Pattern
                if !value.as_str().is_some_and(|text| pattern::takes(self.rules.patterns, text)) =>
            {
                self.remove(name, value, draft, "the dialect does not take this regular expression");
            }
            Keyword::Format
                if !value.as_str().is_some_and(|format| self.takes_format(format, draft.types)) =>
            {
                self.remove(name, value, draft, "the dialect does not take this format");
            }
            Keyword::Enum if self.rules.satisfiable => self.edit_enum(name, value, draft),
            _ => draft.out.push((Cow::Borrowed(name), Json::Same(value))),
        }
    }

    /// Takes a constraint out of the schema and into the description.
    fn remove(&mut self, name: &'a str, value: &'a Value, draft: &mut Draft<'a>, reason: &'static str) {
        draft.changed = true;
        draft.exact = false;
        draft.notes.push(Note::Keyword(name, value));
        self.change(draft.path, name, Some(value), Fate::Described, reason);
    }

    fn drop_keyword(&mut self, name: &'a str, value: &'a Value, draft: &mut Draft<'a>, reason: &'static str) {
        draft.changed = true;
        self.change(draft.path, name, Some(value), Fate::Dropped, reason);
    }

    fn edit_unusable(&mut self, keyword: Keyword, value: &'a Value, draft: &mut Draft<'a>) {
        draft.changed = true;
        let name = keyword.name();
        match (keyword, value) {
            (Keyword::ExclusiveMinimum | Keyword::ExclusiveMaximum, Value::Bool(flag)) => {
                self.change(
                    draft.path,
                    name,
                    Some(value),
                    Fate::Rewritten,
                    "a flag on the bound, as in draft 4",
                );
                let bound = if keyword == Keyword::ExclusiveMinimum { "minimum" } else { "maximum" };
                if *flag && let Some(bound) = draft.map.member(bound).filter(|bound| bound.is_number()) {
                    draft.out.push((Cow::Borrowed(name), Json::Same(bound)));
                }
            }
            (_, Value::Null) | (Keyword::Required, Value::Bool(_)) => {
                self.change(draft.path, name, Some(value), Fate::Rewritten, "says nothing in this form");
            }
            _ => self.remove(name, value, draft, "not what the keyword asks for"),
        }
    }

    /// What depends on the whole node.
    fn finish(&mut self, draft: &mut Draft<'a>) {
        let has = |out: &Entries<'a>, name: &str| out.iter().any(|(known, _)| known == name);
        if self.rules.items_required
            && draft.map.has("type")
            && draft.types.contains(TypeSet::ARRAY)
            && !has(&draft.out, "items")
            && !has(&draft.out, "prefixItems")
        {
            draft.changed = true;
            self.change(
                draft.path,
                "items",
                draft.map.member("items"),
                Fate::Rewritten,
                "the dialect wants to know the items",
            );
            draft.out.push((Cow::Borrowed("items"), Json::Object(Vec::new())));
            // All items are looked at now, so none is left to be unevaluated.
            draft.exact &= !draft.map.contains_key("unevaluatedItems");
        }
        if draft.patterns_gone
            && let Some(value) =
                draft.map.member("additionalProperties").filter(|value| *value != &Value::Bool(true))
            && has(&draft.out, "additionalProperties")
        {
            self.abandoned = true;
            draft.out.retain(|(name, _)| name != "additionalProperties");
            self.remove("additionalProperties", value, draft, "it speaks of what the patterns leave");
        }
        if self.rules.satisfiable {
            self.drop_contradictions(draft);
        }
        if self.rules.pattern_alone && has(&draft.out, "pattern") {
            for name in ["minLength", "maxLength"] {
                if let Some(value) = draft.map.member(name).filter(|_| has(&draft.out, name)) {
                    draft.out.retain(|(known, _)| known != name);
                    self.remove(name, value, draft, "not taken beside a pattern");
                }
            }
        }
        for name in ["unevaluatedProperties", "unevaluatedItems"] {
            self.relied |= draft.exact && draft.relies && has(&draft.out, name);
            if !draft.exact
                && let Some(value) = draft.map.member(name).filter(|_| has(&draft.out, name))
            {
                self.abandoned = true;
                draft.out.retain(|(known, _)| known != name);
                self.remove(name, value, draft, "it speaks of what other keywords leave");
            }
        }
        // A condition that is gone takes its consequences along.
        if draft.map.has("if") && !has(&draft.out, "if") {
            for name in ["then", "else"] {
                if let Some(value) = draft.map.member(name).filter(|_| has(&draft.out, name)) {
                    self.abandoned = true;
                    draft.out.retain(|(known, _)| known != name);
                    self.remove(name, value, draft, "its condition cannot be said here");
                }
            }
        }
        if draft.notes.is_empty() {
            return;
        }
        draft.changed = true;
        let at = draft.out.iter().position(|(name, _)| name == "description");
        let description = at.and_then(|at| draft.out.get(at)).and_then(|(_, json)| match json {
            Json::Same(Value::String(text)) => Some(Cow::Borrowed(text.as_str())),
            Json::Text(text) => Some(text.clone()),
            _ => None,
        });
        let Some(text) = compose(self.rules.text, description, &draft.notes) else { return };
        let entry = (Cow::Borrowed("description"), Json::Text(text));
        match at.and_then(|at| draft.out.get_mut(at)) {
            Some(slot) => *slot = entry,
            None => draft.out.push(entry),
        }
    }
}

/// Whether a sub-schema may be loosened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exactness {
    Free,
    Needed,
}

impl<'a> Draft<'a> {
    /// Takes over what is known about a part of the node.
    fn adopt(&mut self, part: &Edited<'a>) {
        self.exact &= part.exact;
        self.relies |= part.relies;
    }

    fn push(&mut self, name: &'a str, value: &'a Value, changed: bool, json: impl FnOnce() -> Json<'a>) {
        self.changed |= changed;
        self.out.push((Cow::Borrowed(name), if changed { json() } else { Json::Same(value) }));
    }
}

fn into_entries(json: Json<'_>) -> Entries<'_> {
    match json {
        Json::Object(entries) => entries,
        Json::Same(Value::Object(map)) => {
            map.iter().map(|(name, value)| (Cow::Borrowed(name.as_str()), Json::Same(value))).collect()
        }
        _ => Vec::new(),
    }
}

fn declared_types(map: &Map<String, Value>) -> TypeSet {
    // Slips such as `int` are mended elsewhere; they mean a type here too.
    let read = |name: &str| TypeSet::named(name).or_else(|| type_alias(name).and_then(TypeSet::named));
    match map.member("type") {
        Some(Value::String(name)) => read(name).unwrap_or(TypeSet::ALL),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).filter_map(read).fold(TypeSet::NONE, TypeSet::or)
        }
        _ => TypeSet::ALL,
    }
}

/// Keys are always text: a rule that says only that says nothing.
fn is_trivial_name_rule(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => *flag,
        Value::Object(map) => map.iter().all(|(name, value)| name == "type" && value == "string"),
        _ => false,
    }
}
