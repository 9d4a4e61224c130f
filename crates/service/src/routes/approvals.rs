//! `/approvals`: calls that wait until somebody approves them.

use std::fmt::Write as _;

use axum_core::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use super::members;
use crate::errors::{ApiError, code, json_response};
use crate::gateway::Gateway;
use crate::openapi::Action;
use gateway_runtime::approvals::Verdict;

/// `GET /approvals`.
pub(crate) fn list(gateway: &Gateway) -> Response {
    let list = gateway.approvals().list(&gateway.approval());
    json_response(StatusCode::OK, ascii(&json!({"approvals": list}).to_string()))
}

/// The same JSON in visible ASCII: the list is read on terminals too, and what it quotes comes from servers and callers.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut units = [0; 2];
    for letter in text.chars() {
        if matches!(letter, ' '..='~') {
            out.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut units) {
                // Writing to a `String` cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

/// `POST /approvals/{id}`.
pub(crate) fn decide(gateway: &Gateway, id: &str, body: &Bytes) -> Result<Response, ApiError> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    members::check(Action::Approve, body.as_object().into_iter().flatten().map(|(name, _)| name.as_str()))?;
    let (word, verdict) = match body.get("decision").and_then(Value::as_str) {
        Some("approve") => ("approve", Verdict::Approved),
        Some("deny") => ("deny", Verdict::Denied),
        _ => return Err(ApiError::bad_request("\"decision\" must be \"approve\" or \"deny\"")),
    };
    if gateway.approvals().decide(id, verdict, &gateway.approval()) {
        tracing::info!(decision = word, "Call decided.");
        return Ok(json_response(StatusCode::OK, json!({"id": id, "decision": word}).to_string()));
    }
    let message = "no call with this id waits; it may have run, been denied or expired";
    Err(ApiError::new(StatusCode::NOT_FOUND, code::NOT_FOUND, message))
}
