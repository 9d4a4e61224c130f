//! Calls that are answered as a stream.

use gateway_testkit::Fixture;
use serde_json::{Value, json};

use crate::client::{Answer, Service};
use crate::turns::fixture;

/// Asks for a stream, in HTTP/1.0 so that it comes without chunks around it.
async fn post(service: &Service, target: &str, body: &str) -> Answer {
    let length = body.len();
    let head = "host: localhost\r\ncontent-type: application/json\r\naccept: text/event-stream";
    service.raw(&format!("POST {target} HTTP/1.0\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}")).await
}

/// The events of a stream: each its name and its data.
fn events(body: &str) -> Vec<(String, Value)> {
    let blocks = body.split("\n\n").filter(|block| block.starts_with("event: "));
    blocks
        .map(|block| {
            let (name, data) = block.split_once("\ndata: ").unwrap();
            let data = data.replace("\ndata: ", "\n");
            (name.trim_start_matches("event: ").to_owned(), serde_json::from_str(&data).unwrap())
        })
        .collect()
}

async fn service() -> Service {
    Service::with_servers(vec![fixture("one", &Fixture::stdio())], |_| {}).await
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_comes_before_the_result() {
    let service = service().await;
    let body = json!({"server": "one", "tool": "slow", "arguments": {"ms": 1, "progress": 2}}).to_string();
    let answer = post(&service, "/call_tool", &body).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    let told = events(&answer.body);
    let progress = |step: u64| {
        let about =
            json!({"server": "one", "tool": "slow", "progress": step, "total": 2, "message": "still at it"});
        ("progress".to_owned(), about)
    };
    let plain = service.post("/call_tool", &body).await.json();
    assert_eq!(told, [progress(1), progress(2), ("result".to_owned(), plain)], "{}", answer.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_tells_the_progress_of_all_its_calls() {
    let service = service().await;
    let call = json!({"name": "slow", "args": {"ms": 1, "progress": 1}});
    let body = json!({"provider": "gemini", "call": [call, call]}).to_string();
    let answer = post(&service, "/execute", &body).await;
    let told = events(&answer.body);
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["progress", "progress", "result"], "{}", answer.body);
    assert_eq!(told[2].1, service.post("/execute", &body).await.json());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_at_once_has_its_own_status_and_later_it_is_an_event() {
    let service = service().await;
    let answer = post(&service, "/call_tool", r#"{"server":"one","tool":"none"}"#).await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "TOOL_NOT_FOUND"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let mut spec = fixture("one", &Fixture::stdio());
    spec.timeouts.call = std::time::Duration::from_secs(1);
    spec.timeouts.call_maximum = std::time::Duration::from_secs(1);
    let hasty = Service::with_servers(vec![spec], |_| {}).await;
    let body =
        json!({"server": "one", "tool": "slow", "arguments": {"ms": 60_000, "progress": 6_000}}).to_string();
    let answer = post(&hasty, "/call_tool?errors=precise", &body).await;
    let told = events(&answer.body);
    let (last, before) = told.split_last().unwrap();
    assert!(!before.is_empty() && before.iter().all(|(name, _)| name == "progress"), "{}", answer.body);
    assert_eq!(
        (last.0.as_str(), &last.1["status"], &last.1["code"]),
        ("error", &json!(504), &json!("TIMEOUT"))
    );
}
