//! Tools that the caller brings: as calls in text, as functions, as custom tools, and with signatures.

use gateway_agent::completions::Completion;
use gateway_config::ServiceConfig;
use gateway_testkit::models::{ModelServer, Reply, Script, Step, Wire};
use serde_json::{Value, json};

use crate::gateway::{Gateway, spec, strict_model};

fn tool(name: &str, parameters: &Value) -> Value {
    json!({"type": "function", "function": {"name": name, "description": "The caller's", "parameters": parameters}})
}

fn look() -> Value {
    tool("look", &json!({"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}))
}

fn request(tools: &Value) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": "Go"}], "tools": tools})
}

/// A gateway over a model that writes calls as text.
fn writing(wire: Wire, server: &ModelServer) -> Gateway {
    let mut entry = spec("m", wire, server);
    entry.text = Some(vec!["auto".to_owned()]);
    let mut config = ServiceConfig::default();
    config.models = vec![entry];
    Gateway::new(config)
}

fn written(name: &str, arguments: &Value) -> Reply {
    Reply::new().text(json!({"name": name, "arguments": arguments}).to_string())
}

/// The calls that the caller is handed, as names and arguments.
fn handed(whole: &Value) -> Vec<(String, Value)> {
    let calls = whole["choices"][0]["message"]["tool_calls"].as_array().cloned().unwrap_or_default();
    let read = |call: &Value| {
        let arguments = call["function"]["arguments"].as_str().unwrap();
        let name = call["function"]["name"].as_str().unwrap();
        (name.to_owned(), serde_json::from_str(arguments).unwrap())
    };
    calls.iter().map(read).collect()
}

#[tokio::test]
async fn a_call_in_the_text_of_the_callers_tool_is_handed_back() {
    for wire in [Wire::Chat, Wire::Messages, Wire::Ollama] {
        for tools in [Some("auto"), Some("none")] {
            if (wire, tools) == (Wire::Chat, Some("none")) {
                // That is the transparent proxy.
                continue;
            }
            let script = Script::new().reply(written("look", &json!({"key": "x"})));
            let server = ModelServer::start(wire, script).await.unwrap();
            let whole = writing(wire, &server).whole(&request(&json!([look()])), tools).await.unwrap();
            assert_eq!(handed(&whole), [("look".to_owned(), json!({"key": "x"}))], "{wire:?}: {whole}");
            assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls");
            assert_eq!(whole["choices"][0]["message"]["content"], Value::Null);
        }
    }
}

#[tokio::test]
async fn in_a_clash_a_call_in_the_text_is_measured_by_the_callers_schema() {
    let own =
        tool("add", &json!({"type": "object", "properties": {"z": {"type": "integer"}}, "required": ["z"]}));
    for wire in [Wire::Chat, Wire::Messages] {
        let script = Script::new()
            .reply(written("gateway__add", &json!({"a": 1, "b": 2})))
            .reply(written("add", &json!({"z": 5})));
        let server = ModelServer::start(wire, script).await.unwrap();
        let whole = writing(wire, &server).whole(&request(&json!([own])), Some("auto")).await.unwrap();
        assert_eq!(whole["gateway"]["calls"][0]["tool"], "add", "{wire:?}: {whole}");
        assert_eq!(handed(&whole), [("add".to_owned(), json!({"z": 5}))], "{wire:?}: {whole}");
    }
}

#[tokio::test]
async fn a_tool_of_the_caller_that_reads_results_is_the_callers() {
    let own = tool("read_result", &json!({"type": "object", "properties": {"path": {"type": "string"}}}));
    let long = "x".repeat(100_000);
    let script = Script::new()
        .reply(Reply::new().call("c1", "echo", json!({"message": long})))
        .reply(Reply::new().call("c2", "read_result", json!({"path": "p"})));
    let server = ModelServer::start(Wire::Chat, script).await.unwrap();
    let gateway = Gateway::over(Wire::Chat, &server);
    let whole = gateway.whole(&request(&json!([own])), Some("auto")).await.unwrap();
    assert_eq!(handed(&whole), [("read_result".to_owned(), json!({"path": "p"}))], "{whole}");
    let names: Vec<String> = server.requests()[1].tools().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names.iter().filter(|name| *name == "read_result").count(), 1);
}

#[tokio::test]
async fn functions_are_answered_as_functions_streamed_and_not() {
    let function = look()["function"].take();
    for wire in [Wire::Chat, Wire::Messages] {
        for stream in [false, true] {
            let script = Script::new().last(Reply::new().call("c1", "look", json!({"key": "x"})));
            let server = strict_model(wire, script).await;
            let mut asked = request(&json!(null));
            asked["functions"] = json!([function]);
            asked["stream"] = stream.into();
            let gateway = Gateway::over(wire, &server);
            let (call, reason) = if stream {
                let chunks = gateway.streamed(&asked, Some("auto")).await.unwrap();
                let delta = |key: &str| {
                    chunks
                        .iter()
                        .map(|chunk| &chunk["choices"][0]["delta"][key])
                        .find(|value| !value.is_null())
                };
                assert_eq!(delta("tool_calls"), None, "{wire:?}");
                let reasons = chunks.iter().map(|chunk| &chunk["choices"][0]["finish_reason"]);
                (delta("function_call").cloned(), reasons.clone().find(|reason| !reason.is_null()).cloned())
            } else {
                let choice = gateway.whole(&asked, Some("auto")).await.unwrap()["choices"][0].take();
                (choice["message"].get("function_call").cloned(), choice.get("finish_reason").cloned())
            };
            let expected = json!({"name": "look", "arguments": "{\"key\":\"x\"}"});
            assert_eq!((call, reason), (Some(expected), Some(json!("function_call"))), "{wire:?} {stream}");
        }
    }
}

/// A `function_call` has no id to come back with, so that a turn in which tools ran here has `tool_calls`.
#[tokio::test]
async fn a_mixed_turn_of_functions_comes_back_whole() {
    let mixed =
        Reply::new().call("a1", "add", json!({"a": 1, "b": 2})).call("b1", "look", json!({"key": "x"}));
    let server = strict_model(Wire::Chat, Script::new().reply(mixed).last(Reply::new().text("Done."))).await;
    let gateway = Gateway::over(Wire::Chat, &server);
    let mut asked = request(&json!(null));
    asked["functions"] = json!([look()["function"]]);
    let first = gateway.whole(&asked, Some("auto")).await.unwrap();
    let message = first["choices"][0]["message"].clone();
    let id = &message["tool_calls"][0]["id"];
    assert!(id.as_str().unwrap().starts_with("call_gw_"), "{first}");
    let result = json!({"role": "tool", "tool_call_id": id, "content": "found"});
    asked["messages"] = json!([asked["messages"][0], message, result]);
    gateway.whole(&asked, Some("auto")).await.unwrap();
    let sent = server.requests().pop().unwrap().body["messages"].take();
    let roles: Vec<&str> =
        sent.as_array().unwrap().iter().map(|said| said["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
}

#[tokio::test]
async fn choices_that_the_gateway_does_not_know_reach_the_api() {
    let choices = [
        json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "look"}}]}}),
        json!({"type": "custom", "custom": {"name": "sql"}}),
    ];
    for choice in choices {
        for tools in ["none", "auto"] {
            let server =
                ModelServer::start(Wire::Chat, Script::new().last(Reply::new().text("Ok."))).await.unwrap();
            let mut asked = request(&json!([look()]));
            asked["tool_choice"] = choice.clone();
            Gateway::over(Wire::Chat, &server).whole_or_proxied(&asked, Some(tools)).await;
            assert_eq!(server.requests()[0].body["tool_choice"], choice, "{tools}");
        }
        let server = strict_model(Wire::Messages, Script::new().last(Reply::new().text("Ok."))).await;
        let mut asked = request(&json!([look()]));
        asked["tool_choice"] = choice;
        let whole = Gateway::over(Wire::Messages, &server).whole(&asked, Some("auto")).await.unwrap();
        assert_eq!(whole["gateway"]["ignored"], json!(["tool_choice"]));
    }
}

