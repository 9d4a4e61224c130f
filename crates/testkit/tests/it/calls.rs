//! The results of each tool.

use gateway_testkit::{Fixture, LOSSLESS_RESULT, count_lines, count_lines_with};
use serde_json::{Value, json};

use crate::talk::{Talk, call, value_of};

async fn ask(tool: &str, arguments: Value) -> Value {
    Talk::open(&Fixture::stdio()).await.ask(&call(1, tool, &arguments)).await
}

#[tokio::test]
async fn the_five_tools_of_the_demo_answer_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls.jsonl");
    let environment = [("MCP_CALL_LOG", log.to_str().unwrap())];
    let mut talk = Talk::start_with(&Fixture::stdio(), std::process::Stdio::null(), &environment);
    talk.handshake().await;
    let cases = [
        ("add", json!({"a": 15, "b": 27}), json!({"result": 42, "operation": "add", "a": 15, "b": 27})),
        (
            "multiply",
            json!({"a": 1.5, "b": 4}),
            json!({"result": 6, "operation": "multiply", "a": 1.5, "b": 4}),
        ),
        (
            "get_weather",
            json!({"location": "Rome"}),
            json!({"location": "Rome", "temperature": 72, "conditions": "sunny", "humidity": 45}),
        ),
        ("get_value", json!({"key": "k"}), json!({"key": "k", "value": null})),
        (
            "store_value",
            json!({"key": "k", "value": "v"}),
            json!({"success": true, "key": "k", "value": "v"}),
        ),
        ("get_value", json!({"key": "k"}), json!({"key": "k", "value": "v"})),
    ];
    for (id, (tool, arguments, expected)) in cases.iter().enumerate() {
        let answer = talk.ask(&call(id as u64 + 1, tool, arguments)).await;
        assert_eq!(&value_of(&answer), expected);
    }
    let log = std::fs::read_to_string(log).unwrap();
    let logged: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(logged.len(), cases.len());
    for (entry, (tool, arguments, result)) in logged.iter().zip(&cases) {
        assert!(entry["timestamp"].as_str().unwrap().ends_with('Z'), "{entry}");
        assert_eq!(
            (&entry["tool"], &entry["arguments"], &entry["result"]),
            (&json!(tool), arguments, result)
        );
    }
}

#[tokio::test]
async fn results_have_their_text_and_blocks() {
    let mut talk = Talk::open(&Fixture::stdio()).await;
    talk.send(&call(1, "lossless", &json!({}))).await;
    let line = talk.line().await.unwrap();
    assert_eq!(line, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{LOSSLESS_RESULT}}}"#));

    let big = ask("big", json!({"bytes": 300_000})).await;
    assert_eq!(big["result"]["content"][0]["text"].as_str().unwrap().len(), 300_000);
    let image = ask("image", json!({})).await;
    assert_eq!(image["result"]["content"][0]["mimeType"], "image/png");
    let mixed = ask("mixed", json!({})).await;
    let kinds: Vec<&str> = mixed["result"]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["text", "image", "audio", "resource_link", "resource"]);
}

#[tokio::test]
async fn every_count_leaves_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let counter = folder.path().join("counter");
    for start in 0..2 {
        let mut talk = Talk::open(&Fixture::stdio().counter(&counter)).await;
        for id in 1..=3 {
            let answer = talk.ask(&call(id, "count", &json!({"token": format!("t{start}{id}")}))).await;
            assert_eq!(value_of(&answer), json!({ "count": id }));
        }
        talk.ask(&call(9, "count_idempotent", &json!({}))).await;
    }
    assert_eq!(count_lines(&counter), 8);
    assert_eq!(count_lines_with(&counter, "count t0"), 3);
    assert_eq!(count_lines_with(&counter, "count_idempotent"), 2);
}

#[tokio::test]
async fn failures_come_in_both_kinds() {
    let failed = ask("fail", json!({"message": "no luck"})).await;
    assert_eq!(failed["result"]["isError"], true);
    assert_eq!(failed["result"]["content"][0]["text"], "no luck");
    let refused = ask("rpc_error", json!({"code": 17, "message": "no", "data": {"why": [1]}})).await;
    assert_eq!(refused["error"], json!({"code": 17, "message": "no", "data": {"why": [1]}}));
    assert_eq!(ask("add", json!({"a": "x"})).await["result"]["isError"], true);
    assert_eq!(ask("no_such_tool", json!({})).await["error"]["code"], -32602);
}

#[tokio::test]
async fn exit_ends_the_server_before_or_after_its_answer() {
    let mut talk = Talk::open(&Fixture::stdio()).await;
    talk.send(&call(1, "exit", &json!({"when": "now", "code": 7}))).await;
    assert_eq!(talk.line().await, None);
    assert_eq!(talk.exit_code().await, Some(7));
    let mut talk = Talk::open(&Fixture::stdio()).await;
    let answer = talk.ask(&call(1, "exit", &json!({"when": "after", "code": 8}))).await;
    assert_eq!(value_of(&answer), json!({"exits": true}));
    assert_eq!(talk.exit_code().await, Some(8));
}
