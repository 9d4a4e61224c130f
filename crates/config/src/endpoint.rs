//! The HTTP address that does the work of a tool.

use std::collections::BTreeMap;
use std::fmt;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use url::Url;

/// Bytes of an answer, unless configured.
pub(crate) const ANSWER_BYTES: usize = 1 << 20;

/// An HTTP address that does the work of a tool.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct EndpointHandler {
    /// The address.
    pub url: Url,
    /// The headers of every request; those of the configuration are marked as sensitive.
    pub headers: HeaderMap,
    /// Most bytes of an answer.
    pub max_bytes: usize,
    /// Who named the address.
    pub trust: Trust,
}

/// Who named the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
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

    /// The same, with whoever named it; what is wrong is reported with its member.
    pub fn trusted(
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
    pub fn bytes(&self) -> usize {
        let headers = self.headers.iter().filter(|(_, value)| value.is_sensitive());
        let headers: usize = headers.map(|(name, value)| name.as_str().len() + value.len()).sum();
        self.url.as_str().len() + headers
    }
}

/// What is wrong with an endpoint: its `url` or its `headers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongEndpoint {
    /// The member.
    pub member: &'static str,
    /// What is wrong with it.
    pub message: String,
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
