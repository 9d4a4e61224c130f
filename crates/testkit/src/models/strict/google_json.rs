//! `parametersJsonSchema`: plain JSON Schema, with references into the root's `$defs` alone.

use serde_json::Value;

use super::json_schema::{Draft, check_metaschema, check_references, inside};
use super::{Checked, refuse, text};

/// What may stand beside a reference, but for keywords that begin with `$`.
const BESIDE: [&str; 3] = ["description", "default", "definitions"];

pub(super) fn check(schema: &Value, at: &str) -> Checked {
    let at = format!("{at}.parameters_json_schema");
    if text(schema, "type") != Some("object") {
        return refuse(format!("* GenerateContentRequest.{at}: schema should be of type object\n"));
    }
    if let Err(problem) = check_metaschema(schema, Draft::TwentyTwenty) {
        return refuse(format!("* GenerateContentRequest.{at}: {problem}\n"));
    }
    check_node(schema, &at, true)?;
    check_references(schema).or_else(|problem| refuse(format!("* GenerateContentRequest.{at}: {problem}\n")))
}

fn check_node(schema: &Value, at: &str, is_root: bool) -> Checked {
    let Some(object) = schema.as_object() else { return Ok(()) };
    if let Some(target) = text(schema, "$ref") {
        if target != "#" && !target.starts_with("#/$defs/") {
            return refuse(format!(
                "* GenerateContentRequest.{at}: reference to undefined schema: {target}\n"
            ));
        }
        let beside = |key: &&String| !key.starts_with('$') && !BESIDE.contains(&key.as_str());
        if let Some(key) = object.keys().find(beside).filter(|_| !is_root) {
            return refuse(format!(
                "* GenerateContentRequest.{at}: `$ref` was set alongside unsupported fields: {key}. Only description and default may stand beside it.\n"
            ));
        }
    }
    inside(object)
        .into_iter()
        .try_for_each(|(path, inner)| check_node(inner, &format!("{at}.{}", path.join(".")), false))
}
