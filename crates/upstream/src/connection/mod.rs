//! One live connection to an upstream.

use std::time::Duration;

use gateway_protocol::{Era, Implementation, MetaEntry, Notification, RawJson, Request, RpcError};
use tokio::sync::{mpsc, oneshot};

use crate::error::{CallError, ConnectError};
use crate::spec::{UpstreamId, UpstreamSpec};

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
}

/// Something that the server sent of its own accord.
#[derive(Debug)]
pub enum ServerEvent {
    /// A notification.
    Notification(Notification),
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
    /// The members of `_meta` that the caller wants, as JSON texts. The connection adds its own.
    pub meta: &'a [MetaEntry<'a>],
    /// Mirrored parameters, for modern HTTP.
    pub headers: &'a [(String, String)],
    /// How long to wait without a sign of life.
    pub idle: Duration,
    /// How long to wait at all.
    pub maximum: Duration,
    /// Takes progress and log messages of this request. Progress is asked for only where this is given.
    pub progress: Option<mpsc::Sender<Notification>>,
}

/// A live connection. Clones share it.
#[derive(Clone, Debug)]
pub struct Connection {}

impl Connection {
    /// Connects, finds out the era and shakes hands.
    pub async fn open(_spec: &UpstreamSpec, _options: ConnectOptions) -> Result<Self, ConnectError> {
        std::future::pending().await
    }

    /// Which upstream it is.
    pub fn id(&self) -> &UpstreamId {
        unimplemented!()
    }

    /// How it is spoken to.
    pub fn era(&self) -> &Era {
        unimplemented!()
    }

    /// The transport that was chosen: `stdio`, `http`, `sse` or `builtin`.
    pub fn transport(&self) -> &'static str {
        unimplemented!()
    }

    /// What the server can do, as it said.
    pub fn capabilities(&self) -> &RawJson {
        unimplemented!()
    }

    /// Who the server is, as it said.
    pub fn server_info(&self) -> &Implementation {
        unimplemented!()
    }

    /// What the server tells the model.
    pub fn instructions(&self) -> Option<&str> {
        unimplemented!()
    }

    /// Sends a request and waits for its answer. Dropping the future cancels the request at the server.
    pub async fn request(&self, _request: OutgoingRequest<'_>) -> Result<RawJson, CallError> {
        std::future::pending().await
    }

    /// Waits until the connection has ended and tells why.
    pub async fn ended(&self) -> String {
        std::future::pending().await
    }

    /// Whether it has ended.
    pub fn is_ended(&self) -> bool {
        false
    }

    /// Ends it: asks first, then kills. Returns when nothing of it is left.
    pub async fn close(&self) {}

    /// The last lines of the server's standard error.
    pub fn stderr(&self) -> String {
        String::new()
    }

    /// The process, where it is one.
    pub fn process(&self) -> Option<u32> {
        None
    }

    /// How many requests wait for an answer.
    pub fn in_flight(&self) -> usize {
        0
    }
}
