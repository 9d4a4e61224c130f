//! `/mcp`: the gateway as an MCP server, mounted.

use std::convert::Infallible;

use axum_core::body::Body;
use axum_core::response::Response;
use futures_util::StreamExt as _;
use gateway_mcp::{HttpRequest, Operation};
use gateway_upstream::FREE_BYTES;

use crate::counted::CountedBody;
use crate::gateway::Gateway;

/// Answers as the endpoint does, which counts nearly all of its long messages itself.
pub(super) async fn answer(gateway: Gateway, operation: Operation, request: HttpRequest) -> Response {
    let response = gateway.mcp().answer(operation, request).await;
    let is_counted = matches!(response.body(), gateway_mcp::Body::Message(text) if text.len() > FREE_BYTES);
    let mut response = response.map(|body| match body {
        gateway_mcp::Body::Empty => Body::empty(),
        gateway_mcp::Body::Message(text) | gateway_mcp::Body::Uncounted(text) => Body::from(text),
        gateway_mcp::Body::Events(events) => Body::from_stream(events.map(Ok::<_, Infallible>)),
    });
    if is_counted {
        response.extensions_mut().insert(CountedBody);
    }
    response
}
