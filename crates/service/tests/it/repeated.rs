//! Repeated members: refused from callers on every way in, single in everything that is made of what servers say.

use std::path::Path;

use gateway_mcp::serve_stdio;
use gateway_service::Secret;
use gateway_testkit::{Fixture, eventually};
use gateway_upstream::{CatalogueRules, Endpoint, OnDefinitionChange, ProtocolChoice, UpstreamSpec};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::client::Service;
use crate::mcp::old_clients::OldClient;
use crate::mcp::wire::{Caller, ERAS, Front, PATIENCE};
use crate::turns::fixture;

/// A server whose tool `echo` takes anything, with one parameter filled in and one hidden.
async fn with_tenant() -> Service {
    let mut spec = fixture("up", &Fixture::stdio());
    let Value::Object(injected) = json!({"tenant": "a"}) else { panic!() };
    spec.tools.injected = [("echo".to_owned(), injected)].into();
    spec.tools.hidden = [("echo".to_owned(), vec!["secret".to_owned()])].into();
    Service::with_servers(vec![spec], |_| {}).await
}

/// Sends one message over standard input and gives the answer.
async fn over_stdio(service: &Service, message: &str) -> Value {
    let gateway = service.running.gateway().clone();
    let (mut input, theirs) = tokio::io::duplex(1 << 20);
    let (output, ours) = tokio::io::duplex(1 << 20);
    let serving = tokio::spawn(async move { serve_stdio(gateway.mcp(), None, theirs, output).await });
    input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    let mut lines = BufReader::new(ours).lines();
    let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().expect("an answer");
    serving.abort();
    serde_json::from_str(&line).unwrap()
}

