//! HTTP with server-sent events, as MCP began (2024-11-05): one stream for everything that we say, POST for everything
//! that we hear.

use std::sync::Arc;

use axum_core::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gateway_protocol::{RpcError, code, parse_strict_message};
use http::StatusCode;
use tokio::sync::mpsc;

use super::batch::Batch;
use super::session::{Attending, Session};
use super::take;
use crate::mcp::Endpoint;
use crate::mcp::events::{event_pieces, id_of, refusal, streamed, unreadable};
use crate::mcp::out::Sink;
use gateway_runtime::context::RequestContext;
use gateway_runtime::parameters::Parameters;

/// Messages that wait for a slow reader.
const MESSAGES: usize = 256;

/// Opens a session and its stream; the first event tells where to send messages.
pub(in crate::mcp) fn events(
    endpoint: &Endpoint,
    context: &RequestContext,
    name: Option<&str>,
    address: &str,
) -> Response {
    let (sender, messages) = mpsc::channel(MESSAGES);
    let sink = Sink::Channel(sender);
    let sessions = &endpoint.mcp().sessions;
    let opened = sessions.open(context.caller.clone(), name.map(Arc::from), None, Some(sink));
    let Some(session) = opened else {
        let error = RpcError::new(code::INTERNAL_ERROR, "the system gives no random numbers for a session");
        return refusal(StatusCode::SERVICE_UNAVAILABLE, None, error);
    };
    let first = Bytes::from(format!("event: endpoint\ndata: {address}?sessionId={}\n\n", session.id));
    let over = session.over.clone();
    let open = Open { endpoint: endpoint.clone(), _attending: session.attend(), session };
    let heard = stream::unfold((messages, open), |(mut messages, open)| async move {
        let message: Bytes = messages.recv().await?;
        Some((event_pieces(None, message), (messages, open)))
    });
    let heard = heard.flat_map(stream::iter);
    let stopping = endpoint.mcp().stopping.clone();
    let heard = heard.take_until(async move {
        tokio::select! {
            () = stopping.cancelled() => {}
            () = over.cancelled() => {}
        }
    });
    streamed(stream::iter([first]).chain(heard), endpoint.config().heartbeat)
}

/// A session that ends with its stream.
struct Open {
    endpoint: Endpoint,
    session: Arc<Session>,
    _attending: Option<Attending>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.endpoint.mcp().sessions.close(&self.session);
    }
}

/// Takes a message; its answer comes on the stream.
pub(in crate::mcp) fn api(
    endpoint: &Endpoint,
    context: RequestContext,
    name: Option<&str>,
    query: Option<&str>,
    body: Bytes,
) -> Response {
    let parameters = Parameters::of_query(query);
    let Some(id) = parameters.get("sessionId") else {
        let error =
            RpcError::new(code::INVALID_REQUEST, "`sessionId` is missing: see the stream's first event");
        return refusal(StatusCode::BAD_REQUEST, None, error);
    };
    let session = endpoint
        .mcp()
        .sessions
        .get(id, context.caller.as_ref())
        .filter(|session| session.face.as_deref() == name);
    let Some((session, Sink::Channel(channel))) =
        session.map(|session| (Arc::clone(&session), session.sink.clone()))
    else {
        let error = RpcError::new(code::INVALID_REQUEST, "this session is not known");
        return refusal(StatusCode::NOT_FOUND, None, error);
    };
    if let Some(batch) = Batch::read(&body) {
        let work = match batch.answer(endpoint, &session, &context) {
            Ok(work) => work,
            Err(error) => return refusal(StatusCode::BAD_REQUEST, None, error),
        };
        let (_attached, detached) = endpoint.metrics().detached();
        endpoint.mcp().tasks.spawn(async move {
            let _counted = detached;
            if let Some(answers) = work.await {
                let _ = channel.send(answers).await;
            }
        });
        return StatusCode::ACCEPTED.into_response();
    }
    let incoming = match parse_strict_message(body) {
        Ok(incoming) => incoming,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, id_of(&error), unreadable(&error)),
    };
    let work = take(endpoint, &session, context, incoming, &channel);
    let (_attached, detached) = endpoint.metrics().detached();
    endpoint.mcp().tasks.spawn(async move {
        let _counted = detached;
        work.await;
    });
    StatusCode::ACCEPTED.into_response()
}
