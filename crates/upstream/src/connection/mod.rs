//! One live connection to an upstream.
//!
//! Every transport gives the same [`Connection`]. Where messages share one stream (stdio, legacy SSE), one task owns the
//! stream and the requests in flight; over Streamable HTTP each request has its own exchange, which the caller's task
//! runs; the built-in server is called directly.

mod call;
mod channel;
mod events;
mod handshake;
mod http;
mod local;
mod owner;
mod questions;
mod refusals;
mod router;
mod sse;
mod status;
mod stdio;
mod tasks;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bytes::Bytes;
use gateway_builtin::Registry;
use gateway_config::{Endpoint, UpstreamId, UpstreamSpec};
use gateway_process::Program;
use gateway_protocol::{
    Era, Implementation, MetaEntry, Notification, RawJson, Request, RpcError, meta, method,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use self::call::{AsksProgress, Call, CallKind, Deadline, Leaving, Slots};
use self::channel::StreamChannel;
use self::events::EventSink;
use self::handshake::{Identity, Introduction, Opening};
use self::http::Http;
use self::local::LocalChannel;
pub(crate) use self::questions::{LINGER, Successors};
pub use self::questions::{Question, QuestionOrigin, Responder};
use self::refusals::Refusals;
use self::status::Status;
use self::tasks::Tasks;
use crate::error::{CallError, ConnectError};
use crate::results::{FREE_BYTES, ResultBudget, ServerResults};

/// What a connection needs to know beside the upstream's configuration.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The era that this upstream spoke last time; saves the probe.
    pub remembered: Option<Era>,
    /// Who we are.
    pub client: Implementation,
    /// What we can do for the server.
    pub capabilities: RawJson,
    /// Where notifications and requests of the server go that belong to no call of ours.
    pub events: mpsc::Sender<ServerEvent>,
    /// The tools of an upstream that is the registry.
    pub registry: Registry,
    /// Counts the requests of the server that were refused.
    pub refused: Arc<AtomicU64>,
    /// What results may take that are held for callers.
    pub results: ResultBudget,
}

/// Something that the server sent of its own accord.
#[derive(Debug)]
pub enum ServerEvent {
    /// A notification.
    Notification(Notification),
    /// It began a new session on the same connection and has lost what earlier messages set up.
    Renewed,
    /// A request that waits for an answer. Dropping `answer` refuses it.
    Request {
        /// The request.
        request: Request,
        /// Takes the answer.
        answer: oneshot::Sender<Result<RawJson, RpcError>>,
    },
}

/// A request of ours.
#[derive(Clone, Debug)]
pub struct OutgoingRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// The tool, prompt or resource that it is about, for the header of the modern era.
    pub name: Option<&'a str>,
    /// The members of its parameters, as JSON texts.
    pub params: &'a [(&'a str, &'a [u8])],
    /// The members of `_meta` that the caller wants. The connection adds its own, which win.
    pub meta: &'a [(Cow<'static, str>, RawJson)],
    /// Mirrored parameters, for modern HTTP.
    pub headers: &'a [(String, String)],
    /// How long to wait without a sign of life.
    pub idle: Duration,
    /// How long to wait at all.
    pub maximum: Duration,
    /// Takes progress and log messages of this request, under our own progress token. Progress is asked for where this
    /// is given, and for tool calls that progress can keep alive.
    pub progress: Option<mpsc::Sender<Notification>>,
    /// Who answers what the server asks meanwhile.
    pub responder: Option<Responder>,
    /// What the caller of this request can do, for servers of the modern era.
    pub capabilities: Option<&'a RawJson>,
}

impl<'a> OutgoingRequest<'a> {
    /// A request without parameters whose answer must come within `wait`.
    pub fn new(method: &'a str, wait: Duration) -> Self {
        Self {
            method,
            name: None,
            params: &[],
            meta: &[],
            headers: &[],
            idle: wait,
            maximum: wait,
            progress: None,
            responder: None,
            capabilities: None,
        }
    }
}

/// A live connection. Clones share it; when the last one is dropped, it is ended by force.
#[derive(Clone)]
pub struct Connection(Arc<Inner>);

struct Inner {
    id: UpstreamId,
    transport: &'static str,
    identity: Identity,
    /// The `_meta` that every request carries.
    meta: Vec<(&'static str, Vec<u8>)>,
    slots: Slots,
    status: Arc<Status>,
    channel: Channel,
    tasks: Tasks,
    results: ServerResults,
    close: Duration,
}

enum Channel {
    Stream(Arc<StreamChannel>),
    Http(Arc<Http>),
    Local(LocalChannel),
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("id", &self.0.id)
            .field("transport", &self.0.transport)
            .field("era", &self.0.identity.era)
            .finish_non_exhaustive()
    }
}

/// One attempt to open a connection.
struct Attempt<'a> {
    spec: &'a UpstreamSpec,
    who: Introduction,
    events: Arc<EventSink>,
    opening: Opening,
    /// When every step has to be over.
    until: Instant,
}

