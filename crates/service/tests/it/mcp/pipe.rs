//! The endpoint over standard input and output.

use std::time::Duration;

use gateway_mcp::serve_stdio;
use gateway_testkit::{Fault, Fixture};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};

use super::wire::{CAPABILITIES_META, Era, Front, LEGACY, MODERN, PATIENCE, VERSION_META, Way};

/// The other end of the pipes.
struct Pipe {
    input: DuplexStream,
    output: BufReader<DuplexStream>,
}

impl Pipe {
    fn open(front: &Front) -> Self {
        let ((input, theirs), (ours, output)) = (duplex(65_536), duplex(65_536));
        let gateway = front.service.running.gateway().clone();
        tokio::spawn(async move { serve_stdio(gateway.mcp(), None, theirs, ours).await });
        Self { input, output: BufReader::new(output) }
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// The legacy handshake.
    async fn shake(&mut self) {
        let params = json!({
            "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}
        });
        self.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
        assert_eq!(self.message().await["id"], 0);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }

    async fn ask(&mut self, id: u64, method: &str) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method})).await;
    }

    async fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        let meta = json!({VERSION_META: MODERN, CAPABILITIES_META: {"elicitation": {}}});
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
    }

    async fn message(&mut self) -> Value {
        let mut line = String::new();
        tokio::time::timeout(PATIENCE, self.output.read_line(&mut line)).await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_caller_is_asked_right_after_it_cancelled_another_call() {
    let front = Front::of((Era::Legacy, Way::Stdio), Fixture::everything).await;
    let mut pipe = Pipe::open(&front);
    let news = |state: &str| json!({"label": "a", "state": state});
    pipe.call(1, "test_held_call", json!({"label": "a"})).await;
    pipe.call(2, "test_await_held_call", news("begun")).await;
    assert_eq!(pipe.message().await["id"], 2);
    pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    pipe.call(3, "test_await_held_call", news("cancelled")).await;
    assert_eq!(pipe.message().await["result"]["content"][0]["text"], "a was cancelled");
    pipe.call(4, "test_elicitation", json!({"message": "Who?"})).await;
    let asked = pipe.message().await;
    assert_eq!(
        (&asked["id"], &asked["result"]["resultType"]),
        (&json!(4), &json!("input_required")),
        "{asked}"
    );
}

/// Servers become ready while callers come: that is news only for those who looked before.
#[tokio::test(flavor = "multi_thread")]
async fn tools_that_appear_are_told_to_those_who_looked_before() {
    // The server comes late, and nobody waits for it.
    let hasty = |config: &mut gateway_service::ServiceConfig| config.list_wait = Duration::ZERO;
    let late = |fixture: Fixture| fixture.everything().mode_with(Fault::SlowStart, 700);
    let front = Front::with((Era::Legacy, Way::Stdio), late, hasty).await;
    let (mut early, mut late) = (Pipe::open(&front), Pipe::open(&front));
    early.shake().await;
    late.shake().await;
    early.ask(1, "tools/list").await;
    assert_eq!(early.message().await["result"]["tools"], json!([]));
    assert_eq!(early.message().await["method"], "notifications/tools/list_changed");
    late.ask(1, "tools/list").await;
    assert_ne!(late.message().await["result"]["tools"], json!([]), "it is not told of what it sees");
    late.ask(2, "ping").await;
    assert_eq!(late.message().await["id"], 2);
}
