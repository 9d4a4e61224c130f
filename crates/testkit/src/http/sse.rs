//! HTTP+SSE of 2024-11-05: answers are sent on the stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gateway_protocol::{RpcError, code};
use http::Response;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::HttpRequest;
use super::answer::{accepted, events, plain, refusal};
use super::body::{Body, Events};
use crate::exchange::Exchange;
use crate::job::Job;
use crate::message::Message;
use crate::notify::Outbox;
use crate::respond::Taken;
use crate::server::Server;
use crate::session::Session;

/// Opens a stream, which is a session.
pub(crate) fn open(server: &Arc<Server>) -> Response<Body> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let id = format!("stream-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let (sender, messages) = mpsc::unbounded_channel();
    let opening = format!("event: endpoint\ndata: /messages?sessionId={id}\n\n");
    let session = Arc::new(Session::new(id, Some(Outbox::Events(sender))));
    server.subscribers.add_session(&session);
    let closed = CancellationToken::new();
    let guard = Some(closed.clone().drop_guard());
    let task_server = Arc::clone(server);
    server.tasks.spawn(async move {
        closed.cancelled().await;
        task_server.subscribers.remove_session(&session.id);
    });
    events(Events { opening: Some(opening.into()), messages, guard })
}

/// One message from a client; the answer is sent on its stream.
pub(crate) fn post(server: &Arc<Server>, request: &HttpRequest) -> Response<Body> {
    let id = request.query.split('&').find_map(|pair| pair.strip_prefix("sessionId="));
    let Some(session) = id.and_then(|id| server.subscribers.session(id)) else {
        return plain(404, "session not found");
    };
    let message = match Message::parse(&request.body) {
        Ok(message) => message,
        Err(error) => return refusal(400, &RpcError::new(code::PARSE_ERROR, error.to_string())),
    };
    let Some(outbox) = session.outbox() else { return plain(404, "stream closed") };
    let exchange = Exchange { session: Some(session), related: Some(outbox.clone()), ..Exchange::default() };
    let mut out = Vec::new();
    match server.take(&message, &exchange, &mut out) {
        Taken::Answered(_) => {
            outbox.send(&out);
        }
        Taken::Accepted | Taken::Listen | Taken::Ignored => {}
        Taken::Later => {
            let job = Job { text: request.body.clone(), exchange };
            let task_server = Arc::clone(server);
            server.tasks.spawn(async move {
                job.run(&task_server, CancellationToken::new()).await.send(&outbox).await;
            });
        }
    }
    accepted()
}
