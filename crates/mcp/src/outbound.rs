//! The way back to a caller while its request is at work: notifications, and questions of servers.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use gateway_protocol::{
    ListKind, Notification, RawJson, RawObject, RequestId, RpcError, code, method, write_request,
};
use tokio::sync::{mpsc, oneshot};

use crate::log_level::LogLevel;
use crate::resumable::ResumableStream;
use gateway_runtime::context::keeping;
use gateway_runtime::lock::locked;

/// Where messages of one request go.
#[derive(Clone, Debug)]
pub(crate) enum Sink {
    /// The stream of a legacy request, kept for those who come back.
    Stream(Arc<ResumableStream>),
    /// Whoever reads the answer now: a modern request, or standard output.
    Channel(mpsc::Sender<Bytes>),
    /// Nobody: the caller asked for none.
    Nobody,
}

impl Sink {
    /// Sends one message. Whoever went away gets none.
    pub(crate) async fn send(&self, message: Bytes) {
        match self {
            Self::Stream(stream) => stream.push(message),
            Self::Channel(channel) => {
                let _ = channel.send(message).await;
            }
            Self::Nobody => {}
        }
    }

    /// Sends one message if there is room: one that cannot wait for its reader.
    pub(crate) fn offer(&self, message: Bytes) {
        match self {
            Self::Stream(stream) => stream.push(message),
            Self::Channel(channel) => drop(channel.try_send(message)),
            Self::Nobody => {}
        }
    }
}

/// What belongs to one request beside its answer.
#[derive(Clone, Debug)]
pub(crate) struct Out {
    pub(crate) sink: Sink,
    /// The token under which the caller wants progress.
    pub(crate) token: Option<RawJson>,
    /// The log messages that the caller wants.
    pub(crate) level: Option<LogLevel>,
}

impl Out {
    /// Sends a notification of an upstream on, if the caller wants it.
    pub(crate) async fn note(&self, notification: Notification) {
        if matches!(self.sink, Sink::Nobody) {
            return;
        }
        let source = notification.params.clone();
        let params = match notification.method.as_str() {
            method::PROGRESS => match self.with_token(notification.params) {
                Some(params) => Some(params),
                None => return,
            },
            method::LOG_MESSAGE => {
                let level = LogLevel::of_message(notification.params.as_ref());
                if self.level.is_none_or(|least| level < least) {
                    return;
                }
                notification.params
            }
            _ => notification.params,
        };
        let text = written(&notification.method, params.as_ref());
        let text = match &source {
            Some(source) => keeping(text, source),
            None => text,
        };
        self.sink.send(text).await;
    }

    fn with_token(&self, params: Option<RawJson>) -> Option<RawJson> {
        let token = self.token.as_ref()?;
        let params = params?;
        let mut object = RawObject::parse(&params).ok()?;
        object.set("progressToken", token).ok()?;
        object.to_raw().ok()
    }
}

/// A notification as it is sent.
pub(crate) fn written(method: &str, params: Option<&RawJson>) -> Bytes {
    let mut text = Vec::with_capacity(64 + method.len() + params.map_or(0, RawJson::len));
    text.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":");
    text.extend_from_slice(serde_json::Value::from(method).to_string().as_bytes());
    if let Some(params) = params {
        text.extend_from_slice(b",\"params\":");
        text.extend_from_slice(params.as_bytes());
    }
    text.push(b'}');
    // On standard output a line end ends the message.
    text.retain(|byte| !matches!(byte, b'\n' | b'\r'));
    text.into()
}

/// The other side of a legacy connection, which answers requests.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Result<RawJson, RpcError>>>>,
    /// The version of the catalogue that it saw last, plus one; zero before it asked for the tools.
    saw: AtomicU64,
    /// The lists that it asked for beside the tools, by the method that notifies of changes.
    looked_at: Mutex<HashSet<&'static str>>,
}

impl Peer {
    /// It gets the tools of this version of the catalogue or of a later one.
    pub(crate) fn sees(&self, version: u64) {
        self.saw.fetch_max(version.saturating_add(1), Ordering::AcqRel);
    }

    /// It asks for a list other than that of the tools.
    pub(crate) fn looks(&self, kind: ListKind) {
        let list = match kind {
            ListKind::Tools => method::TOOLS_CHANGED,
            ListKind::Resources | ListKind::ResourceTemplates => method::RESOURCES_CHANGED,
            ListKind::Prompts => method::PROMPTS_CHANGED,
        };
        locked(&self.looked_at).insert(list);
    }

    /// Whether it ever asked for the list of which `list` notifies that it changed.
    pub(crate) fn has_looked(&self, list: &str) -> bool {
        locked(&self.looked_at).contains(list)
    }

    /// Whether it has seen a list, and that was an older one.
    pub(crate) fn is_behind(&self, version: u64) -> bool {
        let saw = self.saw.load(Ordering::Acquire);
        saw > 0 && saw <= version
    }

    /// Sends a request and waits for its answer. Dropping the future takes the request back.
    pub(crate) async fn ask(
        &self,
        sink: &Sink,
        method: &str,
        params: Option<&RawJson>,
    ) -> Result<RawJson, RpcError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let (answer, receiver) = oneshot::channel();
        locked(&self.waiting).insert(id, answer);
        let _forget = Forget { peer: self, sink, id };
        let object = params.and_then(|params| RawObject::parse(params).ok()).unwrap_or_default();
        let members: Vec<(&str, &[u8])> =
            object.members().iter().map(|(key, value)| (key.as_ref(), value.get().as_bytes())).collect();
        let mut message = Vec::new();
        write_request(&mut message, id, method, &members, &[]);
        message.retain(|byte| !matches!(byte, b'\n' | b'\r'));
        sink.send(message.into()).await;
        receiver.await.unwrap_or_else(|_| Err(RpcError::new(code::INTERNAL_ERROR, "the caller went away")))
    }

    /// Takes an answer. One that nobody waits for is passed over.
    pub(crate) fn answered(&self, id: &RequestId, outcome: Result<RawJson, RpcError>) {
        if let Some(answer) = id.number().and_then(|id| locked(&self.waiting).remove(&id)) {
            let _ = answer.send(outcome);
        }
    }
}

/// Takes a request back that was not answered: nobody waits for it any more.
struct Forget<'a> {
    peer: &'a Peer,
    sink: &'a Sink,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        let is_open = locked(&self.peer.waiting).remove(&self.id).is_some();
        if is_open {
            let params =
                serde_json::json!({"requestId": self.id, "reason": "the request that needed it is over"});
            self.sink.offer(written(method::CANCELLED, RawJson::of(&params).ok().as_ref()));
        }
    }
}
