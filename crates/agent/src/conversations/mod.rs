//! Conversations that the gateway keeps: `/conversations`.
//!
//! **What it is.** The loop over conversations of a store. A message of the user is stored with the right to run a turn; then everything
//! that is said is stored before anything follows from it. So after a crash no tool runs twice, and each call without a result gets one
//! that says so (`repair`).
//!
//! **What it is not.** It chooses no status, and does not know where conversations are kept.
//!
//! ```
//! use std::sync::Arc;
//!
//! use bytes::Bytes;
//! use gateway_agent::conversations::Conversations;
//! use gateway_agent::{KeptResults, Models, Store};
//! use gateway_config::ServiceConfig;
//! use gateway_runtime::Runtime;
//! use gateway_runtime::context::RequestContext;
//!
//! # use gateway_dialects::Dialects;
//! # use gateway_store::CallLog;
//! # use gateway_upstream::{Fleet, FleetOptions};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let log = CallLog::in_memory(&gateway_store::Options::default())?;
//! # let fleet = Fleet::start(Vec::new(), FleetOptions::default());
//! let runtime = Runtime::new(ServiceConfig::default(), fleet, Dialects::builtin(), log);
//! let config = runtime.config();
//! let models = Arc::new(Models::new(&config.models, None));
//! let (store, results) = (Store::new(config), Arc::new(KeptResults::new(config)));
//! let conversations = Conversations::new(runtime.clone(), store, models, results);
//!
//! let alice = RequestContext::new(None);
//! let created = conversations.create(&alice, &Bytes::from_static(br#"{"title": "Sums"}"#)).await?;
//! let page = conversations.list(&alice, None, None, None).await?;
//! assert_eq!(page.conversations.len(), 1);
//! assert_eq!(created.version, 1);
//! # Ok(())
//! # }
//! ```

mod answer;
mod begin;
mod error;
mod journal;
mod message;
mod prompt;
mod records;
mod repair;
mod request;
mod summary;
mod turn;
mod write;

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use gateway_runtime::Runtime;
use gateway_runtime::context::{RequestContext, random_uuid};
use gateway_store::conversations::{
    Conversation, ConversationError, ConversationFilter, ConversationId, ConversationStore, Cursor, Expected,
    NewConversation, Scope, TurnChange, Update,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

pub use self::error::ConversationsError;
pub use self::write::failed_stream;

use self::answer::RunningTurn;
use self::begin::ATTEMPTS;
use self::journal::{LiveHolders, raw};
use self::repair::{Missing, missing_results, repaired};
use self::request::ChatRequest;
use crate::completions::BadRequest;
use crate::kept_results::KeptResults;
use crate::models::Models;
use crate::run::Limits;
use crate::store::Store;

/// The title of conversations that nobody named.
const TITLE: &str = "New Conversation";

/// Events that wait for a slow caller before the model has to wait.
const WAITING: usize = 64;

/// Conversations over the loop. Clones share everything.
#[derive(Clone, Debug)]
pub struct Conversations(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    runtime: Runtime,
    store: Store,
    models: Arc<Models>,
    results: Arc<KeptResults>,
    limits: Limits,
    /// Stands for this process among those that share a store.
    process: Arc<str>,
    /// Who holds turns that run here.
    live: LiveHolders,
    /// Turns that run.
    turns: TaskTracker,
}

/// A conversation as JSON, and its version.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The conversation.
    pub body: Bytes,
    /// Its version.
    pub version: u64,
}

/// A page of conversations without their messages, last updated first.
#[derive(Clone, Debug)]
pub struct Page {
    /// The conversations, as JSON.
    pub conversations: Vec<Value>,
    /// Where the next page begins; `None` if this is the last.
    pub next: Option<Cursor>,
}

/// An answer.
pub enum Chat {
    /// In one piece, as JSON.
    Whole(Bytes),
    /// As server-sent events. The first item comes before anything is sent, so that a failure can still be an answer of its own.
    Stream(ChatStream),
}

/// Events of an answer.
pub type ChatStream = Pin<Box<dyn Stream<Item = ChatItem> + Send>>;

/// One item of a streamed answer.
#[derive(Clone, Debug)]
pub enum ChatItem {
    /// Bytes of the stream.
    Bytes(Bytes),
    /// It failed; nothing comes after it.
    Failed {
        /// Why.
        error: ConversationsError,
        /// The event that every stream begins with, unless it was sent already.
        begin: Option<Bytes>,
    },
}

