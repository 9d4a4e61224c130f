//! Turns that wait for their caller: what ran here while the caller has to run calls of its own, or before a bound was reached.
//!
//! The caller sees only its own calls, under ids that we sign, or the text that says that a bound was reached, with a signed continuation.
//! When it comes back with results or with the continuation, everything that ran here is put back in its place. What it takes is in the
//! store, so this works after a restart too.

use std::collections::{HashMap, HashSet};

use gateway_dialects::calls::{CallId, ToolCall};
use gateway_dialects::dialect::Protocol;
use gateway_dialects::history::{Block, Content, Conversation, Message, Role, TranslatedTools, from_dialect};
use gateway_dialects::results::IdMap;
use gateway_runtime::context::RequestContext;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::BadRequest;
use super::kept_turns::{KeptTurns, ReadError, TurnId, WaitingTurn};
use super::signing::{SIGNED, continuation, continued, signed, verified};
use crate::chat_dialect::chat_dialect;
use crate::error::AgentError;
use crate::history::{History, Segment, chat_text};
use crate::store::Store;

/// How many continuations of one conversation follow each other at most.
const MOST_IN_A_ROW: usize = 100;

/// Bytes of turns that are put back into one request. An id is short, and the turn behind it need not be.
const RESTORED_BYTES: usize = 8 << 20;

