//! Stores that make a change after its caller has given up.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gateway_agent::Store;
use gateway_agent::conversations::ConversationsError;
use gateway_store::conversations::{
    self, Answer, Conversation, ConversationError, ConversationFilter, ConversationId, ConversationOptions,
    ConversationPage, ConversationStore, Expected, Location, NewConversation, Saved, Scope, Update,
};
use gateway_testkit::models::{Reply, Script, Step, Wire};
use serde_json::{Value, json};

use super::{Kept, conversations_in};
use crate::gateway::{Gateway, strict_model};

/// When a change is made of which its caller learns that its outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Late {
    /// At once; only the answer is lost.
    Answer,
    /// After the next time that the conversation is read.
    Change,
}

/// A store in memory that answers one update too late.
#[derive(Debug)]
struct SlowStore {
    inner: Arc<dyn ConversationStore>,
    late: Late,
    /// How many updates are left until the late one.
    updates: AtomicUsize,
    waiting: Mutex<Option<(Scope, ConversationId, Expected, Update)>>,
}

impl SlowStore {
    async fn make_waiting(&self) {
        let waiting = self.waiting.lock().unwrap().take();
        if let Some((scope, id, expected, update)) = waiting {
            // Whether it still can be made is the store's affair.
            let _ = self.inner.update(&scope, id, expected, update).await;
        }
    }
}

impl ConversationStore for SlowStore {
    fn create(&self, new: NewConversation) -> Answer<'_, Saved> {
        self.inner.create(new)
    }

    fn get<'a>(&'a self, scope: &'a Scope, id: ConversationId) -> Answer<'a, Option<Conversation>> {
        Box::pin(async move {
            let found = self.inner.get(scope, id).await;
            self.make_waiting().await;
            found
        })
    }

    fn list<'a>(&'a self, filter: &'a ConversationFilter) -> Answer<'a, ConversationPage> {
        self.inner.list(filter)
    }

    fn update<'a>(
        &'a self,
        scope: &'a Scope,
        id: ConversationId,
        expected: Expected,
        update: Update,
    ) -> Answer<'a, Saved> {
        Box::pin(async move {
            if self.updates.fetch_sub(1, Ordering::Relaxed) != 0 {
                return self.inner.update(scope, id, expected, update).await;
            }
            *self.waiting.lock().unwrap() = Some((scope.clone(), id, expected, update));
            if self.late == Late::Answer {
                self.make_waiting().await;
            }
            let within = Duration::from_secs(5);
            Err(ConversationError::Timeout { place: "a slow disk".into(), attempt: "updating one", within })
        })
    }

    fn delete<'a>(&'a self, scope: &'a Scope, id: ConversationId) -> Answer<'a, bool> {
        self.inner.delete(scope, id)
    }

    fn ping(&self) -> Answer<'_, ()> {
        self.inner.ping()
    }

    fn keep<'a>(&'a self, key: &'a str, value: &'a [u8], ttl: Duration) -> Answer<'a, ()> {
        self.inner.keep(key, value, ttl)
    }

    fn keep_new<'a>(&'a self, key: &'a str, value: &'a [u8], ttl: Duration) -> Answer<'a, bool> {
        self.inner.keep_new(key, value, ttl)
    }

    fn kept<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Vec<u8>>> {
        self.inner.kept(key)
    }

    fn take<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Vec<u8>>> {
        self.inner.take(key)
    }
}

/// A conversation whose update number `updates`, counted from zero, is late.
async fn kept_slowly(late: Late, updates: usize) -> Kept {
    let script = Script::new()
        .reply(Reply::new().call("c1", "add", json!({"a": 1, "b": 2})))
        .last(Step::reply(Reply::new().text("It is 3.")));
    let server = strict_model(Wire::Chat, script).await;
    let gateway = Gateway::with(Wire::Chat, &server, |config| {
        config.agent.system_prompt = Some(String::new());
    });
    let inner = conversations::open(&Location::Memory, &ConversationOptions::default()).await.unwrap();
    let (updates, waiting) = (AtomicUsize::new(updates), Mutex::default());
    let store = Store::over(Arc::new(SlowStore { inner, late, updates, waiting }));
    let conversations = conversations_in(&gateway, store);
    let mut kept = Kept::begun(gateway, conversations).await;
    kept.servers.push(server);
    kept
}

fn roles(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["role"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_message_that_is_stored_late_is_answered_once() {
    // The store was only slow to say so: the turn goes on.
    let kept = kept_slowly(Late::Answer, 0).await;
    assert_eq!(kept.ask("How much?", false).await.unwrap(), "It is 3.");
    assert_eq!(roles(&kept.messages().await), ["user", "assistant", "tool", "assistant"]);

    // It is stored when nobody looks any more: the turn is nobody's, and the same message is not stored twice.
    let kept = kept_slowly(Late::Change, 0).await;
    let failed = kept.ask("How much?", false).await.unwrap_err();
    assert!(matches!(failed, ConversationsError::Store), "{failed}");
    assert_eq!(roles(&kept.messages().await), ["user"]);
    assert_eq!(kept.ask("How much?", false).await.unwrap(), "It is 3.");
    assert_eq!(roles(&kept.messages().await), ["user", "assistant", "tool", "assistant"]);
}

#[tokio::test]
async fn what_is_written_late_in_a_turn_is_stored_once() {
    // Update 0 is the message, 1 the call, 2 its result, 3 the answer.
    for late in [Late::Answer, Late::Change] {
        for update in 1..=3 {
            let kept = kept_slowly(late, update).await;
            let failed = kept.ask("How much?", false).await.unwrap_err();
            assert!(matches!(failed, ConversationsError::Store), "{late:?} {update}: {failed}");
            let messages = kept.messages().await;
            let expected: &[&str] = match update {
                3 => &["user", "assistant", "tool", "assistant"],
                _ => &["user", "assistant", "tool"],
            };
            assert_eq!(roles(&messages), expected, "{late:?} {update}: {messages:?}");
            assert!(kept.ask("And now?", false).await.is_ok(), "{late:?} {update}");
            assert!(kept.gateway.calls() <= 1, "{late:?} {update}");
        }
    }
}
