//! What one request holds of the budget for results.
//!
//! A long result is counted for its server until nobody needs the text any more, and from the moment in which the tool has
//! answered for the caller too, who gets an answer of about the same length. The caller's part lives until the last byte of
//! the answer was written or the reader went away, whatever way the answer goes: as one body, as an event, or on a pipe.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use gateway_protocol::{RawJson, RpcError, code as rpc};
use gateway_upstream::{FREE_BYTES, NoRoom, Reservation, ResultBudget};
use serde_json::json;

use super::RequestContext;
use crate::failure::{ErrorStyle, code};
use crate::lock::locked;
use crate::owner::Owner;

/// What a request holds for its answer, and what was found out about it. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Held(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    reservation: Mutex<Option<Reservation>>,
    /// Whether the caller wants a precise status where the answer is dropped.
    is_precise: AtomicBool,
    provider: OnceLock<Arc<str>>,
}

impl Held {
    /// Notes how the caller wants failures to be reported.
    pub fn set_style(&self, style: ErrorStyle) {
        self.0.is_precise.store(style == ErrorStyle::Precise, Ordering::Relaxed);
    }

    /// Notes whose calls the request runs, for the figures.
    pub fn set_provider(&self, provider: Arc<str>) {
        let _ = self.0.provider.set(provider);
    }

    /// Whose calls the request runs, if it says so.
    pub fn provider(&self) -> Option<&str> {
        self.0.provider.get().map(|provider| &**provider)
    }

    fn style(&self) -> ErrorStyle {
        if self.0.is_precise.load(Ordering::Relaxed) { ErrorStyle::Precise } else { ErrorStyle::Plain }
    }
}

/// There is no room for an answer; its calls have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    bytes: usize,
    limit: usize,
    /// How failures are reported to the caller.
    pub style: ErrorStyle,
}

impl Dropped {
    /// Not that a tool ran: all results may be kept ones.
    pub fn message(self) -> String {
        let cause = NoRoom { limit: self.limit };
        format!("the calls have ended, but their answer of {} bytes was dropped: {cause}", self.bytes)
    }

    /// For MCP.
    pub fn into_rpc(self) -> RpcError {
        let data = RawJson::of(&json!({"code": code::RESULT_DROPPED})).ok();
        RpcError { code: rpc::INTERNAL_ERROR, message: self.message(), data }
    }
}

impl RequestContext {
    /// Counts a long result for the caller. `false` if there was no room in time.
    pub async fn hold(&self, budget: &ResultBudget, bytes: usize, is_fresh: bool) -> bool {
        let mut reservation = budget.reservation(holder(self.caller.as_ref()));
        // The text of the server is counted already, and it is the same result. A kept one is not.
        let beside = if is_fresh { bytes.saturating_add(FREE_BYTES) } else { 0 };
        if !reservation.grow_beside(bytes, beside).await {
            return false;
        }
        let mut held = locked(&self.held.0.reservation);
        match &mut *held {
            Some(held) => held.absorb(reservation),
            None => *held = Some(reservation),
        }
        true
    }

    /// Counts an answer until it is dropped, in place of the results that it is made of.
    pub async fn count(&self, budget: &ResultBudget, text: Bytes) -> Result<Bytes, Dropped> {
        let reserved = locked(&self.held.0.reservation).take();
        let bytes = text.len();
        if bytes <= FREE_BYTES {
            return Ok(text);
        }
        let mut reservation = reserved.unwrap_or_else(|| budget.reservation(holder(self.caller.as_ref())));
        // An envelope is no reason to drop what is inside.
        if bytes <= reservation.bytes().saturating_add(FREE_BYTES) {
            reservation.force(bytes);
        } else if !reservation.grow(bytes).await {
            return Err(Dropped { bytes, limit: budget.limit(), style: self.held.style() });
        }
        Ok(reservation.attach(text))
    }

    /// The same for a message of MCP; an error goes instead of it where there is no room.
    pub async fn count_message(
        &self,
        budget: &ResultBudget,
        text: Bytes,
        refusal: impl FnOnce(RpcError) -> Bytes,
    ) -> Bytes {
        if text.len() <= FREE_BYTES {
            return text;
        }
        // Boxed: few messages are long, and all requests would carry the future along.
        Box::pin(self.count(budget, text)).await.unwrap_or_else(|dropped| refusal(dropped.into_rpc()))
    }
}

/// A long text that is made of what a server sent keeps it, and so it stays counted for the server until it is written.
pub fn keeping(text: Bytes, source: &RawJson) -> Bytes {
    struct Made {
        text: Bytes,
        _source: RawJson,
    }
    impl AsRef<[u8]> for Made {
        fn as_ref(&self) -> &[u8] {
            &self.text
        }
    }
    if text.len() <= FREE_BYTES {
        return text;
    }
    Bytes::from_owner(Made { text, _source: source.clone() })
}

/// Whose bytes are counted together.
pub fn holder(caller: Option<&Owner>) -> String {
    caller.map_or_else(|| "callers".to_owned(), |caller| format!("caller {caller}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(caller: &str) -> RequestContext {
        RequestContext::new(Some(Owner::caller(caller)))
    }

    #[test]
    fn what_is_made_of_a_long_message_keeps_it_counted() {
        let budget = ResultBudget::new(1_000_000);
        let mut server = budget.reservation("server");
        server.force(100_000);
        let source = RawJson::parse(server.attach(format!("\"{}\"", "x".repeat(99_998)).into())).unwrap();
        let text = keeping(vec![b'y'; 100_000].into(), &source);
        drop(source);
        assert_eq!(budget.used(), 100_000);
        drop(text);
        assert_eq!(budget.used(), 0);
    }

    #[tokio::test]
    async fn results_are_held_until_their_answer_is_dropped() {
        let budget = ResultBudget::new(1_000_000);
        let context = request("ann");
        assert!(context.hold(&budget, 100_000, true).await && context.hold(&budget, 150_000, true).await);
        assert_eq!(budget.used(), 250_000);
        let text = context.count(&budget, vec![b'x'; 260_000].into()).await.unwrap();
        assert_eq!(budget.used(), 260_000, "the answer stands for its results");
        drop(text);
        assert_eq!(budget.used(), 0);
        assert!(context.hold(&budget, 100_000, true).await);
        drop(context);
        assert_eq!(budget.used(), 0, "a request that ends holds nothing");
    }
}
