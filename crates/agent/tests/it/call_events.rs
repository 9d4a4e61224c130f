//! Events of calls in streams, for callers that ask for them.

use gateway_testkit::models::{Reply, Script, Wire};
use serde_json::{Value, json};

use crate::gateway::{Gateway, joined, question, strict_model};

fn script() -> Script {
    Script::new()
        .reply(Reply::new().text("A sum.").call("a1", "add", json!({"a": 15, "b": 27})))
        .reply(Reply::new().text("It is 42."))
}

#[tokio::test]
async fn calls_and_results_are_chunks_without_a_choice_where_they_are_asked_for() {
    let server = strict_model(Wire::Chat, script()).await;
    let mut request = question(true);
    request["gateway"] = json!({"events": "calls"});
    let chunks = Gateway::over(Wire::Chat, &server).streamed(&request, None).await.unwrap();
    let shown: Vec<Value> = chunks
        .iter()
        .filter(|chunk| chunk["choices"] == json!([]) && chunk.get("usage").is_none())
        .map(|chunk| {
            let mut gateway = chunk["gateway"].clone();
            if let Some(report) = gateway.get_mut("tool_result").and_then(Value::as_object_mut) {
                assert!(report.remove("duration_ms").is_some() && report.remove("result").is_some());
            }
            gateway
        })
        .collect();
    assert_eq!(
        shown,
        [
            json!({"tool_call": {"tool_name": "add", "arguments": {"a": 15, "b": 27}, "id": "a1"}}),
            json!({"tool_result": {"tool_name": "add", "arguments": {"a": 15, "b": 27}, "id": "a1",
                "server": "demo", "tool": "add"}}),
        ]
    );
    assert_eq!(joined(&chunks, "content"), "A sum.\n\nIt is 42.");
    assert_eq!(server.requests()[0].body.get("gateway"), None, "the model's API does not know them");
}

#[tokio::test]
async fn nobody_sees_them_unasked() {
    let server = strict_model(Wire::Chat, script()).await;
    let chunks = Gateway::over(Wire::Chat, &server).streamed(&question(true), None).await.unwrap();
    let beside = chunks.iter().filter(|chunk| chunk["choices"] == json!([])).count();
    assert_eq!(beside, 1, "only the one with the usage: {chunks:?}");
}
