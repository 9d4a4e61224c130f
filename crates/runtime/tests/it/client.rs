//! A client of one server is the same over every transport.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use gateway_dialects::Options;
use gateway_runtime::client::{ClientError, McpClient};
use gateway_runtime::route::RouteOptions;
use gateway_testkit::{Fixture, LOSSLESS_RESULT, RunningFixture, SpokenEra, eventually, is_alive};
use gateway_upstream::{Endpoint, HttpMode, UpstreamSpec};
use serde_json::{Value, json};

use crate::log_lines::LogLines;

#[path = "../../examples/test_a_server.rs"]
#[expect(dead_code, reason = "its `main` is for people")]
mod example;

/// The example of the decision that this type comes from, a schema with everything that a rewriting engine would touch, and two
/// definitions that nobody can use.
const SEARCH_USERS: &str = r#"{"name":"search_users","description":"Search for users by criteria","inputSchema":{"type":"object","properties":{"query":{"type":"string"}}}}"#;
const RICH: &str = r##"{"name":"rich","description":"Everything","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"limit":{"type":"integer","default":10,"exclusiveMinimum":0},"at":{"type":"string","format":"date-time"},"of":{"$ref":"#/$defs/of"}},"required":["at"],"additionalProperties":false,"$defs":{"of":{"type":["string","null"],"default":null}}}}"##;
/// What the fixture gives for `add` with 1 and 2.
const SUM: &str = r#"{"result":3,"operation":"add","a":1,"b":2}"#;
const NAMELESS: &str = r#"{"description":"Nobody can call it","inputSchema":{"type":"object"}}"#;

/// A server that lists these tools, over each transport.
async fn servers(tools: &str, folder: &Path) -> Vec<(UpstreamSpec, Option<RunningFixture>)> {
    let corpus = folder.join("tools.jsonl");
    fs::write(&corpus, tools).unwrap();
    // HTTP+SSE is of the legacy era, and results of the modern one have a member more.
    let fixture = |fixture: Fixture| fixture.era(SpokenEra::Legacy).option("--corpus", corpus.display());
    let (command, args) = fixture(Fixture::stdio()).command().unwrap();
    let command = command.display().to_string();
    let stdio = Endpoint::Stdio { command, args, env: BTreeMap::new(), cwd: None };
    let mut servers = vec![(UpstreamSpec::new("server", stdio), None)];
    for (kind, mode) in [(Fixture::http(), HttpMode::Streamable), (Fixture::sse(), HttpMode::Sse)] {
        let running = fixture(kind).start().await.unwrap();
        let endpoint = Endpoint::Http { url: running.url().to_owned(), headers: BTreeMap::new(), mode };
        servers.push((UpstreamSpec::new("server", endpoint), Some(running)));
    }
    servers
}

fn named<'t>(tools: &'t [Value], name: &str) -> &'t Value {
    let found = tools.iter().find(|tool| tool["function"]["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is not in {tools:?}"))
}

#[tokio::test]
async fn every_transport_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen: Vec<Vec<(String, String)>> = Vec::new();
    for (spec, _running) in servers(&format!("{SEARCH_USERS}\n{RICH}\n"), folder.path()).await {
        let client = McpClient::connect(spec).await.unwrap();
        let mut given = Vec::new();
        for profile in
            ["dial", "openai", "openai-responses-strict", "anthropic", "gemini", "bedrock", "ollama"]
        {
            let list = client.list(Some(profile), None, Options::default()).await.unwrap();
            let text = String::from_utf8(list.list().to_vec()).unwrap();
            assert_eq!(
                serde_json::from_str::<Vec<Value>>(&text).unwrap(),
                client.get_tools(profile).await.unwrap()
            );
            given.push((profile.to_owned(), text));
        }
        for (tool, arguments) in [
            ("lossless", json!({})),
            ("echo", json!({"text": "é", "more": [1, {"z": 1, "a": 2.50}]})),
            ("fail", json!({"message": "no such user"})),
        ] {
            let result = client.call_tool(tool, &arguments).await.unwrap();
            assert_eq!(result.is_error(), tool == "fail");
            given.push((tool.to_owned(), result.raw().as_str().to_owned()));
        }
        assert_eq!(given.iter().find(|(what, _)| what == "lossless").unwrap().1, LOSSLESS_RESULT);
        client.close().await;
        seen.push(given);
    }
    assert_eq!(seen.len(), 3);
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[2]);
}

