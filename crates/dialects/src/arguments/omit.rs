//! Taking out of a schema what cannot be used, and what means something else without it.

use std::collections::{HashMap, HashSet};

use gateway_notation::pointer;
use serde_json::{Map, Value};

use super::{
    validate::{Omission, OmissionKind},
    walk::{REFERENCES, each_schema, each_schema_and_value, holds_names, holds_values},
};
use crate::schema::refs::percent_decoded;

/// Keywords that say something else without another one: what they look at is what the other one left.
const COUNTS_ON: [(&str, &[&str]); 5] = [
    ("properties", &["additionalProperties"]),
    ("patternProperties", &["additionalProperties"]),
    ("prefixItems", &["items"]),
    ("items", &["additionalItems"]),
    ("minContains", &["contains"]),
];

/// Keywords that tell what has been looked at. Without any other one more fits, and no less has been looked at.
const LOOKS: [&str; 18] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "properties",
    "patternProperties",
    "additionalProperties",
    "prefixItems",
    "items",
    "additionalItems",
    "contains",
];

/// Keywords for what no other one has looked at.
pub(super) const UNEVALUATED: [&str; 2] = ["unevaluatedProperties", "unevaluatedItems"];

/// Keywords in which less would mean stricter.
const STRICT: [&str; 4] = ["not", "if", "oneOf", "contains"];

/// Removes what stands at `pointer`; climbs out of keywords that would be stricter then, and out of values.
pub(super) fn relax(schema: &mut Value, pointer: &str) -> Option<String> {
    let segments: Vec<&str> = pointer.split('/').skip(1).collect();
    // The keyword that the last segment is a member of, if it is one with names.
    let mut owner = None;
    let mut path = String::new();
    for segment in &segments {
        let is_name = owner.is_some_and(holds_names);
        path.extend(["/", segment]);
        if path.len() == pointer.len() || (!is_name && (STRICT.contains(segment) || holds_values(segment))) {
            break;
        }
        owner = if is_name { None } else { Some(*segment) };
    }
    let owner = owner.unwrap_or_default();
    let (parent, last) = path.rsplit_once('/')?;
    // What must stay takes everything; `true` is no schema in draft-04.
    let anything = Value::Object(Map::new());
    match schema.pointer_mut(parent)? {
        Value::Object(map) => {
            let name = pointer::unescape(last);
            match map.get_mut(&*name)? {
                member if owner == "properties" && *member != anything => *member = anything,
                _ => {
                    map.shift_remove(&*name)?;
                }
            }
        }
        Value::Array(items) => {
            let at: usize = last.parse().ok()?;
            if matches!(owner, "anyOf" | "allOf" | "prefixItems" | "items") {
                let item = items.get_mut(at)?;
                if *item == anything {
                    return None;
                }
                *item = anything;
            } else if at < items.len() {
                items.remove(at);
            } else {
                return None;
            }
        }
        _ => return None,
    }
    Some(path)
}

/// Takes out one reference that leads out of the document or nowhere.
pub(super) fn take_bad_reference(schema: &mut Value, root: &Value) -> Option<String> {
    let is_local =
        |target: &str| target.strip_prefix('#').is_some_and(|pointer| root.pointer(pointer).is_some());
    let mut bad = None;
    each_schema(schema, &mut |schema, path| {
        let is_bad =
            |keyword: &&str| schema.get(keyword).and_then(Value::as_str).is_some_and(|to| !is_local(to));
        if bad.is_none() {
            bad = REFERENCES.into_iter().find(is_bad).map(|keyword| path.child(keyword));
        }
    });
    relax(schema, &bad?)
}

/// Takes out what would be stricter without the parts that stood at `gone`.
pub(super) fn take_dependents(
    schema: &mut Value,
    mut gone: Vec<String>,
    kind: OmissionKind,
    omissions: &mut Vec<Omission>,
) {
    while !gone.is_empty() {
        let dependents = dependents(schema, &gone);
        gone = dependents.iter().filter_map(|dependent| relax(schema, dependent)).collect();
        let reason = "means something else beside a part that is left out";
        omissions.extend(gone.iter().map(|path| Omission {
            path: path.clone(),
            kind,
            reason: reason.to_owned(),
        }));
    }
}

