//! Conversations in Redis, as other programs can read them: `conversation:{id}` is the whole conversation as JSON, and the sorted set
//! `conversations:list` has the ids, scored by the time of the update in seconds.
//!
//! The client is our own: ten commands need no library of twenty crates, and answers are bounded.

mod pool;
mod resp;

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use jiff::SignedDuration;

use self::{
    pool::{Connection, Pool},
    resp::{Fault, Reply},
};
use super::{
    Answer, ConversationStore,
    document::{self, Document, Others},
    error::ConversationError,
    head::Head,
    id::ConversationId,
    options::ConversationOptions,
    page::{ConversationFilter, ConversationPage, Cursor, Filling},
    types::{Conversation, Expected, NewConversation, Saved, Scope, Update},
};
use crate::address::Address;

/// Conversations in Redis 6.2 or later. Several gateways can share one.
#[derive(Debug)]
pub struct RedisConversations {
    place: Arc<str>,
    options: ConversationOptions,
    pool: Pool,
    sweeping: Sweeping,
}

const LIST: &[u8] = b"conversations:list";
/// The value and its hash, by which [`REPLACE`] knows it again.
const READ: &[u8] = b"local value = redis.call('GET', KEYS[1])
if not value then return false end
return {value, redis.sha1hex(value)}";
/// Replaces a value if it still has this hash, or creates it if the hash is empty: 1, or 0 if it is another one. The whole value is
/// compared, so that a change by a program that counts no versions is noticed too.
const REPLACE: &[u8] = b"local value = redis.call('GET', KEYS[1])
local hash = ''
if value then hash = redis.sha1hex(value) end
if hash ~= ARGV[1] then return 0 end
if ARGV[5] == '' then redis.call('SET', KEYS[1], ARGV[2]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[5]) end
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[4])
return 1";
const DELETE: &[u8] = b"redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1])";
/// Removes an id from the list unless it has got a value meanwhile.
const FORGET: &[u8] =
    b"if redis.call('EXISTS', KEYS[1]) == 0 then return redis.call('ZREM', KEYS[2], ARGV[1]) end
return 0";

/// Removes ids of the list that are older than a time and have no value any more: how many it has looked at, and how many it has removed.
const SWEEP: &[u8] =
    b"local ids = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', ARGV[2], ARGV[3])
local removed = 0
for _, id in ipairs(ids) do
  if redis.call('EXISTS', ARGV[4] .. id) == 0 then removed = removed + redis.call('ZREM', KEYS[1], id) end
