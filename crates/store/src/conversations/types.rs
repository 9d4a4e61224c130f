//! A conversation, and what can be changed about it.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::value::RawValue;

use super::{document, id::ConversationId};

/// A conversation with all of its messages.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// Whose it is; `None` if it belongs to callers without a name.
    pub owner: Option<Arc<str>>,
    /// Its title.
    pub title: String,
    /// When it was created, to the microsecond.
    pub created_at: Timestamp,
    /// When it was updated last, to the microsecond. Every update is later than the one before.
    pub updated_at: Timestamp,
    /// Increments with every update, from 1.
    pub version: u64,
    /// The messages, byte for byte as they were given.
    pub messages: Vec<Box<RawValue>>,
    /// Who runs a turn of it, as last said; also if the time of the lease is over.
    pub turn: Option<TurnLease>,
    /// What the owner of the store notes about it: any JSON.
    pub metadata: Box<RawValue>,
}

impl Conversation {
    /// The conversation as a JSON object.
    pub fn to_json(&self) -> Vec<u8> {
        document::write(self, &Vec::new())
    }
}

/// A conversation without its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationSummary {
    /// Its id.
    pub id: ConversationId,
    /// Whose it is.
    pub owner: Option<Arc<str>>,
    /// Its title.
    pub title: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was updated last.
    pub updated_at: Timestamp,
    /// Its version.
    pub version: u64,
    /// How many messages it has.
    pub message_count: u64,
}

/// The right to run a turn of a conversation until a moment. Gateways that share a store compare it with their own clocks, so
/// these have to agree to a second or so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnLease {
    /// Who has it: any text that nobody else uses.
    pub holder: String,
    /// Until when; others can take it from then on. Kept to the microsecond.
    pub until: Timestamp,
}

/// Whose conversations an operation reaches. Those of others do not exist for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All conversations.
    All,
    /// Conversations without an owner.
    Anonymous,
    /// Conversations of the owner of exactly this name.
    Named(Arc<str>),
}

impl Scope {
    /// The owner of what is created in this scope.
    pub fn owner(&self) -> Option<Arc<str>> {
        match self {
            Self::All | Self::Anonymous => None,
            Self::Named(name) => Some(Arc::clone(name)),
        }
    }

    /// Whether a conversation of this owner is in the scope.
    pub(crate) fn contains(&self, owner: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Anonymous => owner.is_none(),
            Self::Named(name) => owner == Some(name),
        }
    }
}

/// A conversation to create.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewConversation {
    /// Its id; [`ConversationError::Exists`](super::ConversationError::Exists) if there is one with it.
    pub id: ConversationId,
    /// Whose it is.
    pub owner: Option<Arc<str>>,
    /// Its title.
    pub title: String,
    /// Its first messages.
    pub messages: Vec<Box<RawValue>>,
    /// Who runs its first turn.
    pub turn: Option<TurnLease>,
    /// What is noted about it; `{}` at first.
    pub metadata: Box<RawValue>,
}

impl NewConversation {
    /// An empty conversation with this id.
    pub fn new(id: ConversationId, owner: Option<Arc<str>>, title: impl Into<String>) -> Self {
        let metadata = document::empty_object();
        Self { id, owner, title: title.into(), messages: Vec::new(), turn: None, metadata }
    }
}

/// What must hold of a conversation for an update to be made; else it is a [`Conflict`](super::ConversationError::Conflict).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Nothing. Messages are appended to whatever is there.
    Anything,
    /// It has this version.
    Version(u64),
    /// This holder still has the turn: nobody else has taken it, even if its time is over.
    Holder(String),
}

/// A change of a conversation; its default changes nothing but version and time.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// Another title.
    pub title: Option<String>,
    /// All messages anew.
    pub replace: Option<Vec<Box<RawValue>>>,
    /// Messages after those that are there.
    pub append: Vec<Box<RawValue>>,
    /// What becomes of the turn.
    pub turn: TurnChange,
    /// Other metadata.
    pub metadata: Option<Box<RawValue>>,
}

/// What becomes of the turn of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TurnChange {
    /// It stays as it is.
    #[default]
    Keep,
    /// The holder takes or extends it; [`Held`](super::ConversationError::Held) if somebody else has it and its time is not over.
    Take(TurnLease),
    /// Nobody has it from now on.
    Release,
}

/// What a change has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The version from now on.
    pub version: u64,
    /// The time of the update.
    pub updated_at: Timestamp,
}
