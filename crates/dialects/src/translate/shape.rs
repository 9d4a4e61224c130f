//! The shapes of definitions.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::dialect::{Dialect, StrictField, ToolShape};
use crate::json::Json;
use crate::tool::MCP_MEMBERS;

/// The definition in the dialect's shape.
pub(super) fn wrap<'a>(
    dialect: &Dialect,
    name: Cow<'a, str>,
    description: Option<Cow<'a, str>>,
    schema: Option<Json<'a>>,
    carried: impl Iterator<Item = (&'a String, &'a Value)>,
) -> Json<'a> {
    let rules = &dialect.tool;
    let mut members: Vec<(Cow<'a, str>, Json<'a>)> = Vec::with_capacity(5);
    if rules.shape == ToolShape::FlatFunction {
        members.push((Cow::Borrowed("type"), Json::literal("function")));
    }
    members.push((Cow::Borrowed("name"), Json::Text(name)));
    if let Some(description) = description {
        members.push((Cow::Borrowed("description"), Json::Text(description)));
    }
    if let Some(schema) = schema {
        let schema =
            if rules.shape == ToolShape::ToolSpec { Json::object([("json", schema)]) } else { schema };
        members.push((Cow::Owned(rules.schema_key.clone()), schema));
    }
    match rules.strict {
        StrictField::Absent => {}
        StrictField::False => members.push((Cow::Borrowed("strict"), Json::Bool(false))),
        StrictField::True => members.push((Cow::Borrowed("strict"), Json::Bool(true))),
    }
    members.extend(carried.map(|(name, value)| (Cow::Borrowed(name.as_str()), Json::Same(value))));
    match rules.shape {
        ToolShape::Function => {
            Json::object([("type", Json::literal("function")), ("function", Json::Object(members))])
        }
        ToolShape::ToolSpec => Json::object([("toolSpec", Json::Object(members))]),
        ToolShape::FlatFunction | ToolShape::BareFunction | ToolShape::Declaration | ToolShape::Mcp => {
            Json::Object(members)
        }
    }
}

/// The description of a definition that [`wrap`] has written.
pub(super) fn find_description<'t>(definition: &'t Json<'_>) -> Option<&'t str> {
    let Json::Object(entries) = definition else { return None };
    entries.iter().find_map(|(name, value)| match (name.as_ref(), value) {
        ("description", Json::Text(text)) => Some(text.as_ref()),
        ("function" | "toolSpec", inner) => find_description(inner),
        _ => None,
    })
}

/// A tool of another form as MCP has it.
pub(super) fn as_mcp<'a>(members: &'a Map<String, Value>, schema: &'a Value) -> Json<'a> {
    let own = |key: &'static str| Some((Cow::Borrowed(key), Json::Same(members.get(key)?)));
    let (texts, others) = MCP_MEMBERS.split_at(3);
    let texts = texts.iter().filter_map(|key| own(key));
    let schema = (Cow::Borrowed("inputSchema"), Json::Same(schema));
    Json::Object(texts.chain([schema]).chain(others.iter().filter_map(|key| own(key))).collect())
}
