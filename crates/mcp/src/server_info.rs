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
/// who do not hear of resources and prompts would never ask for them.
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

/// The capabilities of an endpoint. Changes of lists are always notified: servers come and go.
async fn capabilities(endpoint: &Endpoint, view: &View) -> Value {
    let can = abilities(endpoint, view).await;
    let optional = [
        ("resources", can.resources, json!({"listChanged": true, "subscribe": can.subscribe})),
        ("prompts", can.prompts, json!({"listChanged": true})),
        ("completions", can.completions, json!({})),
        ("logging", can.logging, json!({})),
        ("extensions", !can.extensions.is_empty(), Value::Object(can.extensions)),
    ];
    let mut members = Map::new();
    members.insert("tools".to_owned(), json!({"listChanged": true}));
    for (name, _, value) in optional.into_iter().filter(|(_, has, _)| *has) {
        members.insert(name.to_owned(), value);
    }
    Value::Object(members)
}

/// The servers' instructions for the model, each under its name.
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

fn with_instructions(endpoint: &Endpoint, view: &View, mut answer: Value) -> Value {
    if let Some(instructions) = instructions(endpoint, view) {
        answer["instructions"] = instructions.into();
    }
    answer
}

fn server_info() -> Value {
    json!({"name": "mcp-tool-gateway", "title": "MCP Tool Gateway", "version": env!("CARGO_PKG_VERSION")})
}

/// The answer to `initialize`.
pub(crate) async fn initialize(endpoint: &Endpoint, view: &View, version: &str) -> Value {
    let answer = json!({
        "protocolVersion": version,
        "capabilities": capabilities(endpoint, view).await,
        "serverInfo": server_info(),
    });
    with_instructions(endpoint, view, answer)
}

/// The answer to `server/discover`.
pub(crate) async fn discover(endpoint: &Endpoint, view: &View) -> Value {
    let answer = json!({
        "resultType": "complete",
        "supportedVersions": supported_versions(),
        "capabilities": capabilities(endpoint, view).await,
        "ttlMs": LIST_TTL,
        "cacheScope": "private",
        "_meta": {gateway_protocol::meta::SERVER_INFO: server_info()},
    });
    with_instructions(endpoint, view, answer)
}
