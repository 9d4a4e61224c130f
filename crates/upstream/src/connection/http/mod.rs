//! Streamable HTTP in both eras. Each request is its own exchange, run by the task of its caller.

pub(super) mod client;
mod courier;
mod listener;
mod opening;
mod session;
pub(super) mod stream;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use gateway_config::UpstreamId;
use gateway_protocol::{Incoming, Notification, RawJson, RequestId, RpcError, header, method, parse_message};
use http::StatusCode;
use http::header::{HeaderMap, HeaderValue};
use reqwest::Response;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use self::client::{BodyError, HttpClient, SendError};
use self::courier::CourierRequest;
pub(super) use self::opening::open;
use self::session::{Session, modern_headers};
use self::stream::{EventStream, NoEvent};
use super::call::{Call, Deadline, Leaving, Progress, progress_token};
use super::channel::{CALLER_LEFT, TIMED_OUT, cancelled};
use super::events::EventSink;
use super::status::Status;
use crate::error::CallError;

/// After so many requests in a row that could not be sent, the connection counts as ended and is opened anew.
const UNREACHABLE_MOST: u32 = 3;
/// How often a broken stream is taken up again without anything new on it.
const FRUITLESS_RESUMES: u32 = 2;
/// How long a server may ask us to wait before a stream is taken up again.
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// A connection over HTTP, which callers and tasks share.
#[derive(Debug)]
pub(super) struct Http {
    upstream: UpstreamId,
    client: Arc<HttpClient>,
    next_id: AtomicU64,
    session: watch::Sender<Arc<Session>>,
    /// The requests in flight whose progress may come on another stream than their own.
    progress: Mutex<HashMap<u64, Arc<Progress>>>,
    events: Arc<EventSink>,
    status: Arc<Status>,
    courier: mpsc::Sender<CourierRequest>,
    stop: CancellationToken,
    /// Requests in a row that could not be sent.
    unreachable: AtomicU32,
}

/// An answer, with what came beside it.
#[derive(Debug)]
struct Answer {
    outcome: Result<RawJson, RpcError>,
    session: Option<HeaderValue>,
}

/// Why there is no answer.
#[derive(Debug)]
enum Trouble {
    NotSent(String),
    /// It may have run.
    Unclear(String),
    /// A status that is no answer.
    Status {
        status: StatusCode,
        reason: String,
    },
    /// The session is gone; the request was not run.
    SessionGone,
    NotMcp {
        reason: String,
        raw: Option<RawJson>,
    },
    TooLong,
    NoRoom,
    Timeout(Duration),
}

impl Http {
    /// Sends a request and waits for its answer. Dropping the future cancels it at the server.
    pub(super) async fn exchange(&self, call: &Call<'_>) -> Result<RawJson, CallError> {
        tokio::select! {
            biased;
            outcome = self.attempts(call) => outcome,
            () = self.stop.cancelled() => Err(CallError::Lost {
                upstream: self.upstream.clone(),
                reason: "closed by the gateway".to_owned(),
            }),
        }
    }

