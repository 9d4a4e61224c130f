//! `GET /resources…`: the resources of servers, for callers who do not speak MCP.

use axum_core::response::Response;
use gateway_protocol::RawJson;
use gateway_runtime::call::{Origin, PLAIN};
use gateway_runtime::context::RequestContext;
use gateway_runtime::failure::call_code;
use gateway_runtime::parameters::Parameters;
use gateway_runtime::resources::ServerResources;
use http::{StatusCode, Uri};
use serde::Serialize;
use serde_json::{Value, json};

use super::stateless::written;
use crate::errors::{ApiError, json_response};
use crate::gateway::Gateway;

/// The answer of `GET /resources`.
#[derive(Serialize)]
struct Listed<'a> {
    servers: Vec<Row<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    server: &'a str,
    resources: &'a [RawJson],
    resource_templates: &'a [RawJson],
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Value>,
}

/// What the servers list, each with its own definitions as they came.
pub(crate) async fn list(gateway: Gateway, uri: Uri) -> Result<Response, ApiError> {
    let parameters = Parameters::of_query(uri.query());
    let scope = gateway.scope(parameters.get("server"))?;
    let listed = gateway.resources(&scope).await;
    let answer = Listed { servers: listed.iter().map(row).collect() };
    Ok(json_response(StatusCode::OK, written(&answer)?))
}

fn row(of: &ServerResources) -> Row<'_> {
    Row {
        server: of.server.as_str(),
        resources: &of.resources,
        resource_templates: &of.templates,
        problem: of.error.as_ref().map(|error| json!({"code": call_code(error), "error": error.to_string()})),
    }
}

/// The contents of one resource, as its server gave them.
pub(crate) async fn read(gateway: Gateway, context: RequestContext, uri: Uri) -> Result<Response, ApiError> {
    let parameters = Parameters::of_query(uri.query());
    let style = parameters.error_style()?;
    let Some(wanted) = parameters.get("uri") else {
        return Err(ApiError::bad_request(
            "\"uri\" is missing: the URI of a resource, as GET /resources has it",
        ));
    };
    let scope = gateway.scope(parameters.get("server"))?;
    let origin = Origin { transport: PLAIN, provider: None };
    let read = gateway.read_resource(&scope, wanted, &context, &origin).await;
    let done = read.map_err(|failure| ApiError::of(failure, style))?;
    Ok(json_response(StatusCode::OK, done.result.to_bytes()))
}
