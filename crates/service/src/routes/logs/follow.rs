//! The call log as a stream of server-sent events: what is there, then what comes.
//!
//! Each entry is one event whose id is the entry's, so that `Last-Event-ID` goes on after it. A stream reads a page at a
//! time and only as fast as its caller takes it, so it holds little; one that nobody reads any more ends with its connection.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum_core::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gateway_store::jsonl::{self, Tail};
use gateway_store::{Filter, Subscription};
use http::StatusCode;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Source, blocking, read};
use crate::errors::{ApiError, event_stream};
use crate::gateway::Gateway;
use gateway_runtime::progress::with_heartbeats;

/// Entries that are read at once.
const BATCH: usize = 200;

/// How often a server's file is looked at.
const FILE_PAUSE: Duration = Duration::from_millis(500);

/// Bytes of a server's file that are read at once.
const FILE_BYTES: u64 = 256 << 10;

/// Begins a stream.
pub(super) fn stream(
    gateway: &Gateway,
    source: Source,
    stopping: CancellationToken,
) -> Result<Response, ApiError> {
    let limit = gateway.config().log_streams;
    let Some(entered) = gateway.state.metrics.open_stream(limit) else {
        let message = format!("{limit} streams of the log are open already");
        return Err(ApiError::overloaded(StatusCode::SERVICE_UNAVAILABLE, message, 5));
    };
    let position = match source {
        Source::Gateway(filter) => Position::Log(LogPosition::new(gateway, filter)),
        Source::Server(path, tail) => Position::File(FilePosition { path, tail, offset: None }),
    };
    // The first bytes show the caller at once that it is heard.
    let greeting = Bytes::from_static(b": stream of the call log\nretry: 1000\n\n");
    let events = stream::unfold(Some((position, gateway.clone())), |state| async move {
        let (mut position, gateway) = state?;
        match position.next(&gateway).await {
            Ok(events) => Some((events, Some((position, gateway)))),
            Err(message) => Some((failure(&message), None)),
        }
    });
    let events = with_heartbeats(events, gateway.config().heartbeat).inspect(move |_| {
        let _open = &entered;
    });
    let events = stream::iter([Some(greeting)]).chain(events);
    Ok(event_stream(events.take_until(stopping.cancelled_owned())))
}

enum Position {
    Log(LogPosition),
    File(FilePosition),
}

/// What a position gives: the next events, or why there are none.
type Next = Result<Bytes, String>;

impl Position {
    async fn next(&mut self, gateway: &Gateway) -> Next {
        match self {
            Self::Log(position) => position.next(gateway).await,
            Self::File(position) => position.next().await,
        }
    }
}

/// Where a stream of the gateway's log is.
struct LogPosition {
    filter: Box<Filter>,
    /// Whether what was there at the start is sent.
    begun: bool,
    written: Arc<Notify>,
    _listening: Subscription,
}

impl LogPosition {
    fn new(gateway: &Gateway, filter: Box<Filter>) -> Self {
        let written = Arc::new(Notify::new());
        let wake = Arc::clone(&written);
        // Listening begins before reading, so that nothing falls between the two.
        let listening = gateway.log().on_write(move |_| wake.notify_one());
        Self { begun: filter.after.is_some(), filter, written, _listening: listening }
    }

    /// The next entries. Cancel-safe: the position moves only when entries are given.
    async fn next(&mut self, gateway: &Gateway) -> Next {
        loop {
            let mut filter = self.filter.clone();
            if self.begun {
                filter.limit = BATCH;
            }
            let page = read(gateway, &filter).await.map_err(|error| error.message)?;
            self.filter.after = Some(if self.begun { page.next_after(&filter) } else { page.last_id });
            self.begun = true;
            if !page.entries.is_empty() {
                let mut bytes = Vec::with_capacity(page.entries.len() * 300);
                for entry in &page.entries {
                    bytes.extend_from_slice(format!("id: {}\ndata: ", entry.id).as_bytes());
                    entry.write_json(&mut bytes);
                    bytes.extend_from_slice(b"\n\n");
                }
                return Ok(bytes.into());
            }
            if !page.more {
                self.written.notified().await;
            }
        }
    }
}

/// Where a stream of a server's file is.
struct FilePosition {
    path: Option<PathBuf>,
    /// What to give.
    tail: Tail,
    /// Where to go on; `None` before the start.
    offset: Option<u64>,
}

impl FilePosition {
    async fn next(&mut self) -> Next {
        let Some(path) = &self.path else { return std::future::pending().await };
        loop {
            let (path, tail, offset) = (path.clone(), self.tail.clone(), self.offset);
            let lines = blocking(move || match offset {
                None => jsonl::read_tail(&path, &tail),
                Some(offset) => jsonl::read_from(&path, offset, &tail),
            });
            let lines = lines.await.map_err(|error| error.message)?.map_err(|error| error.to_string())?;
            self.tail.max_bytes = FILE_BYTES;
            self.offset = Some(lines.offset);
            if !lines.entries.is_empty() {
                let mut bytes = Vec::new();
                for entry in &lines.entries {
                    bytes.extend_from_slice(b"data: ");
                    bytes.extend_from_slice(entry);
                    bytes.extend_from_slice(b"\n\n");
                }
                return Ok(bytes.into());
            }
            tokio::time::sleep(FILE_PAUSE).await;
        }
    }
}

/// The event that says why the stream ends. The caller may come back with `Last-Event-ID`.
fn failure(message: &str) -> Bytes {
    let body = serde_json::json!({"error": message});
    format!("event: error\ndata: {body}\n\n").into()
}
