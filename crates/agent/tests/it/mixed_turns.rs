//! Turns with calls of the gateway's tools and of the caller's.

use gateway_agent::completions::CompletionError;
use gateway_testkit::models::{ModelServer, Reply, Script, Wire};
use serde_json::{Value, json};

use crate::gateway::{Gateway, strict_model};

fn lookup() -> Value {
    json!({"type": "function", "function": {"name": "lookup", "description": "Looks up",
        "parameters": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}}})
}

fn request(messages: &Value, stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "messages": messages, "tools": [lookup()]})
}

/// Ours, the caller's and ours again in one reply; then an answer.
fn script() -> Script {
    let mixed = Reply::new()
        .text("Three calls.")
        .call("a1", "add", json!({"a": 1, "b": 2}))
        .call("b1", "lookup", json!({"key": "x"}))
        .call("a2", "multiply", json!({"a": 3, "b": 4}));
    Script::new()
        .reply(Reply::new().call("a0", "add", json!({"a": 20, "b": 2})))
        .reply(mixed)
        .reply(Reply::new().text("Done."))
}

/// What the caller sends when it comes back.
fn with_result(call: &Value, result: &str) -> Value {
    json!([
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": "Three calls.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": result},
    ])
}

#[tokio::test]
async fn ours_run_once_and_are_put_back_also_after_a_restart() {
    for wire in Wire::OF_AGENT.iter().copied().filter(|wire| *wire != Wire::Functions) {
        for stream in [false, true] {
            let server = strict_model(wire, script()).await;
            let data = tempfile::tempdir().unwrap();
            let gateway = Gateway::over_with_data(wire, &server, data.path());
            let first = request(&json!([{"role": "user", "content": "Go"}]), stream);
            let call = if stream {
                let chunks = gateway.streamed(&first, Some("auto")).await.unwrap();
                let calls: Vec<&Value> = chunks
                    .iter()
                    .filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].as_array())
                    .flatten()
                    .collect();
                assert_eq!(calls.len(), 1, "{wire:?}: the caller sees only its own");
                let mut call = calls[0].clone();
                call.as_object_mut().unwrap().remove("index");
                let reason = chunks.iter().find_map(|chunk| chunk["choices"][0]["finish_reason"].as_str());
                assert_eq!(reason, Some("tool_calls"));
                call
            } else {
                let whole = gateway.whole(&first, Some("auto")).await.unwrap();
                let choice = &whole["choices"][0];
                assert_eq!(choice["finish_reason"], "tool_calls", "{wire:?} {whole}");
                let calls = choice["message"]["tool_calls"].as_array().unwrap();
                assert_eq!(calls.len(), 1, "{wire:?}: the caller sees only its own");
                assert_eq!(whole["gateway"]["calls"].as_array().unwrap().len(), 3);
                calls[0].clone()
            };
            assert_eq!(call["function"]["name"], "lookup");
            assert_eq!(
                serde_json::from_str::<Value>(call["function"]["arguments"].as_str().unwrap()).unwrap(),
                json!({"key": "x"})
            );
            gateway.runtime.close(std::time::Duration::ZERO).await;
            drop(gateway);

            let again = Gateway::over_with_data(wire, &server, data.path());
            let second = request(&with_result(&call, "found-it"), false);
            let whole = again.whole(&second, Some("auto")).await.unwrap();
            assert_eq!(whole["choices"][0]["message"]["content"], "Done.", "{wire:?}");
            assert_eq!(whole["gateway"]["calls"], json!([]), "nothing ran twice");
            // The strict server has checked that every call has its result; here the order of the results counts.
            let last = server.requests().last().unwrap().body.to_string();
            let (sum, found, product) = (last.find("22"), last.rfind("found-it"), last.rfind("12"));
            assert!(sum.is_some() && found.is_some() && product.is_some(), "{wire:?}: {last}");
            assert!(sum < found && found < product, "{wire:?}: {last}");
            assert!(!last.contains("call_gw_"), "{wire:?}: our ids stay here: {last}");
        }
    }
}

