//! What callers can make the gateway do and hold is bounded.

use gateway_testkit::Fixture;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::Service;
use crate::turns::fixture;

const JSON: &str = "content-type: application/json\r\n";

#[tokio::test]
async fn pages_of_other_ports_cannot_change_anything() {
    let service = Service::start().await;
    let port = service.running.address().port();
    let own = format!("http://localhost:{port}");
    let host = format!("localhost:{port}");
    for (origin, target, media, status) in [
        ("http://localhost:3000", "/route", "text/plain", 403),
        ("http://127.0.0.1:3000", "/servers/demo/restart", "text/plain", 403),
        ("http://localhost:3000", "/call_tool", "application/json", 403),
        (own.as_str(), "/servers/demo/connect", "application/json", 200),
    ] {
        let request = format!(
            "POST {target} HTTP/1.1\r\nhost: {host}\r\norigin: {origin}\r\ncontent-type: {media}\r\ncontent-length: 2\r\n\r\n{{}}"
        );
        let answer = service.raw(&request).await;
        assert_eq!(answer.status, status, "{origin} {target}: {}", answer.body);
    }
    let listed = service.send("GET", "/tools", "origin: http://localhost:3000\r\n", "").await;
    assert_eq!(listed.status, 200, "what changes nothing is answered, but cannot be read");
}

/// Definitions that are read anew for each of many defaults.
fn defaults(count: usize) -> Value {
    let definitions: serde_json::Map<String, Value> = (0..count)
        .map(|number| (format!("d{number}"), json!({"$ref": format!("#/$defs/d{}", (number + 1) % count)})))
        .collect();
    let properties: serde_json::Map<String, Value> = (0..count)
        .map(|number| (format!("p{number}"), json!({"type": "string", "default": number})))
        .collect();
    json!({"name": "t", "inputSchema": {"type": "object", "properties": properties, "$defs": definitions}})
}

#[tokio::test]
async fn a_check_that_takes_too_much_work_is_refused() {
    let service = Service::start().await;
    let body = json!({"tools": [defaults(5_000)]}).to_string();
    let answer = service.send("POST", "/check", JSON, &body).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "BODY_TOO_LARGE"), "{:.300}", answer.body);
    assert!(answer.body.contains("send fewer tools"), "{}", answer.body);
    let small = json!({"tools": [defaults(5)]}).to_string();
    assert_eq!(service.send("POST", "/check", JSON, &small).await.status, 200);
}

#[tokio::test]
async fn a_long_report_is_cut_and_says_so() {
    let service = Service::start().await;
    let options: Vec<Value> = (0..200)
        .map(|number| {
            let name = format!("k{number}");
            json!({"type": "object", "properties": {&name: {"type": "string", "minLength": 1}}, "required": [name]})
        })
        .collect();
    let tools: Vec<Value> = (0..20)
        .map(|number| {
            let properties = json!({"v": {"anyOf": options}});
            json!({"name": format!("t{number}"), "inputSchema": {"type": "object", "properties": properties}})
        })
        .collect();
    let answer = service.send("POST", "/check", JSON, &json!({"tools": tools}).to_string()).await;
    assert_eq!(answer.status, 200, "{:.300}", answer.body);
    let report = answer.json();
    assert!(report["truncated"]["changes"].as_u64().unwrap() > 0);
    assert_eq!(report["tools"].as_array().unwrap().len(), 20, "every tool is there");
    assert!(answer.body.len() < 16 << 20, "{}", answer.body.len());
    let answer =
        service.send("POST", "/check?to=gemini", JSON, &json!({"tools": tools[..1]}).to_string()).await;
    assert_eq!(answer.json().get("truncated"), None, "a short one is whole");
}

#[tokio::test]
async fn a_caller_that_does_not_read_is_cut_off() {
    let service = Service::with(|config| config.write_timeout = std::time::Duration::from_millis(50)).await;
    let mut stream = service.connect().await;
    // More answers than the buffers of both sides take, none of which is read.
    let request = "GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(200);
    let mut sent = 0;
    while let Ok(()) = stream.write_all(request.as_bytes()).await {
        sent += 1;
        if sent > 1_000 {
            break;
        }
    }
    assert!(sent <= 1_000, "the connection is closed");
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert_eq!(service.get("/livez").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_goes_on_without_its_caller_stays_counted() {
    let servers = vec![fixture("one", &Fixture::stdio())];
    let service = Service::with_servers(servers, |config| config.concurrent_requests = 1).await;
    let body = r#"{"server":"one","tool":"slow","arguments":{"ms":60000}}"#;
    let mut stream = service.connect().await;
    let request = format!(
        "POST /call_tool HTTP/1.1\r\nhost: localhost\r\n{JSON}idempotency-key: k\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let in_flight = |text: &str| text.contains("gateway_upstream_in_flight{server=\"one\"} 1");
    while !in_flight(&service.get("/metrics/prometheus").await.body) {
        gateway_testkit::pause().await;
    }
    drop(stream);
    // The gateway notices at some time that the caller has left; the call goes on, and so it counts.
    for _ in 0..200 {
        assert_eq!(service.get("/providers").await.status, 503);
    }
    assert!(in_flight(&service.get("/metrics/prometheus").await.body), "it still runs");
}
