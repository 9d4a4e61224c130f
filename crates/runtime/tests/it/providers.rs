//! A provider of one's own, added as text while everything runs.

use std::fs;

use gateway_dialects::Dialects;
use gateway_runtime::client::McpClient;
use gateway_testkit::Fixture;
use serde_json::{Value, json};

/// A provider that refuses defaults.
const PROVIDER: &str = r#"
name = "acme"
title = "Acme"
extends = "openai-chat"

[schema]
defaults = "strip"
"#;

const MODELS: &str = r#"
[[model]]
matches = ["acme-*"]
dialect = "acme"
"#;

const TOOL: &str = r#"{"name":"find","inputSchema":{"type":"object","properties":{"limit":{"type":"integer","default":10}},"required":["limit"]}}"#;

fn limit(tools: &[Value]) -> &Value {
    &tools[0]["function"]["parameters"]["properties"]["limit"]
}

#[tokio::test]
async fn a_provider_is_added_while_the_client_runs() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("tools.jsonl");
    fs::write(&corpus, TOOL).unwrap();
    let fixture = Fixture::stdio().args(["--no-builtin"]).option("--corpus", corpus.display());
    let (command, args) = fixture.command().unwrap();
    let client = McpClient::stdio(command.display().to_string(), args).await.unwrap();
    let runtime = client.runtime().unwrap();
    let unknown = client.get_tools("acme").await.unwrap_err();
    assert_eq!(unknown.code(), "UNKNOWN_PROVIDER");

    let mut dialects = Dialects::clone(&runtime.dialects());
    assert_eq!(dialects.add("acme.toml", PROVIDER).unwrap(), "acme");
    dialects.add_models("models.toml", MODELS).unwrap();
    runtime.set_dialects(dialects);

    let tools = client.get_tools("acme").await.unwrap();
    assert_eq!(limit(&tools), &json!({"type": "integer"}));
    assert_eq!(client.get_tools_for_model(None, "acme-1").await.unwrap(), tools);
    let others = client.get_tools("openai").await.unwrap();
    assert_eq!(limit(&others), &json!({"type": "integer", "default": 10}));
    let raw = client.tools().await.unwrap();
    assert_eq!(raw, [serde_json::from_str::<Value>(TOOL).unwrap()]);
    client.close().await;
}
