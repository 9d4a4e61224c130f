//! Streamable HTTP: one endpoint, both eras.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use gateway_protocol::{RpcError, code, header, is_known_legacy, method};
use http::{HeaderValue, Response};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::answer::{accepted, events, from_reply, json, plain, refusal};
use super::body::{Body, Events};
use super::checks::{check_kinds, check_modern_headers, mirrored, text_of};
use super::{ExitWhenClosed, HttpRequest, Refused};
use crate::everything::Asked;
use crate::exchange::{Exchange, SpeaksNow};
use crate::job::Job;
use crate::lifecycle::era_of;
use crate::message::Message;
use crate::modes::Fault;
use crate::notify::{Outbox, Subscription};
use crate::options::{AnswerKind, SpokenEra};
use crate::respond::{Taken, append_error};
use crate::server::Server;
use crate::session::Session;
use crate::stream::event;

/// The error code of legacy servers if the specification names none.
const LEGACY_BAD_REQUEST: i64 = -32_000;
const LEGACY_NO_SESSION: i64 = -32_001;

/// One message from a client.
pub(crate) async fn post(
    server: &Arc<Server>,
    request: HttpRequest,
    exit: &ExitWhenClosed,
    path: &str,
) -> Result<Response<Body>, Refused> {
    check_kinds(&request.headers)?;
    let message = Message::parse(&request.body)
        .map_err(|error| refusal(400, &RpcError::new(code::PARSE_ERROR, error.to_string())))?;
    let version = text_of(&request.headers, header::PROTOCOL_VERSION.as_str());
    let era = era_of(server.options.era, &message, version);
    let (session, is_new) = match era {
        SpeaksNow::Modern => {
            if message.id.is_some()
                && let Err(error) = check_modern_headers(&message, &request.headers)
            {
                let mut text = Vec::new();
                append_error(&mut text, &message, &error);
                return Ok(json(400, text));
            }
            (None, false)
        }
        SpeaksNow::Legacy => legacy_session(server, &message, &request)?,
    };
    let exchange = Exchange {
        era,
        session,
        related: None,
        mirrored: mirrored(&message, &request.headers),
        behind: (path == "/moved").then_some(Fault::Redirect),
    };
    let mut out = Vec::with_capacity(256);
    let mut response = match server.take(&message, &exchange, &mut out) {
        Taken::Answered(200) if server.options.answer == AnswerKind::Sse => one_event(&out),
        Taken::Answered(status) => json(status, out),
        Taken::Accepted => accepted(),
        Taken::Listen => listen(server, &message),
        // Until the client disconnects.
        Taken::Ignored => std::future::pending().await,
        Taken::Later => {
            let wants_progress = message.progress_token().is_some() && message.name() == Some("slow")
                || server.asked(&message, &exchange).is_some_and(Asked::takes_time);
            let plain_events = server.options.answer == AnswerKind::Sse && server.modes.is_empty();
            let job = Job { text: request.body.clone(), exchange: exchange.clone() };
            if wants_progress || plain_events {
                stream_job(server, job)
            } else {
                finish_job(server, job, exit).await
            }
        }
    };
    if let (true, Some(session)) = (is_new, &exchange.session)
        && let Ok(id) = HeaderValue::from_str(&session.id)
    {
        server.subscribers.add_session(session);
        response.headers_mut().insert(&header::SESSION, id);
    }
    Ok(response)
}

/// The stream of messages that belong to no request of a legacy client.
pub(crate) fn get(server: &Arc<Server>, request: &HttpRequest) -> Result<Response<Body>, Refused> {
    let session = find_session(server, request)?;
    let opening = Some(": here you will hear of changes\n\n".into());
    if server.everything.is_some() {
        return Ok(resumable(&session, text_of(&request.headers, header::LAST_EVENT.as_str()), opening));
    }
    let (sender, messages) = mpsc::unbounded_channel();
    session.attach(Outbox::Events(sender));
    server.storm_if_due();
    Ok(events(Events { opening, messages, guard: None }))
}

/// A resumable stream, or the rest of the one that is resumed.
fn resumable(session: &Session, last: Option<&str>, opening: Option<Bytes>) -> Response<Body> {
    let messages = if let Some(last) = last {
        let Some(messages) = session.resume_stream(last) else {
            return plain(404, "no stream has this event");
        };
        messages
    } else {
        let (stream, messages) = session.open_stream();
        session.attach(Outbox::Numbered(stream));
        messages
    };
    events(Events { opening, messages, guard: None })
}

