//! HTTP itself: the client, its headers, what its errors mean, and bodies with a bound.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::fmt::Write as _;
use std::sync::Once;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use http::{Method, StatusCode};
use reqwest::{Response, Url, redirect};

use crate::error::ConnectError;
use crate::results::{ServerResults, needed};

/// How long to wait for a connection to be made.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// How many redirects within the server are followed.
const REDIRECTS: usize = 5;
/// How much of an error's text is shown.
const SHOWN: usize = 200;
/// How much of an error's body is read.
const ERROR_BODY: usize = 64 * 1024;

/// A client for one server.
#[derive(Debug)]
pub(in crate::connection) struct HttpClient {
    client: reqwest::Client,
    pub(in crate::connection) url: Url,
    headers: HeaderMap,
    /// Texts that must not appear in errors.
    secrets: Vec<String>,
    /// Bytes of one body or event.
    pub(in crate::connection) limit: usize,
}

/// Why a request got no response.
#[derive(Clone, Debug)]
pub(in crate::connection) enum SendError {
    /// It was never sent.
    NotSent(String),
    /// It may have been.
    Unclear(String),
}

/// Why a body was not read to its end.
#[derive(Clone, Debug)]
pub(in crate::connection) enum BodyError {
    TooLong,
    /// There is no room for it beside other results.
    NoRoom,
    Broken(String),
}

/// What a response is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::connection) enum Kind {
    Json,
    Events,
    Other,
}

