//! Tools whose work is done at an HTTP address.
//!
//! `POST` with `{"tool": …, "arguments": {…}}`. A JSON answer that is a result of MCP passes as it is, other JSON becomes
//! structured content and text, text becomes text. Any other status than 2xx is a failure whose text the model sees.
//! Redirects are not followed: they would lead around every check.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;

use bytes::BytesMut;
use gateway_protocol::RawJson;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Client, Response, Url, redirect};
use serde_json::json;

use super::address::{self, Lookup};
use super::handler::{result_of, text_result};

/// How long to wait for a connection to be made.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// How much of an error's text is shown.
const SHOWN: usize = 500;
/// How much of an error's body is read.
const ERROR_BODY: usize = 16 << 10;
/// Bytes of an answer, where nothing else is said.
pub(crate) const ANSWER_BYTES: usize = 1 << 20;

/// An HTTP address that does the work of a tool.
#[derive(Clone, PartialEq)]
pub struct EndpointHandler {
    url: Url,
    headers: HeaderMap,
    /// Most bytes of an answer.
    max_bytes: usize,
    trust: Trust,
}

/// Who named the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Whoever configured the gateway or wrote the program that it is part of: any address.
    Operator,
    /// Somebody over the network: addresses of everybody only, unless the configuration allows others.
    Network,
}

impl EndpointHandler {
    /// An address with headers for every request. Whoever calls this is trusted to know where it leads.
    pub fn new(url: &str, headers: &BTreeMap<String, String>) -> Result<Self, String> {
        Self::trusted(url, headers, Trust::Operator).map_err(|wrong| wrong.message)
    }

    /// The same with another bound on the bytes of an answer.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    pub(crate) fn trusted(
        url: &str,
        headers: &BTreeMap<String, String>,
        trust: Trust,
    ) -> Result<Self, WrongEndpoint> {
        let wrong_url = |message: String| WrongEndpoint { member: "url", message };
        let wrong_header = |message: String| WrongEndpoint { member: "headers", message };
        let url = Url::parse(url).map_err(|error| wrong_url(format!("the address is invalid: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong_url("the address must begin with http:// or https://".to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let message = "the address must not hold a user's name or password; use a header";
            return Err(wrong_url(message.to_owned()));
        }
        let mut map = HeaderMap::with_capacity(headers.len() + 3);
        map.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("mcp-tool-gateway/", env!("CARGO_PKG_VERSION"))),
        );
        for (name, value) in headers {
            let key: HeaderName =
                name.parse().map_err(|_| wrong_header(format!("`{name}` is no name of a header")))?;
            if DECIDED_BY_US.contains(&key.as_str()) {
                return Err(wrong_header(format!("the header `{name}` is decided by the gateway")));
            }
            let mut value = HeaderValue::from_str(value).map_err(|_| {
                wrong_header(format!("the header `{name}` has a value that no header can have"))
            })?;
            value.set_sensitive(true);
            map.insert(key, value);
        }
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        map.insert(ACCEPT, HeaderValue::from_static("application/json, text/plain;q=0.9, */*;q=0.5"));
        Ok(Self { url, headers: map, max_bytes: ANSWER_BYTES, trust })
    }

    /// The address without its query, for people.
    pub fn shown_url(&self) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.into()
    }

    /// The bytes that are kept of what was given.
    pub(super) fn bytes(&self) -> usize {
        let headers = self.headers.iter().filter(|(_, value)| value.is_sensitive());
        let headers: usize = headers.map(|(name, value)| name.as_str().len() + value.len()).sum();
        self.url.as_str().len() + headers
    }

    /// Checks where the address leads, if somebody over the network named it.
    pub(super) async fn admitted(&self, outside: &Outside) -> Result<(), String> {
        match self.trust {
            Trust::Network if !outside.allows_private() => address::check(&self.url, &outside.lookup).await,
            Trust::Network | Trust::Operator => Ok(()),
        }
    }

    pub(super) async fn run(
        &self,
        tool: &str,
        arguments: &RawJson,
        outside: &Outside,
    ) -> Result<RawJson, String> {
        // An address of numbers is never resolved, so it is looked at here; names are looked at once more below.
        self.admitted(outside).await?;
        let client = outside.client(self)?;
        let mut body = Vec::with_capacity(arguments.len() + tool.len() + 32);
        body.extend_from_slice(format!("{{\"tool\":{},\"arguments\":", json!(tool)).as_bytes());
        body.extend_from_slice(arguments.as_bytes());
        body.push(b'}');
        let request = client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let response = request.send().await.map_err(|error| self.hidden(chain(&error.without_url())))?;
        self.result(response).await
    }

    async fn result(&self, mut response: Response) -> Result<RawJson, String> {
        let status = response.status();
        if !status.is_success() {
            let (body, _) = self.body(&mut response, ERROR_BODY).await?;
            let mut text = format!("the endpoint answered {}", status.as_u16());
            if let Some(reason) = status.canonical_reason() {
                let _ = write!(text, " {reason}");
            }
            if status.is_redirection() {
                text.push_str("; redirects are not followed");
            }
            let words = String::from_utf8_lossy(&body).split_whitespace().collect::<Vec<_>>().join(" ");
            if !words.is_empty() && !words.starts_with('<') {
                let _ = write!(text, ": {}", words.chars().take(SHOWN).collect::<String>());
            }
            return Err(self.hidden(text));
        }
        let declared = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let essence = declared.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        let essence = essence.to_ascii_lowercase();
        let (body, is_whole) = self.body(&mut response, self.max_bytes).await?;
        if !is_whole {
            return Err(format!("the endpoint answered with more than {} bytes", self.max_bytes));
        }
        let is_json = essence == "application/json" || essence.ends_with("+json");
        match RawJson::parse(body.clone().freeze()) {
            Ok(value) if is_json || essence.is_empty() => result_of(&value),
            Err(error) if is_json && !body.is_empty() => {
                Err(format!("the endpoint answered with JSON that cannot be read: {error}"))
            }
            _ => match std::str::from_utf8(&body) {
                Ok(text) => Ok(text_result(text)),
                Err(_) => Err(format!("the endpoint answered with `{essence}`, which is no text")),
            },
        }
    }

    /// A body up to a bound, and whether that was all of it.
    async fn body(&self, response: &mut Response, limit: usize) -> Result<(BytesMut, bool), String> {
        let mut whole = BytesMut::new();
        loop {
            match response.chunk().await {
                Ok(Some(piece)) if whole.len() + piece.len() > limit => {
                    let room = limit - whole.len();
                    whole.extend_from_slice(piece.get(..room).unwrap_or_default());
                    return Ok((whole, false));
                }
                Ok(Some(piece)) => whole.extend_from_slice(&piece),
                Ok(None) => return Ok((whole, true)),
                Err(error) => return Err(self.hidden(chain(&error.without_url()))),
            }
        }
    }

    /// A text without the values of our headers, which may be secrets.
    fn hidden(&self, mut text: String) -> String {
        for value in self.headers.values().filter(|value| value.is_sensitive()) {
            let Ok(value) = value.to_str() else { continue };
            for part in value.split_whitespace().filter(|part| part.len() >= 6) {
                text = text.replace(part, "***");
            }
        }
        text
    }
}