/// The messages of a conversation that are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct MessageRange {
    /// The first, counted from zero.
    pub offset: usize,
    /// How many; all if absent.
    pub limit: Option<usize>,
}

impl Conversations {
    /// Over a runtime, with these models and a place for long results.
    pub fn new(runtime: Runtime, store: Store, models: Arc<Models>, results: Arc<KeptResults>) -> Self {
        let config = runtime.config();
        let limits = Limits::of(&config.agent, config.concurrent_calls_per_turn);
        let (process, live, turns) = (random_uuid(), LiveHolders::default(), TaskTracker::new());
        Self(Arc::new(Inner { runtime, store, models, results, limits, process, live, turns }))
    }

    /// Opens the store: when the gateway starts, if it has models or the store is another program. An error there is one that nobody
    /// has to find later.
    pub async fn start(&self) -> Result<(), ConversationError> {
        let is_needed = !self.0.models.is_empty() || self.0.store.is_remote();
        if is_needed { self.0.store.get().await.map(drop) } else { Ok(()) }
    }

    /// Waits until the turns are saved whose callers have gone.
    pub async fn close(&self) {
        self.0.turns.close();
        self.0.turns.wait().await;
    }

    /// Begins a conversation: `{title?}`.
    pub async fn create(&self, context: &RequestContext, body: &Bytes) -> Result<Shown, ConversationsError> {
        let title = request::read_title(body)?.unwrap_or_else(|| TITLE.to_owned());
        let id = ConversationId::random().ok_or(ConversationsError::NoRandomNumbers)?;
        let scope = scope_of(context);
        self.store().await?.create(NewConversation::new(id, scope.owner(), title)).await?;
        Ok(show(&self.read(&scope, id).await?, MessageRange::default()))
    }

    /// A page of the caller's conversations: at most `limit`, behind `after`, those that `text` is in.
    pub async fn list(
        &self,
        context: &RequestContext,
        text: Option<&str>,
        limit: Option<usize>,
        after: Option<Cursor>,
    ) -> Result<Page, ConversationsError> {
        let mut filter = ConversationFilter::of(scope_of(context));
        filter.text = text.map(str::to_owned);
        filter.limit = limit.unwrap_or(filter.limit);
        filter.after = after;
        let page = self.store().await?.list(&filter).await?;
        Ok(Page { conversations: page.conversations.iter().map(write::summary).collect(), next: page.next })
    }

    /// A conversation with the messages of a range.
    pub async fn get(
        &self,
        context: &RequestContext,
        id: &str,
        range: MessageRange,
    ) -> Result<Shown, ConversationsError> {
        let conversation = self.read(&scope_of(context), id_of(id)?).await?;
        Ok(show(&conversation, range))
    }

    /// Gives a conversation another title: `{title, version?}`. `version` is that of `If-Match`.
    pub async fn rename(
        &self,
        context: &RequestContext,
        id: &str,
        body: &Bytes,
        version: Option<u64>,
    ) -> Result<Shown, ConversationsError> {
        let (scope, id) = (scope_of(context), id_of(id)?);
        let (title, in_body) = request::read_rename(body)?;
        let expected = in_body.or(version).map_or(Expected::Anything, Expected::Version);
        let update = Update { title: Some(title), ..Update::default() };
        self.store().await?.update(&scope, id, expected, update).await?;
        Ok(show(&self.read(&scope, id).await?, MessageRange::default()))
    }

    /// Deletes a conversation.
    pub async fn delete(&self, context: &RequestContext, id: &str) -> Result<(), ConversationsError> {
        let is_gone = self.store().await?.delete(&scope_of(context), id_of(id)?).await?;
        if is_gone { Ok(()) } else { Err(ConversationsError::NotFound) }
    }

    /// The calls of a conversation in order, as JSON.
    pub async fn calls(&self, context: &RequestContext, id: &str) -> Result<Vec<Value>, ConversationsError> {
        let conversation = self.read(&scope_of(context), id_of(id)?).await?;
        Ok(records::call_records(&messages_of(&conversation)))
    }

    /// Whether a request for [`Conversations::chat`] asks for a stream, as far as it can be read.
    pub fn wants_stream(body: &Bytes) -> bool {
        ChatRequest::read(body).map_or(true, |request| request.stream)
    }