impl HttpClient {
    pub(in crate::connection) fn new(
        url: &str,
        headers: &BTreeMap<String, String>,
        agent: &str,
        limit: usize,
    ) -> Result<Self, ConnectError> {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // Whoever was first has chosen; any provider will do.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let shown = shown_url(url);
        let error = |reason: String| ConnectError::Http { url: shown.clone(), reason };
        let url = Url::parse(url).map_err(|cause| error(format!("the address is invalid: {cause}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(error("the address must begin with http:// or https://".to_owned()));
        }
        let mut builder = reqwest::Client::builder()
            .connect_timeout(CONNECT_PATIENCE)
            .redirect(redirect::Policy::custom(follow_within));
        if is_loopback(&url) {
            // A proxy that the environment names cannot reach our own machine.
            builder = builder.no_proxy();
            if url.scheme() == "http" {
                // Redirects stay within the origin, so that no certificate is ever looked at; reading the system's
                // costs milliseconds and a megabyte.
                builder = builder.tls_certs_only([]);
            }
        }
        let client = builder.build().map_err(|cause| error(chain(&cause.without_url())))?;
        let mut map = HeaderMap::with_capacity(headers.len() + 8);
        if let Ok(agent) = HeaderValue::from_str(agent) {
            map.insert(USER_AGENT, agent);
        }
        for (name, value) in headers {
            let invalid = || error(format!("the header `{name}` is invalid"));
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
            value.set_sensitive(true);
            map.insert(key, value);
        }
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        map.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let secrets =
            headers.values().flat_map(|value| value.split_whitespace()).filter(|part| part.len() >= 6);
        Ok(Self { client, secrets: secrets.map(str::to_owned).collect(), url, headers: map, limit })
    }

    /// The address without its query, for people.
    pub(in crate::connection) fn shown_url(&self) -> String {
        shown_url(self.url.as_str())
    }

    /// A connect error about this address.
    pub(in crate::connection) fn error(&self, reason: impl Into<String>) -> ConnectError {
        ConnectError::Http { url: self.shown_url(), reason: reason.into() }
    }

    /// Sends a message to `url`.
    pub(in crate::connection) async fn post(
        &self,
        url: &Url,
        extra: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Response, SendError> {
        let request = self.client.post(url.clone()).headers(self.all_headers(extra)).body(body);
        request.send().await.map_err(|error| self.send_error(error))
    }

    /// Opens a stream of events.
    pub(in crate::connection) async fn get_events(&self, extra: HeaderMap) -> Result<Response, SendError> {
        let mut headers = self.all_headers(extra);
        headers.remove(CONTENT_TYPE);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let request = self.client.get(self.url.clone()).headers(headers);
        request.send().await.map_err(|error| self.send_error(error))
    }

    /// Sends `DELETE`.
    pub(in crate::connection) async fn delete(&self, extra: HeaderMap) -> Result<Response, SendError> {
        let request = self.client.request(Method::DELETE, self.url.clone()).headers(self.all_headers(extra));
        request.send().await.map_err(|error| self.send_error(error))
    }

    fn all_headers(&self, extra: HeaderMap) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.extend(extra);
        headers
    }

    fn send_error(&self, error: reqwest::Error) -> SendError {
        let never_sent = error.is_connect() || error.is_builder();
        let reason = self.hide_secrets(chain(&error.without_url()));
        if never_sent { SendError::NotSent(reason) } else { SendError::Unclear(reason) }
    }

    /// The next piece of a body.
    pub(in crate::connection) async fn chunk(
        &self,
        response: &mut Response,
    ) -> Result<Option<Bytes>, String> {
        response.chunk().await.map_err(|error| self.hide_secrets(chain(&error.without_url())))
    }

    /// A whole body within the bound.
    pub(in crate::connection) async fn body(
        &self,
        response: &mut Response,
        results: &ServerResults,
    ) -> Result<Bytes, BodyError> {
        self.body_within(response, self.limit, results).await
    }

    async fn body_within(
        &self,
        response: &mut Response,
        limit: usize,
        results: &ServerResults,
    ) -> Result<Bytes, BodyError> {
        if response.content_length().is_some_and(|length| length > limit as u64) {
            return Err(BodyError::TooLong);
        }
        let mut first = Bytes::new();
        let mut whole = BytesMut::new();
        let mut reserved = None;
        while let Some(piece) = self.chunk(response).await.map_err(BodyError::Broken)? {
            if first.len() + whole.len() + piece.len() > limit {
                return Err(BodyError::TooLong);
            }
            if let Some(bytes) = needed(first.len() + whole.len() + piece.len(), limit)
                && !reserved.get_or_insert_with(|| results.reservation()).grow(bytes).await
            {
                return Err(BodyError::NoRoom);
            }
            // Most bodies come in one piece, which is then kept as it is.
            if first.is_empty() && whole.is_empty() {
                first = piece;
                continue;
            }
            if whole.is_empty() {
                whole.extend_from_slice(&std::mem::take(&mut first));
            }
            whole.extend_from_slice(&piece);
        }
        Ok(results.count(if whole.is_empty() { first } else { whole.freeze() }, reserved))
    }

    /// The body of an error, as far as it is of any use.
    pub(in crate::connection) async fn error_body(&self, response: &mut Response) -> Bytes {
        let mut body = BytesMut::new();
        let limit = ERROR_BODY.min(self.limit);
        while let Ok(Some(piece)) = self.chunk(response).await {
            if body.len() + piece.len() > limit {
                return Bytes::new();
            }
            body.extend_from_slice(&piece);
        }
        body.freeze()
    }

    /// What a status means, for people.
    pub(in crate::connection) fn explain_status(&self, status: StatusCode, body: &[u8]) -> String {
        let mut text = format!("it answered {}", status.as_u16());
        if let Some(reason) = status.canonical_reason() {
            let _ = write!(text, " {reason}");
        }
        match status {
            StatusCode::UNAUTHORIZED => text.push_str("; it wants credentials, check the configured headers"),
            StatusCode::FORBIDDEN => text.push_str("; the credentials do not suffice"),
            _ => {}
        }
        let words = String::from_utf8_lossy(body);
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        if !words.is_empty() && !words.starts_with('<') {
            let end = words.char_indices().nth(SHOWN).map_or(words.len(), |(place, _)| place);
            let _ = write!(text, ": {}", words.get(..end).unwrap_or_default());
        }
        self.hide_secrets(text)
    }

    fn hide_secrets(&self, mut text: String) -> String {
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "***");
            }
        }
        text
    }
}

/// What a response is made of.
pub(in crate::connection) fn kind(response: &Response) -> Kind {
    let value =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("text/event-stream") {
        Kind::Events
    } else if essence.eq_ignore_ascii_case("application/json") || essence.ends_with("+json") {
        Kind::Json
    } else {
        Kind::Other
    }
}

/// Headers carry credentials, so they stay with the server that they are meant for.
fn follow_within(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
    // Other redirects turn a POST into a GET.
    let keeps_method =
        matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    if same && keeps_method && attempt.previous().len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

/// Queries and user names hold secrets at times.
fn shown_url(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    match (plain.split_once("://"), plain.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => plain.to_owned(),
    }
}

/// An error with its causes; the outer ones of an HTTP client say little.
fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            let _ = write!(text, ": {words}");
        }
        cause = error.source();
    }
    text
}
