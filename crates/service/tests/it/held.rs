//! Long answers that nobody reads are counted, whatever way they go, and leave room for others.

use std::time::Duration;

use gateway_testkit::{Fault, Fixture};
use gateway_upstream::{Endpoint, FleetOptions, ResultBudget, UpstreamSpec};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::client::Service;
use crate::mcp::wire::{self, Caller, Era};
use crate::turns::fixture;

/// More than the buffers of a connection take.
const RESULT: usize = 12 << 20;

/// One caller may hold two answers with one result each, or one with two; the server may have sent more meanwhile.
const BUDGET: usize = 52 << 20;

/// How long a result waits for room. Nothing gives any back in these tests, so that it decides nothing but how long they take.
const PATIENCE: Duration = Duration::from_millis(50);

/// A way in which a long answer comes as a stream of events.
#[derive(Clone, Copy, Debug)]
enum Way {
    CallTool,
    Execute,
    Modern,
    Legacy,
}

/// A service whose server `long` reports progress and then gives a long result; with another server beside it.
async fn service() -> Service {
    let long = Fixture::stdio().mode_with(Fault::HugeResult, RESULT as u64).only_tool("slow");
    let mut options = FleetOptions::default();
    options.results = ResultBudget::with_patience(BUDGET, PATIENCE);
    let servers = vec![fixture("long", &long), UpstreamSpec::new("demo", Endpoint::Demo)];
    Service::with_fleet(servers, options, |_| {}).await
}

/// A request that is answered with a stream.
async fn request(service: &Service, way: Way) -> String {
    let arguments = json!({"ms": 1, "progress": 1});
    let plain = |target: &str, body: Value| {
        let body = body.to_string();
        let head = "host: localhost\r\ncontent-type: application/json\r\naccept: text/event-stream\r\n";
        format!("POST {target} HTTP/1.1\r\n{head}content-length: {}\r\n\r\n{body}", body.len())
    };
    let era = match way {
        Way::CallTool => {
            return plain("/call_tool", json!({"server": "long", "tool": "slow", "arguments": arguments}));
        }
        Way::Execute => {
            return plain(
                "/execute",
                json!({"provider": "gemini", "call": {"name": "slow", "args": arguments}}),
            );
        }
        Way::Modern => Era::Modern,
        Way::Legacy => Era::Legacy,
    };
    let caller = Caller::open(service, era, "/mcp", "").await;
    let params = json!({"name": "slow", "arguments": arguments, "_meta": {"progressToken": 1}});
    let (_, body) = caller.message("tools/call", params);
    format!("POST /mcp HTTP/1.1\r\n{}content-length: {}\r\n\r\n{body}", caller.headers(&body), body.len())
}

