//! References, and pointers that follow renamed keys.

use super::{Definition, Edit, Edited, NodeEdit};
use crate::dialect::RefStyle;
use crate::json::Json;
use crate::report::PathId;
use crate::schema::{Holds, Source};
use gateway_notation::pointer;
use serde_json::Value;
use std::borrow::Cow;

impl<'a> Edit<'a, '_> {
    pub(super) fn edit_reference(&mut self, node: &mut NodeEdit<'a>) {
        let Value::String(reference) = node.value else { return };
        let Some(target) = self.resolve_once(reference, node.source.resource) else {
            return self.remove(node, "names nothing in this schema");
        };
        node.relies = true;
        let address = std::ptr::from_ref(target.schema);
        if self.known.inexact.contains(&address) {
            node.exact = false;
        }
        if self.rules.refs == RefStyle::Defs || self.known.gone.contains(&address) {
            let written = match self.edit_definition(target) {
                Some(definition) => format!("#/$defs/{definition}"),
                None => "#".to_owned(),
            };
            if written == *reference {
                node.keep();
            } else {
                self.rewrite(node, "refers to a definition at the root");
                node.write(Json::from(written));
            }
            return;
        }
        if !self.is_under_keywords(target.path) {
            self.outside.insert(address);
        }
        // Other documents and renamed keys: the pointer from the root says the same.
        let local = reference.starts_with("#/") || reference == "#";
        let moved = !self.rules.items_lists && reference.contains("tems/");
        if !local || node.source.resource != 0 || moved || !self.keys.is_free() {
            let pointer = self.changes.paths.pointer(target.path);
            let renamed = self.renamed_pointer(&pointer);
            if !local || node.source.resource != 0 || renamed != pointer {
                self.rewrite(node, "the same schema, by its path from the root");
                node.write(Json::from(format!("#{}", percent_encoded(&renamed))));
                self.kept_references.push((Cow::Owned(renamed), target.schema));
                return;
            }
        }
        self.kept_references.push((Cow::Borrowed(reference.trim_start_matches('#')), target.schema));
        node.keep();
    }

    /// A schema that references name where it stands, as a reference itself.
    pub(super) fn edit_shared(&mut self, source: Source<'a>) -> Edited<'a> {
        let name = self.edit_definition(source).unwrap_or_default();
        self.rewritten(source.path, "", None, "moved into a definition: references name it");
        Edited {
            json: Json::object([("$ref", Json::from(format!("#/$defs/{name}")))]),
            exact: !self.known.inexact.contains(&std::ptr::from_ref(source.schema)),
            relies: true,
        }
    }

    /// Whether keywords alone lead to `path`, so that what it names is edited where it stands.
    fn is_under_keywords(&self, path: PathId) -> bool {
        let pointer = self.changes.paths.pointer(path);
        let mut steps = pointer.split('/').skip(1).peekable();
        while let Some(step) = steps.next() {
            let is_index = |next: &&str| next.bytes().all(|byte| byte.is_ascii_digit());
            match Holds::of(&pointer::unescape(step)) {
                Holds::Nothing | Holds::Values => return false,
                Holds::Table | Holds::List => drop(steps.next()),
                Holds::SchemaOrList => drop(steps.next_if(is_index)),
                Holds::Schema => {}
            }
        }
        true
    }

    pub(super) fn renamed_pointer(&self, pointer: &str) -> String {
        let mut renamed = String::new();
        let mut after_properties = false;
        let steps: Vec<&str> = pointer.split('/').skip(1).collect();
        for (index, step) in steps.iter().copied().enumerate() {
            renamed.push('/');
            let key = pointer::unescape(step);
            let next_is_index =
                steps.get(index + 1).is_some_and(|next| next.bytes().all(|byte| byte.is_ascii_digit()));
            match self.keys.borrowed(&key).filter(|_| after_properties) {
                Some(key) => renamed.push_str(&pointer::escape(&self.keys.wire(key))),
                None if step == "items" && next_is_index && !after_properties && !self.rules.items_lists => {
                    renamed.push_str("prefixItems");
                }
                None => renamed.push_str(step),
            }
            after_properties = !after_properties && matches!(step, "properties" | "dependentSchemas");
        }
        renamed
    }

    /// Whether a table of dependencies names a key that travels under another name.
    pub(super) fn mentions_renamed(&self, table: &'a Value) -> bool {
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

    /// Whether a listed value has a key that travels under another name.
    pub(super) fn holds_renamed(&self, value: &'a Value) -> bool {
        !self.keys.is_free()
            && match value {
                Value::Object(map) => map
                    .iter()
                    .any(|(key, inner)| self.keys.wire(key) != key.as_str() || self.holds_renamed(inner)),
                Value::Array(items) => items.iter().any(|item| self.holds_renamed(item)),
                _ => false,
            }
    }

    /// The name of the definition made from `target`; `None` for the root itself.
    pub(super) fn edit_definition(&mut self, target: Source<'a>) -> Option<String> {
        if std::ptr::eq(target.schema, self.root) {
            return None;
        }
        let mut definitions = self.definitions.iter();
        let known = definitions.find(|known| std::ptr::eq(known.target.schema, target.schema));
        if let Some(definition) = known {
            return Some(definition.name.clone());
        }
        // Where references stay as they are, so do the definitions of the schema.
        let kept = self.root.get("$defs").filter(|_| self.rules.refs != RefStyle::Defs);
        let name = self.definition_name(target.path, |name| {
            kept.is_some_and(|table| table.get(name).is_some())
                || self.definitions.iter().any(|known| known.name == name)
        });
        self.definitions.push(Definition { target, name: name.clone(), json: None });
        Some(name)
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
