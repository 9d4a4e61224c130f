//! What is configured for conversations.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::fields::{DAY, Fields, Setting as _, time_within};
use crate::key::Secret;
use crate::secret_text::expanded;

/// Settings of conversations.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationsConfig {
    /// Where they are kept.
    pub store: StoreLocation,
    /// Conversations that were not updated for so long are gone; they stay if absent.
    pub ttl: Option<Duration>,
    /// Most bytes of one conversation.
    pub bytes: usize,
    /// How long one operation of the store may take.
    pub deadline: Duration,
    /// Above so many messages, the model is sent a summary of the older ones.
    pub summarize_after: usize,
    /// How many of the last messages it is sent as they are.
    pub keep_recent: usize,
}

/// Where something is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StoreLocation {
    /// In the data directory, or in memory if there is none.
    #[default]
    DataDirectory,
    /// In memory.
    Memory,
    /// In Redis, at this address.
    Redis(Secret),
    /// In PostgreSQL, at this address.
    Postgres(Secret),
}

impl Default for ConversationsConfig {
    fn default() -> Self {
        Self {
            store: StoreLocation::DataDirectory,
            ttl: None,
            bytes: 8 << 20,
            deadline: Duration::from_secs(5),
            summarize_after: 50,
            keep_recent: 20,
        }
    }
}

/// Ten years: nobody waits longer.
const LONGEST: Duration = Duration::from_hours(10 * 365 * 24);

/// Reads `conversations`. The names of variables that the address is taken from are added to `taken_from`.
pub(crate) fn read_conversations(
    config: &mut ConversationsConfig,
    at: &mut Fields<'_>,
    taken_from: &mut BTreeSet<String>,
) {
    let about = "Where they are kept: `redis://…`, `rediss://…`, `postgres://…` or `memory`, with `${VARIABLE}` where secrets stand; in \
                 `dataDirectory` if absent.";
    if let Some(item) = at.item("store", about, String::schema)
        && let Some(address) = expanded(&item, taken_from)
    {
        match location(address) {
            Some(location) => config.store = location,
            None => item.error("must begin with `redis://`, `rediss://` or `postgres://`, or be `memory`"),
        }
    }
    let about = "How long a conversation stays that is not updated; for good if absent.";
    if let Some(item) = at.item("ttl", about, Duration::schema) {
        config.ttl = time_within(&item, Duration::from_secs(1)..=LONGEST);
    }
    at.bytes("maxBytes", "Bytes of one conversation.", 1 << 10..=1 << 30, &mut config.bytes);
    let about = "How long one operation of the store may take.";
    at.time("deadline", about, Duration::from_millis(10)..=DAY, &mut config.deadline);
    let about = "Above so many messages the model is sent a summary of the older ones; 0 for never.";
    at.count("summarizeAfter", about, 0..=1_000_000, &mut config.summarize_after);
    let about = "How many of the last messages the model is sent as they are then.";
    at.count("keepRecent", about, 1..=1_000_000, &mut config.keep_recent);
    if config.summarize_after > 0 && config.keep_recent >= config.summarize_after {
        at.error("keepRecent", "must be less than `summarizeAfter`");
    }
}

fn location(address: Secret) -> Option<StoreLocation> {
    let text = address.expose();
    let begins = |schemes: &[&str]| schemes.iter().any(|scheme| text.starts_with(scheme));
    match text {
        "memory" => Some(StoreLocation::Memory),
        _ if begins(&["redis://", "rediss://"]) => Some(StoreLocation::Redis(address)),
        _ if begins(&["postgres://", "postgresql://"]) => Some(StoreLocation::Postgres(address)),
        _ => None,
    }
}