/// Sends a request and reads until `wanted` holds of what came.
async fn slow_reader(service: &Service, request: &str, wanted: impl Fn(&str) -> bool) -> (TcpStream, String) {
    let socket = TcpSocket::new_v4().unwrap();
    // Little of the answer leaves the gateway unread.
    socket.set_recv_buffer_size(16 << 10).unwrap();
    let mut stream = socket.connect(service.running.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    let mut piece = vec![0; 4 << 10];
    let reading = async {
        while !wanted(&text) {
            let count = stream.read(&mut piece).await.unwrap();
            assert!(count > 0, "the stream ended: {text}");
            text.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
    };
    tokio::time::timeout(Duration::from_secs(30), reading).await.expect("an answer in time");
    (stream, text)
}

/// Waits until something holds, but not for ever.
async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let looking = async {
        while !holds() {
            gateway_testkit::pause().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), looking)
        .await
        .unwrap_or_else(|_| panic!("waited for {what}"));
}

/// Whether the result, or the error instead of it, has begun to come.
fn has_begun(text: &str) -> bool {
    text.contains("xxxxxxxx") || text.contains("RESULT_DROPPED")
}

/// Four callers ask for a long result and read little; so many of them may.
async fn check(way: Way, fit: usize) {
    let service = service().await;
    let budget = service.running.gateway().fleet().results().clone();
    let mut readers = Vec::new();
    let mut dropped = Vec::new();
    for _ in 0..4 {
        let (stream, text) = slow_reader(&service, &request(&service, way).await, has_begun).await;
        dropped.push(text.contains("RESULT_DROPPED"));
        readers.push(stream);
        assert!(budget.used() <= BUDGET, "{way:?}: {}", budget.used());
    }
    let expected: Vec<bool> = (0..4).map(|number| number >= fit).collect();
    assert_eq!(dropped, expected, "{way:?}: what fits into the half of one caller");
    // The log has still to write what the server sent.
    eventually("the log to be written", || budget.used() <= 2 * (RESULT + (1 << 10))).await;
    assert!(budget.used() >= 2 * RESULT, "{way:?}: they are held: {}", budget.used());
    assert_eq!(service.add(15, 27).await.status, 200, "{way:?}: others are answered meanwhile");
    drop(readers);
    // The gateway notices at some time that the readers have left, and then they hold nothing that somebody needs.
    let again = async {
        while slow_reader(&service, &request(&service, way).await, has_begun)
            .await
            .1
            .contains("RESULT_DROPPED")
        {}
    };
    tokio::time::timeout(Duration::from_secs(30), again).await.expect("room, once the readers have left");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_stream_of_a_call_is_counted() {
    check(Way::CallTool, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_stream_of_a_turn_is_counted() {
    // The answer to a turn has the result, and the message that is made of it.
    check(Way::Execute, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_stream_of_the_modern_era_is_counted() {
    check(Way::Modern, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_stream_of_the_legacy_era_is_counted() {
    check(Way::Legacy, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_without_room_fails_alone_and_says_that_the_tool_ran() {
    for way in [wire::Way::Sse, wire::Way::Stdio, wire::Way::Http] {
        let (spec, _fixture) = wire::upstream("up", (Era::Legacy, way), |fixture| fixture).await;
        let mut options = FleetOptions::default();
        options.results = ResultBudget::with_patience(2 << 20, PATIENCE);
        let service = Service::with_fleet(vec![spec], options, |_| {}).await;
        let budget = service.running.gateway().fleet().results().clone();
        let call = |tool: &str, arguments: Value| {
            json!({"server": "up", "tool": tool, "arguments": arguments}).to_string()
        };
        let big = call("big", json!({"bytes": 4 << 20}));
        let alone = service.post("/call_tool", &big).await;
        assert_eq!(alone.status, 200, "{way:?}: it fits into an idle gateway");
        let mut held = budget.reservation("another");
        held.force(1);
        // Another call of the same connection is at work meanwhile.
        let slow = call("slow", json!({"ms": 1_000}));
        let (answer, other) =
            tokio::join!(service.post("/call_tool?errors=precise", &big), service.post("/call_tool", &slow));
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (502, "RESULT_DROPPED"),
            "{way:?}: {}",
            answer.body
        );
        assert_eq!(answer.header("retry-after"), None, "{way:?}: the tool would run again");
        let message = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(message.contains("ran") && message.contains("limits.resultBytes"), "{way:?}: {message}");
        assert_eq!(other.status, 200, "{way:?}: {}", other.body);
        for era in wire::ERAS {
            let caller = Caller::open(&service, era, "/mcp", "").await;
            let outcome =
                caller.once("tools/call", json!({"name": "big", "arguments": {"bytes": 4 << 20}})).await;
            let (code, message) = outcome.error();
            assert_eq!(code, -32_603, "{way:?} {era:?}: {message}");
            assert!(message.contains("limits.resultBytes"), "{way:?} {era:?}: {message}");
        }
        drop(held);
        assert_eq!(service.post("/call_tool", &big).await.status, 200, "{way:?}: there is room again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_waits_for_room_is_still_a_request_at_work() {
    let mut options = FleetOptions::default();
    options.results = ResultBudget::with_patience(1_200_000, Duration::from_secs(30));
    let servers = vec![fixture("one", &Fixture::stdio())];
    let service = Service::with_fleet(servers, options, |config| config.concurrent_requests = 1).await;
    let budget = service.running.gateway().fleet().results().clone();
    let mut held = budget.reservation("another");
    held.force(1);
    // The result fits, the answer to the turn, which has it twice, does not.
    let body = json!({"provider": "gemini", "call": {"name": "big", "args": {"bytes": 350_000}}}).to_string();
    let waiting = service.post("/execute", &body);
    let watching = async {
        eventually("the answer to wait", || (350_000..400_000).contains(&budget.used())).await;
        for _ in 0..200 {
            assert_eq!(service.get("/providers").await.status, 503, "the answer waits");
        }
        drop(held);
    };
    let (answer, ()) = tokio::join!(waiting, watching);
    assert_eq!(answer.status, 200, "{:.300}", answer.body);
    assert_eq!(service.get("/providers").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_results_of_several_servers_at_once_all_arrive() {
    const SERVERS: usize = 8;
    const BYTES: usize = 1_900_000;
    let mut options = FleetOptions::default();
    // One result fits, for its server and for its caller. The patience only decides how long a failure takes.
    options.results = ResultBudget::with_patience(4 << 20, Duration::from_secs(30));
    let servers = (0..SERVERS).map(|number| fixture(&format!("server{number}"), &Fixture::stdio())).collect();
    let service = Service::with_fleet(servers, options, |_| {}).await;
    let calls = (0..SERVERS).map(|number| {
        let body = json!({"server": format!("server{number}"), "tool": "big", "arguments": {"bytes": BYTES}});
        let service = &service;
        async move {
            let answer = service.post("/call_tool", &body.to_string()).await;
            (answer.status, answer.body.len() > BYTES)
        }
    });
    assert_eq!(futures_util::future::join_all(calls).await, [(200, true); SERVERS]);
}
