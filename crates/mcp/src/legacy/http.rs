//! Streamable HTTP as it was before requests stood alone: POST for messages, GET for what was not asked for, DELETE to end.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gateway_protocol::{
    Incoming, RawJson, Request, RpcError, code, header, is_known_legacy, method, primes_streams,
};
use http::{HeaderValue, StatusCode};

use super::batch::Batch;
use super::{answer_message, initialize, note, open_session};
use crate::endpoint::{Endpoint, Slot};
use crate::http_request::HttpRequest;
use crate::outbound::Sink;
use crate::response::{
    Refused, Response, counted_message, empty, event_pieces, json_response, message, streamed, takes_events,
    uncounted_response,
};
use crate::resumable::{Reader, event_id, parse_event_id};
use crate::sessions::{Running, Session};
use crate::view::View;
use gateway_runtime::context::RequestContext;

/// What the SDKs say where the specification names no code.
const BAD_REQUEST: i64 = -32_000;
const NO_SESSION: i64 = -32_001;

/// An answer that takes longer comes on a stream.
const SOON: Duration = Duration::from_millis(500);

/// Takes one message.
pub(crate) async fn post(
    endpoint: &Endpoint,
    http: HttpRequest,
    view: &View,
    incoming: Incoming,
) -> Result<Response, Refused> {
    let mut id = None;
    if let Incoming::Request(request) = &incoming {
        if request.method == method::INITIALIZE {
            return open(endpoint, &http, view, request).await;
        }
        // Whether somebody is there may be asked before anything else.
        if request.method == method::PING && !http.headers.contains_key(&header::SESSION) {
            let answer = message(&request.id, &Ok(RawJson::empty_object()));
            return Ok(uncounted_response(StatusCode::OK, answer));
        }
        id = Some(request.id.clone());
    }
    let session = session_of(endpoint, &http, id)?;
    // Noted before anything else: a cancellation may be close behind.
    let Some(running) = note(&session, incoming)? else { return Ok(empty(StatusCode::ACCEPTED)) };
    if takes_events(&http.headers) {
        return Ok(answer_with_events(endpoint, http.context, http.slot, running).await);
    }
    // What belongs to the request beside its answer goes where everything goes that was not asked for.
    let (owned, sink) = (endpoint.clone(), session.sink.clone());
    let work = async move { answer_message(&owned, http.context, sink, running).await };
    Ok(answer_alone(endpoint, http.slot, work).await)
}

async fn open(
    endpoint: &Endpoint,
    http: &HttpRequest,
    view: &View,
    request: &Request,
) -> Result<Response, Refused> {
    let (handshake, result) = match initialize(endpoint, view, request.params.as_ref()).await {
        Ok(initialized) => initialized,
        Err(error) => return Ok(uncounted_response(StatusCode::OK, message(&request.id, &Err(error)))),
    };
    let session = open_session(endpoint, http, Some(&request.id), Some(handshake), None)?;
    let text = counted_message(endpoint, &http.context, &request.id, &Ok(result)).await;
    let mut response = json_response(StatusCode::OK, text);
    if let Ok(id) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(&header::SESSION, id);
    }
    Ok(response)
}

/// The session that a request names: it must be this caller's, at this endpoint.
fn session_of(
    endpoint: &Endpoint,
    http: &HttpRequest,
    request: Option<RawJson>,
) -> Result<Arc<Session>, Refused> {
    let refused = |status, code, message: &str| Refused::new(status, request, RpcError::new(code, message));
    if let Some(version) = http.headers.get(&header::PROTOCOL_VERSION)
        && !version.to_str().is_ok_and(is_known_legacy)
    {
        let message = "Bad Request: Unsupported protocol version";
        return Err(refused(StatusCode::BAD_REQUEST, BAD_REQUEST, message));
    }
    let Some(id) = http.headers.get(&header::SESSION).and_then(|id| id.to_str().ok()) else {
        let message = "Bad Request: Mcp-Session-Id header is required";
        return Err(refused(StatusCode::BAD_REQUEST, BAD_REQUEST, message));
    };
    let found = endpoint.state().sessions.get(id, http.context.caller.as_ref(), http.name.as_deref());
    found.ok_or_else(|| refused(StatusCode::NOT_FOUND, NO_SESSION, "Session not found"))
}

