//! What one request holds of the budget for results.
//!
//! A long result is counted for its server until nobody needs the text any more, and from the moment in which the tool has
//! answered for the caller too, who gets an answer of about the same length. The caller's part lives until the last byte of
//! the answer was written or the reader went away, whatever way the answer goes: as one body, as an event, or on a pipe.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, HttpBody as _};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use gateway_protocol::{RawJson, RpcError, code as rpc};
use gateway_upstream::{FREE_BYTES, NoRoom, Reservation, ResultBudget};
use http::StatusCode;
use serde_json::json;

use crate::errors::{ApiError, ErrorStyle, code};
use crate::runtime::context::RequestContext;
use crate::runtime::owner::Owner;

/// Bytes that a request holds for its answer. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    reservation: Mutex<Option<Reservation>>,
    /// Whether the caller wants a precise status where the answer is dropped.
    is_precise: AtomicBool,
}

impl Held {
    /// Notes how the caller wants failures to be reported.
    pub(crate) fn set_style(&self, style: ErrorStyle) {
        self.0.is_precise.store(style == ErrorStyle::Precise, Ordering::Relaxed);
    }

    fn style(&self) -> ErrorStyle {
        if self.0.is_precise.load(Ordering::Relaxed) { ErrorStyle::Precise } else { ErrorStyle::Plain }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Reservation>> {
        self.0.reservation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks a response whose body is counted already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedBody;

/// There is no room for an answer; its calls have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    bytes: usize,
    limit: usize,
    style: ErrorStyle,
}

impl Dropped {
    /// Not that a tool ran: all results may be kept ones.
    fn message(self) -> String {
        let cause = NoRoom { limit: self.limit };
        format!("the calls have ended, but their answer of {} bytes was dropped: {cause}", self.bytes)
    }

    /// For plain HTTP. Nothing says that it may be tried again.
    pub(crate) fn into_api(self) -> ApiError {
        let status = match self.style {
            ErrorStyle::Plain => StatusCode::INTERNAL_SERVER_ERROR,
            ErrorStyle::Precise => StatusCode::BAD_GATEWAY,
        };
        ApiError::new(status, code::RESULT_DROPPED, self.message())
    }

    /// For MCP.
    pub(crate) fn into_rpc(self) -> RpcError {
        let data = RawJson::of(&json!({"code": code::RESULT_DROPPED})).ok();
        RpcError { code: rpc::INTERNAL_ERROR, message: self.message(), data }
    }
}

impl RequestContext {
    /// Counts a long result for the caller. `false` if there was no room in time.
    pub(crate) async fn hold(&self, budget: &ResultBudget, bytes: usize, is_fresh: bool) -> bool {
        let mut reservation = budget.reservation(holder(self.caller.as_ref()));
        // The text of the server is counted already, and it is the same result. A kept one is not.
        let beside = if is_fresh { bytes.saturating_add(FREE_BYTES) } else { 0 };
        if !reservation.grow_beside(bytes, beside).await {
            return false;
        }
        let mut held = self.held.lock();
        match &mut *held {
            Some(held) => held.absorb(reservation),
            None => *held = Some(reservation),
        }
        true
    }

    /// Counts an answer until it is dropped, in place of the results that it is made of.
    pub(crate) async fn count(&self, budget: &ResultBudget, text: Bytes) -> Result<Bytes, Dropped> {
        let reserved = self.held.lock().take();
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

    /// The same for a message of MCP, in whose place an error goes where there is no room.
    pub(crate) async fn count_message(
        &self,
        budget: &ResultBudget,
        text: Bytes,
        refusal: impl FnOnce(RpcError) -> Bytes,
    ) -> Bytes {
        if text.len() <= FREE_BYTES {
            return text;
        }
        self.count(budget, text).await.unwrap_or_else(|dropped| refusal(dropped.into_rpc()))
    }

    /// The same for the body of a response. Streams count their events themselves.
    pub(crate) async fn count_body(&self, budget: &ResultBudget, response: Response) -> Response {
        let free = u64::try_from(FREE_BYTES).unwrap_or(u64::MAX);
        let is_long = response.body().size_hint().exact().is_some_and(|bytes| bytes > free);
        if !is_long || response.extensions().get::<CountedBody>().is_some() {
            return response;
        }
        // Boxed: few answers are long, and all requests would carry the future along.
        Box::pin(self.count_long_body(budget, response)).await
    }

    async fn count_long_body(&self, budget: &ResultBudget, response: Response) -> Response {
        let (parts, body) = response.into_parts();
        // In one piece already, so that nothing is copied.
        let Ok(text) = axum::body::to_bytes(body, usize::MAX).await else {
            return Response::from_parts(parts, Body::empty());
        };
        match self.count(budget, text).await {
            Ok(text) => Response::from_parts(parts, Body::from(text)),
            Err(dropped) => dropped.into_api().into_response(),
        }
    }
}

/// A long text that is made of what a server sent keeps it, and so it stays counted for the server until it is written.
pub(crate) fn keeping(text: Bytes, source: &RawJson) -> Bytes {
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
pub(crate) fn holder(caller: Option<&Owner>) -> String {
    caller.map_or_else(|| "callers".to_owned(), |caller| format!("caller {caller}"))
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    fn request(caller: &str) -> RequestContext {
        RequestContext::of(&HeaderMap::new(), Some(Owner::caller(caller)))
    }

    async fn answered(budget: &ResultBudget, caller: &str) -> Response {
        request(caller).count_body(budget, Response::new(Body::from(vec![b'x'; 100_000]))).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_who_does_not_read_gets_no_more_but_others_do() {
        let budget = ResultBudget::new(600_000);
        let mut unread = Vec::new();
        for _ in 0..3 {
            let response = answered(&budget, "ann").await;
            assert_eq!(response.status(), StatusCode::OK);
            unread.push(response);
        }
        assert_eq!(budget.used(), 300_000);
        let refused = answered(&budget, "ann").await;
        assert_eq!(refused.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(refused.headers().get(http::header::RETRY_AFTER), None, "the tools ran");
        let other = answered(&budget, "bob").await;
        assert_eq!(other.status(), StatusCode::OK);
        drop((unread, other));
        assert_eq!(budget.used(), 0, "what was read is free");
        let short = request("ann").count_body(&budget, Response::new(Body::from("short"))).await;
        assert_eq!((short.status(), budget.used()), (StatusCode::OK, 0));
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
