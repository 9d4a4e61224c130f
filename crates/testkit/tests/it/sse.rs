//! The fixture over HTTP+SSE.

use gateway_testkit::{Fixture, RunningFixture};
use serde_json::{Value, json};

use crate::talk::{call, initialize, initialized, value_of};
use crate::talk_http::{Answer, KINDS, try_send};

async fn open(server: &RunningFixture) -> (Answer, String) {
    let mut stream = try_send(server, "GET", "/sse", &[("accept", "text/event-stream")], "").await.unwrap();
    assert_eq!(stream.status, 200);
    let (kind, endpoint) = stream.next_event().await.unwrap();
    assert_eq!(kind, "endpoint");
    for message in [initialize(0), initialized()] {
        send(server, &endpoint, &message).await;
    }
    assert_eq!(stream.next_message().await["id"], 0);
    (stream, endpoint)
}

async fn send(server: &RunningFixture, endpoint: &str, message: &Value) {
    let answer = try_send(server, "POST", endpoint, &KINDS, &message.to_string()).await.unwrap();
    assert_eq!(answer.status, 202);
}

#[tokio::test]
async fn answers_are_sent_on_the_stream_only() {
    let server = Fixture::sse().start().await.unwrap();
    assert!(server.url().ends_with("/sse"));
    let (mut stream, endpoint) = open(&server).await;
    send(&server, &endpoint, &call(1, "add", &json!({"a": 1, "b": 2}))).await;
    assert_eq!(value_of(&stream.next_message().await)["result"], 3);
    let mut slow = call(2, "slow", &json!({"ms": 10, "progress": 1}));
    slow["params"]["_meta"] = json!({"progressToken": "p"});
    send(&server, &endpoint, &slow).await;
    assert_eq!(stream.next_message().await["method"], "notifications/progress");
    assert_eq!(stream.next_message().await["id"], 2);
    send(&server, &endpoint, &call(3, "change_tools", &json!({}))).await;
    assert_eq!(stream.next_message().await["method"], "notifications/tools/list_changed");

    let server = Fixture::sse().start().await.unwrap();
    let probe = try_send(&server, "POST", "/sse", &KINDS, &initialize(1).to_string()).await.unwrap();
    assert_eq!(probe.status, 405);
    let lost = try_send(&server, "POST", "/messages?sessionId=nobody", &KINDS, "{}").await.unwrap();
    assert_eq!(lost.status, 404);
}

#[tokio::test]
async fn a_closed_stream_is_a_closed_session() {
    let server = Fixture::sse().start().await.unwrap();
    let (stream, endpoint) = open(&server).await;
    drop(stream);
    let start = std::time::Instant::now();
    loop {
        let answer = try_send(&server, "POST", &endpoint, &KINDS, &initialize(1).to_string()).await.unwrap();
        if answer.status == 404 {
            return;
        }
        assert!(start.elapsed() < crate::talk::LONG);
        gateway_testkit::pause().await;
    }
}

#[tokio::test]
async fn faults_come_on_the_stream_too() {
    let server = Fixture::sse().args(["--mode", "duplicate-answers"]).start().await.unwrap();
    let (mut stream, endpoint) = open(&server).await;
    send(&server, &endpoint, &call(1, "echo", &json!({}))).await;
    assert_eq!(stream.next_message().await, stream.next_message().await);

    let mut server = Fixture::sse().args(["--mode", "crash-after-call"]).start().await.unwrap();
    let (mut stream, endpoint) = open(&server).await;
    send(&server, &endpoint, &call(1, "echo", &json!({}))).await;
    assert_eq!(stream.next_message().await["id"], 1);
    assert_eq!(stream.next_event().await, None);
    assert_eq!(server.wait().await.unwrap(), Some(1));
}
