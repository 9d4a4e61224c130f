//! What callers hear where there is no room: for a body, for a request, for an answer.

use std::time::Duration;

use futures_util::future::join_all;
use gateway_testkit::Fixture;
use gateway_upstream::{FleetOptions, ResultBudget};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::client::{Answer, Service, read_answer};
use crate::turns::fixture;

/// How long a result waits for room. Nothing gives any back in these tests, so that it decides nothing but how long they take.
const PATIENCE: Duration = Duration::from_millis(50);

const STREAM: &str = "content-type: application/json\r\naccept: text/event-stream\r\n";

/// A service with one server and so many bytes for results, of which somebody holds one so that no result is alone.
async fn service(result_bytes: usize) -> (Service, gateway_upstream::Reservation) {
    let mut options = FleetOptions::default();
    options.results = ResultBudget::with_patience(result_bytes, PATIENCE);
    let tools = vec![("one/big".to_owned(), Duration::from_hours(1))];
    let servers = vec![fixture("one", &Fixture::stdio())];
    let service = Service::with_fleet(servers, options, |config| config.cache.tools = tools).await;
    let mut held = service.running.gateway().fleet().results().reservation("another");
    held.force(1);
    (service, held)
}

/// Sends all of a body but its last byte, and reads the answer.
async fn unfinished(service: &Service, bytes: usize) -> Answer {
    let mut stream = service.connect().await;
    let head = "POST /call_tool HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let head = format!("{head}content-length: {bytes}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    for piece in vec![b' '; bytes - 1].chunks(16 << 10) {
        // Who waits for room is not read on, and may be refused meanwhile.
        if stream.write_all(piece).await.is_err() {
            break;
        }
    }
    read_answer(&mut stream).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_one_request() {
    let servers = vec![fixture("one", &Fixture::stdio())];
    let service = Service::with_servers(servers, |config| config.concurrent_requests = 1).await;
    let call = json!({"server": "one", "tool": "slow", "arguments": {"ms": 1, "progress": 1}}).to_string();
    for _ in 0..3 {
        let answer = service.send("POST", "/call_tool", STREAM, &call).await;
        assert_eq!((answer.status, answer.body.contains("event: result")), (200, true), "{}", answer.body);
    }
    assert_eq!(service.get("/providers").await.status, 200, "it is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_without_room_answers_every_request() {
    let (service, _held) = service(1 << 20).await;
    let params = json!({
        "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
    let opened = service.post("/mcp", &body).await;
    let session = opened.header("mcp-session-id").unwrap();
    let calls = (1..=20).map(|id| {
        let params = json!({"name": "big", "arguments": {"bytes": 60_000}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    });
    let others = [
        json!({"jsonrpc": "2.0", "id": "alive", "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": "none", "method": "no/such"}),
    ];
    let batch: Vec<Value> = calls.chain(others).collect();
    let headers = format!(
        "content-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-session-id: {session}\r\n"
    );
    let answer = service.send("POST", "/mcp", &headers, &json!(batch).to_string()).await;
    let answers: Vec<(Value, Value)> = serde_json::from_str::<Vec<Value>>(&answer.body)
        .unwrap_or_else(|error| panic!("{error}: {}", answer.body))
        .iter()
        .map(|answer| {
            let data = answer["error"]["data"]["code"].clone();
            let code = if data.is_null() { answer["error"]["code"].clone() } else { data };
            (answer["id"].clone(), code)
        })
        .collect();
    let dropped = (1..=20).map(|id| (json!(id), json!("RESULT_DROPPED")));
    let kept = [(json!("alive"), Value::Null), (json!("none"), json!(-32_601))];
    assert_eq!(answers, dropped.chain(kept).collect::<Vec<_>>(), "{}", answer.body);
}
