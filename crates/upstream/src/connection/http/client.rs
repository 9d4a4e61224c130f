//! HTTP itself: the client, its headers, what its errors mean, and bodies with a bound.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use gateway_builtin::http_client::{self, explain, explain_status, header_secrets, is_loopback, media_type};
use gateway_process::Secrets;
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{RequestBuilder, Response, Url, redirect};

use crate::error::ConnectError;
use crate::results::{ServerResults, needed};

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
    secrets: Secrets,
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

impl HttpClient {
    pub(in crate::connection) fn new(
        url: &str,
        headers: &BTreeMap<String, String>,
        agent: &str,
        limit: usize,
    ) -> Result<Self, ConnectError> {
        let shown = shown_url(url);
        let error = |reason: String| ConnectError::Http { url: shown.clone(), reason };
        let url = Url::parse(url).map_err(|cause| error(format!("the address is invalid: {cause}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(error("the address must begin with http:// or https://".to_owned()));
        }
        let mut builder = http_client::builder().redirect(redirect::Policy::custom(follow_within));
        if is_loopback(&url) {
            // A proxy that the environment names cannot reach our own machine.
            builder = builder.no_proxy();
            if url.scheme() == "http" {
                // Redirects stay within the origin, so that no certificate is ever looked at; reading the system's
                // costs milliseconds and a megabyte.
                builder = builder.tls_certs_only([]);
            }
        }
        let client = builder.build().map_err(|cause| error(explain(cause)))?;
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
        Ok(Self { client, secrets: header_secrets(&map), url, headers: map, limit })
    }

    /// A connect error about this address.
    pub(in crate::connection) fn error(&self, reason: impl Into<String>) -> ConnectError {
        ConnectError::Http { url: shown_url(self.url.as_str()), reason: reason.into() }
    }

    /// Sends a message to `url`.
    pub(in crate::connection) async fn post(
        &self,
        url: &Url,
        extra: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Response, SendError> {
        self.send(self.client.post(url.clone()).body(body), self.all_headers(extra)).await
    }

    /// Opens a stream of events.
    pub(in crate::connection) async fn get_events(&self, extra: HeaderMap) -> Result<Response, SendError> {
        let mut headers = self.all_headers(extra);
        headers.remove(CONTENT_TYPE);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        self.send(self.client.get(self.url.clone()), headers).await
    }

    /// Sends `DELETE`.
    pub(in crate::connection) async fn delete(&self, extra: HeaderMap) -> Result<Response, SendError> {
        self.send(self.client.delete(self.url.clone()), self.all_headers(extra)).await
    }

    fn all_headers(&self, extra: HeaderMap) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.extend(extra);
        headers
    }

    async fn send(&self, request: RequestBuilder, headers: HeaderMap) -> Result<Response, SendError> {
        request.headers(headers).send().await.map_err(|error| {
            let never_sent = error.is_connect() || error.is_builder();
            let reason = self.secrets.hide(explain(error), false);
            if never_sent { SendError::NotSent(reason) } else { SendError::Unclear(reason) }
        })
    }

    /// The next piece of a body.
    pub(in crate::connection) async fn chunk(
        &self,
        response: &mut Response,
    ) -> Result<Option<Bytes>, String> {
        response.chunk().await.map_err(|error| self.secrets.hide(explain(error), false))
    }

    /// A whole body within the bound.
    pub(in crate::connection) async fn body(
        &self,
        response: &mut Response,
        results: &ServerResults,
    ) -> Result<Bytes, BodyError> {
        let limit = self.limit;
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
    pub(in crate::connection) fn explain_status(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> String {
        let hint = match status {
            StatusCode::UNAUTHORIZED if wants_oauth(headers) => {
                "it wants a sign-in by OAuth, which the gateway does not do; configure \"command\": \"npx\", \"args\": [\"mcp-remote\", \
                 its address], which does, or a token in \"headers\""
            }
            StatusCode::UNAUTHORIZED => "it wants credentials, check the configured headers",
            StatusCode::FORBIDDEN => "the credentials do not suffice",
            _ => "",
        };
        self.secrets.hide(explain_status("it", status, hint, body, SHOWN), false)
    }
}

/// Whether a server says where to sign in (RFC 9728, which MCP asks for).
fn wants_oauth(headers: &HeaderMap) -> bool {
    let challenges = headers.get_all(http::header::WWW_AUTHENTICATE).into_iter();
    challenges.filter_map(|challenge| challenge.to_str().ok()).any(|text| text.contains("resource_metadata"))
}

/// Whether a response is a stream of events.
pub(in crate::connection) fn is_stream(response: &Response) -> bool {
    media_type(response) == "text/event-stream"
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

/// Queries and user names hold secrets at times.
fn shown_url(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    match (plain.split_once("://"), plain.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_names_its_authorization_server_wants_oauth() {
        let headers = |text: &'static str| {
            HeaderMap::from_iter([(http::header::WWW_AUTHENTICATE, HeaderValue::from_static(text))])
        };
        let metadata = r#"Bearer resource_metadata="https://h/.well-known/oauth-protected-resource""#;
        assert!(wants_oauth(&headers(metadata)));
        assert!(!wants_oauth(&headers("Bearer realm=x")) && !wants_oauth(&HeaderMap::new()));
    }
}