/// Answers a request. It goes on if the caller's connection breaks: in this era only a notification cancels.
async fn answer_with_events(
    endpoint: &Endpoint,
    context: RequestContext,
    slot: Option<Slot>,
    running: Running,
) -> Response {
    let session = Arc::clone(&running.session);
    let stream = session.new_stream();
    // Before the work begins: an answer that nobody reads may be forgotten.
    let mut reader = Arc::clone(&stream).reader(0);
    let (owned, asked, sink) = (endpoint.clone(), Arc::clone(&session), Arc::clone(&stream));
    endpoint.spawn(slot, async move {
        let notes = Sink::Stream(Arc::clone(&sink));
        sink.end(answer_message(&owned, context, notes, running).await);
        asked.trim();
    });
    // An answer that comes soon and alone is one message. Otherwise there is a stream, which a caller whose connection
    // breaks can come back to.
    let first = match tokio::time::timeout(SOON, reader.next()).await {
        Ok(None) => return empty(StatusCode::ACCEPTED),
        Ok(Some(only)) if only.is_last => return json_response(StatusCode::OK, only.message),
        Ok(Some(first)) => Some(event_pieces(Some(&first.id), first.message)),
        Err(_) => None,
    };
    session.keep(&stream);
    let is_primed = session.handshake.get().is_some_and(|handshake| primes_streams(handshake.version));
    let priming = is_primed.then(|| priming(&event_id(stream.number, 0)));
    let opening = stream::iter(priming.into_iter().chain(first.into_iter().flatten()));
    streamed(opening.chain(rest(reader)), endpoint.config().heartbeat)
}

/// Answers with what `work` gives and nothing else.
async fn answer_alone(
    endpoint: &Endpoint,
    slot: Option<Slot>,
    work: impl Future<Output = Option<Bytes>> + Send + 'static,
) -> Response {
    match endpoint.spawn(slot, work).await {
        Ok(Some(text)) => json_response(StatusCode::OK, text),
        Ok(None) | Err(_) => empty(StatusCode::ACCEPTED),
    }
}

/// Takes several messages at once, and answers with the answers to all of them.
pub(crate) async fn post_batch(
    endpoint: &Endpoint,
    http: HttpRequest,
    batch: Batch,
) -> Result<Response, Refused> {
    if !http.headers.contains_key(&header::SESSION) {
        let error =
            RpcError::new(code::INVALID_REQUEST, "a list of messages needs a session: send one at a time");
        return Err(Refused::new(StatusCode::BAD_REQUEST, None, error));
    }
    let session = session_of(endpoint, &http, None)?;
    let work = batch.answer(endpoint, &session, &http.context)?;
    Ok(answer_alone(endpoint, http.slot, work).await)
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
pub(crate) fn get(endpoint: &Endpoint, http: &HttpRequest) -> Result<Response, Refused> {
    let refused = |status, message| Refused::new(status, None, RpcError::new(BAD_REQUEST, message));
    let session = session_of(endpoint, http, None)?;
    let last = http.headers.get(&header::LAST_EVENT).and_then(|id| id.to_str().ok()).and_then(parse_event_id);
    // Without an event to come back to: what nobody heard yet.
    let (number, after) = last.map_or((0, None), |(number, after)| (number, Some(after)));
    let stream = session
        .kept(number)
        .ok_or_else(|| refused(StatusCode::BAD_REQUEST, "Bad Request: this stream is not known any more"))?;
    let after = after.unwrap_or_else(|| stream.delivered());
    let attached = session.attach().ok_or_else(|| {
        let message = "too many streams of this session are open; close one of them";
        refused(StatusCode::TOO_MANY_REQUESTS, message)
    })?;
    let stopping = endpoint.state().stopping.clone();
    let events = rest(stream.reader(after)).take_until(async move { stopping.cancelled().await });
    let events = events.inspect(move |_| {
        let _in_use = &attached;
    });
    Ok(streamed(events, endpoint.config().heartbeat))
}

/// The end of a session.
pub(crate) fn delete(endpoint: &Endpoint, http: &HttpRequest) -> Result<Response, Refused> {
    let session = session_of(endpoint, http, None)?;
    endpoint.state().sessions.close(&session);
    Ok(empty(StatusCode::NO_CONTENT))
}
