//! Legacy connections: the state of a client between two messages.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use gateway_protocol::LATEST_LEGACY;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::lock::lock;
use crate::notify::{Change, Outbox};
use crate::stream::{NumberedStream, Priming};

/// How many finished streams a client can still resume.
const KEPT_STREAMS: usize = 64;

/// One legacy connection.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// Its id; empty on stdio.
    pub(crate) id: String,
    phase: AtomicU8,
    outbox: Mutex<Option<Outbox>>,
    client: Mutex<Client>,
    streams: Mutex<BTreeMap<u64, Arc<NumberedStream>>>,
    opened_streams: AtomicU64,
    asked: AtomicU64,
    /// Our open requests to the client, by id.
    waiting: Mutex<HashMap<String, oneshot::Sender<ClientAnswer>>>,
}

/// What is known about the client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    /// The negotiated version.
    pub(crate) version: String,
    /// What it can do.
    pub(crate) capabilities: Value,
    /// Its log level; all messages if it never set one.
    pub(crate) level: Option<String>,
    /// The resources that it subscribed to.
    pub(crate) watched: HashSet<String>,
}

/// The result of a request of ours, or its error.
pub(crate) type ClientAnswer = Result<Value, Value>;

impl Session {
    pub(crate) fn new(id: String, outbox: Option<Outbox>) -> Self {
        Self { id, outbox: Mutex::new(outbox), ..Self::default() }
    }

    /// Handles `initialize`.
    pub(crate) fn opened(&self) {
        self.phase.store(1, Ordering::Relaxed);
    }

    /// Handles `notifications/initialized`.
    pub(crate) fn ready(&self) {
        if self.phase.load(Ordering::Relaxed) == 1 {
            self.phase.store(2, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.phase.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.phase.load(Ordering::Relaxed) == 2
    }

    /// Where answers and notifications of this session go now.
    pub(crate) fn attach(&self, outbox: Outbox) {
        *lock(&self.outbox) = Some(outbox);
    }

    pub(crate) fn outbox(&self) -> Option<Outbox> {
        lock(&self.outbox).clone()
    }

    /// Notifies this session about a change; false if there is no receiver.
    pub(crate) fn notify(&self, change: &Change) -> bool {
        let wanted = match change {
            Change::Tools | Change::Prompts | Change::Resources => true,
            Change::Resource(uri) => self.client(|client| client.watched.contains(uri)),
        };
        let Some(outbox) = self.outbox().filter(|_| wanted && self.is_ready()) else { return false };
        outbox.send(&change.notification(&[]))
    }

    /// Reads or changes what is known of the client.
    pub(crate) fn client<T>(&self, look: impl FnOnce(&mut Client) -> T) -> T {
        look(&mut lock(&self.client))
    }

    /// A new resumable stream.
    pub(crate) fn open_stream(&self) -> (Arc<NumberedStream>, mpsc::UnboundedReceiver<Bytes>) {
        let number = self.opened_streams.fetch_add(1, Ordering::Relaxed) + 1;
        let is_new_enough = self.client(|client| client.version.as_str() >= LATEST_LEGACY);
        let priming = if is_new_enough { Priming::First } else { Priming::None };
        let (stream, reader) = NumberedStream::open(number, priming);
        let stream = Arc::new(stream);
        let mut streams = lock(&self.streams);
        let over: Vec<u64> =
            streams.iter().filter(|(_, stream)| stream.is_over()).map(|(number, _)| *number).collect();
        for number in over.iter().take(over.len().saturating_sub(KEPT_STREAMS)) {
            streams.remove(number);
        }
        streams.insert(number, Arc::clone(&stream));
        (stream, reader)
    }

    /// The rest of a stream after the event `last`, the last one that the client received.
    pub(crate) fn resume_stream(&self, last: &str) -> Option<mpsc::UnboundedReceiver<Bytes>> {
        let (number, index) = NumberedStream::parse_id(last)?;
        let stream = lock(&self.streams).get(&number).cloned()?;
        Some(stream.resume(index))
    }

    /// A new request to the client: its id, and the receiver of its answer.
    pub(crate) fn expect_answer(&self) -> (u64, oneshot::Receiver<ClientAnswer>) {
        let id = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        lock(&self.waiting).insert(id.to_string(), sender);
        (id, answer)
    }

    /// The client answered the request `id`.
    pub(crate) fn answered(&self, id: &str, answer: ClientAnswer) {
        if let Some(waiting) = lock(&self.waiting).remove(id) {
            // The requester may have been cancelled meanwhile.
            let _ = waiting.send(answer);
        }
    }

    /// Ends the session: open requests to the client get no answer.
    pub(crate) fn end(&self) {
        lock(&self.waiting).clear();
    }
}
