//! Owners of keys: what one owner has, no other can use, and the log belongs to whoever made its calls.

use std::time::Duration;

use gateway_service::{Secret, ServiceConfig};
use gateway_upstream::{Approval, Endpoint, UpstreamSpec};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::client::{Answer, Service, read_until};
use crate::logs::eventually_logged;
use crate::mcp::wire::{Caller, Era};

const ADMIN: &str = "content-type: application/json\r\nx-api-key: admin-key\r\n";
const ANN: &str = "content-type: application/json\r\nx-api-key: ann-key\r\n";
const BOB: &str = "content-type: application/json\r\nx-api-key: bob-key\r\n";

/// An admin and two callers; the admin has the name of one of them.
fn people(config: &mut ServiceConfig) {
    config.admin_keys.insert("ann".to_owned(), Secret::new("admin-key"));
    config.keys.insert("ann".to_owned(), Secret::new("ann-key"));
    config.keys.insert("bob".to_owned(), Secret::new("bob-key"));
}

async fn add(service: &Service, headers: &str, left: u64) -> Answer {
    let body = json!({"server": "demo", "tool": "add", "arguments": {"a": left, "b": 1}});
    service.send("POST", "/call_tool", headers, &body.to_string()).await
}

/// What the entries are about: who called, and with which first argument.
fn seen(entries: &[Value]) -> Vec<(Value, Value)> {
    entries.iter().map(|entry| (entry["caller"].clone(), entry["input"]["a"].clone())).collect()
}

#[tokio::test]
async fn an_admin_and_a_caller_of_one_name_share_nothing() {
    let service = Service::with(|config| {
        people(config);
        config.approval.tools = vec![("demo/multiply".to_owned(), Approval::Ask)];
        config.approval.wait = Duration::ZERO;
    })
    .await;
    let keyed = |headers: &str| format!("{headers}idempotency-key: same\r\n");
    assert_eq!(add(&service, &keyed(ADMIN), 1).await.status, 200);
    let own = add(&service, &keyed(ANN), 1).await;
    assert_eq!((own.status, own.header("idempotent-replayed")), (200, None), "another owner's answer");

    let multiply = json!({"server": "demo", "tool": "multiply", "arguments": {"a": 2, "b": 3}}).to_string();
    let refused = service.send("POST", "/call_tool", ADMIN, &multiply).await;
    assert_eq!(refused.code(), "APPROVAL_REQUIRED", "{}", refused.body);
    let approve = format!("/approvals/{}", refused.json()["approvalId"].as_str().unwrap());
    assert_eq!(service.send("POST", &approve, ADMIN, r#"{"decision":"approve"}"#).await.status, 200);
    let other = service.send("POST", "/call_tool", ANN, &multiply).await;
    assert_eq!(other.code(), "APPROVAL_REQUIRED", "approved for another owner: {}", other.body);
    assert_eq!(service.send("POST", "/call_tool", ADMIN, &multiply).await.status, 200);

    let session = Caller::open(&service, Era::Legacy, "/mcp", "x-api-key: ann-key\r\n").await;
    let stolen = session.shown_as("/mcp", "x-api-key: admin-key\r\n");
    let (_, reply) = stolen.send("tools/list", json!({})).await;
    assert_eq!(reply.status, 404, "a session of another owner");

    let all = eventually_logged(&service, "/logs?tool=add", ADMIN, 2).await;
    assert_eq!(seen(&all), [(json!("admin:ann"), json!(1)), (json!("ann"), json!(1))]);
}

#[tokio::test]
async fn a_caller_reads_its_own_calls_only() {
    let service = Service::with(people).await;
    for (headers, left) in [(ANN, 1), (BOB, 2), (ADMIN, 3), (ANN, 4)] {
        assert_eq!(add(&service, headers, left).await.status, 200);
    }
    let anns = [(json!("ann"), json!(1)), (json!("ann"), json!(4))];
    assert_eq!(seen(&eventually_logged(&service, "/logs", ANN, 2).await), anns);
    for (target, expected) in [
        ("/logs?caller=ann", &anns[..]),
        ("/logs?caller=*", &anns[..]),
        ("/logs?caller=b*", &[]),
        ("/logs?text=%22a%22:2", &[]),
        ("/logs?text=%22a%22:4", &anns[1..]),
        ("/logs?limit=1", &anns[1..]),
        ("/logs?after=0&limit=1", &anns[..1]),
    ] {
        let answer = service.send("GET", target, ANN, "").await;
        assert_eq!(seen(answer.json().as_array().unwrap()), expected, "{target}");
    }
    for name in ["bob", "admin:ann", "nobody"] {
        let answer = service.send("GET", &format!("/logs?caller={name}"), ANN, "").await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "FORBIDDEN"), "{name}: {}", answer.body);
    }
    let all = service.send("GET", "/logs", ADMIN, "").await.json();
    let expected = [
        (json!("ann"), json!(1)),
        (json!("bob"), json!(2)),
        (json!("admin:ann"), json!(3)),
        (json!("ann"), json!(4)),
    ];
    assert_eq!(seen(all.as_array().unwrap()), expected);
    let bobs = service.send("GET", "/logs?caller=bob", ADMIN, "").await.json();
    assert_eq!(seen(bobs.as_array().unwrap()), [(json!("bob"), json!(2))]);
}

