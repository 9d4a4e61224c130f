//! The official SDK as the other side: every way in which rmcp serves, against our client.

mod server;

use std::path::Path;
use std::sync::atomic::Ordering;

use gateway_protocol::RawJson;
use gateway_testkit::{count_lines_with, eventually};
use gateway_upstream::{CallError, CallOptions, Fleet, ProtocolChoice, UpstreamId, UpstreamSpec};
use tokio::sync::mpsc;

use self::server::{Answers, HttpPeer, Speaks, stdio_spec};
use crate::fleet::{PATIENCE, call, http, start, text};

/// What our client must find out about a server that offers these versions.
fn era_of(speaks: Speaks, choice: ProtocolChoice) -> &'static str {
    match (speaks, choice) {
        (Speaks::Legacy, _) | (Speaks::Both, ProtocolChoice::Legacy) => "legacy",
        (Speaks::Modern | Speaks::Both, _) => "modern",
    }
}

/// Lists, calls, fails, shows progress and cancels.
async fn check_calls(fleet: &Fleet, record: &Path, transport: &str, era: &str) {
    let result = call(fleet, "peer", "add", r#"{"a":15,"b":27}"#).await.unwrap();
    assert_eq!(text(&result), "42");
    let health = fleet.health_of("peer").unwrap();
    assert!(health.ok, "{health:?}");
    assert_eq!((health.transport, health.era.as_ref().unwrap().name()), (transport, era));
    assert_eq!(health.server, Some(("rmcp-peer".to_owned(), "1.0.0".to_owned())));
    let names: Vec<String> = fleet.catalogue().tools_of("peer").map(|tool| tool.name.clone()).collect();
    assert_eq!(
        names,
        ["add", "fail", "ghost", "steps", "wait", "hold", "grow", "exit"],
        "all pages, in order"
    );

    let failed = call(fleet, "peer", "fail", "{}").await.unwrap();
    assert!(failed.as_str().contains(r#""isError":true"#), "{failed}");
    let refused = call(fleet, "peer", "ghost", "{}").await;
    assert!(matches!(&refused, Err(CallError::Refused { error, .. }) if error.code == -32602), "{refused:?}");

    let (sender, mut progress) = mpsc::channel(16);
    let mut options = CallOptions::default();
    options.progress = Some(sender);
    let catalogue = fleet.catalogue();
    let steps = catalogue.get("peer", "steps").unwrap();
    let result = fleet.call(steps, Some(&RawJson::empty_object()), &options).await.unwrap();
    assert_eq!(text(&result), "done");
    drop(options);
    let mut seen = Vec::new();
    while let Some(notification) = progress.recv().await {
        let params: serde_json::Value = notification.params.unwrap().read().unwrap();
        seen.push(params["progress"].as_f64().unwrap());
    }
    assert_eq!(seen, [1.0, 2.0, 3.0]);

    let waiting = tokio::spawn({
        let fleet = fleet.clone();
        async move { call(&fleet, "peer", "wait", "{}").await }
    });
    eventually(PATIENCE, "the call", || count_lines_with(record, "ran wait") == 1).await.unwrap();
    waiting.abort();
    eventually(PATIENCE, "the cancellation", || count_lines_with(record, "cancelled") == 1).await.unwrap();
    for tool in ["add", "fail", "ghost", "steps", "wait"] {
        assert_eq!(count_lines_with(record, &format!("ran {tool}")), 1, "{tool} ran once");
    }
}

/// The list of tools grows, and our list grows with it.
async fn check_change(fleet: &Fleet) {
    call(fleet, "peer", "grow", "{}").await.unwrap();
    eventually(PATIENCE, "the grown list", || fleet.catalogue().get("peer", "grown-0").is_some())
        .await
        .unwrap();
}

async fn check_stdio(speaks: Speaks, choice: ProtocolChoice) {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let mut spec = stdio_spec(speaks, &record);
    spec.protocol = choice;
    let era = era_of(speaks, choice);
    let fleet = start(vec![spec]);
    check_calls(&fleet, &record, "stdio", era).await;
    if era == "modern" {
        eventually(PATIENCE, "the subscription", || count_lines_with(&record, "listening") > 0)
            .await
            .unwrap();
    }
    check_change(&fleet).await;
    let lost = call(&fleet, "peer", "exit", "{}").await;
    assert!(matches!(lost, Err(CallError::Lost { .. })), "{lost:?}");
    works_again(&fleet).await;
    assert_eq!(count_lines_with(&record, "ran exit"), 1, "it is not sent again");
    assert_eq!(fleet.health_of("peer").unwrap().restarts, 1);
    fleet.shutdown(PATIENCE).await;
}

/// Waits until the upstream answers again on its own.
async fn works_again(fleet: &Fleet) {
    let begin = std::time::Instant::now();
    loop {
        fleet.listed(&[UpstreamId::new("peer")], PATIENCE).await;
        let outcome = call(fleet, "peer", "add", r#"{"a":1,"b":2}"#).await;
        if outcome.is_ok() && fleet.health_of("peer").unwrap().ok {
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "{outcome:?} {:?}", fleet.health_of("peer"));
        gateway_testkit::pause().await;
    }
}

async fn check_http(speaks: Speaks, answers: Answers, choice: ProtocolChoice) {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let server = HttpPeer::start(speaks, answers, &record).await;
    let mut spec: UpstreamSpec = http("peer", &server.url);
    spec.protocol = choice;
    let era = era_of(speaks, choice);
    let fleet = start(vec![spec]);
    check_calls(&fleet, &record, "http", era).await;
    let streams = || match (era, answers) {
        ("modern", _) => count_lines_with(&record, "listening") > 0,
        (_, Answers::Sessions) => server.gets.load(Ordering::SeqCst) > 0,
        // Without a session there is no stream beside the answers.
        _ => true,
    };
    eventually(PATIENCE, "the stream of changes", streams).await.unwrap();
    check_change(&fleet).await;

    server.forget_sessions().await;
    let before = count_lines_with(&record, "ran add");
    let result = call(&fleet, "peer", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    assert_eq!(text(&result), "3", "a forgotten session is opened again within the call");
    assert_eq!(count_lines_with(&record, "ran add"), before + 1, "and the tool runs once");
    assert_eq!(fleet.health_of("peer").unwrap().restarts, 0, "without a new connection");

    let server = server.restarted().await;
    works_again(&fleet).await;
    fleet.shutdown(PATIENCE).await;
    drop(server);
}

#[tokio::test(flavor = "multi_thread")]
async fn stdio_with_every_set_of_versions() {
    check_stdio(Speaks::Legacy, ProtocolChoice::Auto).await;
    check_stdio(Speaks::Modern, ProtocolChoice::Auto).await;
    check_stdio(Speaks::Both, ProtocolChoice::Auto).await;
    check_stdio(Speaks::Both, ProtocolChoice::Legacy).await;
    check_stdio(Speaks::Modern, ProtocolChoice::Modern).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn http_with_sessions() {
    check_http(Speaks::Legacy, Answers::Sessions, ProtocolChoice::Auto).await;
    check_http(Speaks::Modern, Answers::Sessions, ProtocolChoice::Auto).await;
    check_http(Speaks::Both, Answers::Sessions, ProtocolChoice::Auto).await;
    check_http(Speaks::Both, Answers::Sessions, ProtocolChoice::Legacy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_the_server_closes_are_taken_up_again() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let server = HttpPeer::start(Speaks::Legacy, Answers::Sessions, &record).await;
    let fleet = start(vec![http("peer", &server.url)]);
    let held = tokio::spawn({
        let fleet = fleet.clone();
        async move { call(&fleet, "peer", "hold", "{}").await }
    });
    eventually(PATIENCE, "the call", || count_lines_with(&record, "holding") == 1).await.unwrap();
    let gets = || server.gets.load(Ordering::SeqCst);
    eventually(PATIENCE, "the stream of changes", || gets() == 1).await.unwrap();
    server.close_streams().await;
    // That of the call and that of changes. The SDK keeps no answer that comes before its stream is there again.
    eventually(PATIENCE, "both streams", || gets() >= 3).await.unwrap();
    check_change(&fleet).await;
    assert_eq!(text(&held.await.unwrap().unwrap()), "held");
    assert_eq!(count_lines_with(&record, "ran hold"), 1, "it is taken up, not sent again");
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn http_without_sessions() {
    check_http(Speaks::Legacy, Answers::Stateless, ProtocolChoice::Auto).await;
    check_http(Speaks::Modern, Answers::Stateless, ProtocolChoice::Auto).await;
    check_http(Speaks::Both, Answers::Stateless, ProtocolChoice::Auto).await;
    check_http(Speaks::Both, Answers::Stateless, ProtocolChoice::Legacy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn http_with_json_answers() {
    check_http(Speaks::Legacy, Answers::Json, ProtocolChoice::Auto).await;
    check_http(Speaks::Modern, Answers::Json, ProtocolChoice::Auto).await;
    check_http(Speaks::Both, Answers::Json, ProtocolChoice::Auto).await;
    check_http(Speaks::Both, Answers::Json, ProtocolChoice::Legacy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn http_that_wants_the_version_in_every_request() {
    check_http(Speaks::Modern, Answers::Strict, ProtocolChoice::Auto).await;
    check_http(Speaks::Both, Answers::Strict, ProtocolChoice::Auto).await;
}