end
return {#ids, removed}";

/// Ids that are looked at in one step.
const SWEEP_STEP: usize = 100;
const SWEEP_INTERVAL: i64 = 60_000_000;

/// When to look for ids whose values have expired, in microseconds, and how many of the oldest are known to have one.
#[derive(Debug)]
struct Sweeping {
    at: AtomicI64,
    skip: AtomicUsize,
}

/// Ids that are read at once, and conversations that are requested at once: these can be large.
const IDS: usize = 64;
const VALUES: usize = 8;

/// Why an operation was not done.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error(transparent)]
    Rule(#[from] ConversationError),
    #[error(transparent)]
    Redis(#[from] Fault),
}

/// A conversation as it was read.
struct Found {
    head: Head,
    messages: Vec<Box<serde_json::value::RawValue>>,
    others: Others,
    hash: Vec<u8>,
}

impl RedisConversations {
    /// Connects to a server, and asks it whether it is there.
    pub async fn open(address: &Address, options: &ConversationOptions) -> Result<Self, ConversationError> {
        let place: Arc<str> = format!("`{address}`").into();
        // Conversations that were larger before can still be read.
        let max_reply = options.max_bytes.saturating_mul(4).max(64 << 20);
        let pool = Pool::new(address, options.connections, max_reply).map_err(|cause| {
            let (place, attempt) = (Arc::clone(&place), "connecting");
            ConversationError::Unavailable { place, attempt, cause: cause.into() }
        })?;
        let sweeping = Sweeping { at: AtomicI64::new(i64::MIN), skip: AtomicUsize::new(0) };
        let store = Self { place, options: options.clone(), pool, sweeping };
        store.ping().await?;
        Ok(store)
    }

    /// Runs an operation within its deadline.
    fn run<'a, T: Send + 'a>(
        &'a self,
        attempt: &'static str,
        work: impl Future<Output = Result<T, Refusal>> + Send + 'a,
    ) -> Answer<'a, T> {
        let within = self.options.deadline;
        Box::pin(async move {
            let place = || Arc::clone(&self.place);
            match tokio::time::timeout(within, work).await {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(Refusal::Rule(error))) => Err(error),
                Ok(Err(Refusal::Redis(cause))) => {
                    Err(ConversationError::Unavailable { place: place(), attempt, cause: cause.into() })
                }
                Err(_) => {
                    // What one connection waits for in vain, the others do too.
                    self.pool.clear();
                    Err(ConversationError::Timeout { place: place(), attempt, within })
                }
            }
        })
    }

    async fn call(&self, command: &[&[u8]]) -> Result<Reply, Fault> {
        self.pool.with(async |connection: &mut Connection| connection.call(command).await).await
    }

    async fn eval(&self, script: &[u8], id: ConversationId, arguments: &[&[u8]]) -> Result<Reply, Fault> {
        let key = key(id);
        let fixed: [&[u8]; 5] = [b"EVAL", script, b"2", key.as_bytes(), LIST];
        let command: Vec<&[u8]> = fixed.into_iter().chain(arguments.iter().copied()).collect();
        self.call(&command).await
    }

    /// Sweeps in what is left of the time since `begun`: whether it works is not the affair of who has written something.
    async fn sweep_after(&self, begun: Instant) {
        let left = self.options.deadline.saturating_sub(begun.elapsed()) / 2;
        if tokio::time::timeout(left, self.sweep()).await.is_err() {
            tracing::warn!("Removing ids of old conversations takes too long.");
        }
    }

    /// Values expire by themselves; their ids are removed from the list once a minute, some at a time.
    async fn sweep(&self) {
        let (now, Sweeping { at, skip }) = (self.options.micros(), &self.sweeping);
        if self.options.ttl.is_none() || now < at.load(Ordering::Relaxed) {
            return;
        }
        at.store(now.saturating_add(SWEEP_INTERVAL), Ordering::Relaxed);
        let before = format!("({}", score(self.options.gone_before()));
        let (from, step) = (skip.load(Ordering::Relaxed), SWEEP_STEP.to_string());
        let arguments = [before, from.to_string(), step, PREFIX.to_owned()];
        let fixed: [&[u8]; 4] = [b"EVAL", SWEEP, b"1", LIST];
        let command: Vec<&[u8]> = fixed.into_iter().chain(arguments.iter().map(String::as_bytes)).collect();
        match self.call(&command).await {
            Ok(Reply::List(counts)) => {
                let count = |index| match counts.get(index) {
                    Some(Reply::Integer(count)) => usize::try_from(*count).unwrap_or(0),
                    _ => 0,
                };
                let (seen, removed) = (count(0), count(1));
                let is_full = seen >= SWEEP_STEP;
                skip.store(if is_full { from + seen.saturating_sub(removed) } else { 0 }, Ordering::Relaxed);
                if is_full {
                    at.store(now, Ordering::Relaxed);
                }
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "Ids of old conversations could not be removed."),
        }
    }

    /// A conversation of this scope.
    async fn find(&self, scope: &Scope, id: ConversationId) -> Result<Option<Found>, Fault> {
        let (value, hash) = match self.eval(READ, id, &[]).await {
            Err(fault) if is_other_type(&fault) => {
                damaged(id);
                return Ok(None);
            }
            reply => match reply? {
                Reply::Missing => return Ok(None),
                Reply::List(list) => match <[Reply; 2]>::try_from(list) {
                    Ok([Reply::Bytes(value), Reply::Bytes(hash)]) => (value, hash),
                    _ => return Err(Fault::Unexpected("no value")),
                },
                _ => return Err(Fault::Unexpected("no value")),
            },
        };
        let Some((head, document)) = read_document(id, &value) else { return Ok(None) };
        if !scope.contains(head.owner.as_deref()) {
            return Ok(None);
        }
        let messages = document.messages().unwrap_or_default().into_iter().map(ToOwned::to_owned).collect();
        Ok(Some(Found { head, messages, others: document.others(), hash }))
    }

    /// Writes a conversation over the value with this hash; `false` if there is another value by now.
    async fn replace(&self, hash: &[u8], new: &Conversation, others: &Others) -> Result<bool, Fault> {
        let expiry = self.options.ttl.map(|ttl| ttl.as_millis().max(1).to_string()).unwrap_or_default();
        let reply = self
            .eval(
                REPLACE,
                new.id,
                &[
                    hash,
                    &document::write(new, others),
                    score(new.updated_at.as_microsecond()).as_bytes(),
                    new.id.to_string().as_bytes(),
                    expiry.as_bytes(),
                ],
            )
            .await;
        match reply {
            Err(fault) if is_other_type(&fault) => Ok(false),
            reply => integer(&reply?).map(|done| done == 1),
        }
    }

    async fn update_one(
        &self,
        scope: &Scope,
        id: ConversationId,
        expected: &Expected,
        update: &Update,
    ) -> Result<Saved, Refusal> {
        loop {
            let found = self.find(scope, id).await?.ok_or(ConversationError::NotFound)?;
            let head = found.head.updated(expected, update, &self.options)?;
            let saved = head.saved();
            let mut messages = update.replace.clone().unwrap_or(found.messages);
            messages.extend(update.append.iter().cloned());
            if self.replace(&found.hash, &head.with(messages), &found.others).await? {
                return Ok(saved);
            }
            // Somebody was faster: whether that is a conflict is decided by what they wrote. Of all who try, one succeeds.
        }
    }

    async fn page(&self, filter: &ConversationFilter) -> Result<ConversationPage, Fault> {
        let mut page = Filling::new(filter, self.options.deadline);
        let mut position = filter.after.map(|at| Listed { id: at.id.to_string(), updated_at: at.updated_at });
        // How many at the time of the position were there before it.
        let mut known = 0;
        loop {
            let ids = self.ids(position.as_ref(), known).await?;
            let is_last = ids.len() < IDS;
            let new: Vec<Listed> =
                ids.into_iter().filter(|listed| position.as_ref().is_none_or(|at| listed < at)).collect();
            known = if new.is_empty() { known + IDS } else { 0 };
            for part in new.chunks(VALUES) {
                if page.is_over() || self.add(part, filter, &mut page).await? == Room::None {
                    return Ok(page.more());
                }
            }
            if is_last {
                return Ok(page.last());
            }
            position = new.into_iter().next_back().or(position);
        }
    }

    /// Ids in the order of the list, from a position on.
    async fn ids(&self, position: Option<&Listed>, skip: usize) -> Result<Vec<Listed>, Fault> {
        // Times are floating point numbers there: a little more than wanted is read, and what is known left out.
        let from = position.map_or("+inf".to_owned(), |at| score(at.updated_at.saturating_add(1)));
        let (skip, count) = (skip.to_string(), IDS.to_string());
        let limit: [&[u8]; 4] = [b"LIMIT", skip.as_bytes(), count.as_bytes(), b"WITHSCORES"];
        let range: [&[u8]; 6] = [b"ZRANGE", LIST, from.as_bytes(), b"-inf", b"BYSCORE", b"REV"];
        let command: Vec<&[u8]> = range.into_iter().chain(limit).collect();
        let Reply::List(list) = self.call(&command).await? else { return Err(Fault::Unexpected("no list")) };
        let listed = list.chunks(2).map(|pair| match pair {
            [Reply::Bytes(id), Reply::Bytes(score)] => Ok(Listed {
                // Anybody can add a score that is no time: it comes first or last.
                updated_at: micros(score),
                id: String::from_utf8_lossy(id).into_owned(),
            }),
            _ => Err(Fault::Unexpected("no score")),
        });
        listed.collect()
    }

    /// Adds those of the conversations that match, as long as there is room.
    async fn add(
        &self,
        ids: &[Listed],
        filter: &ConversationFilter,
        page: &mut Filling,
    ) -> Result<Room, Fault> {
        let needle = filter.needle();
        let keys: Vec<String> = ids.iter().map(|listed| format!("{PREFIX}{}", listed.id)).collect();
        let commands: Vec<[&[u8]; 2]> = keys.iter().map(|key| [&b"GET"[..], key.as_bytes()]).collect();
        let commands: Vec<&[&[u8]]> = commands.iter().map(|command| &command[..]).collect();
        let mut room = Room::Some;
        let mut gone = Vec::new();
        let read = async |connection: &mut Connection| {
            connection.send(&commands).await?;
            for listed in ids {
                let value = match connection.next().await {
                    Err(fault) if is_other_type(&fault) => {
                        tracing::warn!(id = listed.id, "{DAMAGED}");
                        continue;
                    }
                    reply => reply?,
                };
                // Anybody can add something to the list that is no conversation.
                let Ok(id) = listed.id.parse() else { continue };
                let Reply::Bytes(value) = value else {
                    gone.push(id);
                    continue;
                };
                if page.is_full() {
                    room = Room::None;
                    continue;
                }
                page.pass(Cursor { updated_at: listed.updated_at, id });
                let Some((head, document)) = read_document(id, &value) else { continue };
                let found = needle.as_ref().is_none_or(|needle| {
                    let messages = document.messages().unwrap_or_default();
                    needle.is_in_title(&head.title)
                        || messages.iter().any(|message| needle.is_in_message(message.get()))
                });
                if found && filter.scope.contains(head.owner.as_deref()) {
                    page.add(head.summary());
                }
            }
            Ok(())
        };
        self.pool.with(read).await?;
        for id in gone {
            self.eval(FORGET, id, &[id.to_string().as_bytes()]).await?;
        }
        Ok(room)
    }
}