#[tokio::test]
async fn a_plain_profile_keeps_every_schema() {
    let folder = tempfile::tempdir().unwrap();
    for (spec, _running) in servers(&format!("{SEARCH_USERS}\n{RICH}\n"), folder.path()).await {
        let client = McpClient::connect(spec).await.unwrap();
        let tools = client.get_tools("dial").await.unwrap();
        let expected = json!({"type": "function", "function": {
            "name": "search_users",
            "description": "Search for users by criteria",
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
        }});
        assert_eq!(named(&tools, "search_users").to_string(), expected.to_string());
        let rich: Value = serde_json::from_str(RICH).unwrap();
        assert_eq!(
            named(&tools, "rich")["function"]["parameters"].to_string(),
            rich["inputSchema"].to_string()
        );
        let raw = client.tools().await.unwrap();
        assert_eq!(raw.iter().find(|tool| tool["name"] == "rich"), Some(&rich));
        client.close().await;
    }
}

#[tokio::test]
async fn strict_servers_fail_with_all_that_is_wrong_and_others_skip_it() {
    let folder = tempfile::tempdir().unwrap();
    let tools = format!("{NAMELESS}\n{SEARCH_USERS}\n{NAMELESS}\n");
    for (spec, _running) in servers(&tools, folder.path()).await {
        let log = LogLines::of_this_thread();
        let mut strict = spec.clone();
        strict.strict = true;
        let error = McpClient::connect(strict).await.unwrap_err();
        assert!(matches!(error, ClientError::Connect(_)), "{error:?}");
        let text = error.to_string();
        assert_eq!(text.matches("the tool has no name").count(), 2, "{text}");
        assert!(text.contains("`strict`"), "{text}");

        let client = McpClient::connect(spec).await.unwrap();
        let reasons: Vec<String> =
            client.skipped().unwrap().iter().map(|left| left.reason.to_string()).collect();
        assert_eq!(reasons, ["the tool has no name", "the tool has no name"]);
        let names = client.get_tools("dial").await.unwrap();
        assert_eq!(names.last().map(|tool| &tool["function"]["name"]), Some(&json!("search_users")));
        assert_eq!(log.beginning_with("Tool left out.").len(), 2);
        client.close().await;
    }
}

#[tokio::test]
async fn a_list_is_logged_once_with_its_fields() {
    let log = LogLines::of_this_thread();
    let client = McpClient::connect(UpstreamSpec::new("demo", Endpoint::Demo)).await.unwrap();
    let count = client.get_tools("dial").await.unwrap().len();
    client.get_tools("dial").await.unwrap();
    let lines = log.beginning_with("Converted");
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(line.level, tracing::Level::INFO);
    assert_eq!(line.message, format!("Converted {count} tools to DIAL format."));
    let expected = [("count", count.to_string()), ("profile", "dial".into()), ("servers", "demo".into())];
    for (name, value) in expected {
        assert_eq!(line.fields.get(name), Some(&value), "{line:?}");
    }
    client.close().await;
}

#[tokio::test]
async fn a_model_decides_about_the_format() {
    let client = McpClient::connect(UpstreamSpec::new("demo", Endpoint::Demo)).await.unwrap();
    for (model, profile, schema) in
        [("claude-sonnet-4-5", "anthropic", "input_schema"), ("gemini-2.5-flash", "gemini", "parameters")]
    {
        let of_model = client.get_tools_for_model(None, model).await.unwrap();
        assert!(of_model.iter().all(|tool| tool[schema].is_object()), "{of_model:?}");
        assert_eq!(of_model, client.get_tools_for_model(Some(profile), model).await.unwrap());
    }
    let both = client.get_tools_for_model(Some("openai"), "gemini-2.5-flash").await.unwrap();
    assert!(both.iter().all(|tool| tool["type"] == "function"), "{both:?}");
    let error = client.get_tools("gemini-2.5-flash").await.unwrap_err();
    assert_eq!(error.code(), "UNKNOWN_PROVIDER");
    assert!(error.to_string().contains("provider `gemini`"), "{error}");
    client.close().await;
}

