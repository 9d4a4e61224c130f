//! Resources that are read and prompts that are taken are in the call log, like calls of tools.

use gateway_service::Secret;
use serde_json::{Value, json};

use super::wire::{Caller, ERAS, Era, Front, Way, everything};
use crate::logs::eventually_logged;

fn about(entry: &Value) -> Value {
    json!({
        "caller": entry["caller"], "server": entry["server"], "tool": entry["tool"], "input": entry["input"],
        "code": entry["code"], "has_result": entry["result"].is_object(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_of_resources_and_prompts_are_logged() {
    for (caller, upstream) in ERAS.into_iter().zip([Era::Modern, Era::Legacy]) {
        let front = Front::with((upstream, Way::Stdio), everything, |config| {
            config.keys.insert("ann".to_owned(), Secret::new("ann-key"));
        })
        .await;
        let key = "x-api-key: ann-key\r\n";
        let ann = Caller::open(&front.service, caller, "/mcp", key).await;
        ann.ask("resources/read", json!({"uri": "test://static-text"})).await.result();
        let arguments = json!({"arg1": "one", "arg2": "two"});
        let params = json!({"name": "test_prompt_with_arguments", "arguments": arguments});
        ann.ask("prompts/get", params.clone()).await.result();
        ann.ask("prompts/get", json!({"name": "test_simple_prompt"})).await.result();
        ann.ask("resources/read", json!({"uri": "test://not-there"})).await.error();
        ann.ask("prompts/get", json!({"name": "not-there"})).await.error();
        let entries = eventually_logged(&front.service, "/logs", key, 5).await;
        let entry = |tool: &str, input: Value, server: &str, code: Option<&str>| {
            json!({
                "caller": "ann", "server": server, "tool": tool, "input": input, "code": code,
                "has_result": code.is_none(),
            })
        };
        let found: Vec<Value> = entries.iter().map(about).collect();
        let missing = found.get(3).and_then(|entry| entry["code"].as_str()).unwrap_or_default().to_owned();
        assert!(!missing.is_empty(), "{caller:?}: {found:?}");
        let expected = [
            entry("resources/read", json!({"uri": "test://static-text"}), "up", None),
            entry("prompts/get", params, "up", None),
            entry("prompts/get", json!({"name": "test_simple_prompt"}), "up", None),
            entry("resources/read", json!({"uri": "test://not-there"}), "up", Some(&missing)),
            entry("prompts/get", json!({"name": "not-there"}), "", Some("NOT_FOUND")),
        ];
        assert_eq!(found, expected, "{caller:?}");
        assert_eq!(entries[0]["result"]["contents"][0]["uri"], "test://static-text");
        let filtered = front.service.send("GET", "/logs?tool=resources/read", key, "").await.json();
        assert_eq!(filtered.as_array().map(Vec::len), Some(2));
    }
}
