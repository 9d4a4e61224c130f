//! The routes.

mod approvals;
mod call_tool;
mod execute;
mod health;
mod history;
mod logs;
mod metrics;
mod providers;
mod registry;
mod route;
mod servers;
mod stateless;
mod stream_body;
mod tool_request;
mod tools;

use std::pin::Pin;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, delete, get, post, put};
use axum::{Extension, Router};
use bytes::Bytes;
use http::Request;
use http::request::Parts;
use tokio_util::sync::CancellationToken;
use tower::Service as _;

use self::tool_request::ToolRequest;
use crate::errors::ApiError;
use crate::gateway::Gateway;
use crate::mcp;
use crate::metrics::Entered;
use crate::openapi::{self, Action, ROUTES};
use crate::progress::{stream_of, wants_events};
use crate::runtime::context::RequestContext;

pub(crate) use self::stateless::Turns;
pub(crate) use self::stream_body::is_stream;

/// All routes of the table. `stopping` ends streams when the gateway ends.
///
/// The guard has bounded the body and looked up the route, so that only requests that have one come here.
pub(crate) fn router(gateway: Gateway, stopping: &CancellationToken) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        router = router.route(route.path, handler(route.action, stopping));
    }
    router.layer(DefaultBodyLimit::disable()).with_state(gateway)
}

/// An answer on its way. Boxed, because what is on top of it is moved for every request.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// Asks a route. Calls are nearly all that a gateway is asked for, so they take the short way; all others go through the
/// router. An answer that is a stream of a call takes `entered` along.
pub(crate) fn ask(
    (gateway, router): (&Gateway, &Router),
    action: Action,
    context: RequestContext,
    mut parts: Parts,
    body: Bytes,
    entered: &mut Option<Entered>,
) -> Answering {
    match action {
        Action::CallTool | Action::Execute => {
            let (own, streams) = (gateway.clone(), wants_events(&parts.headers));
            let call = move |context: RequestContext| -> Answering {
                let Parts { uri, headers, .. } = parts;
                let request = ToolRequest { gateway: own, context, uri, headers, body };
                if action == Action::CallTool {
                    Box::pin(call_tool::call_tool(request))
                } else {
                    Box::pin(execute::execute(request))
                }
            };
            if streams {
                Box::pin(stream_of(gateway.clone(), context, entered.take(), call))
            } else {
                call(context)
            }
        }
        Action::McpPost if parts.uri.path() == mcp::PATH => {
            let (gateway, context) = (State(gateway.clone()), Extension(context));
            Box::pin(mcp::post(gateway, context, None, parts.headers, body))
        }
        // Calls and messages of MCP look for repeated members where they read the body; all others have them sought here.
        _ if !is_mcp(action)
            && let Some(repeated) = gateway_protocol::find_repeated(&body) =>
        {
            let refusal = ApiError::repeated(&repeated).into_response();
            Box::pin(std::future::ready(refusal))
        }
        _ => {
            parts.extensions.insert(context);
            let answer = router.clone().call(Request::from_parts(parts, Body::from(body)));
            Box::pin(async move {
                match answer.await {
                    Ok(response) => response,
                    Err(never) => match never {},
                }
            })
        }
    }
}

/// Whether a route takes messages of MCP, which are refused in their own way.
fn is_mcp(action: Action) -> bool {
    matches!(action, Action::McpPost | Action::McpApi)
}

/// What answers.
fn handler(action: Action, stopping: &CancellationToken) -> MethodRouter<Gateway> {
    let stopping = stopping.clone();
    match action {
        Action::Tools => get(tools::list),
        Action::Render => get(tools::render),
        Action::Context => get(tools::context),
        Action::Execute => post(execute::execute),
        Action::CallTool => post(call_tool::call_tool),
        Action::McpPost => post(mcp::post),
        Action::McpGet => get(mcp::get),
        Action::McpDelete => delete(mcp::delete),
        Action::McpEvents => get(mcp::events),
        Action::McpApi => post(mcp::api),
        Action::Convert => post(stateless::convert),
        Action::Transform => post(stateless::transform),
        Action::History => post(history::history),
        Action::Check => post(stateless::check),
        Action::Providers => get(providers::list),
        Action::Provider => get(providers::one),
        Action::Logs => {
            get(move |state, context, uri, headers| logs::logs(state, context, uri, headers, stopping))
        }
        Action::Servers => get(servers::list),
        Action::ConnectServer => post(servers::connect),
        Action::RestartServer => post(servers::restart),
        Action::AcceptServer => post(servers::accept),
        Action::Health => get(health::health),
        Action::Live => get(health::live),
        Action::Ready => get(async move |state, context| health::ready(&state, &context, &stopping)),
        Action::Metrics => get(metrics::metrics),
        Action::MetricsText => get(metrics::text),
        Action::Document => get(openapi::json),
        Action::Page => get(openapi::page),
        Action::Route => post(route::route),
        Action::Approvals => get(approvals::list),
        Action::Approve => post(approvals::decide),
        Action::Registry => get(registry::list),
        Action::RegisterTool => put(registry::register),
        Action::UnregisterTool => delete(registry::unregister),
    }
}
