//! What a server was asked, and how it ended.

use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::wire::Wire;
use crate::files::AppendFile;
use crate::lock::lock;
use crate::process::TimedOut;

/// How many requests a server remembers; it refuses what comes after them.
const MOST_REQUESTS: usize = 100_000;
/// How many bytes of bodies, likewise.
const MOST_BYTES: usize = 256 * 1024 * 1024;
/// How long a test waits for something that does not happen.
const DEADLINE: Duration = Duration::from_secs(30);

/// One request to a model server.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRequest {
    /// The wire of its server.
    pub wire: Wire,
    /// Its number, from 0.
    pub index: usize,
    /// `GET`, `POST`.
    pub method: String,
    /// The path as it was sent, without the query.
    pub path: String,
    /// The query as it was sent, without the question mark; empty if there is none.
    pub query: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The body; null if it is no JSON.
    pub body: Value,
    /// The body as it came.
    pub raw: Bytes,
    /// How it ended.
    pub outcome: Outcome,
    /// How many chunks of the answer were written: events, lines, or the one body.
    pub chunks: usize,
}

impl RecordedRequest {
    /// The request as one JSON object: headers as an object of texts, and `raw` as text where the body is no JSON.
    pub fn to_json(&self) -> Value {
        let mut headers = Map::new();
        for (name, value) in &self.headers {
            let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
            match headers.get_mut(name.as_str()) {
                Some(Value::String(known)) => known.extend([", ", &text]),
                _ => drop(headers.insert(name.to_string(), text.into())),
            }
        }
        let raw = self.body.is_null().then(|| String::from_utf8_lossy(&self.raw));
        json!({
            "index": self.index,
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "headers": headers,
            "body": self.body,
            "raw": raw,
            "outcome": self.outcome.name(),
            "chunks": self.chunks,
        })
    }

    /// A header as text; `None` if it is absent or no text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has not.
    InProgress,
    /// The server did all that its step says, faults included.
    Answered,
    /// The peer closed the connection before that.
    Aborted,
}

impl Outcome {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in-progress",
            Self::Answered => "answered",
            Self::Aborted => "aborted",
        }
    }
}

/// All requests of a server.
#[derive(Debug)]
pub(crate) struct Log {
    state: Mutex<State>,
    changed: watch::Sender<()>,
    /// Where requests go that ended.
    file: AppendFile,
}

#[derive(Debug, Default)]
struct State {
    requests: Vec<RecordedRequest>,
    bytes: usize,
}

impl Log {
    pub(crate) fn new(file: Option<&Path>) -> io::Result<Self> {
        let file = AppendFile::open(file)?;
        Ok(Self { state: Mutex::default(), changed: watch::Sender::new(()), file })
    }

    /// Remembers a request and gives it its number; `None` if there is no room.
    pub(crate) fn add(&self, mut request: RecordedRequest) -> Option<RecordedRequest> {
        let mut state = lock(&self.state);
        state.bytes = state.bytes.saturating_add(request.raw.len());
        if state.requests.len() >= MOST_REQUESTS || state.bytes > MOST_BYTES {
            return None;
        }
        request.index = state.requests.len();
        state.requests.push(request.clone());
        drop(state);
        self.changed.send_replace(());
        Some(request)
    }

    pub(crate) fn wrote(&self, index: usize, chunks: usize) {
        self.change(index, |request| request.chunks = chunks);
    }

    pub(crate) fn ended(&self, index: usize, outcome: Outcome) {
        self.change(index, |request| {
            request.outcome = outcome;
            if self.file.is_on() {
                self.file.append(&request.to_json().to_string());
            }
        });
    }

    fn change(&self, index: usize, change: impl FnOnce(&mut RecordedRequest)) {
        if let Some(request) = lock(&self.state).requests.get_mut(index) {
            change(request);
        }
        self.changed.send_replace(());
    }

    pub(crate) fn all(&self) -> Vec<RecordedRequest> {
        lock(&self.state).requests.clone()
    }

    /// Waits until a request is as it should be.
    pub(crate) async fn wait(
        &self,
        index: usize,
        what: &str,
        holds: impl Fn(&RecordedRequest) -> bool,
    ) -> Result<RecordedRequest, TimedOut> {
        let mut changes = self.changed.subscribe();
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(request) = lock(&self.state).requests.get(index).filter(|request| holds(request)) {
                return Ok(request.clone());
            }
            if !matches!(tokio::time::timeout_at(deadline, changes.changed()).await, Ok(Ok(()))) {
                return Err(TimedOut { what: format!("request {index}: {what}"), waited: DEADLINE });
            }
        }
    }
}
