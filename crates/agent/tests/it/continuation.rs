//! Going on where a bound, or a model that gave no answer, stopped the loop.

use std::path::Path;

use gateway_agent::completions::{Completion, CompletionError};
use gateway_config::OnLimit;
use gateway_runtime::context::RequestContext;
use gateway_testkit::models::{Fault, ModelServer, Reply, Script, Wire};
use serde_json::{Value, json};

use crate::gateway::{Gateway, headers, joined, strict_model};

const SORRY: &str = "Sorry, this query requires too many steps.";

/// A sum, a product, and the answer.
fn script() -> Script {
    Script::new()
        .reply(Reply::new().text("A sum.").call("a1", "add", json!({"a": 15, "b": 27})))
        .reply(Reply::new().call("a2", "multiply", json!({"a": 42, "b": 3})))
        .reply(Reply::new().text("It is 126."))
}

/// A gateway that stops after so many rounds.
fn gateway(wire: Wire, server: &ModelServer, data: &Path, rounds: usize, on_limit: OnLimit) -> Gateway {
    Gateway::with(wire, server, |config| {
        config.data = Some(data.to_owned());
        config.agent.rounds = rounds;
        config.agent.on_limit = on_limit;
    })
}

fn request(messages: &Value, continuation: Option<&Value>, stream: bool) -> Value {
    let mut request = json!({"model": "m", "stream": stream, "messages": messages});
    if let Some(continuation) = continuation {
        request["gateway"] = json!({"continue": continuation});
    }
    request
}

fn first() -> Value {
    json!([{"role": "user", "content": "How much?"}])
}

/// What the caller sends when it goes on.
fn after(text: &str) -> Value {
    json!([{"role": "user", "content": "How much?"}, {"role": "assistant", "content": text},
        {"role": "user", "content": "Please go on."}])
}

/// The text and the continuation of an answer.
async fn stopped(gateway: &Gateway, request: &Value) -> (String, Value) {
    if request["stream"] == true {
        let chunks = gateway.streamed(request, None).await.unwrap();
        return (joined(&chunks, "content"), chunks.last().unwrap()["gateway"]["continuation"].clone());
    }
    let whole = gateway.whole(request, None).await.unwrap();
    let text = whole["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    (text, whole["gateway"]["continuation"].clone())
}

#[tokio::test]
async fn what_ran_before_a_bound_is_put_back_also_after_a_restart() {
    for wire in Wire::OF_AGENT.iter().copied() {
        for stream in [false, true] {
            let server = strict_model(wire, script()).await;
            let data = tempfile::tempdir().unwrap();
            let before = gateway(wire, &server, data.path(), 2, OnLimit::Message);
            let (text, continuation) = stopped(&before, &request(&first(), None, stream)).await;
            assert_eq!(text, format!("A sum.\n\n{SORRY}"), "{wire:?}");
            assert!(continuation.is_string(), "{wire:?} {stream}");
            before.runtime.close(std::time::Duration::ZERO).await;
            drop(before);

            let again = gateway(wire, &server, data.path(), 2, OnLimit::Message);
            let whole = again.whole(&request(&after(&text), Some(&continuation), false), None).await.unwrap();
            assert_eq!(whole["choices"][0]["message"]["content"], "It is 126.", "{wire:?}");
            assert_eq!(whole["gateway"]["calls"], json!([]), "{wire:?}: nothing ran twice");
            assert_eq!(whole["gateway"].get("continuation"), None, "{wire:?}: nothing to go on with");
            let sent = server.requests().pop().unwrap().body;
            assert_eq!(sent.get("gateway"), None, "{wire:?}: {sent}");
            let sent = sent.to_string();
            // The strict server has checked that every call has its result; here the order counts.
            let places = ["How much?", "A sum.", "126", "Please go on."].map(|part| sent.rfind(part));
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{wire:?}: {sent}");
            assert!(!sent.contains("Sorry"), "{wire:?}: {sent}");
        }
    }
}

#[tokio::test]
async fn the_error_of_a_bound_has_a_continuation_for_the_same_request() {
    for stream in [false, true] {
        let server = strict_model(Wire::Messages, script()).await;
        let data = tempfile::tempdir().unwrap();
        let gateway = gateway(Wire::Messages, &server, data.path(), 2, OnLimit::Error);
        let asked = request(&first(), None, stream);
        let error = if stream {
            gateway.streamed(&asked, None).await.map(drop).unwrap_err()
        } else {
            gateway.whole(&asked, None).await.map(drop).unwrap_err()
        };
        let body = error.body();
        let continuation = body["error"]["gateway"]["continuation"].as_str().unwrap().to_owned();
        assert_eq!(
            body["error"],
            json!({"message": "exceeded max turns (2)", "type": "server_error", "param": null,
                "code": "limit_exceeded", "gateway": {"continuation": continuation}})
        );
        // By the header, for clients that cannot add a member.
        let headers = headers([("x-gateway-continue", continuation.as_str())]);
        let asked = request(&first(), None, false).to_string();
        let answer = gateway.completions.complete(asked.into(), &headers, RequestContext::new(None)).await;
        let Ok(Completion::Whole(answer)) = answer else { panic!("no whole answer") };
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["choices"][0]["message"]["content"], "It is 126.");
        assert_eq!(gateway.calls(), 2, "nothing ran twice");
    }
}

