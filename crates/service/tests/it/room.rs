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
async fn bodies_that_never_end_take_only_so_much_together() {
    let service = Service::with(|config| config.read_timeout = Duration::from_secs(4)).await;
    let bodies = join_all((0..40).map(|_| unfinished(&service, 1 << 20)));
    let (answers, small) = tokio::join!(bodies, service.add(15, 27));
    assert_eq!(small.status, 200, "short bodies need no room");
    let is_refused = |answer: &&Answer| answer.status == 503;
    let refused: Vec<&Answer> = answers.iter().filter(is_refused).collect();
    let timed_out = answers.iter().filter(|answer| answer.status == 408).count();
    // Callers without keys share one half of 64 MB.
    assert!((1..=8).contains(&refused.len()), "{} refused", refused.len());
    assert_eq!(timed_out, 40 - refused.len(), "all others were being read");
    for answer in refused {
        assert_eq!((answer.code().as_str(), answer.header("retry-after")), ("OVERLOADED", Some("1")));
        assert!(answer.body.contains("limits.bodiesBytes"), "{}", answer.body);
    }
    assert_eq!(unfinished(&service, 100_000).await.status, 408, "there is room again");
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

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_answer_has_the_status_that_the_caller_wants() {
    let (service, _held) = service(1_200_000).await;
    // The result fits, the answer to the turn, which has it twice, does not.
    let body = |style: Option<&str>| {
        let call = json!({"name": "big", "args": {"bytes": 350_000}});
        json!({"provider": "gemini", "call": call, "errors": style}).to_string()
    };
    for (target, style, expected) in [
        ("/execute", None, 500),
        ("/execute?errors=plain", None, 500),
        ("/execute?errors=precise", None, 502),
        ("/execute", Some("precise"), 502),
        ("/execute?errors=precise", Some("plain"), 500),
    ] {
        let body = body(style);
        let answer = service.post(target, &body).await;
        let seen = (answer.status, answer.code());
        assert_eq!(seen, (expected, "RESULT_DROPPED".to_owned()), "{target} {style:?}: {}", answer.body);
        assert_eq!(answer.header("retry-after"), None, "{target} {style:?}");
        let streamed = service.send("POST", target, STREAM, &body).await;
        let status = format!("\"status\":{expected}");
        assert!(streamed.body.contains(&status), "{target} {style:?}: {}", streamed.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_result_without_room_does_not_say_that_the_tool_ran() {
    let (service, _held) = service(1_200_000).await;
    let call =
        |tool: &str| json!({"server": "one", "tool": tool, "arguments": {"bytes": 200_000}}).to_string();
    assert_eq!(service.post("/call_tool", &call("big")).await.status, 200);
    let mut unread = service.running.gateway().fleet().results().reservation("callers");
    unread.force(500_000);
    let answer = service.post("/call_tool", &call("big")).await;
    assert_eq!(
        (answer.status, answer.code().as_str(), answer.header("retry-after")),
        (503, "OVERLOADED", Some("1")),
        "{}",
        answer.body
    );
    assert!(
        answer.body.contains("did not run") && answer.body.contains("limits.resultBytes"),
        "{}",
        answer.body
    );
    drop(unread);
    let answer = service.post("/call_tool", &call("big")).await;
    assert_eq!((answer.status, answer.header("x-cache")), (200, Some("hit")), "{:.300}", answer.head);
    let turn = json!({"provider": "gemini", "call": {"name": "big", "args": {"bytes": 350_000}}}).to_string();
    let first = service.post("/execute", &turn).await;
    assert_eq!((first.status, first.code().as_str()), (500, "RESULT_DROPPED"), "it is kept nevertheless");
    let again = service.post("/execute", &turn).await;
    assert_eq!((again.status, again.code().as_str()), (500, "RESULT_DROPPED"));
    assert!(!again.body.contains(" ran"), "all of it was kept: {}", again.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_say_how_much_room_is_used() {
    let (service, held) = service(1_200_000).await;
    let mut unread = service.running.gateway().fleet().results().reservation("callers");
    unread.force(123_455);
    let text = service.get("/metrics").await.body;
    assert!(text.contains("\ngateway_result_bytes 123456\n"), "{text}");
    assert!(text.contains("\ngateway_body_bytes 0\n"), "{text}");
    drop((unread, held));
    let text = service.get("/metrics").await.body;
    assert!(text.contains("\ngateway_result_bytes 0\n"), "{text}");
}
