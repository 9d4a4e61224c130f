//! Servers whose tools cannot be had: what callers are told, and who takes their calls over.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use gateway_service::Secret;
use gateway_testkit::{Fault, Fixture, count_lines, eventually};
use gateway_upstream::{
    Approval, Endpoint, Fallback, FallbackOn, HttpMode, OnDefinitionChange, UpstreamId, UpstreamSpec,
};
use serde_json::{Value, json};

use crate::client::{Answer, Service};
use crate::mcp::wire::{Caller, Era};

/// Nothing in these tests takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that runs a command.
fn command(id: &str, command: &str, args: Vec<String>) -> UpstreamSpec {
    let (command, env) = (command.to_owned(), BTreeMap::new());
    UpstreamSpec::new(id, Endpoint::Stdio { command, args, env, cwd: None })
}

fn fixture(id: &str, fixture: &Fixture) -> UpstreamSpec {
    let (program, args) = fixture.command().unwrap();
    command(id, program.to_str().unwrap(), args)
}

/// A server that cannot be started.
fn dead(id: &str) -> UpstreamSpec {
    command(id, "/nonexistent", Vec::new())
}

fn demo() -> UpstreamSpec {
    UpstreamSpec::new("demo", Endpoint::Demo)
}

fn off(id: &str) -> UpstreamSpec {
    let mut spec = UpstreamSpec::new(id, Endpoint::Demo);
    spec.disabled = true;
    spec
}

/// A server whose listing fails.
fn unlisted(id: &str) -> UpstreamSpec {
    fixture(id, &Fixture::stdio().mode(Fault::CursorLoop))
}

