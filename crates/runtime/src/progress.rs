//! What servers report about calls while they run.

use std::fmt;
use std::sync::Arc;

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
