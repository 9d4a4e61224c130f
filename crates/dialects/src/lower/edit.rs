//! Lowering keyword by keyword, for dialects that read JSON Schema: structure and order stay.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::object::Kinds;
use super::view::View;
use super::{Definition, LoweredSchema, Lowerer};
use crate::dialect::{Defaults, RefStyle, Verdict};
use crate::json::Json;
use crate::plan::{Codec, Plan};
use crate::report::{Fate, PathId};
use crate::schema::repair::{Checked, check, type_alias};
use crate::schema::{Keyword, Kind, Source, TypeSet, pattern};
use crate::text::{Note, compose, has_hint};

type Entries<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// An edited schema.
struct Edited<'a> {
    json: Json<'a>,
    /// Whether it takes the same values as before, under the same names.
    exact: bool,
}

/// What is known about a node while its keywords are read.
struct Draft<'a> {
    path: PathId,
    resource: usize,
    map: &'a Map<String, Value>,
    types: TypeSet,
    out: Entries<'a>,
    notes: Vec<Note<'a>>,
    changed: bool,
    exact: bool,
    patterns_gone: bool,
}

impl<'a> Lowerer<'a, '_> {
    /// The whole schema.
    pub(crate) fn edit_root(mut self) -> LoweredSchema<'a> {
        let mut schema = if self.root_needs_folding() { self.fold_root() } else { self.edit_plain_root() };
        let mut index = 0;
        while let Some(target) = self.waiting.get(index).copied() {
            let edited = self.edit(target);
            if let Some(definition) = self.definitions.get_mut(index) {
                definition.json = Some(edited.json);
            }
            index += 1;
        }
        if !self.definitions.is_empty() {
            let mut entries = into_entries(schema);
            let definitions = std::mem::take(&mut self.definitions);
            let written = definitions
                .into_iter()
                .filter_map(|definition| Some((Cow::Owned(definition.name), definition.json?)))
                .collect();
            entries.push((Cow::Borrowed("$defs"), Json::Object(written)));
            schema = Json::Object(entries);
        }
        if self.modern && self.root.get("$schema").is_some() {
            let mut entries = into_entries(schema);
            if entries.iter().any(|(name, _)| name == "$schema") {
                entries.retain(|(name, _)| name != "$schema");
                self.change(
                    PathId::ROOT,
                    "$schema",
                    self.root.get("$schema"),
                    Fate::Dropped,
                    "positions are said as in 2020-12",
                );
            }
            schema = Json::Object(entries);
        }
        let (codec, definitions) = self.rename_codec();
        LoweredSchema {
            schema: Some(schema),
            plan: Plan { root: codec, definitions, injected: Vec::new() }.simplified(),
            changes: self.changes,
            tool_notes: Vec::new(),
        }
    }

    fn root_needs_folding(&self) -> bool {
        let Value::Object(map) = self.root else { return true };
        let has = |name: &str| map.contains_key(name);
        has("$ref")
            || (!self.rules.root_unions && (has("anyOf") || has("oneOf") || has("allOf")))
            || (!self.rules.root_values && (has("enum") || has("const") || has("not")))
    }

    fn edit_plain_root(&mut self) -> Json<'a> {
        let root = self.root;
        let edited = self.edit(Source { schema: root, path: PathId::ROOT, resource: 0 });
        let map = root.as_object();
        let typed = map.is_some_and(|map| map.get("type").is_some_and(|name| name == "object"));
        let properties = map.is_some_and(|map| map.get("properties").is_some_and(Value::is_object));
        let hides = !self.options.hidden.is_empty() || !self.options.injected.is_empty();
        if typed && properties && !hides {
            return edited.json;
        }
        let mut entries = into_entries(edited.json);
        if !typed {
            self.change(PathId::ROOT, "type", root.get("type"), Fate::Rewritten, "arguments are an object");
            match entries.iter_mut().find(|(name, _)| name == "type") {
                Some((_, value)) => *value = Json::literal("object"),
                None => entries.insert(0, (Cow::Borrowed("type"), Json::literal("object"))),
            }
        }
        if !properties {
            self.change(
                PathId::ROOT,
                "properties",
                root.get("properties"),
                Fate::Rewritten,
                "said even where there are none",
            );
            entries.retain(|(name, _)| name != "properties");
            let at = entries.iter().position(|(name, _)| name == "type").map_or(0, |at| at + 1);
            entries.insert(at, (Cow::Borrowed("properties"), Json::Object(Vec::new())));
        }
        if hides {
            self.hide(&mut entries);
        }
        Json::Object(entries)
    }

    /// Takes hidden parameters out of `properties` and `required`.
    fn hide(&mut self, entries: &mut Entries<'a>) {
        let hidden = |name: &str, options: &crate::options::Options| {
            options.hidden.iter().any(|hidden| hidden == name) || options.injected.contains_key(name)
        };
        for (name, value) in entries.iter_mut() {
            match name.as_ref() {
                "properties" => {
                    let mut properties = into_entries(std::mem::replace(value, Json::Null));
                    properties.retain(|(name, _)| !hidden(name, self.options));
                    *value = Json::Object(properties);
                }
                "required" => {
                    let names: Vec<Json<'a>> = match std::mem::replace(value, Json::Null) {
                        Json::Same(Value::Array(names)) => names.iter().map(Json::Same).collect(),
                        Json::Array(names) => names,
                        _ => Vec::new(),
                    };
                    let kept: Vec<_> = names
                        .into_iter()
                        .filter(|name| !name.as_str().is_some_and(|name| hidden(name, self.options)))
                        .collect();
                    *value = Json::Array(kept);
                }
                _ => {}
            }
        }
        self.change(PathId::ROOT, "properties", None, Fate::Rewritten, "hidden parameters left out");
    }

    /// One object for a root that is a reference or a composition.
    fn fold_root(&mut self) -> Json<'a> {
        let mut view = View::new(PathId::ROOT, Some(self.root));
        self.gather(Source { schema: self.root, path: PathId::ROOT, resource: 0 }, &mut view);
        let unions = std::mem::take(&mut view.unions);
        self.fold(unions, &mut view);
        if let Some(values) = view.values.take()
            && !values.is_empty()
        {
            for name in ["enum", "const"] {
                if let Some(value) = self.root.get(name) {
                    self.describe(PathId::ROOT, name, value, &mut view, "the root cannot list values");
                }
            }
        }
        for facet in std::mem::take(&mut view.facets) {
            self.describe(facet.path, facet.keyword.name(), facet.original, &mut view, "the root was folded");
        }
        let properties = self.fold_parts(&mut view);
        let mut out: Entries<'a> = vec![(Cow::Borrowed("type"), Json::literal("object"))];
        if self.root.get("type").is_none_or(|name| name != "object") {
            self.change(
                PathId::ROOT,
                "type",
                self.root.get("type"),
                Fate::Rewritten,
                "arguments are an object",
            );
        }
        let mut required = Vec::new();
        let mut written: Entries<'a> = Vec::with_capacity(properties.properties.len());
        for (name, kinds, must) in properties.properties {
            if self.options.hidden.iter().any(|hidden| hidden == name)
                || self.options.injected.contains_key(name)
            {
                continue;
            }
            let wire = self.keys.wire(name);
            let json = match &kinds {
                Kinds::One(source) => self.edit(*source).json,
                Kinds::Any(kinds) => self.edit_kinds(kinds),
            };
            if must {
                required.push(Json::Text(wire.clone()));
            }
            written.push((wire, json));
        }
        let description = view.description();
        for (keyword, value, path) in std::mem::take(&mut view.hints) {
            let dropped = self.rules.keywords.of(keyword) == Verdict::Drop
                || matches!(
                    keyword,
                    Keyword::Id | Keyword::DraftFourId | Keyword::Anchor | Keyword::DynamicAnchor
                );
            match keyword {
                Keyword::Default if self.defaults != Defaults::Keep => {
                    self.change(path, "default", Some(value), Fate::Dropped, "defaults are stripped");
                }
                _ if dropped || out.iter().any(|(name, _)| name == keyword.name()) => {
                    self.change(path, keyword.name(), Some(value), Fate::Dropped, "an annotation");
                }
                _ => out.push((Cow::Borrowed(keyword.name()), Json::Same(value))),
            }
        }
        out.push((Cow::Borrowed("properties"), Json::Object(written)));
        if !required.is_empty() {
            out.push((Cow::Borrowed("required"), Json::Array(required)));
        }
        if properties.closed && self.rules.keywords.of(Keyword::AdditionalProperties) != Verdict::Keep {
            view.notes.push(Note::Keyword("additionalProperties", &Value::Bool(false)));
        } else if properties.closed {
            out.push((Cow::Borrowed("additionalProperties"), Json::Bool(false)));
        }
        if let Some(text) = compose(self.rules.text, description, &view.notes) {
            out.push((Cow::Borrowed("description"), Json::Text(text)));
        }
        let tables: &[&'static str] =
            if self.rules.refs == RefStyle::Defs { &[] } else { &["$defs", "definitions"] };
        for table in tables {
            if let Some(Value::Object(definitions)) = self.root.get(*table) {
                let list = self.step(PathId::ROOT, table);
                let mut written = Vec::with_capacity(definitions.len());
                for (name, schema) in definitions {
                    let path = self.step(list, name);
                    let edited = self.edit(Source { schema, path, resource: 0 });
                    written.push((Cow::Borrowed(name.as_str()), edited.json));
                }
                out.push((Cow::Borrowed(*table), Json::Object(written)));
            }
        }
        Json::Object(out)
    }

    /// Several schemas for one property as one schema.
    fn edit_kinds(&mut self, kinds: &[Vec<Source<'a>>]) -> Json<'a> {
        let mut written = Vec::with_capacity(kinds.len());
        for sources in kinds {
            let mut all: Vec<Json<'a>> = sources.iter().map(|source| self.edit(*source).json).collect();
            written.push(match all.len() {
                0 => Json::Object(Vec::new()),
                1 => all.pop().unwrap_or(Json::Null),
                _ => Json::object([("allOf", Json::Array(all))]),
            });
        }
        match written.len() {
            0 => Json::Object(Vec::new()),
            1 => written.pop().unwrap_or(Json::Null),
            _ => Json::object([("anyOf", Json::Array(written))]),
        }
    }

    fn edit(&mut self, source: Source<'a>) -> Edited<'a> {
        let map = match source.schema {
            Value::Object(map) => map,
            Value::Bool(flag) => {
                if self.rules.boolean_schemas {
                    return Edited { json: Json::Same(source.schema), exact: true };
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
                return Edited { json, exact: *flag };
            }
            other => {
                self.change(source.path, "", Some(other), Fate::Rewritten, "not a schema");
                let named = other.as_str().and_then(type_alias);
                let json = named
                    .map_or(Json::Object(Vec::new()), |name| Json::object([("type", Json::literal(name))]));
                return Edited { json, exact: false };
            }
        };
        let mut draft = Draft {
            path: source.path,
            resource: self.resolver.resource_of(source.schema, source.resource),
            map,
            types: declared_types(map),
            out: Vec::with_capacity(map.len() + 1),
            notes: Vec::new(),
            changed: false,
            exact: true,
            patterns_gone: false,
        };
        for (name, value) in map {
            self.edit_keyword(name, value, &mut draft);
        }
        self.finish(&mut draft);
        let exact = draft.exact;
        let json = if draft.changed { Json::Object(draft.out) } else { Json::Same(source.schema) };
        Edited { json, exact }
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
            && draft.map.contains_key("$ref")
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
                if draft.map.get("items").is_some_and(Value::is_array) && !self.rules.items_lists {
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
                if *flag && let Some(bound) = draft.map.get(bound).filter(|bound| bound.is_number()) {
                    draft.out.push((Cow::Borrowed(name), Json::Same(bound)));
                }
            }
            (_, Value::Null) | (Keyword::Required, Value::Bool(_)) => {
                self.change(draft.path, name, Some(value), Fate::Rewritten, "says nothing in this form");
            }
            _ => self.remove(name, value, draft, "not what the keyword asks for"),
        }
    }

    fn edit_properties(&mut self, name: &'a str, value: &'a Value, draft: &mut Draft<'a>) {
        let Value::Object(properties) = value else { return };
        let list = self.step(draft.path, "properties");
        let mut changed = false;
        let mut written: Entries<'a> = Vec::with_capacity(properties.len());
        for (key, schema) in properties {
            if key == "required" && schema.is_array() {
                self.change(
                    draft.path,
                    "properties",
                    None,
                    Fate::Rewritten,
                    "required stood inside properties",
                );
                changed = true;
                continue;
            }
            let path = self.step(list, key);
            let edited = self.edit(Source { schema, path, resource: draft.resource });
            draft.exact &= edited.exact;
            let wire = self.keys.wire(key);
            if wire != key.as_str() {
                self.change(path, "", None, Fate::Encoded, "the key travels under another name");
                draft.exact = false;
                changed = true;
            }
            changed |= !matches!(edited.json, Json::Same(_));
            written.push((wire, edited.json));
        }
        draft.push(name, value, changed, || Json::Object(written));
        let slip = properties.get("required").filter(|names| names.is_array());
        if let Some(Value::Array(names)) = slip
            && !draft.map.contains_key("required")
        {
            draft.out.push((Cow::Borrowed("required"), Json::Array(names.iter().map(Json::Same).collect())));
        }
        self.adopt_required_flags(properties, draft);
    }

    /// `required: true` on properties, as in draft 3.
    fn adopt_required_flags(&mut self, properties: &'a Map<String, Value>, draft: &mut Draft<'a>) {
        if draft.map.contains_key("required") {
            return;
        }
        let flagged: Vec<Json<'a>> = properties
            .iter()
            .filter(|(_, schema)| {
                schema.as_object().is_some_and(|map| map.get("required") == Some(&Value::Bool(true)))
            })
            .map(|(key, _)| Json::Text(self.keys.wire(key)))
            .collect();
        if !flagged.is_empty() {
            draft.changed = true;
            draft.out.push((Cow::Borrowed("required"), Json::Array(flagged)));
        }
    }

    fn edit_required(&mut self, name: &'a str, value: &'a Value, draft: &mut Draft<'a>) {
        let Value::Array(names) = value else { return };
        let legal = self.keys.is_free()
            || names.iter().filter_map(Value::as_str).all(|key| self.keys.wire(key) == key);
        if legal {
            draft.out.push((Cow::Borrowed(name), Json::Same(value)));
            return;
        }
        draft.changed = true;
        draft.exact = false;
        self.change(draft.path, name, Some(value), Fate::Rewritten, "keys travel under other names");
        let names =
            names.iter().filter_map(Value::as_str).map(|key| Json::Text(self.keys.wire(key))).collect();
        draft.out.push((Cow::Borrowed(name), Json::Array(names)));
    }

    /// A list of keys under the names by which they travel.
    fn renamed_list(&self, list: Json<'a>) -> Json<'a> {
        let Json::Array(names) = list else { return list };
        let wire = |name: Json<'a>| match name {
            Json::Same(Value::String(key)) => Json::Text(self.keys.wire(key)),
            other => other,
        };
        Json::Array(names.into_iter().map(wire).collect())
    }

    fn edit_table(&mut self, name: &'a str, value: &'a Value, draft: &mut Draft<'a>) {
        let Value::Object(table) = value else { return };
        let list = self.step(draft.path, name);
        let mut changed = false;
        let mut written: Entries<'a> = Vec::with_capacity(table.len());
        let speaks = !matches!(name, "$defs" | "definitions");
        for (key, schema) in table {
            let path = self.step(list, key);
            let edited = self.edit(Source { schema, path, resource: draft.resource });
            draft.exact &= edited.exact || !speaks;
            changed |= !matches!(edited.json, Json::Same(_));
            written.push((Cow::Borrowed(key.as_str()), edited.json));
        }
        draft.push(name, value, changed, || Json::Object(written));
    }

    fn edit_items(&mut self, name: &'a str, value: &'a Value, draft: &mut Draft<'a>) {
        if !value.is_array() {
            return self.edit_child(name, value, draft, Exactness::Free);
        }
        if self.rules.items_lists {
            return self.edit_list(Keyword::PrefixItems, name, value, draft);
        }
        draft.changed = true;
        self.change(draft.path, name, Some(value), Fate::Rewritten, "a list of items means positions");
        self.modern = true;
        // An empty list names no position.
        let positions = value.as_array().is_some_and(|positions| !positions.is_empty());
        if positions {
            self.edit_list(Keyword::PrefixItems, name, value, draft);
            if let Some((written, _)) = draft.out.last_mut() {
                *written = Cow::Borrowed("prefixItems");
            }
        }
        if let Some(rest) =
            draft.map.get("additionalItems").filter(|rest| rest.is_object() || rest.is_boolean())
        {
            self.change(draft.path, "additionalItems", Some(rest), Fate::Rewritten, "said by items");
            let path = self.step(draft.path, "additionalItems");
            let edited = self.edit(Source { schema: rest, path, resource: draft.resource });
            draft.exact &= edited.exact;
            draft.out.push((Cow::Borrowed("items"), edited.json));
        }
    }

    fn edit_child(&mut self, name: &'a str, value: &'a Value, draft: &mut Draft<'a>, exactness: Exactness) {
        if name == "additionalProperties" && value.is_boolean() {
            draft.out.push((Cow::Borrowed(name), Json::Same(value)));
            return;
        }
        let entries = self.changes.entries.len();
        let source = self.source(value, draft.path, name, draft.resource);
        let edited = self.edit(source);
        if !edited.exact && exactness == Exactness::Needed {
            // Loosening what is inside would tighten the whole: say it in words instead.
            self.changes.entries.truncate(entries);
            return self.remove(name, value, draft, "cannot be said exactly here");
        }
        draft.exact &= edited.exact;
        let changed = !matches!(edited.json, Json::Same(_));
        draft.push(name, value, changed, || edited.json);
    }

    fn edit_list(&mut self, keyword: Keyword, name: &'a str, value: &'a Value, draft: &mut Draft<'a>) {
        let Value::Array(members) = value else { return };
        let list = self.step(draft.path, name);
        let mut changed = false;
        let mut exact = true;
        let mut written = Vec::with_capacity(members.len());
        for (index, schema) in members.iter().enumerate() {
            let path = self.changes.paths.index(list, index);
            let edited = self.edit(Source { schema, path, resource: draft.resource });
            exact &= edited.exact;
            changed |= !matches!(edited.json, Json::Same(_));
            written.push(edited.json);
        }
        draft.exact &= exact;
        if keyword == Keyword::OneOf && (!exact || self.rules.keywords.of(keyword) == Verdict::Describe) {
            draft.exact = false;
            draft.changed = true;
            self.change(
                draft.path,
                name,
                Some(value),
                Fate::Rewritten,
                "alternatives may overlap here: said by anyOf",
            );
            if draft.map.contains_key("anyOf") {
                let union = Json::object([("anyOf", Json::Array(written))]);
                draft.out.push((Cow::Borrowed("allOf"), Json::Array(vec![union])));
            } else {
                draft.out.push((Cow::Borrowed("anyOf"), Json::Array(written)));
            }
            return;
        }
        draft.push(name, value, changed, || Json::Array(written));
    }

    fn edit_reference(&mut self, name: &'a str, value: &'a Value, draft: &mut Draft<'a>) {
        let Value::String(reference) = value else { return };
        let Some(target) = self.resolver.resolve(reference, draft.resource, &mut self.changes.paths) else {
            return self.remove(name, value, draft, "names nothing in this schema");
        };
        if self.rules.refs == RefStyle::Defs {
            let written = match self.edit_definition(target) {
                Some(definition) => format!("#/$defs/{definition}"),
                None => "#".to_owned(),
            };
            if written == *reference {
                draft.out.push((Cow::Borrowed(name), Json::Same(value)));
            } else {
                draft.changed = true;
                self.change(
                    draft.path,
                    name,
                    Some(value),
                    Fate::Rewritten,
                    "refers to a definition at the root",
                );
                draft.out.push((Cow::Borrowed(name), Json::from(written)));
            }
            return;
        }
        // Other documents and renamed keys: the pointer from the root says the same.
        let local = reference.starts_with("#/") || reference == "#";
        let moved = !self.rules.items_lists && reference.contains("tems/");
        if !local || draft.resource != 0 || moved || !self.keys.is_free() {
            let pointer = self.changes.paths.pointer(target.path);
            let renamed = self.renamed_pointer(&pointer);
            if !local || draft.resource != 0 || renamed != pointer {
                draft.changed = true;
                self.change(draft.path, name, Some(value), Fate::Rewritten, "the same place, from the root");
                draft.out.push((Cow::Borrowed(name), Json::from(format!("#{}", percent_encoded(&renamed)))));
                return;
            }
        }
        draft.out.push((Cow::Borrowed(name), Json::Same(value)));
    }

    fn renamed_pointer(&self, pointer: &str) -> String {
        let mut renamed = String::new();
        let mut after_properties = false;
        let steps: Vec<&str> = pointer.split('/').skip(1).collect();
        for (index, step) in steps.iter().copied().enumerate() {
            renamed.push('/');
            let key = step.replace("~1", "/").replace("~0", "~");
            let next_is_index =
                steps.get(index + 1).is_some_and(|next| next.bytes().all(|byte| byte.is_ascii_digit()));
            match self.keys.borrowed(&key).filter(|_| after_properties) {
                Some(key) => renamed.push_str(&self.keys.wire(key).replace('~', "~0").replace('/', "~1")),
                None if step == "items" && next_is_index && !after_properties && !self.rules.items_lists => {
                    renamed.push_str("prefixItems");
                }
                None => renamed.push_str(step),
            }
            after_properties = !after_properties && step == "properties";
        }
        renamed
    }

    /// Whether a table of dependencies names a key that travels under another name.
    fn mentions_renamed(&self, table: &'a Value) -> bool {
        let renamed = |key: &'a str| self.keys.wire(key) != key;
        !self.keys.is_free()
            && table.as_object().is_some_and(|table| {
                table.iter().any(|(key, names)| {
                    renamed(key)
                        || names
                            .as_array()
                            .is_some_and(|names| names.iter().filter_map(Value::as_str).any(renamed))
                })
            })
    }

    /// The name of the definition made from `target`; `None` for the root itself.
    fn edit_definition(&mut self, target: Source<'a>) -> Option<String> {
        if std::ptr::eq(target.schema, self.root) {
            return None;
        }
        let known = self
            .definitions
            .iter()
            .find(|definition| definition.target.is_some_and(|known| std::ptr::eq(known, target.schema)));
        if let Some(definition) = known {
            return Some(definition.name.clone());
        }
        let name = self.definition_name(target.path);
        self.definitions.push(Definition {
            target: Some(target.schema),
            name: name.clone(),
            node: None,
            codec: Codec::Same,
            json: None,
        });
        // Edited later, one after the other: definitions can refer to each other without end.
        self.waiting.push(target);
        Some(name)
    }

    /// A bound of integers as a whole number: what lies between two integers bounds nothing else.
    fn edit_whole_bound(&mut self, keyword: Keyword, value: &'a Value, draft: &mut Draft<'a>) {
        let name = keyword.name();
        let fraction = value.as_f64().filter(|bound| bound.fract() != 0.0);
        let Some(bound) = fraction else {
            draft.out.push((Cow::Borrowed(name), Json::Same(value)));
            return;
        };
        let (inclusive, whole) = match keyword {
            Keyword::Minimum | Keyword::ExclusiveMinimum => ("minimum", bound.ceil()),
            _ => ("maximum", bound.floor()),
        };
        draft.changed = true;
        self.change(
            draft.path,
            name,
            Some(value),
            Fate::Rewritten,
            "the nearest whole number bounds the same",
        );
        if let Ok(whole) = format!("{whole}").parse::<i64>()
            && !draft.out.iter().any(|(known, _)| known == inclusive)
        {
            draft.out.push((Cow::Borrowed(inclusive), Json::Number(whole.into())));
        }
    }

    /// Values that the type forbids make a schema that some compilers refuse.
    fn edit_enum(&mut self, name: &'a str, value: &'a Value, draft: &mut Draft<'a>) {
        let Value::Array(values) = value else { return };
        let kept: Vec<&'a Value> =
            values.iter().filter(|value| draft.types.contains(TypeSet::of(value))).collect();
        if kept.len() == values.len() && !values.is_empty() {
            draft.out.push((Cow::Borrowed(name), Json::Same(value)));
            return;
        }
        draft.changed = true;
        self.change(draft.path, name, Some(value), Fate::Rewritten, "values that nothing can have left out");
        if !kept.is_empty() {
            draft.out.push((Cow::Borrowed(name), Json::Array(kept.into_iter().map(Json::Same).collect())));
        }
    }

    /// Bounds that no value satisfies make a schema that some compilers refuse.
    fn drop_contradictions(&mut self, draft: &mut Draft<'a>) {
        for (low, high) in [("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems")] {
            let bound = |name: &str| draft.map.get(name).and_then(Value::as_f64);
            if let (Some(least), Some(most)) = (bound(low), bound(high))
                && least > most
            {
                for name in [low, high] {
                    if let Some(value) =
                        draft.map.get(name).filter(|_| draft.out.iter().any(|(known, _)| known == name))
                    {
                        draft.out.retain(|(known, _)| known != name);
                        self.remove(name, value, draft, "the bounds contradict each other");
                    }
                }
            }
        }
    }

    /// What depends on the whole node.
    fn finish(&mut self, draft: &mut Draft<'a>) {
        let has = |out: &Entries<'a>, name: &str| out.iter().any(|(known, _)| known == name);
        if self.rules.items_required
            && draft.map.contains_key("type")
            && draft.types.contains(TypeSet::ARRAY)
            && !has(&draft.out, "items")
            && !has(&draft.out, "prefixItems")
        {
            draft.changed = true;
            self.change(
                draft.path,
                "items",
                draft.map.get("items"),
                Fate::Rewritten,
                "the dialect wants to know the items",
            );
            draft.out.push((Cow::Borrowed("items"), Json::Object(Vec::new())));
        }
        if draft.patterns_gone
            && let Some(value) =
                draft.map.get("additionalProperties").filter(|value| *value != &Value::Bool(true))
            && has(&draft.out, "additionalProperties")
        {
            draft.out.retain(|(name, _)| name != "additionalProperties");
            self.remove("additionalProperties", value, draft, "it speaks of what the patterns leave");
        }
        if self.rules.satisfiable {
            self.drop_contradictions(draft);
        }
        if self.rules.pattern_alone && has(&draft.out, "pattern") {
            for name in ["minLength", "maxLength"] {
                if let Some(value) = draft.map.get(name).filter(|_| has(&draft.out, name)) {
                    draft.out.retain(|(known, _)| known != name);
                    self.remove(name, value, draft, "not taken beside a pattern");
                }
            }
        }
        if !draft.exact {
            for name in ["unevaluatedProperties", "unevaluatedItems"] {
                if let Some(value) = draft.map.get(name).filter(|_| has(&draft.out, name)) {
                    draft.out.retain(|(known, _)| known != name);
                    self.remove(name, value, draft, "it speaks of what other keywords leave");
                }
            }
        }
        // A condition that is gone takes its consequences along.
        if draft.map.contains_key("if") && !has(&draft.out, "if") {
            for name in ["then", "else"] {
                if let Some(value) = draft.map.get(name).filter(|_| has(&draft.out, name)) {
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
    fn push(&mut self, name: &'a str, value: &'a Value, changed: bool, json: impl FnOnce() -> Json<'a>) {
        self.changed |= changed;
        self.out.push((Cow::Borrowed(name), if changed { json() } else { Json::Same(value) }));
    }
}

/// A pointer as a fragment of a URI.
fn percent_encoded(pointer: &str) -> String {
    let mut encoded = String::with_capacity(pointer.len());
    for char in pointer.chars() {
        match char {
            '%' => encoded.push_str("%25"),
            ' ' => encoded.push_str("%20"),
            '"' => encoded.push_str("%22"),
            other => encoded.push(other),
        }
    }
    encoded
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
    match map.get("type") {
        Some(Value::String(name)) => TypeSet::named(name).unwrap_or(TypeSet::ALL),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).filter_map(TypeSet::named).fold(TypeSet::NONE, TypeSet::or)
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
