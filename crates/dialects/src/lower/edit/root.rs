//! The root, which has rules of its own.

use super::definitions::each_reference;
use super::reader::is_worth_sharing;
use super::reader::members::{Kinds, Property, Undeclared, required_names};
use super::reader::view::{ObjectPart, View};
use super::{Edit, Entries, Excess, Findings, LoweredSchema, into_entries};
use crate::dialect::{Defaults, RefStyle, Verdict};
use crate::json::Json;
use crate::options::Options;
use crate::plan::Plan;
use crate::report::PathId;
use crate::schema::refs::percent_decoded;
use crate::schema::{Keyword, Members, Source};
use crate::text::{Note, compose};
use gateway_notation::pointer::unescape;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;

impl<'a> Edit<'a, '_> {
    /// The whole schema.
    pub(crate) fn edit_root(mut self) -> (LoweredSchema<'a>, Findings) {
        let root = self.root;
        let mut schema = if self.root_needs_folding() { self.fold_root() } else { self.edit_plain_root() };
        let mut index = 0;
        while let Some(target) = self.definitions.get(index).map(|definition| definition.target) {
            self.defining = Some(target.schema);
            let edited = self.edit(target);
            if let Some(definition) = self.definitions.get_mut(index) {
                definition.json = Some(edited.json);
            }
            index += 1;
        }
        let shared = self.shared_targets();
        let gone = self.gone_targets(&schema);
        if !self.definitions.is_empty() {
            let mut entries = into_entries(schema);
            let definitions = std::mem::take(&mut self.definitions);
            let mut written: Entries<'a> = definitions
                .into_iter()
                .filter_map(|definition| Some((Cow::Owned(definition.name), definition.json?)))
                .collect();
            if self.abandoned || !self.known.gone.is_empty() {
                keep_used(&entries, &mut written);
            }
            add_definitions(&mut entries, written);
            schema = Json::Object(entries);
        }
        if self.modern && root.member("$schema").is_some() {
            let mut entries = into_entries(schema);
            let before = entries.len();
            entries.retain(|(name, _)| name != "$schema");
            if entries.len() < before {
                let reason = "positions are said as in 2020-12";
                self.dropped(PathId::ROOT, "$schema", root.member("$schema"), reason);
            }
            schema = Json::Object(entries);
        }
        let renaming = self.rename_codec();
        let inexact = if self.relied { self.inexact.as_slice() } else { &[] };
        let found = Findings {
            inexact: inexact.iter().map(|schema| std::ptr::from_ref(*schema)).collect(),
            gone,
            misled: renaming.misled,
            outside: std::mem::take(&mut self.outside),
            shared,
        };
        let plan = Plan {
            root: renaming.root,
            definitions: renaming.definitions,
            guards: Vec::new(),
            injected: Vec::new(),
        };
        let lowered = LoweredSchema {
            schema: Some(schema),
            plan: plan.simplified(),
            changes: self.reader.changes,
            tool_notes: Vec::new(),
            excess: renaming.gave_up.then_some(Excess::Keys),
        };
        (lowered, found)
    }

    /// Schemas that became definitions and stand somewhere else as well.
    fn shared_targets(&self) -> HashSet<*const Value> {
        let targets = self.definitions.iter().map(|definition| definition.target);
        let shared =
            targets.filter(|target| !self.is_definition(target.path) && is_worth_sharing(target.schema));
        shared.map(|target| std::ptr::from_ref(target.schema)).collect()
    }

    /// Targets of references that are not where the references say.
    fn gone_targets(&self, schema: &Json<'a>) -> HashSet<*const Value> {
        self.kept_references
            .iter()
            .filter(|(pointer, _)| !is_there(schema, &percent_decoded(pointer)))
            .map(|(_, target)| std::ptr::from_ref(*target))
            .collect()
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
        let edited = self.edit(self.root_source());
        let typed = root.member("type").is_some_and(|name| name == "object");
        let properties = root.member("properties").is_some_and(Value::is_object);
        let hides = !self.options.hidden.is_empty() || !self.options.injected.is_empty();
        if typed && properties && !hides {
            return edited.json;
        }
        let mut entries = into_entries(edited.json);
        self.inexact.push(root);
        if !typed {
            self.rewritten(PathId::ROOT, "type", root.member("type"), "arguments are an object");
            match entries.iter_mut().find(|(name, _)| name == "type") {
                Some((_, value)) => *value = Json::literal("object"),
                None => entries.insert(0, (Cow::Borrowed("type"), Json::literal("object"))),
            }
        }
        if !properties {
            let original = root.member("properties");
            self.rewritten(PathId::ROOT, "properties", original, "said even where there are none");
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
        hide_parameters(entries, self.options);
        self.rewritten(PathId::ROOT, "properties", None, "hidden parameters left out");
    }

    /// One object for a root that is a reference or a composition.
    fn fold_root(&mut self) -> Json<'a> {
        let root = self.root;
        let mut view = View::new(PathId::ROOT, Some(root));
        self.inexact.push(root);
        let source = self.root_source();
        self.gather(source, &mut view);
        let unions = std::mem::take(&mut view.unions);
        self.fold(unions, &mut view);
        if let Some(values) = view.values.take()
            && !values.is_empty()
        {
            self.describe_root_values(&mut view);
        }
        for facet in std::mem::take(&mut view.facets) {
            self.describe_facet(&facet, &mut view, "the root was folded");
        }
        let said = self.object_rules(&mut view);
        let undeclared = self.undeclared(&said);
        let properties = self.properties(&said, &undeclared);
        let closed = matches!(undeclared, Undeclared::Forbidden);
        self.describe_others(&said.parts, closed, &mut view);
        let mut out: Entries<'a> = vec![(Cow::Borrowed("type"), Json::literal("object"))];
        if root.member("type").is_none_or(|name| name != "object") {
            self.rewritten(PathId::ROOT, "type", root.member("type"), "arguments are an object");
        }
        let mut required = Vec::new();
        let mut written: Entries<'a> = Vec::with_capacity(properties.len());
        let declared: HashSet<&str> = properties.iter().map(|property| property.name).collect();
        let mut unknown: Vec<&'a str> =
            said.parts.iter().flat_map(|part| part.required.iter().copied()).collect();
        let mut seen = HashSet::new();
        unknown.retain(|name| !declared.contains(name) && !self.options.hides(name) && seen.insert(*name));
        if !unknown.is_empty() && self.rules.required_known {
            let original = root.member("required");
            self.rewritten(PathId::ROOT, "required", original, "names what is not declared");
            unknown.clear();
        }
        let must = required_names(&said);
        for Property { name, kinds, .. } in properties {
            if self.options.hides(name) {
                continue;
            }
            let wire = self.keys.wire(name);
            let json = match &kinds {
                Kinds::One(source) => self.edit(*source).json,
                Kinds::Any(kinds) => self.edit_kinds(kinds),
            };
            if must.contains(name) {
                required.push(Json::Text(wire.clone()));
            }
            written.push((wire, json));
        }
        required.extend(unknown.into_iter().map(|name| Json::Text(self.keys.wire(name))));
        let description = view.description.take();
        for (keyword, value, path) in std::mem::take(&mut view.hints) {
            let dropped = self.rules.keywords.of(keyword) == Verdict::Drop
                || matches!(
                    keyword,
                    Keyword::Id | Keyword::DraftFourId | Keyword::Anchor | Keyword::DynamicAnchor
                );
            match keyword {
                Keyword::Default if self.defaults() != Defaults::Keep => {
                    self.dropped(path, "default", Some(value), "defaults are stripped");
                }
                _ if dropped || out.iter().any(|(name, _)| name == keyword.name()) => {
                    self.dropped(path, keyword.name(), Some(value), "an annotation");
                }
                _ => out.push((Cow::Borrowed(keyword.name()), Json::Same(value))),
            }
        }
        out.push((Cow::Borrowed("properties"), Json::Object(written)));
        if !required.is_empty() {
            out.push((Cow::Borrowed("required"), Json::Array(required)));
        }
        if closed && self.rules.keywords.of(Keyword::AdditionalProperties) != Verdict::Keep {
            view.notes.push(Note::Keyword("additionalProperties", &Value::Bool(false)));
        } else if closed {
            out.push((Cow::Borrowed("additionalProperties"), Json::Bool(false)));
        }
        if let Some(text) = compose(self.rules.text, description, &view.notes) {
            out.push((Cow::Borrowed("description"), Json::Text(text)));
        }
        if self.rules.refs != RefStyle::Defs {
            self.edit_tables(&mut out);
        }
        Json::Object(out)
    }

    /// What `parts` of a folded root say of properties that they do not declare.
    fn describe_others(&mut self, parts: &[ObjectPart<'a>], closed: bool, view: &mut View<'a>) {
        for part in parts {
            for name in ["patternProperties", "propertyNames", "additionalProperties"] {
                let Some(value) = part.source.schema.member(name) else { continue };
                match value {
                    Value::Bool(true) => {
                        self.rewritten(part.source.path, name, Some(value), "asks for nothing");
                    }
                    Value::Bool(false) if closed && name == "additionalProperties" => {}
                    _ => self.describe(part.source.path, name, value, view, "the root was folded"),
                }
            }
        }
    }

    /// Several schemas for one property as one schema.
    fn edit_kinds(&mut self, kinds: &[Vec<Source<'a>>]) -> Json<'a> {
        let mut kind = |sources: &Vec<Source<'a>>| {
            composed("allOf", sources.iter().map(|source| self.edit(*source).json).collect())
        };
        composed("anyOf", kinds.iter().map(&mut kind).collect())
    }
}

/// Takes the parameters out of `properties` and `required` that `options` hide.
pub(in crate::lower) fn hide_parameters(entries: &mut Entries<'_>, options: &Options) {
    for (name, value) in entries.iter_mut() {
        match name.as_ref() {
            "properties" => {
                let mut properties = into_entries(std::mem::replace(value, Json::Null));
                properties.retain(|(name, _)| !options.hides(name));
                *value = Json::Object(properties);
            }
            "required" => {
                let mut names = std::mem::replace(value, Json::Null).into_items().unwrap_or_default();
                names.retain(|name| !name.as_str().is_some_and(|name| options.hides(name)));
                *value = Json::Array(names);
            }
            _ => {}
        }
    }
}

/// Schemas under a keyword that composes them; one alone needs none.
fn composed<'a>(keyword: &'static str, mut schemas: Vec<Json<'a>>) -> Json<'a> {
    match schemas.len() {
        0 => Json::Object(Vec::new()),
        1 => schemas.pop().unwrap_or(Json::Null),
        _ => Json::object([(keyword, Json::Array(schemas))]),
    }
}

/// Puts definitions of ours beside those that the schema has.
fn add_definitions<'a>(schema: &mut Entries<'a>, written: Entries<'a>) {
    if written.is_empty() {
        return;
    }
    match schema.iter_mut().find(|(name, _)| name == "$defs") {
        Some((_, table)) => {
            let mut entries = into_entries(std::mem::replace(table, Json::Null));
            entries.extend(written);
            *table = Json::Object(entries);
        }
        None => schema.push((Cow::Borrowed("$defs"), Json::Object(written))),
    }
}

