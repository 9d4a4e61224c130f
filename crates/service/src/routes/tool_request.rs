//! What all routes that run tools begin with.

use axum_core::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::FutureExt as _;
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
    pub(super) _entered: Option<Entered>,
}

impl ToolRequest {
    /// Answers with what `run` gives, or with what it gave before under the same key.
    ///
    /// The work is begun where it is awaited: its future is large, and moving it costs more than much of what it does.
    pub(super) async fn answered<F>(self, run: impl FnOnce(Self, Parameters) -> F) -> Response
    where
        F: Future<Output = Result<Response, ApiError>> + Send + 'static,
    {
        let Self { context, uri, headers, body, .. } = &self;
        let query = Parameters::of_query(uri.query());
        if query.get("errors") == Some("precise") {
            context.held.set_style(ErrorStyle::Precise);
        }
        let key = IdempotencyKey::of(headers, context.caller.as_ref(), uri.path(), uri.query(), body);
        let outcome = match key {
            Ok(None) => run(self, query).await,
            Ok(Some(key)) => {
                let gateway = self.gateway.clone();
                let work = run(self, query).map(|outcome| outcome.unwrap_or_else(ApiError::into_response));
                gateway.state.idempotency.run(key, Box::pin(work)).await
            }
            Err(error) => Err(error),
        };
        outcome.unwrap_or_else(ApiError::into_response)
    }
}
