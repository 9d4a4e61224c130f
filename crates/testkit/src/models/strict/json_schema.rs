//! What several providers check of a JSON Schema, whatever they make of it.

use serde_json::{Map, Value};

/// The draft whose metaschema a provider asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Draft {
    Seven,
    TwentyTwenty,
}

/// Refuses what is no schema of the draft.
pub(super) fn check_metaschema(schema: &Value, draft: Draft) -> Result<(), String> {
    let checked = match draft {
        Draft::Seven => jsonschema::draft7::meta::validate(schema),
        Draft::TwentyTwenty => jsonschema::draft202012::meta::validate(schema),
    };
    checked.map_err(|error| error.to_string())
}

/// Refuses references to what is not in the schema: nobody fetches anything.
pub(super) fn check_references(schema: &Value) -> Result<(), String> {
    each(schema, &mut |node| match node.get("$ref").and_then(Value::as_str) {
        Some(target) if find(schema, target).is_none() => {
            Err(format!("reference to undefined schema '{target}'."))
        }
        _ => Ok(()),
    })
}

/// Refuses patterns that Python's `re` does not compile, as far as one sees it without Python.
pub(super) fn check_patterns(schema: &Value) -> Result<(), String> {
    each(schema, &mut |node| {
        let named = node.get("patternProperties").and_then(Value::as_object);
        let keys = named.into_iter().flatten().map(|(key, _)| key.as_str());
        let mut patterns = keys.chain(node.get("pattern").and_then(Value::as_str));
        match patterns.find(|pattern| !is_python_regex(pattern)) {
            Some(pattern) => Err(format!("'{pattern}' is not a 'regex'.")),
            None => Ok(()),
        }
    })
}

/// Whether Python knows all escapes and groups of a pattern.
fn is_python_regex(pattern: &str) -> bool {
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\\' {
            match letters.next() {
                None => return false,
                Some(escape) if escape.is_ascii_alphabetic() && !"AbBdDsSwWZafnrtvxuUN".contains(escape) => {
                    return false;
                }
                Some(_) => {}
            }
        }
    }
    // Groups are named by `(?P<…>`.
    pattern.split("(?<").skip(1).all(|rest| rest.starts_with(['=', '!']))
}

/// Whether a pattern looks around.
pub(super) fn looks_around(pattern: &str) -> bool {
    ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|group| pattern.contains(group))
}

/// Whether a reference leads to a schema that it stands in.
pub(super) fn is_recursive(root: &Value) -> bool {
    fn visit<'a>(root: &'a Value, node: &'a Value, open: &mut Vec<&'a str>) -> bool {
        let Some(object) = node.as_object() else { return false };
        if let Some(target) = object.get("$ref").and_then(Value::as_str) {
            if open.contains(&target) {
                return true;
            }
            open.push(target);
            let found = find(root, target).is_some_and(|node| visit(root, node, open));
            open.pop();
            if found {
                return true;
            }
        }
        let definition =
            |path: &[String]| path.first().is_some_and(|key| key == "$defs" || key == "definitions");
        inside(object).into_iter().any(|(path, inner)| !definition(&path) && visit(root, inner, open))
    }
    visit(root, root, &mut vec!["#"])
}

type Check<'a> = dyn FnMut(&Map<String, Value>) -> Result<(), String> + 'a;

/// Hands each object that is a schema to a check.
fn each(schema: &Value, check: &mut Check<'_>) -> Result<(), String> {
    let Some(object) = schema.as_object() else { return Ok(()) };
    check(object)?;
    inside(object).into_iter().try_for_each(|(_, inner)| each(inner, check))
}

/// What a reference leads to: a JSON Pointer, or an anchor.
pub(super) fn find<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    let fragment = target.strip_prefix('#')?;
    if fragment.is_empty() {
        return Some(root);
    }
    if fragment.starts_with('/') {
        return root.pointer(&crate::models::seen::decode(fragment));
    }
    find_anchor(root, fragment)
}

fn find_anchor<'a>(node: &'a Value, name: &str) -> Option<&'a Value> {
    let object = node.as_object()?;
    if ["$anchor", "$dynamicAnchor"].iter().any(|key| object.get(*key).is_some_and(|known| known == name)) {
        return Some(node);
    }
    inside(object).into_iter().find_map(|(_, inner)| find_anchor(inner, name))
}

/// The schemas inside a schema, each with the way to it.
pub(super) fn inside(object: &Map<String, Value>) -> Vec<(Vec<String>, &Value)> {
    let mut all = Vec::new();
    for (key, value) in object {
        match (key.as_str(), value) {
            // A flag, not a schema.
            ("additionalProperties", Value::Bool(_)) => {}
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(named),
            ) => {
                all.extend(named.iter().map(|(name, schema)| (vec![key.clone(), name.clone()], schema)));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(branches)) => {
                all.extend(
                    branches
                        .iter()
                        .enumerate()
                        .map(|(index, schema)| (vec![key.clone(), index.to_string()], schema)),
                );
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames",
                schema,
            ) => {
                all.push((vec![key.clone()], schema));
            }
            _ => {}
        }
    }
    all
}
