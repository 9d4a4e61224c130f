//! What all routes that run tools begin with.

use axum_core::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{HeaderMap, Uri};

use crate::errors::ApiError;
use crate::gateway::Gateway;
use crate::idempotency::IdempotencyKey;
use crate::metrics::Entered;
use gateway_runtime::context::RequestContext;
use gateway_runtime::failure::ErrorStyle;
use gateway_runtime::parameters::Parameters;

/// A request that runs tools, at most once under an `Idempotency-Key`.
#[derive(Debug)]
pub(super) struct ToolRequest {
    pub(super) gateway: Gateway,
    pub(super) context: RequestContext,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The request counts as one at work as long as its tools run.
    pub(super) entered: Option<Entered>,
}

/// What a route works on.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) gateway: Gateway,
    pub(super) context: RequestContext,
    pub(super) query: Parameters,
    pub(super) body: Bytes,
}

impl ToolRequest {
    /// Answers with what `run` gives, or with what it gave before under the same key.
    ///
    /// The work is begun where it is awaited: its future is large, and moving it costs more than much of what it does.
    pub(super) async fn answered<F>(self, run: impl FnOnce(Work) -> F) -> Response
    where
        F: Future<Output = Result<Response, ApiError>> + Send + 'static,
    {
        let Self { gateway, context, uri, headers, body, entered } = self;
        let query = Parameters::of_query(uri.query());
        if query.get("errors") == Some("precise") {
            context.held.set_style(ErrorStyle::Precise);
        }
        let caller = context.caller.clone();
        let key = match IdempotencyKey::of(&headers, caller, uri.path(), uri.query(), &body) {
            Ok(key) => key,
            Err(error) => return error.into_response(),
        };
        let Some(key) = key else {
            let work = run(Work { gateway, context, query, body });
            return work.await.unwrap_or_else(ApiError::into_response);
        };
        let work = Box::pin(run(Work { gateway: gateway.clone(), context, query, body }));
        let work = async move {
            let response = work.await.unwrap_or_else(ApiError::into_response);
            drop(entered);
            response
        };
        gateway.idempotency().run(key, work).await.unwrap_or_else(ApiError::into_response)
    }
}
