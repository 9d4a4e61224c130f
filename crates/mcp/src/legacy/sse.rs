//! HTTP with server-sent events, as MCP began (2024-11-05): one stream for everything that we say, POST for everything
//! that we hear.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gateway_protocol::{RpcError, code, parse_strict_message};
use http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::batch::Batch;
use super::{open_session, take};
use crate::endpoint::Endpoint;
use crate::http_request::HttpRequest;
use crate::outbound::Sink;
use crate::response::{Refused, Response, channel_events, empty, streamed};
use crate::sessions::Session;
use gateway_runtime::parameters::Parameters;

/// Messages that wait for a slow reader.
const MESSAGES: usize = 256;

/// Opens a session and its stream; the first event says where to send messages.
pub(crate) fn events(endpoint: &Endpoint, http: &HttpRequest) -> Result<Response, Refused> {
    let (sender, messages) = mpsc::channel(MESSAGES);
    let session = open_session(endpoint, http, None, None, Some(Sink::Channel(sender)))?;
    let address = http.uri.path().trim_end_matches("/events");
    let first = Bytes::from(format!("event: endpoint\ndata: {address}/api?sessionId={}\n\n", session.id));
    let over = session.over.clone();
    let open = Open { endpoint: endpoint.clone(), _attached: session.attach(), session };
    let heard = channel_events(endpoint, messages, open).take_until(async move { over.cancelled().await });
    Ok(streamed(stream::iter([first]).chain(heard), endpoint.config().heartbeat))
}

/// A session that ends with its stream.
struct Open {
    endpoint: Endpoint,
    session: Arc<Session>,
    _attached: Option<OwnedSemaphorePermit>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.endpoint.state().sessions.close(&self.session);
    }
}

/// Takes a message; its answer comes on the stream.
pub(crate) fn api(endpoint: &Endpoint, http: HttpRequest) -> Result<Response, Refused> {
    let refused = |status, message| Refused::new(status, None, RpcError::new(code::INVALID_REQUEST, message));
    let parameters = Parameters::of_query(http.uri.query());
    let id = parameters.get("sessionId").ok_or_else(|| {
        refused(StatusCode::BAD_REQUEST, "`sessionId` is missing: see the stream's first event")
    })?;
    let found = endpoint.state().sessions.get(id, http.context.caller.as_ref(), http.name.as_deref());
    let Some((session, Sink::Channel(channel))) = found.map(|found| (Arc::clone(&found), found.sink.clone()))
    else {
        return Err(refused(StatusCode::NOT_FOUND, "this session is not known"));
    };
    if let Some(batch) = Batch::read(&http.body) {
        let work = batch.answer(endpoint, &session, &http.context)?;
        endpoint.spawn(http.slot, async move {
            if let Some(answers) = work.await {
                let _ = channel.send(answers).await;
            }
        });
    } else {
        let incoming = parse_strict_message(http.body).map_err(|error| Refused::unreadable(&error))?;
        endpoint.spawn(http.slot, take(endpoint, &session, http.context, incoming, &channel));
    }
    Ok(empty(StatusCode::ACCEPTED))
}
