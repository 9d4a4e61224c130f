//! Messages over the standard streams of a child process.

use std::time::Duration;

use gateway_protocol::{RawJson, RpcError};
use gateway_upstream::{CallError, ConnectError, Connection, OutgoingRequest, ServerEvent};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::peer::{PATIENCE, call, command, open, options, python, request, text};

#[tokio::test]
async fn results_stay_as_they_came() {
    let spec = python(
        r#"
if not legacy(message) and method == "tools/call":
    send('{"jsonrpc":"2.0","id":%d,"result":{"z":1, "a":12345678901234567890123,"content":[{"type":"odd","x":null}],"_meta":{"k":1.50}}}' % message["id"])
"#,
    );
    let connection = open(&spec).await.expect("the peer answers");
    let result = call(&connection, "any").await.expect("a result");
    assert_eq!(
        result.as_str(),
        r#"{"z":1, "a":12345678901234567890123,"content":[{"type":"odd","x":null}],"_meta":{"k":1.50}}"#
    );
    assert_eq!(connection.server_info().name, "peer");
    assert_eq!(connection.instructions(), Some("be kind"));
    assert_eq!(connection.era().version(), "2025-06-18");
    connection.close().await;
}

#[tokio::test]
async fn many_calls_share_the_stream_and_may_be_answered_backwards() {
    let spec = python(
        r#"
if not legacy(message) and method == "tools/call":
    waiting = globals().setdefault("waiting", [])
    waiting.append(message)
    if len(waiting) == 200:
        for earlier in reversed(waiting):
            result(earlier, text(earlier["params"]["name"]))
"#,
    );
    let connection = open(&spec).await.expect("the peer answers");
    let calls = (0..200).map(|number| {
        let connection = connection.clone();
        async move {
            let name = format!("tool{number}");
            assert_eq!(text(&call(&connection, &name).await.expect("a result")), name);
        }
    });
    futures_util::future::join_all(calls).await;
    assert_eq!(connection.in_flight(), 0);
    connection.close().await;
}

#[tokio::test]
async fn noise_on_the_standard_output_harms_nobody() {
    let spec = python(
        r#"
send("Server starting...")
send('{"hello": 1}')
send('')
send('[]')
if not legacy(message) and method == "tools/call":
    result(message, text("fine"))
"#,
    );
    let connection = open(&spec).await.expect("the peer answers");
    assert_eq!(text(&call(&connection, "any").await.expect("a result")), "fine");
    assert!(connection.noise() >= 4, "{}", connection.noise());
    assert!(connection.stderr().contains("[stdout] Server starting..."), "{}", connection.stderr());
    connection.close().await;
}

#[tokio::test]
async fn refusals_keep_the_error() {
    let spec = python(
        r#"
if not legacy(message) and method == "tools/call":
    error(message, -32602, "Unknown tool", {"big": 1})
"#,
    );
    let connection = open(&spec).await.expect("the peer answers");
    let Err(CallError::Refused { error, .. }) = call(&connection, "any").await else { panic!("not refused") };
    let data = RawJson::parse("{\"big\": 1}").ok();
    assert_eq!(error, RpcError { code: -32602, message: "Unknown tool".to_owned(), data });
    connection.close().await;
}

/// A peer that never answers `slow`, and tells with `told` what it was told.
const SLOW: &str = r#"
if not legacy(message):
    told = globals().setdefault("told", [])
    if method == "tools/call" and message["params"]["name"] == "told":
        result(message, text(json.dumps(told)))
    else:
        params = message.get("params", {})
        told.append([method, params.get("requestId"), params.get("reason")])
        if method == "tools/call":
            send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "begun"}})
"#;

async fn open_listening(body: &str) -> (Connection, mpsc::Receiver<ServerEvent>) {
    let (options, events) = options();
    let spec = python(body);
    let opening = Connection::open(&spec, options);
    let connection = timeout(PATIENCE, opening).await.expect("in time").expect("the peer answers");
    (connection, events)
}

