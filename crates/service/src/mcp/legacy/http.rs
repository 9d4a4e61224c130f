//! Streamable HTTP as it was before requests stood alone: POST for messages, GET for what was not asked for, DELETE to end.

use std::sync::Arc;
use std::time::Duration;

use axum_core::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gateway_protocol::{
    Incoming, RawJson, Request, RpcError, code, header, is_known_legacy, method, primes_streams,
};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::batch::Batch;
use super::session::Session;
use super::stream::{Reader, Stream, event_id, parse_event_id};
use super::{answer, notified, shake};
use crate::errors::json_response;
use crate::mcp::Endpoint;
use crate::mcp::events::{counted_message, counted_response, event_pieces, message, refusal, streamed};
use crate::mcp::face::Face;
use crate::mcp::out::Sink;
use crate::mcp::takes_events;
use gateway_runtime::context::RequestContext;

/// What the SDKs say where the specification names no code.
const BAD_REQUEST: i64 = -32_000;
const NO_SESSION: i64 = -32_001;

/// An answer that takes longer comes on a stream.
const SOON: Duration = Duration::from_millis(500);

/// Takes one message.
pub(in crate::mcp) async fn post(
    endpoint: &Endpoint,
    context: RequestContext,
    (name, face): (Option<&str>, Face),
    headers: &HeaderMap,
    incoming: Incoming,
) -> Response {
    let incoming = match incoming {
        Incoming::Request(request) if request.method == method::INITIALIZE => {
            return open(endpoint, &context, (name, &face), request).await;
        }
        other => other,
    };
    let id = match &incoming {
        Incoming::Request(request) => Some(request.id.clone()),
        Incoming::Notification(_) | Incoming::Response(_) => None,
    };
    // Whether somebody is there may be asked before anything else.
    if let Incoming::Request(request) = &incoming
        && request.method == method::PING
        && !headers.contains_key(header::SESSION)
    {
        return json_response(StatusCode::OK, message(&request.id, &Ok(RawJson::empty_object())));
    }
    let session = match session_of(endpoint, &context, name, headers) {
        Ok(session) => session,
        Err((status, error)) => return refusal(status, id.as_ref(), error),
    };
    match incoming {
        Incoming::Request(request) if takes_events(headers) => {
            request_of(endpoint, context, session, request).await
        }
        Incoming::Request(request) => plain_request_of(endpoint, context, session, request).await,
        Incoming::Notification(notification) => {
            notified(&session, &notification);
            StatusCode::ACCEPTED.into_response()
        }
        Incoming::Response(response) => {
            session.peer.answered(&response.id, response.outcome);
            StatusCode::ACCEPTED.into_response()
        }
    }
}

async fn open(
    endpoint: &Endpoint,
    context: &RequestContext,
    (name, face): (Option<&str>, &Face),
    request: Request,
) -> Response {
    let (shaken, result) = match shake(endpoint, face, request.params.as_ref()).await {
        Ok(shaken) => shaken,
        Err(error) => return json_response(StatusCode::OK, message(&request.id, &Err(error))),
    };
    let sessions = &endpoint.mcp().sessions;
    let Some(session) = sessions.open(context.caller.clone(), name.map(Arc::from), Some(shaken), None) else {
        let error = RpcError::new(code::INTERNAL_ERROR, "the system gives no random numbers for a session");
        return refusal(StatusCode::SERVICE_UNAVAILABLE, Some(&request.id), error);
    };
    let mut response = json_response(StatusCode::OK, message(&request.id, &Ok(result)));
    if let Ok(id) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(header::SESSION, id);
    }
    response
}

/// The session that a request names: it must be this caller's, at this endpoint.
fn session_of(
    endpoint: &Endpoint,
    context: &RequestContext,
    name: Option<&str>,
    headers: &HeaderMap,
) -> Result<Arc<Session>, (StatusCode, RpcError)> {
    let bad = |message: &str| (StatusCode::BAD_REQUEST, RpcError::new(BAD_REQUEST, message));
    if let Some(version) = headers.get(header::PROTOCOL_VERSION)
        && !version.to_str().is_ok_and(is_known_legacy)
    {
        return Err(bad("Bad Request: Unsupported protocol version"));
    }
    let id = headers.get(header::SESSION).and_then(|id| id.to_str().ok());
    let id = id.ok_or_else(|| bad("Bad Request: Mcp-Session-Id header is required"))?;
    endpoint
        .mcp()
        .sessions
        .get(id, context.caller.as_ref())
        .filter(|session| session.face.as_deref() == name)
        .ok_or_else(|| (StatusCode::NOT_FOUND, RpcError::new(NO_SESSION, "Session not found")))
}

