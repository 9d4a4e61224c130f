//! Turns that wait for their caller: what ran here while the caller has to run calls of its own, or before a bound was reached.
//!
//! The caller sees only its own calls, under ids that we sign, or the text that says that a bound was reached, with a signed continuation.
//! When it comes back with results or with the continuation, everything that ran here is put back in its place. What it takes is in the
//! store, so this works after a restart too.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use gateway_dialects::calls::{CallId, ToolCall};
use gateway_dialects::dialect::Protocol;
use gateway_dialects::history::{Block, Content, Conversation, Message, Role, TranslatedTools, from_dialect};
use gateway_dialects::results::IdMap;
use gateway_runtime::context::{RequestContext, random_id};
use gateway_store::conversations::ConversationStore;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::BadRequest;
use super::signing::{SIGNED, continuation, continued, signed, verified};
use crate::chat_dialect::chat_dialect;
use crate::error::AgentError;
use crate::history::{History, Segment, chat_text};
use crate::store::Store;

/// How many continuations of one conversation follow each other at most.
const MOST_IN_A_ROW: usize = 100;

/// How long a caller may take to come back.
const LIFE: Duration = Duration::from_hours(24 * 7);

/// How long the key is kept.
const KEY_LIFE: Duration = Duration::from_hours(24 * 365 * 10);

/// Where the key is kept.
const KEY: &str = "completions/key";

/// Turns that wait for their caller.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    store: Store,
    key: Arc<OnceCell<[u8; 32]>>,
}

/// A turn that waits.
#[derive(Debug, Serialize, Deserialize)]
struct WaitingTurn {
    /// Who may come back.
    owner: Option<String>,
    /// What was said since the caller's last message.
    added: Vec<Message>,
    /// The ids that the model gave to the calls of the caller, in the order of ours.
    ids: Vec<String>,
    /// The continuation that the request brought: what it puts back comes before this.
    #[serde(default)]
    after: Option<String>,
    /// Where it belongs if it waits for a continuation.
    #[serde(default)]
    stopped: Option<Stopped>,
}

/// Where a turn that reached a bound belongs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stopped {
    /// How many messages the request had.
    pub(super) messages: usize,
    /// The text that the caller was given in its stead; empty if it was given none.
    pub(super) text: String,
}

impl Stopped {
    /// Whether a message is the text that the caller was given.
    fn is_said_in(&self, message: &Value) -> bool {
        let is_models = message["role"] == "assistant" && message["tool_calls"].is_null();
        is_models && !self.text.is_empty() && chat_text(message) == self.text
    }
}

impl Turns {
    pub(super) fn new(store: Store) -> Self {
        Self { store, key: Arc::default() }
    }

    /// Keeps a turn, and gives the calls that the caller runs the ids under which it comes back.
    pub(super) async fn keep(
        &self,
        context: &RequestContext,
        added: Vec<Message>,
        calls: &mut [ToolCall],
        after: Option<String>,
    ) -> Result<(), AgentError> {
        let ids = calls.iter().map(|call| call.id.as_str().to_owned()).collect();
        let waiting = WaitingTurn { owner: owner_of(context), added, ids, after, stopped: None };
        let (key, turn) = self.write(&waiting).await?;
        for (index, call) in calls.iter_mut().enumerate() {
            let index = u8::try_from(index).unwrap_or(u8::MAX);
            call.id = CallId::Given(signed(&key, &turn, index));
        }
        Ok(())
    }

    /// Keeps a turn that reached a bound, and gives the continuation with which the caller comes back.
    pub(super) async fn keep_stopped(
        &self,
        context: &RequestContext,
        added: Vec<Message>,
        stopped: Stopped,
        after: Option<String>,
    ) -> Result<String, AgentError> {
        let ids = Vec::new();
        let waiting = WaitingTurn { owner: owner_of(context), added, ids, after, stopped: Some(stopped) };
        let (key, turn) = self.write(&waiting).await?;
        Ok(continuation(&key, &turn))
    }

