//! The routes.

mod call_tool;
mod execute;
mod health;
mod logs;
mod metrics;
mod providers;
mod servers;
mod stateless;
mod tools;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{MethodRouter, delete, get, post};
use tokio_util::sync::CancellationToken;

use crate::gateway::Gateway;
use crate::mcp;
use crate::openapi::{self, Action, ROUTES};

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
        Action::Check => post(stateless::check),
        Action::Providers => get(providers::list),
        Action::Provider => get(providers::one),
        Action::Logs => get(move |state, uri, headers| logs::logs(state, uri, headers, stopping)),
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
    }
}
