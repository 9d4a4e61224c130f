//! `/v1`: the agent as a drop-in for Chat Completions.

use std::time::Duration;

use axum_core::body::Body;
use axum_core::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gateway_agent::completions::{
    Completion, CompletionError, CompletionStream, Proxied, StreamItem, failed_stream,
};
use gateway_agent::{AgentError, KeptError, ModelFailure};
use gateway_runtime::context::RequestContext;
use gateway_runtime::failure::Failure;
use gateway_runtime::parameters::Parameters;
use gateway_runtime::progress::with_heartbeats;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};

use crate::errors::{ApiError, code, event_stream, json_response};
use crate::gateway::Gateway;
use crate::metrics::Entered;

/// The longest time without a sign of life.
pub(super) const QUIET: Duration = Duration::from_secs(15);

/// `GET /v1/models`.
pub(super) async fn models(gateway: Gateway) -> Result<Response, ApiError> {
    Ok(json_response(StatusCode::OK, gateway.state.completions.list().await.to_string()))
}

/// `GET /v1/models/{id}`.
pub(super) async fn model(gateway: Gateway, id: String) -> Result<Response, ApiError> {
    Ok(match gateway.state.completions.model(&id).await {
        Ok(model) => json_response(StatusCode::OK, model.to_string()),
        Err(error) => failed(&error),
    })
}

/// `POST /v1/chat/completions`. A stream counts as a request at work until it ends.
pub(super) async fn complete(
    gateway: Gateway,
    context: RequestContext,
    headers: HeaderMap,
    body: Bytes,
    entered: Option<Entered>,
) -> Response {
    let quiet = gateway.config().heartbeat.min(QUIET);
    match gateway.state.completions.complete(body, &headers, context).await {
        Ok(Completion::Whole(body)) => json_response(StatusCode::OK, body),
        Ok(Completion::Stream(items)) => streamed(items, quiet, entered).await,
        Ok(Completion::Proxied(answer)) => proxied(answer, entered),
        Err(error) => failed(&error),
    }
}

/// A stream. What comes first decides the status.
async fn streamed(items: CompletionStream, quiet: Duration, entered: Option<Entered>) -> Response {
    let mut items = Box::pin(with_heartbeats(items, quiet));
    let first = match items.next().await {
        Some(Some(StreamItem::Failed(error))) => return failed(&error),
        first => stream::iter(first),
    };
    let written = first.chain(items).map(move |item| {
        let _counted = &entered;
        item.map(|item| match item {
            StreamItem::Bytes(bytes) => bytes,
            StreamItem::Failed(error) => failed_stream(&error),
        })
    });
    event_stream(written)
}

/// The answer of another server, as it came.
fn proxied(answer: Proxied, entered: Option<Entered>) -> Response {
    let Proxied { status, headers, body } = answer;
    let body = body.map(move |piece| {
        let _counted = &entered;
        piece.map_err(std::io::Error::other)
    });
    let mut response = Response::new(Body::from_stream(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    response.headers_mut().extend(headers);
    response
}

/// An answer that says why there is none, in the shape that callers of Chat Completions know.
fn failed(error: &CompletionError) -> Response {
    let mut response = json_response(status_of(error), error.body().to_string());
    if let Some(AgentError::Model(error)) = error.agent()
        && let ModelFailure::Status { retry_after: Some(wanted), .. } = &error.failure
    {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wanted.as_secs().max(1)));
    }
    response
}

/// Bytes of a piece of a long result if a caller does not say, and at most.
const PIECE: (u64, u64) = (64 << 10, 4 << 20);

/// `GET /results/{id}`: a piece of a result that a model was shown a part of.
pub(super) async fn result(
    gateway: Gateway,
    context: RequestContext,
    id: String,
    uri: Uri,
) -> Result<Response, ApiError> {
    let parameters = Parameters::of_query(uri.query());
    let offset = parameters.number("offset", 0..=u64::MAX)?.unwrap_or(0);
    let length = parameters.number("length", 1..=PIECE.1)?.unwrap_or(PIECE.0);
    let owner = context.caller.as_ref().map(ToString::to_string);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let piece = gateway.state.completions.results().read(owner.as_deref(), &id, offset, length).await;
    let piece = piece.map_err(|error| match error {
        KeptError::Unknown(_) => {
            ApiError::new(StatusCode::NOT_FOUND, code::RESOURCE_NOT_FOUND, error.to_string())
        }
        _ => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, code::UNKNOWN, error.to_string()),
    })?;
    let mut response = Response::new(Body::from(piece.text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert("x-result-bytes", HeaderValue::from(piece.total));
    headers.insert("x-result-offset", HeaderValue::from(piece.offset));
    if let Some(next) = piece.next {
        headers.insert("x-result-next", HeaderValue::from(next));
    }
    Ok(response)
}

fn status_of(error: &CompletionError) -> StatusCode {
    match error {
        CompletionError::Request(_) => StatusCode::BAD_REQUEST,
        CompletionError::UnknownModel(_) => StatusCode::NOT_FOUND,
        CompletionError::Agent(error) | CompletionError::Interrupted { error, .. } => agent_status(error),
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn agent_status(error: &AgentError) -> StatusCode {
    match error {
        AgentError::Model(error) => match &error.failure {
            // The caller can do something about these, so they are the caller's to know.
            ModelFailure::Status { status: status @ (400 | 404 | 413 | 422 | 429), .. } => {
                StatusCode::from_u16(*status).unwrap_or(StatusCode::BAD_GATEWAY)
            }
            ModelFailure::Request(_) => StatusCode::BAD_REQUEST,
            ModelFailure::Timeout(_) => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::BAD_GATEWAY,
        },
        AgentError::Tools(Failure::Request(_) | Failure::UnknownGroup { .. })
        | AgentError::PersonalData(_) => StatusCode::BAD_REQUEST,
        AgentError::Journal(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use gateway_agent::{ModelError, UnknownModel};

    use super::*;
    use crate::openapi::document;

    fn of_model(failure: ModelFailure) -> CompletionError {
        AgentError::Model(ModelError { model: "m".to_owned(), kind: None, failure }).into()
    }

    fn too_long(status: u16) -> CompletionError {
        let message = "prompt is too long".to_owned();
        of_model(ModelFailure::Status { status, message, body: None, retry_after: None })
    }

    #[test]
    fn every_code_is_in_the_document_with_its_status() {
        let document = document();
        let schema = &document["components"]["schemas"]["CompletionError"];
        let rows = &schema["properties"]["error"]["properties"]["code"]["x-error-codes"];
        let text = || "x".to_owned();
        for error in [
            UnknownModel { message: text(), known: Vec::new() }.into(),
            too_long(400),
            too_long(413),
            of_model(ModelFailure::Timeout(QUIET)),
            of_model(ModelFailure::Connection(text())),
            of_model(ModelFailure::Stream(text())),
            of_model(ModelFailure::Malformed(text())),
            AgentError::Limit(text()).into(),
            AgentError::Empty { model: text(), times: 3 }.into(),
            AgentError::Journal(text()).into(),
            AgentError::PersonalData(text()).into(),
            AgentError::Tools(Failure::Request(text())).into(),
            AgentError::Tools(Failure::Conversion(text())).into(),
            AgentError::Tools(Failure::Internal(text())).into(),
            CompletionError::from(AgentError::Gone),
        ] {
            let (status, body) = (status_of(&error).as_u16(), error.body());
            let word = body["error"]["code"].as_str().unwrap_or_default();
            let statuses = rows[word]["statuses"].as_array();
            assert!(statuses.is_some_and(|all| all.contains(&status.into())), "{status} {word}");
        }
    }
}
