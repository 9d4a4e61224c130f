//! A dialect as JSON, for programs that ask about it.

use std::fmt::Debug;

use serde_json::{Map, Value, json};

use super::{Dialect, NameRule};
use crate::schema::Keyword;

impl Dialect {
    /// What the dialect is called and what it builds on.
    pub fn heading_json(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "aliases": self.aliases,
            "extends": self.extends,
            "layer": self.layer,
        })
    }

    /// All rules under the keys of the file format, defaults included.
    pub fn to_json(&self) -> Value {
        let (tool, limits, schema, messages) = (&self.tool, &self.limits, &self.schema, &self.messages);
        let mut keywords = Map::new();
        for keyword in Keyword::ALL {
            keywords.insert(keyword.name().to_owned(), word(schema.keywords.of(*keyword)).into());
        }
        keywords.insert("unknown".to_owned(), word(schema.keywords.unknown).into());
        let mut document = self.heading_json();
        let rules = json!({
            "tool": {
                "shape": word(tool.shape),
                "schema-key": tool.schema_key,
                "document": tool.document,
                "strict": word(tool.strict),
                "description-fallback": tool.description_fallback,
                "empty-description": tool.empty_description,
                "blank-description": tool.blank_description,
                "omit-empty-schema": tool.omit_empty_schema,
                "empty-required": word(tool.empty_required),
                "strict-dialect": tool.strict_dialect,
            },
            "names": name_rule(&self.names),
            "keys": name_rule(&self.keys),
            "ids": name_rule(&self.ids),
            "limits": {
                "tools": limits.tools,
                "description": limits.description,
                "parameter-description": limits.parameter_description,
                "depth": limits.depth,
                "properties": limits.properties,
                "enum-values": limits.enum_values,
                "long-enum-characters": limits.long_enum_characters,
                "schema-bytes": limits.schema_bytes,
            },
            "schema": {
                "lowering": word(schema.lowering),
                "defaults": word(schema.defaults),
                "text": word(schema.text),
                "root-unions": schema.root_unions,
                "root-values": schema.root_values,
                "all-required": schema.all_required,
                "type-required": schema.type_required,
                "type-lists": schema.type_lists,
                "container-type-lists": schema.container_type_lists,
                "boolean-schemas": schema.boolean_schemas,
                "items-required": schema.items_required,
                "items-lists": schema.items_lists,
                "enum-any": schema.enum_any,
                "enum-empty-text": schema.enum_empty_text,
                "required-known": schema.required_known,
                "satisfiable": schema.satisfiable,
                "null": word(schema.null),
                "refs": word(schema.refs),
                "ref-siblings": schema.ref_siblings,
                "ref-in-union": schema.ref_in_union,
                "recursion": schema.recursion,
                "unroll": schema.unroll,
                "additional": word(schema.additional),
                "empty-object": word(schema.empty_object),
                "any-of": word(schema.any_of),
                "patterns": word(schema.patterns),
                "min-items-up-to": schema.min_items_up_to,
                "anything": word(schema.anything),
                "formats": {
                    "string": schema.formats.string,
                    "number": schema.formats.number,
                    "integer": schema.formats.integer,
                },
            },
            "messages": {
                "protocol": word(messages.protocol),
                "images": word(messages.images),
                "image-types": messages.image_types,
                "image-urls": messages.image_urls,
                "user-images": messages.user_images,
                "audio": word(messages.audio),
                "user-audio": messages.user_audio,
                "files": word(messages.files),
                "file-types": messages.file_types,
                "variants": messages.variants.iter().map(|variant| json!({
                    "models": variant.models,
                    "images": variant.images.map(word),
                    "audio": variant.audio.map(word),
                    "files": variant.files.map(word),
                })).collect::<Vec<_>>(),
                "resources": word(messages.resources),
                "errors": word(messages.errors),
                "empty": word(messages.empty),
                "structured": word(messages.structured),
                "tool-name-field": messages.tool_name_field,
                "call-ids": messages.call_ids,
                "silent-content": word(messages.silent_content),
                "alternate": messages.alternate,
                "reasoning-field": messages.reasoning_field,
                "reasoning-scope": word(messages.reasoning_scope),
                "call-signature-field": messages.call_signature_field,
                "foreign-signature": messages.foreign_signature,
            },
        });
        if let (Value::Object(document), Value::Object(rules)) = (&mut document, rules) {
            document.extend(rules);
            if let Some(Value::Object(schema)) = document.get_mut("schema") {
                schema.insert("keywords".to_owned(), Value::Object(keywords));
            }
        }
        document
    }
}

fn name_rule(rule: &NameRule) -> Value {
    json!({"punctuation": rule.punctuation, "any-start": rule.any_start, "min": rule.min, "max": rule.max})
}

/// The word for a choice in dialect files: `TypeList` → `type-list`.
fn word(choice: impl Debug) -> String {
    let mut text = String::new();
    for char in format!("{choice:?}").chars() {
        if char.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.extend(char.to_lowercase());
    }
    text
}
