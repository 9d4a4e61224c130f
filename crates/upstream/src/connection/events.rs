//! What the server sends of its own accord.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gateway_protocol::{Notification, RawJson, Request, RpcError, code, method, write_error, write_response};
use serde::Deserialize;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::ServerEvent;
use super::questions::Responder;
use super::refusals::Refusals;
use crate::results::ServerResults;

/// The notifications that must not be lost, because nothing else shows that a list is old.
const CHANGES: [&str; 3] = [method::TOOLS_CHANGED, method::RESOURCES_CHANGED, method::PROMPTS_CHANGED];

/// The mark behind those of the lists: the server has forgotten our subscriptions and settings.
const RENEWED: u8 = 1 << CHANGES.len();

/// Hands on what the server sends. A listener that is too slow misses notifications, but never that a list changed:
/// such notifications are kept as one mark each and delivered later.
#[derive(Debug)]
pub(super) struct EventSink {
    sender: mpsc::Sender<ServerEvent>,
    missed: AtomicU8,
    wake: Notify,
    /// The requests of the server that nobody has answered yet, by the text of their ids.
    open: Arc<Open>,
    refusals: Arc<Refusals>,
    /// Counts what the server sends.
    pub(super) results: ServerResults,
}

/// Requests of a server that it may take back.
type Open = Mutex<HashMap<Box<str>, Arc<CancellationToken>>>;

/// How much of the name of a method is kept for the log.
const METHOD_BYTES: usize = 400;

/// What a message of the server asks us to do.
#[derive(Debug)]
pub(super) enum Reaction {
    /// Send this message.
    Send(Vec<u8>),
    /// Send the answer when it is there.
    Await(Unanswered),
}

/// A request of the server that somebody is working on.
#[derive(Debug)]
pub(super) struct Unanswered {
    id: RawJson,
    method: Box<str>,
    refusals: Arc<Refusals>,
    answer: oneshot::Receiver<Result<RawJson, RpcError>>,
    withdrawn: Arc<CancellationToken>,
    open: Arc<Open>,
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Another one may have the same id by now.
        if open.get(self.id.as_str()).is_some_and(|token| Arc::ptr_eq(token, &self.withdrawn)) {
            open.remove(self.id.as_str());
        }
    }
}

impl Reaction {
    /// Gives no answer: the server asks faster than it takes answers.
    pub(super) fn leave(self) {
        match self {
            Self::Await(unanswered) => unanswered.refusals.note(&unanswered.method),
            Self::Send(_) => {}
        }
    }
}

impl Unanswered {
    /// Waits for the answer and writes it; there is none where the server took its request back.
    pub(super) async fn written(mut self, longest: Duration) -> Option<Vec<u8>> {
        let withdrawn = Arc::clone(&self.withdrawn);
        let waiting = timeout(longest, &mut self.answer);
        let outcome = match withdrawn.run_until_cancelled(waiting).await? {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(RpcError::new(code::METHOD_NOT_FOUND, "the client does not offer this method")),
            Err(_) => Err(RpcError::new(code::INTERNAL_ERROR, "the client gave no answer in time")),
        };
        if matches!(&outcome, Err(error) if error.code == code::METHOD_NOT_FOUND) {
            self.refusals.note(&self.method);
        }
        let mut out = Vec::new();
        match outcome {
            Ok(result) => write_response(&mut out, &self.id, &result),
            Err(error) => write_error(&mut out, &self.id, &error),
        }
        // The answer comes from elsewhere and may be a pretty text; on stdio a line end ends the message.
        out.retain(|byte| !matches!(byte, b'\n' | b'\r'));
        Some(out)
    }
}

impl EventSink {
    pub(super) fn new(sender: mpsc::Sender<ServerEvent>, refusals: Refusals, results: ServerResults) -> Self {
        let (missed, wake, open) = (AtomicU8::new(0), Notify::new(), Arc::default());
        Self { sender, missed, wake, open, refusals: Arc::new(refusals), results }
    }

    /// Takes a notification that belongs to no call.
    pub(super) fn notification(&self, notification: Notification) {
        if notification.method == method::CANCELLED {
            self.withdraw(&notification);
            return;
        }
        let change = change_bit(&notification.method);
        let sent = self.sender.try_send(ServerEvent::Notification(notification));
        if let (Some(bit), Err(mpsc::error::TrySendError::Full(_))) = (change, sent) {
            self.mark(bit);
        }
    }

