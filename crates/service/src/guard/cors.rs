//! Letting pages of configured origins read our answers.

use axum_core::body::Body;
use axum_core::response::Response;
use gateway_protocol::header::PARAMETER_PREFIX;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
/// What callers may send. `mcp-param-…` cannot be listed: tools choose what stands behind it.
const HEADERS: &str = "authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, mcp-method, mcp-name, \
                       mcp-protocol-version, mcp-session-id, traceparent, tracestate, x-api-key, x-correlation-id, x-gateway-continue, \
                       x-gateway-events, x-gateway-tools";
/// OpenAI's own client sends a dozen of these about itself.
const CLIENT_PREFIX: &str = "x-stainless-";
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "etag, idempotent-replayed, link, mcp-protocol-version, mcp-session-id, retry-after, traceparent, www-authenticate, \
     x-cache, x-correlation-id, x-gateway-personal-data, x-log-last-id, x-model-unknown, x-parameters-unknown, \
     x-result-bytes, x-result-next, x-result-offset, x-servers-missing, x-servers-stale, x-tool-dialect, x-tool-tokens, x-tool-tokens-saved, x-tools-not-strict, x-tools-omitted, x-tools-quarantined, \
     x-tools-verbatim",
);
const MINUTES: HeaderValue = HeaderValue::from_static("600");

/// Most headers of one request that are allowed because of how their names begin.
const PARAMETERS: usize = 64;

/// Whether a browser asks if it may send a request.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Yes, it may.
pub(crate) fn preflight(asked: &HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed_headers(asked));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, MINUTES);
    response
}

/// The headers that may be sent, with those that the browser asks for and that cannot be listed: parameters of tools
/// (MCP 2026-07-28, SEP-2243), and what clients say of themselves.
fn allowed_headers(asked: &HeaderMap) -> HeaderValue {
    let mut allowed = HEADERS.to_owned();
    let wanted = asked.get_all(header::ACCESS_CONTROL_REQUEST_HEADERS).iter();
    let names = wanted.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    let parameters = names.filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok());
    let is_known = |name: &HeaderName| {
        [PARAMETER_PREFIX, CLIENT_PREFIX].iter().any(|prefix| name.as_str().starts_with(prefix))
    };
    for name in parameters.filter(is_known).take(PARAMETERS) {
        allowed.push_str(", ");
        allowed.push_str(name.as_str());
    }
    HeaderValue::from_str(&allowed).unwrap_or(HeaderValue::from_static(HEADERS))
}

/// The origin may read the answer. Credentials that a browser adds by itself are never asked for.
pub(crate) fn allow(origin: HeaderValue, headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}
