//! The well-behaved fixture over Streamable HTTP, in both eras.

use gateway_protocol::{LATEST_LEGACY, MODERN};
use gateway_testkit::{AnswerKind, Fixture, SpokenEra, count_lines_with, eventually};
use serde_json::json;

use crate::talk::{LONG, call, cancelled, initialize, modern, modern_meta, request, value_of};
use crate::talk_http::{HttpSession, KINDS, post, post_modern, try_send};

#[tokio::test]
async fn a_legacy_session_lives_and_ends() {
    let server = Fixture::http().era(SpokenEra::Legacy).start().await.unwrap();
    let session = HttpSession::open(&server).await;
    let sum = session.post(&call(1, "add", &json!({"a": 1, "b": 2}))).await;
    assert_eq!((sum.status, sum.header("content-type")), (200, Some("application/json")));
    assert_eq!(value_of(&sum.json().await)["result"], 3);

    let list = request(2, "tools/list", &json!({}));
    assert_eq!(post(&server, &[], &list).await.status, 400);
    assert_eq!(post(&server, &[("mcp-session-id", "nobody")], &list).await.status, 404);
    let odd = [("mcp-session-id", session.id.as_str()), ("mcp-protocol-version", "1999-01-01")];
    assert_eq!(post(&server, &odd, &list).await.status, 400);

    let headers = [("mcp-session-id", session.id.as_str())];
    assert_eq!(try_send(&server, "DELETE", "/mcp", &headers, "").await.unwrap().status, 200);
    assert_eq!(session.post(&list).await.status, 404);
}

#[tokio::test]
async fn a_legacy_server_is_not_modern_and_may_be_stateless() {
    let server = Fixture::http().era(SpokenEra::Legacy).start().await.unwrap();
    let probe = post_modern(&server, &modern(request(1, "server/discover", &json!({})))).await;
    assert_eq!(probe.status, 400);
    assert_eq!(probe.json().await["error"]["code"], -32000);

    let server = Fixture::http().era(SpokenEra::Legacy).args(["--stateless"]).start().await.unwrap();
    let opening = post(&server, &[], &initialize(1)).await;
    assert_eq!((opening.status, opening.header("mcp-session-id")), (200, None));
    let message = call(2, "add", &json!({"a": 1, "b": 1}));
    let sum = post(&server, &[("mcp-protocol-version", LATEST_LEGACY)], &message).await;
    assert_eq!(value_of(&sum.json().await)["result"], 2);
    assert_eq!(try_send(&server, "GET", "/mcp", &KINDS, "").await.unwrap().status, 405);
}