    /// The server takes a request back: nobody is to answer it any more.
    fn withdraw(&self, notification: &Notification) {
        #[derive(Deserialize)]
        struct Cancelled {
            #[serde(rename = "requestId")]
            id: RawJson,
        }
        let Some(cancelled) = notification.params.as_ref().and_then(|params| params.read::<Cancelled>().ok())
        else {
            return;
        };
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = open.get(cancelled.id.as_str()) {
            token.cancel();
        }
    }

    /// Announces that every list may have changed, after a time in which the server could not.
    pub(super) fn everything_changed(&self) {
        self.mark((1 << CHANGES.len()) - 1);
    }

    /// Announces that the server has forgotten subscriptions and settings: it began a new session.
    pub(super) fn renewed(&self) {
        self.mark(RENEWED);
    }

    /// Takes a request of the server; for `responder`, where it is clear which call it belongs to.
    pub(super) fn request(&self, request: Request, responder: Option<&Responder>) -> Reaction {
        let id = request.id.clone();
        if request.method == method::PING {
            let mut out = Vec::new();
            write_response(&mut out, &id, &RawJson::empty_object());
            return Reaction::Send(out);
        }
        let end = request.method.floor_char_boundary(METHOD_BYTES);
        let method = request.method.get(..end).unwrap_or_default().into();
        let (answer, receiver) = oneshot::channel();
        let withdrawn = Arc::new(CancellationToken::new());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.insert(id.as_str().into(), Arc::clone(&withdrawn));
        drop(open);
        match responder {
            Some(responder) => responder.ask(request, answer, None),
            // Where the channel is full or closed, the sender of the answer is dropped, and that refuses the request.
            None => drop(self.sender.try_send(ServerEvent::Request { request, answer })),
        }
        let (open, refusals) = (Arc::clone(&self.open), Arc::clone(&self.refusals));
        Reaction::Await(Unanswered { id, method, refusals, answer: receiver, withdrawn, open })
    }

    /// Delivers missed changes for ever. Somebody who belongs to the connection has to poll it.
    pub(super) async fn keep_delivering(&self) {
        loop {
            self.wake.notified().await;
            while self.missed.load(Ordering::Acquire) != 0 {
                self.deliver_missed().await;
            }
        }
    }

    /// Delivers one missed change, as soon as there is room.
    async fn deliver_missed(&self) {
        match self.sender.reserve().await {
            Ok(permit) => {
                let missed = self.missed.load(Ordering::Acquire);
                let first = missed.trailing_zeros();
                let event = match CHANGES.get(first as usize) {
                    Some(change) => {
                        ServerEvent::Notification(Notification { method: (*change).to_owned(), params: None })
                    }
                    None if missed & RENEWED != 0 => ServerEvent::Renewed,
                    None => return,
                };
                self.missed.fetch_and(!(1 << first), Ordering::AcqRel);
                permit.send(event);
            }
            Err(_) => self.missed.store(0, Ordering::Release),
        }
    }

    fn mark(&self, bits: u8) {
        self.missed.fetch_or(bits, Ordering::AcqRel);
        self.wake.notify_one();
    }
}

fn change_bit(method: &str) -> Option<u8> {
    CHANGES.iter().position(|change| *change == method).map(|index| 1 << index)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn only_changed_lists_are_kept_for_later() {
        let (events, mut receiver) = mpsc::channel(1);
        let refusals = Refusals::new(gateway_config::UpstreamId::new("up"), Arc::default());
        let results = ServerResults::new(crate::results::ResultBudget::default(), "up");
        let sink = EventSink::new(events, refusals, results);
        let delivering = sink.keep_delivering();
        tokio::pin!(delivering);
        let mut next = || match receiver.try_recv() {
            Ok(ServerEvent::Notification(notification)) => Some(notification.method),
            _ => None,
        };
        let notification = |method: &str| Notification { method: method.to_owned(), params: None };
        sink.notification(notification(method::LOG_MESSAGE));
        sink.notification(notification("notifications/other"));
        for _ in 0..3 {
            sink.notification(notification(method::TOOLS_CHANGED));
            sink.notification(notification(method::PROMPTS_CHANGED));
        }
        let mut seen = Vec::new();
        for _ in 0..4 {
            assert!(delivering.as_mut().now_or_never().is_none());
            seen.push(next());
        }
        let expected = [method::LOG_MESSAGE, method::TOOLS_CHANGED, method::PROMPTS_CHANGED];
        let expected: Vec<_> =
            expected.map(|method| Some(method.to_owned())).into_iter().chain([None]).collect();
        assert_eq!(seen, expected);
    }
}
