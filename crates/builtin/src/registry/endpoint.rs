//! Tools whose work is done at an HTTP address.
//!
//! `POST` with `{"tool": …, "arguments": {…}}`. A JSON answer that is a result of MCP passes as it is, other JSON becomes
//! structured content and text, text becomes text. Any other status than 2xx is a failure whose text the model sees.
//! Redirects are not followed: they would lead around every check.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::BytesMut;
use gateway_config::{EndpointHandler, Trust};
use gateway_protocol::RawJson;
use reqwest::{Client, Response, redirect};
use serde_json::json;

use super::address::{self, Lookup};
use super::handler::{result_of, text_result};
use crate::http_client::{self, explain, explain_status, header_secrets, is_loopback, media_type};

/// How much of an error's text is shown.
const SHOWN: usize = 500;
/// How much of an error's body is read.
const ERROR_BODY: usize = 16 << 10;

/// Checks where the address leads, if somebody over the network named it.
pub(super) async fn admitted(handler: &EndpointHandler, outside: &Outside) -> Result<(), String> {
    match handler.trust {
        Trust::Network if !outside.allows_private() => address::check(&handler.url, &outside.lookup).await,
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
    let request = client.post(handler.url.clone()).headers(handler.headers.clone()).body(body);
    let response = request.send().await.map_err(|error| hidden(handler, explain(error)))?;
    result(handler, response).await
}

async fn result(handler: &EndpointHandler, mut response: Response) -> Result<RawJson, String> {
    let status = response.status();
    if !status.is_success() {
        let (body, _) = body(handler, &mut response, ERROR_BODY).await?;
        let hint = if status.is_redirection() { "redirects are not followed" } else { "" };
        let text = explain_status("the endpoint", status, hint, &body, SHOWN);
        return Err(hidden(handler, text));
    }
    let essence = media_type(&response);
    let (body, is_whole) = body(handler, &mut response, handler.max_bytes).await?;
    if !is_whole {
        return Err(format!("the endpoint answered with more than {} bytes", handler.max_bytes));
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
            Err(error) => return Err(hidden(handler, explain(error))),
        }
    }
}

/// A text without the values of our headers, which may be secrets.
fn hidden(handler: &EndpointHandler, text: String) -> String {
    header_secrets(&handler.headers).hide(text, false)
}

/// What handlers need to reach addresses: clients, which are made when they are first needed, and the rule about private
/// addresses.
#[derive(Debug, Default)]
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
        Self { lookup, ..Self::default() }
    }

    pub(super) fn allow_private(&self, allowed: bool) {
        self.private.store(allowed, Ordering::Relaxed);
    }

    pub(super) fn allows_private(&self) -> bool {
        self.private.load(Ordering::Relaxed)
    }

    fn client(&self, endpoint: &EndpointHandler) -> Result<Client, String> {
        let builder = || http_client::builder().redirect(redirect::Policy::none());
        let (cell, builder) = match endpoint.trust {
            // A proxy would resolve the name by itself.
            Trust::Network if !self.allows_private() => {
                (&self.guarded, builder().no_proxy().dns_resolver(Arc::new(self.lookup.clone())))
            }
            Trust::Network => (&self.direct, builder().no_proxy()),
            Trust::Operator if is_loopback(&endpoint.url) => (&self.direct, builder().no_proxy()),
            Trust::Operator => (&self.usual, builder()),
        };
        if let Some(client) = cell.get() {
            return Ok(client.clone());
        }
        let client = builder.build().map_err(explain)?;
        Ok(cell.get_or_init(|| client).clone())
    }
}
