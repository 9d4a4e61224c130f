//! What all routes that run tools begin with.

use axum_core::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{HeaderMap, Uri, header};

use crate::errors::ApiError;
use crate::gateway::Gateway;
use crate::idempotency::IdempotencyKey;
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
        let key = match IdempotencyKey::of(headers, context.caller.clone(), uri.path(), uri.query(), body) {
            Ok(key) => key,
            Err(error) => return error.into_response(),
        };
        let Some(key) = key else {
            return run(self, query).await.unwrap_or_else(ApiError::into_response);
        };
        let gateway = self.gateway.clone();
        let (attached, detached) = gateway.metrics().detached();
        let work = Box::pin(run(self, query));
        let work = async move {
            let response = work.await.unwrap_or_else(ApiError::into_response);
            drop(detached);
            response
        };
        let answer = gateway.idempotency().run(key, work).await;
        drop(attached);
        answer.unwrap_or_else(ApiError::into_response)
    }
}

/// The type of a body, without its parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> &str {
    let given = headers.get(header::CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
    given.split(';').next().unwrap_or_default().trim()
}
