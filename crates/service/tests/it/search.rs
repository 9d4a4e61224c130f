//! Search instead of a list: the written-down queries over real tools, and the three tools end to end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gateway_dialects::Dialects;
use gateway_mcp::client_capabilities;
use gateway_protocol::RawJson;
use gateway_search::{ToolEntry, ToolIndex};
use gateway_service::{Gateway, SearchMode, ServiceConfig, serve};
use gateway_store::CallLog;
use gateway_testkit::Fixture;
use gateway_upstream::{Endpoint, Fleet, FleetOptions, ToolGroup, UpstreamSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{Answer, Service};
use crate::logs::eventually_logged;

#[derive(Deserialize)]
struct Queries {
    query: Vec<Query>,
}

#[derive(Deserialize)]
struct Query {
    ask: String,
    set: String,
    /// Empty where no tool does it.
    want: Vec<String>,
    /// The servers that are asked; all of them where it is empty.
    #[serde(default)]
    among: Vec<String>,
    #[serde(default)]
    miss: Option<String>,
}

#[derive(Deserialize)]
struct Captured {
    tools: Vec<RawJson>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// A folder of captured servers.
enum Corpus {
    /// The large one beside the checkout: every wanted tool is in it.
    Large(PathBuf),
    /// What `conformance/corpus/capture.py` has fetched.
    Captured(PathBuf),
}

/// The largest corpus there is, if any. In CI it must be the large one.
fn find_corpus() -> Option<Corpus> {
    let large = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/servers");
    if large.is_dir() {
        return Some(Corpus::Large(large));
    }
    let is_ci = std::env::var("CI").is_ok_and(|word| word == "true");
    assert!(!is_ci, "no {}", large.display());
    let captured = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../data/corpus/servers");
    if captured.is_dir() {
        return Some(Corpus::Captured(captured));
    }
    let note = format!("skipped: no {}: run conformance/corpus/capture.py\n", captured.display());
    std::io::Write::write_all(&mut std::io::stderr(), note.as_bytes()).unwrap();
    None
}

/// All tools of the corpus: server, name, definition.
fn corpus(folder: &Path) -> Vec<(String, String, RawJson)> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut tools = Vec::new();
    for file in files {
        let server = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let captured: Captured = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        for definition in captured.tools {
            let named: Named = definition.read().unwrap();
            tools.push((server.clone(), named.name, definition));
        }
    }
    tools
}

#[test]
fn written_down_queries_find_their_tools() {
    let Some(found) = find_corpus() else { return };
    let (Corpus::Large(folder) | Corpus::Captured(folder)) = &found;
    let tools = corpus(folder);
    let entries: Vec<ToolEntry<'_>> =
        tools.iter().map(|(server, name, definition)| ToolEntry { name, server, definition }).collect();
    let index = ToolIndex::build(&entries);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/search/queries.toml");
    let queries: Queries = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(queries.query.len() >= 30);
    let (mut asked, mut wrong) = (0, Vec::new());
    for query in &queries.query {
        let is_there =
            |wanted: &String| tools.iter().any(|(server, name, _)| format!("{server}/{name}") == *wanted);
        match found {
            Corpus::Large(_) => {
                let absent: Vec<&String> = query.want.iter().filter(|wanted| !is_there(wanted)).collect();
                assert!(absent.is_empty(), "{absent:?} are not in the corpus");
            }
            // Among fewer tools a known miss may be found.
            Corpus::Captured(_) if query.miss.is_some() || !query.among.is_empty() => continue,
            Corpus::Captured(_) if !query.want.is_empty() && !query.want.iter().any(is_there) => continue,
            Corpus::Captured(_) => {}
        }
        asked += 1;
        let few: Vec<ToolEntry<'_>> = entries
            .iter()
            .filter(|entry| query.among.iter().any(|server| server == entry.server))
            .copied()
            .collect();
        let index_of_few = ToolIndex::build(&few);
        let (index, entries) =
            if query.among.is_empty() { (&index, &entries) } else { (&index_of_few, &few) };
        let answer = index.search(&query.ask, 5);
        let found: Vec<String> = answer
            .hits
            .iter()
            .map(|hit| format!("{}/{}", entries[hit.position].server, entries[hit.position].name))
            .collect();
        let is_found = if query.want.is_empty() {
            !answer.fit_well
        } else {
            answer.fit_well && found.iter().any(|name| query.want.contains(name))
        };
        // A miss that is one no more should be struck out, so that it stays found.
        if is_found == query.miss.is_some() {
            wrong.push(format!("{} ({}): {found:?}", query.ask, query.set));
        }
    }
    assert!(asked >= 15, "only {asked} queries have their tools in the corpus");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn stdio(id: &str, fixture: &Fixture) -> UpstreamSpec {
    let (command, args) = fixture.command().unwrap();
    let command = command.to_str().unwrap().to_owned();
    UpstreamSpec::new(id, Endpoint::Stdio { command, args, env: BTreeMap::new(), cwd: None })
}

/// The demo server, one with generated tools, and a group that is a part of them.
async fn start(search: SearchMode) -> Service {
    let servers = vec![
        UpstreamSpec::new("demo", Endpoint::Demo),
        stdio("many", &Fixture::stdio().option("--tools", 20).args(["--no-builtin"])),
        stdio("every", &Fixture::stdio().everything()),
    ];
    start_with(servers, search).await
}

async fn start_with(servers: Vec<UpstreamSpec>, search: SearchMode) -> Service {
    let mut config = ServiceConfig::default();
    config.listen.set_port(0);
    config.mcp.search = search;
    let mut options = FleetOptions::default();
    options.capabilities = client_capabilities();
    let group = ToolGroup { tools: vec!["add".to_owned(), "tool_0000*".to_owned()], ..ToolGroup::default() };
    options.catalogue.groups.insert("few".to_owned(), group);
    let fleet = Fleet::start(servers, options);
    let log = CallLog::in_memory(&gateway_store::Options::default()).unwrap();
    let running = serve(Gateway::new(config, fleet, Dialects::builtin(), log)).await.unwrap();
    Service { running }
}

/// Sends a request of the modern era.
async fn ask(service: &Service, path: &str, method: &str, mut params: Value) -> Answer {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    });
    if let Some(own) = params.get("_meta").and_then(Value::as_object) {
        meta.as_object_mut().unwrap().extend(own.clone());
    }
    params["_meta"] = meta;
    let name = params["name"].as_str().map(|name| format!("mcp-name: {name}\r\n")).unwrap_or_default();
    let headers = format!(
        "content-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n{name}"
    );
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    service.send("POST", path, &headers, &body.to_string()).await
}

