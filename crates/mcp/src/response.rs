//! Answers: messages of JSON-RPC, and over HTTP one of them or a stream of events.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt as _};
use gateway_protocol::{MessageError, RawJson, RpcError, code, write_error, write_response};
use gateway_runtime::context::RequestContext;
use gateway_runtime::progress::with_heartbeats;
use gateway_upstream::FREE_BYTES;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use tokio::sync::mpsc;

use crate::endpoint::Endpoint;

/// An answer over HTTP.
pub type Response = http::Response<Body>;

/// The body of an answer.
pub enum Body {
    /// None.
    Empty,
    /// One message, which counts in the budget for results until its bytes are dropped, if it is long.
    Message(Bytes),
    /// One message that was not counted, though the id that it repeats can be long.
    Uncounted(Bytes),
    /// Events as they come, counted as messages are.
    Events(BoxStream<'static, Bytes>),
}

impl fmt::Debug for Body {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => formatter.write_str("Empty"),
            Self::Message(text) => formatter.debug_tuple("Message").field(text).finish(),
            Self::Uncounted(text) => formatter.debug_tuple("Uncounted").field(text).finish(),
            Self::Events(_) => formatter.write_str("Events"),
        }
    }
}

/// Why a message was not taken.
#[derive(Debug)]
pub(crate) struct Refused {
    status: StatusCode,
    /// `None` if the message has none that could be read.
    id: Option<RawJson>,
    error: RpcError,
}

impl Refused {
    pub(crate) fn new(status: StatusCode, id: Option<RawJson>, error: RpcError) -> Self {
        Self { status, id, error }
    }

    /// With the status that goes with the error in the modern era.
    pub(crate) fn by_code(id: RawJson, error: RpcError) -> Self {
        Self::new(status_of(&error), Some(id), error)
    }

    /// A text that is no JSON, or JSON that is no message (a batch, which 2025-06-18 took away).
    pub(crate) fn unreadable(error: &MessageError) -> Self {
        let (id, code) = match error {
            MessageError::Repeated { id, .. } => (id.clone(), code::INVALID_REQUEST),
            MessageError::Json { cause, .. } if !cause.is_data() => (None, code::PARSE_ERROR),
            _ => (None, code::INVALID_REQUEST),
        };
        Self::new(StatusCode::BAD_REQUEST, id, RpcError::new(code, error.to_string()))
    }

    /// The id of the answer.
    pub(crate) fn id(&self) -> RawJson {
        self.id.clone().unwrap_or_else(RawJson::null)
    }

    /// The answer as a message.
    pub(crate) fn message(self) -> Bytes {
        message(&self.id(), &Err(self.error))
    }
}

impl From<Refused> for Response {
    fn from(refused: Refused) -> Self {
        uncounted_response(refused.status, refused.message())
    }
}

/// An answer as a JSON-RPC message.
pub(crate) fn message(id: &RawJson, outcome: &Result<RawJson, RpcError>) -> Bytes {
    let mut text = Vec::with_capacity(64 + outcome.as_ref().map_or(256, RawJson::len));
    match outcome {
        Ok(result) => write_response(&mut text, id, result),
        Err(error) => write_error(&mut text, id, error),
    }
    text.into()
}

/// An answer as a message without line ends, which is counted until its bytes were written. Where there is no room for it, it
/// is an error.
pub(crate) async fn counted_message(
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

/// A response with one message, which is counted already if it is long.
pub(crate) fn json_response(status: StatusCode, text: Bytes) -> Response {
    with_message(status, Body::Message(text))
}

/// A response with one message that whoever mounts the endpoint has to count.
pub(crate) fn uncounted_response(status: StatusCode, text: Bytes) -> Response {
    with_message(status, Body::Uncounted(text))
}

fn with_message(status: StatusCode, body: Body) -> Response {
    let mut response = with_status(status, body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> Response {
    with_status(status, Body::Empty)
}

fn with_status(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

/// Whether a caller takes a stream of events; who says nothing takes anything.
pub(crate) fn takes_events(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter().peekable();
    accepted.peek().is_none()
        || accepted.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).any(|part| {
            let media = part.split(';').next().unwrap_or_default().trim();
            matches!(media, "text/event-stream" | "text/*" | "*/*")
        })
}

/// The refusal of a caller who takes no events where there is nothing else.
pub(crate) fn not_acceptable(id: Option<RawJson>) -> Refused {
    let error = RpcError::new(code::INVALID_REQUEST, "Not Acceptable: this is a stream of events");
    Refused::new(StatusCode::NOT_ACCEPTABLE, id, error)
}

/// The status that goes with an error of the modern era.
pub(crate) fn status_of(error: &RpcError) -> StatusCode {
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
fn event(id: Option<&str>, data: &[u8]) -> Bytes {
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
pub(crate) fn event_pieces(id: Option<&str>, message: Bytes) -> impl Iterator<Item = Bytes> + Send + use<> {
    let pieces = if message.len() <= FREE_BYTES {
        [event(id, &message), Bytes::new(), Bytes::new()]
    } else {
        let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
        [format!("{id}data: ").into(), message, Bytes::from_static(b"\n\n")]
    };
    pieces.into_iter().filter(|piece| !piece.is_empty())
}

/// What comes through a channel, as events, until it is closed or the endpoint stops. The guard lives as long.
pub(crate) fn channel_events<G: Send + 'static>(
    endpoint: &Endpoint,
    messages: mpsc::Receiver<Bytes>,
    guard: G,
) -> impl Stream<Item = Bytes> + Send + use<G> {
    let heard = stream::unfold((messages, guard), |(mut messages, guard)| async move {
        let message = messages.recv().await?;
        Some((event_pieces(None, message), (messages, guard)))
    });
    let stopping = endpoint.state().stopping.clone();
    heard.flat_map(stream::iter).take_until(async move { stopping.cancelled().await })
}

/// An answer that is a stream of events, with a sign of life in between.
pub(crate) fn streamed(events: impl Stream<Item = Bytes> + Send + 'static, heartbeat: Duration) -> Response {
    let silence = || Bytes::from_static(b": still here\n\n");
    let alive = with_heartbeats(events, heartbeat).map(move |event| event.unwrap_or_else(silence));
    let mut response = Response::new(Body::Events(alive.boxed()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}
