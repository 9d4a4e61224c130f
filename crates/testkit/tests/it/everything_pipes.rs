//! The server that offers everything, over stdio and HTTP+SSE.

use gateway_testkit::Fixture;
use serde_json::{Value, json};

use crate::talk::{Talk, call, cancelled, initialize, initialized, modern, request};
use crate::talk_http::{KINDS, try_send};

fn opening() -> Value {
    let mut opening = initialize(0);
    opening["params"]["capabilities"] = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    opening
}

async fn open() -> Talk {
    let mut talk = Talk::start(&Fixture::stdio().everything());
    let answer = talk.ask(&opening()).await;
    assert!(answer["result"]["capabilities"]["completions"].is_object(), "{answer}");
    talk.send(&initialized()).await;
    talk
}

#[tokio::test]
async fn a_legacy_client_is_asked_between_the_lines() {
    let mut talk = open().await;
    let call = call(1, "test_input_required_result_multiple_inputs", &json!({}));
    let mut asked = talk.ask(&call).await;
    let answers = [
        ("elicitation/create", json!({"action": "accept", "content": {"name": "Ann"}})),
        ("sampling/createMessage", json!({"role": "assistant", "content": {"type": "text", "text": "Hi"}})),
        ("roots/list", json!({"roots": []})),
    ];
    for (method, result) in answers {
        assert_eq!(asked["method"], method);
        // Waiting for an answer does not block other requests.
        assert_eq!(talk.ask(&request(9, "ping", &json!({}))).await["id"], 9);
        asked = talk.ask(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})).await;
    }
    assert_eq!(asked["result"]["content"][0]["text"], "Name: Ann; greeting: Hi; roots: []");
}

#[tokio::test]
async fn a_cancelled_call_stops_asking() {
    let mut talk = open().await;
    let asked = talk.ask(&call(1, "test_input_required_result_multi_round", &json!({}))).await;
    assert_eq!(asked["method"], "elicitation/create");
    let cancel = cancelled(1);
    talk.send(&cancel).await;
    let late = json!({"action": "accept", "content": {"name": "Ann"}});
    talk.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": late})).await;
    assert!(talk.is_silent().await);
}

#[tokio::test]
async fn a_modern_client_is_asked_by_the_result_and_hears_of_changes() {
    let mut talk = Talk::start(&Fixture::stdio().everything());
    let found = talk.ask(&modern(request(1, "server/discover", &json!({})))).await;
    let extensions = &found["result"]["capabilities"]["extensions"];
    assert!(extensions["io.modelcontextprotocol/tasks"].is_object(), "{found}");
    let mut message = call(2, "test_input_required_result_list_roots", &json!({}));
    message["params"]["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": {"roots": {}}});
    let first = talk.ask(&modern(message)).await;
    assert_eq!(first["result"]["inputRequests"]["client_roots"]["method"], "roots/list");

    let filter = json!({"notifications": {"toolsListChanged": true}});
    let received = talk.ask(&modern(request(3, "subscriptions/listen", &filter))).await;
    assert_eq!(received["method"], "notifications/subscriptions/acknowledged");
    let received = talk.ask(&modern(call(4, "test_trigger_tool_change", &json!({})))).await;
    assert_eq!(received["method"], "notifications/tools/list_changed");
    assert_eq!(talk.message().await["id"], 4);
}

#[tokio::test]
async fn a_client_of_the_oldest_transport_is_asked_on_its_stream() {
    let server = Fixture::sse().everything().start().await.unwrap();
    let mut stream = try_send(&server, "GET", "/sse", &[("accept", "text/event-stream")], "").await.unwrap();
    let (_, endpoint) = stream.next_event().await.unwrap();
    let send = async |message: Value| {
        let answer = try_send(&server, "POST", &endpoint, &KINDS, &message.to_string()).await.unwrap();
        assert_eq!(answer.status, 202);
    };
    send(opening()).await;
    send(initialized()).await;
    assert_eq!(stream.next_message().await["id"], 0);
    send(call(1, "test_sampling", &json!({"prompt": "Who?"}))).await;
    let asked = stream.next_message().await;
    assert_eq!(asked["params"]["messages"][0]["content"]["text"], "Who?");
    let said = json!({"role": "assistant", "content": {"type": "text", "text": "Me"}, "model": "m"});
    send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": said})).await;
    assert_eq!(stream.next_message().await["result"]["content"][0]["text"], "LLM response: Me");
}

#[tokio::test]
async fn a_held_call_is_known_to_be_cancelled() {
    let mut talk = open().await;
    talk.send(&call(1, "test_held_call", &json!({"label": "a"}))).await;
    let news = |id, state| call(id, "test_await_held_call", &json!({"label": "a", "state": state}));
    let begun = talk.ask(&news(2, "begun")).await;
    assert_eq!(begun["result"]["content"][0]["text"], "a has begun");
    talk.send(&news(3, "cancelled")).await;
    let cancel = cancelled(1);
    talk.send(&cancel).await;
    let cancelled = talk.message().await;
    assert_eq!(cancelled["id"], 3, "who was cancelled is not answered");
    assert_eq!(cancelled["result"]["content"][0]["text"], "a was cancelled");
}
