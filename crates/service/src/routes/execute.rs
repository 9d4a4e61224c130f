//! `POST /execute`: what a model said, run.

use axum::response::Response;
use gateway_protocol::RawJson;
use http::StatusCode;
use serde_json::{Map, Value};

use super::tool_request::{ToolRequest, Work};
use crate::errors::{ApiError, json_response};
use crate::idempotency::NotRun;
use crate::mcp::Waiting;
use crate::mcp::plain::{Continued, Place};
use crate::metrics::Provider;
use crate::runtime::turn::{Turn, Unfinished};

/// Runs the calls of a model and answers in the provider's shape.
pub(super) async fn execute(request: ToolRequest) -> Response {
    request.answered(run).await
}

async fn run(work: Work) -> Result<Response, ApiError> {
    let Work { gateway, context, query, body } = &work;
    let parsed: Map<String, Value> = match gateway_dialects::from_slice(body) {
        Ok(Value::Object(body)) => body,
        Ok(_) => return Err(ApiError::bad_request("the body must be a JSON object with \"call\"")),
        Err(error) => return Err(ApiError::unreadable_body(body, &error)),
    };
    let answer = if parsed.get("continue").is_some_and(|state| !state.is_null()) {
        let raw = RawJson::parse(body.clone())
            .map_err(|error| ApiError::bad_request(format!("reading the body as JSON: {error}")))?;
        let continued = Continued::read(&raw)?;
        let Waiting::Turn(turn) = continued.take(gateway, context, Place::Execute)? else {
            return Err(ApiError::bad_request("this state is of no turn"));
        };
        turn.run(gateway, context, Some(&continued)).await?
    } else {
        let turn = Turn::parse(gateway, &parsed, query).await?;
        context.held.set_style(turn.style);
        Unfinished::of(turn).run(gateway, context, None).await?
    };
    let mut response = json_response(StatusCode::OK, answer.body);
    response.extensions_mut().insert(Provider(answer.provider));
    if answer.not_run {
        response.extensions_mut().insert(NotRun);
    }
    Ok(response)
}
