//! The tasks of one connection: none outlives it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Tasks that end together: asked by [`Tasks::end`], by force when dropped.
#[derive(Debug)]
pub(super) struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    handles: Mutex<Vec<AbortHandle>>,
}

impl Tasks {
    pub(super) fn new() -> Self {
        Self { tracker: TaskTracker::new(), stop: CancellationToken::new(), handles: Mutex::new(Vec::new()) }
    }

    /// What every task watches.
    pub(super) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let handle = self.tracker.spawn(task).abort_handle();
        self.handles.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
    }

    /// Asks all tasks to end, waits, and ends them by force when `patience` is over.
    pub(super) async fn end(&self, patience: Duration) {
        self.stop.cancel();
        self.tracker.close();
        if timeout(patience, self.tracker.wait()).await.is_err() {
            self.abort();
            // An aborted task is dropped at its next await; nothing here blocks for long.
            let _ = timeout(patience, self.tracker.wait()).await;
        }
    }

    fn abort(&self) {
        for handle in self.handles.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            handle.abort();
        }
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.abort();
    }
}