/// Whether a page took everything that it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Some,
    None,
}

/// An id of the list and its time. Those with a later time, then those with a larger id, come first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Listed {
    updated_at: i64,
    id: String,
}

/// The conversation in a value. What is damaged counts as missing.
fn read_document(id: ConversationId, value: &[u8]) -> Option<(Head, Document<'_>)> {
    let document = Document::parse(value);
    let read = document.and_then(|document| Some((document.head(id)?, document)));
    if read.is_none() {
        damaged(id);
    }
    read
}

const DAMAGED: &str = "A conversation in Redis is damaged and treated as missing.";

fn damaged(id: ConversationId) {
    tracing::warn!(%id, "{DAMAGED}");
}

/// Whether a key has a value that is no text, such as a hash. Scripts have Redis' words in their own.
fn is_other_type(fault: &Fault) -> bool {
    matches!(fault, Fault::Refused(text) if text.contains("WRONGTYPE"))
}

/// What keys of conversations begin with.
const PREFIX: &str = "conversation:";

fn key(id: ConversationId) -> String {
    format!("{PREFIX}{id}")
}

/// The key of a kept value.
fn kept_key(key: &str) -> Vec<u8> {
    [b"conversations:kept:", key.as_bytes()].concat()
}

/// A time in seconds, as the list has it.
fn score(micros: i64) -> String {
    let micros = micros.max(0);
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// The time of a score, in microseconds; the last or the first of all times if it is no time.
fn micros(score: &[u8]) -> i64 {
    let seconds: f64 = std::str::from_utf8(score).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::MIN);
    let time = SignedDuration::try_from_secs_f64(seconds).ok();
    let micros = time.and_then(|time| i64::try_from((time.as_nanos() + 500).div_euclid(1000)).ok());
    micros.unwrap_or(if seconds > 0.0 { i64::MAX } else { i64::MIN })
}

