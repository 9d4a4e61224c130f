//! The binary `gateway-model`, and scripts as JSON.

use std::process::Stdio;

use gateway_testkit::model_path;
use gateway_testkit::models::{Fault, Pieces, Quirk, read_script};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

use crate::talk::LONG;
use crate::talk_models::Client;

async fn post(port: u16, body: &Value) -> Option<Client> {
    Client::send(([127, 0, 0, 1], port).into(), "POST /v1/chat/completions", &[], &body.to_string()).await
}

#[tokio::test]
async fn the_command_serves_a_script_until_its_input_closes() {
    let folder = tempfile::tempdir().unwrap();
    let (script, record) = (folder.path().join("script.json"), folder.path().join("requests.jsonl"));
    let steps = json!({
        "steps": [
            {"fault": "rate-limited-seconds", "retry_after": 9},
            {"reply": {"text": "held"}, "gates": [{"before": "headers", "name": "first"}]},
            {"fault": "connection-refused"},
            {"fault": "hang-before-headers"},
        ],
    });
    std::fs::write(&script, steps.to_string()).unwrap();
    let mut process = Command::new(model_path().unwrap())
        .args(["--wire", "chat", "--script", script.to_str().unwrap(), "--record", record.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(LONG, lines.next_line()).await.unwrap().unwrap().unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let port = u16::try_from(said["port"].as_u64().unwrap()).unwrap();
    assert_eq!(said["url"], format!("http://127.0.0.1:{port}/v1"));
    let body = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "1"}]});
    let limited = post(port, &body).await.unwrap().answer().await.unwrap();
    assert_eq!((limited.status, limited.header("retry-after")), (429, Some("9")));
    let mut stdin = process.stdin.take().unwrap();
    let held = post(port, &body).await.unwrap();
    stdin.write_all(b"open first\n").await.unwrap();
    assert_eq!(held.answer().await.unwrap().json()["choices"][0]["message"]["content"], "held");
    assert!(post(port, &body).await.is_none(), "the port is closed");
    stdin.write_all(b"reopen\n").await.unwrap();
    let again = async {
        loop {
            if let Some(client) = post(port, &body).await {
                break client;
            }
            gateway_testkit::pause().await;
        }
    };
    let hanging = tokio::time::timeout(LONG, again).await.unwrap();
    let lines = || std::fs::read_to_string(&record).unwrap().lines().count();
    gateway_testkit::eventually(LONG, "two requests are recorded", || lines() == 2).await.unwrap();
    drop(stdin);
    assert!(tokio::time::timeout(LONG, process.wait()).await.unwrap().unwrap().success());
    drop(hanging);
    let recorded: Vec<Value> = std::fs::read_to_string(&record)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ended: Vec<(&str, u64)> = recorded
        .iter()
        .map(|request| (request["outcome"].as_str().unwrap(), request["chunks"].as_u64().unwrap()))
        .collect();
    assert_eq!(ended[..2], [("answered", 1), ("answered", 1)]);
    assert_eq!(
        (
            &recorded[0]["path"],
            &recorded[0]["body"],
            &recorded[0]["raw"],
            &recorded[0]["headers"]["content-type"]
        ),
        (&json!("/v1/chat/completions"), &body, &Value::Null, &json!("application/json"))
    );
}

#[tokio::test]
async fn a_script_that_cannot_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.json");
    std::fs::write(&script, "{\"steps\": [{\"fault\": \"flood\"}]}").unwrap();
    let output = Command::new(model_path().unwrap())
        .args(["--wire", "chat", "--script", script.to_str().unwrap()])
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("gateway-model: the script cannot be read: no fault is called `flood`; there are rate-limited-seconds, "), "{said}");
}

#[test]
fn scripts_have_the_words_of_the_library() {
    for fault in Fault::ALL {
        assert!(read_script(&json!({"steps": [{"fault": fault.name()}]}).to_string()).is_ok());
    }
    for word in
        Quirk::ALL.iter().map(|quirk| quirk.name()).chain(Pieces::ALL.iter().map(|pieces| pieces.name()))
    {
        assert!(read_script(&json!({"steps": [{"reply": {}, "delivery": [word]}]}).to_string()).is_ok());
    }
    for (step, problem) in [
        (json!({}), "step 0 of the script needs one of"),
        (json!({"reply": {}, "call_tool": "add"}), "step 0 of the script needs one of"),
        (json!({"reply": {"txt": "3."}}), "unknown field `txt`"),
        (json!({"reply": {}, "delivery": ["slowly"]}), "no quirk is called `slowly`"),
    ] {
        let error = read_script(&json!({"steps": [step]}).to_string()).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

#[tokio::test]
async fn a_script_says_all_that_a_reply_can_have() {
    let text = json!({
        "steps": [{
            "reply": {
                "reasoning": "Hm.", "signature": "c2ln", "text": "3.",
                "calls": [{"id": "t1", "name": "add", "arguments": {"a": 1}}, {"id": "t2", "name": "now"}],
                "parts": [{"text": "And"}, {"reasoning": {"text": "More.", "signature": "x"}}, {"call": {"id": "t3", "name": "add", "arguments": "{\"b\": 2}"}}],
                "finish": "length",
                "usage": {"input": 7, "cached": 2},
            },
        }],
        "models": ["claude-sonnet-4-5"], "key": "k",
    });
    let file = read_script(&text.to_string()).unwrap();
    assert_eq!(
        (file.options.key.as_deref(), file.options.models.len(), file.options.strict),
        (Some("k"), 1, false)
    );
    let wire = gateway_testkit::models::Wire::Messages;
    let server = crate::talk_models::start(wire, file.script).await;
    let answer = crate::talk_models::ask(&server, wire, false).await.json();
    assert_eq!(
        answer["content"],
        json!([
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "text", "text": "3."},
            {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}},
            {"type": "tool_use", "id": "t2", "name": "now", "input": {}},
            {"type": "text", "text": "And"},
            {"type": "thinking", "thinking": "More.", "signature": "x"},
            {"type": "tool_use", "id": "t3", "name": "add", "input": {"b": 2}},
        ])
    );
    assert_eq!((&answer["stop_reason"], &answer["usage"]["input_tokens"]), (&json!("max_tokens"), &json!(5)));
}