    /// Asks for notifications, for as long as the server gives them.
    pub(super) async fn listen(
        &self,
        meta: &[(&'static str, Vec<u8>)],
        filter: &RawJson,
        acknowledged: &CancellationToken,
    ) {
        tokio::select! {
            () = listener::listen_modern(self, meta, filter, Some(acknowledged)) => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Sends a request, and once more where the server forgot the session: then it was not run.
    async fn attempts(&self, call: &Call<'_>) -> Result<RawJson, CallError> {
        let session = self.session();
        let mut outcome = self.attempt(&session, call).await;
        if let Err(Trouble::SessionGone) = outcome {
            self.renewed(session.generation, &call.deadline).await?;
            outcome = self.attempt(&self.session(), call).await;
        }
        let answer = outcome.map_err(|trouble| self.call_error(trouble))?;
        answer.outcome.map_err(|error| CallError::Refused { upstream: self.upstream.clone(), error })
    }

    fn call_error(&self, trouble: Trouble) -> CallError {
        let upstream = self.upstream.clone();
        match trouble {
            Trouble::NotSent(reason) => CallError::Unreachable { upstream, reason },
            Trouble::Unclear(reason) => CallError::Lost { upstream, reason },
            Trouble::SessionGone => {
                CallError::Unreachable { upstream, reason: "it forgot its session again".to_owned() }
            }
            Trouble::NotMcp { reason, raw } => CallError::Malformed { upstream, reason, raw },
            Trouble::TooLong => CallError::TooLong { upstream, limit: self.client.limit },
            Trouble::NoRoom => CallError::ResultDropped { upstream, limit: self.events.results.limit() },
            Trouble::Timeout(waited) => CallError::Timeout { upstream, waited },
            Trouble::Status { status, reason } => match status.as_u16() {
                // Whoever answers so has not looked into the message.
                401 | 403 | 404 | 405 | 407 | 429 => CallError::Unreachable { upstream, reason },
                500.. => CallError::Lost { upstream, reason },
                _ => CallError::Malformed { upstream, reason, raw: None },
            },
        }
    }

    fn session(&self) -> Arc<Session> {
        Arc::clone(&self.session.borrow())
    }

    /// Waits for a new session instead of the one of `generation`. Many callers share one handshake.
    async fn renewed(&self, generation: u64, deadline: &Deadline) -> Result<(), CallError> {
        let (done, receiver) = oneshot::channel();
        let unreachable = |reason: String| CallError::Unreachable { upstream: self.upstream.clone(), reason };
        let waiting = async {
            self.courier.send(CourierRequest::Renew { generation, done }).await.ok()?;
            receiver.await.ok()
        };
        match deadline.wait(waiting).await {
            Ok(Some(Ok(()))) => Ok(()),
            Ok(Some(Err(reason))) => Err(unreachable(reason)),
            Ok(None) => Err(unreachable("closed by the gateway".to_owned())),
            Err(_) => Err(unreachable("it forgot its session and gave no new one in time".to_owned())),
        }
    }

    async fn attempt(&self, session: &Session, call: &Call<'_>) -> Result<Answer, Trouble> {
        let mut headers = session.headers();
        if session.is_modern() {
            modern_headers(&mut headers, call);
        }
        self.ask(session, headers, call).await
    }

    /// One exchange: a POST and its answer.
    async fn ask(&self, session: &Session, headers: HeaderMap, call: &Call<'_>) -> Result<Answer, Trouble> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut body = Vec::with_capacity(call.size_hint());
        call.write(&mut body, id);
        let mut watch = Watch { http: self, id, leave: None, registered: false };
        if let Some(progress) = &call.deadline.progress {
            lock(&self.progress).insert(id, Arc::clone(progress));
            watch.registered = true;
        }
        // MCP 2026-07-28: closing the response is the cancellation. Before, it is a notification.
        if call.leaving == Leaving::Cancels && !session.is_modern() {
            watch.leave = Some(CALLER_LEFT);
        }
        let outcome = self.answer_of(session, id, headers, body, call).await;
        watch.leave = match (&outcome, watch.leave) {
            (Err(Trouble::Timeout(_) | Trouble::TooLong | Trouble::NoRoom), Some(_)) => Some(TIMED_OUT),
            _ => None,
        };
        outcome
    }

    async fn answer_of(
        &self,
        session: &Session,
        id: u64,
        headers: HeaderMap,
        body: Vec<u8>,
        call: &Call<'_>,
    ) -> Result<Answer, Trouble> {
        let deadline = &call.deadline;
        let sending = self.client.post(&self.client.url, headers, body);
        let mut response = match deadline.wait(sending).await.map_err(Trouble::Timeout)? {
            Ok(response) => response,
            Err(SendError::NotSent(reason)) => {
                self.note_unreachable(&reason);
                return Err(Trouble::NotSent(reason));
            }
            Err(SendError::Unclear(reason)) => return Err(Trouble::Unclear(reason)),
        };
        self.unreachable.store(0, Ordering::Relaxed);
        let status = response.status();
        if status == StatusCode::NOT_FOUND && session.has_id() {
            return Err(Trouble::SessionGone);
        }
        let new_session = response.headers().get(&header::SESSION).cloned();
        if !status.is_success() {
            let body =
                deadline.wait(self.client.error_body(&mut response)).await.map_err(Trouble::Timeout)?;
            return self.refusal(session, status, response.headers(), &body);
        }
        let outcome = if client::is_stream(&response) {
            self.streamed_answer(session, id, response, call).await?
        } else {
            let reading = self.client.body(&mut response, &self.events.results);
            match deadline.wait(reading).await.map_err(Trouble::Timeout)? {
                Ok(body) => read_answer(id, &body)?,
                Err(BodyError::TooLong) => return Err(Trouble::TooLong),
                Err(BodyError::NoRoom) => return Err(Trouble::NoRoom),
                Err(BodyError::Broken(reason)) => return Err(Trouble::Unclear(reason)),
            }
        };
        Ok(Answer { outcome, session: new_session })
    }

    /// What an error status means: a JSON-RPC error is an answer, anything else is not.
    fn refusal(
        &self,
        session: &Session,
        status: StatusCode,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Answer, Trouble> {
        let reason = || self.client.explain_status(status, headers, body);
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(Trouble::Status { status, reason: reason() });
        }
        match parse_message(body.clone()) {
            Ok(Incoming::Response(response)) => match response.outcome {
                // Servers after the example of the TypeScript SDK answer so to a session of their former life.
                Err(error)
                    if status == StatusCode::BAD_REQUEST && session.has_id() && refuses_session(&error) =>
                {
                    Err(Trouble::SessionGone)
                }
                outcome => Ok(Answer { outcome, session: None }),
            },
            _ => Err(Trouble::Status { status, reason: reason() }),
        }
    }

    /// Reads a stream of events up to the answer. A legacy stream that breaks is taken up again where the server can.
    async fn streamed_answer(
        &self,
        session: &Session,
        id: u64,
        response: Response,
        call: &Call<'_>,
    ) -> Result<Result<RawJson, RpcError>, Trouble> {
        let deadline = &call.deadline;
        let mut stream = EventStream::new(&self.client, response, &self.events.results);
        let (mut fruitless, mut last_id) = (0, None);
        loop {
            let reason = match deadline.wait(stream.next()).await.map_err(Trouble::Timeout)? {
                Ok(event) => {
                    fruitless = 0;
                    if event.event == "message"
                        && let Some(outcome) = self.own_message(id, &event.data, call)
                    {
                        return Ok(outcome);
                    }
                    continue;
                }
                Err(NoEvent::NoRoom | NoEvent::Skipped(_)) => return Err(Trouble::NoRoom),
                Err(NoEvent::TooLong(_)) => return Err(Trouble::TooLong),
                Err(NoEvent::Broken(reason)) => reason,
            };
            last_id = stream.parser.last_id().map(str::to_owned).or(last_id);
            let Some(resume) =
                last_id.as_deref().filter(|_| !session.is_modern() && fruitless < FRUITLESS_RESUMES)
            else {
                return Err(Trouble::Unclear(reason));
            };
            fruitless += 1;
            let pause =
                Duration::from_millis(stream.parser.retry_ms().unwrap_or_default()).min(LONGEST_RETRY);
            let resuming = async {
                sleep(pause).await;
                self.resume(session, resume).await
            };
            match deadline.wait(resuming).await.map_err(Trouble::Timeout)? {
                Some(resumed) => stream = EventStream::new(&self.client, resumed, &self.events.results),
                None => return Err(Trouble::Unclear(reason)),
            }
        }
    }

    async fn resume(&self, session: &Session, last_id: &str) -> Option<Response> {
        let mut headers = session.headers();
        headers.insert(&header::LAST_EVENT, HeaderValue::from_str(last_id).ok()?);
        let response = self.client.get_events(headers).await.ok()?;
        (response.status().is_success() && client::is_stream(&response)).then_some(response)
    }

    /// Takes a message on the stream of the request `id`; gives its answer.
    fn own_message(&self, id: u64, text: &Bytes, call: &Call<'_>) -> Option<Result<RawJson, RpcError>> {
        match parse_message(text.clone()) {
            Ok(Incoming::Response(response)) => {
                let ours = response.id.number() == Some(id) || response.id == RequestId::Null;
                ours.then_some(response.outcome)
            }
            Ok(Incoming::Notification(notification)) => {
                let own = call.deadline.progress.as_ref().filter(|progress| progress.is_watched());
                match own {
                    Some(progress) if notification.method == method::LOG_MESSAGE => {
                        progress.hand_on(notification);
                    }
                    _ => self.notification(notification),
                }
                None
            }
            Ok(Incoming::Request(request)) => {
                self.react(self.events.request(request, call.deadline.responder.as_ref()));
                None
            }
            Err(_) => {
                if !text.is_empty() {
                    self.status.note_noise(text);
                }
                None
            }
        }
    }

    /// Takes a message on a stream of no request.
    fn free_message(&self, text: Bytes) {
        match parse_message(text) {
            Ok(Incoming::Notification(notification)) => self.notification(notification),
            Ok(Incoming::Request(request)) => self.react(self.events.request(request, None)),
            Ok(Incoming::Response(_)) | Err(_) => {}
        }
    }

    fn notification(&self, notification: Notification) {
        match notification.method.as_str() {
            method::PROGRESS => {
                let progress =
                    progress_token(&notification).and_then(|id| lock(&self.progress).get(&id).cloned());
                if let Some(progress) = progress {
                    progress.note(notification);
                }
            }
            method::ACKNOWLEDGED => {}
            _ => self.events.notification(notification),
        }
    }

    fn react(&self, reaction: super::events::Reaction) {
        // A server that asks faster than it takes answers gets none.
        if let Err(error) = self.courier.try_send(CourierRequest::React(reaction))
            && let CourierRequest::React(reaction) = error.into_inner()
        {
            reaction.leave();
        }
    }

    /// A request could not be sent. The third in a row ends the connection.
    fn note_unreachable(&self, reason: &str) {
        if self.unreachable.fetch_add(1, Ordering::Relaxed) + 1 >= UNREACHABLE_MOST {
            self.status.end(&format!("it cannot be reached: {reason}"));
        }
    }
}

/// Cleans up behind a request.
struct Watch<'a> {
    http: &'a Http,
    id: u64,
    /// Why the server is to be notified that nobody waits any more.
    leave: Option<&'static str>,
    registered: bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if self.registered {
            lock(&self.http.progress).remove(&self.id);
        }
        if let Some(reason) = self.leave {
            let _ = self.http.courier.try_send(CourierRequest::Post(cancelled(self.id, reason)));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How the SDKs refuse a session that they do not know, before they look at the request; in lower case.
const UNKNOWN_SESSION: [&str; 10] = [
    "no valid session id",
    "bad request: no valid session id",
    "session not found",
    "bad request: session not found",
    "invalid session id",
    "bad request: invalid session",
    "bad request: mcp-session-id",
    "bad request: server not initialized",
    "server not initialized",
    "missing session id",
];

/// Whether the error refuses our session. Only what is known to come before the request is run counts, because the
/// request is then sent again; a tool may speak of sessions of its own.
fn refuses_session(error: &RpcError) -> bool {
    let message = error.message.trim().to_ascii_lowercase();
    matches!(error.code, -32000 | -32001 | -32600)
        && UNKNOWN_SESSION.iter().any(|beginning| message.starts_with(beginning))
}

/// Reads the body of an answer.
fn read_answer(id: u64, body: &Bytes) -> Result<Result<RawJson, RpcError>, Trouble> {
    let raw = || RawJson::parse(body.clone()).ok();
    let not_mcp = |reason: String| Trouble::NotMcp { reason, raw: raw() };
    match parse_message(body.clone()) {
        Ok(Incoming::Response(response)) => match response.id {
            RequestId::Null => Ok(response.outcome),
            other if other.number() == Some(id) => Ok(response.outcome),
            _ => Err(not_mcp("the answer is for another request".to_owned())),
        },
        Ok(Incoming::Request(_) | Incoming::Notification(_)) => {
            Err(not_mcp("it sent a request where an answer was due".to_owned()))
        }
        Err(_) if body.is_empty() => Err(not_mcp("the answer is empty".to_owned())),
        Err(error) => Err(not_mcp(error.to_string())),
    }
}