/// The three kinds, each with what is told of it and the status of a precise answer.
fn unusable() -> [(UpstreamSpec, &'static str, u16); 3] {
    [
        (dead("x"), "server `x` cannot be reached: starting `/nonexistent`", 502),
        (unlisted("x"), "the tools of server `x` cannot be listed: MCP_PAGINATION_CURSOR_REPEATED", 502),
        (off("x"), "Server \"x\" is disabled and cannot be used", 409),
    ]
}

#[track_caller]
fn check_error(answer: &Answer, status: u16, text: &str) {
    assert_eq!((answer.status, answer.code().as_str()), (status, "CONNECTION_ERROR"), "{}", answer.body);
    assert!(answer.json()["error"].as_str().unwrap().starts_with(text), "{}", answer.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_told_that_its_server_cannot_be_used_and_not_that_the_tool_is_missing() {
    for (spec, text, precise) in unusable() {
        let service = Service::with_servers(vec![demo(), spec], |_| {}).await;
        let plain = if precise == 409 { 400 } else { 500 };
        for (server, name) in [(Some("x"), "hello"), (None, "mcp__x__hello"), (None, "x__hello")] {
            let call = json!({"name": name, "arguments": {}});
            let body = json!({"provider": "openai", "server": server, "call": call}).to_string();
            let told = service.post("/execute", &body).await;
            let answer = told.json();
            assert_eq!(
                (told.status, &answer["code"]),
                (200, &json!("CONNECTION_ERROR")),
                "{name}: {}",
                told.body
            );
            assert!(
                answer["result"]["content"][0]["text"].as_str().unwrap().starts_with(text),
                "{}",
                told.body
            );
            check_error(&service.post("/execute?errors=precise", &body).await, precise, text);

            let direct = json!({"server": server, "tool": name}).to_string();
            check_error(&service.post("/call_tool", &direct).await, plain, text);
            check_error(&service.post("/call_tool?errors=precise", &direct).await, precise, text);

            let target =
                server.map_or_else(|| "/route".to_owned(), |server| format!("/route?server={server}"));
            let routed = service.post(&target, &json!({"name": name, "input": {}}).to_string()).await;
            assert!(routed.body.contains(&json!(text).to_string()[1..text.len()]), "{}", routed.body);

            let target = server.map_or_else(|| "/mcp".to_owned(), |server| format!("/mcp/{server}"));
            let caller = Caller::open(&service, Era::Modern, &target, "").await;
            let refused = caller.call(name, json!({})).await.answer["error"].clone();
            assert_eq!(refused["data"]["code"], "CONNECTION_ERROR", "{target} {name}: {refused}");
            assert!(refused["message"].as_str().unwrap().starts_with(text), "{refused}");
        }
        let logged = service.get("/logs?server=x&status=error").await.json();
        let logged: Vec<&Value> = logged.as_array().unwrap().iter().map(|entry| &entry["code"]).collect();
        assert!(logged.len() >= 15 && logged.iter().all(|code| *code == "CONNECTION_ERROR"), "{logged:?}");
        service.running.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_a_server_means_the_only_one() {
    for (spec, text, precise) in unusable() {
        let service = Service::with_servers(vec![spec], |_| {}).await;
        let body = json!({"provider": "openai", "call": {"name": "hello", "arguments": {}}}).to_string();
        check_error(&service.post("/execute?errors=precise", &body).await, precise, text);
        check_error(&service.post("/call_tool?errors=precise", r#"{"tool":"hello"}"#).await, precise, text);
        service.running.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_nobody_has_is_not_found_and_says_whose_tools_are_not_known() {
    let service = Service::with_servers(vec![demo(), dead("x"), off("y")], |_| {}).await;
    let body = json!({"provider": "openai", "call": {"name": "hello", "arguments": {}}}).to_string();
    let told = service.post("/execute?errors=precise", &body).await;
    assert_eq!((told.status, told.code().as_str()), (404, "TOOL_NOT_FOUND"), "{}", told.body);
    assert!(told.body.contains("the tools of these servers are not known: x\""), "{}", told.body);
    let known = json!({"provider": "openai", "server": "demo", "call": {"name": "hello"}}).to_string();
    let told = service.post("/execute", &known).await;
    assert_eq!(told.code(), "TOOL_NOT_FOUND", "{}", told.body);
    assert!(!told.body.contains("not known"), "{}", told.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_of_several_tools_gives_their_names() {
    let specs = ["one", "two"].map(|id| UpstreamSpec::new(id, Endpoint::Demo));
    let service = Service::with_servers(specs.into(), |_| {}).await;
    let candidates = json!(["one__add", "two__add"]);
    let call = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
    let body = json!({"provider": "openai", "call": call}).to_string();
    let direct = service.post("/call_tool", r#"{"tool":"add","arguments":{"a":1,"b":2}}"#).await;
    let precise = service.post("/execute?errors=precise", &body).await;
    for answer in [direct, precise] {
        assert_eq!((answer.status, answer.code().as_str()), (400, "VALIDATION_ERROR"), "{}", answer.body);
        assert_eq!(answer.json()["candidates"], candidates);
    }
    let told = service.post("/execute", &body).await;
    assert_eq!((told.status, told.code().as_str()), (200, "VALIDATION_ERROR"), "{}", told.body);
    assert_eq!(told.json()["candidates"], candidates);
    assert!(told.json()["result"]["isError"] == true, "{}", told.body);
}

/// The server that takes over, which counts what it runs.
fn back(folder: &Path) -> UpstreamSpec {
    fixture("back", &Fixture::stdio().counter(&folder.join("back")))
}

fn with_fallback(mut spec: UpstreamSpec) -> UpstreamSpec {
    spec.fallback = Some(Fallback::Server(UpstreamId::new("back")));
    spec
}

fn connect_only() -> FallbackOn {
    let mut on = FallbackOn::default();
    (on.timeout, on.lost) = (false, false);
    on
}

/// An address that nobody listens at.
fn refused(id: &str) -> UpstreamSpec {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    UpstreamSpec::new(id, Endpoint::Http { url, headers: BTreeMap::new(), mode: HttpMode::Auto })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_takes_over_for_one_that_was_never_there() {
    let mut only_connect = dead("main");
    only_connect.fallback_on = connect_only();
    for main in [dead("main"), only_connect, refused("main")] {
        let folder = tempfile::tempdir().unwrap();
        let service = Service::with_servers(vec![with_fallback(main), back(folder.path())], |_| {}).await;
        let call = async |target: &str, body: Value| {
            let answer = service.post(target, &body.to_string()).await;
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (200, ""),
                "{target} {body}: {}",
                answer.body
            );
        };
        call("/call_tool", json!({"server": "main", "tool": "count"})).await;
        call("/call_tool", json!({"tool": "mcp__main__count"})).await;
        call("/execute", json!({"provider": "openai", "server": "main", "call": {"name": "count"}})).await;
        call("/execute", json!({"provider": "openai", "call": {"name": "main__count"}})).await;
        // What is there keeps its name.
        call("/execute", json!({"provider": "openai", "call": {"name": "count"}})).await;
        let caller = Caller::open(&service, Era::Modern, "/mcp/main", "").await;
        caller.call("count", json!({})).await.result();
        assert_eq!(count_lines(&folder.path().join("back")), 6);

        let wrong = json!({"server": "main", "tool": "add", "arguments": {"a": 1}}).to_string();
        let wrong = service.post("/call_tool", &wrong).await;
        assert_eq!((wrong.status, wrong.code().as_str()), (400, "VALIDATION_ERROR"), "{}", wrong.body);
        let nobodys = service.post("/call_tool", r#"{"server":"main","tool":"nobodys"}"#).await;
        check_error(&nobodys, 500, "server `main` cannot be reached");

        let listed = service.get("/tools?server=main").await;
        assert_eq!(listed.json(), service.get("/tools?server=back").await.json());
        assert_eq!(service.get("/tools").await.header("x-servers-missing"), Some("main"));

        let logged = service.get("/logs?server=main&tool=count").await.json();
        let ran_on: Vec<&Value> = logged.as_array().unwrap().iter().map(|entry| &entry["ran_on"]).collect();
        assert_eq!(ran_on, [&json!("back"); 5], "{logged}");
        let own = service.get("/logs?server=back").await.json();
        assert_eq!((own[0]["tool"].as_str(), own[0].get("ran_on")), (Some("count"), None), "{own}");
        service.running.shutdown().await;
    }
}

type Change = fn(&mut UpstreamSpec);

#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_for_a_server_that_was_never_there_keeps_to_its_own_rules() {
    let denied = |back: &mut UpstreamSpec| back.tools.deny = vec!["count".to_owned()];
    let not_allowed = |back: &mut UpstreamSpec| {
        back.tools.approval.insert("count".to_owned(), Approval::Deny);
    };
    let nothing = |_: &mut UpstreamSpec| {};
    let changes: [(&str, Change, Approval); 4] = [
        ("the filter", denied, Approval::Allow),
        ("the server's entry", not_allowed, Approval::Allow),
        ("the policy denies", nothing, Approval::Deny),
        ("the policy asks", nothing, Approval::Ask),
    ];
    for (what, change, approval) in changes {
        let folder = tempfile::tempdir().unwrap();
        let mut back = back(folder.path());
        change(&mut back);
        let service = Service::with_servers(vec![with_fallback(dead("main")), back], |config| {
            config.approval.tools = vec![("back/*".to_owned(), approval)];
        })
        .await;
        let refused = service.post("/call_tool", r#"{"server":"main","tool":"count"}"#).await;
        check_error(&refused, 500, "server `main` cannot be reached");
        assert_eq!(count_lines(&folder.path().join("back")), 0, "{what}");
        service.running.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_has_its_own_tools_again() {
    let folder = tempfile::tempdir().unwrap();
    // There once the file is.
    let there = folder.path().join("there");
    let (program, args) = Fixture::stdio().args(["--no-builtin"]).option("--tools", 1).command().unwrap();
    let script = format!("test -e {} && exec {} \"$@\"", there.display(), program.display());
    let args = ["-c".to_owned(), script, "sh".to_owned()].into_iter().chain(args).collect();
    let main = with_fallback(command("main", "sh", args));
    let service = Service::with_servers(vec![main, back(folder.path())], |_| {}).await;
    let lent = service.get("/tools?server=main").await;
    assert!(lent.body.contains("\"count\""), "{}", lent.body);
    let tag = lent.header("etag").unwrap().to_owned();
    std::fs::write(&there, "").unwrap();
    assert_eq!(service.post("/servers/main/restart", "{}").await.status, 200);
    let headers = format!("if-none-match: {tag}\r\n");
    let own = service.send("GET", "/tools?server=main", &headers, "").await;
    assert_eq!(own.status, 200);
    assert_eq!(own.json()["tools"].as_array().map(Vec::len), Some(1), "{}", own.body);
    assert_eq!(own.header("x-servers-missing"), None);
    assert_eq!(
        service.post("/call_tool", r#"{"server":"main","tool":"count"}"#).await.code(),
        "TOOL_NOT_FOUND"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_one_server_that_cannot_be_used_is_its_error() {
    for (spec, text, precise) in unusable() {
        for others in [vec![demo()], Vec::new()] {
            let service = Service::with_servers([vec![spec.clone()], others.clone()].concat(), |_| {}).await;
            let plain = if precise == 409 { 400 } else { 500 };
            for path in ["/tools", "/tools/openai", "/tools/openai/context"] {
                let mut queries = vec!["server=x"];
                if others.is_empty() && precise != 409 {
                    queries.push("a=b");
                }
                for query in queries {
                    let answer = service.get(&format!("{path}?{query}")).await;
                    check_error(&answer, plain, text);
                    assert_eq!(answer.header("etag"), None);
                    let answer = service.get(&format!("{path}?{query}&errors=precise&report=true")).await;
                    check_error(&answer, precise, text);
                }
            }
            service.running.shutdown().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_several_servers_names_those_that_are_missing() {
    let service = Service::with_servers(vec![demo(), dead("x"), unlisted("y"), off("z")], |_| {}).await;
    for path in ["/tools", "/tools/openai", "/tools/openai/context"] {
        let answer = service.get(path).await;
        assert_eq!((answer.status, answer.header("x-servers-missing")), (200, Some("x, y")), "{path}");
        assert!(answer.body.contains("multiply"), "{}", answer.body);
    }
    let tag = service.get("/tools/openai").await.header("etag").unwrap().to_owned();
    let same = service.send("GET", "/tools/openai", &format!("if-none-match: {tag}\r\n"), "").await;
    assert_eq!((same.status, same.header("x-servers-missing")), (304, Some("x, y")));
    let report = service.get("/tools/openai?report=true").await.json();
    let missing = report["missing"].as_array().unwrap();
    let told: Vec<(&str, &str)> =
        missing.iter().map(|one| (one["server"].as_str().unwrap(), one["code"].as_str().unwrap())).collect();
    assert_eq!(told, [("x", "CONNECTION_ERROR"), ("y", "CONNECTION_ERROR")], "{missing:?}");
    assert!(missing[0]["error"].as_str().unwrap().contains("/nonexistent"), "{missing:?}");
    let context = service.get("/tools/openai/context").await.body;
    // Neither reasons nor what servers wrote: a model can do nothing about them.
    assert!(
        context.ends_with("\n\nTools of these servers are not available at the moment: x, y"),
        "{context}"
    );
    assert_eq!(service.get("/tools?server=demo").await.header("x-servers-missing"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_tool_is_not_listed_and_its_calls_are_told_why() {
    let mut spec = fixture("bad", &Fixture::stdio().mode(Fault::ChangedDefinition));
    spec.tools.on_definition_change = OnDefinitionChange::Block;
    let service = Service::with_servers(vec![spec], |config| {
        config.admin_keys.insert("root".to_owned(), Secret::new("admin-key"));
    })
    .await;
    let body = r#"{"server":"bad","tool":"add","arguments":{"a":1,"b":2}}"#;
    assert_eq!(service.post("/call_tool", body).await.status, 200);
    let tag = service.get("/tools").await.header("etag").unwrap().to_owned();
    let fleet = service.running.gateway().fleet().clone();
    let version = fleet.catalogue().version();
    fleet.refresh("bad").unwrap();
    let is_noticed = || {
        fleet.catalogue().version() > version
            && !fleet.health_of("bad").unwrap().changed_definitions.is_empty()
    };
    eventually(PATIENCE, "the notice", is_noticed).await.unwrap();
    let caller = Caller::open(&service, Era::Modern, "/mcp/bad", "").await;
    for text in [
        service.get("/tools").await.body,
        service.get("/tools?server=bad").await.body,
        service.get("/tools/openai").await.body,
        service.get("/tools/openai/context").await.body,
        caller.ask("tools/list", json!({})).await.text,
    ] {
        assert!(!text.contains("stranger") && !text.contains("recipient"), "{text}");
    }
    assert_ne!(service.get("/tools").await.header("etag"), Some(tag.as_str()));
    let report = service.get("/tools/openai?report=true").await.json();
    let reason = "tool `add` changed its description, schema";
    assert_eq!(report["withheld"], json!([{"server": "bad", "tool": "add", "reason": reason}]), "{report}");

    let told = format!(
        "tool `add` of server `bad` is blocked: {reason}; `mcp-tool-gateway servers accept bad` shows its definition, and \
         `mcp-tool-gateway servers accept bad FINGERPRINT` accepts it"
    );
    for tool in ["add", "mcp__bad__add"] {
        for arguments in [json!({"a": 1, "b": 2}), json!({})] {
            let body = json!({"tool": tool, "arguments": arguments}).to_string();
            let refused = service.post("/call_tool?errors=precise", &body).await;
            assert_eq!((refused.status, refused.code().as_str()), (403, "FORBIDDEN"), "{}", refused.body);
            assert_eq!(refused.json()["error"], told);
            let call = json!({"name": tool, "arguments": arguments});
            let body = json!({"provider": "openai", "call": call}).to_string();
            let refused = service.post("/execute", &body).await.json();
            assert_eq!(refused["code"], "FORBIDDEN", "{refused}");
            assert_eq!(refused["result"]["content"][0]["text"], told, "{refused}");
        }
    }
    let found = json!({"name": "call_tool", "arguments": {"name": "add", "arguments": {}}});
    let found =
        service.post("/execute?mode=search", &json!({"provider": "openai", "call": found}).to_string()).await;
    assert_eq!(found.code(), "FORBIDDEN", "{}", found.body);

    let accept = async |key: &str, fingerprint: &str| {
        let headers = format!("content-type: application/json\r\nx-api-key: {key}\r\n");
        let body = json!({"fingerprint": fingerprint}).to_string();
        service.send("POST", "/servers/bad/accept", &headers, &body).await
    };
    let row = &service.get("/servers").await.json()["servers"][0];
    let changed = &row["changedDefinitions"][0];
    let reviewed = changed["fingerprint"].as_str().unwrap();
    assert_eq!(
        (&changed["tool"], &changed["change"], &changed["blocked"], reviewed.len()),
        (&json!("add"), &json!("changed"), &json!(true), 64)
    );
    assert!(changed["definition"].to_string().contains("stranger"), "{changed}");
    for key in ["", "other-key"] {
        assert_eq!(accept(key, reviewed).await.status, 401);
    }
    let other = accept("admin-key", &"0".repeat(64)).await;
    assert_eq!((other.status, other.code().as_str()), (409, "DEFINITION_CHANGED"), "{}", other.body);
    assert_eq!(other.json()["server"]["changedDefinitions"][0]["fingerprint"], reviewed, "{}", other.body);
    let headers = "content-type: application/json\r\nx-api-key: admin-key\r\n";
    assert_eq!(service.send("POST", "/servers/bad/accept", headers, "{}").await.status, 400);
    assert!(!service.get("/tools").await.body.contains("stranger"), "nothing was accepted");
    assert_eq!(accept("admin-key", reviewed).await.status, 200);
    assert!(service.get("/tools").await.body.contains("stranger"));
    let none = accept("admin-key", reviewed).await;
    assert_eq!((none.status, none.code().as_str()), (409, "DEFINITION_CHANGED"), "{}", none.body);
    // An operator's business, once somebody is one.
    assert_eq!(service.post("/servers/bad/restart", "").await.status, 401);
    assert_eq!(service.send("POST", "/servers/bad/restart", headers, "").await.status, 200);
}