#[tokio::test]
async fn changes_are_heard_on_the_legacy_stream() {
    let server = Fixture::http().era(SpokenEra::Legacy).start().await.unwrap();
    let session = HttpSession::open(&server).await;
    let headers = [("accept", "text/event-stream"), ("mcp-session-id", session.id.as_str())];
    let mut stream = try_send(&server, "GET", "/mcp", &headers, "").await.unwrap();
    assert_eq!((stream.status, stream.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(try_send(&server, "POST", "/admin/change-tools", &[], "").await.unwrap().status, 200);
    assert_eq!(
        stream.next_message().await,
        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    );
    let unknown = [("mcp-session-id", "nobody")];
    assert_eq!(try_send(&server, "GET", "/mcp", &unknown, "").await.unwrap().status, 404);
}

#[tokio::test]
async fn the_modern_era_has_no_sessions_and_no_get() {
    let server = Fixture::http().era(SpokenEra::Modern).start().await.unwrap();
    let found = post_modern(&server, &modern(request(1, "server/discover", &json!({})))).await;
    assert_eq!((found.status, found.header("mcp-session-id")), (200, None));
    assert_eq!(found.json().await["result"]["supportedVersions"], json!([MODERN]));
    let list = post_modern(&server, &modern(request(2, "tools/list", &json!({})))).await.json().await;
    assert_eq!(list["result"]["cacheScope"], "public");
    let sum = post_modern(&server, &modern(call(3, "add", &json!({"a": 1, "b": 2})))).await.json().await;
    assert_eq!(
        (value_of(&sum)["result"].as_u64(), &sum["result"]["resultType"]),
        (Some(3), &json!("complete"))
    );
    for method in ["GET", "DELETE"] {
        assert_eq!(try_send(&server, method, "/mcp", &KINDS, "").await.unwrap().status, 405);
    }
    let unknown = post_modern(&server, &modern(request(4, "no/such", &json!({})))).await;
    assert_eq!(unknown.status, 404);
    assert_eq!(unknown.json().await["error"]["code"], -32601);
    let old = post(&server, &[("mcp-method", "initialize")], &initialize(5)).await;
    assert_eq!(old.status, 400);
    assert_eq!(old.json().await["error"]["code"], -32022);
}

#[tokio::test]
async fn headers_of_the_modern_era_must_repeat_the_body() {
    let server = Fixture::http().era(SpokenEra::Modern).start().await.unwrap();
    let message = modern(call(1, "add", &json!({"a": 1, "b": 2})));
    let version = ("mcp-protocol-version", MODERN);
    let cases: [&[(&str, &str)]; 6] = [
        &[],
        &[version, ("mcp-method", "tools/call")],
        &[version, ("mcp-name", "add")],
        &[version, ("mcp-method", "tools/list"), ("mcp-name", "add")],
        &[version, ("mcp-method", "tools/call"), ("mcp-name", "echo")],
        &[("mcp-protocol-version", LATEST_LEGACY), ("mcp-method", "tools/call"), ("mcp-name", "add")],
    ];
    for headers in cases {
        let answer = post(&server, headers, &message).await;
        assert_eq!(answer.status, 400, "{headers:?}");
        assert_eq!(answer.json().await["error"]["code"], -32020, "{headers:?}");
    }
    let coded = [version, ("mcp-method", "tools/call"), ("mcp-name", "=?base64?YWRk?=")];
    assert_eq!(post(&server, &coded, &message).await.status, 200);
    let mut meta = modern_meta();
    meta.as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    let poor = post_modern(&server, &request(2, "tools/list", &json!({ "_meta": meta }))).await;
    assert_eq!(poor.status, 400);
    assert_eq!(poor.json().await["error"]["code"], -32602);
}

#[tokio::test]
async fn mirrored_parameters_are_seen_and_checked() {
    let server = Fixture::http().era(SpokenEra::Modern).start().await.unwrap();
    let message = modern(call(1, "header_echo", &json!({"region": "Zürich", "level": 3, "note": "n"})));
    let usual = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "header_echo")];
    let with = |more: &[(&'static str, &'static str)]| [usual.as_slice(), more].concat();
    let good = with(&[("Mcp-Param-Region", "=?base64?WsO8cmljaA==?="), ("Mcp-Param-Level", "3")]);
    let answer = post(&server, &good, &message).await;
    assert_eq!(value_of(&answer.json().await), json!({"region": "=?base64?WsO8cmljaA==?=", "level": "3"}));
    for bad in [
        with(&[("mcp-param-level", "3")]),
        with(&[("mcp-param-region", "Bern"), ("mcp-param-level", "3")]),
        usual.to_vec(),
    ] {
        let answer = post(&server, &bad, &message).await;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.json().await["error"]["code"], -32020);
    }
}

