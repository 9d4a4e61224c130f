//! Strict tools of Anthropic Messages: what its grammar cannot say, and how many there may be.

use serde_json::{Map, Value};

use super::json_schema::{inside, is_recursive, looks_around};
use super::{Checked, list, refuse};

/// How many strict tools a request may have.
const MOST_TOOLS: usize = 20;
/// How many optional parameters all of them together may have.
const MOST_OPTIONAL: usize = 24;
/// How many parameters with several types, likewise.
const MOST_UNIONS: usize = 16;

/// Keywords that the grammar has no words for.
const UNSUPPORTED: [&str; 17] = [
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "maxItems",
    "uniqueItems",
    "contains",
    "prefixItems",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "unevaluatedProperties",
    "dependentRequired",
];

pub(super) fn check(at: &str, schema: &Value) -> Checked {
    if is_recursive(schema) {
        return refuse(format!("{at}.input_schema: Recursive schemas are not supported for strict tools"));
    }
    check_node(at, schema)
}

fn check_node(at: &str, schema: &Value) -> Checked {
    let Some(object) = schema.as_object() else {
        return refuse(format!("{at}.input_schema: Boolean schemas are not supported for strict tools"));
    };
    if let Some(key) = UNSUPPORTED.iter().find(|key| object.contains_key(**key)) {
        return refuse(format!("{at}.input_schema: property '{key}' is not supported"));
    }
    let least = object.get("minItems").and_then(Value::as_u64).unwrap_or(0);
    if least > 1 {
        return refuse(format!("{at}.input_schema: 'minItems' values other than 0 or 1 are not supported"));
    }
    if object.get("pattern").and_then(Value::as_str).is_some_and(looks_around) {
        return refuse(format!("{at}.input_schema: 'pattern' with lookaround is not supported"));
    }
    let says = ["type", "anyOf", "allOf", "oneOf", "$ref", "enum", "const"];
    if !says.iter().any(|key| object.contains_key(*key)) {
        return refuse(format!("{at}.input_schema: schemas without a type are not supported"));
    }
    let closed = object.get("additionalProperties") == Some(&Value::Bool(false));
    if is_object(object) && !closed {
        return refuse(format!(
            "{at}.input_schema: For 'object' type, 'additionalProperties' must be explicitly set to false"
        ));
    }
    inside(object).into_iter().try_for_each(|(_, inner)| check_node(at, inner))
}

fn is_object(object: &Map<String, Value>) -> bool {
    match object.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => object.contains_key("properties"),
    }
}

/// What is counted over all strict tools of a request.
pub(super) fn check_request(tools: &[Value]) -> Checked {
    let strict: Vec<&Value> =
        tools.iter().filter(|tool| tool.get("strict") == Some(&Value::Bool(true))).collect();
    if strict.len() > MOST_TOOLS {
        return refuse(format!(
            "Too many strict tools ({}). The maximum number of strict tools supported is {MOST_TOOLS}.",
            strict.len()
        ));
    }
    let (mut optional, mut unions) = (0, 0);
    for schema in strict.iter().filter_map(|tool| tool.get("input_schema")) {
        count(schema, &mut optional, &mut unions);
    }
    for (count, most, what) in [
        (optional, MOST_OPTIONAL, "optional parameters"),
        (unions, MOST_UNIONS, "parameters with union types"),
    ] {
        if count > most {
            return refuse(format!(
                "Schemas contain too many {what} ({count}), which would make grammar compilation inefficient. Reduce the number of {what} in your tool schemas (limit: {most})."
            ));
        }
    }
    Ok(())
}

fn count(schema: &Value, optional: &mut usize, unions: &mut usize) {
    let Some(object) = schema.as_object() else { return };
    let required = list(schema, "required");
    let properties = object.get("properties").and_then(Value::as_object).into_iter().flatten();
    *optional += properties.filter(|(name, _)| !required.iter().any(|known| known == *name)).count();
    let is_union = object.contains_key("anyOf") || object.get("type").is_some_and(Value::is_array);
    *unions += usize::from(is_union);
    for (_, inner) in inside(object) {
        count(inner, optional, unions);
    }
}