#[tokio::test]
async fn changed_ids_and_those_of_others_are_refused_and_foreign_ones_pass() {
    let server = strict_model(Wire::Chat, script().last(Reply::new().text("Hm."))).await;
    let gateway = Gateway::over(Wire::Chat, &server);
    let first = request(&json!([{"role": "user", "content": "Go"}]), false);
    let whole = gateway.whole(&first, Some("auto")).await.unwrap();
    let call = whole["choices"][0]["message"]["tool_calls"][0].clone();
    let id = call["id"].as_str().unwrap();
    let mut changed = call.clone();
    let end = if id.ends_with('A') { "B" } else { "A" };
    changed["id"] = format!("{}{end}", &id[..id.len() - 1]).into();
    for (call, caller) in [(&changed, None), (&call, Some("somebody else"))] {
        let second = request(&with_result(call, "found"), false);
        let error = gateway.complete(&second, Some("auto"), caller).await.map(drop).unwrap_err();
        assert!(
            matches!(&error, CompletionError::Request(bad) if bad.param.as_deref() == Some("messages")),
            "{error}"
        );
    }
    // A result under a signed id whose call is not there.
    let stray = request(
        &json!([{"role": "user", "content": "Go"}, {"role": "assistant", "content": "x", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": changed["id"], "content": "y"}]),
        false,
    );
    assert!(matches!(gateway.whole(&stray, Some("auto")).await, Err(CompletionError::Request(_))));
    let mut foreign = call.clone();
    foreign["id"] = "call_abc".into();
    let second = request(&with_result(&foreign, "found"), false);
    assert_eq!(
        gateway.whole(&second, Some("auto")).await.unwrap()["choices"][0]["message"]["content"],
        "Done."
    );
}

#[tokio::test]
async fn the_callers_name_wins_and_ours_has_a_prefix() {
    let own = json!({"type": "function", "function": {"name": "add", "description": "The caller's",
        "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}});
    for wire in Wire::OF_AGENT.iter().copied() {
        let script = Script::new()
            .reply(Reply::new().call("c1", "gateway__add", json!({"a": 1, "b": 2})))
            .reply(Reply::new().call("c2", "add", json!({"x": 5})));
        let server = strict_model(wire, script).await;
        let gateway = Gateway::over(wire, &server);
        let request = json!({"model": "m", "messages": [{"role": "user", "content": "Go"}], "tools": [own]});
        let whole = gateway.whole(&request, Some("auto")).await.unwrap();
        assert_eq!(whole["gateway"]["calls"][0]["tool"], "add", "{wire:?}: {whole}");
        let call = &whole["choices"][0]["message"]["tool_calls"][0]["function"];
        assert_eq!((&call["name"], &call["arguments"]), (&json!("add"), &json!("{\"x\":5}")), "{wire:?}");
    }
}

#[tokio::test]
async fn a_tool_of_the_caller_that_is_called_like_ours_for_long_results_stays_the_callers() {
    let long = "x".repeat(1_000);
    let script = Script::new()
        .reply(Reply::new().call("a1", "store_value", json!({"key": "k", "value": long})))
        .reply(Reply::new().call("a2", "get_value", json!({"key": "k"})))
        .reply(Reply::new().call("b1", "read_result", json!({"id": "mine"})));
    let server = strict_model(Wire::Chat, script).await;
    let gateway = Gateway::with(Wire::Chat, &server, |config| config.agent.result_characters = 200);
    let read_result = json!({"type": "function", "function": {"name": "read_result", "description": "Reads",
        "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}}});
    let messages = json!([{"role": "user", "content": "Go"}]);
    let request = json!({"model": "m", "messages": messages, "tools": [read_result]});
    let whole = gateway.whole(&request, Some("auto")).await.unwrap();
    let called = &whole["choices"][0]["message"]["tool_calls"];
    assert_eq!(called[0]["function"], json!({"name": "read_result", "arguments": "{\"id\":\"mine\"}"}));
    let last = server.requests().pop().unwrap();
    let named = last.tools().iter().filter(|tool| tool.name == "read_result").count();
    assert_eq!(named, 1, "{}", last.body["tools"]);
}

/// The caller's part of a reply with many calls, and what the model is sent when it comes back.
async fn there_and_back(server: &ModelServer, message: Option<Value>) -> Value {
    let gateway = Gateway::over(Wire::Chat, server);
    let mut asked = request(&json!([{"role": "user", "content": "Go"}]), false);
    let first = gateway.whole(&asked, Some("auto")).await.unwrap();
    let given = first["choices"][0]["message"].clone();
    let calls = given["tool_calls"].as_array().unwrap().clone();
    let results = calls.iter().enumerate().map(
        |(index, call)| json!({"role": "tool", "tool_call_id": call["id"], "content": format!("r{index}")}),
    );
    let mut messages = vec![asked["messages"][0].clone(), message.unwrap_or(given)];
    messages.extend(results);
    asked["messages"] = messages.into();
    gateway.whole(&asked, Some("auto")).await.unwrap();
    server.requests().pop().unwrap().body["messages"].take()
}

#[tokio::test]
async fn each_of_many_calls_has_an_id_of_its_own() {
    let mut reply = Reply::new().call("a1", "add", json!({"a": 1, "b": 2}));
    for index in 0..300 {
        reply = reply.call(format!("b{index}"), "lookup", json!({"key": format!("{index}")}));
    }
    let script = Script::new().reply(reply).last(Reply::new().text("Done."));
    let server = strict_model(Wire::Chat, script).await;
    let sent = there_and_back(&server, None).await;
    for (index, message) in sent.as_array().unwrap().iter().skip(3).enumerate() {
        let expected = (format!("b{index}"), format!("r{index}"));
        let found = (message["tool_call_id"].as_str().unwrap(), message["content"].as_str().unwrap());
        assert_eq!(found, (expected.0.as_str(), expected.1.as_str()));
    }
    assert_eq!(sent.as_array().unwrap().len(), 303);
}

/// A value of the store has a largest size, and a turn need not fit into one.
#[tokio::test]
async fn a_long_turn_is_kept_too() {
    let long = "x".repeat(700_000);
    let reply = Reply::new()
        .call("a1", "add", json!({"a": 1, "b": 2}))
        .call("b1", "lookup", json!({"key": long}))
        .call("b2", "lookup", json!({"key": long}));
    let script = Script::new().reply(reply).last(Reply::new().text("Done."));
    let server = ModelServer::start(Wire::Chat, script).await.unwrap();
    let short =
        |id: &Value| json!({"id": id, "type": "function", "function": {"name": "lookup", "arguments": "{}"}});
    let gateway = Gateway::over(Wire::Chat, &server);
    let mut asked = request(&json!([{"role": "user", "content": "Go"}]), false);
    let first = gateway.whole(&asked, Some("auto")).await.unwrap();
    let ids: Vec<&Value> = first["choices"][0]["message"]["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| &call["id"])
        .collect();
    let result = |id: &Value| json!({"role": "tool", "tool_call_id": id, "content": "found"});
    let said = json!({"role": "assistant", "tool_calls": [short(ids[0]), short(ids[1])]});
    asked["messages"] = json!([asked["messages"][0], said, result(ids[0]), result(ids[1])]);
    gateway.whole(&asked, Some("auto")).await.unwrap();
    let sent = server.requests().pop().unwrap().body;
    let arguments: Value =
        serde_json::from_str(sent["messages"][1]["tool_calls"][2]["function"]["arguments"].as_str().unwrap())
            .unwrap();
    assert_eq!(arguments["key"].as_str().map(str::len), Some(long.len()));
}

/// An id is short, and the turn behind it need not be.
#[tokio::test]
async fn what_is_put_back_into_one_request_has_a_bound() {
    let long = "x".repeat(900_000);
    let reply =
        Reply::new().call("a1", "add", json!({"a": 1, "b": 2})).call("b1", "lookup", json!({"key": long}));
    let server = ModelServer::start(Wire::Chat, Script::new().last(reply)).await.unwrap();
    let gateway = Gateway::over(Wire::Chat, &server);
    let mut messages = vec![json!({"role": "user", "content": "Go"})];
    let asked = request(&json!(messages), false);
    for _ in 0..10 {
        let first = gateway.whole(&asked, Some("auto")).await.unwrap();
        let id = first["choices"][0]["message"]["tool_calls"][0]["id"].clone();
        let call = json!({"id": id, "type": "function", "function": {"name": "lookup", "arguments": "{}"}});
        messages.push(json!({"role": "assistant", "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": "found"}));
    }
    let error = gateway.whole(&request(&json!(messages), false), Some("auto")).await.map(drop).unwrap_err();
    assert!(error.to_string().contains("more than 8 MiB"), "{error}");
    assert!(matches!(error, CompletionError::Request(_)));
}

#[tokio::test]
async fn the_calls_of_one_turn_may_come_back_as_several_messages() {
    let reply = Reply::new()
        .call("a1", "add", json!({"a": 1, "b": 2}))
        .call("b1", "lookup", json!({"key": "x"}))
        .call("b2", "lookup", json!({"key": "y"}));
    let server = strict_model(Wire::Chat, Script::new().reply(reply).last(Reply::new().text("Done."))).await;
    let gateway = Gateway::over(Wire::Chat, &server);
    let mut asked = request(&json!([{"role": "user", "content": "Go"}]), false);
    let first = gateway.whole(&asked, Some("auto")).await.unwrap();
    let calls = first["choices"][0]["message"]["tool_calls"].as_array().unwrap().clone();
    let mut messages = vec![asked["messages"][0].clone()];
    for call in &calls {
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "found"}));
    }
    asked["messages"] = messages.into();
    gateway.whole(&asked, Some("auto")).await.unwrap();
    let sent = server.requests().pop().unwrap().body["messages"].take();
    let ids: Vec<&str> =
        sent.as_array().unwrap().iter().filter_map(|said| said["tool_call_id"].as_str()).collect();
    assert_eq!(ids, ["a1", "b1", "b2"]);
}