#[tokio::test]
async fn dropping_a_call_tells_the_server() {
    let (connection, mut events) = open_listening(SLOW).await;
    tokio::select! {
        outcome = call(&connection, "slow") => panic!("answered: {outcome:?}"),
        event = events.recv() => assert!(event.is_some()),
    }
    assert_eq!(connection.in_flight(), 0);
    let told = text(&call(&connection, "told").await.expect("a result"));
    let told: Vec<(String, Option<u64>, Option<String>)> = serde_json::from_str(&told).expect("a list");
    let (method, id, reason) = told.last().expect("it was told");
    assert_eq!(
        (method.as_str(), reason.as_deref()),
        ("notifications/cancelled", Some("the caller went away"))
    );
    assert!(id.is_some());
    connection.close().await;
}

#[tokio::test]
async fn a_call_without_an_answer_times_out_and_is_cancelled() {
    let (connection, _events) = open_listening(SLOW).await;
    let params = [("name", b"\"slow\"".as_slice())];
    let short = Duration::from_millis(50);
    let request = OutgoingRequest { idle: short, maximum: short, ..request("tools/call", &params) };
    let outcome = connection.request(request).await;
    assert!(matches!(&outcome, Err(CallError::Timeout { waited, .. }) if *waited >= short), "{outcome:?}");
    let told = text(&call(&connection, "told").await.expect("a result"));
    assert!(told.contains("notifications/cancelled") && told.contains("no answer in time"), "{told}");
    connection.close().await;
}

#[tokio::test]
async fn progress_keeps_a_call_alive_up_to_its_maximum() {
    let body = r#"
if not legacy(message) and method == "tools/call":
    token = message["params"]["_meta"]["progressToken"]
    for step in range(message["params"]["arguments"]["steps"]):
        time.sleep(0.25)
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": step}})
    result(message, text("done"))
"#;
    let (connection, _events) = open_listening(body).await;
    let (progress, mut seen) = mpsc::channel(64);
    let params = [("name", b"\"x\"".as_slice()), ("arguments", b"{\"steps\":10}".as_slice())];
    let idle = Duration::from_secs(2);
    let lively = OutgoingRequest { idle, progress: Some(progress), ..request("tools/call", &params) };
    assert_eq!(text(&connection.request(lively).await.expect("progress keeps it alive")), "done");
    let mut steps = 0;
    while let Ok(notification) = seen.try_recv() {
        assert_eq!(notification.method, "notifications/progress");
        steps += 1;
    }
    assert_eq!(steps, 10);
    let params = [("name", b"\"x\"".as_slice()), ("arguments", b"{\"steps\":100}".as_slice())];
    let capped = OutgoingRequest { idle, maximum: idle + idle / 2, ..request("tools/call", &params) };
    let outcome = connection.request(capped).await;
    assert!(matches!(&outcome, Err(CallError::Timeout { waited, .. }) if *waited > idle), "{outcome:?}");
    connection.close().await;
}

#[tokio::test]
async fn too_many_calls_are_refused_at_once() {
    let mut spec = python(SLOW);
    spec.limits.in_flight = 1;
    let (options, mut events) = options();
    let connection = Connection::open(&spec, options).await.expect("the peer answers");
    let first = call(&connection, "slow");
    tokio::pin!(first);
    tokio::select! {
        outcome = &mut first => panic!("answered: {outcome:?}"),
        event = events.recv() => assert!(event.is_some()),
    }
    let second = call(&connection, "told").await;
    assert!(matches!(second, Err(CallError::Busy { in_flight: 1, .. })), "{second:?}");
    connection.close().await;
    assert!(matches!(first.await, Err(CallError::Lost { .. })));
}

#[tokio::test]
async fn the_server_may_ask() {
    let body = r#"
if message.get("id") == "q1":
    globals()["answer"] = message
elif message.get("id") == "p1":
    globals()["pong"] = message
elif not legacy(message) and method == "tools/call":
    if message["params"]["name"] == "ask":
        send({"jsonrpc": "2.0", "id": "p1", "method": "ping"})
        send({"jsonrpc": "2.0", "id": "q1", "method": "roots/list"})
        globals()["asked"] = message
        result(message, text("asked"))
    else:
        result(message, text(json.dumps([globals().get("answer"), globals().get("pong")])))
"#;
    let (connection, mut events) = open_listening(body).await;
    call(&connection, "ask").await.expect("a result");
    let Some(ServerEvent::Request { request, answer }) = events.recv().await else { panic!("no request") };
    assert_eq!(request.method, "roots/list");
    answer.send(Ok(RawJson::parse("{\n\"roots\": []\n}").expect("JSON"))).expect("it waits");
    // The answer goes out before the next call or with it.
    let mut seen = String::new();
    while !seen.contains("roots") {
        seen = text(&call(&connection, "look").await.expect("a result"));
    }
    assert_eq!(
        seen,
        r#"[{"jsonrpc": "2.0", "id": "q1", "result": {"roots": []}}, {"jsonrpc": "2.0", "id": "p1", "result": {}}]"#
    );
    call(&connection, "ask").await.expect("a result");
    let Some(ServerEvent::Request { answer, .. }) = events.recv().await else { panic!("no request") };
    drop(answer);
    while !seen.contains("-32601") {
        seen = text(&call(&connection, "look").await.expect("a result"));
    }
    connection.close().await;
}

