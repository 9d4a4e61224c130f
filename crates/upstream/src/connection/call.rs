//! One request on its way: how long it may take, and what shows that it goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use gateway_protocol::{MetaEntry, Notification, RequestId, meta, write_request};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::questions::Responder;
use crate::lossy::send_lossy;

/// A request as the transports take it.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) method: &'a str,
    /// For the header of the modern era.
    pub(super) name: Option<&'a str>,
    pub(super) params: &'a [(&'a str, &'a [u8])],
    /// All of `_meta` but the progress token.
    pub(super) meta: &'a [MetaEntry<'a>],
    pub(super) headers: &'a [(String, String)],
    pub(super) deadline: Deadline,
    pub(super) leaving: Leaving,
    pub(super) kind: CallKind,
}

/// The reason that the server gets when nobody waits for the answer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// `notifications/cancelled`.
    Cancels,
    /// Nothing: handshakes cannot be cancelled.
    Silent,
}

/// Whether a request is answered once or stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    Plain,
    /// `subscriptions/listen`: the server may cancel it, and other calls' trouble does not end it.
    Listen,
}

impl Call<'_> {
    /// Appends the request to `out`, without a line end.
    pub(super) fn write(&self, out: &mut Vec<u8>, id: u64) {
        // A subscription makes no progress; there the channel is for the server's agreement.
        if self.deadline.progress.is_none() || self.kind == CallKind::Listen {
            write_request(out, id, self.method, self.params, self.meta);
            return;
        }
        let token = id.to_string();
        let mut entries = Vec::with_capacity(self.meta.len() + 1);
        entries.extend_from_slice(self.meta);
        entries.push((meta::PROGRESS_TOKEN, token.as_bytes()));
        write_request(out, id, self.method, self.params, &entries);
    }

    /// How many bytes the written request has at most, about.
    pub(super) fn size_hint(&self) -> usize {
        let members = |members: &[(&str, &[u8])]| {
            members.iter().map(|(key, value)| key.len() + value.len() + 4).sum::<usize>()
        };
        128 + self.method.len() + members(self.params) + members(self.meta)
    }
}

/// When to stop waiting: after a time without a sign of life, and after a longer time in any case.
#[derive(Clone, Debug)]
pub(super) struct Deadline {
    start: Instant,
    idle: Duration,
    hard: Instant,
    /// Present where progress is asked for.
    pub(super) progress: Option<Arc<Progress>>,
    /// Who answers the server meanwhile. While it asks, the server cannot be expected to go on.
    pub(super) responder: Option<Responder>,
}

/// What the side that reads leaves for the side that waits.
#[derive(Debug)]
pub(super) struct Progress {
    since: Instant,
    last_millis: AtomicU64,
    sink: Option<mpsc::Sender<Notification>>,
}

impl Progress {
    /// Notes a sign of life and hands it on. A slow listener misses some of them.
    pub(super) fn note(&self, notification: Notification) {
        let millis = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_millis.store(millis, Ordering::Relaxed);
        self.hand_on(notification);
    }

    /// Hands a notification on that is no sign of progress.
    pub(super) fn hand_on(&self, notification: Notification) {
        if let Some(sink) = &self.sink {
            let bytes = notification.params.as_ref().map_or(0, |params| params.as_bytes().len());
            send_lossy(sink, notification, bytes);
        }
    }

    /// Whether anybody wants to see the notifications.
    pub(super) fn is_watched(&self) -> bool {
        self.sink.is_some()
    }
}

/// Longer than any connection lives; the clock's own arithmetic would overflow beyond.
const FOREVER: Duration = Duration::from_hours(24 * 365 * 30);

impl Deadline {
    /// `idle` without a sign of life, `maximum` at all. Progress is asked for where it can make a difference.
    pub(super) fn new(idle: Duration, maximum: Duration, asks: AsksProgress) -> Self {
        let start = Instant::now();
        let (idle, maximum) = (idle.min(FOREVER), maximum.min(FOREVER));
        let progress = match asks {
            AsksProgress::No => None,
            AsksProgress::Yes(sink) => {
                Some(Arc::new(Progress { since: start, last_millis: AtomicU64::new(0), sink }))
            }
        };
        Self { start, idle, hard: start + maximum, progress, responder: None }
    }

    /// The same, with somebody who answers the server.
    pub(super) fn with_responder(mut self, responder: Option<Responder>) -> Self {
        self.responder = responder;
        self
    }

    /// One fixed moment.
    pub(super) fn at(moment: Instant) -> Self {
        Self { start: Instant::now(), idle: FOREVER, hard: moment, progress: None, responder: None }
    }

    /// As long as the connection lives.
    pub(super) fn never() -> Self {
        Self::new(FOREVER, FOREVER, AsksProgress::No)
    }

    /// As long as the connection lives, with a channel for what belongs to the request.
    pub(super) fn never_with(sink: mpsc::Sender<Notification>) -> Self {
        Self::new(FOREVER, FOREVER, AsksProgress::Yes(Some(sink)))
    }

    /// Waits for `future`, or gives the time that was waited in vain.
    pub(super) async fn wait<F: Future>(&self, future: F) -> Result<F::Output, Duration> {
        tokio::pin!(future);
        loop {
            let moment = self.next();
            match timeout_at(moment, &mut future).await {
                Ok(output) => return Ok(output),
                // Progress may have come since the moment was reckoned.
                Err(_) if self.next() > Instant::now() => {}
                Err(_) => return Err(self.start.elapsed()),
            }
        }
    }

    fn next(&self) -> Instant {
        let millis =
            self.progress.as_ref().map_or(0, |progress| progress.last_millis.load(Ordering::Relaxed));
        let mut alive = self.start + Duration::from_millis(millis);
        if let Some(responder) = &self.responder {
            let now = Instant::now();
            alive = if responder.is_asking() { now } else { alive.max(responder.last_answer().min(now)) };
        }
        (alive + self.idle).min(self.hard)
    }
}

/// Whether a request asks the server to show progress.
#[derive(Debug)]
pub(super) enum AsksProgress {
    No,
    /// With the channel that takes it, if somebody wants to see it.
    Yes(Option<mpsc::Sender<Notification>>),
}

/// The request that a progress notification belongs to.
pub(super) fn progress_token(notification: &Notification) -> Option<u64> {
    #[derive(Deserialize)]
    struct Token {
        #[serde(rename = "progressToken")]
        token: RequestId,
    }
    notification.params.as_ref()?.read::<Token>().ok()?.token.number()
}

/// How many calls may be in flight.
#[derive(Debug)]
pub(super) struct Slots {
    taken: AtomicUsize,
    most: usize,
}

impl Slots {
    pub(super) fn new(most: usize) -> Self {
        Self { taken: AtomicUsize::new(0), most }
    }

    /// A place, or how many calls hold all places.
    pub(super) fn take(&self) -> Result<Slot<'_>, usize> {
        let before = self.taken.fetch_add(1, Ordering::Relaxed);
        let slot = Slot(self);
        if before >= self.most { Err(before) } else { Ok(slot) }
    }

    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}

/// A place among the calls in flight; free again when dropped.
#[derive(Debug)]
pub(super) struct Slot<'a>(&'a Slots);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}
