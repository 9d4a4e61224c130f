//! `POST /execute`: what a model said, run.

use axum_core::response::Response;
use bytes::Bytes;
use gateway_dialects::stream::parse_chunks;
use gateway_protocol::RawJson;
use http::StatusCode;
use serde_json::{Map, Value};

use super::members;
use super::tool_request::ToolRequest;
use crate::errors::{ApiError, NotRun, json_response, media_type};
use crate::openapi::Action;
use gateway_runtime::call::input::{Continued, Suspension};
use gateway_runtime::parameters::Parameters;
use gateway_runtime::turn::{ModelOutput, Turn, TurnRequest, TurnRun};

/// Types of bodies that are a model's stream.
const STREAMS: [&str; 2] = ["text/event-stream", "application/x-ndjson"];

/// Whether a body of this type is a recorded stream instead of JSON.
pub(crate) fn is_stream(media: &str) -> bool {
    STREAMS.iter().any(|stream| media.eq_ignore_ascii_case(stream))
}

/// Runs the calls of a model and answers in the provider's shape.
pub(super) async fn execute(request: ToolRequest, query: Parameters) -> Result<Response, ApiError> {
    let ToolRequest { gateway, context, headers, body, .. } = &request;
    let asked = if is_stream(media_type(headers)) {
        Asked::Turn(streamed(body, query)?)
    } else {
        match TurnRequest::of_plain_body(body, query) {
            Ok(plain) => Asked::Turn(plain),
            Err(query) => read(body, query)?,
        }
    };
    let (mut turn, continued) = match asked {
        Asked::Turn(request) => {
            request.note_provider(gateway, context);
            let turn = Turn::parse(gateway, request).await?;
            context.held.set_style(turn.style());
            (TurnRun::new(turn), None)
        }
        Asked::Rest(continued) => {
            let turn: Box<TurnRun> = continued.take(gateway, context, Suspension::Turn)?;
            (*turn, Some(continued))
        }
    };
    let style = turn.turn.style();
    let failed = |failure| ApiError::of(failure, style);
    turn.advance(gateway, context, continued.as_ref()).await.map_err(failed)?;
    let answer = turn.answer(gateway, context).map_err(failed)?;
    let mut response = json_response(StatusCode::OK, answer.body);
    if answer.not_run {
        response.extensions_mut().insert(NotRun);
    }
    Ok(response)
}

/// What a request asks for.
enum Asked {
    /// A turn.
    Turn(TurnRequest),
    /// The rest of a turn that waits for the answers that it brings.
    Rest(Continued),
}

/// Reads any body that is JSON.
fn read(body: &Bytes, query: Parameters) -> Result<Asked, ApiError> {
    match gateway_dialects::from_slice(body) {
        Ok(Value::Object(members)) if members.get("continue").is_some_and(|state| !state.is_null()) => {
            let raw = RawJson::parse(body.clone())
                .map_err(|error| ApiError::bad_request(format!("reading the body as JSON: {error}")))?;
            Ok(Asked::Rest(Continued::read(&raw)?))
        }
        Ok(Value::Object(members)) => {
            check_members(&members)?;
            Ok(Asked::Turn(TurnRequest::of_body(members, query)?))
        }
        Ok(_) => Err(ApiError::bad_request("the body must be a JSON object with \"call\"")),
        Err(error) => Err(ApiError::unreadable_body(body, &error)),
    }
}

/// The members beside `call` are ours; what is in it is the provider's.
fn check_members(body: &Map<String, Value>) -> Result<(), ApiError> {
    let names = || body.keys().map(String::as_str);
    // Where nothing looks like `call`, or foreign members stand beside it (`message` of Ollama's and Cohere's replies), the body
    // most likely is what the model said itself.
    if !body.contains_key("call") && !members::misspells(Action::Execute, names(), "call") {
        let message = "Missing or invalid \"call\" field: put what the model said under \"call\", as in {\"call\": {…}}";
        return Err(ApiError::bad_request(message));
    }
    members::check(Action::Execute, names())
}

/// A stream is the call, and the query says what else a body says.
fn streamed(body: &Bytes, options: Parameters) -> Result<TurnRequest, ApiError> {
    let text = std::str::from_utf8(body)
        .map_err(|error| ApiError::bad_request(format!("reading the stream as UTF-8: {error}")))?;
    let chunks = parse_chunks(text).map_err(|error| ApiError::bad_request(error.to_string()))?;
    let provider = options.get("provider").map(str::to_owned);
    Ok(TurnRequest { call: ModelOutput::Json(Value::Array(chunks)), provider, options })
}
