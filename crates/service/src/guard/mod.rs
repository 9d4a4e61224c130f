//! What every request passes: one function, so that a request pays for one pass only.
//!
//! In this order: who is named (`Host`, `Origin`), which route, who calls (keys), how much at once, what is sent (type,
//! size, time). Every answer gets its ids, and every error the same shape: `{error, code, correlationId}`.
//!
//! Where keys are configured, `/health`, `/livez`, `/ready`, `/readyz`, `/`, `/docs` and `/openapi.json` answer without one;
//! the first shows no details then. These and `/metrics` also answer when the gateway is full.

mod body;
mod conversation_errors;
mod cors;
mod hosts;
mod keys;
mod linger;
mod rate;
mod unknown;

use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use axum_core::body::Body;
use axum_core::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use hyper::body::Body as HttpBody;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connections::Link;
use crate::counted::{count_body, needs_counting};
use crate::errors::{ApiError, ERROR_BODY, code, collected, media_type};
use crate::gateway::Gateway;
use crate::metrics::RouteIndex;
use crate::openai_errors;
use crate::openapi::{Access, Action, Found, Load, Route, Verb, find};
use crate::request_ids::{context_of, write_ids};
use crate::routes;
use body::BodyLimits;
use gateway_runtime::context::RequestContext;
use gateway_runtime::owner::Owner;
use hosts::{Hosts, OriginKind, Origins};
use keys::{Keys, NotKnown};
use linger::{Arriving, Lingering};
use rate::{Payer, Rates};
use unknown::{PARAMETERS_UNKNOWN, UnknownParameters};

/// Longer paths are cut in the log.
const LOGGED_PATH: usize = 200;

/// Stands in front of the routes.
#[derive(Debug)]
pub(crate) struct Guard {
    gateway: Gateway,
    stopping: CancellationToken,
    keys: Keys,
    admins: Keys,
    hosts: Hosts,
    origins: Origins,
    rates: Option<Rates>,
    lingering: Lingering,
    unknown: UnknownParameters,
}

/// What is known about a request while it is on its way.
struct Passing {
    started: Instant,
    method: Method,
    uri: Uri,
    route: Option<(usize, &'static Route)>,
    context: RequestContext,
    cors: Option<HeaderValue>,
}

impl Guard {
    pub(crate) fn new(
        gateway: Gateway,
        bound: SocketAddr,
        (tasks, stopping): (&TaskTracker, &CancellationToken),
    ) -> Self {
        let config = gateway.config();
        Self {
            lingering: Lingering::new(config, tasks, stopping),
            keys: Keys::new(&config.keys, Owner::caller),
            admins: Keys::new(&config.admin_keys, Owner::admin),
            hosts: Hosts::new(bound.ip(), &config.allowed_hosts),
            origins: Origins::new(&config.allowed_origins),
            rates: config.rate_limit.map(Rates::new),
            stopping: stopping.clone(),
            unknown: UnknownParameters::default(),
            gateway,
        }
    }

