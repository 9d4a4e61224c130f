//! A store under test, and what a test can do to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use gateway_store::conversations::{
    Conversation, ConversationFilter, ConversationId, ConversationOptions, ConversationStore, Cursor,
    NewConversation, Scope, Update,
};
use jiff::Timestamp;
use serde_json::value::RawValue;

pub(crate) type Store = Arc<dyn ConversationStore>;

/// A place where conversations are kept, empty at first.
pub(crate) trait Backend: Send + Sync {
    /// Opens the store of this place.
    fn open(&self, options: &ConversationOptions) -> impl Future<Output = Store> + Send;

    /// Lets time pass where the conversations are, if that place has a clock of its own.
    fn pass(&self, _time: Duration) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// A clock that moves when it is told to.
#[derive(Clone)]
pub(crate) struct TestClock(Arc<AtomicI64>);

impl TestClock {
    pub(crate) fn new() -> Self {
        let start: Timestamp = "2026-11-03T10:00:00Z".parse().unwrap();
        Self(Arc::new(AtomicI64::new(start.as_microsecond())))
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_microsecond(self.0.load(Ordering::SeqCst)).unwrap()
    }

    /// The time so many seconds from now.
    pub(crate) fn after(&self, seconds: i64) -> Timestamp {
        self.now() + jiff::SignedDuration::from_secs(seconds)
    }

    pub(crate) fn options(&self) -> ConversationOptions {
        let clock = self.clone();
        let mut options = ConversationOptions::default();
        options.now = Arc::new(move || clock.now());
        options
    }
}

pub(crate) fn named(name: &str) -> Scope {
    Scope::Named(name.into())
}

pub(crate) fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

/// A conversation with messages, of the owner of a scope.
pub(crate) async fn create(store: &Store, scope: &Scope, title: &str, messages: &[&str]) -> ConversationId {
    let id = ConversationId::random().unwrap();
    let mut new = NewConversation::new(id, scope.owner(), title);
    new.messages = messages.iter().map(|message| raw(message)).collect();
    store.create(new).await.unwrap();
    id
}

pub(crate) async fn get(store: &Store, scope: &Scope, id: ConversationId) -> Conversation {
    store.get(scope, id).await.unwrap().expect("the conversation is there")
}

pub(crate) fn texts(conversation: &Conversation) -> Vec<&str> {
    conversation.messages.iter().map(|message| message.get()).collect()
}

pub(crate) fn append(messages: &[&str]) -> Update {
    Update { append: messages.iter().map(|message| raw(message)).collect(), ..Update::default() }
}

/// The titles of all pages.
pub(crate) async fn titles(store: &Store, filter: &ConversationFilter) -> Vec<String> {
    let mut filter = filter.clone();
    let mut titles = Vec::new();
    loop {
        let page = store.list(&filter).await.unwrap();
        titles.extend(page.conversations.into_iter().map(|summary| summary.title));
        let Some(next) = page.next else { return titles };
        // A cursor survives being written and read.
        filter.after = Some(next.to_string().parse::<Cursor>().unwrap());
    }
}
