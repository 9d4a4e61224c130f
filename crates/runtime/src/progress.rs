//! What servers report about calls while they run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::maybe_done;
use futures_util::{Stream, StreamExt as _, stream};
use gateway_protocol::Notification;
use gateway_upstream::UpstreamId;
use tokio::sync::mpsc;

/// Takes what servers report about the calls of one request.
pub trait ProgressSink: fmt::Debug + Send + Sync {
    /// Passes a notification on, or drops it where the caller does not keep up.
    fn report(&self, server: &UpstreamId, tool: &str, notification: &Notification);
}

/// Takes what a server reports about one call.
#[derive(Clone, Debug)]
pub struct Watcher {
    /// Where it goes.
    pub sink: Arc<dyn ProgressSink>,
    /// The server that reports.
    pub server: UpstreamId,
    /// The tool that runs.
    pub tool: String,
}

impl Watcher {
    /// Waits for a call and passes on what the server reports about it meanwhile.
    pub async fn watch<T>(
        &self,
        mut reported: mpsc::Receiver<Notification>,
        call: impl Future<Output = T>,
    ) -> T {
        let mut call = std::pin::pin!(call);
        let outcome = loop {
            tokio::select! {
                Some(notification) = reported.recv() => self.report(&notification),
                outcome = &mut call => break outcome,
            }
        };
        while let Ok(notification) = reported.try_recv() {
            self.report(&notification);
        }
        outcome
    }

    /// Passes a notification on.
    pub fn report(&self, notification: &Notification) {
        self.sink.report(&self.server, &self.tool, notification);
    }
}

/// One item of [`until_done`].
#[derive(Debug)]
pub enum Step<M, T> {
    /// Something that came while the work went on.
    Message(M),
    /// What the work gave; nothing comes after it.
    Done(T),
}

/// The messages that come while `work` goes on, and then what it gives. What was sent before the end comes before it. Dropping
/// the stream drops the work.
pub fn until_done<M, T>(
    work: impl Future<Output = T>,
    messages: mpsc::Receiver<M>,
) -> impl Stream<Item = Step<M, T>> {
    stream::unfold(Some((Box::pin(maybe_done(work)), messages)), |state| async move {
        let (mut work, mut messages) = state?;
        let message = tokio::select! {
            biased;
            Some(message) = messages.recv() => Some(message),
            // The work may have sent something in the moment that it ended.
            () = work.as_mut() => messages.try_recv().ok(),
        };
        match message {
            Some(message) => Some((Step::Message(message), Some((work, messages)))),
            None => work.as_mut().take_output().map(|done| (Step::Done(done), None)),
        }
    })
}

/// The items of a stream, and `None` whenever nothing came for so long.
pub fn with_heartbeats<T>(
    items: impl Stream<Item = T>,
    heartbeat: Duration,
) -> impl Stream<Item = Option<T>> {
    stream::unfold(Box::pin(items), move |mut items| async move {
        match tokio::time::timeout(heartbeat, items.next()).await {
            Ok(item) => Some((Some(item?), items)),
            Err(_) => Some((None, items)),
        }
    })
}
