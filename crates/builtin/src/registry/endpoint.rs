//! Tools whose work is done at an HTTP address.
//!
//! `POST` with `{"tool": …, "arguments": {…}}`. A JSON answer that is a result of MCP passes as it is, other JSON becomes
//! structured content and text, text becomes text. Any other status than 2xx is a failure whose text the model sees.
//! Redirects are not followed: they would lead around every check.

use std::error::Error as _;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;

use bytes::BytesMut;
use gateway_config::{EndpointHandler, Trust};
use gateway_protocol::RawJson;
use http::header::CONTENT_TYPE;
use reqwest::{Client, Response, redirect};
use serde_json::json;

use super::address::{self, Lookup};
use super::handler::{result_of, text_result};

/// How long to wait for a connection to be made.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// How much of an error's text is shown.
const SHOWN: usize = 500;
/// How much of an error's body is read.
const ERROR_BODY: usize = 16 << 10;

/// Checks where the address leads, if somebody over the network named it.
pub(super) async fn admitted(handler: &EndpointHandler, outside: &Outside) -> Result<(), String> {
    match handler.trust() {
        Trust::Network if !outside.allows_private() => address::check(handler.url(), &outside.lookup).await,
        Trust::Network | Trust::Operator => Ok(()),
    }
}

pub(super) async fn run(
    handler: &EndpointHandler,
    tool: &str,
    arguments: &RawJson,
    outside: &Outside,
) -> Result<RawJson, String> {
    // An address of numbers is never resolved, so it is looked at here; names are looked at once more below.
    admitted(handler, outside).await?;
    let client = outside.client(handler)?;
    let mut body = Vec::with_capacity(arguments.len() + tool.len() + 32);
    body.extend_from_slice(format!("{{\"tool\":{},\"arguments\":", json!(tool)).as_bytes());
    body.extend_from_slice(arguments.as_bytes());
    body.push(b'}');
    let request = client.post(handler.url().clone()).headers(handler.headers().clone()).body(body);
    let response = request.send().await.map_err(|error| hidden(handler, chain(&error.without_url())))?;
    result(handler, response).await
}

async fn result(handler: &EndpointHandler, mut response: Response) -> Result<RawJson, String> {
    let status = response.status();
    if !status.is_success() {
        let (body, _) = body(handler, &mut response, ERROR_BODY).await?;
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
        return Err(hidden(handler, text));
    }
    let declared = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = declared.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    let (body, is_whole) = body(handler, &mut response, handler.max_bytes()).await?;
    if !is_whole {
        return Err(format!("the endpoint answered with more than {} bytes", handler.max_bytes()));
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
async fn body(
    handler: &EndpointHandler,
    response: &mut Response,
    limit: usize,
) -> Result<(BytesMut, bool), String> {
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
            Err(error) => return Err(hidden(handler, chain(&error.without_url()))),
        }
    }
}

/// A text without the values of our headers, which may be secrets.
fn hidden(handler: &EndpointHandler, mut text: String) -> String {
    for value in handler.headers().values().filter(|value| value.is_sensitive()) {
        let Ok(value) = value.to_str() else { continue };
        for part in value.split_whitespace().filter(|part| part.len() >= 6) {
            text = text.replace(part, "***");
        }
    }
    text
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
        let is_local = endpoint.url().host_str().is_some_and(|host| {
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        });
        let (cell, builder) = match endpoint.trust() {
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
