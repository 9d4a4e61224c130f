//! A variable for each setting of the file: `MCP_GATEWAY_` and the path of the key in capitals, such as
//! `MCP_GATEWAY_LIMITS_BODY_BYTES` for `limits.bodyBytes`.
//!
//! The names come from the same lines as the JSON Schema, so that a new field has its variable too.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gateway_notation::pointer;
use serde_json::{Map, Value};

use crate::environment::Environment;
use crate::problem::Problem;
use crate::servers::SERVER_BLOCKS;

/// How all these variables begin.
const PREFIX: &str = "MCP_GATEWAY";

/// Members that are no settings, but servers, tools, models and what belongs to them.
const NO_SETTINGS: [&str; 5] = ["$schema", "inputs", "tools", "resources", "models"];

/// A setting, and the variable that sets it.
pub(crate) struct Key {
    pub(crate) path: Vec<String>,
    pub(crate) variable: String,
    /// Whether its value is a text, whatever it looks like.
    is_text: bool,
}

/// What variables say in place of the file.
#[derive(Default)]
pub(crate) struct Overlay {
    /// The members of the file with the values of the variables.
    pub(crate) members: Map<String, Value>,
    /// The variable of each value that comes from one, by JSON Pointer.
    pub(crate) variables: BTreeMap<String, String>,
    /// The values, which may be secrets.
    pub(crate) values: Vec<String>,
    /// Variables that cannot be used.
    pub(crate) warnings: Vec<Problem>,
}

/// All settings of an object with this schema, outer ones first.
pub(crate) fn keys(schema: &Value) -> Vec<Key> {
    let mut keys = Vec::new();
    collect(schema, &mut Vec::new(), &mut keys);
    keys.sort_by_key(|key| key.path.len());
    keys
}

fn collect(schema: &Value, path: &mut Vec<String>, keys: &mut Vec<Key>) {
    let alternatives = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    for schema in std::iter::once(schema).chain(alternatives) {
        for (name, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            // The servers are also in `mcp`.
            let is_of_servers = SERVER_BLOCKS.contains(&name.as_str());
            if is_of_servers || (path.is_empty() && NO_SETTINGS.contains(&name.as_str())) {
                continue;
            }
            path.push(name.clone());
            if inner.get("properties").is_none() {
                keys.push(Key {
                    path: path.clone(),
                    variable: variable(path),
                    is_text: inner["type"] == "string",
                });
            }
            collect(inner, path, keys);
            path.pop();
        }
    }
}

/// Adds the variable of each setting to its description.
pub(crate) fn describe_variables(schema: &mut Value) {
    for key in keys(schema) {
        let found = key.path.iter().try_fold(&mut *schema, |schema, name| inner(schema, name));
        if let Some(Value::String(text)) = found.and_then(|found| found.get_mut("description")) {
            let _ = write!(text, " Variable: `{}`.", key.variable);
        }
    }
}

/// The schema of a member, in the schema of its object or in one of its alternatives.
fn inner<'s>(schema: &'s mut Value, name: &str) -> Option<&'s mut Value> {
    let is_there = |schema: &Value| schema.get("properties").is_some_and(|all| all.get(name).is_some());
    let object = if is_there(schema) {
        schema
    } else {
        schema.get_mut("anyOf")?.as_array_mut()?.iter_mut().find(|schema| is_there(schema))?
    };
    object.get_mut("properties")?.get_mut(name)
}

/// `MCP_GATEWAY_LIMITS_BODY_BYTES` for `limits` and `bodyBytes`.
fn variable(path: &[String]) -> String {
    let mut name = PREFIX.to_owned();
    for part in path {
        name.push('_');
        for letter in part.chars() {
            if letter.is_ascii_uppercase() {
                name.push('_');
            }
            name.push(letter.to_ascii_uppercase());
        }
    }
    name
}

/// Puts the values of variables into the members of a file.
pub(crate) fn overlay(
    schema: &Value,
    members: &Map<String, Value>,
    environment: &Environment<'_>,
) -> Overlay {
    let mut overlay = Overlay { members: members.clone(), ..Overlay::default() };
    for key in keys(schema) {
        let Some(text) = environment.non_empty(&key.variable) else { continue };
        // What is no JSON is a text: `30s`, `64KB`, a word.
        let parsed = if key.is_text { None } else { serde_json::from_str(&text).ok() };
        let value = parsed.unwrap_or_else(|| Value::String(text.clone()));
        let Some((last, outer)) = key.path.split_last() else { continue };
        let mut object = Some(&mut overlay.members);
        for name in outer {
            object = object.and_then(|object| {
                let inner = object.entry(name).or_insert_with(|| Value::Object(Map::new()));
                inner.as_object_mut()
            });
        }
        let Some(object) = object else {
            let outer = outer.join(".");
            let text = format!("`{outer}` is no object in the file, so it is not used");
            overlay.warnings.push(Problem::of_variable(&key.variable, text));
            continue;
        };
        object.insert(last.clone(), value);
        let pointer = key.path.iter().fold(String::new(), |pointer, name| pointer::join(&pointer, name));
        overlay.variables.insert(pointer, key.variable);
        overlay.values.push(text);
    }
    overlay
}