#[tokio::test]
async fn what_goes_wrong_has_a_code_and_words() {
    let client = McpClient::connect(UpstreamSpec::new("demo", Endpoint::Demo)).await.unwrap();
    let unknown = client.call_tool("ad", &json!({})).await.unwrap_err();
    assert_eq!(unknown.code(), "TOOL_NOT_FOUND");
    assert!(unknown.to_string().contains("`add`"), "{unknown}");
    let wrong = client.call_tool("add", &json!({"a": "x"})).await.unwrap_err();
    assert_eq!(wrong.code(), "VALIDATION_ERROR");
    let list = client.call_tool("add", &json!([1, 2])).await.unwrap_err();
    assert_eq!(list.to_string(), "calling tool `add`: expected an object as arguments, got [1,2]");
    client.close().await;
    assert!(!client.is_connected());
    for error in [
        client.get_tools("dial").await.unwrap_err(),
        client.call_tool("add", &json!({})).await.unwrap_err(),
        client.tools().await.unwrap_err(),
    ] {
        assert_eq!(error.to_string(), "MCP client is not connected to MCP server");
        assert_eq!(error.code(), "CONNECTION_ERROR");
    }
    let absent = McpClient::stdio("no-such-program-anywhere", [""; 0]).await.unwrap_err();
    assert_eq!(absent.code(), "CONNECTION_ERROR");
    assert!(absent.to_string().contains("no-such-program-anywhere"), "{absent}");
}

#[tokio::test]
async fn a_model_is_answered_in_its_own_format() {
    let client = McpClient::connect(UpstreamSpec::new("demo", Endpoint::Demo)).await.unwrap();
    let call = json!({"tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":15,\"b\":27}"}},
    ]});
    let answer = client.execute(&call, &RouteOptions::default()).await.unwrap();
    let content = r#"{"result":42,"operation":"add","a":15,"b":27}"#;
    assert_eq!(answer, json!({"role": "tool", "tool_call_id": "call_1", "content": content}));
    client.close().await;
}

#[tokio::test]
async fn an_image_is_run_as_a_container() {
    let folder = tempfile::tempdir().unwrap();
    let (fixture, seen) = (Fixture::stdio().command().unwrap().0, folder.path().join("seen"));
    let docker = folder.path().join("fake-docker");
    let script = format!("#!/bin/sh\necho \"$@\" > {}\nexec {} stdio\n", seen.display(), fixture.display());
    fs::write(&docker, script).unwrap();
    fs::set_permissions(&docker, fs::Permissions::from_mode(0o755)).unwrap();
    let entry = json!({"image": "mcp/users", "docker": {"command": docker}});
    let client = McpClient::entry("users", &entry).await.unwrap();
    assert_eq!(client.call_tool("add", &json!({"a": 1, "b": 2})).await.unwrap().first_text().unwrap(), SUM);
    client.close().await;
    assert_eq!(fs::read_to_string(&seen).unwrap(), "run --rm -i mcp/users\n");

    let error = McpClient::entry("users", &json!({"image": ""})).await.unwrap_err();
    assert_eq!(error.code(), "VALIDATION_ERROR");
    assert!(error.to_string().contains("server `users`"), "{error}");
}

#[tokio::test]
async fn a_dropped_client_ends_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let (command, args) = Fixture::stdio().option("--pid-file", pids.display()).command().unwrap();
    let client = McpClient::stdio(command.display().to_string(), args).await.unwrap();
    let text = fs::read_to_string(&pids).unwrap();
    let pid: u32 = text.lines().find_map(|line| line.strip_prefix("server ")).unwrap().parse().unwrap();
    let clone = client.clone();
    drop(client);
    assert_eq!(clone.call_tool("add", &json!({"a": 1, "b": 2})).await.unwrap().first_text().unwrap(), SUM);
    assert!(is_alive(pid));
    drop(clone);
    eventually(Duration::from_secs(30), "the server ends", || !is_alive(pid)).await.unwrap();
}

#[tokio::test]
async fn the_example_for_authors_of_servers_names_tools_and_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("tools.jsonl");
    fs::write(
        &corpus,
        format!("{SEARCH_USERS}\n{NAMELESS}\n{}\n", r#"{"name":"silent","inputSchema":{"type":"object"}}"#),
    )
    .unwrap();
    let fixture = Fixture::stdio().args(["--no-builtin"]).option("--corpus", corpus.display());
    let (command, args) = fixture.command().unwrap();
    let lines = example::report(&command.display().to_string(), args).await.unwrap();
    assert_eq!(
        lines[..3],
        ["tool search_users", "tool silent", "left out, as number 2: the tool has no name"]
    );
    assert!(lines[3..].iter().any(|line| line.starts_with("warning silent: ")), "{lines:#?}");
}
