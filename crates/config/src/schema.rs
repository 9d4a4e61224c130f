//! The JSON Schema of the configuration file, for editors.

use serde_json::{Map, Value, json};

use crate::fields::{self, Field, Shape};

/// The schema, made from the same tables that check the names of fields.
///
/// The service adds its own members under `properties`; members that it does not know are accepted here.
pub fn json_schema() -> Value {
    let servers = json!({
        "type": "object",
        "description": "The MCP servers, by name.",
        "additionalProperties": {"$ref": "#/$defs/server"},
    });
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Configuration of MCP Tool Gateway",
        "type": "object",
        "allowTrailingCommas": true,
        "properties": {
            "$schema": {"type": "string"},
            "mcpServers": servers,
            "servers": servers,
            "context_servers": servers,
            "mcp": {"type": "object", "properties": {"servers": servers}},
            "inputs": {
                "type": "array",
                "description": "Inputs of VS Code's, filled in from the environment.",
                "items": {"type": "object"},
            },
            "clash": {
                "enum": ["error", "prefix", "first"],
                "default": "prefix",
                "description": "What happens when two servers have a tool of the same name: nobody has it, each has its \
                                server's name in front, or the first server has it.",
            },
            "tools": {
                "type": "object",
                "description": "Tools of the gateway itself, by name: an HTTP endpoint or a command does the work.",
                "additionalProperties": {"$ref": "#/$defs/tool"},
            },
            "resources": {
                "type": "array",
                "description": "Resources of the gateway itself, and templates of such.",
                "items": {
                    "type": "object",
                    "properties": {
                        "uri": {"type": "string"},
                        "uriTemplate": {"type": "string", "description": "`{x}` is one segment of a path."},
                        "name": {"type": "string"},
                        "title": {"type": "string"},
                        "description": {"type": "string"},
                        "mimeType": {"type": "string"},
                        "text": {"type": "string", "description": "What it holds; `{x}` is put in."},
                        "blob": {"type": "string", "description": "What it holds, as base64."},
                    },
                    "required": ["name"],
                },
            },
            "registry": described(&REGISTRY),
            "groups": {
                "type": "object",
                "description": "Named sets of tools.",
                "additionalProperties": {"anyOf": [schema_of_object(fields::GROUP), schema_of(&Shape::Texts)]},
            },
        },
        "anyOf": [
            {"required": ["mcpServers"]},
            {"required": ["servers"]},
            {"required": ["context_servers"]},
            {"required": ["mcp"]},
            {"required": ["tools"]},
            {"required": ["resources"]},
        ],
        "$defs": {"server": schema_of_object(fields::SERVER), "tool": tool()},
    })
}

const REGISTRY: Field = Field {
    name: "registry",
    shape: Shape::Object(fields::REGISTRY),
    about: "The registry, which holds `tools` and what is registered over HTTP.",
};

fn tool() -> Value {
    let mut schema = schema_of_object(fields::TOOL);
    let handler = |fields: &[Field], needed: &str| {
        let mut schema = schema_of_object(fields);
        if let Value::Object(members) = &mut schema {
            members.insert("required".to_owned(), json!([needed]));
        }
        schema
    };
    if let Some(handlers) = schema.pointer_mut("/properties/handler/anyOf") {
        *handlers =
            json!([handler(fields::ENDPOINT_HANDLER, "url"), handler(fields::COMMAND_HANDLER, "command")]);
    }
    if let Value::Object(members) = &mut schema {
        members.insert("required".to_owned(), json!(["handler"]));
    }
    schema
}

fn schema_of_object(fields: &[Field]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.to_owned(), described(field))).collect();
    json!({"type": "object", "properties": properties})
}

fn described(field: &Field) -> Value {
    let mut schema = schema_of(&field.shape);
    if let Value::Object(members) = &mut schema {
        members.insert("description".to_owned(), json!(field.about));
    }
    schema
}

fn schema_of(shape: &Shape) -> Value {
    let scalar = json!({"type": ["string", "number", "boolean"]});
    let time = || {
        json!({
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string", "pattern": "^\\s*[0-9.]+\\s*(ms|s|m|min|h)?\\s*$"},
            ]
        })
    };
    match shape {
        Shape::Text => json!({"type": "string"}),
        Shape::Texts => json!({"anyOf": [{"type": "array", "items": scalar}, {"type": "string"}]}),
        Shape::TextMap => json!({
            "type": ["object", "null"],
            "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
        }),
        Shape::TextsMap => json!({"type": "object", "additionalProperties": schema_of(&Shape::Texts)}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::Whole(least, most) => json!({"type": "number", "minimum": least, "maximum": most}),
        Shape::Time => time(),
        Shape::TimeMap => json!({"type": "object", "additionalProperties": time()}),
        Shape::TimeOrFalse => json!({"anyOf": [time(), {"const": false}]}),
        Shape::Bytes => json!({
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": "^\\s*[0-9]+\\s*([KkMmGg]?[Ii]?[Bb]?)\\s*$"},
            ]
        }),
        Shape::Choice(words) => json!({"enum": words}),
        Shape::ChoiceMap(words) => json!({"type": "object", "additionalProperties": {"enum": words}}),
        Shape::Object(fields) => schema_of_object(fields),
        Shape::ObjectMap => json!({"type": "object", "additionalProperties": {"type": "object"}}),
        Shape::Either(shapes) => json!({"anyOf": shapes.iter().map(schema_of).collect::<Vec<_>>()}),
        Shape::Schema => json!({"type": "object"}),
        Shape::Any => json!({}),
    }
}