#[tokio::test]
async fn a_custom_tool_comes_back_to_its_caller() {
    let custom = json!({"type": "custom", "custom": {"name": "sql", "description": "Runs SQL"}});
    let call = json!({"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}});
    let whole = json!({"id": "x", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": "tool_calls",
        "message": {"role": "assistant", "content": null, "tool_calls": [call]}}]});
    let chunk = |delta: Value, reason: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        format!("data: {}\n\n", json!({"id": "x", "object": "chat.completion.chunk", "choices": [choice]}))
    };
    let streamed = [
        chunk(
            json!({"tool_calls": [{"index": 0, "id": "c1", "type": "custom", "custom": {"name": "sql", "input": ""}}]}),
            None,
        ),
        chunk(json!({"tool_calls": [{"index": 0, "custom": {"input": "SELECT"}}]}), None),
        chunk(json!({"tool_calls": [{"index": 0, "custom": {"input": " 1"}}]}), None),
        chunk(json!({}), Some("tool_calls")),
        "data: [DONE]\n\n".to_owned(),
    ];
    for (stream, step) in [
        (false, Step::raw(200, "application/json", whole.to_string())),
        (true, Step::raw(200, "text/event-stream", streamed.concat())),
    ] {
        let server = ModelServer::start(Wire::Chat, Script::new().last(step)).await.unwrap();
        let gateway = Gateway::over(Wire::Chat, &server);
        let mut asked = request(&json!([custom]));
        asked["stream"] = stream.into();
        let mut found = if stream {
            let chunks = gateway.streamed(&asked, Some("auto")).await.unwrap();
            chunks
                .iter()
                .find_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].get(0).cloned())
                .unwrap()
        } else {
            gateway.whole(&asked, Some("auto")).await.unwrap()["choices"][0]["message"]["tool_calls"][0]
                .take()
        };
        found.as_object_mut().unwrap().remove("index");
        assert_eq!(found, call, "{stream}");
        assert_eq!(gateway.calls(), 0);
    }
}