/// What every plain way in says to these arguments.
async fn on_plain_ways(service: &Service, arguments: &str) -> Vec<(&'static str, u16, String)> {
    let text = json!(arguments);
    let bodies = [
        ("/call_tool", format!(r#"{{"server":"up","tool":"echo","arguments":{arguments}}}"#)),
        (
            "/execute",
            format!(
                r#"{{"provider":"anthropic","call":{{"type":"tool_use","id":"1","name":"echo","input":{arguments}}}}}"#
            ),
        ),
        ("/execute", format!(r#"{{"provider":"openai","call":{{"name":"echo","arguments":{text}}}}}"#)),
        ("/route", format!(r#"{{"name":"echo","input":{arguments}}}"#)),
        (
            "/route",
            format!(
                r#"{{"tool_calls":[{{"id":"1","type":"function","function":{{"name":"echo","arguments":{text}}}}}]}}"#
            ),
        ),
    ];
    let mut said = Vec::new();
    for (path, body) in bodies {
        let answer = service.post(path, &body).await;
        said.push((path, answer.status, answer.body));
    }
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_member_overrides_no_parameter_that_is_filled_in() {
    let service = with_tenant().await;
    for (path, status, body) in on_plain_ways(&service, r#"{"tenant":"b","x":1}"#).await {
        assert_eq!(status, 200, "{path}: {body}");
        assert!(body.contains(r#"tenant\":\"a"#) || body.contains(r#""tenant":"a""#), "{path}: {body}");
        assert!(!body.contains(r#"tenant\":\"b"#) && !body.contains(r#""tenant":"b""#), "{path}: {body}");
    }
    for (path, status, body) in on_plain_ways(&service, r#"{"tenant":"b","\u0074enant":"b"}"#).await {
        assert!(body.contains("is repeated in"), "{path}: {status} {body}");
        assert!(body.contains("send each member once"), "{path}: {status} {body}");
    }
    let body = r#"{"server":"up","tool":"echo","arguments":{"tenant":"b","tenant":"b"}}"#;
    let answer = service.post("/call_tool", body).await;
    let message = "reading the body: the member \"tenant\" is repeated in the object at /arguments; send each member once";
    assert_eq!((answer.status, answer.json()["error"].clone()), (400, json!(message)), "{}", answer.body);
    for era in ERAS {
        let caller = Caller::open(&service, era, "/mcp", "").await;
        let given = caller.call("echo", json!({"tenant": "b"})).await;
        assert_eq!(given.result()["structuredContent"], json!({"tenant": "a"}), "{era:?}");
        let (id, message) =
            caller.message("tools/call", json!({"name": "echo", "arguments": {"tenant": "b"}}));
        let message = message.replace(r#""tenant":"b""#, r#""tenant":"b","tenant":"b""#);
        let reply = caller.post(&message, "").await;
        let status = reply.status;
        let answer: Value = serde_json::from_str(&reply.whole().await).unwrap();
        assert_eq!(
            (status, &answer["id"], &answer["error"]["code"]),
            (400, &json!(id), &json!(-32600)),
            "{answer}"
        );
        let text = answer["error"]["message"].as_str().unwrap();
        assert!(text.contains("\"tenant\" is repeated in the object at /params/arguments"), "{text}");
        let answer = over_stdio(&service, &message).await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32600)), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_parameter_passes_on_no_way_in() {
    let service = with_tenant().await;
    let text = "the tool `echo` has no parameter \\\"secret\\\"; leave it out";
    for (path, status, body) in on_plain_ways(&service, r#"{"secret":"x"}"#).await {
        assert!(body.contains(text), "{path}: {status} {body}");
    }
    for era in ERAS {
        let caller = Caller::open(&service, era, "/mcp", "").await;
        let refused = caller.once("tools/call", json!({"name": "echo", "arguments": {"secret": "x"}})).await;
        assert!(refused.text.contains(text), "{era:?}: {}", refused.text);
        let group = Caller::open(&service, era, "/mcp/up", "").await;
        let refused = group.once("tools/call", json!({"name": "echo", "arguments": {"secret": "x"}})).await;
        assert!(refused.text.contains(text), "{era:?}: {}", refused.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_refuses_a_repeated_member() {
    let service = Service::with(|config| {
        config.admin_keys.insert("root".to_owned(), Secret::new("admin-key"));
    })
    .await;
    let headers = "content-type: application/json\r\nauthorization: Bearer admin-key\r\n";
    let cases = [
        ("POST", "/call_tool", r#"{"tool":"echo","tool":"echo","arguments":{}}"#, "tool", ""),
        ("POST", "/call_tool", r#"{"tool":"echo","arguments":{},"x":{"y":1,"y":2}}"#, "y", "/x"),
        ("POST", "/call_tool", r#"{"tool":"echo","arguments":{"a":[{"b":1,"b":1}]}}"#, "b", "/arguments/a/0"),
        ("POST", "/call_tool", r#"{"continue":"s","responses":{"a":{},"a":{}}}"#, "a", "/responses"),
        ("POST", "/execute", r#"{"call":1,"call":2}"#, "call", ""),
        ("POST", "/route", r#"{"name":"echo","name":"add"}"#, "name", ""),
        ("POST", "/convert", r#"{"to":"openai","tools":[{"name":"a","name":"b"}]}"#, "name", "/tools/0"),
        ("POST", "/check", r#"{"tools":[{"name":"a","name":"b"}]}"#, "name", "/tools/0"),
        ("POST", "/transform", r#"{"to":"openai","schema":{"type":"a","type":"object"}}"#, "type", "/schema"),
        ("PUT", "/registry/x", r#"{"description":"a","description":"b"}"#, "description", ""),
        ("POST", "/approvals/x", r#"{"decision":"deny","decision":"approve"}"#, "decision", ""),
    ];
    for (method, path, body, member, object) in cases {
        let answer = service.send(method, path, headers, body).await;
        let object =
            if object.is_empty() { "outermost object".to_owned() } else { format!("object at {object}") };
        let message = format!(
            "reading the body: the member \"{member}\" is repeated in the {object}; send each member once"
        );
        assert_eq!((answer.status, answer.json()["error"].clone()), (400, json!(message)), "{path} {body}");
    }
}

/// A legacy server that lists what stands in a file.
fn listing(id: &str, page: &Path) -> UpstreamSpec {
    let script = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"initialize"'*) printf '%s\n' '{"jsonrpc":"2.0","id":0,"id":'$id',"result":{"protocolVersion":"none","protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"1"}}}';;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}\n' "$id" "$(cat "$PAGE")";;
    *'"tools/call"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[],"k":1,"k":2}}\n' "$id";;
  esac
done
"#;
    let endpoint = Endpoint::Stdio {
        command: "sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: [("PAGE".to_owned(), page.to_str().unwrap().to_owned())].into(),
        cwd: None,
    };
    let mut spec = UpstreamSpec::new(id, endpoint);
    spec.protocol = ProtocolChoice::Legacy;
    spec
}

/// Every list that is made of definitions.
async fn lists(service: &Service) -> Vec<String> {
    let mut lists = Vec::new();
    for path in ["/tools", "/tools/openai", "/tools/anthropic", "/tools/gemini"] {
        lists.push(service.get(path).await.body);
    }
    for era in ERAS {
        let caller = Caller::open(service, era, "/mcp", "").await;
        lists.push(caller.ask("tools/list", json!({})).await.text);
    }
    lists
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_description_passes_no_pinning() {
    let folder = tempfile::tempdir().unwrap();
    for second in ["description", "\\u0064escription"] {
        let page = folder.path().join("page.json");
        let tool = |more: &str| {
            format!(r#"[{{"name":"t","description":"good"{more},"inputSchema":{{"type":"object"}}}}]"#)
        };
        std::fs::write(&page, tool("")).unwrap();
        let mut spec = listing("up", &page);
        spec.tools.on_definition_change = OnDefinitionChange::Block;
        let service = Service::with_servers(vec![spec], |_| {}).await;
        for list in lists(&service).await {
            assert!(list.contains("good"), "{list}");
        }
        std::fs::write(&page, tool(&format!(r#","{second}":"EVIL""#))).unwrap();
        let fleet = service.running.gateway().fleet().clone();
        let version = fleet.catalogue().version();
        fleet.refresh("up").unwrap();
        let is_noticed = || {
            fleet.catalogue().version() > version
                && !fleet.health_of("up").unwrap().changed_definitions.is_empty()
        };
        eventually(PATIENCE, "the notice", is_noticed).await.unwrap();
        for list in lists(&service).await {
            assert!(!list.contains("EVIL"), "{list}");
        }
        let call = service.post("/call_tool", r#"{"server":"up","tool":"t","arguments":{}}"#).await;
        let blocked = "tool `t` of server `up` is blocked: tool `t` changed its description; \
                       `mcp-tool-gateway servers accept up` shows its definition, and \
                       `mcp-tool-gateway servers accept up FINGERPRINT` accepts it";
        assert_eq!(call.json()["error"], blocked, "{}", call.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_override_replaces_every_description() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.json");
    std::fs::write(
        &page,
        r#"[{"name":"t","description":"good","description":"EVIL","inputSchema":{"type":"object"}}]"#,
    )
    .unwrap();
    let mut spec = listing("up", &page);
    let Value::Object(overrides) = json!({"description": "SAFE"}) else { panic!() };
    spec.tools.overrides = [("t".to_owned(), overrides)].into();
    let service = Service::with_servers(vec![spec], |_| {}).await;
    for list in lists(&service).await {
        assert!(list.contains("SAFE") && !list.contains("EVIL"), "{list}");
    }
    let call = service.post("/call_tool", r#"{"server":"up","tool":"t","arguments":{}}"#).await;
    assert_eq!(call.body, r#"{"result":{"content":[],"k":1,"k":2}}"#, "a result stays as it came");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_name_makes_no_second_function() {
    let folder = tempfile::tempdir().unwrap();
    let (evil, good) = (folder.path().join("evil.json"), folder.path().join("good.json"));
    std::fs::write(
        &evil,
        r#"[{"name":"zz","description":"EVIL","name":"ok","inputSchema":{"type":"object"}}]"#,
    )
    .unwrap();
    std::fs::write(&good, r#"[{"name":"ok","description":"good","inputSchema":{"type":"object"}}]"#).unwrap();
    let specs = vec![listing("evil", &evil), listing("files", &good)];
    let service = Service::with_servers(specs, |_| {}).await;
    for list in lists(&service).await {
        assert!(!list.contains("zz"), "{list}");
        for name in ["evil__ok", "files__ok"] {
            assert!(list.matches(&format!("\"{name}\"")).count() >= 1, "{name}: {list}");
        }
        assert_eq!(list.matches("\"name\":\"ok\"").count(), 0, "{list}");
    }
}

/// One good message and three with a repeated member.
fn batch() -> String {
    let call = |id: &str, arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}"#
        )
    };
    let messages = [
        call("1", r#"{"tenant":"b"}"#),
        call("2", r#"{"tenant":"b","\u0074enant":"b"}"#),
        r#"{"jsonrpc":"2.0","id":3,"method":"ping","method":"tools/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":4,"id":5,"method":"ping"}"#.to_owned(),
    ];
    format!("[{}]", messages.join(","))
}

/// The good one ran, the others are refused, each for its member.
#[track_caller]
fn check_batch(answers: &Value) {
    let answers = answers.as_array().unwrap();
    let of = |id: u64| answers.iter().find(|answer| answer["id"] == id);
    let ran = of(1).unwrap_or_else(|| panic!("{answers:?}"));
    assert_eq!(ran["result"]["structuredContent"], json!({"tenant": "a"}), "{ran}");
    let refused: Vec<_> = answers.iter().filter(|answer| answer["id"] != 1).collect();
    assert_eq!(refused.len(), 3, "{answers:?}");
    for (answer, member) in refused.iter().zip(["tenant", "method", "id"]) {
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(&format!("\"{member}\" is repeated in")), "{answer}");
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_member_in_a_batch_refuses_that_message() {
    let service = with_tenant().await;
    let batch = batch();
    let hello = json!({
        "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}
    });
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string();
    let session = service.post("/mcp", &hello).await.header("mcp-session-id").unwrap().to_owned();
    let headers = format!(
        "content-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-session-id: {session}\r\n"
    );
    let answer = service.send("POST", "/mcp", &headers, &batch).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    check_batch(&answer.json());
}

/// Clients of 2024-11-05 are answered on their stream of events.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_member_is_refused_on_a_stream_of_events() {
    let mut spec = fixture("up", &Fixture::stdio());
    let Value::Object(injected) = json!({"tenant": "a"}) else { panic!() };
    spec.tools.injected = [("echo".to_owned(), injected)].into();
    let front = Front::of_specs(vec![(spec, None)], CatalogueRules::default(), |_| {}).await;
    for path in ["/mcp", "/mcp/up"] {
        let client = OldClient::open(&front, path).await;
        let call = |id: u64, arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}"#
            )
        };
        let answer = front.service.post(&client.address, &call(7, r#"{"tenant":"b","tenant":"b"}"#)).await;
        assert!(answer.body.contains("\\\"tenant\\\" is repeated in"), "{} {}", answer.status, answer.body);
        let answer = front.service.post(&client.address, &call(8, r#"{"tenant":"b"}"#)).await;
        assert_eq!(answer.status, 202, "{}", answer.body);
        let mut stream = client.stream;
        let heard = loop {
            let next = stream.next().await.unwrap().value;
            if next["id"] == 8 || next["id"] == 7 {
                break next;
            }
        };
        assert_eq!(
            (&heard["id"], &heard["result"]["structuredContent"]),
            (&json!(8), &json!({"tenant": "a"}))
        );
    }
}
