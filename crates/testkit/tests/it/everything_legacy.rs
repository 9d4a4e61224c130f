//! The server that offers everything, in the legacy era over Streamable HTTP.

use gateway_testkit::{Fixture, RunningFixture, SpokenEra};
use serde_json::{Value, json};

use crate::talk::{call, initialize, request};
use crate::talk_http::{Answer, HttpSession, KINDS, try_send, try_send_to};

async fn start() -> RunningFixture {
    Fixture::http().everything().start().await.unwrap()
}

/// All that a client can be asked.
fn able() -> Value {
    json!({"elicitation": {}, "sampling": {}, "roots": {}})
}

async fn ask(session: &HttpSession<'_>, method: &str, params: Value) -> Value {
    session.post(&request(1, method, &params)).await.json().await
}

/// Opens the stream of a call; its first event has an id and nothing else.
async fn begin(session: &HttpSession<'_>, message: &Value) -> (Answer, String) {
    let mut stream = session.post(message).await;
    assert_eq!((stream.status, stream.header("content-type")), (200, Some("text/event-stream")));
    let first = stream.next_whole_event().await.unwrap();
    assert!(first.data.is_empty());
    (stream, first.id.unwrap())
}

/// Answers the next request of the server with `result` and gives its method and parameters.
async fn reply(session: &HttpSession<'_>, stream: &mut Answer, result: Value) -> (String, Value) {
    let mut asked = stream.next_message().await;
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
    assert_eq!(session.post(&answer).await.status, 202);
    (asked["method"].as_str().unwrap().to_owned(), asked["params"].take())
}

fn text_of(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"))
}

#[tokio::test]
async fn all_kinds_of_things_are_there() {
    let server = start().await;
    let session = HttpSession::open(&server).await;
    let tools = ask(&session, "tools/list", json!({})).await;
    assert_eq!(tools["result"]["tools"][0]["name"], "test_simple_text");
    assert_eq!(tools["result"]["ttlMs"], Value::Null);
    let read = ask(&session, "resources/read", json!({"uri": "test://template/7/data"})).await;
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("Data for ID: 7"));
    let lost = ask(&session, "resources/read", json!({"uri": "test://nobody"})).await;
    assert_eq!(lost["error"]["code"], -32002);
    let arguments = json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}});
    let prompt = ask(&session, "prompts/get", arguments).await;
    assert_eq!(
        prompt["result"]["messages"][0]["content"]["text"],
        "Prompt with arguments: arg1='a', arg2='b'"
    );
    let poor = ask(&session, "prompts/get", json!({"name": "test_prompt_with_arguments"})).await;
    assert_eq!(poor["error"]["code"], -32602);
    let reference = json!({"type": "ref/prompt", "name": "test_prompt_with_arguments"});
    let complete = json!({"ref": reference, "argument": {"name": "arg1", "value": "par"}});
    let complete = ask(&session, "completion/complete", complete).await;
    assert_eq!(complete["result"]["completion"]["values"], json!(["paris", "park", "party"]));
    assert_eq!(ask(&session, "ping", json!({})).await["result"], json!({}));
    assert_eq!(ask(&session, "tasks/get", json!({"taskId": "x"})).await["error"]["code"], -32601);
}

#[tokio::test]
async fn lists_come_in_pages_where_they_should() {
    let server = Fixture::http().everything().args(["--page-size", "10"]).start().await.unwrap();
    let session = HttpSession::open(&server).await;
    let (mut names, mut cursor) = (Vec::new(), json!({}));
    loop {
        let page = ask(&session, "tools/list", cursor).await;
        let tools = page["result"]["tools"].as_array().unwrap();
        names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        let Some(next) = page["result"]["nextCursor"].as_str() else { break };
        assert_eq!(tools.len(), 10);
        cursor = json!({ "cursor": next });
    }
    assert!(names.len() > 30 && names.contains(&"test_tool_with_task".to_owned()), "{names:?}");
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}

