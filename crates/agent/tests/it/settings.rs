//! Settings of a request beside the gateway's tools.

use gateway_testkit::models::{ModelServer, Reply, Script, Wire};
use serde_json::{Value, json};

use crate::gateway::{Gateway, joined, question};

fn settings() -> Value {
    json!({
        "response_format": {"type": "json_schema", "json_schema": {"name": "sum", "schema": {"type": "object"}}},
        "stop": ["\n\n"], "parallel_tool_calls": false, "store": true,
        "metadata": {"team": "a"}, "seed": 7, "user": "u", "service_tier": "flex", "reasoning_effort": "low",
        "max_completion_tokens": 100, "logit_bias": {"50256": -100}, "safety_identifier": "s", "new_member": {"a": [1]},
    })
}

#[tokio::test]
async fn they_are_passed_on_as_they_came_but_one_answer_is_asked_for() {
    for stream in [false, true] {
        let script = Script::new()
            .reply(Reply::new().call("c1", "add", json!({"a": 15, "b": 27})))
            .reply(Reply::new().text("{\"sum\":42}"));
        let server = ModelServer::start(Wire::Chat, script).await.unwrap();
        let gateway = Gateway::over(Wire::Chat, &server);
        let mut request = question(stream);
        let members = request.as_object_mut().unwrap();
        members.extend(settings().as_object().unwrap().clone());
        members.insert("n".to_owned(), 3.into());
        members.insert("logprobs".to_owned(), true.into());
        members.insert("top_logprobs".to_owned(), 2.into());
        let (text, mut own) = if stream {
            let mut chunks = gateway.streamed(&request, None).await.unwrap();
            (joined(&chunks, "content"), chunks.pop().unwrap()["gateway"].take())
        } else {
            let mut whole = gateway.whole(&request, None).await.unwrap();
            let text = whole["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
            (text, whole["gateway"].take())
        };
        assert_eq!(
            (text.as_str(), own["ignored"].take()),
            ("{\"sum\":42}", json!(["n", "logprobs", "top_logprobs"]))
        );
        for request in server.requests() {
            for left_out in ["n", "logprobs", "top_logprobs"] {
                assert_eq!(request.body.get(left_out), None, "{left_out}");
            }
            for (key, value) in settings().as_object().unwrap() {
                assert_eq!(request.body.get(key), Some(value), "{key}");
            }
        }
    }
}

#[tokio::test]
async fn one_answer_that_is_asked_for_by_number_is_sent_so() {
    let server = ModelServer::start(Wire::Chat, Script::new().last(Reply::new().text("42."))).await.unwrap();
    let mut request = question(false);
    request["n"] = 1.into();
    let whole = Gateway::over(Wire::Chat, &server).whole(&request, None).await.unwrap();
    assert_eq!(whole["gateway"].get("ignored"), None);
    assert_eq!(server.requests()[0].body["n"], 1);
}

#[tokio::test]
async fn no_api_refuses_a_request_because_of_them() {
    for wire in Wire::OF_AGENT.iter().copied() {
        let server = ModelServer::start(wire, Script::new().last(Reply::new().text("42."))).await.unwrap();
        let mut request = question(false);
        request.as_object_mut().unwrap().extend(settings().as_object().unwrap().clone());
        let whole = Gateway::over(wire, &server).whole(&request, None).await;
        assert_eq!(whole.unwrap()["choices"][0]["message"]["content"], "42.", "{wire:?}");
    }
}
