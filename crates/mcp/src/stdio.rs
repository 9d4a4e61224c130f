//! The endpoint over standard input and output: one message a line, both eras, one caller.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gateway_protocol::{
    Incoming, Line, LineSplitter, MessageError, RawJson, RpcError, code, method, parse_strict_message,
};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::task::TaskTracker;

use crate::endpoint::Endpoint;
use crate::errors::internal;
use crate::modern::listen;
use crate::outbound::Sink;
use crate::response::{Refused, counted_message, message};
use crate::sessions::{Running, Session};
use crate::view::View;
use crate::{legacy, modern};
use gateway_runtime::context::RequestContext;
use gateway_runtime::seal::secret_id;

/// Messages that wait to be written.
const MESSAGES: usize = 256;

/// With so many bytes, messages are written without waiting for more.
const BATCH: usize = 256 << 10;

/// Requests at work; more are refused.
const AT_WORK: usize = 1_024;

/// How long the last messages may take to be written.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Why the endpoint over standard input and output does not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StdioError {
    /// No group or server has the name.
    #[error("no group or server is called `{name}`; there are: {known}")]
    UnknownGroup {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// There is no session to be had.
    #[error("the system gives no random numbers")]
    NoChance,
    /// Standard input cannot be read.
    #[error("reading standard input")]
    Read(#[source] std::io::Error),
}

/// Answers the messages of `input` on `output`, until it ends. `group` narrows what is shown.
pub async fn serve_stdio<R, W>(
    endpoint: &Endpoint,
    group: Option<&str>,
    mut input: R,
    output: W,
) -> Result<(), StdioError>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let view = View::named(endpoint.fleet(), group).ok_or_else(|| StdioError::UnknownGroup {
        name: group.unwrap_or_default().to_owned(),
        known: View::names(endpoint.fleet()),
    })?;
    let (sender, messages) = mpsc::channel(MESSAGES);
    let sessions = &endpoint.state().sessions;
    let session = sessions
        .open(None, group.map(Arc::from), None, Some(Sink::Channel(sender.clone())))
        .ok_or(StdioError::NoChance)?;
    endpoint.start();
    let writer = tokio::spawn(write(messages, output));
    let room = Arc::new(Semaphore::new(AT_WORK));
    let owner = secret_id().ok_or(StdioError::NoChance)?.into();
    let wire =
        Wire { endpoint: endpoint.clone(), session, owner, view, sender, tasks: TaskTracker::new(), room };
    let mut lines = LineSplitter::new(endpoint.config().mcp.line_bytes);
    let outcome = loop {
        match input.read_buf(lines.buffer()).await {
            Ok(0) => break Ok(()),
            Ok(_) => {}
            Err(error) => break Err(StdioError::Read(error)),
        }
        while let Some(line) = lines.next_line() {
            match line {
                Line::Whole(text) => wire.take(text).await,
                Line::TooLongBegins { .. } => {
                    wire.refuse(code::INVALID_REQUEST, "the message is too long").await;
                }
                Line::TooLongEnds { .. } => {}
            }
        }
    };
    // Nothing more will be asked. What is at work may finish, as somebody may still read; then it is cancelled.
    endpoint.stop();
    wire.tasks.close();
    let _ = tokio::time::timeout(endpoint.config().drain, wire.tasks.wait()).await;
    sessions.close(&wire.session);
    // Whoever does not read any more must not hold up the end.
    let _ = tokio::time::timeout(LAST_WORDS, wire.tasks.wait()).await;
    // The writer ends with the last sender, once everything is written.
    drop(wire);
    let _ = tokio::time::timeout(LAST_WORDS, writer).await;
    outcome
}

async fn write<W: AsyncWrite + Unpin>(mut messages: mpsc::Receiver<Bytes>, mut output: W) {
    let mut batch = Vec::new();
    let mut texts = Vec::new();
    while let Some(first) = messages.recv().await {
        let mut next = Some(first);
        while let Some(text) = next {
            batch.extend(text.iter().filter(|byte| !matches!(byte, b'\n' | b'\r')));
            batch.push(b'\n');
            texts.push(text);
            next = if batch.len() < BATCH { messages.try_recv().ok() } else { None };
        }
        // Whoever does not read any more has gone.
        if output.write_all(&batch).await.is_err() || output.flush().await.is_err() {
            return;
        }
        // Kept until they are written: long ones are counted as long.
        texts.clear();
        batch.clear();
        batch.shrink_to(BATCH);
    }
}