    async fn write(&self, waiting: &WaitingTurn) -> Result<([u8; 32], [u8; 16]), AgentError> {
        let turn = random_id().into_bytes();
        let value = serde_json::to_vec(waiting).map_err(|error| AgentError::Journal(error.to_string()))?;
        let key = self.key().await?;
        self.store().await?.keep(&name_of(&turn), &value, LIFE).await.map_err(journal)?;
        Ok((key, turn))
    }

    /// The history of a request, with everything that ran here in its place.
    pub(super) async fn restore(
        &self,
        messages: Vec<Value>,
        continuation: Option<String>,
        context: &RequestContext,
    ) -> Result<History, RestoreError> {
        let mut restoring = Restoring::default();
        // Continuations; the newest is the last.
        let mut wanted = Vec::new();
        for message in &messages {
            let Some(first) = signed_ids(message).next() else { continue };
            let Some((turn, waiting)) = self.waiting(first, context).await? else {
                // Signed by us and too old: what the caller has is all there is.
                restoring.expired.extend(signed_ids(message).map(str::to_owned));
                continue;
            };
            // A turn after a continuation needs it again, though the caller need not know.
            wanted.extend(waiting.after);
            let key = self.key().await?;
            for (index, original) in waiting.ids.into_iter().enumerate() {
                let index = u8::try_from(index).unwrap_or(u8::MAX);
                restoring.names.insert(signed(&key, &turn, index), original);
            }
            if let Some(foreign) = signed_ids(message).find(|id| !restoring.names.contains_key(*id)) {
                return Err(forged(foreign).into());
            }
            restoring.turns.insert(first.to_owned(), waiting.added);
        }
        if continuation.is_some() || !wanted.is_empty() {
            restoring.stopped = self.stopped(continuation, wanted, &messages, context).await?;
        }
        Ok(History::of_segments(in_call_order(restoring.segments(messages)?)))
    }

    /// The turns that reached a bound and go on, by where they belong: that of the request's own continuation, and those before it.
    async fn stopped(
        &self,
        asked: Option<String>,
        mut wanted: Vec<String>,
        messages: &[Value],
        context: &RequestContext,
    ) -> Result<HashMap<usize, PutBack>, RestoreError> {
        let mut found: HashMap<usize, PutBack> = HashMap::new();
        let mut seen = HashSet::new();
        let key = self.key().await?;
        wanted.extend(asked.clone());
        // From the newest to the oldest, so that of several equal texts each finds its own.
        let mut end = messages.len();
        while let Some(text) = wanted.pop().filter(|_| seen.len() < MOST_IN_A_ROW) {
            let turn = continued(&key, &text).ok_or_else(no_continuation)?;
            if !seen.insert(turn) {
                continue;
            }
            let value = match self.store().await?.kept(&name_of(&turn)).await.map_err(journal)? {
                Some(value) => value,
                None if asked.as_ref() == Some(&text) => return Err(no_continuation().into()),
                // Too old: what the caller has of it is all there is.
                None => continue,
            };
            let waiting: WaitingTurn = serde_json::from_slice(&value).map_err(|_| no_continuation())?;
            let (Some(stopped), true) = (waiting.stopped, waiting.owner == owner_of(context)) else {
                return Err(no_continuation().into());
            };
            let before = messages.get(..end).unwrap_or_default();
            let replaced = before.iter().rposition(|message| stopped.is_said_in(message));
            end = replaced.unwrap_or(stopped.messages.min(end));
            let place = found.entry(end).or_default();
            place.added.splice(..0, waiting.added);
            place.replaces |= replaced.is_some();
            wanted.extend(waiting.after);
        }
        Ok(found)
    }

