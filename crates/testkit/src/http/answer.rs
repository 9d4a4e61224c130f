//! Answers over HTTP, well-formed and otherwise.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gateway_protocol::{RawJson, RpcError, write_error};
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Response, StatusCode};
use tokio::sync::mpsc;

use super::ExitWhenClosed;
use super::body::{Body, Events};
use crate::job::{Frame, Reply};
use crate::modes::Fault;
use crate::options::AnswerKind;
use crate::server::Server;
use crate::stream::event;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// A short text for people.
pub(crate) fn plain(status: u16, text: &'static str) -> Response<Body> {
    response(status, HeaderValue::from_static("text/plain"), Body::whole(text))
}

/// An accepted notification.
pub(crate) fn accepted() -> Response<Body> {
    let mut response = Response::new(Body::Whole(None));
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// One message as JSON.
pub(crate) fn json(status: u16, text: impl Into<Bytes>) -> Response<Body> {
    response(status, JSON, Body::whole(text))
}

/// A refusal that belongs to no request.
pub(crate) fn refusal(status: u16, error: &RpcError) -> Response<Body> {
    let mut text = Vec::new();
    write_error(&mut text, &RawJson::null(), error);
    json(status, text)
}

/// A stream of messages.
pub(crate) fn events(events: Events) -> Response<Body> {
    event_response(Body::Events(events))
}

fn event_response(body: Body) -> Response<Body> {
    let mut response = response(200, EVENTS, body);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn response(status: u16, content_type: HeaderValue, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// The answer of a finished job, with all faults of HTTP.
pub(crate) fn from_reply(
    server: &Arc<Server>,
    reply: Reply,
    kind: AnswerKind,
    exit: &ExitWhenClosed,
) -> Response<Body> {
    if let Some(status) = reply.faults.get(Fault::HttpStatus) {
        return plain(u16::try_from(status).unwrap_or(500), "this request fails as asked");
    }
    if let Some(status) = reply.faults.get(Fault::Redirect) {
        let mut response = plain(u16::try_from(status).unwrap_or(307), "moved");
        response.headers_mut().insert(LOCATION, HeaderValue::from_static("/moved"));
        return response;
    }
    let mut messages = Vec::new();
    for frame in reply.frames {
        match frame {
            Frame::Message(text) => messages.push(text),
            Frame::Noise(_) => {}
            Frame::Endless(head) => return response(200, JSON, endless(server, head)),
        }
    }
    if let (Some(code), true) = (reply.exit, messages.is_empty()) {
        std::process::exit(code);
    }
    let as_events = kind == AnswerKind::Sse || messages.len() > 1;
    let text: Bytes = if as_events {
        messages.iter().flat_map(|message| event(message)).collect()
    } else {
        messages.pop().unwrap_or_default().into()
    };
    let body = if reply.faults.has(Fault::CloseMidBody) {
        cut(server, &text)
    } else if let Some(ms) = reply.faults.get(Fault::SlowBody) {
        drip(server, &text, Duration::from_millis(ms))
    } else {
        Body::whole(text)
    };
    let mut response =
        if as_events { event_response(body) } else { response(reply.status.unwrap_or(200), JSON, body) };
    if reply.faults.has(Fault::WrongContentType) {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
    }
    if let Some(code) = reply.exit {
        // The connection ends after this answer, and the process with it.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        let _ = exit.set(code);
    }
    response
}

/// Half of the text, then a closed connection.
fn cut(server: &Arc<Server>, text: &Bytes) -> Body {
    let (sender, pieces) = mpsc::channel(1);
    let promised = Some(text.len() as u64);
    let half = text.slice(..text.len() / 2);
    server.tasks.spawn(async move {
        let sent = sender.send(Ok(half)).await;
        // An immediate error would discard what is not on the wire yet.
        tokio::time::sleep(Duration::from_millis(20)).await;
        if sent.is_ok() {
            let _ = sender.send(Err(io::Error::other("closed as asked"))).await;
        }
    });
    Body::Pieces { pieces, promised }
}

/// The text in ten chunks over a period.
fn drip(server: &Arc<Server>, text: &Bytes, whole: Duration) -> Body {
    let (sender, pieces) = mpsc::channel(1);
    let promised = Some(text.len() as u64);
    let text = text.clone();
    server.tasks.spawn(async move {
        for piece in text.chunks(text.len().div_ceil(10).max(1)) {
            tokio::time::sleep(whole / 10).await;
            if sender.send(Ok(text.slice_ref(piece))).await.is_err() {
                return;
            }
        }
    });
    Body::Pieces { pieces, promised }
}

fn endless(server: &Arc<Server>, head: Vec<u8>) -> Body {
    let (sender, pieces) = mpsc::channel(4);
    server.tasks.spawn(async move {
        let filler = Bytes::from(vec![b'x'; 64 * 1024]);
        let mut next = Bytes::from(head);
        while sender.send(Ok(next)).await.is_ok() {
            next = filler.clone();
        }
    });
    Body::Pieces { pieces, promised: None }
}
