//! The call log over HTTP: filters, pages, streams, servers' own files.

use std::time::{Duration, Instant};

use gateway_upstream::{Endpoint, UpstreamSpec};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::client::{Service, read_until};
use crate::mcp::wire::PATIENCE;

/// Reads entries until there are as many as expected: entries are written in batches.
pub(crate) async fn eventually_logged(
    service: &Service,
    target: &str,
    headers: &str,
    count: usize,
) -> Vec<Value> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let answer = service.send("GET", target, headers, "").await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let entries = answer.json().as_array().cloned().unwrap();
        if entries.len() >= count {
            return entries;
        }
        gateway_testkit::pause().await;
    }
    panic!("{count} entries did not come at {target}");
}

#[tokio::test]
async fn entries_have_the_promised_fields() {
    let service = Service::start().await;
    assert_eq!(service.get("/logs").await.json(), json!([]), "before anything is connected");
    let headers = "content-type: application/json\r\nx-correlation-id: mine\r\n";
    let call = r#"{"server":"demo","tool":"add","arguments":{"a":1,"b":2}}"#;
    assert_eq!(service.send("POST", "/call_tool", headers, call).await.status, 200);
    let entries = eventually_logged(&service, "/logs", "", 1).await;
    let entry = &entries[0];
    assert_eq!(
        (&entry["server"], &entry["tool"], &entry["input"]),
        (&json!("demo"), &json!("add"), &json!({"a": 1, "b": 2}))
    );
    assert_eq!(entry["correlation_id"], "mine");
    assert!(
        entry["result"]["content"].is_array()
            && entry["duration_ms"].is_number()
            && entry["timestamp"].is_string()
    );
}

#[tokio::test]
async fn filters_and_pages() {
    let service = Service::start().await;
    for number in 0..25 {
        assert_eq!(service.add(number, 1).await.status, 200);
    }
    let wrong = r#"{"server":"demo","tool":"multiply","arguments":{"a":"x"}}"#;
    assert_eq!(service.post("/call_tool", wrong).await.status, 400);
    let all = eventually_logged(&service, "/logs", "", 26).await;
    let ids: Vec<i64> = all.iter().map(|entry| entry["id"].as_i64().unwrap()).collect();
    assert!(ids.is_sorted(), "oldest first");
    let errors = eventually_logged(&service, "/logs?status=error", "", 1).await;
    assert_eq!(
        (errors.len(), &errors[0]["tool"], &errors[0]["code"]),
        (1, &json!("multiply"), &json!("VALIDATION_ERROR"))
    );
    assert_eq!(eventually_logged(&service, "/logs?tool=multiply", "", 1).await.len(), 1);
    assert_eq!(service.get("/logs?provider=gemini").await.json(), json!([]));
    assert_eq!(service.get("/logs?since=2999-01-01T00:00:00Z").await.json(), json!([]));
    assert_eq!(service.get("/logs?until=2000-01-01T00:00:00Z").await.json(), json!([]));
    assert_eq!(service.get("/logs?server=off").await.json(), json!([]));
    let last = service.get("/logs?limit=10").await;
    assert_eq!(last.json().as_array().unwrap(), &all[16..], "the newest");
    let mut seen: Vec<Value> = last.json().as_array().cloned().unwrap();
    let mut next = last;
    while let Some(link) = next.header("link") {
        let target = link.trim_start_matches('<').split('>').next().unwrap().to_owned();
        next = service.get(&target).await;
        let older = next.json().as_array().cloned().unwrap();
        seen = [older, seen].concat();
    }
    assert_eq!(seen, all, "older pages lead to the start");
    let first = service.get("/logs?after=0&limit=20").await;
    assert_eq!(first.json().as_array().unwrap(), &all[..20]);
    let link = first.header("link").unwrap();
    assert!(link.starts_with("</logs?limit=20&after=") && link.ends_with("; rel=\"next\""), "{link}");
    let since = all[20]["timestamp"].as_str().unwrap();
    assert!(
        service
            .get(&format!("/logs?since={since}"))
            .await
            .json()
            .as_array()
            .is_some_and(|entries| entries.len() >= 5)
    );
}