    /// The turn that an id belongs to; `None` if it is not kept any more.
    async fn waiting(
        &self,
        id: &str,
        context: &RequestContext,
    ) -> Result<Option<([u8; 16], WaitingTurn)>, RestoreError> {
        let key = self.key().await?;
        let turn = verified(&key, id).ok_or_else(|| forged(id))?;
        let store = self.store().await?;
        let Some(value) = store.kept(&name_of(&turn)).await.map_err(journal)? else { return Ok(None) };
        let waiting: WaitingTurn = serde_json::from_slice(&value).map_err(|_| forged(id))?;
        if waiting.owner != owner_of(context) {
            return Err(forged(id).into());
        }
        Ok(Some((turn, waiting)))
    }

    async fn store(&self) -> Result<&Arc<dyn ConversationStore>, AgentError> {
        self.store.get().await.map_err(journal)
    }

    /// The key that ids are signed with: made once for a store, so that all who share it know each other's ids.
    async fn key(&self) -> Result<[u8; 32], AgentError> {
        let key = self.key.get_or_try_init(|| async {
            let store = self.store().await?;
            if let Some(key) = store.kept(KEY).await.map_err(journal)?
                && let Ok(key) = key.try_into()
            {
                return Ok(key);
            }
            let mut fresh = [0; 32];
            getrandom::fill(&mut fresh).map_err(|error| AgentError::Journal(error.to_string()))?;
            store.keep(KEY, &fresh, KEY_LIFE).await.map_err(journal)?;
            // Another gateway may have been later: whoever was last is right.
            let kept = store.kept(KEY).await.map_err(journal)?;
            Ok::<_, AgentError>(kept.and_then(|key| key.try_into().ok()).unwrap_or(fresh))
        });
        key.await.copied()
    }
}

/// What is put back for a request.
#[derive(Default)]
struct Restoring {
    /// The ids of calls whose results the caller brings, and what the model called them.
    names: HashMap<String, String>,
    /// Ids of calls whose turn is not kept any more.
    expired: HashSet<String>,
    /// What ran beside calls of the caller, by the first id of the message that has them.
    turns: HashMap<String, Vec<Message>>,
    /// What ran before a bound was reached, by the index of the message.
    stopped: HashMap<usize, PutBack>,
}

/// What ran before a bound was reached.
#[derive(Default)]
struct PutBack {
    added: Vec<Message>,
    /// Whether the message is the text that the caller was given in its stead.
    replaces: bool,
}

impl Restoring {
    fn segments(mut self, messages: Vec<Value>) -> Result<Vec<Segment>, BadRequest> {
        let mut segments = Segments::default();
        let count = messages.len();
        for (index, message) in messages.into_iter().enumerate() {
            if let Some(put_back) = self.stopped.remove(&index) {
                segments.neutral(put_back.added);
                if put_back.replaces {
                    continue;
                }
            }
            if message["role"] == "tool" {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                match self.names.get(id) {
                    Some(original) => segments.neutral(vec![result_message(&message, original)]),
                    None if id.starts_with(SIGNED) && !self.expired.contains(id) => return Err(forged(id)),
                    None => segments.plain.push(message),
                }
                continue;
            }
            let turn = signed_ids(&message).next().and_then(|first| self.turns.remove(first));
            match turn {
                Some(added) => segments.neutral(added),
                None => segments.plain.push(message),
            }
        }
        if let Some(put_back) = self.stopped.remove(&count) {
            segments.neutral(put_back.added);
        }
        segments.end();
        Ok(segments.all)
    }
}

/// Messages of the caller, as they came, and neutral ones between them.
#[derive(Default)]
struct Segments {
    all: Vec<Segment>,
    plain: Vec<Value>,
}

impl Segments {
    fn neutral(&mut self, messages: Vec<Message>) {
        self.end();
        self.all.push(Segment::Neutral(messages));
    }

    /// Ends the messages in a row that came from the caller.
    fn end(&mut self) {
        if !self.plain.is_empty() {
            self.all.push(Segment::Chat(std::mem::take(&mut self.plain)));
        }
    }
}

/// The id of ours that a result has.
fn stray_id(message: &Value) -> Option<&str> {
    message["tool_call_id"].as_str().filter(|id| message["role"] == "tool" && id.starts_with(SIGNED))
}