struct Wire {
    endpoint: Endpoint,
    session: Arc<Session>,
    /// Whose the modern requests are: all come from the one process at the other end.
    owner: Arc<str>,
    view: View,
    sender: mpsc::Sender<Bytes>,
    tasks: TaskTracker,
    room: Arc<Semaphore>,
}

impl Wire {
    async fn refuse(&self, code: i64, reason: &str) {
        let error = RpcError::new(code, reason);
        let _ = self.sender.send(message(&RawJson::null(), &Err(error))).await;
    }

    async fn take(&self, text: Bytes) {
        if text.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        if let Some(batch) = legacy::Batch::read(&text) {
            return self.take_batch(batch).await;
        }
        let incoming = match parse_strict_message(text) {
            Ok(incoming) => incoming,
            Err(error @ MessageError::Repeated { .. }) => {
                return self.reply(Some(Refused::unreadable(&error).message())).await;
            }
            Err(error) => return self.refuse(code::PARSE_ERROR, &error.to_string()).await,
        };
        let context = RequestContext::new(None);
        let (endpoint, session, sender) =
            (self.endpoint.clone(), Arc::clone(&self.session), self.sender.clone());
        match incoming {
            Incoming::Request(request) if modern::is_meant(request.params.as_ref(), None) => {
                // Noted at once, so that a cancellation that follows finds it.
                let (id, view, owner) = (request.id.clone(), self.view.clone(), Arc::clone(&self.owner));
                let running = match session.running(request) {
                    Ok(running) => running,
                    Err((id, error)) => return drop(sender.send(message(&id, &Err(error))).await),
                };
                let work = async move {
                    modern_request(&endpoint, context, owner, view, sender, running).await;
                };
                self.reply(self.spawn(&id, work)).await;
            }
            // What follows may rely on the handshake, so it is not overtaken.
            Incoming::Request(request) if request.method == method::INITIALIZE => {
                Box::pin(legacy::take(&endpoint, &session, context, Incoming::Request(request), &sender))
                    .await;
            }
            Incoming::Request(request) => {
                let id = request.id.clone();
                let work = legacy::take(&endpoint, &session, context, Incoming::Request(request), &sender);
                self.reply(self.spawn(&id, work)).await;
            }
            // Answers and notifications wait for nothing: what is at work may be waiting for them.
            incoming => Box::pin(legacy::take(&endpoint, &session, context, incoming, &sender)).await,
        }
    }

    async fn take_batch(&self, batch: legacy::Batch) {
        let context = RequestContext::new(None);
        match batch.answer(&self.endpoint, &self.session, &context) {
            Ok(work) => {
                let sender = self.sender.clone();
                let work = async move {
                    if let Some(answers) = work.await {
                        let _ = sender.send(answers).await;
                    }
                };
                self.reply(self.spawn(&RawJson::null(), work)).await;
            }
            Err(refused) => self.reply(Some(refused.message())).await,
        }
    }

    /// Begins to work on a request, or gives the refusal if there is no room. Not async: the work is large, and
    /// would be carried along while the refusal is sent.
    fn spawn(&self, id: &RawJson, work: impl Future<Output = ()> + Send + 'static) -> Option<Bytes> {
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            let error = internal(format!("more than {AT_WORK} requests at once; try again later"));
            return Some(message(id, &Err(error)));
        };
        self.tasks.spawn(async move {
            work.await;
            drop(permit);
        });
        None
    }

    async fn reply(&self, refusal: Option<Bytes>) {
        if let Some(refusal) = refusal {
            let _ = self.sender.send(refusal).await;
        }
    }
}

/// Answers a request of the modern era; `notifications/cancelled` ends it without an answer.
async fn modern_request(
    endpoint: &Endpoint,
    context: RequestContext,
    owner: Arc<str>,
    view: View,
    sender: mpsc::Sender<Bytes>,
    running: Running,
) {
    let id = &running.request.id;
    let sink = Sink::Channel(sender);
    let checked = match modern::check(endpoint, running.request.clone(), context, owner, view, None) {
        Ok(checked) => checked,
        Err(refused) => return sink.send(refused.message()).await,
    };
    if checked.request.method == method::LISTEN {
        match listen::begin(&checked, sink.clone()).await {
            Ok(_listening) => {
                let _ = endpoint.state().stopping.run_until_cancelled(running.token.cancelled()).await;
            }
            Err(error) => sink.send(message(id, &Err(error))).await,
        }
        return;
    }
    let holding = checked.caller.context.clone();
    let work = modern::answer(checked, sink.clone());
    if let Some(outcome) = running.token.run_until_cancelled(work).await {
        sink.send(counted_message(endpoint, &holding, id, &outcome).await).await;
    }
}
