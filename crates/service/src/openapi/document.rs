//! The OpenAPI document, made from the table of routes.

use serde_json::{Map, Value, json};

use super::codes::{EVERYWHERE, WITH_BODY, describe_codes};
use super::route::{Access, Answer, Body, Content, Kind, Location, Parameter, Route};
use super::table::ROUTES;
use crate::openai_errors;

/// The schemas that routes refer to.
const COMPONENTS: &str = include_str!("components.json");

/// The OpenAPI document of all routes.
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(operations) = path {
            operations.insert(route.verb.name().to_ascii_lowercase(), operation(route));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "MCP Tool Gateway",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The tools of any MCP server in every LLM provider's format, and the calls of any provider run on \
                the right server. Every answer carries `x-correlation-id`; every error is `{error, code, correlationId}`, \
                and one below `/v1` has OpenAI's shape (`CompletionError`). A member of a body that means \
                nothing is refused where all members are ours; parameters of a query that mean nothing are named in \
                `x-parameters-unknown`.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [
            {"name": "Tools", "description": "What the servers offer, in every format."},
            {"name": "Calls", "description": "Running tools."},
            {"name": "MCP", "description": "The gateway as an MCP server."},
            {"name": "Registry", "description": "Tools that are not a server's."},
            {"name": "Servers", "description": "The MCP servers behind the gateway."},
            {"name": "Operations", "description": "How it goes."},
        ],
        "paths": paths,
        "components": components(),
    })
}

pub(super) fn components() -> Value {
    // A test reads the file, so that the fallback is never seen.
    let mut components = serde_json::from_str(COMPONENTS).unwrap_or_default();
    describe_codes(&mut components);
    components
}

fn operation(route: &Route) -> Value {
    let security = match route.access {
        Access::Key | Access::Operator => json!([{}, {"bearer": []}, {"apiKey": []}]),
        Access::Admin => json!([{"bearer": []}, {"apiKey": []}]),
        Access::Open => json!([]),
    };
    let correlation = json!({"$ref": "#/components/parameters/CorrelationId"});
    let parameters = route.parameters.into_iter().flatten().map(parameter).chain([correlation]);
    let mut operation = json!({
        "tags": [route.tag],
        "summary": route.summary,
        "description": Some(route.description).filter(|text| !text.is_empty()),
        "operationId": operation_id(route),
        "security": security,
        "parameters": parameters.collect::<Value>(),
        "requestBody": route.body.as_ref().map(request_body),
        "responses": responses(route),
    });
    if let Some(members) = operation.as_object_mut() {
        members.retain(|_, member| !member.is_null());
    }
    operation
}

/// `GET /tools/{provider}/context` is `getToolsProviderContext`.
fn operation_id(route: &Route) -> String {
    let mut id = route.verb.name().to_ascii_lowercase();
    let words = route
        .path
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    for word in words {
        let (first, rest) = word.split_at(1);
        id.push_str(&first.to_ascii_uppercase());
        id.push_str(rest);
    }
    id
}

fn parameter(parameter: &Parameter) -> Value {
    let location = match parameter.location {
        Location::Path => "path",
        Location::Query => "query",
        Location::Header => "header",
    };
    let schema = match parameter.kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Flag => json!({"type": "boolean", "default": false}),
        Kind::Moment => json!({
            "type": "string",
            "description": "ISO 8601, in UTC without an offset; or how long ago: 90s, 15m, 2h, 3d.",
            "examples": ["2026-11-03T10:00:00Z", "15m"],
        }),
        Kind::Number { least, most, usual } => {
            let mut schema = json!({"type": "integer", "minimum": least, "maximum": most});
            if let Some(usual) = usual {
                schema["default"] = usual.into();
            }
            schema
        }
        Kind::Words(words) => json!({"type": "string", "enum": words}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
    };
    let mut value = json!({
        "name": parameter.name,
        "in": location,
        "required": parameter.location == Location::Path,
        "description": parameter.description,
        "schema": schema,
    });
    if let Kind::Texts = parameter.kind {
        value["explode"] = true.into();
    }
    value
}

fn request_body(body: &Body) -> Value {
    let examples: Map<String, Value> = body
        .examples
        .iter()
        .map(|(name, text)| ((*name).to_owned(), json!({"value": example(text)})))
        .collect();
    json!({
        "required": true,
        "content": {"application/json": {"schema": reference(body.schema), "examples": examples}},
    })
}

fn responses(route: &Route) -> Map<String, Value> {
    let mut responses: std::collections::BTreeMap<String, Value> = route
        .answers
        .into_iter()
        .flatten()
        .map(|answer| (answer.status.to_string(), response(route, answer)))
        .collect();
    let body = if route.body.is_some() { WITH_BODY } else { &[] };
    let keyed = match route.access {
        Access::Key | Access::Admin | Access::Operator => EVERYWHERE,
        Access::Open => EVERYWHERE.get(1..2).unwrap_or_default(),
    };
    for &(status, description, codes) in keyed.iter().chain(body) {
        responses.entry(status.to_string()).or_insert_with(|| with_error(route, status, description, codes));
    }
    responses.into_iter().collect()
}

