//! Errors below `/v1` as clients of OpenAI's API know them, whoever made them.

use axum_core::body::Body;
use axum_core::response::Response;
use http::header;
use hyper::body::Body as _;
use serde_json::{Value, json};

use crate::errors::{ERROR_BODY, collected};

/// Where clients ask whose base URL lacks `/v1`.
const WITHOUT_VERSION: &str = "/chat/completions";

/// Whether callers of a path expect that shape.
pub(crate) fn is_expected(path: &str) -> bool {
    path.starts_with("/v1/") || path == WITHOUT_VERSION
}

/// What to do about a path that is none; empty if nobody knows.
pub(crate) fn hint(path: &str) -> &'static str {
    if path == WITHOUT_VERSION { "; the base URL of an OpenAI client ends in /v1 here" } else { "" }
}

/// The same error, with its words and its code in an object under `error`. Errors that have that shape stay as they are.
pub(crate) async fn reshaped(response: Response) -> Response {
    if response.body().size_hint().exact().is_none_or(|size| size > ERROR_BODY) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let bytes = collected(body).await.unwrap_or_default();
    let Ok(mut error) = serde_json::from_slice::<Value>(&bytes) else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    let Some(message) = error["error"].as_str().map(str::to_owned) else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    let kind = kind_of(parts.status.as_u16());
    let code = error["code"].take();
    error["error"] = json!({"message": message, "type": kind, "param": null, "code": code});
    if let Some(members) = error.as_object_mut() {
        members.remove("code");
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(error.to_string()))
}

/// The `type` of an error with a status.
pub(crate) fn kind_of(status: u16) -> &'static str {
    match status {
        401 | 403 => "authentication_error",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        504 => "timeout_error",
        _ => "server_error",
    }
}
