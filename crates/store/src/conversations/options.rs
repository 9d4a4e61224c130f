//! The settings of a store of conversations.

use std::{fmt, sync::Arc, time::Duration};

use jiff::Timestamp;

use super::error::ConversationError;

/// Settings of a store of conversations.
#[derive(Clone)]
#[non_exhaustive]
pub struct ConversationOptions {
    /// Conversations that were not updated for so long are gone (default: they stay).
    pub ttl: Option<Duration>,
    /// The most bytes of one conversation: its messages, with 32 bytes more for each, its title and its metadata
    /// (default: 8 MiB). Updates beyond it are refused, unless they make a conversation smaller.
    pub max_bytes: usize,
    /// The most bytes of a value of [`keep`](super::ConversationStore::keep) (default: 1 MiB).
    pub max_value_bytes: usize,
    /// How long an operation may take (default: 5 s).
    pub deadline: Duration,
    /// The most connections to a server (default: 8).
    pub connections: usize,
    /// The clock (default: the system's).
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// The most bytes of a key of a kept value.
const MAX_KEY_BYTES: usize = 512;

impl Default for ConversationOptions {
    fn default() -> Self {
        Self {
            ttl: None,
            max_bytes: 8 << 20,
            max_value_bytes: 1 << 20,
            deadline: Duration::from_secs(5),
            connections: 8,
            now: Arc::new(Timestamp::now),
        }
    }
}

impl fmt::Debug for ConversationOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ConversationOptions")
            .field("ttl", &self.ttl)
            .field("max_bytes", &self.max_bytes)
            .field("max_value_bytes", &self.max_value_bytes)
            .field("deadline", &self.deadline)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

impl ConversationOptions {
    /// The time now, in microseconds.
    pub(crate) fn micros(&self) -> i64 {
        (self.now)().as_microsecond()
    }

    /// Conversations updated before this time, in microseconds, are gone.
    pub(crate) fn gone_before(&self) -> i64 {
        let ttl = self.ttl.map(|ttl| i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX));
        ttl.map_or(i64::MIN, |ttl| self.micros().saturating_sub(ttl))
    }

    /// When a value that is kept from now on expires, in microseconds.
    pub(crate) fn expiry(&self, ttl: Duration) -> i64 {
        self.micros().saturating_add(i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX))
    }

    /// Refuses keys and values that are too large to keep.
    pub(crate) fn check_kept(&self, key: &str, value: &[u8]) -> Result<(), ConversationError> {
        check("the key of a value", key.len(), MAX_KEY_BYTES)?;
        check("a value", value.len(), self.max_value_bytes)
    }
}

/// Refuses what is too large.
pub(crate) fn check(what: &'static str, bytes: usize, max: usize) -> Result<(), ConversationError> {
    if bytes > max { Err(ConversationError::TooLarge { what, bytes, max }) } else { Ok(()) }
}
