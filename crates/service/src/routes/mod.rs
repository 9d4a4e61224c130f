//! The routes.

mod approvals;
mod call_tool;
mod docs;
mod execute;
mod health;
mod history;
mod logs;
mod mcp;
mod metrics;
mod providers;
mod registry;
mod route;
mod servers;
mod stateless;
mod stream_body;
mod tool_request;
mod tools;

use axum_core::body::Body;
use axum_core::response::{IntoResponse as _, Response};
use bytes::Bytes;
use gateway_mcp::HttpRequest;
use http::request::Parts;
use http::{HeaderValue, Method, header};
use hyper::body::Body as _;
use tokio_util::sync::CancellationToken;

use self::tool_request::ToolRequest;
use crate::errors::ApiError;
use crate::gateway::Gateway;
use crate::metrics::Entered;
use crate::openapi::{Action, Route, path_parameter};
use crate::progress::{Answering, stream_of, wants_events};
use gateway_runtime::context::RequestContext;
use gateway_runtime::parameters::decoded;

pub(crate) use self::stream_body::is_stream;

/// Asks the handler of a route. The guard has found the route and read the body. An answer that is a stream of a call takes
/// `entered` along.
pub(crate) fn ask(
    (gateway, stopping): (&Gateway, &CancellationToken),
    route: &'static Route,
    context: RequestContext,
    parts: Parts,
    body: Bytes,
    entered: &mut Option<Entered>,
) -> Answering {
    let (own, counted) = (gateway.clone(), entered.clone());
    let is_call = matches!(route.action, Action::CallTool | Action::Execute);
    if is_call && wants_events(&parts.headers) {
        let stopping = stopping.clone();
        let call = move |context| handle((own, &stopping), route, context, parts, body, counted);
        return Box::pin(stream_of(gateway.clone(), context, entered.take(), call));
    }
    // Calls and messages of MCP look for repeated members where they read the body; all others have them sought here.
    let is_mcp = matches!(route.action, Action::Mcp(_));
    if !is_call
        && !is_mcp
        && let Some(repeated) = gateway_protocol::find_repeated(&body)
    {
        let refusal = ApiError::repeated(&repeated).into_response();
        return Box::pin(std::future::ready(refusal));
    }
    if parts.method == Method::HEAD {
        let answer = handle((own, stopping), route, context, parts, body, counted);
        return Box::pin(async move { without_body(answer.await) });
    }
    handle((own, stopping), route, context, parts, body, counted)
}

/// An answer to `HEAD`: its length says what `GET` would give.
fn without_body(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact() {
        parts.headers.entry(header::CONTENT_LENGTH).or_insert_with(|| HeaderValue::from(length));
    }
    Response::from_parts(parts, Body::empty())
}

/// What answers.
fn handle(
    (gateway, stopping): (Gateway, &CancellationToken),
    route: &'static Route,
    context: RequestContext,
    parts: Parts,
    body: Bytes,
    entered: Option<Entered>,
) -> Answering {
    // `+` means a blank only in a query.
    let decode = |given: &str| decoded(&given.replace('+', "%2B"));
    let named = path_parameter(route, parts.uri.path()).map(decode);
    let name = || named.clone().unwrap_or_default();
    let now = |response: Response| -> Answering { Box::pin(std::future::ready(response)) };
    let Parts { uri, headers, .. } = parts;
    match route.action {
        Action::Tools => Box::pin(tools::list(gateway, uri, headers)),
        Action::Render => Box::pin(tools::render(gateway, name(), uri, headers)),
        Action::Context => Box::pin(tools::context(gateway, name(), uri)),
        Action::Execute => {
            Box::pin(execute::execute(ToolRequest { gateway, context, uri, headers, body, entered }))
        }
        Action::CallTool => {
            Box::pin(call_tool::call_tool(ToolRequest { gateway, context, uri, headers, body, entered }))
        }
        Action::Route => {
            Box::pin(route::route(ToolRequest { gateway, context, uri, headers, body, entered }))
        }
        Action::Mcp(operation) => {
            let slot = entered.map(|entered| entered.slot());
            let request = HttpRequest { context, name: named, uri, headers, body, slot };
            Box::pin(mcp::answer(gateway, operation, request))
        }
        Action::Convert => Box::pin(stateless::convert(gateway, uri, body)),
        Action::Transform => Box::pin(stateless::transform(gateway, uri, body)),
        Action::History => Box::pin(history::history(gateway, body)),
        Action::Check => Box::pin(stateless::check(gateway, uri, body)),
        Action::Providers => now(providers::list(&gateway)),
        Action::Provider => now(providers::one(&gateway, &name())),
        Action::Logs => Box::pin(logs::logs(gateway, context, uri, headers, stopping.clone())),
        Action::Servers => now(servers::list(&gateway)),
        Action::ConnectServer => Box::pin(servers::connect(gateway, name())),
        Action::RestartServer => Box::pin(servers::restart(gateway, name())),
        Action::AcceptServer => Box::pin(servers::accept(gateway, name(), body)),
        Action::Health => Box::pin(health::health(gateway, context, uri)),
        Action::Live => now(health::live()),
        Action::Ready => now(health::ready(&gateway, &context, stopping)),
        Action::Metrics => now(metrics::metrics(&gateway, &uri, &headers)),
        Action::MetricsText => now(metrics::text(&gateway)),
        Action::Document => now(docs::json()),
        Action::Page => now(docs::page()),
        Action::Approvals => now(approvals::list(&gateway)),
        Action::Approve => now(approvals::decide(&gateway, &name(), &body)),
        Action::Registry => now(registry::list(&gateway)),
        Action::RegisterTool => Box::pin(registry::register(gateway, name(), body)),
        Action::UnregisterTool => now(registry::unregister(&gateway, &name())),
    }
}
