//! Scripted servers and what the tests need to talk to them.

use std::collections::BTreeMap;
use std::time::Duration;

use gateway_protocol::{Implementation, RawJson};
use gateway_upstream::{
    CallError, ConnectError, ConnectOptions, Connection, Endpoint, OutgoingRequest, ServerEvent, UpstreamSpec,
};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Longer than anything here takes; a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The frame of a server in Python: `message` is what came, `send` answers, `result` and `error` answer a request.
const FRAME: &str = r#"
import json, os, sys, time
def send(message):
    sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
    sys.stdout.flush()
def result(message, value):
    send({"jsonrpc": "2.0", "id": message["id"], "result": value})
def error(message, code, text="no", data=None):
    send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": text, "data": data}})
def text(value):
    return {"content": [{"type": "text", "text": value}]}
def legacy(message):
    method = message.get("method")
    if method == "initialize":
        result(message, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "peer", "version": "1"}, "instructions": "be kind"})
    elif method == "server/discover":
        error(message, -32601)
    elif method == "ping":
        result(message, {})
    else:
        return False
    return True
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
"#;

/// A server whose handling of one message is `body`.
pub(crate) fn python(body: &str) -> UpstreamSpec {
    let mut script = FRAME.to_owned();
    for line in body.trim_matches('\n').lines() {
        script.push_str("    ");
        script.push_str(line);
        script.push('\n');
    }
    let mut spec = command("python3", &["-u", "-c", &script]);
    // These servers answer the probe as soon as Python is there, which can take a while on a busy machine.
    spec.timeouts.probe = PATIENCE;
    spec
}

/// A server that is a shell script.
pub(crate) fn shell(script: &str) -> UpstreamSpec {
    command("sh", &["-c", script])
}

pub(crate) fn command(command: &str, args: &[&str]) -> UpstreamSpec {
    UpstreamSpec::new(
        "peer",
        Endpoint::Stdio {
            command: command.to_owned(),
            args: args.iter().map(|argument| (*argument).to_owned()).collect(),
            env: BTreeMap::new(),
            cwd: None,
        },
    )
}

/// Options, and where the server's own messages arrive.
pub(crate) fn options() -> (ConnectOptions, mpsc::Receiver<ServerEvent>) {
    let (events, receiver) = mpsc::channel(16);
    let client = Implementation { name: "tests".to_owned(), version: "1".to_owned(), title: None };
    (
        ConnectOptions {
            remembered: None,
            client,
            capabilities: RawJson::empty_object(),
            events,
            registry: gateway_upstream::Registry::new(),
            refused: std::sync::Arc::default(),
            results: gateway_upstream::ResultBudget::default(),
        },
        receiver,
    )
}

pub(crate) async fn open(spec: &UpstreamSpec) -> Result<Connection, ConnectError> {
    timeout(PATIENCE, Connection::open(spec, options().0)).await.expect("opening takes too long")
}

/// A plain request with one parameter.
pub(crate) fn request<'a>(method: &'a str, params: &'a [(&'a str, &'a [u8])]) -> OutgoingRequest<'a> {
    OutgoingRequest {
        method,
        name: None,
        params,
        meta: &[],
        headers: &[],
        idle: PATIENCE,
        maximum: PATIENCE,
        progress: None,
        responder: None,
        capabilities: None,
    }
}

/// Calls the tool `name` without arguments.
pub(crate) async fn call(connection: &Connection, name: &str) -> Result<RawJson, CallError> {
    let quoted = format!("\"{name}\"");
    let params = [("name", quoted.as_bytes()), ("arguments", b"{}".as_slice())];
    let request = OutgoingRequest { name: Some(name), ..request("tools/call", &params) };
    timeout(PATIENCE, connection.request(request)).await.expect("the call takes too long")
}

/// The text of a result that has one.
pub(crate) fn text(result: &RawJson) -> String {
    let value: serde_json::Value = result.read().expect("a result is JSON");
    value["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
