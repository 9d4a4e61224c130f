//! Where turns that wait for their caller are kept, and how much of them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use gateway_dialects::history::Message;
use gateway_runtime::context::random_id;
use gateway_runtime::lock::locked;
use gateway_store::conversations::{ConversationError, ConversationStore};
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::turns::Stopped;
use crate::error::AgentError;
use crate::store::Store;

/// How long a caller may take to come back.
const LIFE: Duration = Duration::from_hours(24 * 7);

/// How long the key is kept.
const KEY_LIFE: Duration = Duration::from_hours(24 * 365 * 10);

/// Where the key is kept.
const KEY: &str = "completions/key";

/// Bytes of one value of the store. A turn that is longer is kept in parts.
const PART: usize = 512 << 10;

/// Bytes of the turns of one caller. Whoever keeps more loses its oldest ones.
const OWNER_BYTES: usize = 64 << 20;

/// What a turn counts as at least, so that many small ones are bounded, too.
const LEAST_BYTES: usize = 1 << 10;

/// A turn that waits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WaitingTurn {
    /// Who may come back.
    pub(super) owner: Option<String>,
    /// What was said since the caller's last message.
    pub(super) added: Vec<Message>,
    /// The ids that the model gave to the calls of the caller, in the order of ours.
    pub(super) ids: Vec<String>,
    /// The continuation that the request brought: what it puts back comes before this.
    #[serde(default)]
    pub(super) after: Option<String>,
    /// Where it belongs if it waits for a continuation.
    #[serde(default)]
    pub(super) stopped: Option<Stopped>,
}

/// What stands in place of a turn that is kept in parts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    parts: usize,
}

/// The id of a turn.
pub(super) type TurnId = [u8; 16];

/// The store of turns.
#[derive(Clone, Debug)]
pub(super) struct KeptTurns {
    store: Store,
    key: Arc<OnceCell<[u8; 32]>>,
    /// The turns that this process has kept for each caller.
    counted: Arc<Mutex<HashMap<Option<String>, Counted>>>,
}

/// Turns of one caller, the oldest first, with their bytes.
#[derive(Debug, Default)]
struct Counted {
    turns: VecDeque<(TurnId, usize)>,
    bytes: usize,
}

impl Counted {
    /// Counts a turn, and gives those for which there is no room any more.
    fn add(&mut self, turn: TurnId, bytes: usize, most: usize) -> Vec<(TurnId, usize)> {
        let counted = |bytes: usize| bytes.max(LEAST_BYTES);
        self.turns.push_back((turn, bytes));
        self.bytes += counted(bytes);
        let mut gone = Vec::new();
        while self.bytes > most && self.turns.len() > 1 {
            let Some(oldest) = self.turns.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(counted(oldest.1));
            gone.push(oldest);
        }
        gone
    }
}

impl KeptTurns {
    pub(super) fn new(store: Store) -> Self {
        Self { store, key: Arc::default(), counted: Arc::default() }
    }

    /// Keeps a turn. Where its caller has too many, the oldest ones go.
    pub(super) async fn write(&self, waiting: &WaitingTurn) -> Result<TurnId, AgentError> {
        let turn = random_id().into_bytes();
        let value = serde_json::to_vec(waiting).map_err(|error| AgentError::Journal(error.to_string()))?;
        let store = self.store().await?;
        if value.len() <= PART {
            store.keep(&name_of(&turn), &value, LIFE).await.map_err(journal)?;
        } else {
            for (index, part) in value.chunks(PART).enumerate() {
                store.keep(&part_of(&turn, index), part, LIFE).await.map_err(journal)?;
            }
            let parts = Parts { parts: value.len().div_ceil(PART) };
            let parts = serde_json::to_vec(&parts).map_err(|error| AgentError::Journal(error.to_string()))?;
            store.keep(&name_of(&turn), &parts, LIFE).await.map_err(journal)?;
        }
        let gone = {
            let mut counted = locked(&self.counted);
            counted.entry(waiting.owner.clone()).or_default().add(turn, value.len(), OWNER_BYTES)
        };
        for (turn, bytes) in gone {
            // What cannot be removed now expires later.
            let _ = store.take(&name_of(&turn)).await;
            if bytes > PART {
                for index in 0..bytes.div_ceil(PART) {
                    let _ = store.take(&part_of(&turn, index)).await;
                }
            }
        }
        Ok(turn)
    }

