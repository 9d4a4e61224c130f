//! Brings messages that came on one shared stream to those who wait for them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use gateway_config::UpstreamId;
use gateway_protocol::{
    Addressee, IdScanner, Incoming, Notification, RawJson, RequestId, Response, find_id, method,
    parse_message,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::call::{CallKind, Progress, progress_token};
use super::events::{EventSink, Reaction};
use super::questions::LINGER;
use super::status::Status;
use crate::error::CallError;
use crate::long_work;

/// Somebody who waits for an answer.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) answer: oneshot::Sender<Result<RawJson, CallError>>,
    pub(super) progress: Option<Arc<Progress>>,
    pub(super) kind: CallKind,
    /// Whose call it is, where somebody answers for it.
    pub(super) owner: Option<Arc<str>>,
}

/// The requests in flight on one stream, and where everything else goes.
#[derive(Debug)]
pub(super) struct Router {
    pub(super) upstream: UpstreamId,
    pub(super) limit: usize,
    pub(super) events: Arc<EventSink>,
    pub(super) status: Arc<Status>,
    pending: BTreeMap<u64, Entry>,
    /// The owner of the call that was given up last, and when: its last words may be on their way.
    given_up: Option<(Instant, Option<Arc<str>>)>,
}

/// Why a message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SkipCause {
    /// It is longer than any may be.
    TooLong,
    /// There is no room for it beside other results.
    NoRoom,
}

#[derive(Debug)]
struct Entry {
    waiting: Waiting,
    /// Where its last byte stands among all bytes that were to be written.
    end: u64,
}

impl Router {
    pub(super) fn new(
        upstream: UpstreamId,
        limit: usize,
        events: Arc<EventSink>,
        status: Arc<Status>,
    ) -> Self {
        Self { upstream, limit, events, status, pending: BTreeMap::new(), given_up: None }
    }

    /// Adds a request whose last byte stands at `end`.
    pub(super) fn add(&mut self, id: u64, waiting: Waiting, end: u64) {
        self.pending.insert(id, Entry { waiting, end });
    }

    /// How many requests wait for an answer.
    pub(super) fn in_flight(&self) -> usize {
        self.pending.len()
    }

    /// Forgets a request. Whether it was still waiting.
    pub(super) fn forget(&mut self, id: u64) -> bool {
        let Some(entry) = self.pending.remove(&id) else { return false };
        self.given_up = Some((Instant::now(), entry.waiting.owner));
        true
    }

    /// Ends one request without an answer.
    pub(super) fn fail(&mut self, id: u64, error: CallError) {
        if let Some(entry) = self.pending.remove(&id) {
            let _ = entry.waiting.answer.send(Err(error));
        }
    }

    /// Ends every request. Those whose bytes did not all leave us cannot have run.
    pub(super) fn lose_all(&mut self, written: u64, reason: &str) {
        for entry in std::mem::take(&mut self.pending).into_values() {
            let (upstream, reason) = (self.upstream.clone(), reason.to_owned());
            // Without its line end a message may still be read when the stream closes.
            let error = if written + 1 < entry.end {
                CallError::Unreachable { upstream, reason }
            } else {
                CallError::Lost { upstream, reason }
            };
            let _ = entry.waiting.answer.send(Err(error));
        }
    }

    /// Takes one message: an answer, a notification, a request, or several of them in a list.
    pub(super) fn accept(&mut self, text: &Bytes, reactions: &mut Vec<Reaction>) {
        if text.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match long_work::reading(text.len(), || parse_message(text.clone())) {
            Ok(Incoming::Response(Response { id, outcome })) => {
                let Some(id) = self.answered(&id) else { return self.status.note_noise(text) };
                let refused = |error| CallError::Refused { upstream: self.upstream.clone(), error };
                // An answer that comes late, or whose caller has left, is not wanted.
                if let Some(entry) = self.pending.remove(&id) {
                    let _ = entry.waiting.answer.send(outcome.map_err(refused));
                }
            }
            Ok(Incoming::Notification(notification)) => self.notification(notification),
            Ok(Incoming::Request(request)) => reactions.push(self.events.request(request, None)),
            Err(_) => match parse_batch(text) {
                Some(messages) => {
                    for message in messages {
                        self.accept(&message, reactions);
                    }
                }
                None => self.malformed(text),
            },
        }
    }