    /// Answers a request: decides by its head, asks the route, gives the answer its ids, counts it and logs it.
    pub(crate) async fn handle<B>(&self, peer: IpAddr, link: &Link, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes> + Unpin + Send + 'static,
    {
        let started = Instant::now();
        link.begin();
        let (parts, body) = request.into_parts();
        let mut body = Arriving::new(&parts.headers, body);
        let found = find(&parts.method, parts.uri.path());
        let owner = |keys: &Keys| {
            if keys.is_empty() { Err(NotKnown::Missing) } else { keys.owner(&parts.headers) }
        };
        // A key in both lists is an admin's.
        let admin = owner(&self.admins);
        let caller = admin.clone().or_else(|_| owner(&self.keys));
        let is_evicted = (self.keys.is_empty() || caller.is_ok()) && !link.know();
        let mut passing = Passing {
            started,
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            route: match found {
                Found::Route(index, route) => Some((index, route)),
                Found::OtherMethods(_) | Found::Nothing => None,
            },
            context: context_of(&parts.headers, caller.as_ref().ok().cloned()),
            cors: None,
        };
        let admitted = self.admit(&parts, found, (caller, admin), peer, &mut passing);
        let is_admitted = admitted.is_ok();
        let outcome = match admitted {
            // Nobody will read the answer, so nothing may run.
            Ok(_) if is_evicted => Err(ApiError::overloaded(
                StatusCode::SERVICE_UNAVAILABLE,
                "the connection made room for another one before its first request came; connect again",
                1,
            )),
            Ok(Admitted::Answer(response)) => Ok(response),
            Ok(Admitted::Route(route)) => self.answer(route, parts, &mut body, &passing).await,
            Err(error) => Err(error),
        };
        let mut response = outcome.unwrap_or_else(ApiError::into_response);
        if response.status().as_u16() >= 400 {
            response = completed_error(response, &passing.context.correlation).await;
            if openai_errors::is_expected(passing.uri.path()) {
                response = openai_errors::reshaped(response).await;
            }
            if conversation_errors::is_expected(passing.uri.path()) {
                response = conversation_errors::detailed(response).await;
            }
        }
        let headers = response.headers_mut();
        write_ids(&passing.context, headers);
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if !self.origins.is_empty() {
            headers.append(header::VARY, HeaderValue::from_static("origin"));
        }
        if let Some(origin) = passing.cors.take() {
            cors::allow(origin, headers);
        }
        if let (true, Some((_, route)), Some(query)) = (is_admitted, passing.route, passing.uri.query()) {
            headers.extend(self.unknown.noted(route, query).map(|names| (PARAMETERS_UNKNOWN, names)));
        }
        let (took, status) = (started.elapsed(), response.status());
        let noted = passing.context.held.provider();
        let in_path = if noted.is_none() { self.provider_in(&passing) } else { None };
        let named = noted.or(in_path.as_deref());
        let index = passing.route.map_or(RouteIndex::UNKNOWN, |(index, _)| RouteIndex::new(index));
        self.gateway.state.metrics.request(index, status, took, named);
        log_access(&passing.method, passing.uri.path(), &passing.context, status, took, named);
        self.lingering.take(body);
        link.end();
        response
    }

    /// Decides by the head alone.
    fn admit(
        &self,
        parts: &http::request::Parts,
        found: Found,
        (caller, admin): (Result<Owner, NotKnown>, Result<Owner, NotKnown>),
        peer: IpAddr,
        passing: &mut Passing,
    ) -> Result<Admitted, ApiError> {
        let host = self.named_host(parts)?;
        if let Some(origin) = parts.headers.get(header::ORIGIN) {
            match self.origins.kind_of(origin.to_str().unwrap_or_default(), host) {
                OriginKind::Listed => passing.cors = Some(origin.clone()),
                OriginKind::Same => {}
                // Another port of this machine is another origin, and a page there can send some requests without asking.
                OriginKind::Near if parts.method.is_safe() => {}
                OriginKind::Near | OriginKind::Foreign => {
                    let message =
                        "this Origin may not use the gateway; see `allowedOrigins` in the configuration";
                    return Err(ApiError::new(StatusCode::FORBIDDEN, code::FORBIDDEN, message));
                }
            }
        }
        if passing.cors.is_some() && cors::is_preflight(&parts.method, &parts.headers) {
            return Ok(Admitted::Answer(cors::preflight(&parts.headers)));
        }
        let access = passing.route.map_or(Access::Key, |(_, route)| route.access);
        // What is an operator's business is everybody's who has a key, as long as nobody has an admin key.
        let access = match access {
            Access::Operator if self.admins.is_empty() => Access::Key,
            Access::Operator => Access::Admin,
            access => access,
        };
        let (is_closed, known) = match access {
            Access::Open => (false, caller),
            Access::Key | Access::Operator => (!self.keys.is_empty(), caller),
            Access::Admin => {
                if self.admins.is_empty() {
                    self.charge(&Payer::Peer(peer), passing)?;
                    return Err(no_admins(passing.route.map(|(_, route)| route.action)));
                }
                (true, admin)
            }
        };
        if is_closed {
            match known {
                Ok(owner) => self.charge(&Payer::Owner(owner), passing)?,
                // Whoever guesses keys pays too, from the allowance of the address; owners of keys behind the same address
                // have their own.
                Err(fault) => {
                    self.charge(&Payer::Peer(peer), passing)?;
                    return Err(unknown_caller(fault, access));
                }
            }
        } else {
            self.charge(&Payer::Peer(peer), passing)?;
        }
        match found {
            Found::Route(_, route) => Ok(Admitted::Route(route)),
            Found::OtherMethods(allow) if parts.method == Method::OPTIONS => {
                Ok(Admitted::Answer(options(&allow)))
            }
            Found::OtherMethods(allow) => Ok(Admitted::Answer(not_allowed(&parts.method, &allow))),
            Found::Nothing => {
                let path = parts.uri.path();
                let message = format!("no route {}; see /docs{}", shortened(path), openai_errors::hint(path));
                Err(ApiError::new(StatusCode::NOT_FOUND, code::NOT_FOUND, message))
            }
        }
    }

    /// The host that the request names, if it is one of ours.
    fn named_host<'r>(&self, parts: &'r http::request::Parts) -> Result<&'r str, ApiError> {
        let mut hosts = parts.headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(ApiError::bad_request("the request must name one Host"));
        };
        let host = host.to_str().unwrap_or_default();
        let target = parts.uri.authority().map(http::uri::Authority::as_str);
        if self.hosts.allows(host) && target.is_none_or(|target| self.hosts.allows(target)) {
            return Ok(host);
        }
        let message = "this Host is not served here; see `allowedHosts` in the configuration";
        Err(ApiError::new(StatusCode::FORBIDDEN, code::FORBIDDEN, message))
    }

    /// Takes one request from the caller's allowance.
    fn charge(&self, payer: &Payer, passing: &Passing) -> Result<(), ApiError> {
        let exempt = passing.route.is_some_and(|(_, route)| route.load == Load::Exempt);
        let Some(rates) = self.rates.as_ref().filter(|_| !exempt) else { return Ok(()) };
        rates.take(payer, passing.started).map_err(|seconds| {
            let message = format!("too many requests; try again in {seconds} s");
            ApiError::overloaded(StatusCode::TOO_MANY_REQUESTS, message, seconds)
        })
    }

    /// Reads the body and asks the route.
    async fn answer<B>(
        &self,
        route: &'static Route,
        parts: http::request::Parts,
        body: &mut Arriving<B>,
        passing: &Passing,
    ) -> Result<Response, ApiError>
    where
        B: HttpBody<Data = Bytes> + Unpin + Send,
    {
        let config = self.gateway.config();
        let metrics = &self.gateway.state.metrics;
        let mut entered = match route.load {
            Load::Counted => Some(metrics.enter(config.concurrent_requests).ok_or_else(|| {
                let message = format!("the gateway is busy with {} requests", config.concurrent_requests);
                ApiError::overloaded(StatusCode::SERVICE_UNAVAILABLE, message, 1)
            })?),
            Load::Exempt => None,
        };
        let bytes = match route.verb {
            Verb::Get | Verb::Delete => Bytes::new(),
            Verb::Post | Verb::Put | Verb::Patch => {
                let limits = BodyLimits {
                    bytes: config.body_bytes,
                    deadline: config.read_timeout,
                    all: &self.gateway.state.bodies,
                    caller: passing.context.caller.as_ref(),
                };
                let bytes = body::read(&parts.headers, body, limits).await?;
                check_content_type(&parts.headers, route, &bytes)?;
                bytes
            }
        };
        let context = passing.context.clone();
        let asked = (&self.gateway, &self.stopping);
        let answer = routes::answer(asked, route, context, parts, bytes, &mut entered);
        let outcome = AssertUnwindSafe(answer).catch_unwind().await;
        let response = outcome.unwrap_or_else(|_| {
            let message = "the gateway made a mistake; its log says more";
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, code::UNKNOWN, message).into_response()
        });
        if !route.action.returns_server_results() || !needs_counting(&response) {
            return Ok(response);
        }
        // Boxed: few answers are long, and all requests would carry the future along. One that waits for room is still a
        // request at work.
        let response = Box::pin(count_body(&passing.context, self.gateway.fleet().results(), response)).await;
        drop(entered);
        Ok(response)
    }

    /// The own name of the dialect that the path names. What callers invent is no label.
    fn provider_in(&self, passing: &Passing) -> Option<String> {
        let (_, route) = passing.route?;
        if !matches!(route.action, Action::Render | Action::Context) {
            return None;
        }
        let name = passing.uri.path().split('/').nth(2)?;
        self.gateway.dialects().names_of(name).next().map(str::to_owned)
    }
}

