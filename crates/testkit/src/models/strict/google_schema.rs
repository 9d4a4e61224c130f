//! Function declarations, as Gemini checks them.

use serde_json::{Map, Value};

use super::{Checked, google_json, is_name, list, refuse, text};
use crate::models::behaviour::GOOGLE_TYPES;

/// The members of a declaration, in both spellings.
const MEMBERS: [&str; 9] = [
    "name",
    "description",
    "behavior",
    "parameters",
    "parametersJsonSchema",
    "parameters_json_schema",
    "response",
    "responseJsonSchema",
    "response_json_schema",
];

/// The fields of the message `Schema`.
const FIELDS: [&str; 24] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "minItems",
    "maxItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "any_of",
    "property_ordering",
];

pub(super) fn check_declaration(declaration: &Value, at: &str) -> Checked {
    let mut members = declaration.as_object().into_iter().flatten();
    if let Some((key, _)) = members.find(|(key, _)| !MEMBERS.contains(&key.as_str())) {
        return unknown(key, at, "Cannot find field.");
    }
    let name = text(declaration, "name").unwrap_or_default();
    let starts = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    if !starts || !is_name(name, ".") || name.len() > 64 {
        return refuse(format!(
            "* GenerateContentRequest.{at}.name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.\n"
        ));
    }
    let json = ["parametersJsonSchema", "parameters_json_schema"];
    let json = json.iter().find_map(|key| declaration.get(*key)).filter(|schema| !schema.is_null());
    let Some(schema) = declaration.get("parameters").filter(|schema| !schema.is_null()) else {
        return json.map_or(Ok(()), |schema| google_json::check(schema, at));
    };
    if json.is_some() {
        return refuse(format!(
            "* GenerateContentRequest.{at}: parameters and parameters_json_schema are mutually exclusive.\n"
        ));
    }
    if kind_of(schema).is_none_or(|kind| kind != "OBJECT") {
        // A reader of messages comes first, and says more about what it cannot read.
        check_fields(schema, &format!("{at}.parameters"))?;
        return refuse(format!(
            "* GenerateContentRequest.{at}.parameters: schema should be of type OBJECT\n"
        ));
    }
    check_fields(schema, &format!("{at}.parameters"))?;
    check_meaning(schema, &format!("{at}.parameters"))
}

/// The type of a schema: by its name, also in small letters, or by its number.
fn kind_of(schema: &Value) -> Option<&'static str> {
    let kind = schema.get("type")?;
    if let Some(number) = kind.as_u64() {
        return usize::try_from(number).ok().and_then(|number| GOOGLE_TYPES.get(number).copied());
    }
    let name = kind.as_str()?;
    GOOGLE_TYPES.iter().copied().find(|known| known.eq_ignore_ascii_case(name))
}

fn unknown(name: &str, at: &str, problem: &str) -> Checked {
    refuse(format!("Invalid JSON payload received. Unknown name \"{name}\" at '{at}': {problem}"))
}

/// What the reader of the message refuses. Maps are lists of pairs to it.
fn check_fields(schema: &Value, at: &str) -> Checked {
    let Some(object) = schema.as_object() else {
        return refuse(format!(
            "Invalid value at '{at}' (type.googleapis.com/google.ai.generativelanguage.v1beta.Schema), {schema}"
        ));
    };
    if let Some(key) = object.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return unknown(key, at, "Cannot find field.");
    }
    if object.get("type").is_some_and(Value::is_array) {
        return unknown("type", at, "Proto field is not repeating, cannot start list.");
    }
    if let Some(kind) = object.get("type").filter(|kind| !kind.is_array() && kind_of(schema).is_none()) {
        return refuse(format!(
            "Invalid value at '{at}.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), {kind}"
        ));
    }
    if object.get("items").is_some_and(Value::is_array) {
        return unknown("items", at, "Proto field is not repeating, cannot start list.");
    }
    let mut values = list(schema, "enum").iter().enumerate();
    if let Some((index, value)) = values.find(|(_, value)| !value.is_string()) {
        return refuse(format!("Invalid value at '{at}.enum[{index}]' (TYPE_STRING), {value}"));
    }
    for (path, _, inner) in inside(object) {
        check_fields(inner, &format!("{at}.{path}"))?;
    }
    Ok(())
}

