//! What all routes that run tools begin with.

use axum_core::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Uri};

use crate::errors::ApiError;
use crate::gateway::Gateway;
use crate::idempotency::answered;
use crate::runtime::context::RequestContext;
use crate::runtime::failure::ErrorStyle;
use crate::runtime::parameters::Parameters;

/// A request that runs tools, at most once under an `Idempotency-Key`.
#[derive(Debug)]
pub(super) struct ToolRequest {
    pub(super) gateway: Gateway,
    pub(super) context: RequestContext,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
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
    pub(super) async fn answered<F>(self, run: impl FnOnce(Work) -> F) -> Response
    where
        F: Future<Output = Result<Response, ApiError>> + Send + 'static,
    {
        let Self { gateway, context, uri, headers, body } = self;
        let query = Parameters::of_query(uri.query());
        if query.get("errors") == Some("precise") {
            context.held.set_style(ErrorStyle::Precise);
        }
        let work = Work { gateway: gateway.clone(), context: context.clone(), query, body: body.clone() };
        answered((gateway.idempotency(), gateway.metrics()), &headers, &context, &uri, &body, || run(work))
            .await
    }
}