/// What the head of a request leads to.
enum Admitted {
    Route(&'static Route),
    Answer(Response),
}

fn no_admins(action: Option<Action>) -> ApiError {
    let message = match action {
        Some(Action::AcceptServer) => {
            "nobody may do this: no admin key is configured; run `mcp-tool-gateway servers accept NAME FINGERPRINT` on the \
             gateway's machine, or see `adminKeys` in the configuration"
        }
        _ => "nobody may do this: no admin key is configured; see `adminKeys` in the configuration",
    };
    ApiError::new(StatusCode::FORBIDDEN, code::FORBIDDEN, message)
}

fn unknown_caller(fault: NotKnown, access: Access) -> ApiError {
    let message = match (fault, access) {
        (_, Access::Admin) => {
            "an admin key is needed: send `Authorization: Bearer <key>` or `X-Api-Key: <key>`"
        }
        (NotKnown::Missing, _) => "a key is needed: send `Authorization: Bearer <key>` or `X-Api-Key: <key>`",
        (NotKnown::Wrong, _) => "this key is not known",
    };
    ApiError::new(StatusCode::UNAUTHORIZED, code::UNAUTHORIZED, message)
}

/// An answer to a request for the methods of a path.
fn options(allow: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    set_allow(&mut response, allow);
    response
}

fn not_allowed(method: &Method, allow: &str) -> Response {
    let message = format!("{} is not allowed here; allowed: {allow}", shortened(method.as_str()));
    let mut response =
        ApiError::new(StatusCode::METHOD_NOT_ALLOWED, code::METHOD_NOT_ALLOWED, message).into_response();
    set_allow(&mut response, allow);
    response
}

fn set_allow(response: &mut Response, allow: &str) {
    if let Ok(value) = HeaderValue::from_str(allow) {
        response.headers_mut().insert(header::ALLOW, value);
    }
}

/// Bodies are JSON and say so: a page elsewhere cannot send that type without asking first.
fn check_content_type(headers: &HeaderMap, route: &Route, bytes: &Bytes) -> Result<(), ApiError> {
    if !headers.contains_key(header::CONTENT_TYPE) && route.body.is_none() && bytes.is_empty() {
        return Ok(());
    }
    let media = media_type(headers);
    let subtype =
        media.get(..12).filter(|start| start.eq_ignore_ascii_case("application/")).and(media.get(12..));
    let is_json = subtype.is_some_and(|subtype| {
        let ending = subtype.len().checked_sub(5).and_then(|start| subtype.get(start..));
        subtype.eq_ignore_ascii_case("json")
            || ending.is_some_and(|ending| ending.eq_ignore_ascii_case("+json"))
    });
    // Pages of other origins are refused by their `Origin`, those of this machine too, so that a type which they may send
    // opens nothing.
    let is_text =
        ["text/plain", "text/xml", "application/xml"].iter().any(|text| media.eq_ignore_ascii_case(text));
    let is_stream = route.action == Action::Execute && routes::is_stream(media);
    if is_json || is_stream || (is_text && route.action == Action::Route) {
        return Ok(());
    }
    let message = "the body must be declared as `Content-Type: application/json`";
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, code::UNSUPPORTED_MEDIA_TYPE, message))
}

