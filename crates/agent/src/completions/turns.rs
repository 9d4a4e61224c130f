//! Turns that wait for their caller: what ran here while the caller has to run calls of its own.
//!
//! The caller sees only its own calls, under ids that we sign. When it comes back with their results, everything that ran here is put
//! back in its place. What it takes is in the store, so this works after a restart too.

use std::collections::HashMap;
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
use hmac::{Hmac, Mac as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::Sha256;
use tokio::sync::OnceCell;

use super::BadRequest;
use crate::chat_dialect::chat_dialect;
use crate::error::AgentError;
use crate::history::{History, Segment};
use crate::store::Store;

/// What ids that we sign begin with.
const SIGNED: &str = "call_gw_";

/// How long a caller may take to come back.
const LIFE: Duration = Duration::from_hours(24 * 7);

/// How long the key is kept.
const KEY_LIFE: Duration = Duration::from_hours(24 * 365 * 10);

/// Where the key is kept.
const KEY: &str = "completions/key";

/// Bytes of a signature that are shown: 96 bits, which nobody guesses.
const SHOWN: usize = 12;

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
    ) -> Result<(), AgentError> {
        let turn = random_id();
        let ids = calls.iter().map(|call| call.id.as_str().to_owned()).collect();
        let waiting = WaitingTurn { owner: owner_of(context), added, ids };
        let value = serde_json::to_vec(&waiting).map_err(|error| AgentError::Journal(error.to_string()))?;
        let key = self.key().await?;
        let store = self.store().await?;
        store.keep(&name_of(turn.as_bytes()), &value, LIFE).await.map_err(journal)?;
        for (index, call) in calls.iter_mut().enumerate() {
            let index = u8::try_from(index).unwrap_or(u8::MAX);
            call.id = CallId::Given(signed(&key, turn.as_bytes(), index));
        }
        Ok(())
    }

    /// The history of a request, with everything that ran here in its place.
    pub(super) async fn restore(
        &self,
        messages: Vec<Value>,
        context: &RequestContext,
    ) -> Result<History, RestoreError> {
        if !messages.iter().any(|message| signed_ids(message).next().is_some()) {
            return Ok(History::of_chat(messages));
        }
        let mut segments = Vec::new();
        let mut plain = Vec::new();
        // The ids of calls whose results the caller brings, and what the model called them.
        let mut names: HashMap<String, String> = HashMap::new();
        for message in messages {
            let role = message["role"].as_str().unwrap_or_default().to_owned();
            if role == "tool" {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                match names.get(id).cloned() {
                    Some(original) => {
                        segments.push(Segment::Neutral(vec![result_message(&message, &original)]));
                    }
                    None if id.starts_with(SIGNED) => return Err(forged(id).into()),
                    None => plain.push(message),
                }
                continue;
            }
            let Some(first) = signed_ids(&message).next().map(str::to_owned) else {
                plain.push(message);
                continue;
            };
            let Some((turn, waiting)) = self.waiting(&first, context).await? else {
                // Signed by us and too old: what the caller has is all there is.
                plain.push(message);
                continue;
            };
            if !plain.is_empty() {
                segments.push(Segment::Chat(std::mem::take(&mut plain)));
            }
            let key = self.key().await?;
            for (index, original) in waiting.ids.iter().enumerate() {
                let index = u8::try_from(index).unwrap_or(u8::MAX);
                names.insert(signed(&key, &turn, index), original.clone());
            }
            if let Some(foreign) = signed_ids(&message).find(|id| !names.contains_key(*id)) {
                return Err(forged(foreign).into());
            }
            segments.push(Segment::Neutral(waiting.added));
        }
        if !plain.is_empty() {
            segments.push(Segment::Chat(plain));
        }
        Ok(History::of_segments(in_call_order(segments)))
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

/// The id of the call `index` of a turn.
fn signed(key: &[u8; 32], turn: &[u8], index: u8) -> String {
    let mut claims = turn.to_vec();
    claims.push(index);
    let mac = mac_over(key, &claims).map(|mac| mac.finalize().into_bytes());
    claims.extend(mac.into_iter().flatten().take(SHOWN));
    format!("{SIGNED}{}", BASE64.encode(claims))
}

/// The turn of an id, if we signed it.
fn verified(key: &[u8; 32], id: &str) -> Option<[u8; 16]> {
    let bytes = BASE64.decode(id.strip_prefix(SIGNED)?).ok()?;
    let (claims, shown) = bytes.split_at_checked(17)?;
    if shown.len() != SHOWN {
        return None;
    }
    mac_over(key, claims)?.verify_truncated_left(shown).ok()?;
    claims.get(..16)?.try_into().ok()
}

fn mac_over(key: &[u8; 32], claims: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(b"mcp-tool-gateway id of a call\0");
    mac.update(claims);
    Some(mac)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_known_again_and_cannot_be_changed() {
        let (key, turn) = ([7; 32], [9; 16]);
        let id = signed(&key, &turn, 3);
        assert_eq!(verified(&key, &id), Some(turn));
        assert_eq!(verified(&[8; 32], &id), None);
        assert_ne!(id, signed(&key, &turn, 4));
        let last = id.chars().last().unwrap();
        let other = if last == 'A' { 'B' } else { 'A' };
        assert_eq!(verified(&key, &format!("{}{other}", &id[..id.len() - 1])), None);
        for odd in ["call_gw_", "call_gw_!", "call_1", "call_gw_AAAA"] {
            assert_eq!(verified(&key, odd), None, "{odd}");
        }
        assert!(id.len() <= 64, "{id}");
    }
}