/// What a transport gives after the handshake.
struct Opened {
    transport: &'static str,
    identity: Identity,
    status: Arc<Status>,
    channel: Channel,
    tasks: Tasks,
}

impl Connection {
    /// Connects, finds out the era and shakes hands. Dropping the future ends what was started.
    pub async fn open(spec: &UpstreamSpec, options: ConnectOptions) -> Result<Self, ConnectError> {
        /// The steps have the same deadline and name themselves when it passes; this one is for what has no step.
        const SLACK: Duration = Duration::from_millis(500);
        let until = Instant::now() + spec.timeouts.connect;
        let who = Introduction { client: options.client, capabilities: options.capabilities };
        let refusals = Refusals::new(spec.id.clone(), options.refused);
        let results = ServerResults::new(options.results, spec.id.as_str());
        let events = Arc::new(EventSink::new(options.events, refusals, results.clone()));
        let opening = Opening::of(
            spec.protocol,
            options.remembered.as_ref(),
            spec.timeouts.probe,
            spec.timeouts.connect,
        );
        let attempt = Attempt { spec, who, events: Arc::clone(&events), opening, until };
        let opened = Box::pin(open_endpoint(&attempt, options.registry));
        let mut opened = timeout_at(until + SLACK, opened)
            .await
            .map_err(|_| ConnectError::Timeout { step: "connect", waited: spec.timeouts.connect })??;
        // It is kept as long as the connection, and must not keep all of a long message.
        if let Ok(own) = RawJson::parse(Bytes::copy_from_slice(opened.identity.capabilities.as_bytes())) {
            opened.identity.capabilities = own;
        }
        let meta = attempt.who.meta(&opened.identity.era);
        if let (Channel::Stream(channel), Some(filter), true) = (
            &opened.channel,
            handshake::listen_filter(&opened.identity.capabilities),
            opened.identity.era.is_modern(),
        ) {
            let changed = move || events.everything_changed();
            let listening = handshake::listen(Arc::clone(channel), meta.clone(), filter, None, changed);
            let stop = opened.tasks.stop().clone();
            opened.tasks.spawn(async move {
                let _ = stop.run_until_cancelled(listening).await;
            });
        }
        Ok(Self(Arc::new(Inner {
            id: spec.id.clone(),
            transport: opened.transport,
            identity: opened.identity,
            meta,
            slots: Slots::new(spec.limits.in_flight),
            status: opened.status,
            channel: opened.channel,
            tasks: opened.tasks,
            results,
            close: spec.timeouts.close,
        })))
    }

    /// Which upstream it is.
    pub fn id(&self) -> &UpstreamId {
        &self.0.id
    }

    /// How it is spoken to.
    pub fn era(&self) -> &Era {
        &self.0.identity.era
    }