/// The schemas inside a schema: with the way of the reader of messages, and with that of the service.
fn inside(object: &Map<String, Value>) -> Vec<(String, String, &Value)> {
    let mut all = Vec::new();
    if let Some(properties) = object.get("properties").and_then(Value::as_object) {
        let each = properties.iter().enumerate();
        all.extend(each.map(|(index, (name, schema))| {
            (format!("properties[{index}].value"), format!("properties[{name}]"), schema)
        }));
    }
    if let Some(items) = object.get("items").filter(|items| !items.is_array()) {
        all.push(("items".to_owned(), "items".to_owned(), items));
    }
    for (key, name) in [("anyOf", "any_of"), ("any_of", "any_of")] {
        let branches = object.get(key).and_then(Value::as_array).into_iter().flatten().enumerate();
        all.extend(
            branches.map(|(index, schema)| (format!("{name}[{index}]"), format!("{name}[{index}]"), schema)),
        );
    }
    all
}

/// What the service refuses once it has read the message.
fn check_meaning(schema: &Value, at: &str) -> Checked {
    let fail =
        |field: &str, problem: &str| refuse(format!("* GenerateContentRequest.{at}.{field}: {problem}\n"));
    let Some(object) = schema.as_object() else { return Ok(()) };
    let kind = kind_of(schema).unwrap_or_default();
    let properties = object.get("properties").and_then(Value::as_object);
    match kind {
        "TYPE_UNSPECIFIED" => return fail("type", "must be specified"),
        "" if !object.contains_key("anyOf") && !object.contains_key("any_of") => {
            return fail("type", "must be specified");
        }
        "OBJECT" if properties.is_none_or(Map::is_empty) => {
            return fail("properties", "should be non-empty for OBJECT type");
        }
        "ARRAY" if !object.contains_key("items") => return fail("items", "missing field."),
        "OBJECT" | "ARRAY" | "" => {}
        _ if properties.is_some() => return fail("properties", "only allowed for OBJECT type"),
        _ => {}
    }
    if object.contains_key("enum") && kind != "STRING" {
        return fail("enum", "only allowed for STRING type");
    }
    if let Some(index) = list(schema, "enum").iter().position(|value| value == "") {
        return fail(&format!("enum[{index}]"), "cannot be empty");
    }
    let (formats, words): (&[&str], _) = match kind {
        "STRING" => (&["enum", "date-time"], "only 'enum' and 'date-time' are supported for STRING type"),
        "NUMBER" => (&["float", "double"], "only 'float' and 'double' are supported for NUMBER type"),
        "INTEGER" => (&["int32", "int64"], "only 'int32' and 'int64' are supported for INTEGER type"),
        _ => (&[], "is not supported for this type"),
    };
    if text(schema, "format").is_some_and(|format| !formats.contains(&format)) {
        return fail("format", words);
    }
    if !kind.is_empty() && kind != "OBJECT" && object.contains_key("required") {
        return fail("required", "only allowed for OBJECT type");
    }
    if !kind.is_empty() && kind != "ARRAY" && object.contains_key("items") {
        return fail("items", "only allowed for ARRAY type");
    }
    let known =
        |name: &Value| name.as_str().is_some_and(|name| properties.is_some_and(|all| all.contains_key(name)));
    if let Some(index) = list(schema, "required").iter().position(|name| !known(name)) {
        return fail(&format!("required[{index}]"), "property is not defined");
    }
    for (_, path, inner) in inside(object) {
        check_meaning(inner, &format!("{at}.{path}"))?;
    }
    Ok(())
}
