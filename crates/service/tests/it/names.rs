//! Names of one server's tools are not given to those of another, whatever way a call comes.

use gateway_service::Secret;
use gateway_upstream::{Endpoint, FleetOptions, Handler, RegisteredTool, UpstreamSpec};
use serde_json::json;

use crate::client::Service;

#[tokio::test]
async fn a_registered_tool_takes_no_calls_of_another_server() {
    let handler = Handler::function(|_| async { Ok(json!("taken")) });
    let options = FleetOptions::default();
    options.registry.register(RegisteredTool::new("files__add", &json!({}), handler).unwrap()).unwrap();
    let mut files = UpstreamSpec::new("files", Endpoint::Demo);
    files.disabled = true;
    let servers = vec![files, UpstreamSpec::new("demo", Endpoint::Demo)];
    let service = Service::with_fleet(servers, options, |config| {
        config.admin_keys.insert("root".to_owned(), Secret::new("admin-key"));
    })
    .await;
    let row = json!([{
        "server": "registry",
        "tool": "files__add",
        "wanted": "files__add",
        "given": "registry__files__add",
        "reservedFor": "files",
    }]);
    let report = service.get("/tools/openai?report=true").await.json();
    assert_eq!(report["renamed"], row, "{report}");
    assert_eq!(service.get("/health").await.json()["renamedTools"], row);
    let listed = service.get("/tools").await.body;
    assert!(listed.contains("\"registry__files__add\"") && !listed.contains("\"files__add\""), "{listed}");

    let call = json!({"name": "files__add", "arguments": {"a": 1, "b": 2}});
    let found = json!({"name": "call_tool", "arguments": call});
    for (target, body) in [
        ("/call_tool", json!({"tool": "files__add", "arguments": {"a": 1, "b": 2}})),
        ("/execute", json!({"provider": "openai", "call": call})),
        ("/execute?mode=search", json!({"provider": "openai", "call": found})),
        (
            "/route",
            json!({"tool_calls": [{"id": "c", "type": "function", "function": {"name": "files__add", "arguments": "{}"}}]}),
        ),
    ] {
        let answer = service.post(target, &body.to_string()).await;
        assert!(!answer.body.contains("taken"), "{target}: {}", answer.body);
    }
    let body = json!({"tool": "registry__files__add", "arguments": {}}).to_string();
    assert!(service.post("/call_tool", &body).await.body.contains("taken"));
}