fn response(route: &Route, answer: &Answer) -> Value {
    let content = match answer.content {
        Content::Error(codes) => {
            return with_error(route, answer.status, answer.description, codes);
        }
        Content::Nothing => Value::Null,
        Content::Json(schema, None) => json!({"application/json": {"schema": reference(schema)}}),
        Content::Json(schema, Some(text)) => {
            json!({"application/json": {"schema": reference(schema), "example": example(text)}})
        }
        Content::Media(media) => json!({media: {"schema": {"type": "string"}}}),
        Content::JsonOrEvents { schema, json, events } => json!({
            "application/json": {"schema": reference(schema), "example": example(json)},
            "text/event-stream": {"schema": {"type": "string"}, "example": events},
        }),
        Content::JsonOr(schema, media) => {
            json!({"application/json": {"schema": reference(schema)}, media: {"schema": {"type": "string"}}})
        }
    };
    let mut response = json!({"description": answer.description, "headers": headers()});
    if !content.is_null() {
        response["content"] = content;
    }
    response
}

fn with_error(route: &Route, status: u16, description: &str, codes: &[&str]) -> Value {
    let code = codes.first().copied();
    let correlation = "0b1f6f0e-3f1d-4c55-9d2b-6f1f2a4f9f10";
    let (schema, example) = if openai_errors::is_expected(route.path) {
        let kind = openai_errors::kind_of(status);
        let error = json!({"message": description, "type": kind, "param": null, "code": code});
        ("CompletionError", json!({"error": error, "correlationId": correlation}))
    } else {
        let code = code.unwrap_or("UNKNOWN");
        ("Error", json!({"error": description, "code": code, "correlationId": correlation}))
    };
    let codes = if codes.is_empty() { String::new() } else { format!(" `code`: {}.", codes.join(", ")) };
    json!({
        "description": format!("{description}{codes}"),
        "headers": headers(),
        "content": {"application/json": {"schema": reference(schema), "example": example}},
    })
}

fn headers() -> Value {
    json!({"x-correlation-id": {"$ref": "#/components/headers/CorrelationId"}})
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

fn example(text: &str) -> Value {
    // A test reads every example, so that the fallback is never seen.
    serde_json::from_str(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(target)) = members.get("$ref") {
                    found.push(target.clone());
                }
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_schema_is_used() {
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        for target in &found {
            assert!(document.pointer(target.trim_start_matches('#')).is_some(), "{target}");
        }
        for name in document.pointer("/components/schemas").and_then(Value::as_object).unwrap().keys() {
            assert!(found.contains(&format!("#/components/schemas/{name}")), "{name} is not used");
        }
    }

    #[test]
    fn every_example_is_json() {
        for route in ROUTES {
            for (name, text) in route.body.iter().flat_map(|body| body.examples) {
                assert!(!example(text).is_null(), "{} {name}", route.path);
            }
            for answer in route.answers.into_iter().flatten() {
                if let Content::Json(_, Some(text)) = answer.content {
                    assert!(!example(text).is_null(), "{} {}", route.path, answer.status);
                }
            }
        }
    }

    /// The guard writes its own errors there anew, so that clients find one shape.
    #[test]
    fn errors_have_the_shape_that_the_guard_gives_them() {
        let document = document();
        for route in ROUTES {
            let operation = &document["paths"][route.path][route.verb.name().to_ascii_lowercase()];
            for (status, answer) in operation["responses"].as_object().unwrap() {
                let schema =
                    answer["content"]["application/json"]["schema"]["$ref"].as_str().unwrap_or_default();
                if !route.path.starts_with("/v1/") {
                    assert!(!schema.ends_with("/CompletionError"), "{} {status}", route.path);
                } else if status.as_str() >= "400" {
                    assert_eq!(schema, "#/components/schemas/CompletionError", "{} {status}", route.path);
                }
            }
        }
    }

    #[test]
    fn operations_have_different_ids() {
        let ids: std::collections::BTreeSet<String> = ROUTES.iter().map(operation_id).collect();
        assert_eq!(ids.len(), ROUTES.len());
        assert!(ids.contains("getToolsProviderContext"), "{ids:?}");
    }

    #[test]
    fn calls_that_are_refused_are_described() {
        let document = document();
        for path in ["/call_tool", "/execute"] {
            for status in ["400", "403"] {
                let answer = &document["paths"][path]["post"]["responses"][status]["description"];
                let text = answer.as_str().unwrap_or_default();
                assert!(text.ends_with("TOOL_DENIED, APPROVAL_REQUIRED."), "{path} {status}: {text}");
            }
        }
    }

    /// `UPDATE_OPENAPI=1 cargo test -p gateway-service committed` writes the copy anew.
    #[test]
    fn the_committed_copy_is_the_document() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/openapi.json");
        let text = format!("{:#}\n", document());
        if std::env::var_os("UPDATE_OPENAPI").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(committed == text, "docs/reference/openapi.json is old: run with UPDATE_OPENAPI=1");
    }
}