#[tokio::test]
async fn several_bounds_in_a_row_need_only_the_last_continuation() {
    // Both stops say the same, so that each has to find its own text.
    let script = Script::new()
        .reply(Reply::new().call("a1", "add", json!({"a": 15, "b": 27})))
        .reply(Reply::new().call("a2", "multiply", json!({"a": 42, "b": 3})))
        .reply(Reply::new().text("It is 126."));
    let server = strict_model(Wire::Chat, script).await;
    let data = tempfile::tempdir().unwrap();
    let gateway = gateway(Wire::Chat, &server, data.path(), 1, OnLimit::Message);
    let (text, one) = stopped(&gateway, &request(&first(), None, false)).await;
    assert_eq!(text, SORRY);
    let mut messages = after(&text);
    let (text, two) = stopped(&gateway, &request(&messages, Some(&one), false)).await;
    assert_eq!(text, SORRY);
    let more = [json!({"role": "assistant", "content": text}), json!({"role": "user", "content": "And on."})];
    messages.as_array_mut().unwrap().extend(more);
    let whole = gateway.whole(&request(&messages, Some(&two), false), None).await.unwrap();
    assert_eq!(whole["choices"][0]["message"]["content"], "It is 126.");
    let sent = server.requests().pop().unwrap().body;
    let roles: Vec<&str> =
        sent["messages"].as_array().unwrap().iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user", "assistant", "tool", "user"]);
    assert_eq!(gateway.calls(), 2);
}

#[tokio::test]
async fn a_mixed_turn_after_a_continuation_keeps_it() {
    let script = Script::new()
        .reply(Reply::new().call("a1", "add", json!({"a": 15, "b": 27})))
        .reply(Reply::new().call("b1", "lookup", json!({"key": "x"})))
        .reply(Reply::new().text("Done."));
    let server = strict_model(Wire::Chat, script).await;
    let data = tempfile::tempdir().unwrap();
    let gateway = gateway(Wire::Chat, &server, data.path(), 1, OnLimit::Message);
    let (text, continuation) = stopped(&gateway, &request(&first(), None, false)).await;
    let mut messages = after(&text);
    let mut asked = request(&messages, Some(&continuation), false);
    asked["tools"] = json!([{"type": "function", "function": {"name": "lookup", "description": "Looks up",
        "parameters": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}}}]);
    let handed = gateway.whole(&asked, Some("auto")).await.unwrap()["choices"][0]["message"].clone();
    let result = json!({"role": "tool", "tool_call_id": handed["tool_calls"][0]["id"], "content": "found"});
    messages.as_array_mut().unwrap().extend([handed, result]);
    asked["messages"] = messages;
    asked.as_object_mut().unwrap().remove("gateway");
    assert_eq!(
        gateway.whole(&asked, Some("auto")).await.unwrap()["choices"][0]["message"]["content"],
        "Done."
    );
    let sent = server.requests().pop().unwrap().body;
    let roles: Vec<&str> =
        sent["messages"].as_array().unwrap().iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user", "assistant", "tool"], "{sent}");
}

#[tokio::test]
async fn a_model_that_fails_after_calls_ran_can_be_asked_again_without_them() {
    for stream in [false, true] {
        let script = Script::new()
            .reply(Reply::new().call("a1", "add", json!({"a": 15, "b": 27})))
            .fault(Fault::ServerError)
            .reply(Reply::new().text("It is 42."));
        let server = strict_model(Wire::GenerateContent, script).await;
        let gateway = Gateway::over(Wire::GenerateContent, &server);
        let asked = request(&first(), None, stream);
        let error = if stream {
            gateway.streamed(&asked, None).await.map(drop).unwrap_err()
        } else {
            gateway.whole(&asked, None).await.map(drop).unwrap_err()
        };
        let CompletionError::Interrupted { continuation, .. } = &error else { panic!("{error:?}") };
        let again = request(&first(), Some(&json!(continuation)), false);
        let whole = gateway.whole(&again, None).await.unwrap();
        assert_eq!(whole["choices"][0]["message"]["content"], "It is 42.");
        assert_eq!(gateway.calls(), 1, "nothing ran twice");
    }
}

#[tokio::test]
async fn continuations_of_others_and_changed_ones_are_refused() {
    let server = strict_model(Wire::Chat, script()).await;
    let data = tempfile::tempdir().unwrap();
    let gateway = gateway(Wire::Chat, &server, data.path(), 1, OnLimit::Message);
    let (text, continuation) = stopped(&gateway, &request(&first(), None, false)).await;
    let given = continuation.as_str().unwrap();
    let end = if given.ends_with('A') { "B" } else { "A" };
    let changed = format!("{}{end}", &given[..given.len() - 1]);
    let cases = [(given, Some("somebody else")), (&changed, None), ("", None), ("continue_gw_", None)];
    for (continuation, caller) in cases {
        let asked = request(&after(&text), Some(&json!(continuation)), false);
        let error = gateway.complete(&asked, None, caller).await.map(drop).unwrap_err();
        assert!(
            matches!(&error, CompletionError::Request(bad) if bad.param.as_deref() == Some("gateway")),
            "{error}"
        );
    }
    assert_eq!(server.requests().len(), 1, "the model was not asked");
}