#[tokio::test]
async fn a_client_is_asked_on_the_stream_of_the_call() {
    let server = start().await;
    let session = HttpSession::open_with(&server, &able()).await;
    let message = call(5, "test_elicitation", &json!({"message": "Who?"}));
    let (mut stream, _) = begin(&session, &message).await;
    let accepted = json!({"action": "accept", "content": {"username": "u", "email": "e"}});
    let (method, params) = reply(&session, &mut stream, accepted).await;
    assert_eq!((method.as_str(), &params["message"]), ("elicitation/create", &json!("Who?")));
    let answer = stream.next_message().await;
    assert_eq!(answer["id"], 5);
    assert_eq!(text_of(&answer), r#"User response: action=accept, content={"username":"u","email":"e"}"#);
    assert!(stream.next_event().await.is_none(), "the stream goes on");
}

#[tokio::test]
async fn flows_of_the_modern_era_ask_by_requests_here() {
    let server = start().await;
    let session = HttpSession::open_with(&server, &able()).await;
    let message = call(1, "test_input_required_result_multi_round", &json!({}));
    let (mut stream, _) = begin(&session, &message).await;
    for (field, value) in [("name", "Ann"), ("color", "blue")] {
        let accepted = json!({"action": "accept", "content": {field: value}});
        assert_eq!(reply(&session, &mut stream, accepted).await.0, "elicitation/create");
    }
    assert_eq!(text_of(&stream.next_message().await), "Ann likes blue");

    let message = request(2, "prompts/get", &json!({"name": "test_input_required_result_prompt"}));
    let (mut stream, _) = begin(&session, &message).await;
    let accepted = json!({"action": "accept", "content": {"context": "here"}});
    reply(&session, &mut stream, accepted).await;
    let prompt = stream.next_message().await;
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "Prompt with context: here");

    let message = request(3, "resources/read", &json!({"uri": "test://input-required"}));
    let (mut stream, _) = begin(&session, &message).await;
    reply(&session, &mut stream, json!({"action": "decline"})).await;
    assert_eq!(stream.next_message().await["error"]["message"], "the user declined");
}

#[tokio::test]
async fn a_client_is_not_asked_what_it_cannot_answer() {
    let server = start().await;
    let session = HttpSession::open(&server).await;
    let (mut stream, _) = begin(&session, &call(1, "test_sampling", &json!({"prompt": "p"}))).await;
    let answer = stream.next_message().await;
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(text_of(&answer), "the client does not support sampling");

    let session = HttpSession::open_with(&server, &able()).await;
    let (mut stream, _) = begin(&session, &call(1, "test_sampling", &json!({"prompt": "p"}))).await;
    let asked = stream.next_message().await;
    let refusal = json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": "no"}});
    assert_eq!(session.post(&refusal).await.status, 202);
    assert!(text_of(&stream.next_message().await).starts_with("the client refused"));
}

#[tokio::test]
async fn the_end_of_a_session_ends_what_waits_for_its_client() {
    let server = start().await;
    let session = HttpSession::open_with(&server, &able()).await;
    let (mut stream, _) = begin(&session, &call(1, "test_sampling", &json!({"prompt": "p"}))).await;
    stream.next_message().await;
    let headers = [("mcp-session-id", session.id.as_str())];
    assert_eq!(try_send(&server, "DELETE", "/mcp", &headers, "").await.unwrap().status, 200);
    assert_eq!(stream.next_message().await["result"]["isError"], true);
    assert!(stream.next_event().await.is_none());
}

#[tokio::test]
async fn the_end_of_a_session_ends_what_is_held_for_it() {
    let server = start().await;
    let (session, other) = (HttpSession::open(&server).await, HttpSession::open(&server).await);
    let _held = begin(&session, &call(1, "test_held_call", &json!({"label": "a"}))).await;
    let headers = [("mcp-session-id", session.id.as_str())];
    assert_eq!(try_send(&server, "DELETE", "/mcp", &headers, "").await.unwrap().status, 200);
    let news = call(1, "test_await_held_call", &json!({"label": "a", "state": "cancelled"}));
    let (mut news, _) = begin(&other, &news).await;
    assert_eq!(text_of(&news.next_message().await), "a was cancelled");
}

