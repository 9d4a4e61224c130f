//! What must hold for every call: it is in the log once, whatever happens; tasks are their owner's; what waits ends.

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::StreamExt as _;
use gateway_service::{Secret, serve_stdio};
use gateway_testkit::{Fault, Fixture, SpokenEra};
use gateway_upstream::{CatalogueRules, Endpoint, HttpMode, UpstreamSpec};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::client::Service;
use crate::mcp::wire::{Caller, Era, Front, PATIENCE, Way, everything, upstream};
use crate::turns::fixture;

/// Faults that only exist over HTTP.
const OF_HTTP: [Fault; 6] = [
    Fault::HttpStatus,
    Fault::ForgetSessions,
    Fault::CloseMidBody,
    Fault::SlowBody,
    Fault::WrongContentType,
    Fault::Redirect,
];

/// The log, once it has so many entries.
async fn logged(service: &Service, count: usize) -> Vec<Value> {
    let reading = async {
        loop {
            let text = service.get("/logs?limit=1000").await.body.replace("1e400", "0");
            let entries: Vec<Value> = serde_json::from_str(&text).unwrap();
            if entries.len() >= count {
                return entries;
            }
            gateway_testkit::pause().await;
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("entries in time")
}

/// Every call is in the log once, with the outcome that its caller was told.
async fn check_log(fault: Fault) {
    let folder = tempfile::tempdir().unwrap();
    let is_http = OF_HTTP.contains(&fault);
    let value = match fault {
        Fault::HugeResult | Fault::LongLine | Fault::LongLineTail => 3 << 20,
        Fault::CrashEvery | Fault::ForgetSessions => 1,
        _ => fault.default_value(),
    };
    let shape = |made: Fixture| {
        made.mode_with(fault, value).only_tool("count").counter(&folder.path().join("counter"))
    };
    let (mut spec, server) = if is_http {
        let server = shape(Fixture::http().era(SpokenEra::Legacy)).start().await.unwrap();
        let endpoint = Endpoint::Http {
            url: server.url().to_owned(),
            headers: std::collections::BTreeMap::new(),
            mode: HttpMode::Auto,
        };
        (UpstreamSpec::new("bad", endpoint), Some(server))
    } else {
        (fixture("bad", &shape(Fixture::stdio())), None)
    };
    spec.timeouts.call = Duration::from_millis(400);
    spec.timeouts.list = Duration::from_millis(500);
    spec.timeouts.connect = Duration::from_secs(3);
    spec.limits.message_bytes = 1 << 20;
    spec.limits.pages = 50;
    let service = Service::with_servers(vec![spec], |config| config.list_wait = Duration::from_secs(5)).await;
    let mut expected = Vec::new();
    for number in 0..3 {
        let correlation = format!("call-{number}");
        let headers = format!("content-type: application/json\r\nx-correlation-id: {correlation}\r\n");
        let body = r#"{"server":"bad","tool":"count","arguments":{}}"#;
        let answer = service.send("POST", "/call_tool", &headers, body).await;
        // A number that nothing here can hold.
        let told: Value = serde_json::from_str(&answer.body.replace("1e400", "0")).unwrap();
        let code = match told {
            told if answer.status == 200 && told["result"]["isError"] == true => json!("TOOL_ERROR"),
            _ if answer.status == 200 => Value::Null,
            told => told["code"].clone(),
        };
        expected.push((correlation, code));
    }
    let logged = logged(&service, 3).await;
    let told: Vec<(String, Value)> = logged
        .iter()
        .map(|entry| {
            let correlation = entry["correlation_id"].as_str().unwrap().to_owned();
            (correlation, entry.get("code").cloned().unwrap_or_default())
        })
        .collect();
    assert_eq!(told, expected, "{fault:?}: {logged:?}");
    let status = service.running.gateway().log().status();
    assert_eq!(status.waiting, 0, "{fault:?}: no room is held");
    drop(server);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_is_in_the_log_once_whatever_goes_wrong() {
    futures_util::stream::iter(Fault::ALL.iter()).for_each_concurrent(4, |fault| check_log(*fault)).await;
}

const ANN: &str = "x-api-key: ann-key\r\n";
const BOB: &str = "x-api-key: bob-key\r\n";

async fn task_request(caller: &Caller<'_>, method: &str, id: &str) -> Value {
    let (_, body) = caller.message(method, json!({"taskId": id}));
    let mut reply = caller.post(&body, &format!("mcp-name: {id}\r\n")).await;
    reply.next().await.unwrap().value
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_its_owners() {
    let up = upstream("up", (Era::Modern, Way::Http), everything).await;
    let front = Front::of_specs(vec![up], CatalogueRules::default(), |config| {
        config.keys.insert("ann".to_owned(), Secret::new("ann-key"));
        config.keys.insert("bob".to_owned(), Secret::new("bob-key"));
    })
    .await;
    let able = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let ann = Caller::able(&front.service, Era::Modern, "/mcp", ANN, able.clone()).await;
    let bob = Caller::able(&front.service, Era::Modern, "/mcp", BOB, able.clone()).await;
    let elsewhere = Caller::able(&front.service, Era::Modern, "/mcp/up", ANN, able).await;
    let begun = ann
        .once("tools/call", json!({"name": "slow_compute", "arguments": {"seconds": 60, "label": "x"}}))
        .await;
    assert_eq!(begun.result()["resultType"], "task", "{}", begun.text);
    let id = begun.result()["taskId"].as_str().unwrap().to_owned();
    assert!(!id.ends_with("task-1") && id.starts_with("gateway:up:"), "{id}");
    let mut flipped = id.clone().into_bytes();
    flipped[20] = if flipped[20] == b'A' { b'B' } else { b'A' };
    let flipped = String::from_utf8(flipped).unwrap();
    for (what, caller, id) in [
        ("another key", &bob, id.as_str()),
        ("another endpoint", &elsewhere, &id),
        ("a changed id", &ann, &flipped),
        ("the server's own id", &ann, "task-1"),
        ("its own id under our name", &ann, "gateway:up:task-1"),
    ] {
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let answer = task_request(caller, method, id).await;
            assert_eq!(answer["error"]["code"], -32602, "{what} {method}: {answer}");
        }
    }
    let mine = task_request(&ann, "tasks/get", &id).await;
    assert_eq!(
        (&mine["result"]["status"], &mine["result"]["taskId"]),
        (&json!("working"), &json!(id)),
        "{mine}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_over_standard_input_are_bounded() {
    const MOST: usize = 1_024;
    let service = Service::start().await;
    let gateway = service.running.gateway().clone();
    let (mut input, theirs) = tokio::io::duplex(1 << 20);
    let (output, ours) = tokio::io::duplex(1 << 20);
    let serving = tokio::spawn(async move { serve_stdio(&gateway, None, theirs, output).await });
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}
    });
    let mut text = String::new();
    for id in 0..=MOST {
        let listen = json!({
            "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen",
            "params": {"notifications": {"toolsListChanged": true}, "_meta": meta}
        });
        let _ = writeln!(text, "{listen}");
    }
    let writing = async { input.write_all(text.as_bytes()).await.unwrap() };
    let reading = async {
        let mut lines = BufReader::new(ours).lines();
        loop {
            let line = lines.next_line().await.unwrap().expect("an answer");
            let value: Value = serde_json::from_str(&line).unwrap();
            if value.get("error").is_some() {
                return value;
            }
        }
    };
    let ((), refused) =
        tokio::time::timeout(PATIENCE, async { tokio::join!(writing, reading) }).await.unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(MOST), &json!(-32603)), "{refused}");
    drop(input);
    tokio::time::timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_never_answers_is_given_up() {
    let front = Front::with((Era::Modern, Way::Http), everything, |config| {
        config.mcp.input_expiry = Duration::from_millis(50);
    })
    .await;
    let caller = front.caller(Era::Legacy).await;
    let (id, mut reply) = caller
        .send("tools/call", json!({"name": "test_elicitation", "arguments": {"message": "Who?"}}))
        .await;
    let question = reply.next().await.unwrap();
    assert_eq!(question.value["method"], "elicitation/create", "{}", question.text);
    loop {
        let next = reply.next().await.unwrap();
        if next.value["id"] == id {
            assert!(
                next.value["error"]["message"].as_str().unwrap().contains("no answer in time"),
                "{}",
                next.text
            );
            return;
        }
        assert_eq!(next.value["method"], "notifications/cancelled", "{}", next.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_wait_do_not_hold_up_the_end_and_are_in_the_log() {
    for way in [Way::Http, Way::Stdio] {
        let front = Front::of((Era::Legacy, way), everything).await;
        let caller = front.caller(Era::Modern).await;
        let asked = caller
            .once("tools/call", json!({"name": "test_elicitation", "arguments": {"message": "Who?"}}))
            .await;
        assert_eq!(asked.result()["resultType"], "input_required", "{}", asked.text);
        let body = json!({"server": "up", "tool": "test_sampling", "arguments": {"prompt": "?"}, "input": ["sampling"]});
        if way == Way::Http {
            assert!(front.service.post("/call_tool", &body.to_string()).await.body.contains("inputRequired"));
        }
        let gateway = front.service.running.gateway().clone();
        let ended = tokio::time::timeout(PATIENCE, front.service.running.shutdown()).await;
        assert_eq!(ended, Ok(true), "{way:?}");
        let status = gateway.log().status();
        let expected = if way == Way::Http { 2 } else { 1 };
        assert_eq!((status.written, status.waiting), (expected, 0), "{way:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_nobody_comes_back_for_is_in_nobodys_way() {
    for way in [Way::Stdio, Way::Sse] {
        let front = Front::of((Era::Legacy, way), everything).await;
        let caller = front.caller(Era::Modern).await;
        let params = json!({"name": "test_elicitation", "arguments": {"message": "Who?"}});
        let abandoned = caller.once("tools/call", params.clone()).await;
        assert_eq!(abandoned.result()["resultType"], "input_required", "{way:?}: {}", abandoned.text);
        let asked = async {
            loop {
                let outcome = caller.once("tools/call", params.clone()).await;
                if outcome.answer["result"]["resultType"] == "input_required" {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, asked)
            .await
            .unwrap_or_else(|_| panic!("{way:?}: nobody is asked any more"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_the_endpoint_count_when_they_come_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gateway.json");
    let text = r#"{
        "mcpServers": {"demo": {"type": "builtin"}},
        "mcp": {"pageSize": 2, "sessions": 1, "search": "off"}
    }"#;
    std::fs::write(&path, text).unwrap();
    let environment = gateway_config::Environment::new(|_| None, |path| std::fs::read_to_string(path));
    let read = gateway_config::parse(&path, &environment.read(&path).unwrap(), &environment).unwrap();
    let mcp = read.service.mcp;
    let service = Service::with_servers(read.servers, |config| config.mcp = mcp).await;
    let first = Caller::open(&service, Era::Legacy, "/mcp", "").await;
    let page = first.ask("tools/list", json!({})).await;
    assert_eq!(page.result()["tools"].as_array().map(Vec::len), Some(2), "{}", page.text);
    assert!(page.result()["nextCursor"].is_string(), "{}", page.text);
    let second = Caller::open(&service, Era::Legacy, "/mcp", "").await;
    assert_eq!(first.send("ping", json!({})).await.1.status, 404, "the second made it go");
    assert_eq!(second.send("ping", json!({})).await.1.status, 200);
}
