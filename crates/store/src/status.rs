//! How the log is doing, and who wants to know when it grows.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

/// How the log is doing, for health and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Records taken since the log was opened.
    pub queued: u64,
    /// Records safely written since the log was opened.
    pub written: u64,
    /// Records that wait or are being written.
    pub waiting: usize,
    /// Permits handed out for calls that still run.
    pub running: usize,
    /// Bytes of the records that wait or are being written.
    pub waiting_bytes: usize,
    /// The most records that may wait before callers are refused.
    pub capacity: usize,
    /// Attempts to write that failed.
    pub failures: u64,
    /// Whether the last attempt to write failed; entries are kept and tried again.
    pub failing: bool,
    /// The last failure, also when it is over.
    pub last_error: Option<String>,
    /// Entries deleted by retention since the log was opened.
    pub deleted: u64,
    /// The size of the database when it was last looked at.
    pub database_bytes: u64,
    /// The newest entry.
    pub last_id: i64,
}

/// Keeps a listener of [`CallLog::on_write`](crate::CallLog::on_write); dropping it ends the listening.
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

/// What the writer tells and others ask.
#[derive(Default)]
pub(crate) struct Shared {
    last_id: AtomicI64,
    deleted: AtomicU64,
    database_bytes: AtomicU64,
    health: Mutex<Health>,
    listeners: Mutex<Vec<Weak<Listen>>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Health {
    pub(crate) failures: u64,
    pub(crate) failing: bool,
    pub(crate) last_error: Option<String>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shared").field("health", &self.health).finish_non_exhaustive()
    }
}

impl Shared {
    /// Notes a failure; gives whether it is the first in a row.
    pub(crate) fn failed(&self, error: &dyn fmt::Display) -> bool {
        let mut health = lock(&self.health);
        health.failures += 1;
        health.last_error = Some(error.to_string());
        !std::mem::replace(&mut health.failing, true)
    }

    /// Notes a success; gives whether there was a failure before it.
    pub(crate) fn recovered(&self) -> bool {
        std::mem::take(&mut lock(&self.health).failing)
    }

    pub(crate) fn health(&self) -> Health {
        lock(&self.health).clone()
    }

    pub(crate) fn last_id(&self) -> i64 {
        self.last_id.load(Ordering::Acquire)
    }

    pub(crate) fn set_last_id(&self, id: i64) {
        self.last_id.store(id, Ordering::Release);
    }

    pub(crate) fn swept(&self, deleted: usize, bytes: u64) {
        self.deleted.fetch_add(u64::try_from(deleted).unwrap_or(0), Ordering::Relaxed);
        self.database_bytes.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn deleted(&self) -> u64 {
        self.deleted.load(Ordering::Relaxed)
    }

    pub(crate) fn database_bytes(&self) -> u64 {
        self.database_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn listen(&self, listener: Listener) -> Subscription {
        lock(&self.listeners).push(Arc::downgrade(&listener));
        Subscription { _listener: listener }
    }

    pub(crate) fn tell_listeners(&self, last_id: i64) {
        // Called without the lock, so that a listener may subscribe or end subscriptions.
        let listeners: Vec<Listener> = {
            let mut all = lock(&self.listeners);
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