fn no_continuation() -> BadRequest {
    BadRequest::new(
        "gateway",
        "the continuation was not given to this caller, was changed, or is older than a week: send the request without it",
    )
}

/// Why a history cannot be put together.
pub(super) enum RestoreError {
    Request(BadRequest),
    Agent(AgentError),
}

impl From<BadRequest> for RestoreError {
    fn from(error: BadRequest) -> Self {
        Self::Request(error)
    }
}

impl From<AgentError> for RestoreError {
    fn from(error: AgentError) -> Self {
        Self::Agent(error)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the form that `map_err` wants")]
fn journal(error: gateway_store::conversations::ConversationError) -> AgentError {
    AgentError::Journal(error.to_string())
}

fn forged(id: &str) -> BadRequest {
    let shown: String = id.chars().take(80).collect();
    BadRequest::new(
        "messages",
        format!(
            "the tool call id `{shown}` looks like one of this gateway and was not given to this caller, or was changed"
        ),
    )
}

fn owner_of(context: &RequestContext) -> Option<String> {
    context.caller.as_ref().map(ToString::to_string)
}

fn name_of(turn: &[u8]) -> String {
    format!("completions/turn/{}", BASE64.encode(turn))
}

/// Whether a message of a request has a call or a result under an id of ours.
pub(super) fn is_ours(message: &Value) -> bool {
    signed_ids(message).next().is_some() || stray_id(message).is_some()
}

/// The ids of ours among the calls of a message.
fn signed_ids(message: &Value) -> impl Iterator<Item = &str> {
    let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    calls.iter().filter_map(|call| call["id"].as_str()).filter(|id| id.starts_with(SIGNED))
}

/// A result that the caller brings, for the call that the model called `id`.
fn result_message(message: &Value, id: &str) -> Message {
    let mut message = message.clone();
    message["tool_call_id"] = id.into();
    let said = Conversation { system: None, messages: vec![message] };
    let ids = IdMap::new(chat_dialect());
    let (mut read, _) = from_dialect(&said, Protocol::Chat, &TranslatedTools::default(), &ids);
    read.pop().unwrap_or_else(|| Message::new(Role::Tool, Content::Blocks(Vec::new())))
}

/// Neutral segments in a row as one, with the results of a turn in the order of its calls.
fn in_call_order(segments: Vec<Segment>) -> Vec<Segment> {
    let mut ordered: Vec<Segment> = Vec::new();
    for segment in segments {
        match (ordered.last_mut(), segment) {
            (Some(Segment::Neutral(before)), Segment::Neutral(more)) => before.extend(more),
            (_, segment) => ordered.push(segment),
        }
    }
    for segment in &mut ordered {
        if let Segment::Neutral(messages) = segment {
            sort_results(messages);
        }
    }
    ordered
}

/// Sorts the results behind each message of the model by the order of its calls.
fn sort_results(messages: &mut [Message]) {
    let calls_of = |message: &Message| -> Vec<String> {
        let blocks = message.content.blocks();
        blocks
            .iter()
            .filter_map(|block| match block {
                Block::ToolUse(call) => Some(call.id.clone()),
                _ => None,
            })
            .collect()
    };
    let answered = |message: &Message| {
        let blocks = message.content.blocks();
        blocks.iter().find_map(|block| match block {
            Block::ToolResult(result) => Some(result.tool_use_id.clone()),
            _ => None,
        })
    };
    let mut start = 0;
    while start < messages.len() {
        let calls = messages.get(start).map(calls_of).unwrap_or_default();
        let behind = messages.get_mut(start + 1..).unwrap_or_default();
        let count = behind.iter().take_while(|message| answered(message).is_some()).count();
        if let Some(results) = behind.get_mut(..count) {
            let place = |id: &Option<String>| calls.iter().position(|call| Some(call) == id.as_ref());
            results.sort_by_key(|message| place(&answered(message)).unwrap_or(usize::MAX));
        }
        start += count + 1;
    }
}
