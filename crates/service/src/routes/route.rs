//! `POST /route`: tool use in any format, answered in the same.

use axum_core::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;

use super::tool_request::ToolRequest;
use crate::errors::{ApiError, NotRun, json_response};
use gateway_runtime::parameters::Parameters;
use gateway_runtime::route::RouteOptions;

/// Runs tool use and answers in its format.
pub(super) async fn route(request: ToolRequest, query: Parameters) -> Result<Response, ApiError> {
    let ToolRequest { gateway, context, body, .. } = &request;
    let text = std::str::from_utf8(body).map_err(|_| ApiError::bad_request("the body must be UTF-8"))?;
    // What parses as JSON is JSON, however it is declared; all else is text.
    let request = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let mut options = RouteOptions::default();
    options.format = query.get("format").map(str::to_owned);
    options.server = query.get("server").map(str::to_owned);
    options.timeout = query.number("timeoutMs", 1..=3_600_000)?.map(std::time::Duration::from_millis);
    let routed = gateway.routed(&request, &options, context).await;
    let mut response = match routed.answer {
        Value::String(xml) => {
            let mut response = json_response(StatusCode::OK, xml);
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
            response
        }
        other => json_response(StatusCode::OK, other.to_string()),
    };
    if routed.not_run {
        response.extensions_mut().insert(NotRun);
    }
    Ok(response)
}
