//! The gateway as an MCP server: everything that the upstreams offer, through one endpoint, in both eras.
//!
//! What callers of both eras share is in [`core`], which keeps nothing about them. A modern request carries all that is
//! to be known ([`modern`]); legacy sessions ([`legacy`]) remember it for callers who say it once. What servers ask while
//! they work reaches the caller in the way of its era ([`drive`]): as a request that it answers, or as `input_required`
//! with a signed state that it brings back.

mod about;
mod caller;
mod core;
mod drive;
mod endpoint;
mod events;
mod face;
mod legacy;
mod level;
mod listen;
mod lists;
mod modern;
mod news;
mod offers;
mod out;
mod per_face;
mod search;
mod stdio;
mod tasks;

pub(crate) use self::endpoint::Endpoint;
pub use self::stdio::StdioError;
pub(crate) use self::stdio::serve_stdio;

use axum_core::response::{IntoResponse as _, Response};
use bytes::Bytes;
use gateway_protocol::{Incoming, RawJson, RpcError, code, header, is_modern, parse_strict_message};
use http::{HeaderMap, StatusCode, Uri};
use serde_json::json;

use self::events::{id_of, refusal, unreadable};
use self::face::Face;
use gateway_runtime::context::RequestContext;

/// What servers are told that we can do for them: whatever our callers can. Who cannot answer refuses when asked.
pub fn client_capabilities() -> RawJson {
    RawJson::of(
        &json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": false}}),
    )
    .unwrap_or_else(|_| RawJson::empty_object())
}

/// `POST /mcp`.
pub(crate) async fn post(
    endpoint: Endpoint,
    context: RequestContext,
    group: Option<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let name = group.as_deref();
    if let Some(batch) = legacy::Batch::read(&body) {
        return match Face::named(&endpoint, name) {
            Some(_) => legacy::post_batch(&endpoint, &context, name, &headers, batch).await,
            None => unknown(&endpoint, name),
        };
    }
    let incoming = match parse_strict_message(body) {
        Ok(incoming) => incoming,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, id_of(&error), unreadable(&error)),
    };
    let Some(face) = Face::named(&endpoint, name) else { return unknown(&endpoint, name) };
    let version = headers.get(header::PROTOCOL_VERSION).and_then(|version| version.to_str().ok());
    let (params, is_request) = match &incoming {
        Incoming::Request(request) => (request.params.as_ref(), true),
        Incoming::Notification(notification) => (notification.params.as_ref(), false),
        Incoming::Response(_) => (None, false),
    };
    // A session that a modern client remembers of old times says nothing about this request.
    let is_meant = modern::is_meant(params, version);
    match incoming {
        Incoming::Request(request) if is_meant => {
            Box::pin(modern::post(&endpoint, context, face, &headers, request)).await
        }
        _ if is_meant && !is_request => StatusCode::ACCEPTED.into_response(),
        incoming => Box::pin(legacy::post(&endpoint, context, (name, face), &headers, incoming)).await,
    }
}

/// `GET /mcp`.
pub(crate) async fn get(
    endpoint: Endpoint,
    context: RequestContext,
    group: Option<String>,
    headers: HeaderMap,
) -> Response {
    let name = group.as_deref();
    if Face::named(&endpoint, name).is_none() {
        return unknown(&endpoint, name);
    }
    if !takes_events(&headers) {
        let error = RpcError::new(code::INVALID_REQUEST, "Not Acceptable: this is a stream of events");
        return refusal(StatusCode::NOT_ACCEPTABLE, None, error);
    }
    if !headers.contains_key(header::SESSION) || names_modern(&headers) {
        // Streams without a session are those of the modern era, and they begin with a POST.
        return not_allowed("Method not allowed: send `subscriptions/listen`");
    }
    legacy::get(&endpoint, &context, name, &headers)
}

/// `DELETE /mcp`.
pub(crate) async fn delete(
    endpoint: Endpoint,
    context: RequestContext,
    group: Option<String>,
    headers: HeaderMap,
) -> Response {
    let name = group.as_deref();
    if names_modern(&headers) {
        return not_allowed("Method not allowed: there are no sessions in this version");
    }
    legacy::delete(&endpoint, &context, name, &headers)
}

/// Whether a request says that it is of the modern era.
fn names_modern(headers: &HeaderMap) -> bool {
    let version = headers.get(header::PROTOCOL_VERSION).and_then(|version| version.to_str().ok());
    version.is_some_and(is_modern)
}

fn not_allowed(message: &str) -> Response {
    let error = RpcError::new(code::INVALID_REQUEST, message);
    let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, None, error);
    response.headers_mut().insert(http::header::ALLOW, http::HeaderValue::from_static("POST"));
    response
}

/// Whether a caller takes a stream of events; who says nothing takes anything.
fn takes_events(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(http::header::ACCEPT).iter().peekable();
    accepted.peek().is_none()
        || accepted.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).any(|part| {
            let media = part.split(';').next().unwrap_or_default().trim();
            matches!(media, "text/event-stream" | "text/*" | "*/*")
        })
}

/// `GET /mcp/events`.
pub(crate) async fn events(
    endpoint: Endpoint,
    context: RequestContext,
    group: Option<String>,
    uri: Uri,
) -> Response {
    let name = group.as_deref();
    if Face::named(&endpoint, name).is_none() {
        return unknown(&endpoint, name);
    }
    let address = format!("{}/api", uri.path().trim_end_matches("/events"));
    legacy::events(&endpoint, &context, name, &address)
}

/// `POST /mcp/api`.
pub(crate) async fn api(
    endpoint: Endpoint,
    context: RequestContext,
    group: Option<String>,
    uri: Uri,
    body: Bytes,
) -> Response {
    let name = group.as_deref();
    legacy::api(&endpoint, context, name, uri.query(), body)
}

fn unknown(endpoint: &Endpoint, name: Option<&str>) -> Response {
    let catalogue = endpoint.fleet().catalogue();
    let ids = endpoint.fleet().ids();
    let known: Vec<&str> =
        catalogue.groups().chain(ids.iter().map(gateway_upstream::UpstreamId::as_str)).collect();
    let message = format!(
        "no group or server is called `{}`; there are: {}",
        name.unwrap_or_default(),
        known.join(", ")
    );
    refusal(StatusCode::NOT_FOUND, None, RpcError::new(code::INVALID_REQUEST, message))
}
