//! `POST /route`: tool use in any format, answered in the same.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use serde_json::Value;

use crate::context::RequestContext;
use crate::errors::{ApiError, json_response};
use crate::gateway::Gateway;
use crate::idempotency::answered;
use crate::query::Parameters;
use crate::route::RouteOptions;

/// Runs tool use and answers in its format.
pub(crate) async fn route(
    State(gateway): State<Gateway>,
    Extension(context): Extension<RequestContext>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let query = Parameters::of_query(uri.query());
    let (owned, caller, text) = (gateway.clone(), context.clone(), body.clone());
    let begin = || async move { run(&owned, &caller, &query, &text).await };
    answered(&gateway, &headers, &context, &uri, &body, begin).await
}

async fn run(
    gateway: &Gateway,
    context: &RequestContext,
    query: &Parameters,
    body: &[u8],
) -> Result<Response, ApiError> {
    let text = std::str::from_utf8(body).map_err(|_| ApiError::bad_request("the body must be UTF-8"))?;
    // What parses as JSON is JSON, however it is declared; all else is text.
    let request = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let options = RouteOptions {
        format: query.get("format").map(str::to_owned),
        server: query.get("server").map(str::to_owned),
        timeout: query.number("timeoutMs", 1..=3_600_000)?.map(std::time::Duration::from_millis),
        ..RouteOptions::default()
    };
    let answer = match gateway.routed(&request, &options, context).await {
        Value::String(xml) => xml,
        other => return Ok(json_response(StatusCode::OK, other.to_string())),
    };
    let mut response = json_response(StatusCode::OK, answer);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    Ok(response)
}