#[tokio::test]
async fn a_listen_stream_is_acknowledged_first() {
    let server = Fixture::http().era(SpokenEra::Modern).start().await.unwrap();
    let listen =
        modern(request(7, "subscriptions/listen", &json!({"notifications": {"toolsListChanged": true}})));
    let mut stream = post_modern(&server, &listen).await;
    assert_eq!((stream.status, stream.header("content-type")), (200, Some("text/event-stream")));
    let first = stream.next_message().await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    post_modern(&server, &modern(call(8, "change_tools", &json!({"times": 2})))).await;
    for _ in 0..2 {
        let note = stream.next_message().await;
        assert_eq!(note["method"], "notifications/tools/list_changed");
        assert_eq!(note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    }
}

#[tokio::test]
async fn answers_come_as_events_where_asked_for_or_needed() {
    let server = Fixture::http().answers(AnswerKind::Sse).start().await.unwrap();
    let answer = post_modern(&server, &modern(call(1, "echo", &json!({"text": "x"})))).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events = answer.events().await;
    assert_eq!((events.len(), &events[0]["id"]), (1, &json!(1)));

    let server = Fixture::http().start().await.unwrap();
    let session = HttpSession::open(&server).await;
    let mut slow = call(2, "slow", &json!({"ms": 30, "progress": 2}));
    assert_eq!(session.post(&slow).await.header("content-type"), Some("application/json"));
    slow["params"]["_meta"] = json!({"progressToken": 5});
    let events = session.post(&slow).await.events().await;
    let kinds: Vec<_> = events.iter().map(|event| event["params"]["progress"].as_u64()).collect();
    assert_eq!(kinds, [Some(1), Some(2), None]);
    assert_eq!(value_of(&events[2]), json!({"waited": 30}));
}

#[tokio::test]
async fn going_away_cancels_in_the_modern_era_only() {
    let folder = tempfile::tempdir().unwrap();
    let counter = folder.path().join("counter");
    let server = Fixture::http().counter(&counter).start().await.unwrap();
    // As JSON, and as events.
    for (id, token) in [(1, json!({})), (2, json!({"progressToken": 1}))] {
        let mut message = call(id, "slow", &json!({"ms": 60_000, "progress": 600}));
        message["params"]["_meta"] = token;
        let message = modern(message);
        let attempt = async { post_modern(&server, &message).await.next_event().await };
        tokio::select! {
            _ = attempt => {}
            started = eventually(LONG, "the start", || {
                count_lines_with(&counter, &format!("slow-started {id}")) == 1
            }) => started.unwrap(),
        }
        eventually(LONG, "the end", || count_lines_with(&counter, &format!("cancelled {id}")) == 1)
            .await
            .unwrap();
    }
    let session = HttpSession::open(&server).await;
    let slow = call(3, "slow", &json!({"ms": 300}));
    tokio::select! {
        _ = session.post(&slow) => panic!("too early"),
        started = eventually(LONG, "the start", || count_lines_with(&counter, "slow-started 3") == 1) => {
            started.unwrap();
        }
    }
    eventually(LONG, "the end", || count_lines_with(&counter, "slow-finished 3") == 1).await.unwrap();
    assert_eq!(count_lines_with(&counter, "cancelled"), 2);
}

#[tokio::test]
async fn a_notification_cancels_in_the_legacy_era() {
    let folder = tempfile::tempdir().unwrap();
    let counter = folder.path().join("counter");
    let server = Fixture::http().counter(&counter).start().await.unwrap();
    let session = HttpSession::open(&server).await;
    let slow = call(4, "slow", &json!({"ms": 60_000}));
    let cancel = async {
        eventually(LONG, "the start", || count_lines_with(&counter, "slow-started 4") == 1).await.unwrap();
        let note = cancelled(4);
        assert_eq!(session.post(&note).await.status, 202);
    };
    tokio::join!(session.post(&slow), cancel);
    assert_eq!(count_lines_with(&counter, "cancelled 4"), 1);
}

#[tokio::test]
async fn callers_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("wire.jsonl");
    let server =
        Fixture::http().option("--require-token", "s3cret").option("--wire-log", log.display()).start();
    let server = server.await.unwrap();
    assert_eq!(post(&server, &[], &initialize(1)).await.status, 401);
    let token = ("authorization", "Bearer s3cret");
    assert_eq!(post(&server, &[token], &initialize(2)).await.status, 200);
    assert_eq!(post(&server, &[token, ("origin", "http://evil.example")], &initialize(3)).await.status, 403);
    assert_eq!(
        post(&server, &[token, ("origin", "http://localhost:5173")], &initialize(4)).await.status,
        200
    );
    let no_events = [token, ("content-type", "application/json"), ("accept", "application/json")];
    let opening = initialize(5).to_string();
    assert_eq!(try_send(&server, "POST", "/mcp", &no_events, &opening).await.unwrap().status, 406);
    assert_eq!(try_send(&server, "POST", "/elsewhere", &[token], "{}").await.unwrap().status, 404);
    let broken = [token, KINDS[0], KINDS[1]];
    assert_eq!(try_send(&server, "POST", "/mcp", &broken, "{").await.unwrap().status, 400);
    let log = std::fs::read_to_string(log).unwrap();
    let second: serde_json::Value = serde_json::from_str(log.lines().nth(1).unwrap()).unwrap();
    assert_eq!(second["headers"]["authorization"], "Bearer s3cret");
    assert_eq!(second["message"], initialize(2));
}
