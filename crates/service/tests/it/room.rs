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
