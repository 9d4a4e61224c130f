//! The check of what is said about a tool.

use std::iter;

use gateway_protocol::RawJson;
use serde_json::{Map, Value, json};

/// Most characters of a name.
const NAME: usize = 128;

/// Why a definition is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The name cannot be one of a tool.
    #[error("`{name}` is no name of a tool: 1 to {NAME} of the characters A-Z, a-z, 0-9, `_`, `-`, `.`")]
    Name {
        /// The name.
        name: String,
    },
    /// Another part of the definition is wrong.
    #[error("`{field}` {message}")]
    Field {
        /// The member.
        field: String,
        /// What is wrong with it.
        message: String,
    },
}

impl DefinitionError {
    /// What is wrong with a member.
    pub fn field(field: &str, message: impl Into<String>) -> Self {
        Self::Field { field: field.to_owned(), message: message.into() }
    }
}

/// Members of a definition and what they have to be.
const MEMBERS: [(&str, Check, &str); 8] = [
    ("title", Value::is_string, "a text"),
    ("description", Value::is_string, "a text"),
    ("inputSchema", Value::is_object, "an object"),
    ("outputSchema", Value::is_object, "an object"),
    ("annotations", Value::is_object, "an object"),
    ("icons", Value::is_array, "a list"),
    ("execution", Value::is_object, "an object"),
    ("_meta", Value::is_object, "an object"),
];

type Check = fn(&Value) -> bool;

/// Other names that people give to `inputSchema`, because a provider or a library does.
pub const SCHEMA_SYNONYMS: [&str; 3] = ["input_schema", "parameters", "paramSchema"];

/// The schema of the arguments, under whichever name it has.
pub(crate) fn declared_schema(about: &Map<String, Value>) -> Option<&Value> {
    let mut names = iter::once("inputSchema").chain(SCHEMA_SYNONYMS);
    names.find_map(|name| about.get(name).filter(|value| !value.is_null()))
}

/// Whether a definition has a member of this name, beside `name`.
pub fn is_definition_member(name: &str) -> bool {
    MEMBERS.iter().any(|(member, ..)| *member == name)
}

/// How the canonical names of all servers' tools begin.
const RESERVED: &str = "mcp__";

/// The definition of a tool as `tools/list` gives it: what `about` says of it beside its name. A tool without `inputSchema`
/// takes any object.
pub fn tool_definition(name: &str, about: &Map<String, Value>) -> Result<RawJson, DefinitionError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.is_empty() || name.len() > NAME || !name.bytes().all(allowed) {
        let name = name.chars().take(NAME).collect();
        return Err(DefinitionError::Name { name });
    }
    if name.starts_with(RESERVED) {
        return Err(DefinitionError::field(
            "name",
            format!("must not begin with `{RESERVED}`: such names are those of servers' tools"),
        ));
    }
    if name.bytes().all(|byte| byte == b'.') {
        return Err(DefinitionError::field("name", "must not be dots alone: a path could not name it"));
    }
    let mut members = Map::new();
    members.insert("name".to_owned(), name.into());
    for (member, fits, kind) in MEMBERS {
        let value = if member == "inputSchema" { declared_schema(about) } else { about.get(member) };
        let Some(value) = value.filter(|value| !value.is_null()) else {
            if member == "inputSchema" {
                members
                    .insert(member.to_owned(), json!({"type": "object", "properties": {}, "required": []}));
            }
            continue;
        };
        if !fits(value) {
            return Err(DefinitionError::field(member, format!("must be {kind}")));
        }
        members.insert(member.to_owned(), value.clone());
    }
    let kind = members.get("inputSchema").and_then(|schema| schema.get("type"));
    if kind.is_some_and(|kind| kind != "object") {
        return Err(DefinitionError::field(
            "inputSchema",
            "must describe an object: its `type` must be \"object\"",
        ));
    }
    if let Some(Value::Object(schema)) = members.get_mut("inputSchema")
        && !schema.contains_key("type")
    {
        schema.insert("type".to_owned(), "object".into());
    }
    RawJson::of(&members).map_err(|error| DefinitionError::field("definition", error.to_string()))
}
