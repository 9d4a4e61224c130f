//! What is done with a body that nobody wants to read.
//!
//! A connection that is closed while the caller still sends takes the answer with it: the caller finds a broken pipe
//! instead of the words that say why. So the answer is sent at once, and what still comes is read and thrown away; not
//! more than a bound, and not for longer than a body may take.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use gateway_config::ServiceConfig;
use http::{HeaderMap, header};
use hyper::body::Body as HttpBody;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// So much is thrown away at least before a connection is closed under the caller.
const LEAST: usize = 64 << 20;

/// So many times the size that is allowed is thrown away.
const TIMES: usize = 4;

/// A body, and whether more of it may come.
#[derive(Debug)]
pub(crate) struct Arriving<B> {
    body: B,
    is_over: bool,
}

impl<B: HttpBody<Data = Bytes> + Unpin> Arriving<B> {
    pub(crate) fn new(headers: &HeaderMap, body: B) -> Self {
        // Who asks before sending sends nothing after a refusal; to read would be to say "go on".
        let is_over = body.is_end_stream() || headers.contains_key(header::EXPECT);
        Self { body, is_over }
    }

    /// At least so many bytes are still to come.
    pub(crate) fn expected(&self) -> u64 {
        self.body.size_hint().lower()
    }

    /// Whether all of it is there.
    pub(crate) fn has_ended(&self) -> bool {
        self.body.is_end_stream()
    }

    /// What comes from now on is not waited for.
    pub(crate) fn give_up(&mut self) {
        self.is_over = true;
    }

    /// The next piece of data; trailers are skipped.
    pub(crate) async fn next_piece(&mut self) -> Option<Result<Bytes, B::Error>> {
        loop {
            if self.body.is_end_stream() {
                self.is_over = true;
                return None;
            }
            let frame = std::future::poll_fn(|task| Pin::new(&mut self.body).poll_frame(task)).await;
            self.is_over = !matches!(frame, Some(Ok(_)));
            match frame? {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Some(Ok(data));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Reads what nobody wants.
#[derive(Debug)]
pub(crate) struct Lingering {
    most: usize,
    longest: Duration,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

impl Lingering {
    pub(crate) fn new(config: &ServiceConfig, tasks: &TaskTracker, stopping: &CancellationToken) -> Self {
        Self {
            most: config.body_bytes.saturating_mul(TIMES).max(LEAST),
            longest: config.read_timeout,
            tasks: tasks.clone(),
            stopping: stopping.clone(),
        }
    }

    /// Throws the rest of a body away, beside the answer. A connection has one body at a time, so that there are never
    /// more of these than connections.
    pub(crate) fn take<B>(&self, mut body: Arriving<B>)
    where
        B: HttpBody<Data = Bytes> + Unpin + Send + 'static,
    {
        if body.is_over {
            return;
        }
        let (most, longest, stopping) = (self.most, self.longest, self.stopping.clone());
        self.tasks.spawn(async move {
            tokio::select! {
                _ = tokio::time::timeout(longest, discard(&mut body, most)) => {}
                () = stopping.cancelled() => {}
            }
        });
    }
}

async fn discard<B: HttpBody<Data = Bytes> + Unpin>(body: &mut Arriving<B>, most: usize) {
    let mut read = 0_usize;
    while let Some(Ok(piece)) = body.next_piece().await {
        read = read.saturating_add(piece.len());
        if read > most {
            return;
        }
    }
}
