//! Errors below `/conversations` as clients of the service know them that these routes come from, whoever made them.

use axum_core::body::Body;
use axum_core::response::Response;
use http::header;
use hyper::body::Body as _;
use serde_json::Value;

use crate::errors::{ERROR_BODY, collected};

/// Whether callers of a path expect that shape.
pub(super) fn is_expected(path: &str) -> bool {
    path.strip_prefix("/conversations").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The same error with its words also under `detail`.
pub(super) async fn detailed(response: Response) -> Response {
    if response.body().size_hint().exact().is_none_or(|size| size > ERROR_BODY) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let bytes = collected(body).await.unwrap_or_default();
    let error = serde_json::from_slice::<Value>(&bytes).ok();
    let Some(Value::Object(mut members)) = error.filter(|error| error.get("detail").is_none()) else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    if let Some(words) = members.get("error").cloned() {
        members.insert("detail".to_owned(), words);
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(Value::Object(members).to_string()))
}
