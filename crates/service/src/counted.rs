//! Long answers over HTTP, counted until their last byte was written.

use axum_core::body::Body;
use axum_core::response::{IntoResponse as _, Response};
use gateway_upstream::{FREE_BYTES, ResultBudget};
use hyper::body::Body as _;

use crate::errors::{ApiError, collected};
use gateway_runtime::context::RequestContext;

/// Marks a response whose long body is counted already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedBody;

/// Whether the body of a response is long, and not counted yet. Streams count their events themselves.
pub(crate) fn needs_counting(response: &Response) -> bool {
    let free = u64::try_from(FREE_BYTES).unwrap_or(u64::MAX);
    let is_long = response.body().size_hint().exact().is_some_and(|bytes| bytes > free);
    is_long && response.extensions().get::<CountedBody>().is_none()
}

/// Counts the body of a response until it is dropped.
pub(crate) async fn count_body(
    context: &RequestContext,
    budget: &ResultBudget,
    response: Response,
) -> Response {
    let (parts, body) = response.into_parts();
    // In one piece already, so that nothing is copied.
    let Ok(text) = collected(body).await else {
        return Response::from_parts(parts, Body::empty());
    };
    match context.count(budget, text).await {
        Ok(text) => Response::from_parts(parts, Body::from(text)),
        Err(dropped) => ApiError::dropped(&dropped).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use gateway_runtime::owner::Owner;
    use http::StatusCode;

    use super::*;

    async fn answered(budget: &ResultBudget, caller: &str) -> Response {
        let context = RequestContext::new(Some(Owner::caller(caller)));
        let response = Response::new(Body::from(vec![b'x'; 100_000]));
        assert!(needs_counting(&response));
        count_body(&context, budget, response).await
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
        assert!(!needs_counting(&Response::new(Body::from("short"))));
    }
}