#[tokio::test]
async fn changed_lists_are_never_missed() {
    let body = r#"
if not legacy(message) and method == "tools/call":
    for _ in range(500):
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
    send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    send({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"})
    result(message, text("sent"))
"#;
    let (connection, mut events) = open_listening(body).await;
    call(&connection, "any").await.expect("a result");
    let mut missing = vec!["notifications/tools/list_changed", "notifications/prompts/list_changed"];
    while !missing.is_empty() {
        let event = timeout(PATIENCE, events.recv()).await.expect("a change was missed");
        let Some(ServerEvent::Notification(notification)) = event else { panic!("no notification") };
        missing.retain(|method| *method != notification.method);
    }
    connection.close().await;
}

#[tokio::test]
async fn a_dying_server_ends_the_connection_with_its_last_words() {
    let body = r#"
if not legacy(message) and method == "tools/call":
    print("out of luck", file=sys.stderr)
    sys.exit(3)
"#;
    let (connection, _events) = open_listening(body).await;
    let outcome = call(&connection, "any").await;
    let Err(CallError::Lost { reason, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(reason, "it exited with status 3; its last words: out of luck");
    assert_eq!(connection.ended().await, reason);
    assert!(connection.is_ended());
    let after = call(&connection, "any").await;
    assert!(matches!(after, Err(CallError::Unreachable { .. })), "{after:?}");
}

#[tokio::test]
async fn the_values_of_its_environment_are_not_told() {
    let mut spec = python(
        r#"
if not legacy(message) and method == "tools/call":
    print("bad token", os.environ["TOKEN"], file=sys.stderr)
    sys.exit(3)
"#,
    );
    if let gateway_upstream::Endpoint::Stdio { env, .. } = &mut spec.endpoint {
        env.insert("TOKEN".to_owned(), "s3cr3t-token".to_owned());
    }
    let connection = open(&spec).await.expect("the peer answers");
    let outcome = call(&connection, "any").await;
    let Err(CallError::Lost { reason, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(reason, "it exited with status 3; its last words: bad token ***");
    assert_eq!(connection.stderr(), "bad token ***\n");
}

#[tokio::test]
async fn what_cannot_be_started_is_told() {
    #[track_caller]
    fn check(error: Result<Connection, ConnectError>, expected: &str) {
        assert_eq!(error.expect_err("cannot be started").to_string(), expected);
    }
    check(
        open(&command("no-such-program-anywhere", &[])).await,
        "starting `no-such-program-anywhere`: not found on PATH; install it, or give its whole path",
    );
    check(
        open(&command("./no/such/file", &[])).await,
        "starting `./no/such/file`: there is no such file, or its interpreter is missing",
    );
    let mut nowhere = command("sh", &[]);
    if let gateway_upstream::Endpoint::Stdio { cwd, .. } = &mut nowhere.endpoint {
        *cwd = Some("no/such/directory".into());
    }
    check(open(&nowhere).await, "starting `sh`: the working directory `no/such/directory` is no directory");
}

#[tokio::test]
async fn variables_of_the_gateways_keys_are_not_inherited() {
    let mut spec = python(
        r#"
import os
if not legacy(message) and method == "tools/call":
    result(message, text(os.environ.get("CARGO_MANIFEST_DIR", "nothing")))
"#,
    );
    for (hidden, expected) in
        [(Vec::new(), env!("CARGO_MANIFEST_DIR")), (vec!["CARGO_MANIFEST_DIR"], "nothing")]
    {
        spec.hidden_env = hidden.into_iter().map(str::to_owned).collect();
        let connection = open(&spec).await.expect("the peer answers");
        assert_eq!(text(&call(&connection, "any").await.expect("a result")), expected);
        connection.close().await;
    }
}