/// The end of a legacy session.
pub(crate) fn delete(server: &Server, request: &HttpRequest) -> Result<Response<Body>, Refused> {
    let session = find_session(server, request)?;
    server.subscribers.remove_session(&session.id);
    Ok(plain(200, "ended"))
}

/// The session of a legacy message, and whether it begins with it.
fn legacy_session(
    server: &Server,
    message: &Message<'_>,
    request: &HttpRequest,
) -> Result<(Option<Arc<Session>>, bool), Refused> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    if message.method() == method::INITIALIZE {
        if server.options.stateless {
            return Ok((None, false));
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let id = format!("fixture-{}-{number}", std::process::id());
        return Ok((Some(Arc::new(Session::new(id, None))), true));
    }
    let version = text_of(&request.headers, header::PROTOCOL_VERSION.as_str());
    if version.is_some_and(|version| !is_known_legacy(version)) {
        let error = RpcError::new(LEGACY_BAD_REQUEST, "Bad Request: Unsupported protocol version");
        return Err(Box::new(refusal(400, &error)));
    }
    if server.options.stateless {
        return Ok((None, false));
    }
    if message.method() == method::CALL_TOOL {
        forget_if_due(server);
    }
    session_of(server, request).map(|session| (Some(session), false))
}

/// The session of a request that only legacy servers with sessions take.
fn find_session(server: &Server, request: &HttpRequest) -> Result<Arc<Session>, Refused> {
    if server.options.era == SpokenEra::Modern || server.options.stateless {
        return Err(Box::new(plain(405, "method not allowed")));
    }
    session_of(server, request)
}

fn session_of(server: &Server, request: &HttpRequest) -> Result<Arc<Session>, Refused> {
    let Some(id) = text_of(&request.headers, header::SESSION.as_str()) else {
        let error = RpcError::new(LEGACY_BAD_REQUEST, "Bad Request: Mcp-Session-Id header is required");
        return Err(Box::new(refusal(400, &error)));
    };
    let session = server.subscribers.session(id);
    session.ok_or_else(|| Box::new(refusal(404, &RpcError::new(LEGACY_NO_SESSION, "Session not found"))))
}

fn forget_if_due(server: &Server) {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    if let Some(every) = server.modes.get(Fault::ForgetSessions)
        && CALLS.fetch_add(1, Ordering::Relaxed) >= every
    {
        CALLS.store(0, Ordering::Relaxed);
        server.subscribers.forget_sessions();
    }
}

fn one_event(message: &[u8]) -> Response<Body> {
    let (_, messages) = mpsc::unbounded_channel();
    events(Events { opening: Some(event(message)), messages, guard: None })
}

fn listen(server: &Arc<Server>, message: &Message<'_>) -> Response<Body> {
    let (sender, messages) = mpsc::unbounded_channel();
    let outbox = Outbox::Events(sender);
    server.subscribe(Subscription::from_message(server.options.serve, message, outbox));
    events(Events { opening: None, messages, guard: None })
}

/// Answers with a stream: related messages first, the answer last.
fn stream_job(server: &Arc<Server>, mut job: Job) -> Response<Body> {
    let (outbox, messages) = match &job.exchange.session {
        Some(session) if server.everything.is_some() => {
            let (stream, messages) = session.open_stream();
            (Outbox::Numbered(stream), messages)
        }
        _ => {
            let (sender, messages) = mpsc::unbounded_channel();
            (Outbox::Events(sender), messages)
        }
    };
    job.exchange.related = Some(outbox.clone());
    let cancelled = CancellationToken::new();
    // Modern: closing the stream cancels. Legacy: it means nothing.
    let guard = (job.exchange.era == SpeaksNow::Modern).then(|| cancelled.clone().drop_guard());
    let task_server = Arc::clone(server);
    server.tasks.spawn(async move {
        job.run(&task_server, cancelled).await.send(&outbox).await;
    });
    events(Events { opening: None, messages, guard })
}

/// Waits for the job, then answers.
async fn finish_job(server: &Arc<Server>, job: Job, exit: &ExitWhenClosed) -> Response<Body> {
    let cancelled = CancellationToken::new();
    let guard = (job.exchange.era == SpeaksNow::Modern).then(|| cancelled.clone().drop_guard());
    let task_server = Arc::clone(server);
    // A task of its own: a legacy request continues when its connection breaks.
    let task = server.tasks.spawn(async move { job.run(&task_server, cancelled).await });
    let reply = task.await.unwrap_or_default();
    if let Some(guard) = guard {
        guard.disarm();
    }
    from_reply(server, reply, server.options.answer, exit)
}
