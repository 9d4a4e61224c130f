//! `/registry`: tools that are not a server's.

use axum_core::response::{IntoResponse as _, Response};
use bytes::Bytes;
use gateway_config::is_definition_member;
use gateway_dialects::arguments::{OmissionKind, Validator};
use gateway_dialects::with_input_schema;
use gateway_upstream::{Handler, RegisterError, RegisteredTool};
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::members;
use crate::errors::{ApiError, code, json_response};
use crate::gateway::Gateway;
use crate::openapi::Action;

/// `GET /registry`.
pub(crate) fn list(gateway: &Gateway) -> Response {
    let registry = gateway.registry();
    let tools: Vec<Value> = registry.get_all().values().map(|tool| describe(tool)).collect();
    json_response(StatusCode::OK, json!({"server": registry.server_name(), "tools": tools}).to_string())
}

/// `PUT /registry/{name}`.
pub(crate) async fn register(gateway: Gateway, name: String, body: Bytes) -> Result<Response, ApiError> {
    let body: Map<String, Value> = serde_json::from_slice(&body)
        .map_err(|error| ApiError::bad_request(format!("reading the body as a JSON object: {error}")))?;
    let body = with_input_schema(body);
    // A definition may have more members than are described.
    let unknown = body.keys().map(String::as_str).filter(|name| !is_definition_member(name));
    members::check(Action::RegisterTool, unknown)?;
    check_schema(&body)?;
    let replaced = gateway.registry().register_remote(&name, &body).await.map_err(|error| refusal(&error))?;
    tracing::info!(tool = name, replaced, "Tool registered.");
    let status = if replaced { StatusCode::OK } else { StatusCode::CREATED };
    Ok(json_response(status, json!({"name": name, "replaced": replaced}).to_string()))
}

/// A schema that cannot be checked in part would let arguments through that it seems to forbid.
fn check_schema(body: &Map<String, Value>) -> Result<(), ApiError> {
    let validator = body.get("inputSchema").map(Validator::new);
    match validator.as_ref().and_then(Validator::unchecked) {
        Some(fault) => {
            // What is only too large to be checked is not wrong.
            let how = if fault.kind == OmissionKind::TooLarge { "cannot be checked" } else { "is wrong" };
            let (path, reason) = (&fault.path, &fault.reason);
            Err(ApiError::bad_request(format!("`inputSchema` {how} at `{path}`: {reason}")))
        }
        None => Ok(()),
    }
}

/// `DELETE /registry/{name}`.
pub(crate) fn unregister(gateway: &Gateway, name: &str) -> Result<Response, ApiError> {
    if !gateway.registry().unregister_remote(name).map_err(|error| refusal(&error))? {
        let message = format!("Tool '{name}' not found");
        return Err(ApiError::new(StatusCode::NOT_FOUND, code::TOOL_NOT_FOUND, message));
    }
    tracing::info!(tool = name, "Tool unregistered.");
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// What is shown of a tool. Headers may be secrets, so nothing of them is.
fn describe(tool: &RegisteredTool) -> Value {
    let mut handler = json!({"kind": tool.handler.kind()});
    if let (Handler::Endpoint(endpoint), Some(members)) = (&tool.handler, handler.as_object_mut()) {
        members.insert("url".to_owned(), endpoint.shown_url().into());
    }
    json!({
        "name": tool.name,
        "origin": tool.origin.word(),
        "handler": handler,
        "timeoutMs": u64::try_from(tool.timeout.as_millis()).unwrap_or(u64::MAX),
        "definition": tool.definition,
    })
}

fn refusal(error: &RegisterError) -> ApiError {
    let message = error.to_string();
    match error {
        RegisterError::Configured { .. } => {
            ApiError::new(StatusCode::CONFLICT, code::REGISTRY_CONFLICT, message)
        }
        RegisterError::Full { .. } => {
            ApiError::new(StatusCode::INSUFFICIENT_STORAGE, code::REGISTRY_FULL, message)
        }
        _ => ApiError::bad_request(message),
    }
}
