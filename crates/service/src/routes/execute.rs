//! `POST /execute`: what a model said, run.

use axum_core::response::Response;
use bytes::Bytes;
use gateway_dialects::stream::parse_chunks;
use gateway_protocol::RawJson;
use http::StatusCode;
use serde_json::Value;

use super::tool_request::ToolRequest;
use crate::errors::{ApiError, NotRun, json_response, media_type};
use crate::metrics::Provider;
use gateway_runtime::call::input::{Continued, Suspension};
use gateway_runtime::parameters::Parameters;
use gateway_runtime::turn::{Turn, TurnRequest, TurnRun};

/// Types of bodies that are a model's stream.
const STREAMS: [&str; 2] = ["text/event-stream", "application/x-ndjson"];

/// Whether a body of this type is a recorded stream instead of JSON.
pub(crate) fn is_stream(media: &str) -> bool {
    STREAMS.iter().any(|stream| media.eq_ignore_ascii_case(stream))
}

/// Runs the calls of a model and answers in the provider's shape.
pub(super) async fn execute(request: ToolRequest, query: Parameters) -> Result<Response, ApiError> {
    let ToolRequest { gateway, context, headers, body, .. } = &request;
    let (mut turn, continued) = if is_stream(media_type(headers)) {
        (TurnRun::new(Turn::parse(gateway, streamed(body, query)?).await?), None)
    } else {
        match gateway_dialects::from_slice(body) {
            Ok(Value::Object(members)) if continues(&members) => {
                let raw = RawJson::parse(body.clone())
                    .map_err(|error| ApiError::bad_request(format!("reading the body as JSON: {error}")))?;
                let continued = Continued::read(&raw)?;
                let turn: Box<TurnRun> = continued.take(gateway, context, Suspension::Turn)?;
                (*turn, Some(continued))
            }
            Ok(Value::Object(members)) => {
                let turn = Turn::parse(gateway, TurnRequest::of_body(members, query)?).await?;
                context.held.set_style(turn.style());
                (TurnRun::new(turn), None)
            }
            Ok(_) => return Err(ApiError::bad_request("the body must be a JSON object with \"call\"")),
            Err(error) => return Err(ApiError::unreadable_body(body, &error)),
        }
    };
    let style = turn.turn().style();
    let failed = |failure| ApiError::of(failure, style);
    turn.advance(gateway, context, continued.as_ref()).await.map_err(failed)?;
    let answer = turn.answer(gateway, context).map_err(failed)?;
    let mut response = json_response(StatusCode::OK, answer.body);
    if let Some(provider) = answer.provider {
        response.extensions_mut().insert(Provider(provider));
    }
    if answer.not_run {
        response.extensions_mut().insert(NotRun);
    }
    Ok(response)
}

/// Whether a body brings answers for a turn that waits for them.
fn continues(body: &serde_json::Map<String, Value>) -> bool {
    body.iter().any(|(name, state)| name == "continue" && !state.is_null())
}

/// A stream is the call, and the query says what else a body says.
fn streamed(body: &Bytes, options: Parameters) -> Result<TurnRequest, ApiError> {
    let text = std::str::from_utf8(body)
        .map_err(|error| ApiError::bad_request(format!("reading the stream as UTF-8: {error}")))?;
    let chunks = parse_chunks(text).map_err(|error| ApiError::bad_request(error.to_string()))?;
    let provider = options.get("provider").map(str::to_owned);
    Ok(TurnRequest { call: Value::Array(chunks), provider, options })
}
