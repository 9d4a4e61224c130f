//! Answers that are held for callers until they have read them.

use axum::body::{Body, HttpBody as _};
use axum::response::{IntoResponse as _, Response};
use gateway_upstream::{FREE_BYTES, ResultBudget};
use http::StatusCode;

use crate::errors::ApiError;
use crate::owner::Owner;

/// Counts a long answer among the results in flight, until it was written or its connection is gone. A caller who has not read
/// what it got before gets no more.
pub(super) async fn counted(budget: &ResultBudget, caller: Option<&Owner>, response: Response) -> Response {
    let free = u64::try_from(FREE_BYTES).unwrap_or(u64::MAX);
    let Some(bytes) = response.body().size_hint().exact().filter(|bytes| *bytes > free) else {
        return response;
    };
    let holder = caller.map_or_else(|| "callers".to_owned(), |caller| format!("caller {caller}"));
    let mut reservation = budget.reservation(holder);
    if !reservation.grow(usize::try_from(bytes).unwrap_or(usize::MAX)).await {
        let message = format!(
            "the tools ran, but their answer of {bytes} bytes was dropped: long answers that are not read yet take what they may of \
             `limits.resultBytes`; read them first, or ask for less"
        );
        return ApiError::overloaded(StatusCode::SERVICE_UNAVAILABLE, message, 1).into_response();
    }
    let (parts, body) = response.into_parts();
    // In one piece already, so that nothing is copied.
    match axum::body::to_bytes(body, usize::MAX).await {
        Ok(text) => Response::from_parts(parts, Body::from(reservation.attach(text))),
        Err(_) => Response::from_parts(parts, Body::empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long() -> Response {
        Response::new(Body::from(vec![b'x'; 100_000]))
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_who_does_not_read_gets_no_more_but_others_do() {
        let budget = ResultBudget::new(600_000);
        let (ann, bob) = (Owner::caller("ann"), Owner::caller("bob"));
        let mut unread = Vec::new();
        for _ in 0..3 {
            let response = counted(&budget, Some(&ann), long()).await;
            assert_eq!(response.status(), StatusCode::OK);
            unread.push(response);
        }
        assert_eq!(budget.used(), 300_000);
        let refused = counted(&budget, Some(&ann), long()).await;
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        let other = counted(&budget, Some(&bob), long()).await;
        assert_eq!(other.status(), StatusCode::OK);
        drop((unread, other));
        assert_eq!(budget.used(), 0, "what was read is free");
        let short = counted(&budget, Some(&ann), Response::new(Body::from("short"))).await;
        assert_eq!((short.status(), budget.used()), (StatusCode::OK, 0));
    }
}