/// What is wrong with an endpoint: its `url` or its `headers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrongEndpoint {
    pub(crate) member: &'static str,
    pub(crate) message: String,
}

/// Headers that say how the message itself is sent, or what the connection becomes.
const DECIDED_BY_US: [&str; 14] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Secrets stand in queries and headers, so only names are shown.
impl fmt::Debug for EndpointHandler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EndpointHandler")
            .field("url", &self.shown_url())
            .field("headers", &self.headers.keys().map(HeaderName::as_str).collect::<Vec<_>>())
            .field("trust", &self.trust)
            .finish_non_exhaustive()
    }
}

/// What handlers need to reach addresses: clients, which are made when they are first needed, and the rule about private
/// addresses.
#[derive(Debug)]
pub(super) struct Outside {
    lookup: Lookup,
    private: AtomicBool,
    /// For addresses of operators.
    usual: OnceLock<Client>,
    /// For our own machine, which no proxy reaches, and wherever the network named a private address and may.
    direct: OnceLock<Client>,
    /// For addresses that were named over the network.
    guarded: OnceLock<Client>,
}

impl Outside {
    pub(super) fn new(lookup: Lookup) -> Self {
        Self {
            lookup,
            private: AtomicBool::new(false),
            usual: OnceLock::new(),
            direct: OnceLock::new(),
            guarded: OnceLock::new(),
        }
    }

    pub(super) fn allow_private(&self, allowed: bool) {
        self.private.store(allowed, Ordering::Relaxed);
    }

    pub(super) fn allows_private(&self) -> bool {
        self.private.load(Ordering::Relaxed)
    }

    fn client(&self, endpoint: &EndpointHandler) -> Result<Client, String> {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // Whoever was first has chosen; any provider will do.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let builder =
            || Client::builder().connect_timeout(CONNECT_PATIENCE).redirect(redirect::Policy::none());
        let is_local = endpoint.url.host_str().is_some_and(|host| {
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        });
        let (cell, builder) = match endpoint.trust {
            // A proxy would resolve the name by itself.
            Trust::Network if !self.allows_private() => {
                (&self.guarded, builder().no_proxy().dns_resolver(Arc::new(self.lookup.clone())))
            }
            Trust::Network => (&self.direct, builder().no_proxy()),
            Trust::Operator if is_local => (&self.direct, builder().no_proxy()),
            Trust::Operator => (&self.usual, builder()),
        };
        if let Some(client) = cell.get() {
            return Ok(client.clone());
        }
        let client = builder.build().map_err(|error| chain(&error))?;
        Ok(cell.get_or_init(|| client).clone())
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
