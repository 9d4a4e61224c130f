//! The health of the log, and its subscribers.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicI64, Ordering},
    },
};

use gateway_privacy::Counts;

/// The state of the log, for health checks and metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Records accepted since the log was opened.
    pub queued: u64,
    /// Records committed since the log was opened.
    pub written: u64,
    /// Records queued or being written.
    pub waiting: usize,
    /// Permits of calls that are still running.
    pub running: usize,
    /// Bytes of the records queued or being written.
    pub waiting_bytes: usize,
    /// The most queued records before callers are refused.
    pub capacity: usize,
    /// Failed write attempts.
    pub failures: u64,
    /// Whether the last write attempt failed; entries are kept and retried.
    pub failing: bool,
    /// The last failure, even if writing has recovered.
    pub last_error: Option<String>,
    /// Entries deleted by retention since the log was opened.
    pub deleted: u64,
    /// The last known size of the database.
    pub database_bytes: u64,
    /// The id of the newest entry.
    pub last_id: i64,
    /// Personal data that was found in records since the log was opened, if it is looked for.
    pub personal_data: Counts,
}

/// A listener of [`CallLog::on_write`](crate::CallLog::on_write); dropping it unsubscribes.
#[must_use = "dropping a subscription ends it"]
pub struct Subscription {
    _listener: Listener,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Subscription")
    }
}

type Listen = dyn Fn(i64) + Send + Sync;
type Listener = Arc<Listen>;

/// State that the writer reports and others read.
#[derive(Default)]
pub(crate) struct Shared {
    last_id: AtomicI64,
    /// The part of the status that the writer knows.
    health: Mutex<Status>,
    listeners: Mutex<Vec<Weak<Listen>>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shared").field("health", &self.health).finish_non_exhaustive()
    }
}

impl Shared {
    /// Records a failure; returns whether it is the first in a row.
    pub(crate) fn record_failure(&self, error: &dyn fmt::Display) -> bool {
        let mut health = lock(&self.health);
        health.failures += 1;
        health.last_error = Some(error.to_string());
        !std::mem::replace(&mut health.failing, true)
    }

    /// Records a success; returns whether a failure preceded it.
    pub(crate) fn record_success(&self) -> bool {
        std::mem::take(&mut lock(&self.health).failing)
    }

    pub(crate) fn health(&self) -> Status {
        Status { last_id: self.last_id(), ..lock(&self.health).clone() }
    }

    pub(crate) fn last_id(&self) -> i64 {
        self.last_id.load(Ordering::Acquire)
    }

    pub(crate) fn set_last_id(&self, id: i64) {
        self.last_id.store(id, Ordering::Release);
    }

    pub(crate) fn record_sweep(&self, deleted: usize, bytes: u64) {
        let mut health = lock(&self.health);
        health.deleted += u64::try_from(deleted).unwrap_or(0);
        health.database_bytes = bytes;
    }

    pub(crate) fn record_personal_data(&self, found: Counts) {
        lock(&self.health).personal_data.merge(found);
    }

    pub(crate) fn listen(&self, listener: Listener) -> Subscription {
        lock(&self.listeners).push(Arc::downgrade(&listener));
        Subscription { _listener: listener }
    }

    pub(crate) fn notify_listeners(&self, last_id: i64) {
        // Called without the lock, so that a listener may subscribe or unsubscribe.
        let listeners: Vec<Listener> = {
            let mut all = lock(&self.listeners);
            // Dropped subscriptions are removed here, since dropping one takes no lock.
            all.retain(|listener| listener.strong_count() > 0);
            all.iter().filter_map(Weak::upgrade).collect()
        };
        for listener in listeners {
            listener(last_id);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
