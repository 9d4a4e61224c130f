//! What the HTTP clients of the gateway share: those of registered endpoints, and those of MCP servers.

use std::error::Error as _;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::Once;
use std::time::Duration;

use gateway_process::Secrets;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, ClientBuilder, Response, Url};

/// How long to wait for a connection to be made.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// A new client that does not wait for a connection for ever.
pub fn builder() -> ClientBuilder {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Whoever was first has chosen; any provider will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    Client::builder().connect_timeout(CONNECT_PATIENCE)
}

/// Whether an address is on our own machine, which no proxy reaches.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The media type of a response, in lower case and without its parameters; empty if it names none.
pub fn media_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// What must not be shown of the headers that we send.
pub fn header_secrets(headers: &HeaderMap) -> Secrets {
    let values = headers.values().filter(|value| value.is_sensitive());
    // Not `to_str`, which takes ASCII only: a token with an umlaut is a secret, too.
    let texts = values.filter_map(|value| std::str::from_utf8(value.as_bytes()).ok());
    Secrets::of(texts.flat_map(str::split_whitespace))
}

/// An error with its causes, without its address; the outer ones of an HTTP client say little.
pub fn explain(error: reqwest::Error) -> String {
    let error = error.without_url();
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

/// A status that is no success: who answered, what it means, and the first `shown` characters of the body.
pub fn explain_status(who: &str, status: StatusCode, hint: &str, body: &[u8], shown: usize) -> String {
    let mut text = format!("{who} answered {}", status.as_u16());
    if let Some(reason) = status.canonical_reason() {
        let _ = write!(text, " {reason}");
    }
    if !hint.is_empty() {
        let _ = write!(text, "; {hint}");
    }
    let words = String::from_utf8_lossy(body).split_whitespace().collect::<Vec<_>>().join(" ");
    // A page in HTML is for browsers.
    if !words.is_empty() && !words.starts_with('<') {
        let _ = write!(text, ": {}", words.chars().take(shown).collect::<String>());
    }
    text
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_token_that_is_not_ascii_is_hidden_too() {
        let mut value = HeaderValue::from_str("Bearer schlüssel-123456").unwrap();
        value.set_sensitive(true);
        let headers = HeaderMap::from_iter([(http::header::AUTHORIZATION, value)]);
        let shown = header_secrets(&headers).hide("no schlüssel-123456 here".to_owned(), false);
        assert!(!shown.contains("123456"), "{shown}");
    }
}
