//! What an endpoint tells about itself.

use std::fmt::Write as _;

use futures_util::future::join_all;
use gateway_protocol::supported_versions;
use gateway_upstream::Capabilities;
use serde_json::{Map, Value, json};

use super::face::Face;
use super::lists::LIST_TTL;
use super::offers::SOON;
use crate::mcp::Endpoint;

/// What the servers behind a face can do together. A server that has not said yet may turn out to have anything: callers
/// who are not told of resources and prompts would never ask for them.
async fn abilities(endpoint: &Endpoint, face: &Face) -> Capabilities {
    let servers = face.servers(endpoint);
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
async fn capabilities(endpoint: &Endpoint, face: &Face) -> Value {
    let can = abilities(endpoint, face).await;
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
fn instructions(endpoint: &Endpoint, face: &Face) -> Option<String> {
    if let Face::Server(server) = face {
        return endpoint.fleet().instructions(server.as_str());
    }
    let mut text = String::new();
    for server in face.servers(endpoint) {
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
pub(super) async fn initialize(endpoint: &Endpoint, face: &Face, version: &str) -> Value {
    let mut answer = json!({
        "protocolVersion": version,
        "capabilities": capabilities(endpoint, face).await,
        "serverInfo": server_info(),
    });
    if let (Some(instructions), Value::Object(members)) = (instructions(endpoint, face), &mut answer) {
        members.insert("instructions".to_owned(), instructions.into());
    }
    answer
}

/// The answer to `server/discover`.
pub(super) async fn discover(endpoint: &Endpoint, face: &Face) -> Value {
    let mut answer = json!({
        "resultType": "complete",
        "supportedVersions": supported_versions(),
        "capabilities": capabilities(endpoint, face).await,
        "ttlMs": LIST_TTL,
        "cacheScope": "private",
        "_meta": {gateway_protocol::meta::SERVER_INFO: server_info()},
    });
    if let (Some(instructions), Value::Object(members)) = (instructions(endpoint, face), &mut answer) {
        members.insert("instructions".to_owned(), instructions.into());
    }
    answer
}