#[tokio::test]
async fn a_stream_that_ended_goes_on_where_the_client_left_it() {
    let server = start().await;
    let session = HttpSession::open(&server).await;
    let (mut stream, first) = begin(&session, &call(9, "test_reconnection", &json!({}))).await;
    assert!(stream.next_event().await.is_none(), "the stream does not end");
    let mut rest = session.stream(Some(&first)).await;
    assert_eq!(rest.next_message().await["id"], 9);
    assert!(rest.next_event().await.is_none(), "the rest does not end");
    // What was received is not said again.
    let mut again = session.stream(Some(&first.replace("-0", "-1"))).await;
    assert!(again.next_event().await.is_none());
    assert_eq!(session.stream(Some("99-0")).await.status, 404);
}

#[tokio::test]
async fn changes_are_notified_to_subscribers() {
    let server = start().await;
    let session = HttpSession::open(&server).await;
    let mut stream = session.stream(None).await;
    assert!(stream.next_whole_event().await.unwrap().data.is_empty());
    let update = call(2, "test_trigger_resource_update", &json!({}));
    session.post(&update).await;
    let watched = json!({"uri": "test://watched-resource"});
    assert_eq!(ask(&session, "resources/subscribe", watched.clone()).await["result"], json!({}));
    session.post(&update).await;
    let received = stream.next_message().await;
    assert_eq!(
        (&received["method"], &received["params"]),
        (&json!("notifications/resources/updated"), &watched)
    );
    assert_eq!(ask(&session, "resources/unsubscribe", watched).await["result"], json!({}));
    session.post(&update).await;
    for (what, tool) in [("tools", "tool"), ("prompts", "prompt"), ("resources", "resource")] {
        session.post(&call(3, &format!("test_trigger_{tool}_change"), &json!({}))).await;
        let method = format!("notifications/{what}/list_changed");
        assert_eq!(stream.next_message().await, json!({"jsonrpc": "2.0", "method": method}));
    }
    let list = ask(&session, "prompts/list", json!({})).await;
    assert_eq!(list["result"]["prompts"].as_array().unwrap().last().unwrap()["name"], "test_dynamic_prompt");
}

#[tokio::test]
async fn log_messages_and_progress_come_as_asked() {
    let server = start().await;
    let session = HttpSession::open(&server).await;
    let message = call(1, "test_tool_with_logging", &json!({}));
    let (mut stream, _) = begin(&session, &message).await;
    for data in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        assert_eq!(stream.next_message().await["params"]["data"], data);
    }
    assert_eq!(ask(&session, "logging/setLevel", json!({"level": "warning"})).await["result"], json!({}));
    let (mut stream, _) = begin(&session, &message).await;
    assert_eq!(stream.next_message().await["id"], 1);
    assert_eq!(ask(&session, "logging/setLevel", json!({"level": "loud"})).await["error"]["code"], -32602);

    let mut message = call(2, "test_tool_with_progress", &json!({}));
    message["params"]["_meta"] = json!({"progressToken": 17});
    let (mut stream, _) = begin(&session, &message).await;
    for progress in [0, 50, 100] {
        let note = stream.next_message().await;
        let received = (&note["params"]["progressToken"], &note["params"]["progress"]);
        assert_eq!(received, (&json!(17), &json!(progress)));
    }
    assert_eq!(stream.next_message().await["id"], 2);
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() {
    let server = Fixture::http().era(SpokenEra::Legacy).start().await.unwrap();
    let body = initialize(1).to_string();
    let foreign = [KINDS[0], KINDS[1], ("origin", "http://evil.example.com")];
    for (host, headers, status) in [
        ("localhost", foreign.as_slice(), 403),
        ("evil.example.com:80", &KINDS, 403),
        ("127.0.0.1:80", &KINDS, 200),
        ("[::1]", &KINDS, 200),
    ] {
        let answer = try_send_to(&server, host, "POST /mcp", headers, &body).await.unwrap();
        assert_eq!(answer.status, status, "{host} {headers:?}");
    }
}