/// Whether `pointer` leads anywhere.
fn is_there(schema: &Json<'_>, pointer: &str) -> bool {
    let Some(rest) = pointer.strip_prefix('/') else { return true };
    let (step, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let key = unescape(step);
    match schema {
        Json::Object(entries) => entries.iter().any(|(name, json)| *name == key && is_there(json, rest)),
        Json::Array(items) => {
            let item = key.parse::<usize>().ok().and_then(|index| items.get(index));
            item.is_some_and(|json| is_there(json, rest))
        }
        Json::Same(value) => value.pointer(pointer).is_some(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => false,
    }
}

/// Leaves only the definitions that the schema leads to.
fn keep_used<'a>(schema: &Entries<'a>, definitions: &mut Entries<'a>) {
    let mut used: Vec<String> = Vec::new();
    for (_, json) in schema {
        collect_references(json, &mut used);
    }
    let mut index = 0;
    while let Some(name) = used.get(index).cloned() {
        if let Some((_, json)) = definitions.iter().find(|(known, _)| *known == name) {
            collect_references(json, &mut used);
        }
        index += 1;
    }
    definitions.retain(|(name, _)| used.iter().any(|known| name == known));
}

fn collect_references(json: &Json<'_>, found: &mut Vec<String>) {
    each_reference(json, &mut |keyword, target| {
        if let ("$ref", Some(name)) = (keyword, target.strip_prefix("#/$defs/"))
            && !found.iter().any(|known| known == name)
        {
            found.push(name.to_owned());
        }
    });
}
