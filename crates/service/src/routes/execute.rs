//! `POST /execute`: what a model said, run.

use axum_core::response::Response;
use gateway_protocol::RawJson;
use http::StatusCode;
use serde_json::{Map, Value};

use super::tool_request::{ToolRequest, Work};
use crate::errors::{ApiError, NotRun, json_response};
use crate::metrics::Provider;
use gateway_runtime::call::input::{Continued, Suspension};
use gateway_runtime::turn::{Turn, TurnRun};

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
        let turn: Box<TurnRun> = continued.take(gateway, context, Suspension::Turn)?;
        let style = turn.turn().style;
        turn.run(gateway, context, Some(&continued)).await.map_err(|failure| ApiError::of(failure, style))?
    } else {
        let turn = Turn::parse(gateway, &parsed, query).await?;
        let style = turn.style;
        context.held.set_style(style);
        let run = TurnRun::new(turn).run(gateway, context, None).await;
        run.map_err(|failure| ApiError::of(failure, style))?
    };
    let mut response = json_response(StatusCode::OK, answer.body);
    if let Some(provider) = answer.provider {
        response.extensions_mut().insert(Provider(provider));
    }
    if answer.not_run {
        response.extensions_mut().insert(NotRun);
    }
    Ok(response)
}
