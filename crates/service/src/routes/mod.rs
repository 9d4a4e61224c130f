//! The routes.

mod approvals;
mod call_tool;
#[cfg(feature = "agent")]
mod completions;
#[cfg(feature = "agent")]
mod conversations;
mod docs;
mod execute;
mod health;
mod history;
mod logs;
mod mcp;
mod members;
mod metrics;
mod providers;
mod registry;
mod resources;
mod route;
mod servers;
mod stateless;
mod tool_request;
mod tools;

use axum_core::body::Body;
use axum_core::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::FutureExt as _;
use gateway_mcp::HttpRequest;
use http::request::Parts;
use http::{HeaderValue, Method, header};
use hyper::body::Body as _;
use tokio_util::sync::CancellationToken;

use self::stateless::heavy;
use self::tool_request::ToolRequest;
use crate::errors::ApiError;
use crate::gateway::Gateway;
use crate::metrics::Entered;
use crate::openapi::{Action, Route, path_parameter};
use crate::progress::{Answering, EventStream, wants_events};
use gateway_runtime::context::RequestContext;
use gateway_runtime::parameters::decoded;

pub(crate) use self::execute::is_stream;

/// Asks the handler of a route. The guard has found the route and read the body. An answer that is a stream of a call takes
/// `entered` along.
pub(crate) fn answer(
    (gateway, stopping): (&Gateway, &CancellationToken),
    route: &'static Route,
    mut context: RequestContext,
    parts: Parts,
    body: Bytes,
    entered: &mut Option<Entered>,
) -> Answering {
    let is_call = matches!(route.action, Action::CallTool | Action::Execute);
    // Calls and messages of MCP look for repeated members where they read the body; all others have them sought here.
    let is_mcp = matches!(route.action, Action::Mcp(_));
    if !is_call
        && !is_mcp
        && let Some(repeated) = gateway_protocol::find_repeated(&body)
    {
        return now(Err(ApiError::repeated(&repeated)));
    }
    let counted = entered.clone();
    let events = (is_call && wants_events(&parts.headers))
        .then(|| EventStream::new(gateway, &mut context, entered.take()));
    // `+` means a blank only in a query.
    let decode = |given: &str| decoded(&given.replace('+', "%2B"));
    let named = path_parameter(route, parts.uri.path()).map(decode);
    let name = || named.clone().unwrap_or_default();
    let gateway = gateway.clone();
    let Parts { uri, headers, method, .. } = parts;
    let answer: Answering = match route.action {
        Action::Tools => later(tools::list(gateway, uri, headers)),
        Action::Render => later(tools::render(gateway, name(), uri, headers)),
        Action::Context => later(tools::context(gateway, name(), uri)),
        Action::Resources => later(resources::list(gateway, uri)),
        Action::ReadResource => later(resources::read(gateway, context, uri)),
        Action::Execute => Box::pin(
            ToolRequest { gateway, context, uri, headers, body, _entered: counted }
                .answered(execute::execute),
        ),
        Action::CallTool => Box::pin(
            ToolRequest { gateway, context, uri, headers, body, _entered: counted }
                .answered(call_tool::call_tool),
        ),
        Action::Route => Box::pin(
            ToolRequest { gateway, context, uri, headers, body, _entered: counted }.answered(route::route),
        ),
        Action::Mcp(operation) => {
            let slot = counted.map(|entered| entered.slot());
            let request = HttpRequest { context, name: named, uri, headers, body, slot };
            Box::pin(mcp::answer(gateway, operation, request))
        }
        Action::Convert => later(heavy(gateway, uri, body, stateless::convert)),
        Action::Transform => later(heavy(gateway, uri, body, stateless::transform)),
        Action::History => later(heavy(gateway, uri, body, history::history)),
        Action::Check => later(heavy(gateway, uri, body, stateless::check)),
        Action::Providers => now(Ok(providers::list(&gateway))),
        Action::Detect => now(providers::detect(&gateway, &uri)),
        Action::Provider => now(providers::one(&gateway, &name())),
        Action::Logs => later(logs::logs(gateway, context, uri, headers, stopping.clone())),
        Action::Servers => now(Ok(servers::list(&gateway))),
        Action::ConnectServer => later(servers::connect(gateway, name())),
        Action::RestartServer => later(servers::restart(gateway, name())),
        Action::AcceptServer => later(servers::accept(gateway, name(), body)),
        Action::Health => later(health::health(gateway, context, uri)),
        Action::Live => now(Ok(health::live())),
        Action::Ready => now(Ok(health::ready(&gateway, &context, stopping))),
        Action::Metrics => now(metrics::metrics(&gateway, &uri, &headers)),
        Action::MetricsText => now(Ok(metrics::text(&gateway))),
        Action::Document => now(Ok(docs::json())),
        Action::Page => now(Ok(docs::page())),
        Action::Root => now(Ok(docs::root())),
        Action::Approvals => now(Ok(approvals::list(&gateway))),
        Action::Approve => now(approvals::decide(&gateway, &name(), &body)),
        Action::Registry => now(Ok(registry::list(&gateway))),
        Action::RegisterTool => later(registry::register(gateway, name(), body)),
        Action::UnregisterTool => now(registry::unregister(&gateway, &name())),
        #[cfg(feature = "agent")]
        Action::Completions => {
            Box::pin(completions::complete(gateway, context, headers, body, entered.take()))
        }
        #[cfg(feature = "agent")]
        Action::Models => later(completions::models(gateway)),
        #[cfg(feature = "agent")]
        Action::Model => later(completions::model(gateway, name())),
        #[cfg(feature = "agent")]
        Action::KeptResult => later(completions::result(gateway, context, name(), uri)),
        #[cfg(feature = "agent")]
        Action::CreateConversation => Box::pin(
            ToolRequest { gateway, context, uri, headers, body, _entered: counted }
                .answered(conversations::create),
        ),
        #[cfg(feature = "agent")]
        Action::Conversations => later(conversations::list(gateway, context, uri)),
        #[cfg(feature = "agent")]
        Action::Conversation => later(conversations::get(gateway, context, name(), uri)),
        #[cfg(feature = "agent")]
        Action::RenameConversation => {
            later(conversations::rename(gateway, context, name(), (uri, headers), body))
        }
        #[cfg(feature = "agent")]
        Action::DeleteConversation => later(conversations::delete(gateway, context, name(), uri)),
        #[cfg(feature = "agent")]
        Action::Chat => {
            let request = ToolRequest { gateway, context, uri, headers, body, _entered: counted };
            Box::pin(conversations::chat(request, name(), entered.take()))
        }
        #[cfg(feature = "agent")]
        Action::ConversationCalls => later(conversations::calls(gateway, context, name(), uri)),
    };
    match events {
        Some(events) => Box::pin(events.response(answer)),
        None if method == Method::HEAD => Box::pin(async move { without_body(answer.await) }),
        None => answer,
    }
}

/// An answer that is there already.
fn now(outcome: Result<Response, ApiError>) -> Answering {
    Box::pin(std::future::ready(outcome.unwrap_or_else(ApiError::into_response)))
}

/// An answer that is worked on.
fn later(work: impl Future<Output = Result<Response, ApiError>> + Send + 'static) -> Answering {
    // Mapped, not awaited in another block: that would hold the future twice, and move it.
    Box::pin(work.map(|outcome| outcome.unwrap_or_else(ApiError::into_response)))
}

/// An answer to `HEAD`: its length says what `GET` would give.
fn without_body(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact() {
        parts.headers.entry(header::CONTENT_LENGTH).or_insert_with(|| HeaderValue::from(length));
    }
    Response::from_parts(parts, Body::empty())
}