async fn list(service: &Service, path: &str, params: Value) -> Value {
    let answer = ask(service, path, "tools/list", params).await;
    answer.json()["result"].clone()
}

async fn call(service: &Service, path: &str, name: &str, arguments: Value) -> Value {
    let answer = ask(service, path, "tools/call", json!({"name": name, "arguments": arguments})).await;
    answer.json()
}

fn names(list: &Value) -> Vec<&str> {
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

const THREE: [&str; 3] = ["search_tools", "describe_tool", "call_tool"];

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_off_unless_it_is_wanted() {
    let service = start(SearchMode::Off).await;
    let all = list(&service, "/mcp", json!({})).await;
    assert!(names(&all).contains(&"tool_00019") && !names(&all).contains(&"search_tools"));
    assert_eq!(all["_meta"], Value::Null);
    let answer = call(&service, "/mcp", "search_tools", json!({"query": "add"})).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("Unknown tool"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_of_tools_turns_search_on() {
    let service = start(SearchMode::Above(15)).await;
    assert_eq!(names(&list(&service, "/mcp", json!({})).await), THREE);
    assert_eq!(names(&list(&service, "/mcp/many", json!({})).await), THREE);
    assert!(names(&list(&service, "/mcp/few", json!({})).await).contains(&"add"));
    assert!(names(&list(&service, "/mcp/demo", json!({})).await).contains(&"add"));
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_stays_listed_for_those_who_ask() {
    let service = start(SearchMode::On).await;
    let three = list(&service, "/mcp", json!({})).await;
    assert_eq!(names(&three), THREE);
    let everything = list(&service, "/mcp", json!({"_meta": {"mcp-tool-gateway/list": "all"}})).await;
    assert!(names(&everything).contains(&"tool_00007") && names(&everything).contains(&"add"));
    let said = &three["_meta"]["mcp-tool-gateway/search"];
    assert_eq!(said["tools"], names(&everything).len());
    let number = |name: &str| said["tokens"][name].as_u64().unwrap();
    assert_eq!(number("saved"), number("all") - number("listed"));
    let direct = call(&service, "/mcp", "add", json!({"a": 1, "b": 2})).await;
    assert!(text(&direct["result"]).contains('3'), "{direct}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_found_described_and_called() {
    let service = start(SearchMode::On).await;
    let found =
        call(&service, "/mcp", "search_tools", json!({"query": "sum of two numbers", "limit": 2})).await;
    let result = &found["result"];
    assert_eq!(result["resultType"], "complete");
    let first = &result["structuredContent"]["tools"][0];
    assert_eq!(
        (&first["name"], &first["server"], &first["required"]),
        (&json!("add"), &json!("demo"), &json!(["a", "b"])),
        "{found}"
    );
    assert!(text(result).starts_with("add (demo): "), "{found}");
    assert!(result["structuredContent"]["tools"].as_array().unwrap().len() <= 2);
    let described = call(&service, "/mcp", "describe_tool", json!({"name": "add"})).await;
    let definition = &described["result"]["structuredContent"];
    assert_eq!(definition["inputSchema"]["required"], json!(["a", "b"]));
    assert_eq!(serde_json::from_str::<Value>(text(&described["result"])).unwrap(), *definition);
    let direct = call(&service, "/mcp", "add", json!({"a": 20, "b": 22})).await;
    let through =
        call(&service, "/mcp", "call_tool", json!({"name": "add", "arguments": {"a": 20, "b": 22}})).await;
    assert_eq!(through, direct);
    let entries = eventually_logged(&service, "/logs", "", 2).await;
    let tools: Vec<&Value> = entries.iter().map(|entry| &entry["tool"]).collect();
    assert_eq!(tools, ["add", "add"], "calls stand in the log under the tool that ran");
    assert_eq!(entries[0]["input"], entries[1]["input"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outside_the_group_is_found_or_run() {
    let service = start(SearchMode::On).await;
    let search = async |query: &str| {
        call(&service, "/mcp/few", "search_tools", json!({"query": query, "limit": 50})).await
    };
    let hidden = search("multiply the weather").await;
    assert_eq!(hidden["result"]["structuredContent"]["tools"], json!([]), "{hidden}");
    assert!(!text(&hidden["result"]).contains("multiply ("), "not even as the nearest: {hidden}");
    let found = search("add two numbers").await;
    let rows = found["result"]["structuredContent"]["tools"].as_array().unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        let name = row["name"].as_str().unwrap();
        assert!(name == "add" || name.starts_with("tool_0000"), "{name}");
    }
    for (tool, name) in [
        ("describe_tool", "multiply"),
        ("call_tool", "multiply"),
        ("call_tool", "mcp__demo__multiply"),
        ("call_tool", "nothing"),
    ] {
        let arguments = json!({"name": name, "arguments": {"a": 2, "b": 3}});
        let answer = call(&service, "/mcp/few", tool, arguments).await;
        assert_eq!(answer["result"]["isError"], true, "{tool} {name}: {answer}");
        assert!(text(&answer["result"]).contains("Tool not found"), "{answer}");
    }
    let answer = call(&service, "/mcp/few", "search_tools", json!({"limit": 3})).await;
    assert_eq!(answer["result"]["isError"], true);
    let arguments = json!({"name": "add", "arguments": {"a": 2, "b": 3}});
    call(&service, "/mcp/few", "call_tool", arguments).await;
    let entries = eventually_logged(&service, "/logs", "", 1).await;
    assert_eq!(entries.len(), 1, "nothing else ran: {entries:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_keeps_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let lines = folder.path().join("tools.jsonl");
    std::fs::write(
        &lines,
        "{\"name\":\"call_tool\",\"description\":\"Rings\",\"inputSchema\":{\"type\":\"object\"}}\n",
    )
    .unwrap();
    let fixture = Fixture::stdio().option("--corpus", lines.display()).args(["--no-builtin"]);
    let service = start_with(vec![stdio("own", &fixture)], SearchMode::On).await;
    let shown = list(&service, "/mcp", json!({})).await;
    assert_eq!(names(&shown), ["search_tools_gateway", "describe_tool_gateway", "call_tool_gateway"]);
    let theirs = call(&service, "/mcp", "call_tool", json!({"x": 1})).await;
    assert_eq!(theirs["result"]["structuredContent"], json!({"x": 1}));
    let through =
        call(&service, "/mcp", "call_tool_gateway", json!({"name": "call_tool", "arguments": {"y": 2}}))
            .await;
    assert_eq!(through["result"]["structuredContent"], json!({"y": 2}));
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_and_questions_pass_through_a_call() {
    let service = start(SearchMode::On).await;
    let params = json!({
        "name": "call_tool",
        "arguments": {"name": "test_tool_with_progress", "arguments": {}},
        "_meta": {"progressToken": "p"},
    });
    let answer = ask(&service, "/mcp", "tools/call", params).await;
    assert!(answer.body.contains("notifications/progress"), "{}", answer.body);
    assert!(answer.body.contains("\"result\""), "{}", answer.body);
    let arguments = json!({"name": "test_elicitation", "arguments": {"message": "Who?"}});
    let asked = call(&service, "/mcp", "call_tool", arguments.clone()).await;
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let key = result["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let params = json!({
        "name": "call_tool",
        "arguments": arguments,
        "requestState": result["requestState"],
        "inputResponses": {key: {"action": "accept", "content": {"username": "ada", "email": "ada@example.org"}}},
    });
    let done = ask(&service, "/mcp", "tools/call", params).await.json();
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    assert!(done["result"]["content"][0]["text"].is_string(), "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn models_search_describe_and_call_over_http() {
    let service = start(SearchMode::Off).await;
    for provider in ["openai", "gemini", "anthropic", "openai-responses"] {
        let answer = service.get(&format!("/tools/{provider}?mode=search&server=*")).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        for name in THREE {
            assert!(answer.body.contains(&format!("\"{name}\"")), "{provider}: {}", answer.body);
        }
        assert!(!answer.body.contains("tool_00003"), "{provider}");
        assert!(answer.header("x-tool-tokens-saved").unwrap().parse::<u64>().unwrap() > 0);
    }
    let execute = async |name: &str, arguments: Value, rest: Value| {
        let call = json!({"id": "c", "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
        let mut body = json!({"provider": "openai", "server": "*", "call": call});
        body.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        service.post("/execute", &body.to_string()).await.json()
    };
    for rest in [json!({}), json!({"mode": "search"})] {
        let found = execute("search_tools", json!({"query": "add two numbers"}), rest.clone()).await;
        assert_eq!(found["result"]["structuredContent"]["tools"][0]["name"], "add", "{found}");
        assert_eq!(found["messages"][0]["tool_call_id"], "c");
        let described = execute("describe_tool", json!({"name": "add"}), rest.clone()).await;
        assert_eq!(described["result"]["structuredContent"]["name"], "add", "{described}");
        let sent = json!({"name": "add", "arguments": {"a": 15, "b": 27}});
        let ran = execute("call_tool", sent, rest.clone()).await;
        assert!(text(&ran["result"]).contains("42"), "{ran}");
        assert_eq!((&ran["server"], &ran["tool"]), (&json!("demo"), &json!("add")));
        let wrong = execute("call_tool", json!({"name": "add", "arguments": {"a": "x"}}), rest.clone()).await;
        assert_eq!(wrong["code"], "VALIDATION_ERROR", "{wrong}");
        let unknown = execute("call_tool", json!({"name": "ad", "arguments": {}}), rest.clone()).await;
        assert_eq!(unknown["code"], "TOOL_NOT_FOUND", "{unknown}");
        let bare = execute("describe_tool", json!({}), rest.clone()).await;
        assert_eq!(bare["code"], "VALIDATION_ERROR", "{bare}");
    }
    let filtered = json!({"mode": "search", "name": "tool_0000*"});
    let outside = execute("call_tool", json!({"name": "add", "arguments": {"a": 1, "b": 2}}), filtered).await;
    assert_eq!(outside["code"], "TOOL_NOT_FOUND", "{outside}");
    assert_eq!(service.get("/tools/openai?mode=other").await.status, 400);
}

/// What a strict dialect cannot say as an object it says as text, and the text is read back.
#[tokio::test(flavor = "multi_thread")]
async fn arguments_come_back_from_every_dialect() {
    let service = start(SearchMode::Off).await;
    for provider in ["openai", "openai-strict", "gemini", "anthropic", "mistral", "cohere", "bedrock"] {
        let answer = service.get(&format!("/tools/{provider}?mode=search&server=demo")).await;
        if answer.status == 400 {
            continue;
        }
        let inner = json!({"a": 1, "b": 2});
        let shapes = [inner.clone(), Value::String(inner.to_string())];
        for arguments in shapes {
            let call = json!({"name": "call_tool", "arguments": {"name": "add", "arguments": arguments}});
            let body = json!({"provider": provider, "server": "demo", "mode": "search", "call": call});
            let ran = service.post("/execute", &body.to_string()).await;
            assert!(
                ran.body.contains("\"tool\":\"add\"") && !ran.body.contains("\"code\""),
                "{provider}: {}",
                ran.body
            );
        }
    }
}
