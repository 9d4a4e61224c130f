//! The callers' side of a connection over two byte streams: how requests reach the task that owns it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gateway_config::UpstreamId;
use gateway_protocol::{RawJson, method, write_notification};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use super::call::{Call, Leaving};
use super::router::Waiting;
use super::status::Status;
use crate::error::CallError;

/// Requests that wait for the owner at most; more callers wait at the channel.
const QUEUE: usize = 256;

/// The callers' side of a connection whose messages share one stream.
#[derive(Debug)]
pub(super) struct StreamChannel {
    upstream: UpstreamId,
    status: Arc<Status>,
    next_id: AtomicU64,
    outgoing: mpsc::Sender<Outgoing>,
    /// Without a bound of its own: each entry belongs to a request that went through `outgoing`, and the owner empties
    /// both.
    left: mpsc::UnboundedSender<Left>,
}

/// The owner's side.
#[derive(Debug)]
pub(super) struct Inbox {
    pub(super) outgoing: mpsc::Receiver<Outgoing>,
    pub(super) left: mpsc::UnboundedReceiver<Left>,
}

/// A message of ours.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// Without its line end.
    pub(super) message: Vec<u8>,
    pub(super) request: Option<(u64, Waiting)>,
    /// Notified when a notification has been sent.
    pub(super) sent: Option<oneshot::Sender<()>>,
}

/// Somebody stopped waiting.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) id: u64,
    reason: &'static str,
    leaving: Leaving,
}

impl Left {
    /// The notification for the server, if it is to be notified.
    pub(super) fn message(&self) -> Option<Vec<u8>> {
        (self.leaving == Leaving::Cancels).then(|| cancelled(self.id, self.reason))
    }
}

/// `notifications/cancelled`.
pub(super) fn cancelled(id: u64, reason: &'static str) -> Vec<u8> {
    let (id, reason) = (id.to_string(), format!("\"{reason}\""));
    let mut message = Vec::with_capacity(128);
    let params = [("requestId", id.as_bytes()), ("reason", reason.as_bytes())];
    write_notification(&mut message, method::CANCELLED, &params, &[]);
    message
}

pub(super) const TIMED_OUT: &str = "no answer in time";
pub(super) const CALLER_LEFT: &str = "the caller went away";

/// The two ends of a channel.
pub(super) fn channel(upstream: &UpstreamId, status: &Arc<Status>) -> (StreamChannel, Inbox) {
    let (outgoing, outgoing_receiver) = mpsc::channel(QUEUE);
    let (left, left_receiver) = mpsc::unbounded_channel();
    let channel = StreamChannel {
        upstream: upstream.clone(),
        status: Arc::clone(status),
        next_id: AtomicU64::new(1),
        outgoing,
        left,
    };
    (channel, Inbox { outgoing: outgoing_receiver, left: left_receiver })
}

impl StreamChannel {
    /// Sends a request and waits for its answer. Dropping the future cancels it at the server.
    pub(super) async fn exchange(&self, call: &Call<'_>) -> Result<RawJson, CallError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut message = Vec::with_capacity(call.size_hint());
        call.write(&mut message, id);
        let (answer, receiver) = oneshot::channel();
        let owner = call.deadline.responder.as_ref().map(|responder| Arc::clone(responder.owner()));
        let waiting = Waiting { answer, progress: call.deadline.progress.clone(), kind: call.kind, owner };
        self.send(Outgoing { message, request: Some((id, waiting)), sent: None }, call).await?;
        let mut guard = LeaveGuard { channel: self, id, leaving: Some(call.leaving), reason: CALLER_LEFT };
        match call.deadline.wait(receiver).await {
            Ok(Ok(outcome)) => {
                guard.leaving = None;
                outcome
            }
            // The owner was ended by force.
            Ok(Err(_)) => {
                guard.leaving = None;
                Err(CallError::Lost { upstream: self.upstream.clone(), reason: self.reason() })
            }
            Err(waited) => {
                guard.reason = TIMED_OUT;
                Err(CallError::Timeout { upstream: self.upstream.clone(), waited })
            }
        }
    }

    /// Sends a notification and waits until it has been sent.
    pub(super) async fn notify(&self, call: &Call<'_>) -> Result<(), CallError> {
        let mut message = Vec::new();
        write_notification(&mut message, call.method, call.params, call.meta);
        let (sent, receiver) = oneshot::channel();
        self.send(Outgoing { message, request: None, sent: Some(sent) }, call).await?;
        match call.deadline.wait(receiver).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(self.unreachable()),
            Err(waited) => Err(CallError::Timeout { upstream: self.upstream.clone(), waited }),
        }
    }

    async fn send(&self, outgoing: Outgoing, call: &Call<'_>) -> Result<(), CallError> {
        let outgoing = match self.outgoing.try_send(outgoing) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Closed(_)) => return Err(self.unreachable()),
            Err(TrySendError::Full(outgoing)) => outgoing,
        };
        match call.deadline.wait(self.outgoing.send(outgoing)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(self.unreachable()),
            Err(_) => Err(CallError::Unreachable {
                upstream: self.upstream.clone(),
                reason: "it does not take requests".to_owned(),
            }),
        }
    }

    fn unreachable(&self) -> CallError {
        CallError::Unreachable { upstream: self.upstream.clone(), reason: self.reason() }
    }

    fn reason(&self) -> String {
        self.status.reason().map_or_else(|| "the connection is gone".to_owned(), |reason| reason.to_string())
    }
}

/// Notifies the owner when the caller stops waiting.
struct LeaveGuard<'a> {
    channel: &'a StreamChannel,
    id: u64,
    leaving: Option<Leaving>,
    reason: &'static str,
}

impl Drop for LeaveGuard<'_> {
    fn drop(&mut self) {
        if let Some(leaving) = self.leaving {
            // A closed channel means that the connection is over, and with it the request.
            let _ = self.channel.left.send(Left { id: self.id, reason: self.reason, leaving });
        }
    }
}

/// Answers those whose requests were never taken.
pub(super) async fn refuse_rest(mut inbox: Inbox, upstream: &UpstreamId, reason: &str) {
    inbox.outgoing.close();
    while let Some(outgoing) = inbox.outgoing.recv().await {
        if let Some((_, waiting)) = outgoing.request {
            let error = CallError::Unreachable { upstream: upstream.clone(), reason: reason.to_owned() };
            let _ = waiting.answer.send(Err(error));
        }
    }
}
