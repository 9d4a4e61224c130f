//! What the configuration file gives the registry.

use std::path::Path;

use gateway_builtin::{Registry, ToolOrigin};
use gateway_config::{Environment, GatewayConfig, parse};
use serde_json::{Value, json};

fn read(text: &str) -> GatewayConfig {
    let environment = Environment::new(|_| None, |_| Err(std::io::ErrorKind::NotFound.into()));
    parse(Path::new("gateway.json"), text, &environment).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn configured_tools_are_registered() {
    let registry = Registry::new();
    let text = r#"{"tools": {"x": {"handler": {"command": "c"}, "timeout": "5s"}}}"#;
    registry.configure(&read(text).registry);
    let tool = registry.get("x").unwrap();
    assert_eq!(
        (tool.origin, tool.handler.kind(), tool.timeout.as_secs()),
        (ToolOrigin::Configuration, "command", 5)
    );
}

#[tokio::test]
async fn configured_resources_are_offered() {
    let text = r#"{"resources": [
        {"uri": "notes://today", "name": "today", "mimeType": "text/plain", "text": "hello"},
        {"uriTemplate": "notes://{day}", "name": "notes", "text": "notes of {day}"},
        {"uri": "dot://1", "name": "dot", "blob": "aGk="}]}"#;
    let config = read(text);
    let registry = Registry::new();
    registry.configure(&config.registry);
    for (uri, expected) in [
        ("notes://today", json!({"uri": "notes://today", "mimeType": "text/plain", "text": "hello"})),
        ("notes://monday", json!({"uri": "notes://monday", "text": "notes of monday"})),
        ("dot://1", json!({"uri": "dot://1", "blob": "aGk="})),
    ] {
        let read: Value = registry.read_resource(uri).await.unwrap().read().unwrap();
        assert_eq!(read, json!({"contents": [expected]}));
    }
    registry.configure(&read("{\"resources\": []}").registry);
    assert!(registry.read_resource("notes://today").await.is_err(), "a reload takes them away");
}

#[tokio::test]
async fn a_program_does_not_inherit_what_keys_are_taken_from() {
    // Whoever runs tests sets this variable, so that it is there to be inherited.
    let script = "printenv CARGO_MANIFEST_DIR || echo nothing";
    let text = |top: &str, env: &str| {
        format!(
            r#"{{{top} "tools": {{"x": {{"handler": {{"command": "sh", "args": ["-c", "{script}"]{env}}}}}}}}}"#
        )
    };
    let ran = async |text: String| {
        let config = parse(Path::new("gateway.json"), &text, &Environment::of_process());
        let registry = Registry::new();
        registry.configure(&config.unwrap_or_else(|errors| panic!("{errors}")).registry);
        let result = super::run(&registry, "x", &json!({})).await.unwrap();
        result["content"][0]["text"].as_str().unwrap().trim().to_owned()
    };
    let here = env!("CARGO_MANIFEST_DIR");
    assert_eq!(ran(text("", "")).await, here);
    let keys = r#""adminKeys": ["${CARGO_MANIFEST_DIR}"],"#;
    assert_eq!(ran(text(keys, "")).await, "nothing");
    let meant = r#", "env": {"CARGO_MANIFEST_DIR": "${CARGO_MANIFEST_DIR}"}"#;
    assert_eq!(ran(text(keys, meant)).await, here, "unless it is meant to have it");
}