    /// Takes a line that is no message. One that was meant to be an answer ends its call at once: the server will not send
    /// another.
    fn malformed(&mut self, text: &Bytes) {
        self.status.note_noise(text);
        if is_no_response(text) || !looks_like_answer(text) {
            return;
        }
        let (head, tail) = text.split_at(text.len().min(ENDS));
        let tail = tail.get(tail.len().saturating_sub(ENDS)..).unwrap_or_default();
        let id = match find_id(head, tail) {
            Some(id) => Some(id).filter(|id| self.pending.contains_key(id)),
            None => self.only_plain(),
        };
        if let Some(id) = id {
            let reason =
                if std::str::from_utf8(text).is_err() { "it is not UTF-8" } else { "it is not JSON" };
            let (upstream, reason) = (self.upstream.clone(), reason.to_owned());
            self.fail(id, CallError::Malformed { upstream, reason, raw: None });
        }
    }

    /// The one call in flight, if it is the only one.
    fn only_plain(&self) -> Option<u64> {
        let mut plain = self.pending.iter().filter(|(_, entry)| entry.waiting.kind == CallKind::Plain);
        match (plain.next(), plain.next()) {
            (Some((id, _)), None) => Some(*id),
            _ => None,
        }
    }

    /// The request that an answer is for.
    fn answered(&self, id: &RequestId) -> Option<u64> {
        match id {
            // A server that could not read a request cannot name it; with one in flight it is clear which it was.
            RequestId::Null if self.pending.len() == 1 => self.pending.keys().next().copied(),
            id => id.number(),
        }
    }

    fn notification(&mut self, notification: Notification) {
        match notification.method.as_str() {
            method::PROGRESS => {
                let entry = progress_token(&notification).and_then(|id| self.pending.get(&id));
                // Progress of a request that is over is late and of no use to anybody.
                if let Some(progress) = entry.and_then(|entry| entry.waiting.progress.as_ref()) {
                    progress.note(notification);
                }
            }
            method::CANCELLED => {
                // MCP 2026-07-28, Subscriptions: the server ends a subscription so. A legacy server names its own
                // requests, whose numbers may be ours by chance.
                let listen = cancelled_id(&notification).filter(|id| {
                    self.pending.get(id).is_some_and(|entry| entry.waiting.kind == CallKind::Listen)
                });
                match listen {
                    Some(id) => {
                        let (upstream, reason) = (self.upstream.clone(), "the server ended the subscription");
                        self.fail(id, CallError::Lost { upstream, reason: reason.to_owned() });
                    }
                    None => self.events.notification(notification),
                }
            }
            method::ACKNOWLEDGED => {
                let entry = subscription_id(&notification).and_then(|id| self.pending.get(&id));
                if let Some(progress) = entry.and_then(|entry| entry.waiting.progress.as_ref()) {
                    progress.hand_on(notification);
                }
            }
            // With one call in flight it is clear what the server speaks of, and the message stays before the answer.
            method::LOG_MESSAGE => match self.only_watched() {
                Some(progress) => progress.hand_on(notification),
                None => self.events.notification(notification),
            },
            _ => self.events.notification(notification),
        }
    }

    /// The one call in flight, if somebody wants to see what it says.
    fn only_watched(&self) -> Option<&Arc<Progress>> {
        let mut plain = self.pending.values().filter(|entry| entry.waiting.kind == CallKind::Plain);
        let (Some(only), None) = (plain.next(), plain.next()) else { return None };
        if let Some((since, owner)) = &self.given_up
            && since.elapsed() < LINGER
            && *owner != only.waiting.owner
        {
            return None;
        }
        only.waiting.progress.as_ref().filter(|progress| progress.is_watched())
    }

    /// A message has begun that is not taken. `true` if it is clear whose it is.
    pub(super) fn skip_begins(&mut self, head: &[u8], cause: SkipCause) -> bool {
        if is_no_response(head) {
            self.status.note_noise(head);
            return true;
        }
        match find_id(head, b"") {
            Some(id) if self.pending.contains_key(&id) => {
                self.fail(id, self.skipped(cause));
                true
            }
            _ => false,
        }
    }