/// Errors have one shape, also those that the framework made: `{error, code, correlationId}`.
async fn completed_error(mut response: Response, correlation: &str) -> Response {
    if response.status() == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static("Bearer realm=\"mcp-tool-gateway\"");
        response.headers_mut().entry(header::WWW_AUTHENTICATE).or_insert(challenge);
    }
    if response.status() == StatusCode::PAYLOAD_TOO_LARGE {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if response.body().size_hint().exact().is_none_or(|size| size > ERROR_BODY) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let bytes = collected(body).await.unwrap_or_default();
    let is_json =
        parts.headers.get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes() == b"application/json");
    let correlation = Value::from(correlation);
    let text = match bytes.strip_suffix(b"}") {
        Some(open) if is_json && bytes.starts_with(br#"{"error":"#) => {
            if open.windows(16).any(|window| window == br#""correlationId":"#) {
                return Response::from_parts(parts, Body::from(bytes));
            }
            let mut text = open.to_vec();
            text.extend_from_slice(format!(r#","correlationId":{correlation}}}"#).as_bytes());
            text
        }
        _ if is_json => return Response::from_parts(parts, Body::from(bytes)),
        _ => {
            let given = String::from_utf8_lossy(&bytes);
            let reason = parts.status.canonical_reason().unwrap_or("error");
            let message = if given.is_empty() { reason } else { given.as_ref() };
            let word = if parts.status.is_client_error() { code::VALIDATION_ERROR } else { code::UNKNOWN };
            serde_json::json!({"error": message, "code": word, "correlationId": correlation})
                .to_string()
                .into_bytes()
        }
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(parts, Body::from(text))
}

fn shortened(text: &str) -> &str {
    text.char_indices().nth(LOGGED_PATH).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}

/// One line for each request. The query is left out: it may hold what is nobody's business.
fn log_access(
    method: &Method,
    path: &str,
    context: &RequestContext,
    status: StatusCode,
    took: Duration,
    provider: Option<&str>,
) {
    let path = shortened(path);
    let status_code = status.as_u16();
    let duration = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let correlation = &*context.correlation;
    if status.is_server_error() {
        tracing::warn!(
            correlation,
            method = method.as_str(),
            path,
            status_code,
            duration,
            provider,
            success = false,
            "{method} {path} {status_code}"
        );
    } else {
        tracing::info!(
            correlation,
            method = method.as_str(),
            path,
            status_code,
            duration,
            provider,
            success = status_code < 400,
            "{method} {path} {status_code}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_type(media: &'static str, allowed: bool) {
        let Found::Route(_, route) = find(&Method::POST, "/execute") else { panic!("no such route") };
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
        assert_eq!(check_content_type(&headers, route, &Bytes::new()).is_ok(), allowed, "{media}");
    }

    #[test]
    fn only_json_is_read() {
        for media in [
            "application/json",
            "application/json; charset=utf-8",
            "Application/JSON",
            "application/problem+json",
        ] {
            check_type(media, true);
        }
        for media in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "",
            "json",
            "application/jsonx",
            "text/json",
        ] {
            check_type(media, false);
        }
    }

    #[tokio::test]
    async fn every_error_body_has_one_shape() {
        async fn body_of(response: Response) -> String {
            let response = completed_error(response, "c\"1").await;
            let bytes = collected(response.into_body()).await.unwrap();
            String::from_utf8(bytes.to_vec()).unwrap()
        }
        let error = ApiError::bad_request("no").with("x", 1).into_response();
        assert_eq!(
            body_of(error).await,
            r#"{"error":"no","code":"VALIDATION_ERROR","x":1,"correlationId":"c\"1"}"#
        );
        let foreign = (StatusCode::BAD_REQUEST, "Failed to parse").into_response();
        assert_eq!(
            body_of(foreign).await,
            r#"{"error":"Failed to parse","code":"VALIDATION_ERROR","correlationId":"c\"1"}"#
        );
        let rpc = crate::errors::json_response(StatusCode::BAD_REQUEST, r#"{"jsonrpc":"2.0","error":{}}"#);
        assert_eq!(body_of(rpc).await, r#"{"jsonrpc":"2.0","error":{}}"#);
        let empty = StatusCode::NOT_FOUND.into_response();
        assert_eq!(
            body_of(empty).await,
            r#"{"error":"Not Found","code":"VALIDATION_ERROR","correlationId":"c\"1"}"#
        );
    }
}
