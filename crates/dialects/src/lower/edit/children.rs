//! Keywords that hold schemas.

use super::{Edit, Entries, Exactness, NodeEdit};
use crate::dialect::Verdict;
use crate::json::Json;
use crate::schema::{Keyword, Members};
use serde_json::{Map, Value};
use std::borrow::Cow;

impl<'a> Edit<'a, '_> {
    pub(super) fn edit_properties(&mut self, name: &'a str, value: &'a Value, node: &mut NodeEdit<'a>) {
        let Value::Object(properties) = value else { return };
        let list = self.step(node.path, "properties");
        let mut changed = false;
        let mut written: Entries<'a> = Vec::with_capacity(properties.len());
        for (key, schema) in properties {
            if key == "required" && schema.is_array() {
                self.rewritten(node.path, "properties", None, "required stood inside properties");
                changed = true;
                continue;
            }
            let source = self.source(schema, list, key, node.resource);
            let edited = self.edit(source);
            node.adopt(&edited);
            let wire = self.keys.wire(key);
            if matches!(wire, Cow::Owned(_)) {
                self.encoded(source.path, "properties", None, "the key travels under another name");
                node.exact = false;
                changed = true;
            }
            changed |= !matches!(edited.json, Json::Same(_));
            written.push((wire, edited.json));
        }
        node.push(name, value, changed, || Json::Object(written));
        let slip = properties.member("required").filter(|names| names.is_array());
        if let Some(Value::Array(names)) = slip
            && !node.map.has("required")
        {
            let names = Json::Array(names.iter().map(Json::Same).collect());
            node.out.push((Cow::Borrowed("required"), self.renamed_list(names)));
        }
        self.adopt_required_flags(properties, node);
    }

    /// `required: true` on properties, as in draft 3.
    pub(super) fn adopt_required_flags(
        &mut self,
        properties: &'a Map<String, Value>,
        node: &mut NodeEdit<'a>,
    ) {
        if node.map.has("required") {
            return;
        }
        let flagged: Vec<Json<'a>> = properties
            .iter()
            .filter(|(_, schema)| {
                schema.as_object().is_some_and(|map| map.member("required") == Some(&Value::Bool(true)))
            })
            .map(|(key, _)| Json::Text(self.keys.wire(key)))
            .collect();
        if !flagged.is_empty() {
            node.changed = true;
            node.out.push((Cow::Borrowed("required"), Json::Array(flagged)));
        }
    }

    pub(super) fn edit_required(&mut self, name: &'a str, value: &'a Value, node: &mut NodeEdit<'a>) {
        let Value::Array(names) = value else { return };
        let legal = self.keys.is_free()
            || names.iter().filter_map(Value::as_str).all(|key| self.keys.wire(key) == key);
        if legal {
            node.keep(name, value);
            return;
        }
        node.exact = false;
        self.rewrite(name, value, node, "keys travel under other names");
        let names =
            names.iter().filter_map(Value::as_str).map(|key| Json::Text(self.keys.wire(key))).collect();
        node.out.push((Cow::Borrowed(name), Json::Array(names)));
    }

    /// A list of keys under the names by which they travel.
    pub(super) fn renamed_list(&self, list: Json<'a>) -> Json<'a> {
        let Json::Array(names) = list else { return list };
        let wire = |name: Json<'a>| match name {
            Json::Same(Value::String(key)) => Json::Text(self.keys.wire(key)),
            other => other,
        };
        Json::Array(names.into_iter().map(wire).collect())
    }

    /// Schemas by key or by pattern; old dependencies may be lists of keys instead.
    pub(super) fn edit_table(&mut self, name: &'a str, value: &'a Value, node: &mut NodeEdit<'a>) {
        let Value::Object(table) = value else { return };
        let list = self.step(node.path, name);
        let mut changed = false;
        let mut written: Entries<'a> = Vec::with_capacity(table.len());
        let speaks = !matches!(name, "$defs" | "definitions");
        for (key, schema) in table {
            if name == "dependencies" && schema.is_array() {
                written.push((Cow::Borrowed(key.as_str()), Json::Same(schema)));
                continue;
            }
            let source = self.source(schema, list, key, node.resource);
            let edited = self.edit(source);
            if speaks {
                node.adopt(&edited);
            }
            changed |= !matches!(edited.json, Json::Same(_));
            let wire =
                if name == "dependentSchemas" { self.keys.wire(key) } else { Cow::Borrowed(key.as_str()) };
            if matches!(wire, Cow::Owned(_)) {
                self.rewritten(source.path, name, None, "the key travels under another name");
                node.exact = false;
                changed = true;
            }
            written.push((wire, edited.json));
        }
        node.push(name, value, changed, || Json::Object(written));
    }

    pub(super) fn edit_items(&mut self, name: &'a str, value: &'a Value, node: &mut NodeEdit<'a>) {
        if !value.is_array() {
            return self.edit_child(name, value, node, Exactness::Free);
        }
        if node.map.get("prefixItems").is_some_and(Value::is_array) {
            return self.rewrite(name, value, node, "prefixItems says the positions");
        }
        if self.rules.items_lists {
            return self.edit_list(Keyword::PrefixItems, name, value, node);
        }
        self.rewrite(name, value, node, "a list of items means positions");
        self.modern = true;
        // An empty list names no position.
        let positions = value.as_array().is_some_and(|positions| !positions.is_empty());
        if positions {
            self.edit_list(Keyword::PrefixItems, name, value, node);
            if let Some((written, _)) = node.out.last_mut() {
                *written = Cow::Borrowed("prefixItems");
            }
        }
        if let Some(rest) =
            node.map.member("additionalItems").filter(|rest| rest.is_object() || rest.is_boolean())
        {
            self.rewritten(node.path, "additionalItems", Some(rest), "said by items");
            let source = self.source(rest, node.path, "additionalItems", node.resource);
            let edited = self.edit(source);
            node.adopt(&edited);
            node.out.push((Cow::Borrowed("items"), edited.json));
        }
    }

    pub(super) fn edit_child(
        &mut self,
        name: &'a str,
        value: &'a Value,
        node: &mut NodeEdit<'a>,
        exactness: Exactness,
    ) {
        if name == "additionalProperties" && value.is_boolean() {
            node.keep(name, value);
            return;
        }
        let entries = self.changes.entries.len();
        let definitions = self.definitions.len();
        let source = self.source(value, node.path, name, node.resource);
        let edited = self.edit(source);
        if !edited.exact && exactness == Exactness::Needed {
            // Loosening what is inside would tighten the whole: say it in words instead.
            self.changes.entries.truncate(entries);
            self.definitions.truncate(definitions);
            return self.remove(name, value, node, "cannot be said exactly here");
        }
        self.relied |= edited.relies && exactness == Exactness::Needed;
        node.adopt(&edited);
        let changed = !matches!(edited.json, Json::Same(_));
        node.push(name, value, changed, || edited.json);
    }

    pub(super) fn edit_list(
        &mut self,
        keyword: Keyword,
        name: &'a str,
        value: &'a Value,
        node: &mut NodeEdit<'a>,
    ) {
        let Value::Array(members) = value else { return };
        let list = self.step(node.path, name);
        let mut changed = false;
        let (mut exact, mut relies) = (true, false);
        let mut written = Vec::with_capacity(members.len());
        for (index, schema) in members.iter().enumerate() {
            let source = self.item_source(schema, list, index, node.resource);
            let edited = self.edit(source);
            exact &= edited.exact;
            relies |= edited.relies;
            changed |= !matches!(edited.json, Json::Same(_));
            written.push(edited.json);
        }
        node.exact &= exact;
        node.relies |= relies;
        self.relied |= relies && exact && keyword == Keyword::OneOf;
        if keyword == Keyword::OneOf && (!exact || self.rules.keywords.of(keyword) == Verdict::Describe) {
            node.exact = false;
            self.rewrite(name, value, node, "alternatives may overlap here: said by anyOf");
            if node.map.has("anyOf") {
                let union = Json::object([("anyOf", Json::Array(written))]);
                node.out.push((Cow::Borrowed("allOf"), Json::Array(vec![union])));
            } else {
                node.out.push((Cow::Borrowed("anyOf"), Json::Array(written)));
            }
            return;
        }
        node.push(name, value, changed, || Json::Array(written));
    }
}
