//! `GET /providers`: the dialects, their rules and limits.

use axum_core::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

use crate::errors::{ApiError, json_response};
use crate::gateway::Gateway;

/// All dialects, briefly.
pub(crate) fn list(gateway: &Gateway) -> Response {
    let dialects = gateway.dialects();
    let rows: Vec<Value> = dialects
        .names()
        .filter_map(|name| dialects.get(name).ok())
        .map(|dialect| {
            let mut row = dialect.heading_json();
            row["limits"] = json!(dialect.limits);
            row
        })
        .collect();
    json_response(StatusCode::OK, json!({"providers": rows}).to_string())
}

/// One dialect with all its rules.
pub(crate) fn one(gateway: &Gateway, name: &str) -> Result<Response, ApiError> {
    let dialect = gateway.dialects().get(name).map_err(|error| gateway.lists().unknown_dialect(&error))?;
    Ok(json_response(StatusCode::OK, json!(dialect).to_string()))
}
