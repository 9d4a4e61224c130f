//! `GET /providers`: the dialects, their rules and limits. `GET /detect`: which of them a model takes.

use axum_core::response::Response;
use gateway_runtime::parameters::Parameters;
use http::{StatusCode, Uri};
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
            row["limits"] = without_absent(json!(dialect.limits));
            row
        })
        .collect();
    json_response(StatusCode::OK, json!({"providers": rows}).to_string())
}

/// `GET /detect`: what a model id says about the model.
pub(crate) fn detect(gateway: &Gateway, uri: &Uri) -> Result<Response, ApiError> {
    let parameters = Parameters::of_query(uri.query());
    let (model, provider) = (parameters.get("model"), parameters.get("provider"));
    let Some(model) = model.or(provider) else {
        return Err(ApiError::bad_request("\"model\" is missing: the id of a model, such as model=gpt-4o"));
    };
    let dialects = gateway.dialects();
    let detected = dialects.detect(model, provider);
    Ok(json_response(StatusCode::OK, json!(detected).to_string()))
}

/// One dialect with all its rules.
pub(crate) fn one(gateway: &Gateway, name: &str) -> Result<Response, ApiError> {
    let dialect = gateway.dialects().get(name).map_err(|error| gateway.lists().unknown_dialect(&error))?;
    let mut shown = json!(dialect);
    if let Some(limits) = shown.get_mut("limits") {
        *limits = without_absent(limits.take());
    }
    Ok(json_response(StatusCode::OK, shown.to_string()))
}

/// Limits without those that do not exist, which the data has as 0.
fn without_absent(mut limits: Value) -> Value {
    if let Some(members) = limits.as_object_mut() {
        members.retain(|_, limit| *limit != json!(0));
    }
    limits
}
