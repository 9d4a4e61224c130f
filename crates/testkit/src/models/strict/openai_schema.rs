//! Names and schemas of tools, as `OpenAI` checks them.

use serde_json::{Map, Value};

use super::json_schema::{Draft, check_metaschema, check_patterns, check_references, inside, looks_around};
use super::{Checked, check_length, is_name, list, missing, text, type_name};
use crate::models::errors::Violation;
use crate::models::seen::tools_of;
use crate::models::wire::Form;

/// Keywords that no strict schema may have.
const BANNED: [&str; 21] = [
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
    "uniqueItems",
    "unevaluatedProperties",
    "minProperties",
    "maxProperties",
    "contains",
    "dependencies",
    "unevaluatedItems",
    "minContains",
    "maxContains",
    "additionalItems",
    "prefixItems",
];

/// Members of a function; others are unknown parameters.
const MEMBERS: [&str; 4] = ["name", "description", "parameters", "strict"];

/// What strict schemas may say about text.
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Keywords that are refused beyond the usual ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defaults {
    /// `default` may stand anywhere.
    Accepted,
    /// Not in strict schemas: Azure.
    RefusedIfStrict,
    /// Nowhere: Argo.
    Refused,
}

/// The name of a function at a place of the request.
pub(super) fn check_name(function: &Value, param: &str) -> Checked {
    let param = format!("{param}.name");
    let Some(name) = text(function, "name") else { return Err(missing(&param)) };
    if name.is_empty() {
        return Err(Violation::new(format!(
            "Invalid '{param}': empty string. Expected a string with minimum length 1, but got an empty string instead."
        ))
        .at(param)
        .code("empty_string"));
    }
    check_length(&param, name, 64)?;
    if is_name(name, "") {
        return Ok(());
    }
    Err(Violation::new(format!(
        "Invalid '{param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
    ))
    .at(param)
    .code("invalid_value"))
}

/// Refuses two functions of one name.
pub(super) fn check_unique(form: Form, body: &Value, key: &str) -> Checked {
    let mut seen = Vec::new();
    for (name, _) in tools_of(form, body) {
        if seen.contains(&name) {
            let message = format!("Invalid '{key}': duplicate function name '{name}'.");
            return Err(Violation::new(message).at(key).code("invalid_value"));
        }
        seen.push(name);
    }
    Ok(())
}

/// Refuses members that no function has.
pub(super) fn check_members(function: &Value, param: &str, others: &[&str]) -> Checked {
    let mut keys = function.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    match keys.find(|key| !MEMBERS.contains(key) && !others.contains(key)) {
        Some(key) => Err(unknown_parameter(&format!("{param}.{key}"))),
        None => Ok(()),
    }
}

/// The words for a member that nothing reads.
pub(super) fn unknown_parameter(param: &str) -> Violation {
    Violation::new(format!("Unknown parameter: '{param}'.")).at(param).code("unknown_parameter")
}

/// The parameters of a function at a place of the request.
pub(super) fn check_parameters(function: &Value, param: &str, defaults: Defaults) -> Checked {
    let Some(schema) = function.get("parameters") else { return Ok(()) };
    let strict = function.get("strict") == Some(&Value::Bool(true));
    let refuse_defaults = match defaults {
        Defaults::Accepted => false,
        Defaults::RefusedIfStrict => strict,
        Defaults::Refused => true,
    };
    let name = text(function, "name").unwrap_or_default();
    let rules = Rules { strict, refuse_defaults };
    let checked = check_root(schema)
        .and_then(|()| rules.check(schema, &mut Vec::new()))
        .and_then(|()| check_metaschema(schema, Draft::TwentyTwenty))
        .and_then(|()| check_references(schema))
        .and_then(|()| check_patterns(schema));
    checked.map_err(|cause| {
        Violation::new(format!("Invalid schema for function '{name}': {cause}"))
            .at(format!("{param}.parameters"))
            .code("invalid_function_parameters")
    })
}

fn check_root(schema: &Value) -> Result<(), String> {
    let Some(object) = schema.as_object() else {
        let shown = if schema.is_null() { "None".to_owned() } else { schema.to_string() };
        return Err(format!("{shown} is not of type 'object', 'boolean'."));
    };
    let kind = object.get("type").map_or("None", |kind| kind.as_str().unwrap_or_else(|| type_name(kind)));
    if kind != "object" {
        return Err(format!("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."));
    }
    if ["oneOf", "anyOf", "allOf", "enum", "not", "const"].iter().any(|key| object.contains_key(*key)) {
        return Err(
            "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
                .to_owned(),
        );
    }
    if object.contains_key("properties") {
        Ok(())
    } else {
        Err("In context=(), object schema missing properties.".to_owned())
    }
}