    /// A message is over that was not taken, and that was nobody's so far.
    pub(super) fn skip_ends(&mut self, head: &[u8], tail: &[u8], scanner: &IdScanner, cause: SkipCause) {
        match scanner.addressee() {
            // Something that is no JSON may still show its id at one of its ends.
            Addressee::Unknown => match find_id(head, tail) {
                Some(id) => self.fail(id, self.skipped(cause)),
                None => self.skip_for_all(cause),
            },
            found => self.skip_for(found, cause),
        }
    }

    /// The message for `addressee` was not taken.
    pub(super) fn skip_for(&mut self, addressee: Addressee, cause: SkipCause) {
        match addressee {
            // The answer to a request that is over already is nobody's loss.
            Addressee::Request(id) => self.fail(id, self.skipped(cause)),
            Addressee::NoRequest => {}
            Addressee::Unknown => self.skip_for_all(cause),
        }
    }

    /// Nobody knows whose the message was that is not taken, so nobody can be left waiting.
    pub(super) fn skip_for_all(&mut self, cause: SkipCause) {
        let plain: Vec<u64> = self
            .pending
            .iter()
            .filter(|(_, entry)| entry.waiting.kind == CallKind::Plain)
            .map(|(id, _)| *id)
            .collect();
        for id in plain {
            self.fail(id, self.skipped(cause));
        }
    }

    fn skipped(&self, cause: SkipCause) -> CallError {
        let upstream = self.upstream.clone();
        match cause {
            SkipCause::TooLong => CallError::TooLong { upstream, limit: self.limit },
            SkipCause::NoRoom => CallError::ResultDropped { upstream, limit: self.events.results.limit() },
        }
    }
}

/// How much of a broken line is looked at on each end, to find its id.
const ENDS: usize = 4 * 1024;

/// Whether a broken line was meant to be an answer: programs print much, but not this.
fn looks_like_answer(text: &[u8]) -> bool {
    let head = text.get(..text.len().min(ENDS)).unwrap_or_default();
    let has = |word: &[u8]| head.windows(word.len()).any(|window| window == word);
    head.trim_ascii_start().first() == Some(&b'{')
        && has(b"\"jsonrpc\"")
        && (has(b"\"result\"") || has(b"\"error\""))
}

/// Whether the beginning of a message shows that it is a request or a notification.
fn is_no_response(head: &[u8]) -> bool {
    let mut braces = head.iter().enumerate().filter(|(_, byte)| **byte == b'{').map(|(index, _)| index);
    let opening = braces.nth(1).and_then(|nested| head.get(..nested)).unwrap_or(head);
    opening.windows(8).any(|window| window == b"\"method\"")
        && !opening.windows(8).any(|window| window == b"\"result\"")
}

fn cancelled_id(notification: &Notification) -> Option<u64> {
    #[derive(Deserialize)]
    struct Cancelled {
        #[serde(rename = "requestId")]
        id: RequestId,
    }
    notification.params.as_ref()?.read::<Cancelled>().ok()?.id.number()
}

/// The subscription that a notification belongs to.
fn subscription_id(notification: &Notification) -> Option<u64> {
    #[derive(Deserialize)]
    struct Meta {
        #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
        id: RequestId,
    }
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "_meta")]
        meta: Meta,
    }
    notification.params.as_ref()?.read::<Params>().ok()?.meta.id.number()
}

/// The messages of a batch, which 2025-03-26 allowed. They share the memory of `text`.
fn parse_batch(text: &Bytes) -> Option<Vec<Bytes>> {
    /// A list in a list would be no batch, so one look is enough.
    fn is_list(text: &[u8]) -> bool {
        text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
    }
    if !is_list(text) {
        return None;
    }
    let messages: Vec<&RawValue> = serde_json::from_slice(text).ok()?;
    let messages: Vec<Bytes> =
        messages.iter().map(|message| text.slice_ref(message.get().as_bytes())).collect();
    (!messages.iter().any(|message| is_list(message))).then_some(messages)
}