fn integer(reply: &Reply) -> Result<i64, Fault> {
    match reply {
        Reply::Integer(number) => Ok(*number),
        _ => Err(Fault::Unexpected("no number")),
    }
}

fn value(reply: Reply) -> Result<Option<Vec<u8>>, Refusal> {
    match reply {
        Reply::Bytes(value) => Ok(Some(value)),
        Reply::Missing => Ok(None),
        _ => Err(Fault::Unexpected("no value").into()),
    }
}

impl ConversationStore for RedisConversations {
    fn create(&self, new: NewConversation) -> Answer<'_, Saved> {
        self.run("creating one", async move {
            let begun = Instant::now();
            let head = Head::of_new(&new, &self.options)?;
            let saved = head.saved();
            let done = self.replace(b"", &head.with(new.messages), &Others::new()).await?;
            self.sweep_after(begun).await;
            if done { Ok(saved) } else { Err(ConversationError::Exists.into()) }
        })
    }

    fn get<'a>(&'a self, scope: &'a Scope, id: ConversationId) -> Answer<'a, Option<Conversation>> {
        self.run("reading one", async move {
            Ok(self.find(scope, id).await?.map(|found| found.head.with(found.messages)))
        })
    }

    fn list<'a>(&'a self, filter: &'a ConversationFilter) -> Answer<'a, ConversationPage> {
        self.run("listing", async move { Ok(self.page(filter).await?) })
    }

    fn update<'a>(
        &'a self,
        scope: &'a Scope,
        id: ConversationId,
        expected: Expected,
        update: Update,
    ) -> Answer<'a, Saved> {
        self.run("updating one", async move {
            let begun = Instant::now();
            let saved = self.update_one(scope, id, &expected, &update).await?;
            self.sweep_after(begun).await;
            Ok(saved)
        })
    }

    fn delete<'a>(&'a self, scope: &'a Scope, id: ConversationId) -> Answer<'a, bool> {
        self.run("deleting one", async move {
            if self.find(scope, id).await?.is_none() {
                return Ok(false);
            }
            let deleted = self.eval(DELETE, id, &[id.to_string().as_bytes()]).await?;
            Ok(integer(&deleted)? == 1)
        })
    }

    fn ping(&self) -> Answer<'_, ()> {
        self.run("looking whether it works", async move {
            match self.call(&[b"PING"]).await? {
                Reply::Status(_) => Ok(()),
                _ => Err(Fault::Unexpected("no answer to PING").into()),
            }
        })
    }

    fn keep<'a>(&'a self, key: &'a str, value: &'a [u8], ttl: Duration) -> Answer<'a, ()> {
        self.run("keeping a value", async move {
            self.options.check_kept(key, value)?;
            let millis = ttl.as_millis().max(1).to_string();
            self.call(&[b"SET", &kept_key(key), value, b"PX", millis.as_bytes()]).await?;
            Ok(())
        })
    }

    fn keep_new<'a>(&'a self, key: &'a str, value: &'a [u8], ttl: Duration) -> Answer<'a, bool> {
        self.run("keeping a new value", async move {
            self.options.check_kept(key, value)?;
            let millis = ttl.as_millis().max(1).to_string();
            let reply = self.call(&[b"SET", &kept_key(key), value, b"NX", b"PX", millis.as_bytes()]).await?;
            Ok(matches!(reply, Reply::Status(_)))
        })
    }

    fn kept<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Vec<u8>>> {
        self.run("reading a value", async move { value(self.call(&[b"GET", &kept_key(key)]).await?) })
    }

    fn take<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Vec<u8>>> {
        self.run("taking a value", async move { value(self.call(&[b"GETDEL", &kept_key(key)]).await?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_a_time_to_the_microsecond() {
        for (time, text) in [(1_762_164_000_123_456, "1762164000.123456"), (1, "0.000001"), (-7, "0.000000")]
        {
            assert_eq!(score(time), text);
        }
        // As Redis writes them, with all digits of a floating point number.
        for (text, time) in [
            ("1762164000.1234560013", 1_762_164_000_123_456),
            ("1762164000", 1_762_164_000_000_000),
            ("-1.5", -1_500_000),
            ("inf", i64::MAX),
            ("1e300", i64::MAX),
            ("-inf", i64::MIN),
            ("x", i64::MIN),
        ] {
            assert_eq!(micros(text.as_bytes()), time, "{text}");
        }
    }
}
