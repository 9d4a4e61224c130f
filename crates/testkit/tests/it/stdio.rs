//! The well-behaved fixture over stdio, in both eras.

use gateway_protocol::MODERN;
use gateway_testkit::{Fixture, SpokenEra, count_lines_with, eventually};
use serde_json::json;

use crate::talk::{LONG, Talk, call, cancelled, initialize, modern, modern_meta, request, value_of};

#[tokio::test]
async fn a_legacy_server_wants_its_handshake_first() {
    let mut talk = Talk::start(&Fixture::stdio().era(SpokenEra::Legacy));
    let probe = talk.ask(&modern(request(1, "server/discover", &json!({})))).await;
    assert_eq!(probe["error"]["code"], -32601);
    let early = talk.ask(&request(2, "tools/list", &json!({}))).await;
    assert_eq!(early["error"]["code"], -32600);
    talk.handshake().await;
    let list = talk.ask(&request(3, "tools/list", &json!({}))).await;
    assert_eq!(list["result"]["tools"][0]["name"], "add");
    assert_eq!(list["result"].as_object().unwrap().keys().collect::<Vec<_>>(), ["tools"]);
    let sum = talk.ask(&call(4, "add", &json!({"a": 2, "b": 3}))).await;
    assert_eq!(value_of(&sum)["result"], 5);
    assert_eq!(sum["result"].get("resultType"), None);
    assert_eq!(talk.ask(&request(5, "ping", &json!({}))).await["result"], json!({}));
    talk.close_stdin();
    assert_eq!(talk.exit_code().await, Some(0));
}

#[tokio::test]
async fn a_modern_server_needs_no_handshake() {
    let mut talk = Talk::start(&Fixture::stdio().era(SpokenEra::Modern).option("--ttl-ms", 500));
    let probe = talk.ask(&modern(request(1, "server/discover", &json!({})))).await;
    assert_eq!(probe["result"]["supportedVersions"], json!([MODERN]));
    assert_eq!(probe["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "gateway-fixture");
    let list = talk.ask(&modern(request(2, "tools/list", &json!({})))).await;
    assert_eq!(list["result"]["ttlMs"], 500);
    assert_eq!(list["result"]["cacheScope"], "public");
    assert_eq!(list["result"]["resultType"], "complete");
    let sum = talk.ask(&modern(call(3, "add", &json!({"a": 2, "b": 3})))).await;
    assert_eq!(sum["result"]["resultType"], "complete");
    assert_eq!(talk.ask(&modern(request(4, "ping", &json!({})))).await["error"]["code"], -32601);
}

#[tokio::test]
async fn a_modern_server_refuses_what_carries_too_little() {
    let mut talk = Talk::start(&Fixture::stdio().era(SpokenEra::Modern));
    let bare = talk.ask(&request(1, "tools/list", &json!({}))).await;
    assert_eq!(bare["error"]["code"], -32602);
    let mut meta = modern_meta();
    meta.as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    let half = talk.ask(&request(2, "tools/list", &json!({ "_meta": meta }))).await;
    assert_eq!(half["error"]["code"], -32602);
    meta = modern_meta();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let newer = talk.ask(&request(3, "tools/list", &json!({ "_meta": meta }))).await;
    assert_eq!(newer["error"]["code"], -32022);
    assert_eq!(newer["error"]["data"], json!({"supported": [MODERN], "requested": "2099-01-01"}));
    let old = talk.ask(&initialize(4)).await;
    assert_eq!(old["error"]["code"], -32022);
}

#[tokio::test]
async fn a_server_of_both_eras_serves_both_on_one_pipe() {
    let mut talk = Talk::open(&Fixture::stdio()).await;
    let legacy = talk.ask(&call(1, "echo", &json!({"text": "x"}))).await;
    let modern = talk.ask(&modern(call(2, "echo", &json!({"text": "x"})))).await;
    assert_eq!(legacy["result"].get("resultType"), None);
    assert_eq!(modern["result"]["resultType"], "complete");
    assert_eq!(legacy["result"]["structuredContent"], json!({"text": "x"}));
}

#[tokio::test]
async fn progress_is_notified_and_cancellation_honoured() {
    let folder = tempfile::tempdir().unwrap();
    let counter = folder.path().join("counter");
    let mut talk = Talk::open(&Fixture::stdio().counter(&counter)).await;
    let mut slow = call(1, "slow", &json!({"ms": 30, "progress": 3}));
    slow["params"]["_meta"] = json!({"progressToken": "t"});
    talk.send(&slow).await;
    for step in 1..=3 {
        let note = talk.message().await;
        assert_eq!(note["method"], "notifications/progress");
        assert_eq!(
            (&note["params"]["progressToken"], &note["params"]["progress"]),
            (&json!("t"), &json!(step))
        );
    }
    assert_eq!(value_of(&talk.message().await), json!({"waited": 30}));

    talk.send(&call(2, "slow", &json!({"ms": 60_000}))).await;
    eventually(LONG, "the start", || count_lines_with(&counter, "slow-started 2") == 1).await.unwrap();
    talk.send(&cancelled(2)).await;
    eventually(LONG, "the end", || count_lines_with(&counter, "cancelled 2") == 1).await.unwrap();
    // No answer to what was cancelled: the next message answers the next request.
    assert_eq!(talk.ask(&call(3, "echo", &json!({}))).await["id"], 3);
}

#[tokio::test]
async fn subscriptions_are_acknowledged_heard_and_ended() {
    let mut talk = Talk::start(&Fixture::stdio().era(SpokenEra::Modern));
    let listen = request(7, "subscriptions/listen", &json!({"notifications": {"toolsListChanged": true}}));
    let first = talk.ask(&modern(listen)).await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    assert_eq!(first["params"]["notifications"], json!({"toolsListChanged": true}));
    let note = talk.ask(&modern(call(8, "change_tools", &json!({})))).await;
    assert_eq!(note["method"], "notifications/tools/list_changed");
    assert_eq!(note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    assert_eq!(talk.message().await["id"], 8);
    let list = talk.ask(&modern(request(9, "tools/list", &json!({})))).await;
    let tools = list["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.last().unwrap()["name"], "revision_1");
    talk.send(&cancelled(7)).await;
    assert_eq!(talk.ask(&modern(call(10, "change_tools", &json!({})))).await["id"], 10);
}

#[tokio::test]
async fn many_requests_in_one_write_and_malformed_ones_are_answered() {
    let mut talk = Talk::open(&Fixture::stdio()).await;
    let lines: Vec<String> =
        (1..=500).map(|id| call(id, "add", &json!({"a": id, "b": 1})).to_string()).collect();
    talk.send_text(&lines.join("\n")).await;
    for id in 1..=500_u64 {
        let answer = talk.message().await;
        assert_eq!((answer["id"].as_u64(), value_of(&answer)["result"].as_u64()), (Some(id), Some(id + 1)));
    }

    let mut talk = Talk::open(&Fixture::stdio()).await;
    talk.send_text("this is not JSON").await;
    assert_eq!(talk.message().await["error"]["code"], -32700);
    assert_eq!(talk.ask(&request(1, "no/such", &json!({}))).await["error"]["code"], -32601);
}
