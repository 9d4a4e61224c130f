//! Every schema in a schema.

use std::fmt;

use gateway_notation::pointer;
use serde_json::{Map, Value};

/// Keywords that refer to another schema.
pub(super) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Whether the members of a keyword are values, not schemas.
pub(super) fn holds_values(keyword: &str) -> bool {
    matches!(keyword, "const" | "enum" | "default" | "examples")
}

/// Whether the members of a keyword have names of the author's choice, which are no keywords whatever they are.
pub(super) fn holds_names(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties" | "patternProperties" | "dependentSchemas" | "dependencies" | "$defs" | "definitions"
    )
}

/// Whether the members of a keyword are objects that are no schemas.
fn holds_others(keyword: &str) -> bool {
    matches!(keyword, "dependentRequired" | "$vocabulary")
}

/// Where a schema is, written as a JSON Pointer only when that is needed.
pub(super) struct Path<'p> {
    above: Option<&'p Path<'p>>,
    name: &'p str,
}

impl Path<'_> {
    pub(super) fn child(&self, name: &str) -> String {
        pointer::join(&self.to_string(), name)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.above {
            Some(above) => formatter.write_str(&above.child(self.name)),
            None => Ok(()),
        }
    }
}

/// Calls `visit` with every schema in `schema`, itself included, but for those that are values.
pub(super) fn each_schema<'a>(schema: &'a Value, visit: &mut dyn FnMut(&'a Value, &Path<'_>)) {
    walk(schema, &Path { above: None, name: "" }, false, visit);
}

/// As [`each_schema`], with whatever is in values.
pub(super) fn each_schema_and_value<'a>(schema: &'a Value, visit: &mut dyn FnMut(&'a Value, &Path<'_>)) {
    walk(schema, &Path { above: None, name: "" }, true, visit);
}

fn walk<'a>(
    node: &'a Value,
    path: &Path<'_>,
    enters_values: bool,
    visit: &mut dyn FnMut(&'a Value, &Path<'_>),
) {
    match node {
        Value::Object(map) => {
            visit(node, path);
            for (key, value) in map {
                let below = Path { above: Some(path), name: key };
                match value {
                    _ if holds_others(key) || (holds_values(key) && !enters_values) => {}
                    Value::Object(named) if holds_names(key) => {
                        for (name, value) in named {
                            walk(value, &Path { above: Some(&below), name }, enters_values, visit);
                        }
                    }
                    value => walk(value, &below, enters_values, visit),
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate().filter(|(_, item)| item.is_object() || item.is_array())
            {
                walk(item, &Path { above: Some(path), name: &at.to_string() }, enters_values, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Calls `visit` with every schema in `schema`, itself included and before those inside it.
pub(super) fn each_schema_mut(schema: &mut Value, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    match schema {
        Value::Object(map) => {
            visit(map);
            for (key, value) in map {
                match value {
                    _ if holds_others(key) || holds_values(key) => {}
                    Value::Object(named) if holds_names(key) => {
                        named.values_mut().for_each(|value| each_schema_mut(value, visit));
                    }
                    value => each_schema_mut(value, visit),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_schema_mut(item, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
