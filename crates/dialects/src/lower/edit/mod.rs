//! Lowering keyword by keyword, for dialects that read JSON Schema: structure and order stay.

mod children;
mod definitions;
mod references;
mod rename;
mod root;
mod values;

use super::reader::{Reach, Reader};
use super::{Excess, LoweredSchema, Size, reader};
use crate::dialect::{Defaults, Dialect, EditRules, RefStyle, Verdict};
use crate::json::Json;
use crate::options::Options;
use crate::report::PathId;
use crate::schema::repair::{Checked, check, type_alias};
use crate::schema::{Keyword, Kind, Members, Source, TypeSet, pattern};
use crate::text::{Note, compose, has_hint};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::{Deref, DerefMut};

type Entries<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// The state of editing one schema.
pub(super) struct Edit<'a, 'r> {
    reader: Reader<'a, 'r>,
    choices: &'r EditRules,
    /// What an earlier attempt has shown.
    known: &'r Findings,
    definitions: Vec<Definition<'a>>,
    /// Schemas that take more values than before.
    inexact: Vec<&'a Value>,
    /// References that stay where they are: what is written, and what it named.
    kept_references: Vec<(Cow<'a, str>, &'a Value)>,
    /// Whether something that needs an exact sub-schema relied on a reference.
    relied: bool,
    /// Whether something was edited and then left out.
    abandoned: bool,
    /// Whether the result uses what only 2020-12 knows.
    modern: bool,
}

/// A definition at the root that references are pointed to.
struct Definition<'a> {
    target: Source<'a>,
    name: String,
    /// Absent until it is edited: definitions can refer to each other without end, so that they take turns.
    json: Option<Json<'a>>,
}

/// What only the whole edited schema shows, so that it is edited once more.
#[derive(Debug, Default)]
struct Findings {
    /// Schemas that came out looser than they were, where something else relied on them.
    inexact: HashSet<*const Value>,
    /// Schemas that references name and that are no longer where they were.
    gone: HashSet<*const Value>,
    /// Schemas whose rules about the look of keys would judge the names under which keys travel.
    misled: HashSet<*const Value>,
}

impl Findings {
    /// Whether `more` has anything new.
    fn learn(&mut self, more: Self) -> bool {
        let before = self.count();
        self.inexact.extend(more.inexact);
        self.gone.extend(more.gone);
        self.misled.extend(more.misled);
        self.count() > before
    }

    fn count(&self) -> usize {
        self.inexact.len() + self.gone.len() + self.misled.len()
    }
}

// Everything that is edited is read first: most methods need both.
impl<'a, 'r> Deref for Edit<'a, 'r> {
    type Target = Reader<'a, 'r>;

    fn deref(&self) -> &Self::Target {
        &self.reader
    }
}

impl DerefMut for Edit<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.reader
    }
}

/// Lowers `schema`, whose size has been checked.
pub(super) fn lower<'a>(
    schema: &'a Value,
    size: &Size,
    dialect: &Dialect,
    choices: &EditRules,
    options: &Options,
) -> LoweredSchema<'a> {
    let mut known = Findings::default();
    // Ends, because what is known only grows.
    loop {
        let edit = Edit {
            reader: Reader::new(schema, size, dialect, options, Reach::new(1)),
            choices,
            known: &known,
            definitions: Vec::new(),
            inexact: Vec::new(),
            kept_references: Vec::new(),
            relied: false,
            abandoned: false,
            modern: false,
        };
        let (lowered, found) = edit.edit_root();
        if !known.learn(found) {
            return lowered;
        }
    }
}

/// An edited schema.
struct Edited<'a> {
    json: Json<'a>,
    /// Whether it takes the same values as before, under the same names.
    exact: bool,
    /// Whether that relies on what it refers to.
    relies: bool,
}

/// What is known about a node while its keywords are read.
struct NodeEdit<'a> {
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

