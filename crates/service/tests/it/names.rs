//! Names of one server's tools are not given to those of another, whatever way a call comes.

use gateway_service::Secret;
use gateway_upstream::{Endpoint, FleetOptions, Handler, RegisteredTool, ToolGroup, UpstreamSpec};
use serde_json::json;

use crate::client::Service;
use crate::mcp::wire::{Caller, ERAS};

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

#[tokio::test(flavor = "multi_thread")]
async fn no_group_gives_a_reserved_name_to_another_server() {
    let handler = Handler::function(|_| async { Ok(json!("taken")) });
    let mut options = FleetOptions::default();
    options.registry.register(RegisteredTool::new("files__add", &json!({}), handler).unwrap()).unwrap();
    let group = |servers: &[&str], tools: &[&str]| {
        let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        ToolGroup { servers: texts(servers), tools: texts(tools), ..ToolGroup::default() }
    };
    options.catalogue.groups.insert("by-server".to_owned(), group(&["registry"], &[]));
    options.catalogue.groups.insert("by-servers".to_owned(), group(&["registry", "demo"], &[]));
    options.catalogue.groups.insert("by-name".to_owned(), group(&[], &["files__*", "demo__*"]));
    options.catalogue.groups.insert("by-new-name".to_owned(), group(&[], &["registry__files__add"]));
    let mut files = UpstreamSpec::new("files", Endpoint::Demo);
    files.disabled = true;
    let servers = vec![files, UpstreamSpec::new("demo", Endpoint::Demo)];
    let service = Service::with_fleet(servers, options, |_| {}).await;
    // Whether the tool is there under its new name, and under the one that is reserved. An endpoint of one server names it, and
    // has its own names.
    let (own, renamed, absent) = ([true, true], [true, false], [false, false]);
    for (path, runs) in [
        ("/mcp/by-server", own),
        ("/mcp/registry", own),
        ("/mcp/by-servers", renamed),
        ("/mcp/by-new-name", renamed),
        ("/mcp", renamed),
        ("/mcp/by-name", absent),
        ("/mcp/demo", absent),
    ] {
        for era in ERAS {
            let caller = Caller::open(&service, era, path, "").await;
            let listed = caller.ask("tools/list", json!({})).await.text;
            let names = ["\"registry__files__add\"", "\"files__add\""].map(|name| listed.contains(name));
            assert_eq!(names, [runs == renamed, runs == own], "{path} {era:?}: {listed}");
            let call = async |name: &str| {
                caller.once("tools/call", json!({"name": name, "arguments": {}})).await.text.contains("taken")
            };
            let ran = [call("registry__files__add").await, call("files__add").await];
            assert_eq!(ran, runs, "{path} {era:?}");
        }
    }
}
