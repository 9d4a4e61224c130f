//! A caller over MCP: a legacy session, or single modern requests.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::caller::{Answer, Caller, Incoming};

const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");
const JSON: (&str, &str) = ("content-type", "application/json");

/// A legacy session.
pub(crate) struct Session {
    caller: Caller,
    path: String,
    pub(crate) id: String,
    requests: std::cell::Cell<u32>,
}

impl Session {
    /// Opens a session whose client has these `capabilities`.
    pub(crate) fn open(caller: &Caller, path: &str, capabilities: &Value) -> Result<Self> {
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "attack", "version": "1"}}});
        let answer = caller.request("POST", path, &[ACCEPT, JSON], &body.to_string())?;
        let id = answer
            .header("mcp-session-id")
            .with_context(|| format!("opening a session: {}", answer.text()))?;
        let session = Self {
            caller: caller.clone(),
            path: path.to_owned(),
            id: id.to_owned(),
            requests: std::cell::Cell::new(1),
        };
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string())?;
        Ok(session)
    }

    /// The same session, used by another caller.
    pub(crate) fn taken_by(&self, caller: &Caller) -> Self {
        let requests = std::cell::Cell::new(1_000);
        Self { caller: caller.clone(), path: self.path.clone(), id: self.id.clone(), requests }
    }

    pub(crate) fn headers(&self) -> [(&str, &str); 4] {
        [ACCEPT, JSON, ("mcp-protocol-version", "2025-11-25"), ("mcp-session-id", &self.id)]
    }

    fn send(&self, body: &str) -> Result<Answer> {
        self.caller.request("POST", &self.path, &self.headers(), body)
    }

    /// The text of a request with an id of its own.
    pub(crate) fn message(&self, method: &str, params: &str) -> String {
        let id = self.requests.get();
        self.requests.set(id + 1);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
    }

    /// The answer to a request; questions before it are not answered.
    pub(crate) fn request(&self, method: &str, params: &str) -> Result<Answer> {
        self.send(&self.message(method, params))
    }

    pub(crate) fn call(&self, tool: &str, arguments: &str) -> Result<Answer> {
        self.request("tools/call", &format!(r#"{{"name":{},"arguments":{arguments}}}"#, Value::from(tool)))
    }

    /// Calls a tool, answers every question with `answer`, and returns the questions.
    pub(crate) fn call_answering(&self, tool: &str, arguments: &str, answer: &Value) -> Result<Vec<Value>> {
        let params = format!(r#"{{"name":{},"arguments":{arguments}}}"#, Value::from(tool));
        let body = self.message("tools/call", &params);
        let mut incoming = self.caller.open("POST", &self.path, &self.headers(), &body)?;
        let mut questions = Vec::new();
        let streamed = incoming
            .headers
            .iter()
            .any(|(name, value)| name == "content-type" && value.contains("event-stream"));
        if !streamed {
            incoming.finish()?;
            return Ok(questions);
        }
        while let Some(event) = incoming.next_event()? {
            if event.get("method").is_none() {
                break;
            }
            if let Some(id) = event.get("id") {
                self.send(&json!({"jsonrpc": "2.0", "id": id, "result": answer}).to_string())?;
                questions.push(event);
            }
        }
        Ok(questions)
    }

    /// Opens the stream of unsolicited messages.
    pub(crate) fn listen(&self) -> Result<Incoming> {
        self.caller.open("GET", &self.path, &self.headers(), "")
    }

    /// Sends a request and disconnects.
    pub(crate) fn abandon(&self, method: &str, params: &str) -> Result<std::net::TcpStream> {
        self.caller.send("POST", &self.path, &self.headers(), &self.message(method, params))
    }
}

/// Calls a tool as modern clients do, without a session.
pub(crate) fn call_modern(caller: &Caller, path: &str, tool: &str, arguments: &str) -> Result<Answer> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "attack", "version": "1"},
    });
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":{},"arguments":{arguments},"_meta":{meta}}}}}"#,
        Value::from(tool)
    );
    let headers = [
        ACCEPT,
        JSON,
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    caller.request("POST", path, &headers, &body)
}