impl<'a> Edit<'a, '_> {
    fn edit(&mut self, source: Source<'a>) -> Edited<'a> {
        let map = match source.schema {
            Value::Object(map) => map,
            Value::Bool(flag) => {
                if self.rules.boolean_schemas {
                    return Edited { json: Json::Same(source.schema), exact: true, relies: false };
                }
                self.rewritten(source.path, "", Some(source.schema), "boolean schemas are not taken");
                let json = if *flag {
                    Json::Object(Vec::new())
                } else {
                    Json::object([("description", Json::literal("No value is allowed here"))])
                };
                return Edited { json, exact: *flag, relies: false };
            }
            other => {
                self.rewritten(source.path, "", Some(other), "not a schema");
                let named = other.as_str().and_then(type_alias);
                let json = named
                    .map_or(Json::Object(Vec::new()), |name| Json::object([("type", Json::literal(name))]));
                return Edited { json, exact: false, relies: false };
            }
        };
        let mut node = NodeEdit {
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
            self.edit_keyword(name, value, &mut node);
        }
        self.finish(&mut node);
        let NodeEdit { exact, relies, .. } = node;
        if !exact {
            self.inexact.push(source.schema);
        }
        let json = if node.changed { Json::Object(node.out) } else { Json::Same(source.schema) };
        Edited { json, exact, relies }
    }

    fn edit_keyword(&mut self, name: &'a str, value: &'a Value, node: &mut NodeEdit<'a>) {
        let Some(keyword) = Keyword::parse(name) else {
            match self.rules.keywords.unknown {
                Verdict::Keep | Verdict::Hint => node.out.push((Cow::Borrowed(name), Json::Same(value))),
                Verdict::Describe => self.remove(name, value, node, "not a keyword of this dialect"),
                Verdict::Drop => self.drop_keyword(name, value, node, "not a keyword of JSON Schema"),
            }
            return;
        };
        if self.resolver.ref_hides_siblings
            && !matches!(keyword, Keyword::Ref | Keyword::Defs | Keyword::Definitions)
            && !matches!(keyword.kind(), Kind::Annotation | Kind::Hint)
            && node.map.has("$ref")
        {
            node.changed = true;
            self.rewritten(node.path, name, Some(value), "this draft ignores it beside $ref");
            return;
        }
        match check(keyword, value) {
            Checked::Fine => {}
            Checked::Mended(json) => {
                node.changed = true;
                self.rewritten(node.path, name, Some(value), "mended: not what the keyword asks for");
                if keyword == Keyword::Required {
                    node.out.push((Cow::Borrowed(name), self.renamed_list(json)));
                } else if keyword == Keyword::Enum
                    && self.rules.satisfiable
                    && !node.types.contains(TypeSet::of(value))
                {
                    // The one value that stood in place of a list: nothing can have it.
                    node.exact = false;
                } else if self.rules.keywords.of(keyword) == Verdict::Keep {
                    node.out.push((Cow::Borrowed(name), json));
                } else {
                    node.notes.push(Note::Keyword(name, value));
                }
                return;
            }
            Checked::Unusable => {
                self.edit_unusable(keyword, value, node);
                return;
            }
        }
        match self.rules.keywords.of(keyword) {
            Verdict::Drop => return self.drop_keyword(name, value, node, "an annotation"),
            Verdict::Describe => {
                if keyword == Keyword::PropertyNames && is_trivial_name_rule(value) {
                    node.changed = true;
                    self.rewritten(node.path, name, Some(value), "keys are text anyway");
                    return;
                }
                if keyword == Keyword::OneOf {
                    return self.edit_list(keyword, name, value, node);
                }
                node.patterns_gone |= keyword == Keyword::PatternProperties;
                return self.remove(name, value, node, "not a keyword of this dialect");
            }
            Verdict::Hint if has_hint(name, value) => node.notes.push(Note::Keyword(name, value)),
            Verdict::Keep | Verdict::Hint => {}
        }
        match keyword {
            _ if !self.takes_number(keyword, value) => {
                self.remove(name, value, node, "the dialect does not take such a number");
            }
            Keyword::PatternProperties
                if value.as_object().is_some_and(|table| {
                    !table.keys().all(|text| pattern::takes(self.rules.patterns, text))
                }) =>
            {
                node.patterns_gone = true;
                self.remove(name, value, node, "the dialect does not take such a regular expression");
            }
            Keyword::PatternProperties | Keyword::PropertyNames
                if self.known.misled.contains(&std::ptr::from_ref(node.schema))
                    && !(keyword == Keyword::PropertyNames && is_trivial_name_rule(value)) =>
            {
                node.patterns_gone |= keyword == Keyword::PatternProperties;
                self.remove(name, value, node, "keys travel under other names");
            }
            Keyword::Defs | Keyword::Definitions if self.rules.refs == RefStyle::Defs => {
                node.changed = true;
                self.rewritten(node.path, name, Some(value), "what is used stands at the root");
            }
            Keyword::Id | Keyword::DraftFourId if node.path != PathId::ROOT && value.is_string() => {
                // References no longer need it: they are written as pointers.
                self.drop_keyword(name, value, node, "an annotation");
            }
            Keyword::Minimum | Keyword::Maximum | Keyword::ExclusiveMinimum | Keyword::ExclusiveMaximum
                if self.choices.whole_bounds && node.types == TypeSet::INTEGER =>
            {
                self.edit_whole_bound(keyword, value, node);
            }
            Keyword::Properties => self.edit_properties(name, value, node),
            Keyword::PatternProperties | Keyword::Defs | Keyword::Definitions | Keyword::DependentSchemas => {
                self.edit_table(name, value, node);
            }
            Keyword::Required => self.edit_required(name, value, node),
            Keyword::Items => self.edit_items(name, value, node),
            Keyword::AdditionalItems => {
                if node.map.member("items").is_some_and(Value::is_array) && !self.rules.items_lists {
                    // Written as `items` beside `prefixItems`.
                    node.changed = true;
                } else {
                    self.edit_child(name, value, node, Exactness::Free);
                }
            }
            Keyword::ContentSchema if value.is_object() => {
                self.edit_child(name, value, node, Exactness::Free);
            }
            Keyword::AdditionalProperties
            | Keyword::Then
            | Keyword::Else
            | Keyword::UnevaluatedItems
            | Keyword::UnevaluatedProperties => self.edit_child(name, value, node, Exactness::Free),
            Keyword::Not | Keyword::If | Keyword::Contains | Keyword::PropertyNames => {
                self.edit_child(name, value, node, Exactness::Needed);
            }
            Keyword::AnyOf | Keyword::AllOf | Keyword::PrefixItems | Keyword::OneOf => {
                self.edit_list(keyword, name, value, node);
            }
            Keyword::Ref => self.edit_reference(name, value, node),
            Keyword::DynamicRef | Keyword::RecursiveRef if self.resolver.has_resources() => {
                self.remove(name, value, node, "it depends on ids, which are gone");
            }
            Keyword::DependentRequired | Keyword::Dependencies if self.mentions_renamed(value) => {
                self.remove(name, value, node, "keys travel under other names");
            }
            Keyword::Dependencies => self.edit_table(name, value, node),
            Keyword::Enum | Keyword::Const if self.holds_renamed(value) => {
                self.remove(name, value, node, "keys travel under other names");
            }
            Keyword::Default => match self.defaults() {
                Defaults::Keep => node.out.push((Cow::Borrowed(name), Json::Same(value))),
                Defaults::Strip => self.drop_keyword(name, value, node, "defaults are stripped"),
                Defaults::Describe => {
                    node.changed = true;
                    node.notes.push(Note::Default(value));
                    self.described(node.path, name, Some(value), "defaults cannot be said here");
                }
            },
            Keyword::Pattern
                if !value.as_str().is_some_and(|text| pattern::takes(self.rules.patterns, text)) =>
            {
                self.remove(name, value, node, "the dialect does not take this regular expression");
            }
            Keyword::Format
                if !value.as_str().is_some_and(|format| self.takes_format(format, node.types)) =>
            {
                self.remove(name, value, node, "the dialect does not take this format");
            }
            Keyword::Enum if self.rules.satisfiable => self.edit_enum(name, value, node),
            _ => node.out.push((Cow::Borrowed(name), Json::Same(value))),
        }
    }

    /// Takes a constraint out of the schema and into the description.
    fn remove(&mut self, name: &'a str, value: &'a Value, node: &mut NodeEdit<'a>, reason: &'static str) {
        node.changed = true;
        node.exact = false;
        node.notes.push(Note::Keyword(name, value));
        self.described(node.path, name, Some(value), reason);
    }

    fn drop_keyword(
        &mut self,
        name: &'a str,
        value: &'a Value,
        node: &mut NodeEdit<'a>,
        reason: &'static str,
    ) {
        node.changed = true;
        self.dropped(node.path, name, Some(value), reason);
    }

    fn edit_unusable(&mut self, keyword: Keyword, value: &'a Value, node: &mut NodeEdit<'a>) {
        node.changed = true;
        let name = keyword.name();
        match (keyword, value) {
            (Keyword::ExclusiveMinimum | Keyword::ExclusiveMaximum, Value::Bool(flag)) => {
                self.rewritten(node.path, name, Some(value), "a flag on the bound, as in draft 4");
                let bound = if keyword == Keyword::ExclusiveMinimum { "minimum" } else { "maximum" };
                if *flag && let Some(bound) = node.map.member(bound).filter(|bound| bound.is_number()) {
                    node.out.push((Cow::Borrowed(name), Json::Same(bound)));
                }
            }
            (_, Value::Null) | (Keyword::Required, Value::Bool(_)) => {
                self.rewritten(node.path, name, Some(value), "says nothing in this form");
            }
            _ => self.remove(name, value, node, "not what the keyword asks for"),
        }
    }

    /// What depends on the whole node.
    fn finish(&mut self, node: &mut NodeEdit<'a>) {
        let has = |out: &Entries<'a>, name: &str| out.iter().any(|(known, _)| known == name);
        if self.rules.items_required
            && node.map.has("type")
            && node.types.contains(TypeSet::ARRAY)
            && !has(&node.out, "items")
            && !has(&node.out, "prefixItems")
        {
            node.changed = true;
            self.rewritten(
                node.path,
                "items",
                node.map.member("items"),
                "the dialect wants to know the items",
            );
            node.out.push((Cow::Borrowed("items"), Json::Object(Vec::new())));
            // All items are looked at now, so none is left to be unevaluated.
            node.exact &= !node.map.contains_key("unevaluatedItems");
        }
        if node.patterns_gone
            && let Some(value) =
                node.map.member("additionalProperties").filter(|value| *value != &Value::Bool(true))
            && has(&node.out, "additionalProperties")
        {
            self.abandoned = true;
            node.out.retain(|(name, _)| name != "additionalProperties");
            self.remove("additionalProperties", value, node, "it speaks of what the patterns leave");
        }
        if self.rules.satisfiable {
            self.drop_contradictions(node);
        }
        if self.choices.pattern_alone && has(&node.out, "pattern") {
            for name in ["minLength", "maxLength"] {
                if let Some(value) = node.map.member(name).filter(|_| has(&node.out, name)) {
                    node.out.retain(|(known, _)| known != name);
                    self.remove(name, value, node, "not taken beside a pattern");
                }
            }
        }
        for name in ["unevaluatedProperties", "unevaluatedItems"] {
            self.relied |= node.exact && node.relies && has(&node.out, name);
            if !node.exact
                && let Some(value) = node.map.member(name).filter(|_| has(&node.out, name))
            {
                self.abandoned = true;
                node.out.retain(|(known, _)| known != name);
                self.remove(name, value, node, "it speaks of what other keywords leave");
            }
        }
        // A condition that is gone takes its consequences along.
        if node.map.has("if") && !has(&node.out, "if") {
            for name in ["then", "else"] {
                if let Some(value) = node.map.member(name).filter(|_| has(&node.out, name)) {
                    self.abandoned = true;
                    node.out.retain(|(known, _)| known != name);
                    self.remove(name, value, node, "its condition cannot be said here");
                }
            }
        }
        if node.notes.is_empty() {
            return;
        }
        node.changed = true;
        let at = node.out.iter().position(|(name, _)| name == "description");
        let description = at.and_then(|at| node.out.get(at)).and_then(|(_, json)| match json {
            Json::Same(Value::String(text)) => Some(Cow::Borrowed(text.as_str())),
            Json::Text(text) => Some(text.clone()),
            _ => None,
        });
        let Some(text) = compose(self.rules.text, description, &node.notes) else { return };
        let entry = (Cow::Borrowed("description"), Json::Text(text));
        match at.and_then(|at| node.out.get_mut(at)) {
            Some(slot) => *slot = entry,
            None => node.out.push(entry),
        }
    }
}

/// Whether a sub-schema may be loosened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exactness {
    Free,
    Needed,
}

impl<'a> NodeEdit<'a> {
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
