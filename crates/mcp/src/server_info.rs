//! What an endpoint says about itself: to callers, and to the servers whose client it is.

use std::fmt::Write as _;

use futures_util::future::join_all;
use gateway_protocol::{RawJson, supported_versions};
use gateway_upstream::Capabilities;
use serde_json::{Map, Value, json};

use crate::endpoint::Endpoint;
use crate::lists::LIST_TTL;
use crate::offers::SOON;
use crate::view::View;

/// What servers learn that we can do for them: whatever our callers can. Who cannot answer refuses when asked.
pub fn client_capabilities() -> RawJson {
    RawJson::of(
        &json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": false}}),
    )
    .unwrap_or_else(|_| RawJson::empty_object())
}

/// What the servers behind a view can do together. A server that has not said yet may turn out to have anything: callers
/// who are not told of resources and prompts would never ask for them.
async fn abilities(endpoint: &Endpoint, view: &View) -> Capabilities {
    let servers = view.servers(endpoint.fleet());
    let patience = endpoint.config().list_wait.min(SOON);
    let asking = servers.iter().map(|server| endpoint.fleet().capabilities(server.as_str(), patience));
    let mut all = Capabilities::default();
    for can in join_all(asking).await {
        let can = can.unwrap_or_else(unknown);
        all.prompts |= can.prompts;
        all.resources |= can.resources;
        all.completions |= can.completions;
        all.logging |= can.logging;
        all.subscribe |= can.subscribe;
        for (name, extension) in can.extensions {
            all.extensions.entry(name).or_insert(extension);
        }
    }
    all
}

/// What a server may be able to do that nobody knows yet.
fn unknown() -> Capabilities {
    let mut can = Capabilities::default();
    (can.prompts, can.resources, can.completions, can.subscribe) = (true, true, true, true);
    can
}

/// The capabilities of an endpoint. Changes of lists are always told: servers come and go.
async fn capabilities(endpoint: &Endpoint, view: &View) -> Value {
    let can = abilities(endpoint, view).await;
    let mut members = Map::new();
    members.insert("tools".to_owned(), json!({"listChanged": true}));
    if can.resources {
        members.insert("resources".to_owned(), json!({"listChanged": true, "subscribe": can.subscribe}));
    }
    if can.prompts {
        members.insert("prompts".to_owned(), json!({"listChanged": true}));
    }
    if can.completions {
        members.insert("completions".to_owned(), json!({}));
    }
    if can.logging {
        members.insert("logging".to_owned(), json!({}));
    }
    if !can.extensions.is_empty() {
        members.insert("extensions".to_owned(), Value::Object(can.extensions));
    }
    Value::Object(members)
}

/// What the servers tell the model, each under its name.
fn instructions(endpoint: &Endpoint, view: &View) -> Option<String> {
    if let View::Server(server) = view {
        return endpoint.fleet().instructions(server.as_str());
    }
    let mut text = String::new();
    for server in view.servers(endpoint.fleet()) {
        if let Some(instructions) = endpoint.fleet().instructions(server.as_str()) {
            let gap = if text.is_empty() { "" } else { "\n\n" };
            let _ = write!(text, "{gap}# {server}\n\n{instructions}");
        }
    }
    (!text.is_empty()).then_some(text)
}

fn server_info() -> Value {
    json!({"name": "mcp-tool-gateway", "title": "MCP Tool Gateway", "version": env!("CARGO_PKG_VERSION")})
}

/// The answer to `initialize`.
pub(crate) async fn initialize(endpoint: &Endpoint, view: &View, version: &str) -> Value {
    let mut answer = json!({
        "protocolVersion": version,
        "capabilities": capabilities(endpoint, view).await,
        "serverInfo": server_info(),
    });
    if let (Some(instructions), Value::Object(members)) = (instructions(endpoint, view), &mut answer) {
        members.insert("instructions".to_owned(), instructions.into());
    }
    answer
}

/// The answer to `server/discover`.
pub(crate) async fn discover(endpoint: &Endpoint, view: &View) -> Value {
    let mut answer = json!({
        "resultType": "complete",
        "supportedVersions": supported_versions(),
        "capabilities": capabilities(endpoint, view).await,
        "ttlMs": LIST_TTL,
        "cacheScope": "private",
        "_meta": {gateway_protocol::meta::SERVER_INFO: server_info()},
    });
    if let (Some(instructions), Value::Object(members)) = (instructions(endpoint, view), &mut answer) {
        members.insert("instructions".to_owned(), instructions.into());
    }
    answer
}
