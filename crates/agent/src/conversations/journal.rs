//! Writes the messages of one turn into the store, each before anything follows from it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gateway_dialects::history::{Message, Role};
use gateway_runtime::lock::locked;
use gateway_store::conversations::{
    ConversationError, ConversationId, ConversationStore, Expected, Saved, Scope, TurnChange, TurnLease,
    Update,
};
use jiff::Timestamp;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::error::ConversationsError;
use super::message::to_stored;
use super::repair::calls_in;
use crate::run::Journal;

/// How long a turn belongs to its holder unless it is extended. After a crash others wait for so long.
pub(super) const LEASE: Duration = Duration::from_secs(30);

/// The conversation of a turn, and the right to write it.
#[derive(Debug)]
pub(super) struct TurnJournal {
    pub(super) store: Arc<dyn ConversationStore>,
    pub(super) scope: Scope,
    pub(super) id: ConversationId,
    pub(super) holder: LiveHolder,
    /// The request that the calls of the turn belong to.
    pub(super) correlation: Arc<str>,
    progress: Mutex<Progress>,
}

/// How far the turn is.
#[derive(Debug, Default)]
struct Progress {
    /// Messages that are certainly stored.
    stored: usize,
    /// A message that is being written. It is stored, or it is not.
    pending: Option<Map<String, Value>>,
    /// Text of a reply that is not complete.
    heard: String,
    /// Tools of the last calls, by id.
    names: HashMap<String, String>,
    /// Why a message could not be written.
    failure: Option<ConversationsError>,
}

/// Who holds turns that run in this process. A turn of this process that is not among them has ended, whatever its lease says.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveHolders(Arc<Mutex<HashSet<String>>>);

/// A holder that is alive until this is dropped.
#[derive(Debug)]
pub(super) struct LiveHolder {
    name: String,
    others: LiveHolders,
}

impl LiveHolders {
    /// Another holder.
    pub(super) fn add(&self, name: String) -> LiveHolder {
        locked(&self.0).insert(name.clone());
        LiveHolder { name, others: self.clone() }
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        locked(&self.0).contains(name)
    }
}

impl std::ops::Deref for LiveHolder {
    type Target = str;

    fn deref(&self) -> &str {
        &self.name
    }
}

impl Drop for LiveHolder {
    fn drop(&mut self) {
        locked(&self.others.0).remove(&self.name);
    }
}

/// What was going on when a turn broke off.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unfinished {
    /// Messages that are certainly stored.
    pub(super) stored: usize,
    /// A message that may be stored behind them.
    pub(super) pending: Option<Map<String, Value>>,
    /// Text of a reply that is not complete.
    pub(super) heard: String,
}

impl TurnJournal {
    /// For the conversation `id`, which has `stored` messages.
    pub(super) fn new(
        store: Arc<dyn ConversationStore>,
        (scope, id): (Scope, ConversationId),
        holder: LiveHolder,
        correlation: Arc<str>,
        stored: usize,
    ) -> Self {
        let progress = Mutex::new(Progress { stored, ..Progress::default() });
        Self { store, scope, id, holder, correlation, progress }
    }

    /// Changes the conversation, if the turn is still ours, and extends the lease unless the change ends it.
    pub(super) async fn update(&self, mut update: Update) -> Result<Saved, ConversationError> {
        if update.turn == TurnChange::Keep {
            update.turn = TurnChange::Take(lease(&self.holder));
        }
        self.store.update(&self.scope, self.id, Expected::Holder(self.holder.to_owned()), update).await
    }

    /// Why a message could not be written, if that has happened.
    pub(super) fn failure(&self) -> Option<ConversationsError> {
        locked(&self.progress).failure.take()
    }

    /// What was going on, for whoever ends the turn in the loop's stead.
    pub(super) fn unfinished(&self) -> Unfinished {
        let mut progress = locked(&self.progress);
        let (pending, heard) = (progress.pending.take(), std::mem::take(&mut progress.heard));
        Unfinished { stored: progress.stored, pending, heard }
    }

    async fn append(&self, message: &Message) -> Result<(), String> {
        let stored = {
            let mut progress = locked(&self.progress);
            let mut stored = to_stored(message, &progress.names);
            if message.role == Role::Assistant {
                progress.heard.clear();
                progress.names = calls_in(stored.get("tool_calls")).into_iter().collect();
                let has_calls = stored.contains_key("tool_calls") || stored.contains_key("metadata");
                if has_calls {
                    stored.insert("correlation_id".to_owned(), (*self.correlation).into());
                }
            }
            progress.pending = Some(stored.clone());
            stored
        };
        let written = self.update(Update { append: vec![raw(&stored)?], ..Update::default() }).await;
        let mut progress = locked(&self.progress);
        match &written {
            Ok(_) => {
                progress.stored += 1;
                progress.pending = None;
            }
            // Nobody knows whether it is stored.
            Err(ConversationError::Timeout { .. } | ConversationError::Unavailable { .. }) => {}
            Err(_) => progress.pending = None,
        }
        written.map(drop).map_err(|error| {
            let text = error.to_string();
            progress.failure = Some(error.into());
            text
        })
    }
}

impl Journal for TurnJournal {
    fn write<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), String>> {
        self.append(message).boxed()
    }

    fn hear(&self, text: &str) {
        locked(&self.progress).heard.push_str(text);
    }
}

/// The right to a turn from now on.
pub(super) fn lease(holder: &str) -> TurnLease {
    let length = jiff::SignedDuration::try_from(LEASE).unwrap_or_default();
    let now = Timestamp::now();
    TurnLease { holder: holder.to_owned(), until: now.saturating_add(length).unwrap_or(now) }
}

/// A message as the store takes it.
pub(super) fn raw(message: &Map<String, Value>) -> Result<Box<RawValue>, String> {
    serde_json::value::to_raw_value(message).map_err(|error| error.to_string())
}