    /// Answers a message. `tools` is the header that says which of the gateway's tools are offered, `version` that of `If-Match`.
    pub async fn chat(
        &self,
        context: RequestContext,
        id: &str,
        body: &Bytes,
        tools: Option<&str>,
        version: Option<u64>,
    ) -> Result<Chat, ConversationsError> {
        let id = id_of(id)?;
        let mut request = ChatRequest::read(body)?;
        request.version = request.version.or(version);
        let (is_stream, wanted) = (request.stream, request.events);
        let (sender, events) = mpsc::channel(WAITING);
        let (begun, has_begun) = oneshot::channel();
        let (this, tools) = (self.clone(), tools.map(str::to_owned));
        // From its beginning in a task of its own: a caller who goes away must not leave a turn behind that nobody runs.
        self.0.turns.spawn(async move {
            match this.begin(context, id, request, tools.as_deref()).await {
                Ok(turn) => {
                    let _ = begun.send(Ok(()));
                    turn.run(sender).await;
                }
                Err(error) => drop(begun.send(Err(error))),
            }
        });
        has_begun.await.map_err(|_| ConversationsError::BrokenOff)??;
        let turn = RunningTurn { id, events, wanted };
        if is_stream { Ok(Chat::Stream(turn.stream())) } else { turn.whole().await.map(Chat::Whole) }
    }

    async fn store(&self) -> Result<&Arc<dyn ConversationStore>, ConversationsError> {
        Ok(self.0.store.get().await?)
    }

    /// A conversation, repaired where a turn of it broke off and nobody runs one.
    async fn read(&self, scope: &Scope, id: ConversationId) -> Result<Conversation, ConversationsError> {
        for _ in 0..ATTEMPTS {
            let conversation = self.stored(scope, id).await?;
            let missing = missing_results(&messages_of(&conversation));
            if missing.is_empty() || self.is_running(&conversation).await? {
                return Ok(conversation);
            }
            let update = Update { turn: TurnChange::Release, ..with_results(&conversation, missing) };
            match self.store().await?.update(scope, id, Expected::Version(conversation.version), update).await
            {
                Ok(_) | Err(ConversationError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.stored(scope, id).await
    }

    async fn stored(&self, scope: &Scope, id: ConversationId) -> Result<Conversation, ConversationsError> {
        self.store().await?.get(scope, id).await?.ok_or(ConversationsError::NotFound)
    }

    /// Whether somebody runs a turn of a conversation.
    async fn is_running(&self, conversation: &Conversation) -> Result<bool, ConversationsError> {
        let Some(turn) = &conversation.turn else { return Ok(false) };
        if turn.until <= jiff::Timestamp::now() {
            return Ok(false);
        }
        // A process or a turn that ended holds nothing, whatever its lease says.
        if turn.holder.starts_with(&*self.0.process) {
            return Ok(self.0.live.contains(&turn.holder));
        }
        Ok(!self.0.store.is_ours_alone().await?)
    }
}

fn show(conversation: &Conversation, range: MessageRange) -> Shown {
    let count = conversation.messages.len();
    let start = range.offset.min(count);
    let end = range.limit.map_or(count, |limit| start.saturating_add(limit).min(count));
    Shown { body: write::conversation(conversation, start..end), version: conversation.version }
}

/// Whose conversations a request reaches: those of its key's owner, or those that belong to nobody.
fn scope_of(context: &RequestContext) -> Scope {
    context.caller.as_ref().map_or(Scope::Anonymous, |owner| Scope::Named(owner.to_shared()))
}

/// A text that is no id is the id of no conversation.
fn id_of(id: &str) -> Result<ConversationId, ConversationsError> {
    id.parse().map_err(|_| ConversationsError::NotFound)
}

fn messages_of(conversation: &Conversation) -> Vec<Map<String, Value>> {
    conversation.messages.iter().map(|message| members_of(message)).collect()
}

/// The members of an object; none of what is no object.
fn members_of(raw: &RawValue) -> Map<String, Value> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// The change that adds the results which a history lacks: at its end if they belong there, else all anew.
fn with_results(conversation: &Conversation, missing: Vec<Missing>) -> Update {
    let raws =
        |messages: Vec<Map<String, Value>>| messages.iter().filter_map(|message| raw(message).ok()).collect();
    let end = conversation.messages.len();
    if missing.iter().all(|missing| missing.index == end) {
        let append = raws(missing.into_iter().map(|missing| missing.message).collect());
        return Update { append, ..Update::default() };
    }
    Update { replace: Some(raws(repaired(messages_of(conversation), missing))), ..Update::default() }
}

/// A cursor of a request.
pub fn cursor(text: &str) -> Result<Cursor, ConversationsError> {
    let wrong =
        |error: gateway_store::conversations::InvalidCursor| BadRequest::new("after", error.to_string());
    Ok(text.parse().map_err(wrong)?)
}
