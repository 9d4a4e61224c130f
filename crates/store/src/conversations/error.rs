//! What can go wrong, named after what the caller can do about it.

use std::{sync::Arc, time::Duration};

use super::types::TurnLease;

/// Why an operation on conversations was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConversationError {
    /// There is no such conversation in this scope.
    #[error("there is no such conversation")]
    NotFound,
    /// There is a conversation with this id.
    #[error("there is a conversation with this id already")]
    Exists,
    /// Somebody else has changed the conversation: read it again, then decide.
    #[error("the conversation was changed meanwhile and has version {current} now; read it again")]
    Conflict {
        /// Its version.
        current: u64,
    },
    /// Somebody else runs a turn of the conversation.
    #[error("another turn of the conversation is running, until {}", turn.until)]
    Held {
        /// Who, and until when.
        turn: TurnLease,
    },
    /// The conversation, a key or a value would be larger than it may be. Nothing was changed.
    #[error("{what} would take {bytes} bytes, and {max} are the most")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// How large it would be.
        bytes: usize,
        /// How large it may be.
        max: usize,
    },
    /// The store did not answer in time.
    #[error("conversations in {place}, {attempt}: no answer within {within:?}")]
    Timeout {
        /// Where they are kept, without passwords.
        place: Arc<str>,
        /// What was attempted.
        attempt: &'static str,
        /// How long it may take.
        within: Duration,
    },
    /// The store cannot be reached or used.
    #[error("conversations in {place}, {attempt}")]
    Unavailable {
        /// Where they are kept, without passwords.
        place: Arc<str>,
        /// What was attempted.
        attempt: &'static str,
        /// Why it failed.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another process has these conversations.
    #[error(
        "conversations in {place} are in use by another process; stop it or choose another data directory"
    )]
    InUse {
        /// The lock file.
        place: Arc<str>,
    },
    /// The store was written by a newer program.
    #[error(
        "conversations in {place} have schema version {found}, this program knows versions up to {known}; use the newer program"
    )]
    Newer {
        /// Where they are kept.
        place: Arc<str>,
        /// The version that was found.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
}