    /// The bytes of a turn; `None` if it is not kept any more, or has more than `most`, which the error says.
    pub(super) async fn read(&self, turn: &TurnId, most: usize) -> Result<Option<Vec<u8>>, ReadError> {
        let store = self.store().await.map_err(ReadError::Store)?;
        let kept =
            async |name: String| store.kept(&name).await.map_err(|error| ReadError::Store(journal(error)));
        let Some(mut value) = kept(name_of(turn)).await? else { return Ok(None) };
        if let Ok(Parts { parts }) = serde_json::from_slice::<Parts>(&value) {
            value.clear();
            for index in 0..parts {
                let Some(part) = kept(part_of(turn, index)).await? else { return Ok(None) };
                value.extend_from_slice(&part);
                if value.len() > most {
                    return Err(ReadError::TooLong);
                }
            }
        }
        if value.len() > most { Err(ReadError::TooLong) } else { Ok(Some(value)) }
    }

    async fn store(&self) -> Result<&Arc<dyn ConversationStore>, AgentError> {
        self.store.get().await.map_err(journal)
    }

    /// The key that ids are signed with: made once for a store, so that all who share it know each other's ids.
    pub(super) async fn key(&self) -> Result<[u8; 32], AgentError> {
        let key = self.key.get_or_try_init(|| async {
            let store = self.store().await?;
            let kept = || async {
                let value = store.kept(KEY).await.map_err(journal)?;
                Ok::<_, AgentError>(value.and_then(|key| <[u8; 32]>::try_from(key).ok()))
            };
            if let Some(key) = kept().await? {
                return Ok(key);
            }
            let mut fresh = [0; 32];
            getrandom::fill(&mut fresh).map_err(|error| AgentError::Journal(error.to_string()))?;
            if store.keep_new(KEY, &fresh, KEY_LIFE).await.map_err(journal)? {
                return Ok(fresh);
            }
            // Another gateway was first. What is there and is no key was written by nobody whose ids could be known.
            if let Some(key) = kept().await? {
                return Ok(key);
            }
            store.keep(KEY, &fresh, KEY_LIFE).await.map_err(journal)?;
            Ok(fresh)
        });
        key.await.copied()
    }
}

/// Why a turn cannot be read.
pub(super) enum ReadError {
    /// It has more bytes than there is room for.
    TooLong,
    /// The store did not give it.
    Store(AgentError),
}

fn name_of(turn: &TurnId) -> String {
    format!("completions/turn/{}", BASE64.encode(turn))
}

fn part_of(turn: &TurnId, index: usize) -> String {
    format!("{}/{index}", name_of(turn))
}

#[expect(clippy::needless_pass_by_value, reason = "the form that `map_err` wants")]
fn journal(error: ConversationError) -> AgentError {
    AgentError::Journal(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_turns_of_a_caller_make_room() {
        let mut counted = Counted::default();
        let turn = |number: u8| [number; 16];
        let most = 10 * LEAST_BYTES;
        assert_eq!(counted.add(turn(1), 4 * LEAST_BYTES, most), []);
        // A small one counts as the least.
        assert_eq!(counted.add(turn(2), 1, most), []);
        assert_eq!(counted.add(turn(3), 5 * LEAST_BYTES, most), []);
        assert_eq!(counted.add(turn(4), 2, most), [(turn(1), 4 * LEAST_BYTES)]);
        // One that is too long by itself stays until the next one comes.
        let gone = counted.add(turn(5), 11 * LEAST_BYTES, most);
        assert_eq!(gone.iter().map(|(turn, _)| turn[0]).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(counted.add(turn(6), 1, most), [(turn(5), 11 * LEAST_BYTES)]);
    }
}
