//! Clients of 2024-11-05: a stream for everything that they hear, POST for everything that they say.

use gateway_service::Secret;
use serde_json::{Value, json};

use super::wire::{Era, Front, Reply, Way, cells, everything, written};
use crate::client::Service;

pub(crate) struct OldClient<'a> {
    service: &'a Service,
    pub(crate) stream: Reply,
    pub(crate) address: String,
    next_id: u64,
}

impl<'a> OldClient<'a> {
    pub(crate) async fn open(front: &'a Front, path: &str) -> Self {
        let request =
            format!("GET {path}/events HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n");
        let mut stream = Reply::to(&front.service, &request).await;
        assert!(stream.status == 200 && stream.is_stream(), "{}", stream.head);
        let address = stream.endpoint().await;
        assert!(address.starts_with(&format!("{path}/api?sessionId=")), "{address}");
        let mut client = Self { service: &front.service, stream, address, next_id: 1 };
        let params = json!({
            "protocolVersion": "2024-11-05", "capabilities": {"elicitation": {}, "sampling": {}},
            "clientInfo": {"name": "old", "version": "1"}
        });
        let shaken = client.ask("initialize", params).await;
        assert_eq!(shaken["protocolVersion"], "2024-11-05", "{shaken}");
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    pub(crate) async fn say(&self, message: &Value) {
        let answer = self.service.post(&self.address, &message.to_string()).await;
        assert_eq!(answer.status, 202, "{}", answer.body);
    }

    pub(crate) async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})).await;
        self.next_id
    }

    /// The result of a request; news meanwhile are passed over.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        loop {
            let next = self.stream.next().await.unwrap();
            if next.value["id"] == id && next.value.get("method").is_none() {
                assert!(next.value.get("result").is_some(), "{}", next.text);
                return next.value["result"].clone();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_clients_list_call_and_are_asked() {
    for cell in cells().into_iter().filter(|cell| cell.caller == Era::Legacy) {
        let front = Front::of((cell.upstream, cell.way), everything).await;
        for path in ["/mcp", "/mcp/up"] {
            let mut client = OldClient::open(&front, path).await;
            let tools = client.ask("tools/list", json!({})).await;
            assert!(tools["tools"].as_array().unwrap().len() > 20, "{cell}");
            let called = client.ask("tools/call", json!({"name": "test_simple_text"})).await;
            assert_eq!(called["content"][0]["text"], "This is a simple text response for testing.", "{cell}");
            let ask = json!({"name": "test_elicitation", "arguments": {"message": "Who?"}});
            let id = client.send("tools/call", ask).await;
            let question = loop {
                let next = client.stream.next().await.unwrap().value;
                if next["method"] == "elicitation/create" {
                    break next;
                }
            };
            assert_eq!(question["params"]["message"], "Server \"up\" asks: Who?", "{cell}");
            client
                .say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "cancel"}}))
                .await;
            let answer = loop {
                let next = client.stream.next().await.unwrap();
                if next.value["id"] == id && next.value.get("method").is_none() {
                    break next;
                }
            };
            assert!(answer.text.contains("action=cancel"), "{cell}: {}", answer.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_close_behind_its_request_counts() {
    let folder = tempfile::tempdir().unwrap();
    let wire = folder.path().join("wire");
    let shape = |fixture: gateway_testkit::Fixture| fixture.option("--wire-log", wire.display());
    let front = Front::of((Era::Legacy, Way::Stdio), shape).await;
    let mut client = OldClient::open(&front, "/mcp").await;
    client.ask("tools/list", json!({})).await;
    for _ in 0..20 {
        let id = client.send("tools/call", json!({"name": "slow", "arguments": {"ms": 600_000}})).await;
        let cancelled = json!({"requestId": id});
        client
            .say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}))
            .await;
    }
    let echo = client.ask("tools/call", json!({"name": "echo", "arguments": {"text": "last"}})).await;
    assert!(echo["content"].is_array(), "{echo}");
    // A request that was cancelled before it left was never sent.
    let lines = written(&wire, "\"last\"").await;
    let count = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
    assert_eq!(count("\"slow\""), count("notifications/cancelled"), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_session_ends_with_its_stream_and_is_nobody_elses() {
    let folder = tempfile::tempdir().unwrap();
    let counter = folder.path().join("counter");
    let front = Front::of((Era::Legacy, Way::Stdio), |fixture| fixture.counter(&counter)).await;
    let mut client = OldClient::open(&front, "/mcp").await;
    let ping = json!({"jsonrpc": "2.0", "id": 9, "method": "ping"}).to_string();
    let elsewhere = client.address.replace("/mcp/api", "/mcp/up/api");
    for (target, status) in [(elsewhere.as_str(), 404), ("/mcp/api", 400), ("/mcp/api?sessionId=guess", 404)]
    {
        let answer = front.service.post(target, &ping).await;
        assert_eq!(answer.status, status, "{target}: {}", answer.body);
        assert_eq!(answer.json()["error"]["code"], -32600, "{target}");
    }
    client.send("tools/call", json!({"name": "slow", "arguments": {"ms": 600_000}})).await;
    written(&counter, "slow-started").await;
    let address = client.address.clone();
    drop(client);
    written(&counter, "cancelled").await;
    assert_eq!(front.service.post(&address, &ping).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_key_cannot_use_an_old_session() {
    let front = Front::with((Era::Legacy, Way::Stdio), everything, |config| {
        config.keys.insert("ann".to_owned(), Secret::new("ann-key"));
        config.keys.insert("bob".to_owned(), Secret::new("bob-key"));
    })
    .await;
    let request = "GET /mcp/events HTTP/1.1\r\nhost: localhost\r\nx-api-key: ann-key\r\n\r\n";
    let mut stream = Reply::to(&front.service, request).await;
    let address = stream.endpoint().await;
    let ping = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;
    for (key, status) in [("bob-key", 404), ("wrong", 401), ("ann-key", 202)] {
        let headers = format!("content-type: application/json\r\nx-api-key: {key}\r\n");
        assert_eq!(front.service.send("POST", &address, &headers, ping).await.status, status, "{key}");
    }
}