fn dependents(root: &Value, gone: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut owners = HashSet::new();
    let mut changed = Vec::new();
    for path in gone {
        // The keyword that is gone, or that lost a member, and the schema that it stands in.
        let mut rest = path.as_str();
        for _ in 0..2 {
            let Some((owner, name)) = rest.rsplit_once('/') else { break };
            rest = owner;
            let Some(schema) = root.pointer(owner) else { continue };
            changed.push(schema);
            if matches!(name, "properties" | "prefixItems" | "items") && root.pointer(path).is_some() {
                // It takes everything now, so that the same has been looked at.
                continue;
            }
            if LOOKS.contains(&name) || name.starts_with("unevaluated") {
                owners.insert(address_of(schema));
            }
            for (keyword, others) in COUNTS_ON {
                let there = others.iter().filter(|other| keyword == name && schema.get(other).is_some());
                found.extend(there.map(|other| format!("{owner}/{other}")));
            }
        }
    }
    let changed = leading_to(root, &changed);
    each_schema_and_value(root, &mut |schema, path| {
        let unevaluated = UNEVALUATED.into_iter().filter(|keyword| {
            schema.get(keyword).is_some() && !owners.is_empty() && looks_at(root, schema, &owners)
        });
        let strict = STRICT
            .into_iter()
            .filter(|keyword| schema.get(keyword).is_some_and(|part| changed.contains(&address_of(part))));
        found.extend(unevaluated.chain(strict).map(|keyword| path.child(keyword)));
    });
    found
}

/// Everything that holds one of `schemas` or refers to it, by address. A reference that cannot be followed may lead there.
fn leading_to(root: &Value, schemas: &[&Value]) -> HashSet<usize> {
    let mut above: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut pending: Vec<usize> = schemas.iter().copied().map(address_of).collect();
    let mut inside = vec![root];
    while let Some(node) = inside.pop() {
        let parts: Vec<&Value> = match node {
            Value::Object(map) => map.values().collect(),
            Value::Array(items) => items.iter().collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => continue,
        };
        for part in &parts {
            above.entry(address_of(part)).or_default().push(address_of(node));
        }
        inside.extend(parts);
        if let Some(reference) = node.get("$ref").and_then(Value::as_str) {
            match target(root, reference) {
                Some(target) => above.entry(address_of(target)).or_default().push(address_of(node)),
                None => pending.push(address_of(node)),
            }
        }
        if node.get("$dynamicRef").is_some() || node.get("$recursiveRef").is_some() {
            pending.push(address_of(node));
        }
    }
    let mut found = HashSet::new();
    while let Some(address) = pending.pop() {
        if found.insert(address) {
            pending.extend(above.get(&address).into_iter().flatten());
        }
    }
    found
}

fn address_of(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&percent_decoded(reference.strip_prefix('#')?))
}

/// Whether one of `owners` applies to the same value as `schema`, because that refers to it or holds it.
fn looks_at(root: &Value, schema: &Value, owners: &HashSet<usize>) -> bool {
    let mut seen = HashSet::new();
    let mut pending = vec![schema];
    while let Some(schema) = pending.pop() {
        let address = address_of(schema);
        if owners.contains(&address) {
            return true;
        }
        let Value::Object(map) = schema else { continue };
        if !seen.insert(address) {
            continue;
        }
        for (keyword, value) in map {
            match (keyword.as_str(), value) {
                ("$ref", Value::String(reference)) => match target(root, reference) {
                    Some(target) => pending.push(target),
                    // It could be there.
                    None => return true,
                },
                ("$dynamicRef" | "$recursiveRef", _) => return true,
                ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => pending.extend(parts),
                ("if" | "then" | "else", part) => pending.push(part),
                ("dependentSchemas" | "dependencies", Value::Object(parts)) => pending.extend(parts.values()),
                _ => {}
            }
        }
    }
    false
}

/// Whether a schema in `schema` has one of the keywords.
pub(super) fn has_keyword(schema: &Value, keywords: &[&str]) -> bool {
    let mut found = false;
    each_schema(schema, &mut |schema, _| {
        found |= keywords.iter().any(|keyword| schema.get(keyword).is_some());
    });
    found
}

/// Takes out what looks at what all others have looked at; where it was.
pub(super) fn take_unevaluated(schema: &mut Value) -> Vec<String> {
    let mut paths = Vec::new();
    each_schema(schema, &mut |schema, path| {
        let there = UNEVALUATED.into_iter().filter(|keyword| schema.get(keyword).is_some());
        paths.extend(there.map(|keyword| path.child(keyword)));
    });
    paths.iter().filter_map(|path| relax(schema, path)).collect()
}
