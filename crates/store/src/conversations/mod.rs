//! Conversations: kept in SQLite, Redis or PostgreSQL behind one contract.
//!
//! **What it is.** A [`ConversationStore`] keeps conversations whole, byte for byte, and hands them only to their owner. Every change
//! has a version, so that of two writers that read the same version exactly one succeeds, and a turn can be leased to one holder. Beside
//! conversations it keeps small values with an expiry, for what has to survive a restart.
//!
//! **What it is not.** It does not know what a message means: a message is JSON text. It asks nobody, calls nobody and
//! makes no titles.
//!
//! ```
//! use gateway_store::conversations::{
//!     self, ConversationFilter, ConversationId, ConversationOptions, Expected, Location, NewConversation, Scope, TurnChange, TurnLease, Update,
//! };
//! use serde_json::value::RawValue;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = conversations::open(&Location::Memory, &ConversationOptions::default()).await?;
//! let alice = Scope::Named("alice".into());
//! let id = ConversationId::random().ok_or("no random numbers")?;
//! let new = NewConversation::new(id, alice.owner(), "New Conversation");
//! let created = store.create(new).await?;
//!
//! // Nobody else runs a turn of this conversation for the next minute.
//! let until = "2100-01-01T00:01:00Z".parse()?;
//! let lease = TurnLease { holder: "gateway-1".to_owned(), until };
//! let take = Update { turn: TurnChange::Take(lease), ..Update::default() };
//! store.update(&alice, id, Expected::Version(created.version), take).await?;
//!
//! let message = RawValue::from_string(r#"{"role":"user","content":"Hello"}"#.to_owned())?;
//! let answer = Update { append: vec![message], turn: TurnChange::Release, ..Update::default() };
//! store.update(&alice, id, Expected::Holder("gateway-1".to_owned()), answer).await?;
//!
//! let filter = ConversationFilter { text: Some("hello".to_owned()), ..ConversationFilter::of(alice) };
//! let page = store.list(&filter).await?;
//! assert_eq!(page.conversations.len(), 1);
//! assert_eq!(page.conversations[0].message_count, 1);
//! assert!(store.get(&Scope::Named("bob".into()), id).await?.is_none());
//! # Ok(())
//! # }
//! ```

mod document;
mod error;
mod head;
mod id;
mod options;
mod page;
mod postgres;
mod redis;
mod search;
mod sqlite;
mod types;

use std::{fmt, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

pub use self::{
    error::ConversationError,
    id::{ConversationId, InvalidId},
    options::ConversationOptions,
    page::{ConversationFilter, ConversationPage, Cursor, InvalidCursor, LARGEST_PAGE},
    postgres::PostgresConversations,
    redis::RedisConversations,
    sqlite::{DirectoryLock, FILE_NAME, SqliteConversations},
    types::{
        Conversation, ConversationSummary, Expected, NewConversation, Saved, Scope, TurnChange, TurnLease,
        Update,
    },
};
use crate::address::Address;

/// What an operation of a store gives. Boxed by hand: a gateway chooses its store when it starts, so the trait has to be
/// dyn-compatible, and ten signatures need no macro for it. The box costs nothing beside a trip to a disk or a server.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, ConversationError>> + Send + 'a>>;

/// Keeps conversations.
///
/// Every operation ends within [`ConversationOptions::deadline`]. After [`ConversationError::Timeout`] or
/// [`ConversationError::Unavailable`], and after a future was dropped, a change may or may not have been made; the version tells. A
/// store that was unreachable works again as soon as it can be reached.
pub trait ConversationStore: fmt::Debug + Send + Sync {
    /// Keeps a new conversation, with version 1.
    fn create(&self, new: NewConversation) -> Answer<'_, Saved>;

    /// The conversation; `None` if there is none in this scope.
    fn get<'a>(&'a self, scope: &'a Scope, id: ConversationId) -> Answer<'a, Option<Conversation>>;

    /// A page of conversations, last updated first.
    ///
    /// Those that are not updated meanwhile are on exactly one of the pages. One that is updated moves to the front.
    fn list<'a>(&'a self, filter: &'a ConversationFilter) -> Answer<'a, ConversationPage>;

    /// Changes a conversation, wholly or not at all.
    fn update<'a>(
        &'a self,
        scope: &'a Scope,
        id: ConversationId,
        expected: Expected,
        update: Update,
    ) -> Answer<'a, Saved>;

    /// Deletes a conversation; `false` if there was none in this scope.
    fn delete<'a>(&'a self, scope: &'a Scope, id: ConversationId) -> Answer<'a, bool>;

    /// Whether the store can be reached.
    fn ping(&self) -> Answer<'_, ()>;

    /// Keeps a small value under a key for some time, also over a restart. It replaces what was there.
    fn keep<'a>(&'a self, key: &'a str, value: &'a [u8], ttl: Duration) -> Answer<'a, ()>;

    /// The same unless the key has a value: of several that keep one at once, one does. Says whether it did.
    fn keep_new<'a>(&'a self, key: &'a str, value: &'a [u8], ttl: Duration) -> Answer<'a, bool>;

    /// The value of a key, unless its time is over.
    fn kept<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Vec<u8>>>;

    /// Removes the value of a key and returns it: of several that take it, one gets it.
    fn take<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Vec<u8>>>;
}

/// Where conversations are kept.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Location {
    /// In memory, until the store is dropped.
    Memory,
    /// In an SQLite database of this directory.
    Directory(PathBuf),
    /// In Redis.
    Redis(Address),
    /// In PostgreSQL.
    Postgres(Address),
}

/// Opens the store of a location. A store that cannot be reached is an error here, not only when it is used.
pub async fn open(
    location: &Location,
    options: &ConversationOptions,
) -> Result<Arc<dyn ConversationStore>, ConversationError> {
    Ok(match location {
        Location::Memory => Arc::new(SqliteConversations::in_memory(options).await?),
        Location::Directory(directory) => Arc::new(SqliteConversations::open(directory, options).await?),
        Location::Redis(address) => Arc::new(RedisConversations::open(address, options).await?),
        Location::Postgres(address) => Arc::new(PostgresConversations::open(address, options).await?),
    })
}