struct Rules {
    strict: bool,
    refuse_defaults: bool,
}

impl Rules {
    /// A schema and all inside it. Recursion is bounded by the depth that the reader of JSON allows.
    fn check(&self, schema: &Value, context: &mut Vec<String>) -> Result<(), String> {
        let object = match schema {
            Value::Object(object) => object,
            Value::Bool(_) if !self.strict => return Ok(()),
            Value::Bool(_) => return Err(at(context, "schema must have a 'type' key.")),
            Value::String(word) => return Err(format!("'{word}' is not of type 'object', 'boolean'.")),
            other => return Err(format!("{other} is not of type 'object', 'boolean'.")),
        };
        let is = |kind: &str| match object.get("type") {
            Some(Value::String(name)) => name == kind,
            Some(Value::Array(names)) => names.iter().any(|name| name == kind),
            _ => false,
        };
        let other_items = !self.strict && object.contains_key("prefixItems");
        if is("array") && !object.contains_key("items") && !other_items {
            return Err(at(context, "array schema missing items."));
        }
        if object.get("items").is_some_and(Value::is_array) {
            return Err(format!(
                "{} is not of type 'object', 'boolean'.",
                object.get("items").unwrap_or(&Value::Null)
            ));
        }
        if self.refuse_defaults && object.contains_key("default") {
            return Err(at(context, "'default' is not permitted."));
        }
        if self.strict {
            check_strict(object, is("object"), context)?;
        }
        for (path, inner) in inside(object) {
            let depth = context.len();
            context.extend(path);
            self.check(inner, context)?;
            context.truncate(depth);
        }
        Ok(())
    }
}

fn check_strict(object: &Map<String, Value>, is_object: bool, context: &[String]) -> Result<(), String> {
    if let Some(key) = BANNED.iter().find(|key| object.contains_key(**key)) {
        return Err(at(context, &format!("'{key}' is not permitted.")));
    }
    if object.contains_key("$ref") {
        let others: Vec<String> =
            object.keys().filter(|key| *key != "$ref").map(|key| format!("'{key}'")).collect();
        return if others.is_empty() {
            Ok(())
        } else {
            Err(at(context, &format!("$ref cannot have keywords {{{}}}.", others.join(", "))))
        };
    }
    if !["type", "anyOf"].iter().any(|key| object.contains_key(*key)) {
        return Err(at(context, "schema must have a 'type' key."));
    }
    if let Some(format) = object.get("format").filter(|format| !FORMATS.iter().any(|known| format == known)) {
        return Err(at(context, &format!("{format} is not a valid format.")));
    }
    if object.get("pattern").and_then(Value::as_str).is_some_and(looks_around) {
        return Err(at(context, "regex lookaround is not supported."));
    }
    if !is_object {
        return Ok(());
    }
    if object.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Err(at(context, "'additionalProperties' is required to be supplied and to be false."));
    }
    let rule = "'required' is required to be supplied and to be an array including every key in properties.";
    let properties = object.get("properties").and_then(Value::as_object);
    if properties.is_none() {
        return Err(at(context, "object schema missing properties."));
    }
    let required: Vec<&str> = object
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if let Some((key, _)) =
        properties.into_iter().flatten().find(|(key, _)| !required.contains(&key.as_str()))
    {
        return Err(at(context, &format!("{rule} Missing '{key}'.")));
    }
    match required.iter().find(|key| properties.is_none_or(|all| !all.contains_key(**key))) {
        Some(key) => Err(at(context, &format!("{rule} Extra required key '{key}' supplied."))),
        None => Ok(()),
    }
}

/// The place of a problem, as a tuple of Python.
fn at(context: &[String], problem: &str) -> String {
    let names: Vec<String> = context.iter().map(|name| format!("'{name}'")).collect();
    let tuple = match names.as_slice() {
        [only] => format!("({only},)"),
        names => format!("({})", names.join(", ")),
    };
    format!("In context={tuple}, {problem}")
}

/// Whether a tool is of the kind that has a schema.
pub(super) fn functions<'a>(body: &'a Value, key: &str) -> impl Iterator<Item = (usize, &'a Value)> {
    let is_function = |tool: &Value| text(tool, "type").is_none_or(|kind| kind == "function");
    list(body, key).iter().enumerate().filter(move |(_, tool)| is_function(tool))
}