#[tokio::test]
async fn the_signature_of_a_call_is_sent_back_to_the_api() {
    let extra = json!({"google": {"thought_signature": "c2lnbg=="}});
    let call = json!({"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}, "extra_content": extra});
    let reply = json!({"id": "x", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": "tool_calls",
        "message": {"role": "assistant", "content": null, "tool_calls": [call]}}]});
    let script = Script::new()
        .step(Step::raw(200, "application/json", reply.to_string()))
        .last(Reply::new().text("Done."));
    let server = ModelServer::start(Wire::Chat, script).await.unwrap();
    let gateway = Gateway::over(Wire::Chat, &server);
    let mut asked = request(&json!([look()]));
    let first = gateway.whole(&asked, Some("auto")).await.unwrap();
    let given = &first["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(given["extra_content"], extra, "{first}");
    let result = json!({"role": "tool", "tool_call_id": given["id"], "content": "found"});
    let said = json!({"role": "assistant", "content": null, "tool_calls": [given]});
    asked["messages"] = json!([asked["messages"][0], said, result]);
    gateway.whole(&asked, Some("auto")).await.unwrap();
    let sent = server.requests().pop().unwrap().body;
    assert_eq!(sent["messages"][1]["tool_calls"][0]["extra_content"], extra, "{sent}");
    assert_eq!(sent["messages"][1]["tool_calls"][0]["id"], "c1");
}

#[tokio::test]
async fn an_id_that_looks_like_ours_does_not_lock_the_history() {
    let reply = Reply::new().call("call_gw_abc", "look", json!({"key": "x"}));
    let server = strict_model(Wire::Chat, Script::new().reply(reply).last(Reply::new().text("Done."))).await;
    let gateway = Gateway::over(Wire::Chat, &server);
    let mut asked = request(&json!([look()]));
    let first = gateway.whole(&asked, Some("auto")).await.unwrap();
    let message = first["choices"][0]["message"].clone();
    let id = message["tool_calls"][0]["id"].clone();
    assert_ne!(id, "call_gw_abc");
    let result = json!({"role": "tool", "tool_call_id": id, "content": "found"});
    asked["messages"] = json!([asked["messages"][0], message, result]);
    let second = gateway.whole(&asked, Some("auto")).await.unwrap();
    assert_eq!(second["choices"][0]["message"]["content"], "Done.");
    assert_eq!(server.requests()[1].body["messages"][1]["tool_calls"][0]["id"], "call_gw_abc");
}

#[tokio::test]
async fn a_model_that_takes_functions_gets_them_with_none_of_ours_too() {
    let server = strict_model(Wire::Functions, Script::new().last(Reply::new().text("Ok."))).await;
    let gateway = Gateway::over(Wire::Functions, &server);
    let answer = gateway.complete(&request(&json!([look()])), Some("none"), None).await.unwrap();
    assert!(matches!(answer, Completion::Whole(_)));
    let sent = server.requests().pop().unwrap().body;
    assert_eq!((&sent["functions"][0]["name"], sent.get("tools")), (&json!("look"), None), "{sent}");
}