    /// The transport that was chosen: `stdio`, `http`, `sse` or `builtin`.
    pub fn transport(&self) -> &'static str {
        self.0.transport
    }

    /// What the server can do, as it said.
    pub fn capabilities(&self) -> &RawJson {
        &self.0.identity.capabilities
    }

    /// Who the server is, as it said.
    pub fn server_info(&self) -> &Implementation {
        &self.0.identity.server_info
    }

    /// The server's instructions for the model.
    pub fn instructions(&self) -> Option<&str> {
        self.0.identity.instructions.as_deref()
    }

    /// Sends a request and waits for its answer. Dropping the future cancels the request at the server.
    pub async fn request(&self, request: OutgoingRequest<'_>) -> Result<RawJson, CallError> {
        let inner = &*self.0;
        if let Some(reason) = inner.status.reason() {
            return Err(CallError::Unreachable { upstream: inner.id.clone(), reason: reason.to_string() });
        }
        let _slot = inner
            .slots
            .take()
            .map_err(|in_flight| CallError::Busy { upstream: inner.id.clone(), in_flight })?;
        let asks = if request.progress.is_some()
            || request.method == method::CALL_TOOL && request.idle < request.maximum
        {
            AsksProgress::Yes(request.progress)
        } else {
            AsksProgress::No
        };
        let call = Call {
            method: request.method,
            name: request.name,
            params: request.params,
            meta: &inner.all_meta(request.meta, request.capabilities),
            headers: request.headers,
            deadline: Deadline::new(request.idle, request.maximum, asks).with_responder(request.responder),
            leaving: Leaving::Cancels,
            kind: CallKind::Plain,
        };
        let result = match &inner.channel {
            Channel::Stream(channel) => channel.exchange(&call).await,
            // An exchange over HTTP is a big future; callers over stdio need not carry it.
            Channel::Http(channel) => Box::pin(channel.exchange(&call)).await,
            Channel::Local(channel) => Box::pin(channel.exchange(&call)).await,
        }?;
        if result.len() <= FREE_BYTES { Ok(result) } else { Ok(inner.settled(result, request.method)) }
    }

    /// Asks a server of the modern era for notifications, for as long as it gives them. Dropping the future ends it.
    /// `acknowledged` is cancelled once the server has agreed.
    pub(crate) async fn listen(&self, filter: RawJson, acknowledged: &CancellationToken) {
        let inner = &*self.0;
        match &inner.channel {
            Channel::Stream(channel) => {
                let (channel, meta) = (Arc::clone(channel), inner.meta.clone());
                handshake::listen(channel, meta, filter, Some(acknowledged), || {}).await;
            }
            Channel::Http(channel) => channel.listen(&inner.meta, &filter, acknowledged).await,
            // What is in our own process changes nothing that could be listened for.
            Channel::Local(_) => std::future::pending().await,
        }
    }

    /// Waits until the connection has ended; the reason.
    pub async fn ended(&self) -> String {
        self.0.status.ended().await.to_string()
    }

    /// Whether it has ended.
    pub fn is_ended(&self) -> bool {
        self.0.status.is_ended()
    }

    /// Whether requests in flight may still be answered. Over HTTP each has a connection of its own, which lives on where
    /// no further one can be made.
    pub(crate) fn may_answer(&self) -> bool {
        let lives = match &self.0.channel {
            Channel::Stream(_) | Channel::Local(_) => !self.is_ended(),
            Channel::Http(_) => true,
        };
        lives && self.in_flight() > 0
    }

    /// Ends it: asks first, then kills. Returns when nothing of it is left.
    pub async fn close(&self) {
        /// What the steps of an orderly end may take beyond the configured waits.
        const SLACK: Duration = Duration::from_secs(5);
        self.0.tasks.end(self.0.close * 2 + SLACK).await;
        self.0.status.end("closed by the gateway");
    }

    /// The last lines of the server's standard error; what it printed on its standard output that was no message stands
    /// among them, marked.
    pub fn stderr(&self) -> String {
        self.0.status.stderr()
    }

    /// How many lines on the standard output were no messages.
    pub fn noise(&self) -> u64 {
        self.0.status.noise()
    }

    /// The process, where it is one.
    pub fn process(&self) -> Option<u32> {
        self.0.status.process
    }

    /// How many requests wait for an answer.
    pub fn in_flight(&self) -> usize {
        self.0.slots.taken()
    }
}

impl Inner {
    /// A long result, counted for as long as callers hold it. What we keep ourselves, such as lists of tools, has bounds of its
    /// own and is held by nobody else.
    fn settled(&self, result: RawJson, method: &str) -> RawJson {
        let is_kept = !matches!(method, method::CALL_TOOL | method::READ_RESOURCE | method::GET_PROMPT);
        let text = match (&self.channel, is_kept) {
            (_, true) => Bytes::copy_from_slice(result.as_bytes()),
            (Channel::Local(_), false) => self.results.count(result.to_bytes(), None),
            (Channel::Stream(_) | Channel::Http(_), false) => return result,
        };
        RawJson::parse(text).unwrap_or(result)
    }

    /// Our own entries and those of the caller. The progress token is ours alone: it must be unique.
    fn all_meta<'a>(
        &'a self,
        entries: &'a [(Cow<'static, str>, RawJson)],
        capabilities: Option<&'a RawJson>,
    ) -> Vec<MetaEntry<'a>> {
        let mut all = Vec::with_capacity(self.meta.len() + entries.len());
        all.extend(self.meta.iter().map(|(key, value)| match capabilities {
            Some(capabilities) if *key == meta::CLIENT_CAPABILITIES => (*key, capabilities.as_bytes()),
            _ => (*key, value.as_slice()),
        }));
        let ours = |key: &str| key == meta::PROGRESS_TOKEN || self.meta.iter().any(|(own, _)| *own == key);
        let theirs = entries.iter().filter(|(key, _)| !ours(key));
        all.extend(theirs.map(|(key, value)| (key.as_ref(), value.as_bytes())));
        all
    }
}

async fn open_endpoint(attempt: &Attempt<'_>, registry: Registry) -> Result<Opened, ConnectError> {
    let Attempt { spec, who, .. } = attempt;
    match &spec.endpoint {
        Endpoint::Stdio { command, args, env, cwd } => {
            let program = Program { command, args, env, cwd: cwd.as_ref(), hidden_env: &spec.hidden_env };
            stdio::open(attempt, &program).await
        }
        Endpoint::Http { url, headers, mode } => http::open(attempt, url, headers, *mode).await,
        Endpoint::Demo | Endpoint::Workspace(_) | Endpoint::Registry | Endpoint::Invalid => {
            let channel = LocalChannel::new(spec, registry)?;
            Ok(Opened {
                transport: "builtin",
                identity: channel.shake(who).await?,
                status: Arc::new(Status::new(0, None)),
                channel: Channel::Local(channel),
                tasks: Tasks::new(),
            })
        }
    }
}
