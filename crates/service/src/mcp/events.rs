//! Answers over HTTP: one JSON message, or a stream of events.

use std::time::Duration;

use axum_core::body::Body;
use axum_core::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use gateway_protocol::{MessageError, RawJson, RpcError, code, write_error, write_response};
use gateway_upstream::FREE_BYTES;
use http::{HeaderName, HeaderValue, StatusCode, header};

use crate::counted::CountedBody;
use crate::errors::json_response;
use crate::mcp::Endpoint;
use gateway_runtime::context::RequestContext;

/// An answer as a JSON-RPC message.
pub(super) fn message(id: &RawJson, outcome: &Result<RawJson, RpcError>) -> Bytes {
    let mut text = Vec::with_capacity(64 + outcome.as_ref().map_or(256, RawJson::len));
    match outcome {
        Ok(result) => write_response(&mut text, id, result),
        Err(error) => write_error(&mut text, id, error),
    }
    text.into()
}

/// An answer as a message without line ends, which is counted until its bytes were written. Where there is no room for it, it
/// is an error.
pub(super) async fn counted_message(
    endpoint: &Endpoint,
    context: &RequestContext,
    id: &RawJson,
    outcome: &Result<RawJson, RpcError>,
) -> Bytes {
    let text = message(id, outcome);
    if text.len() <= FREE_BYTES {
        return text;
    }
    let refusal = |error| message(id, &Err(error));
    // Boxed: few messages are long.
    Box::pin(context.count_message(endpoint.fleet().results(), without_line_ends(text), refusal)).await
}

/// A text in one line. JSON needs no line ends, and they would end the data of an event.
fn without_line_ends(text: Bytes) -> Bytes {
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    if !text.iter().any(is_end) {
        return text;
    }
    text.iter().copied().filter(|byte| !is_end(byte)).collect::<Vec<u8>>().into()
}

/// A response with one message that may be counted already.
pub(super) fn counted_response(status: StatusCode, text: Bytes) -> Response {
    let is_long = text.len() > FREE_BYTES;
    let mut response = json_response(status, text);
    if is_long {
        response.extensions_mut().insert(CountedBody);
    }
    response
}

/// A refusal of a message that may not even have an id.
pub(super) fn refusal(status: StatusCode, id: Option<&RawJson>, error: RpcError) -> Response {
    let null = RawJson::null();
    json_response(status, message(id.unwrap_or(&null), &Err(error)))
}

/// Why a message was not read: it is no JSON, or JSON that is no message (a batch, which 2025-06-18 took away).
pub(super) fn unreadable(error: &MessageError) -> RpcError {
    let code = match error {
        MessageError::Json { cause, .. } if !cause.is_data() => code::PARSE_ERROR,
        _ => code::INVALID_REQUEST,
    };
    RpcError::new(code, error.to_string())
}

/// The id of a request that was refused as a whole, if it can be read.
pub(super) fn id_of(error: &MessageError) -> Option<&RawJson> {
    match error {
        MessageError::Repeated { id, .. } => id.as_ref(),
        _ => None,
    }
}

/// The status that goes with an error of the modern era.
pub(super) fn status_of(error: &RpcError) -> StatusCode {
    match error.code {
        code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        code::PARSE_ERROR
        | code::INVALID_REQUEST
        | code::INVALID_PARAMS
        | code::HEADER_MISMATCH
        | code::MISSING_CAPABILITY
        | code::UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// One event.
pub(super) fn event(id: Option<&str>, data: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(data.len() + 32);
    if let Some(id) = id {
        text.extend_from_slice(b"id: ");
        text.extend_from_slice(id.as_bytes());
        text.push(b'\n');
    }
    // A pretty text has line ends between its values, which would end the data; JSON needs none of them.
    text.extend_from_slice(b"data: ");
    text.extend(data.iter().filter(|byte| !matches!(byte, b'\n' | b'\r')));
    text.extend_from_slice(b"\n\n");
    text.into()
}

/// One event in pieces. A long message, which has no line ends, is not copied: its stream may keep it, and it is counted once.
pub(super) fn event_pieces(id: Option<&str>, message: Bytes) -> impl Iterator<Item = Bytes> + Send + use<> {
    let pieces = if message.len() <= FREE_BYTES {
        [event(id, &message), Bytes::new(), Bytes::new()]
    } else {
        let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
        [format!("{id}data: ").into(), message, Bytes::from_static(b"\n\n")]
    };
    pieces.into_iter().filter(|piece| !piece.is_empty())
}

/// An answer that is a stream of events, with a sign of life in between.
pub(super) fn streamed(events: impl Stream<Item = Bytes> + Send + 'static, heartbeat: Duration) -> Response {
    let alive = stream::unfold(Box::pin(events), move |mut events| async move {
        match tokio::time::timeout(heartbeat, events.next()).await {
            Ok(Some(event)) => Some((Ok::<_, std::convert::Infallible>(event), events)),
            Ok(None) => None,
            Err(_) => Some((Ok(Bytes::from_static(b": still here\n\n")), events)),
        }
    });
    let mut response = Response::new(Body::from_stream(alive));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}
