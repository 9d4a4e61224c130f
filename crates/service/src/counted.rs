//! Long answers over HTTP, counted until their last byte was written.

use axum_core::body::Body;
use axum_core::response::{IntoResponse as _, Response};
use gateway_upstream::{FREE_BYTES, ResultBudget};
use http::StatusCode;
use hyper::body::Body as _;

use crate::errors::{ApiError, code, collected};
use gateway_runtime::context::Dropped;
use gateway_runtime::context::RequestContext;
use gateway_runtime::failure::ErrorStyle;

/// Marks a response whose body is counted already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedBody;

/// The answer in the place of one that was dropped. Nothing says that it may be tried again.
pub(crate) fn dropped_response(dropped: &Dropped) -> Response {
    let status = match dropped.style {
        ErrorStyle::Plain => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorStyle::Precise => StatusCode::BAD_GATEWAY,
    };
    ApiError::new(status, code::RESULT_DROPPED, dropped.message()).into_response()
}

/// Counts the body of a response until it is dropped. Streams count their events themselves.
pub(crate) async fn count_body(
    context: &RequestContext,
    budget: &ResultBudget,
    response: Response,
) -> Response {
    let free = u64::try_from(FREE_BYTES).unwrap_or(u64::MAX);
    let is_long = response.body().size_hint().exact().is_some_and(|bytes| bytes > free);
    if !is_long || response.extensions().get::<CountedBody>().is_some() {
        return response;
    }
    // Boxed: few answers are long, and all requests would carry the future along.
    Box::pin(count_long_body(context, budget, response)).await
}

async fn count_long_body(context: &RequestContext, budget: &ResultBudget, response: Response) -> Response {
    let (parts, body) = response.into_parts();
    // In one piece already, so that nothing is copied.
    let Ok(text) = collected(body).await else {
        return Response::from_parts(parts, Body::empty());
    };
    match context.count(budget, text).await {
        Ok(text) => Response::from_parts(parts, Body::from(text)),
        Err(dropped) => dropped_response(&dropped),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gateway_runtime::owner::Owner;

    async fn answered(budget: &ResultBudget, caller: &str) -> Response {
        let context = RequestContext::new(Some(Owner::caller(caller)));
        count_body(&context, budget, Response::new(Body::from(vec![b'x'; 100_000]))).await
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
        let context = RequestContext::new(Some(Owner::caller("ann")));
        let short = count_body(&context, &budget, Response::new(Body::from("short"))).await;
        assert_eq!((short.status(), budget.used()), (StatusCode::OK, 0));
    }
}