#[tokio::test]
async fn readers_see_the_calls_of_all() {
    let service = Service::with(|config| {
        people(config);
        config.log.readers = vec!["bob".to_owned()];
    })
    .await;
    assert_eq!(add(&service, ANN, 1).await.status, 200);
    assert_eq!(add(&service, BOB, 2).await.status, 200);
    let all = [(json!("ann"), json!(1)), (json!("bob"), json!(2))];
    assert_eq!(seen(&eventually_logged(&service, "/logs", BOB, 2).await), all);
    let anns = service.send("GET", "/logs?caller=ann", BOB, "").await.json();
    assert_eq!(seen(anns.as_array().unwrap()), all[..1]);
    assert_eq!(service.send("GET", "/logs?source=server&server=demo", BOB, "").await.status, 200);
    let own = service.send("GET", "/logs", ANN, "").await.json();
    assert_eq!(seen(own.as_array().unwrap()), all[..1], "who reads is not read");
}

#[tokio::test]
async fn pages_lead_through_ones_own_calls_only() {
    let service = Service::with(people).await;
    for number in 0..6 {
        assert_eq!(add(&service, if number % 2 == 0 { ANN } else { BOB }, number).await.status, 200);
    }
    eventually_logged(&service, "/logs", ADMIN, 6).await;
    let mut found = Vec::new();
    let mut target = "/logs?limit=1".to_owned();
    loop {
        let page = service.send("GET", &target, ANN, "").await;
        found.extend(seen(page.json().as_array().unwrap()));
        let Some(link) = page.header("link") else { break };
        target = link.trim_start_matches('<').split('>').next().unwrap().to_owned();
    }
    assert_eq!(found, [4, 2, 0].map(|number| (json!("ann"), json!(number))));
}

#[tokio::test]
async fn a_stream_shows_ones_own_calls_only() {
    let service = Service::with(people).await;
    assert_eq!(add(&service, BOB, 11).await.status, 200);
    assert_eq!(add(&service, ANN, 12).await.status, 200);
    let mut stream = service.connect().await;
    let request = format!("GET /logs?follow=true HTTP/1.1\r\nhost: localhost\r\n{ANN}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    read_until(&mut stream, &mut text, |text| text.contains("\"a\":12")).await;
    assert_eq!(add(&service, BOB, 13).await.status, 200);
    assert_eq!(add(&service, ANN, 14).await.status, 200);
    read_until(&mut stream, &mut text, |text| text.contains("\"a\":14")).await;
    assert!(!text.contains("\"a\":11") && !text.contains("\"a\":13") && !text.contains("bob"), "{text}");
}

#[tokio::test]
async fn a_servers_own_log_is_for_admins_and_readers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    std::fs::write(&path, "{\"tool\":\"t\",\"arguments\":{\"secret\":1}}\n").unwrap();
    let mut spec = UpstreamSpec::new("demo", Endpoint::Demo);
    spec.log_path = Some(path);
    let service = Service::with_servers(vec![spec], people).await;
    for target in ["/logs?source=server&server=demo", "/logs?source=server&server=demo&follow=true"] {
        let answer = service.send("GET", target, ANN, "").await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "FORBIDDEN"), "{}", answer.body);
    }
    let read = service.send("GET", "/logs?source=server&server=demo", ADMIN, "").await;
    assert_eq!(read.json(), json!([{"tool": "t", "input": {"secret": 1}}]));
}

/// Where only admins have keys, whoever has none shares the calls that nobody signed.
#[tokio::test]
async fn without_a_key_an_admins_calls_are_not_shown() {
    let service = Service::with(|config| {
        config.admin_keys.insert("root".to_owned(), Secret::new("admin-key"));
    })
    .await;
    assert_eq!(add(&service, ADMIN, 1).await.status, 200);
    assert_eq!(service.add(2, 1).await.status, 200);
    let all = eventually_logged(&service, "/logs", ADMIN, 2).await;
    assert_eq!(seen(&all), [(json!("admin:root"), json!(1)), (Value::Null, json!(2))]);
    assert_eq!(seen(service.get("/logs").await.json().as_array().unwrap()), [(Value::Null, json!(2))]);
    assert_eq!(service.get("/logs?caller=admin:root").await.status, 403);
}
