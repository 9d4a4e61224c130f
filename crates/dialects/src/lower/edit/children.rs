//! Keywords that hold schemas.

use super::{Edit, Entries, Exactness, NodeEdit};
use crate::dialect::Verdict;
use crate::json::Json;
use crate::report::Fate;
use crate::schema::{Keyword, Members, Source};
use serde_json::Value;
use std::borrow::Cow;

impl<'a> Edit<'a, '_> {
    pub(super) fn edit_properties(&mut self, node: &mut NodeEdit<'a>) {
        let Value::Object(properties) = node.value else { return };
        self.edit_table(node);
        if node.map.has("required") {
            return;
        }
        if let Some(Value::Array(names)) = properties.member("required") {
            let names = Json::Array(names.iter().map(Json::Same).collect());
            node.out.push((Cow::Borrowed("required"), self.renamed_list(names)));
        }
        // `required: true` on properties, as in draft 3.
        let is_flagged = |schema: &Value| schema.member("required") == Some(&Value::Bool(true));
        let flagged = properties.iter().filter(|(_, schema)| is_flagged(schema));
        let flagged: Vec<Json<'a>> = flagged.map(|(key, _)| Json::Text(self.keys.wire(key))).collect();
        if !flagged.is_empty() {
            node.changed = true;
            node.out.push((Cow::Borrowed("required"), Json::Array(flagged)));
        }
    }

    pub(super) fn edit_required(&mut self, node: &mut NodeEdit<'a>) {
        let Value::Array(names) = node.value else { return };
        let legal = self.keys.is_free()
            || names.iter().filter_map(Value::as_str).all(|key| self.keys.wire(key) == key);
        if legal {
            node.keep();
            return;
        }
        node.exact = false;
        self.rewrite(node, "keys travel under other names");
        node.write(self.renamed_list(Json::Array(names.iter().map(Json::Same).collect())));
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
    pub(super) fn edit_table(&mut self, node: &mut NodeEdit<'a>) {
        let Value::Object(table) = node.value else { return };
        let name = node.name;
        let list = self.inside(node.source, name, node.value);
        let mut changed = false;
        let mut written: Entries<'a> = Vec::with_capacity(table.len());
        // How the report calls it where keys of the arguments get other names.
        let renaming = match name {
            "properties" => Some(Fate::Encoded),
            "dependentSchemas" => Some(Fate::Rewritten),
            _ => None,
        };
        for (key, schema) in table {
            if name == "properties" && key == "required" && schema.is_array() {
                self.rewritten(node.source.path, name, None, "required stood inside properties");
                changed = true;
                continue;
            }
            if name == "dependencies" && schema.is_array() {
                written.push((Cow::Borrowed(key.as_str()), Json::Same(schema)));
                continue;
            }
            let source = self.inside(list, key, schema);
            let edited = self.edit(source);
            if !matches!(name, "$defs" | "definitions") {
                node.adopt(&edited);
            }
            changed |= !matches!(edited.json, Json::Same(_));
            let mut wire = Cow::Borrowed(key.as_str());
            if let Some(fate) = renaming {
                wire = self.keys.wire(key);
                if matches!(wire, Cow::Owned(_)) {
                    self.change(source.path, name, None, fate, "the key travels under another name");
                    node.exact = false;
                    changed = true;
                }
            }
            written.push((wire, edited.json));
        }
        node.push(changed, || Json::Object(written));
    }

    /// Under a word that is no keyword, only what references name is a schema.
    pub(super) fn edit_unknown(&mut self, node: &mut NodeEdit<'a>) {
        if self.known.outside.is_empty() {
            return node.keep();
        }
        let source = self.inside(node.source, node.name, node.value);
        let json = self.edit_named(source);
        let changed = !matches!(json, Json::Same(_));
        node.push(changed, || json);
    }

    /// `source`, with the schemas in it edited that references name. Its depth is bounded by the budget.
    fn edit_named(&mut self, source: Source<'a>) -> Json<'a> {
        if self.known.outside.contains(&std::ptr::from_ref(source.schema)) {
            return self.edit(source).json;
        }
        let mut changed = false;
        let mut edit = |edit: &mut Self, child: Source<'a>| {
            let json = edit.edit_named(child);
            changed |= !matches!(json, Json::Same(_));
            json
        };
        let json = match source.schema {
            Value::Object(members) => {
                let mut written: Entries<'a> = Vec::with_capacity(members.len());
                for (name, value) in members {
                    let child = self.inside(source, name, value);
                    written.push((Cow::Borrowed(name.as_str()), edit(self, child)));
                }
                Json::Object(written)
            }
            Value::Array(items) => {
                let mut written = Vec::with_capacity(items.len());
                for (index, value) in items.iter().enumerate() {
                    let child = self.item(source, index, value);
                    written.push(edit(self, child));
                }
                Json::Array(written)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Json::Same(source.schema),
        };
        if changed { json } else { Json::Same(source.schema) }
    }

    pub(super) fn edit_items(&mut self, node: &mut NodeEdit<'a>) {
        let Value::Array(positions) = node.value else { return self.edit_child(node, Exactness::Free) };
        if node.map.get("prefixItems").is_some_and(Value::is_array) {
            return self.rewrite(node, "prefixItems says the positions");
        }
        if self.rules.items_lists {
            return self.edit_list(Keyword::PrefixItems, node);
        }
        self.rewrite(node, "a list of items means positions");
        self.modern = true;
        // An empty list names no position.
        if !positions.is_empty() {
            self.edit_list(Keyword::PrefixItems, node);
            if let Some((written, _)) = node.out.last_mut() {
                *written = Cow::Borrowed("prefixItems");
            }
        }
        if let Some(rest) =
            node.map.member("additionalItems").filter(|rest| rest.is_object() || rest.is_boolean())
        {
            self.rewritten(node.source.path, "additionalItems", Some(rest), "said by items");
            let source = self.inside(node.source, "additionalItems", rest);
            let edited = self.edit(source);
            node.adopt(&edited);
            node.out.push((Cow::Borrowed("items"), edited.json));
        }
    }

    pub(super) fn edit_child(&mut self, node: &mut NodeEdit<'a>, exactness: Exactness) {
        if node.name == "additionalProperties" && node.value.is_boolean() {
            node.keep();
            return;
        }
        let entries = self.changes.entries.len();
        let definitions = self.definitions.len();
        let source = self.inside(node.source, node.name, node.value);
        let edited = self.edit(source);
        if !edited.exact && exactness == Exactness::Needed {
            // Loosening what is inside would tighten the whole: say it in words instead.
            self.changes.entries.truncate(entries);
            self.definitions.truncate(definitions);
            return self.remove(node, "cannot be said exactly here");
        }
        self.relied |= edited.relies && exactness == Exactness::Needed;
        node.adopt(&edited);
        let changed = !matches!(edited.json, Json::Same(_));
        node.push(changed, || edited.json);
    }

    pub(super) fn edit_list(&mut self, keyword: Keyword, node: &mut NodeEdit<'a>) {
        let Value::Array(members) = node.value else { return };
        let list = self.inside(node.source, node.name, node.value);
        let mut changed = false;
        let (mut exact, mut relies) = (true, false);
        let mut written = Vec::with_capacity(members.len());
        for (index, schema) in members.iter().enumerate() {
            let source = self.item(list, index, schema);
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
            self.rewrite(node, "alternatives may overlap here: said by anyOf");
            if node.map.has("anyOf") {
                let union = Json::object([("anyOf", Json::Array(written))]);
                node.out.push((Cow::Borrowed("allOf"), Json::Array(vec![union])));
            } else {
                node.out.push((Cow::Borrowed("anyOf"), Json::Array(written)));
            }
            return;
        }
        node.push(changed, || Json::Array(written));
    }
}
