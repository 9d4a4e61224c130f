//! What models say, run and answered in their providers' own shapes.

use gateway_testkit::{Fault, Fixture, LOSSLESS_RESULT};
use gateway_upstream::{Endpoint, Handler, RegisteredTool, UpstreamSpec};
use serde_json::{Value, json};

use crate::client::{Answer, Service};

async fn execute(service: &Service, body: Value) -> Answer {
    service.post("/execute", &body.to_string()).await
}

/// A server over stdio that has the fixture's tools and faults.
pub(crate) fn fixture(id: &str, fixture: &Fixture) -> UpstreamSpec {
    let (command, args) = fixture.command().unwrap();
    let command = command.to_str().unwrap().to_owned();
    UpstreamSpec::new(
        id,
        Endpoint::Stdio { command, args, env: std::collections::BTreeMap::new(), cwd: None },
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn every_shape_of_one_call_gives_one_result_and_its_message() {
    let service = Service::start().await;
    let shapes = [
        (
            Some("gemini"),
            json!({"name": "add", "args": {"a": 15, "b": 27}}),
            "/messages/0/parts/0/functionResponse/name",
            "add",
        ),
        (
            None,
            json!({"functionCall": {"name": "add", "args": {"a": 15, "b": 27}}}),
            "/messages/0/role",
            "user",
        ),
        (
            Some("openai"),
            json!({"name": "add", "arguments": "{\"a\":15,\"b\":27}"}),
            "/messages/0/role",
            "tool",
        ),
        (
            Some("xai"),
            json!({"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":15,\"b\":27}"}}),
            "/messages/0/tool_call_id",
            "c1",
        ),
        (
            Some("openai-responses"),
            json!({"type": "function_call", "call_id": "c2", "name": "add", "arguments": "{\"a\":15,\"b\":27}"}),
            "/messages/0/type",
            "function_call_output",
        ),
        (
            None,
            json!({"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 15, "b": 27}}),
            "/messages/0/content/0/tool_use_id",
            "t1",
        ),
        (
            Some("bedrock"),
            json!({"toolUse": {"toolUseId": "b1", "name": "add", "input": {"a": 15, "b": 27}}}),
            "/messages/0/content/0/toolResult/toolUseId",
            "b1",
        ),
        (
            Some("ollama"),
            json!({"function": {"name": "add", "arguments": {"a": 15, "b": 27}}}),
            "/messages/0/role",
            "tool",
        ),
    ];
    for (provider, call, pointer, wanted) in shapes {
        let answer = execute(&service, json!({"provider": provider, "call": call})).await;
        assert_eq!(answer.status, 200, "{call}: {}", answer.body);
        let body = answer.json();
        let text = body.pointer("/result/content/0/text").and_then(Value::as_str).unwrap();
        let result: Value = serde_json::from_str(text).unwrap();
        assert_eq!(result["result"], 42, "{call}");
        assert_eq!(body.pointer(pointer).and_then(Value::as_str), Some(wanted), "{call}: {}", answer.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_reply_runs_all_its_calls_in_order() {
    let service = Service::start().await;
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let reply = json!({"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Let me see.", "tool_calls": [
        call("c1", "add", "{\"a\":1,\"b\":2}"),
        call("c2", "nothing", "{}"),
        call("c3", "multiply", "{\"a\":\"x\",\"b\":2}"),
        call("c4", "add", "{\"a\":1,"),
        call("c5", "get_weather", "{\"location\":\"Oslo\"}"),
    ]}}]});
    let answer = execute(&service, json!({"call": reply})).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let body = answer.json();
    let rows: Vec<(&str, Option<&str>)> = body["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["id"].as_str().unwrap(), row["code"].as_str()))
        .collect();
    assert_eq!(
        rows,
        [
            ("c1", None),
            ("c2", Some("TOOL_NOT_FOUND")),
            ("c3", Some("VALIDATION_ERROR")),
            ("c4", Some("VALIDATION_ERROR")),
            ("c5", None)
        ]
    );
    let ids: Vec<&str> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["tool_call_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["c1", "c2", "c3", "c4", "c5"]);
    assert_eq!(body["text"], "Let me see.");
    let weather = body.pointer("/results/4/result/content/0/text").and_then(Value::as_str).unwrap();
    assert!(weather.contains("72") && weather.contains("sunny"), "{weather}");
}

#[tokio::test(flavor = "multi_thread")]
async fn results_come_in_the_form_that_the_caller_wants() {
    let service = Service::start().await;
    let call = json!({"name": "add", "args": {"a": 15, "b": 27}});
    for (mode, pointer, wanted) in [
        ("parsed", "/result/result", json!(42)),
        ("first-text", "/result", json!("{\"result\":42,\"operation\":\"add\",\"a\":15,\"b\":27}")),
        ("provider", "/result/parts/0/functionResponse/name", json!("add")),
        ("rich", "/result/isError", json!(false)),
    ] {
        let body = json!({"provider": "gemini", "call": call}).to_string();
        let answer = service.post(&format!("/execute?result={mode}"), &body).await;
        assert_eq!(answer.json().pointer(pointer), Some(&wanted), "{mode}: {}", answer.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_hold_over_the_wire() {
    let service = Service::with_servers(vec![fixture("one", &Fixture::stdio())], |_| {}).await;
    let listed = service.get("/tools/openai-chat-strict").await.json();
    let slow =
        listed["tools"].as_array().unwrap().iter().find(|tool| tool["function"]["name"] == "slow").unwrap();
    let required = slow.pointer("/function/parameters/required").unwrap().as_array().unwrap();
    assert!(required.len() > 1, "strict wants all parameters: {slow}");
    // In the strict form an absent parameter is null; the server must not see it.
    let call = json!({"name": "slow", "arguments": "{\"ms\":1,\"progress\":null}"});
    let answer = execute(&service, json!({"provider": "openai-chat-strict", "call": call})).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["code"], Value::Null, "{}", answer.body);
    let logs = service.get("/logs").await.json();
    assert_eq!(logs.pointer("/0/input"), Some(&json!({"ms": 1})), "{logs}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_reply_is_recognised_by_its_arguments() {
    let service = Service::with_servers(vec![fixture("one", &Fixture::stdio())], |_| {}).await;
    // Nobody says that the list was strict: null for what is left out fits no other list.
    let strict = json!({"ms": 1, "progress": null});
    let text = strict.to_string();
    let replies = [
        (
            "openai-chat-strict",
            json!({"choices": [{"index": 0, "message": {"role": "assistant", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "slow", "arguments": text}}
            ]}}]}),
        ),
        (
            "openai-responses-strict",
            json!({"type": "function_call", "call_id": "c2", "name": "slow", "arguments": text}),
        ),
    ];
    for (dialect, reply) in replies {
        let answer = execute(&service, json!({"call": reply})).await;
        assert_eq!((answer.status, &answer.json()["code"]), (200, &Value::Null), "{}", answer.body);
        assert_eq!(answer.json()["provider"], dialect, "{}", answer.body);
        let logs = service.get("/logs").await.json();
        let last = logs.as_array().and_then(|entries| entries.last()).cloned().unwrap_or_default();
        assert_eq!((&last["input"], &last["provider"]), (&json!({"ms": 1}), &json!(dialect)), "{logs}");
    }
    // What fits the plain list is taken as that, and what fits none is reported in the words of the list that it fits best.
    let plain = json!({"type": "tool_use", "id": "t2", "name": "slow", "input": {"ms": 1}});
    assert_eq!(execute(&service, json!({"call": plain})).await.json()["provider"], "anthropic");
    let wrong =
        json!({"type": "tool_use", "id": "t3", "name": "slow", "input": {"ms": "x", "progress": null}});
    let answer = execute(&service, json!({"call": wrong})).await.json();
    assert_eq!(answer["provider"], "anthropic");
    assert!(
        answer.pointer("/result/content/0/text").unwrap().as_str().unwrap().contains("progress"),
        "{answer}"
    );
    // A model that cannot leave a parameter out is not asked to.
    let wrong = json!({"type": "function_call", "call_id": "c3", "name": "slow", "arguments": json!({"ms": "x", "progress": null}).to_string()});
    let answer = execute(&service, json!({"call": wrong})).await.json();
    assert_eq!(answer["provider"], "openai-responses-strict", "{answer}");
    let text = answer.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or_default();
    assert!(text.contains("`ms`") && !text.contains("progress"), "{answer}");
    // Few who asked for a list with `strict=auto` say so again; what is answered is the dialect that was named.
    let named =
        json!({"type": "function_call", "call_id": "c4", "name": "slow", "arguments": strict.to_string()});
    let answer = execute(&service, json!({"provider": "openai-responses", "call": named})).await.json();
    assert_eq!(
        (&answer["code"], &answer["provider"]),
        (&Value::Null, &json!("openai-responses")),
        "{answer}"
    );
    assert_eq!(answer["notes"], json!([{"readAs": "openai-responses-strict"}]), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_coercion_mends_is_no_fault_beside_what_it_does_not() {
    let service = Service::start().await;
    let call = json!({"name": "add", "args": {"a": "15", "b": "abc"}});
    let answer =
        execute(&service, json!({"provider": "gemini", "call": call, "coerceArguments": true})).await.json();
    let text = answer.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or_default();
    assert!(text.ends_with("- `b`: expected number, got string \"abc\""), "{text}");
    assert!(!text.contains("`a`"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_element_is_a_call_if_it_is_called_like_a_tool() {
    let service = Service::start().await;
    let answer = execute(&service, json!({"call": "<get_value/>"})).await.json();
    assert_eq!(
        (&answer["tool"], &answer["code"]),
        (&json!("get_value"), &json!("VALIDATION_ERROR")),
        "{answer}"
    );
    let answer = execute(&service, json!({"call": "<br/>"})).await.json();
    assert_eq!((&answer["results"], &answer["text"]), (&json!([]), &json!("<br/>")), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_wrote_before_it_ended_is_nothing_for_a_model() {
    let dead = |id: &str| {
        UpstreamSpec::new(
            id,
            Endpoint::Stdio {
                command: "sh".to_owned(),
                args: vec!["-c".to_owned(), "echo 'Traceback: /home/x/secret.py' >&2; exit 3".to_owned()],
                env: std::collections::BTreeMap::new(),
                cwd: None,
            },
        )
    };
    let service = Service::with_servers(vec![dead("one")], |_| {}).await;
    let call = json!({"name": "mcp__one__t", "args": {}});
    let answer = execute(&service, json!({"provider": "gemini", "call": call})).await.json();
    assert!(answer["messages"].to_string().contains("status 3"), "{answer}");
    assert!(!answer["messages"].to_string().contains("Traceback"), "{answer}");
    let plain = service.post("/call_tool", r#"{"server":"one","tool":"t","arguments":{}}"#).await.json();
    assert!(plain["error"].as_str().unwrap().contains("Traceback"), "{plain}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_reply_has_a_message_for_every_call_whatever_is_wrong() {
    let service = Service::start().await;
    let message = |call: Value| json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let function = |name: &str, arguments: &str| json!({"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}});
    for (call, words) in [
        (function("add", "{\"a\": 1,"), "JSON"),
        (function("", "{}"), "names no tool"),
        (json!({"id": "c1", "type": "function", "function": {"arguments": "{}"}}), "names no tool"),
        (json!({"id": "c1", "type": "function", "function": "add"}), "names no tool"),
        (json!({"id": "c1", "type": "function"}), "names no tool"),
    ] {
        for whole in [message(call.clone()), json!({"choices": [{"message": message(call.clone())}]})] {
            let answer = execute(&service, json!({"call": whole})).await;
            assert_eq!(answer.status, 200, "{whole}: {}", answer.body);
            let body = answer.json();
            let written = &body["messages"][0];
            assert_eq!(
                (&written["role"], &written["tool_call_id"]),
                (&json!("tool"), &json!("c1")),
                "{body}"
            );
            assert!(written["content"].as_str().unwrap().contains(words), "{body}");
        }
    }
    let block = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "input": {}}]});
    let body = execute(&service, json!({"call": block})).await.json();
    assert_eq!(body.pointer("/messages/0/content/0/tool_use_id"), Some(&json!("t1")), "{body}");
    let part = json!({"role": "model", "parts": [{"functionCall": {"args": {}}}]});
    let body = execute(&service, json!({"call": part})).await.json();
    assert_eq!(body.pointer("/messages/0/parts/0/functionResponse/name"), Some(&json!("unknown")), "{body}");
    // A bare call is the caller's own request: it is refused.
    for call in [
        function("add", "{\"a\": 1,"),
        function("", "{}"),
        json!({"type": "tool_use", "id": "t1", "input": {}}),
    ] {
        let answer = execute(&service, json!({"call": call})).await;
        assert_eq!(answer.status, 400, "{call}: {}", answer.body);
    }
    // A call beside it runs all the same.
    let both = json!({"role": "assistant", "tool_calls": [function("", "{}"),
        {"id": "c2", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1,\"b\":2}"}}]});
    let body = execute(&service, json!({"call": both})).await.json();
    assert_eq!(body["messages"].as_array().map(Vec::len), Some(2), "{body}");
    assert_eq!(body.pointer("/results/1/code"), None, "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn results_reach_the_caller_byte_for_byte() {
    let service = Service::with_servers(vec![fixture("one", &Fixture::stdio())], |_| {}).await;
    let answer = service.post("/call_tool", r#"{"server":"one","tool":"lossless","arguments":{}}"#).await;
    assert_eq!(answer.body, format!("{{\"result\":{LOSSLESS_RESULT}}}"));
    let answer =
        execute(&service, json!({"provider": "gemini", "call": {"name": "lossless", "args": {}}})).await;
    assert!(answer.body.contains(LOSSLESS_RESULT), "{}", answer.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_results_for_the_model_or_precise_statuses() {
    let mut slow = fixture("slow", &Fixture::stdio().mode(Fault::NeverAnswers));
    slow.timeouts.call = std::time::Duration::from_millis(300);
    let dying = fixture("dying", &Fixture::stdio().mode(Fault::CrashBeforeCall));
    let service = Service::with_servers(vec![slow, dying, fixture("good", &Fixture::stdio())], |_| {}).await;
    let cases = [
        ("slow", "add", json!({"a": 1, "b": 2}), "TIMEOUT", 504, 500),
        ("dying", "add", json!({"a": 1, "b": 2}), "CONNECTION_ERROR", 502, 500),
        ("good", "rpc_error", json!({}), "SERVER_ERROR", 502, 500),
        ("good", "add", json!({"a": 1}), "VALIDATION_ERROR", 400, 400),
        ("good", "missing", json!({}), "TOOL_NOT_FOUND", 404, 400),
    ];
    for (server, tool, arguments, code, precise, plain) in cases {
        let call = json!({"provider": "gemini", "server": server, "call": {"name": tool, "args": arguments}});
        let answer = execute(&service, call.clone()).await;
        assert_eq!((answer.status, answer.code().as_str()), (200, code), "{call}: {}", answer.body);
        assert_eq!(answer.json().pointer("/result/isError"), Some(&json!(true)), "{call}");
        let answer = service.post("/execute?errors=precise", &call.to_string()).await;
        assert_eq!((answer.status, answer.code().as_str()), (precise, code), "{call}: {}", answer.body);
        let call = json!({"server": server, "tool": tool, "arguments": arguments}).to_string();
        let answer = service.post("/call_tool", &call).await;
        assert_eq!((answer.status, answer.code().as_str()), (plain, code), "{call}: {}", answer.body);
        let answer = service.post("/call_tool?errors=precise", &call).await;
        assert_eq!((answer.status, answer.code().as_str()), (precise, code), "{call}: {}", answer.body);
    }
    // The tool's own failure is a result.
    let answer = service.post("/call_tool", r#"{"server":"good","tool":"fail","arguments":{}}"#).await;
    assert_eq!((answer.status, answer.json().pointer("/result/isError")), (200, Some(&json!(true))));
}

#[tokio::test(flavor = "multi_thread")]
async fn names_lead_to_the_right_server() {
    let service = Service::with_servers(
        vec![
            fixture("one", &Fixture::stdio()),
            fixture("two", &Fixture::stdio()),
            UpstreamSpec::new("demo", Endpoint::Demo),
        ],
        |_| {},
    )
    .await;
    for (body, status) in [
        (r#"{"tool":"mcp__two__add","arguments":{"a":1,"b":2}}"#, 200),
        (r#"{"server":"one","tool":"add","arguments":{"a":1,"b":2}}"#, 200),
        (r#"{"tool":"add","arguments":{"a":1,"b":2}}"#, 400),
        (r#"{"tool":"one__add","arguments":{"a":1,"b":2}}"#, 200),
    ] {
        let answer = service.post("/call_tool", body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
    }
    let answer = service.post("/call_tool", r#"{"tool":"add","arguments":{"a":1,"b":2}}"#).await;
    assert!(answer.body.contains("server is required when tool is not canonical"), "{}", answer.body);
    let names: Vec<String> = service.get("/tools/gemini").await.json()["function_declarations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(names.contains(&"one__add".to_owned()) && names.contains(&"demo__add".to_owned()), "{names:?}");
    let logs = service.get("/logs?server=two").await.json();
    assert_eq!(logs.as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_have_tags_and_are_rendered_once() {
    let service = Service::start().await;
    let first = service.get("/tools/gemini").await;
    let tag = first.header("etag").unwrap().to_owned();
    let again = service.send("GET", "/tools/gemini", &format!("if-none-match: {tag}\r\n"), "").await;
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    assert_eq!(service.get("/tools/gemini").await.body, first.body);
    let other = service.get("/tools/openai").await;
    assert_ne!(other.header("etag"), Some(tag.as_str()));
    let bare = service.get("/tools/gemini?list=true").await.json();
    assert_eq!(bare, first.json()["function_declarations"]);
    let report = service.get("/tools/gemini?report=true").await.json();
    assert_eq!(report["report"].as_array().unwrap().len(), 5);
    let raw = service.get("/tools?server=demo").await.json();
    assert_eq!(raw.pointer("/tools/0/name"), Some(&json!("add")));
    let meta = service.get("/tools?meta=1").await.json();
    assert_eq!(meta.pointer("/tools/0/_meta/mcp-tool-gateway~1server"), Some(&json!("demo")));
    let few = service.get("/tools/gemini?name=get_*").await.json();
    assert_eq!(few["function_declarations"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_in_the_body_are_translated_and_checked() {
    let service = Service::start().await;
    let tools = json!([{"name": "weather.get", "inputSchema": {"type": "object", "properties": {"place": {"type": "string"}}}}]);
    let converted =
        service.post("/convert", &json!({"to": "openai", "tools": tools}).to_string()).await.json();
    assert_eq!(converted.pointer("/tools/0/function/name"), Some(&json!("weather_get")));
    assert_eq!(converted.pointer("/report/0/wireName"), Some(&json!("weather_get")));
    let checked = service.post("/check?to=openai,gemini", &json!({"tools": tools}).to_string()).await.json();
    assert_eq!(checked["dialects"].as_array().unwrap().len(), 2);
    let rules: Vec<&str> =
        checked["findings"].as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap()).collect();
    assert!(rules.contains(&"name-illegal") && rules.contains(&"description-missing"), "{rules:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_runs_a_call_once() {
    let folder = tempfile::tempdir().unwrap();
    let counter = folder.path().join("counter");
    let service =
        Service::with_servers(vec![fixture("one", &Fixture::stdio().counter(&counter))], |_| {}).await;
    let headers = "content-type: application/json\r\nidempotency-key: k1\r\n";
    let body = r#"{"server":"one","tool":"count","arguments":{}}"#;
    let first = service.send("POST", "/call_tool", headers, body).await;
    let second = service.send("POST", "/call_tool", headers, body).await;
    assert_eq!((first.status, &first.body), (200, &second.body));
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
    assert_eq!(gateway_testkit::count_lines(&counter), 1);
    let other = r#"{"server":"one","tool":"count","arguments":{"token":"x"}}"#;
    assert_eq!(service.send("POST", "/call_tool", headers, other).await.status, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_and_traces_go_through_to_the_server_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let wire = folder.path().join("wire");
    let spec = fixture("one", &Fixture::stdio().option("--wire-log", wire.display()));
    let service = Service::with_servers(vec![spec], |_| {}).await;
    let headers = "content-type: application/json\r\nx-correlation-id: abc-1\r\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n";
    let body = r#"{"server":"one","tool":"echo","arguments":{}}"#;
    let answer = service.send("POST", "/call_tool", headers, body).await;
    assert_eq!((answer.status, answer.header("x-correlation-id")), (200, Some("abc-1")));
    let sent = std::fs::read_to_string(&wire).unwrap();
    let call = sent.lines().find(|line| line.contains("tools/call")).unwrap();
    assert!(call.contains("abc-1") && call.contains("00-4bf92f3577b34da6a3ce929d0e0e4736-"), "{call}");
    let logs = service.get("/logs?correlation_id=abc-1").await.json();
    assert_eq!(logs.as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_starts_delays_no_call_to_another() {
    let silent = fixture("silent", &Fixture::stdio().mode(Fault::Silent));
    let wait = std::time::Duration::from_secs(20);
    let service = Service::with_servers(vec![silent, fixture("good", &Fixture::stdio())], |config| {
        config.list_wait = wait;
    })
    .await;
    // The first call learns the tools of its own server only.
    let body = r#"{"server":"good","tool":"add","arguments":{"a":1,"b":2}}"#;
    assert_eq!(service.post("/call_tool", body).await.status, 200);
    let begin = std::time::Instant::now();
    let answer =
        execute(&service, json!({"provider": "gemini", "call": {"name": "add", "args": {"a": 1, "b": 2}}}))
            .await;
    assert_eq!((answer.status, answer.json()["code"].clone()), (200, Value::Null), "{}", answer.body);
    let answer = service.post("/call_tool", r#"{"tool":"add","arguments":{"a":1,"b":2}}"#).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(begin.elapsed() < wait, "the calls waited for the silent server");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_never_ran_are_logged_and_may_be_tried_again() {
    let service = Service::start().await;
    execute(&service, json!({"provider": "openai", "call": {"name": "nothing", "arguments": "{}"}})).await;
    let answer =
        execute(&service, json!({"provider": "openai", "call": {"name": "add", "arguments": "{\"a\":"}}))
            .await;
    assert_eq!(answer.status, 400);
    assert!(
        answer.body.contains("Invalid OpenAI function call: arguments field is not valid JSON"),
        "{}",
        answer.body
    );
    service.post("/call_tool", r#"{"server":"demo","tool":"nowhere","arguments":{}}"#).await;
    let logs = service.get("/logs").await.json();
    let rows: Vec<(&str, &str)> = logs
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["tool"].as_str().unwrap(), row["code"].as_str().unwrap()))
        .collect();
    assert_eq!(
        rows,
        [("nothing", "TOOL_NOT_FOUND"), ("add", "VALIDATION_ERROR"), ("nowhere", "TOOL_NOT_FOUND")]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_does_not_hold_on_to_a_failure_that_ran_nothing() {
    let mut server = Fixture::http().start().await.unwrap();
    let endpoint = Endpoint::Http {
        url: server.url().to_owned(),
        headers: std::collections::BTreeMap::new(),
        mode: gateway_upstream::HttpMode::Auto,
    };
    let mut spec = UpstreamSpec::new("far", endpoint);
    spec.restart.first = std::time::Duration::from_millis(10);
    let service = Service::with_servers(vec![spec], |_| {}).await;
    let body = r#"{"server":"far","tool":"add","arguments":{"a":1,"b":2}}"#;
    assert_eq!(service.post("/call_tool", body).await.status, 200);
    server.kill().await.unwrap();
    let headers = "content-type: application/json\r\nidempotency-key: k9\r\n";
    let refused = service.send("POST", "/call_tool", headers, body).await;
    assert_eq!((refused.status, refused.code().as_str()), (500, "CONNECTION_ERROR"), "{}", refused.body);
    server.restart().await.unwrap();
    let begin = std::time::Instant::now();
    loop {
        let answer = service.send("POST", "/call_tool", headers, body).await;
        if answer.status == 200 {
            break;
        }
        assert!(begin.elapsed() < std::time::Duration::from_secs(20), "{}", answer.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_in_the_query_chooses_the_dialect_and_a_turn_has_its_bound() {
    let service = Service::start().await;
    let call = json!({"call": {"name": "add", "args": {"a": 1, "b": 2}}});
    let answer = service.post("/execute?model=gemini-3-pro", &call.to_string()).await;
    assert_eq!(
        (answer.status, answer.json()["provider"].as_str().is_some_and(|name| name.starts_with("gemini"))),
        (200, true),
        "{}",
        answer.body
    );
    let many: Vec<Value> = (0..257).map(|_| json!({"name": "add", "args": {"a": 1, "b": 2}})).collect();
    let answer = execute(&service, json!({"provider": "gemini", "call": many})).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
}

/// A result without an id of its call gets one that no other result of the gateway has, in the provider's form.
#[tokio::test]
async fn generated_ids_differ_between_requests() {
    let service = Service::start().await;
    let message = r#"{"role":"assistant","tool_calls":[
        {"id":null,"type":"function","function":{"name":"get_value","arguments":"{\"key\":\"a\"}"}},
        {"type":"function","function":{"name":"get_value","arguments":"{\"key\":\"b\"}"}},
        {"id":"mine","type":"function","function":{"name":"get_value","arguments":"{\"key\":\"c\"}"}}]}"#;
    let mut all = Vec::new();
    for (provider, pattern) in [("openai-chat", "call_#########"), ("mistral", "#########")] {
        for _ in 0..2 {
            let body = format!(r#"{{"provider":"{provider}","call":{message}}}"#);
            let answer = service.post("/execute", &body).await.json();
            let ids = answer["messages"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["tool_call_id"].as_str().unwrap());
            let ids: Vec<String> = ids.map(str::to_owned).collect();
            assert_eq!((ids.len(), ids[2].as_str()), (3, "mine"), "{answer}");
            for id in &ids[..2] {
                let (head, digits) = id.split_at(id.len() - 9);
                assert!(digits.bytes().all(|digit| digit.is_ascii_alphanumeric()), "{id}");
                assert_eq!(format!("{head}#########"), pattern, "{id}");
                let reason = format!("the call has no id; its result is sent as `{id}`");
                let changes = answer["changes"].as_array().unwrap();
                assert!(changes.iter().any(|change| change["reason"] == reason), "{answer}");
            }
            all.extend(ids.into_iter().take(2));
        }
    }
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 8, "{all:?}");
}

/// Whoever hands on what is no JSON means the server to judge it; a registered tool has no judge but us.
#[tokio::test]
async fn raw_arguments_are_handed_on_unchecked() {
    let service = Service::start().await;
    let registry = service.running.gateway().registry().clone();
    let handler = Handler::function(|_| async { Ok(json!("ran")) });
    let schema = json!({"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]});
    registry.register(RegisteredTool::new("own", &json!({"inputSchema": schema}), handler).unwrap()).unwrap();
    let call = |tool: &str| {
        json!({"server": "*", "onBadArguments": "raw", "call": {"id": "c", "type": "function",
            "function": {"name": tool, "arguments": "{key: oops"}}})
    };
    let answer = service.post("/execute", &call("get_value").to_string()).await.json();
    // The demo's own words.
    assert_eq!(answer["code"], "TOOL_ERROR", "{answer}");
    assert!(answer["result"].to_string().contains("raw"), "{answer}");
    let answer = service.post("/execute", &call("own").to_string()).await.json();
    assert_eq!(answer["code"], "VALIDATION_ERROR", "{answer}");
}