#[tokio::test]
async fn a_stream_gives_what_was_and_what_comes() {
    let service = Service::with(|config| config.heartbeat = Duration::from_millis(100)).await;
    assert_eq!(service.add(1, 1).await.status, 200);
    let first = eventually_logged(&service, "/logs", "", 1).await[0]["id"].as_i64().unwrap();
    let mut stream = service.connect().await;
    stream.write_all(b"GET /logs?follow=true HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut text = String::new();
    read_until(&mut stream, &mut text, |text| text.contains(&format!("id: {first}\ndata: {{"))).await;
    assert!(text.contains("content-type: text/event-stream"), "{text}");
    read_until(&mut stream, &mut text, |text| text.contains(": heartbeat")).await;
    assert_eq!(service.add(2, 2).await.status, 200);
    let second = format!("id: {}\ndata: {{", first + 1);
    read_until(&mut stream, &mut text, |text| text.contains(&second)).await;
    assert_eq!(text.matches("\"tool\":\"add\"").count(), 2, "each once: {text}");
    drop(stream);
    let mut resumed = service.connect().await;
    let request =
        format!("GET /logs?stream=true HTTP/1.1\r\nhost: localhost\r\nlast-event-id: {first}\r\n\r\n");
    resumed.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    read_until(&mut resumed, &mut text, |text| text.contains(&second)).await;
    assert!(!text.contains(&format!("id: {first}\n")), "{text}");
}

#[tokio::test]
async fn a_stream_begins_with_the_newest_entries() {
    let service = Service::start().await;
    for number in 1..=2 {
        assert_eq!(service.add(number, 1).await.status, 200);
    }
    // Both calls were answered, so both are in the log, however late it is written.
    let mut stream = service.connect().await;
    stream.write_all(b"GET /logs?follow=true&limit=1 HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut text = String::new();
    read_until(&mut stream, &mut text, |text| text.contains("\"tool\":\"add\"")).await;
    assert!(text.contains("\"a\":2") && !text.contains("\"a\":1"), "{text}");
}

#[tokio::test]
async fn streams_are_bounded_and_freed() {
    let service = Service::with(|config| config.log_streams = 1).await;
    let mut stream = service.connect().await;
    stream.write_all(b"GET /logs?follow=true HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    read_until(&mut stream, &mut String::new(), |text| text.contains("retry: 1000")).await;
    let refused = service.get("/logs?follow=true").await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("5")));
    drop(stream);
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let mut next = service.connect().await;
        next.write_all(b"GET /logs?follow=true HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut text = String::new();
        read_until(&mut next, &mut text, |text| text.contains("\r\n\r\n")).await;
        if text.starts_with("HTTP/1.1 200") {
            return;
        }
        gateway_testkit::pause().await;
    }
    panic!("the place of a stream that ended was not freed");
}

#[tokio::test]
async fn a_servers_own_file_is_read_without_connecting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let mut lines = String::new();
    for number in 0..10_000 {
        let moment = jiff::Timestamp::from_second(1_700_000_000 + number).unwrap();
        let line = format!(
            "{{\"timestamp\":\"{moment}\",\"tool\":\"t\",\"arguments\":{{\"n\":{number}}},\"result\":1}}\n"
        );
        lines.push_str(&line);
    }
    lines.push_str("not json\n");
    std::fs::write(&path, lines).unwrap();
    let mut spec = UpstreamSpec::new("default", Endpoint::Demo);
    spec.log_path = Some(path.clone());
    let mut missing = UpstreamSpec::new("missing", Endpoint::Demo);
    missing.log_path = Some(folder.path().join("none.jsonl"));
    let service =
        Service::with_servers(vec![spec, missing, UpstreamSpec::new("without", Endpoint::Demo)], |_| {})
            .await;
    let answer = service.get("/logs?source=server&server=default").await.json();
    let entries = answer.as_array().unwrap();
    assert_eq!(entries.len(), 100);
    assert_eq!(entries[98]["input"], json!({"n": 9_999}), "arguments are called input");
    assert_eq!(entries[99], json!({"parse_error": "not json"}));
    let since = jiff::Timestamp::from_second(1_700_000_000 + 9_990).unwrap();
    let recent = service.get(&format!("/logs?source=server&since={since}&limit=5")).await.json();
    assert_eq!(recent.as_array().map(Vec::len), Some(5), "the default server is meant; since, then limit");
    assert_eq!(service.get("/logs?source=server&server=missing").await.json(), json!([]));
    assert_eq!(service.get("/logs?source=server&server=without").await.json(), json!([]));
    assert_eq!(service.get("/servers").await.json()["servers"][0]["connected"], false);
    let mut stream = service.connect().await;
    stream
        .write_all(b"GET /logs?source=server&follow=true&limit=1 HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut text = String::new();
    read_until(&mut stream, &mut text, |text| text.contains("parse_error")).await;
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, b"{\"tool\":\"fresh\"}\n").unwrap();
    read_until(&mut stream, &mut text, |text| text.contains("\"fresh\"")).await;
    let mut chosen = service.connect().await;
    chosen
        .write_all(
            b"GET /logs?source=server&follow=true&limit=1&tool=fr* HTTP/1.1\r\nhost: localhost\r\n\r\n",
        )
        .await
        .unwrap();
    let mut text = String::new();
    read_until(&mut chosen, &mut text, |text| text.contains("\"fresh\"")).await;
    std::io::Write::write_all(&mut file, b"{\"tool\":\"other\"}\n{\"tool\":\"fruit\"}\n").unwrap();
    read_until(&mut chosen, &mut text, |text| text.contains("\"fruit\"")).await;
    assert!(!text.contains("other"), "the choice holds for what comes later too: {text}");
}
