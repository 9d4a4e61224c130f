//! Why there is no conversation, or no answer.

use gateway_store::conversations::ConversationError;

use crate::completions::BadRequest;
use crate::error::AgentError;
use crate::models::UnknownModel;
use crate::store::described;

/// Why a request about conversations was not done.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConversationsError {
    /// The caller has no such conversation.
    #[error("Conversation not found")]
    NotFound,
    /// The request is wrong.
    #[error(transparent)]
    Request(#[from] BadRequest),
    /// No model has this name.
    #[error(transparent)]
    UnknownModel(#[from] UnknownModel),
    /// Somebody else has changed the conversation.
    #[error("the conversation was changed meanwhile and has version {current} now; read it again")]
    Conflict {
        /// Its version.
        current: u64,
    },
    /// Another message of the conversation is being answered.
    #[error("another message of this conversation is being answered; send yours when that is over")]
    Busy,
    /// The conversation would be larger than it may be.
    #[error("{0}; begin another conversation, or set `conversations.maxBytes`")]
    TooLarge(String),
    /// The store cannot be used. Why is for the gateway's log: it names files and hosts.
    #[error("the store of conversations cannot be used; the gateway's log says why")]
    Store,
    /// There is no id for a conversation.
    #[error("the system has no random numbers for an id")]
    NoRandomNumbers,
    /// The loop gave no answer.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The turn broke off for no reason that anybody knows.
    #[error("the turn broke off; the gateway's log says more")]
    BrokenOff,
}

impl From<ConversationError> for ConversationsError {
    fn from(error: ConversationError) -> Self {
        match error {
            ConversationError::NotFound => Self::NotFound,
            ConversationError::Conflict { current } => Self::Conflict { current },
            ConversationError::Held { .. } => Self::Busy,
            ConversationError::TooLarge { .. } => Self::TooLarge(error.to_string()),
            other => {
                tracing::warn!(error = described(&other), "The store of conversations cannot be used.");
                Self::Store
            }
        }
    }
}
