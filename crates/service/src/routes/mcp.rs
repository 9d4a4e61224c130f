//! `/mcp`: the gateway as an MCP server, mounted.

use std::convert::Infallible;

use axum_core::body::Body;
use axum_core::response::Response;
use futures_util::StreamExt as _;
use gateway_mcp::{HttpRequest, Operation};

use crate::counted::CountedBody;
use crate::gateway::Gateway;

/// Answers as the endpoint does, which counts its long messages itself.
pub(super) async fn answer(gateway: Gateway, operation: Operation, request: HttpRequest) -> Response {
    let mut response = gateway.mcp().answer(operation, request).await.map(|body| match body {
        gateway_mcp::Body::Empty => Body::empty(),
        gateway_mcp::Body::Message(text) => Body::from(text),
        gateway_mcp::Body::Events(events) => Body::from_stream(events.map(Ok::<_, Infallible>)),
    });
    response.extensions_mut().insert(CountedBody);
    response
}