/// Answers a request. It goes on if the caller's connection breaks: in this era only a notification cancels.
async fn request_of(
    endpoint: &Endpoint,
    context: RequestContext,
    session: Arc<Session>,
    request: Request,
) -> Response {
    let stream = session.new_stream();
    let (owned, asked, sink) = (endpoint.clone(), Arc::clone(&session), Arc::clone(&stream));
    // Noted before anything else: a cancellation may be close behind.
    let running = match session.running(&request.id) {
        Ok(running) => running,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, Some(&request.id), error),
    };
    // Before the work begins: an answer that nobody reads may be forgotten.
    let mut reader = Arc::clone(&stream).reader(0);
    // The call goes on if the caller leaves, and it counts as long.
    let (_attached, detached) = endpoint.metrics().detached();
    endpoint.mcp().tasks.spawn(async move {
        let _counted = detached;
        let (id, holding) = (request.id.clone(), context.clone());
        match answer(&owned, &asked, context, request, Sink::Stream(Arc::clone(&sink)), running).await {
            Some(outcome) => sink.finish(counted_message(&owned, &holding, &id, &outcome).await),
            None => sink.end(),
        }
        asked.trim();
    });
    // An answer that comes soon and alone is one message. Otherwise there is a stream, which a caller whose connection
    // breaks can come back to.
    let first = match tokio::time::timeout(SOON, reader.next()).await {
        Ok(None) => return StatusCode::ACCEPTED.into_response(),
        Ok(Some(only)) if only.is_last => return counted_response(StatusCode::OK, only.message),
        Ok(Some(first)) => Some(event_pieces(Some(&first.id), first.message)),
        Err(_) => None,
    };
    session.keep(&stream);
    let is_primed = session.shaken.get().is_some_and(|shaken| primes_streams(shaken.version));
    let priming = is_primed.then(|| priming(&event_id(stream.number(), 0)));
    let opening = stream::iter(priming.into_iter().chain(first.into_iter().flatten()));
    streamed(opening.chain(rest(reader)), endpoint.config().heartbeat)
}

/// Answers a request of a caller who takes no stream with its answer alone. What belongs to it otherwise goes where everything
/// goes that was not asked for.
async fn plain_request_of(
    endpoint: &Endpoint,
    context: RequestContext,
    session: Arc<Session>,
    request: Request,
) -> Response {
    let running = match session.running(&request.id) {
        Ok(running) => running,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, Some(&request.id), error),
    };
    let (owned, id, sink, holding) =
        (endpoint.clone(), request.id.clone(), session.sink.clone(), context.clone());
    let (_attached, detached) = endpoint.metrics().detached();
    let work = async move {
        let _counted = detached;
        answer(&owned, &session, context, request, sink, running).await
    };
    match endpoint.mcp().tasks.spawn(work).await {
        Ok(Some(outcome)) => {
            counted_response(StatusCode::OK, counted_message(endpoint, &holding, &id, &outcome).await)
        }
        Ok(None) | Err(_) => StatusCode::ACCEPTED.into_response(),
    }
}

/// Takes several messages at once, and answers with the answers to all of them.
pub(in crate::mcp) async fn post_batch(
    endpoint: &Endpoint,
    context: &RequestContext,
    name: Option<&str>,
    headers: &HeaderMap,
    batch: Batch,
) -> Response {
    if !headers.contains_key(header::SESSION) {
        let error =
            RpcError::new(code::INVALID_REQUEST, "a list of messages needs a session: send one at a time");
        return refusal(StatusCode::BAD_REQUEST, None, error);
    }
    let session = match session_of(endpoint, context, name, headers) {
        Ok(session) => session,
        Err((status, error)) => return refusal(status, None, error),
    };
    let work = match batch.answer(endpoint, &session, context) {
        Ok(work) => work,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, None, error),
    };
    let (_attached, detached) = endpoint.metrics().detached();
    let work = async move {
        let _counted = detached;
        work.await
    };
    match endpoint.mcp().tasks.spawn(work).await {
        Ok(Some(answers)) => counted_response(StatusCode::OK, answers),
        Ok(None) | Err(_) => StatusCode::ACCEPTED.into_response(),
    }
}

/// An event that says only where to come back to, and when.
fn priming(id: &str) -> Bytes {
    format!("id: {id}\nretry: 1000\ndata:\n\n").into()
}

/// What a reader hears from now on, as events.
fn rest(reader: Reader) -> impl futures_util::Stream<Item = Bytes> + Send {
    let events = stream::unfold(reader, |mut reader| async move {
        let heard = reader.next().await?;
        Some((event_pieces(Some(&heard.id), heard.message), reader))
    });
    events.flat_map(stream::iter)
}

/// The stream for what was not asked for, or one that broke.
pub(in crate::mcp) fn get(
    endpoint: &Endpoint,
    context: &RequestContext,
    name: Option<&str>,
    headers: &HeaderMap,
) -> Response {
    let session = match session_of(endpoint, context, name, headers) {
        Ok(session) => session,
        Err((status, error)) => return refusal(status, None, error),
    };
    let last = headers.get(header::LAST_EVENT).and_then(|id| id.to_str().ok()).and_then(parse_event_id);
    let stream: Option<(Arc<Stream>, u64)> = match last {
        Some((number, after)) => session.kept(number).map(|stream| (stream, after)),
        // Without a place to come back to: what nobody heard yet.
        None => session.kept(0).map(|stream| {
            let after = stream.delivered();
            (stream, after)
        }),
    };
    let Some((stream, after)) = stream else {
        let error = RpcError::new(BAD_REQUEST, "Bad Request: this stream is not known any more");
        return refusal(StatusCode::BAD_REQUEST, None, error);
    };
    let stopping = endpoint.mcp().stopping.clone();
    let Some(attending) = session.attend() else {
        let error =
            RpcError::new(BAD_REQUEST, "too many streams of this session are open; close one of them");
        return refusal(StatusCode::TOO_MANY_REQUESTS, None, error);
    };
    let events = rest(stream.reader(after)).take_until(async move { stopping.cancelled().await });
    let events = events.inspect(move |_| {
        let _in_use = &attending;
    });
    streamed(events, endpoint.config().heartbeat)
}

/// The end of a session.
pub(in crate::mcp) fn delete(
    endpoint: &Endpoint,
    context: &RequestContext,
    name: Option<&str>,
    headers: &HeaderMap,
) -> Response {
    match session_of(endpoint, context, name, headers) {
        Ok(session) => {
            endpoint.mcp().sessions.close(&session);
            StatusCode::NO_CONTENT.into_response()
        }
        Err((status, error)) => refusal(status, None, error),
    }
}