/// Turns that wait for their caller.
#[derive(Clone, Debug)]
pub(super) struct Turns(KeptTurns);

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
        Self(KeptTurns::new(store))
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
        let (key, turn) = (self.0.key().await?, self.0.write(&waiting).await?);
        for (index, call) in calls.iter_mut().enumerate() {
            let index = u16::try_from(index)
                .map_err(|_| AgentError::Journal("the turn has more calls than ids".to_owned()))?;
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
        Ok(continuation(&self.0.key().await?, &self.0.write(&waiting).await?))
    }

    /// The history of a request, with everything that ran here in its place.
    pub(super) async fn restore(
        &self,
        messages: Vec<Value>,
        continuation: Option<String>,
        context: &RequestContext,
    ) -> Result<History, RestoreError> {
        if continuation.is_none() && !messages.iter().any(is_ours) {
            return Ok(History::of_chat(messages));
        }
        let mut restoring = Restoring::new(self.0.key().await?);
        let mut room = RESTORED_BYTES;
        // Continuations; the newest is the last.
        let mut wanted = Vec::new();
        for message in &messages {
            let Some(first) = signed_ids(message).next() else { continue };
            let (turn, _) = verified(&restoring.key, first).ok_or_else(|| forged(first))?;
            if !restoring.ids.contains_key(&turn) && !restoring.expired.contains(&turn) {
                match self.waiting(&turn, context, &mut room).await? {
                    Some(waiting) => {
                        // A turn after a continuation needs it again, though the caller need not know.
                        wanted.extend(waiting.after);
                        restoring.ids.insert(turn, waiting.ids);
                        restoring.turns.insert(first.to_owned(), waiting.added);
                    }
                    // Signed by us and too old: what the caller has is all there is.
                    None => {
                        restoring.expired.insert(turn);
                    }
                }
            } else if restoring.ids.contains_key(&turn) && !restoring.turns.contains_key(first) {
                // The caller has written the calls of one turn as several messages.
                restoring.parts.insert(first.to_owned());
            }
            if let Some(foreign) = signed_ids(message).find(|id| !restoring.is_of(id, &turn)) {
                return Err(forged(foreign).into());
            }
        }
        if continuation.is_some() || !wanted.is_empty() {
            restoring.stopped = self.stopped(continuation, wanted, &messages, (context, &mut room)).await?;
        }
        Ok(History::of_segments(in_call_order(restoring.segments(messages)?)))
    }

    /// The turns that reached a bound and go on, by where they belong: that of the request's own continuation, and those before it.
    async fn stopped(
        &self,
        asked: Option<String>,
        mut wanted: Vec<String>,
        messages: &[Value],
        (context, room): (&RequestContext, &mut usize),
    ) -> Result<HashMap<usize, PutBack>, RestoreError> {
        let mut found: HashMap<usize, PutBack> = HashMap::new();
        let mut seen = HashSet::new();
        let key = self.0.key().await?;
        wanted.extend(asked.clone());
        // From the newest to the oldest, so that of several equal texts each finds its own.
        let mut end = messages.len();
        while let Some(text) = wanted.pop().filter(|_| seen.len() < MOST_IN_A_ROW) {
            let turn = continued(&key, &text).ok_or_else(no_continuation)?;
            if !seen.insert(turn) {
                continue;
            }
            let value = match self.read(&turn, room).await? {
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

    /// A turn that waits for results; `None` if it is not kept any more.
    async fn waiting(
        &self,
        turn: &TurnId,
        context: &RequestContext,
        room: &mut usize,
    ) -> Result<Option<WaitingTurn>, RestoreError> {
        let Some(value) = self.read(turn, room).await? else { return Ok(None) };
        let waiting = serde_json::from_slice(&value).ok();
        let waiting = waiting.filter(|waiting: &WaitingTurn| waiting.owner == owner_of(context));
        waiting.map(Some).ok_or_else(|| not_given().into())
    }

    /// The bytes of a turn, as far as the request has room for them.
    async fn read(&self, turn: &TurnId, room: &mut usize) -> Result<Option<Vec<u8>>, RestoreError> {
        let value = self.0.read(turn, *room).await.map_err(|error| match error {
            ReadError::TooLong => RestoreError::Request(too_long()),
            ReadError::Store(error) => RestoreError::Agent(error),
        })?;
        *room = room.saturating_sub(value.as_ref().map_or(0, Vec::len));
        Ok(value)
    }
}

/// What is put back for a request.
struct Restoring {
    key: [u8; 32],
    /// The ids that the model gave to the calls of each turn.
    ids: HashMap<TurnId, Vec<String>>,
    /// Turns that are not kept any more.
    expired: HashSet<TurnId>,
    /// What ran beside calls of the caller, by the first id of the message that has them.
    turns: HashMap<String, Vec<Message>>,
    /// The first ids of messages with further calls of a turn that has been put back whole.
    parts: HashSet<String>,
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
    fn new(key: [u8; 32]) -> Self {
        Self {
            key,
            ids: HashMap::new(),
            expired: HashSet::new(),
            turns: HashMap::new(),
            parts: HashSet::new(),
            stopped: HashMap::new(),
        }
    }

    /// Whether an id is of a call of this turn.
    fn is_of(&self, id: &str, turn: &TurnId) -> bool {
        let Some((of, index)) = verified(&self.key, id) else { return false };
        of == *turn && self.ids.get(turn).is_none_or(|ids| index < ids.len())
    }

    /// What the model called a call whose result the caller brings; `None` if its turn is not kept any more, or the id is not ours.
    fn original(&self, id: &str) -> Result<Option<&str>, BadRequest> {
        if !id.starts_with(SIGNED) {
            return Ok(None);
        }
        let (turn, index) = verified(&self.key, id).ok_or_else(|| forged(id))?;
        if self.expired.contains(&turn) {
            return Ok(None);
        }
        let known = self.ids.get(&turn).and_then(|ids| ids.get(index));
        known.map(|original| Some(original.as_str())).ok_or_else(|| forged(id))
    }

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
                match self.original(id)? {
                    Some(original) => segments.neutral(vec![result_message(&message, original)]),
                    None => segments.plain.push(message),
                }
                continue;
            }
            let first = signed_ids(&message).next();
            match first.and_then(|first| self.turns.remove(first)) {
                Some(added) => segments.neutral(added),
                None if first.is_some_and(|first| self.parts.contains(first)) => {}
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

fn too_long() -> BadRequest {
    let most = RESTORED_BYTES >> 20;
    BadRequest::new(
        "messages",
        format!(
            "the calls that ran here and belong to this history have more than {most} MiB: send fewer of its messages, or begin anew"
        ),
    )
}

fn not_given() -> BadRequest {
    BadRequest::new("messages", "a tool call id of this gateway in the history was not given to this caller")
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
