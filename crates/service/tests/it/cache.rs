//! Results that are kept for a while.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Answer, Service};

async fn service(pattern: &str) -> Service {
    Service::with(|config| config.cache.tools = vec![(pattern.to_owned(), Duration::from_hours(1))]).await
}

async fn call(service: &Service, tool: &str, arguments: Value, headers: &str) -> Answer {
    let body = json!({"server": "demo", "tool": tool, "arguments": arguments}).to_string();
    let headers = format!("content-type: application/json\r\n{headers}");
    service.send("POST", "/call_tool", &headers, &body).await
}

fn value(answer: &Answer) -> Value {
    answer.json()["result"]["structuredContent"]["value"].clone()
}

async fn store(service: &Service, text: &str) {
    let answer = call(service, "store_value", json!({"key": "k", "value": text}), "").await;
    assert_eq!((answer.status, answer.header("x-cache")), (200, None), "{}", answer.body);
}

#[tokio::test]
async fn a_kept_result_says_so_and_a_caller_may_want_a_fresh_one() {
    let service = service("demo/*").await;
    let get = async |headers: &str| call(&service, "get_value", json!({"key": "k"}), headers).await;
    store(&service, "first").await;
    let first = get("").await;
    assert_eq!((value(&first), first.header("x-cache")), (json!("first"), None));
    store(&service, "second").await;
    let kept = get("").await;
    assert_eq!(
        (value(&kept), kept.header("x-cache"), kept.header("age")),
        (json!("first"), Some("hit"), Some("0"))
    );
    let turn = json!({"provider": "gemini", "call": {"name": "get_value", "args": {"key": "k"}}}).to_string();
    let turn = service.post("/execute", &turn).await.json();
    assert_eq!(
        (&turn["cached"], &turn["result"]["structuredContent"]["value"]),
        (&json!(true), &json!("first"))
    );
    let fresh = get("cache-control: no-cache\r\n").await;
    assert_eq!((value(&fresh), fresh.header("x-cache")), (json!("second"), None));
    assert_eq!(value(&get("").await), json!("second"), "the fresh one took its place");
    let logged = crate::logs::eventually_logged(&service, "/logs?tool=get_value", "", 5).await;
    assert_eq!(logged.len(), 5, "kept results are calls too");
    let metrics = service.get("/metrics/prometheus").await.body;
    assert!(metrics.contains("\ngateway_cache_hits_total 3\n"), "{metrics}");
    assert!(metrics.contains("\ngateway_cache_entries 1\n"), "{metrics}");
}

#[tokio::test]
async fn nothing_is_kept_unless_it_is_configured() {
    let service = Service::start().await;
    store(&service, "first").await;
    assert_eq!(value(&call(&service, "get_value", json!({"key": "k"}), "").await), json!("first"));
    store(&service, "second").await;
    assert_eq!(value(&call(&service, "get_value", json!({"key": "k"}), "").await), json!("second"));
}
