//! Messages of MCP, as requests over HTTP.

use serde_json::{Value, json};

use super::client::Request;

/// A message to an endpoint, with the headers of its era.
pub(super) fn message(port: u16, session: Option<&str>, body: &Value) -> Request {
    let mut headers = vec![("accept", "application/json, text/event-stream")];
    match session {
        Some(session) => {
            headers.extend([("mcp-protocol-version", "2025-11-25"), ("mcp-session-id", session)]);
        }
        None => headers.extend([
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "add"),
        ]),
    }
    Request::post(port, "/mcp", &headers, &body.to_string())
}

/// A small call.
pub(super) fn call(id: usize, era_meta: Option<&Value>) -> Value {
    let mut params = json!({"name": "add", "arguments": {"a": 15, "b": 27}});
    if let (Some(meta), Value::Object(members)) = (era_meta, &mut params) {
        members.insert("_meta".to_owned(), meta.clone());
    }
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// The beginning of a legacy session.
pub(super) fn initialize(port: u16) -> Request {
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}});
    Request::post(port, "/mcp", &[("accept", "application/json, text/event-stream")], &body.to_string())
}
