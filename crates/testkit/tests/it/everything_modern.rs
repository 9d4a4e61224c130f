//! The server that offers everything, in the modern era over Streamable HTTP.

use gateway_testkit::{Fixture, RunningFixture};
use serde_json::{Value, json};

use crate::talk::{call, initialize, modern, request};
use crate::talk_http::{post, post_modern};

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const TASKS: &str = "io.modelcontextprotocol/tasks";

async fn start() -> RunningFixture {
    Fixture::http().everything().start().await.unwrap()
}

/// A modern request of a client that can do this.
fn by(capabilities: &Value, mut message: Value) -> Value {
    message["params"]["_meta"] = json!({ CAPABILITIES: capabilities });
    modern(message)
}

fn able() -> Value {
    json!({"elicitation": {}, "sampling": {}, "roots": {}})
}

async fn ask(server: &RunningFixture, capabilities: &Value, message: Value) -> Value {
    post_modern(server, &by(capabilities, message)).await.json().await
}

async fn call_with(server: &RunningFixture, tool: &str, more: &Value) -> Value {
    let mut message = call(1, tool, &json!({}));
    message["params"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    ask(server, &able(), message).await
}

fn text_of(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"))
}

#[tokio::test]
async fn a_client_is_asked_by_the_result() {
    let server = start().await;
    let tool = "test_input_required_result_elicitation";
    let first = call_with(&server, tool, &json!({})).await;
    assert_eq!(first["result"]["resultType"], "input_required");
    assert_eq!(first["result"]["inputRequests"]["user_name"]["method"], "elicitation/create");
    assert_eq!(first["result"]["requestState"], Value::Null);
    let name = json!({"action": "accept", "content": {"name": "Ann"}});
    let done = call_with(&server, tool, &json!({"inputResponses": {"user_name": name}})).await;
    assert_eq!((&done["result"]["resultType"], text_of(&done)), (&json!("complete"), "Hello, Ann!"));
    // A wrong key is asked again; what is no answer at all is refused.
    let again = call_with(&server, tool, &json!({"inputResponses": {"other": name}})).await;
    assert_eq!(again["result"]["resultType"], "input_required");
    for broken in [json!(null), json!([]), json!({"user_name": 12345})] {
        let refused = call_with(&server, tool, &json!({ "inputResponses": broken })).await;
        assert_eq!(refused["error"]["code"], -32602, "{broken}");
    }
    let declined = json!({"inputResponses": {"user_name": {"action": "decline"}}});
    assert_eq!(call_with(&server, tool, &declined).await["result"]["isError"], true);
}

#[tokio::test]
async fn state_travels_through_the_client_and_cannot_be_changed_there() {
    let server = start().await;
    let tool = "test_input_required_result_multi_round";
    let first = call_with(&server, tool, &json!({})).await;
    let state = first["result"]["requestState"].as_str().unwrap().to_owned();
    let responses = json!({"step1": {"action": "accept", "content": {"name": "Ann"}}});
    let more = json!({"inputResponses": responses, "requestState": state});
    let second = call_with(&server, tool, &more).await;
    assert!(second["result"]["inputRequests"]["step2"].is_object(), "{second}");
    let next = second["result"]["requestState"].as_str().unwrap();
    assert_ne!(next, state);
    let responses = json!({"step2": {"action": "accept", "content": {"color": "blue"}}});
    let done = call_with(&server, tool, &json!({"inputResponses": responses, "requestState": next})).await;
    assert_eq!(text_of(&done), "Ann likes blue");
    for stolen in [format!("{next}x"), next.replace("Ann", "Bob")] {
        let more = json!({"inputResponses": responses, "requestState": stolen});
        assert_eq!(call_with(&server, tool, &more).await["error"]["code"], -32602);
    }
    let other = json!({ "requestState": next });
    let other = call_with(&server, "test_input_required_result_request_state", &other).await;
    assert_eq!(other["error"]["code"], -32602);
}

#[tokio::test]
async fn prompts_and_resources_ask_as_well() {
    let server = start().await;
    let name = json!({"name": "test_input_required_result_prompt"});
    let first = ask(&server, &able(), request(1, "prompts/get", &name)).await;
    assert!(first["result"]["inputRequests"]["user_context"].is_object());
    let uri = json!({"uri": "test://input-required"});
    let first = ask(&server, &able(), request(2, "resources/read", &uri)).await;
    assert_eq!(first["result"]["resultType"], "input_required");
    let word = json!({"passphrase": {"action": "accept", "content": {"word": "sesame"}}});
    let again = json!({"uri": "test://input-required", "inputResponses": word});
    let done = ask(&server, &able(), request(3, "resources/read", &again)).await;
    assert_eq!(done["result"]["contents"][0]["text"], "Opened with: sesame");
    assert_eq!((&done["result"]["ttlMs"], &done["result"]["cacheScope"]), (&json!(0), &json!("private")));
}

#[tokio::test]
async fn what_the_client_cannot_do_is_said_with_the_status() {
    let server = start().await;
    let tools = ["test_missing_capability", "test_sampling", "test_input_required_result_sampling"];
    for tool in tools {
        let answer = post_modern(&server, &by(&json!({}), call(1, tool, &json!({})))).await;
        assert_eq!(answer.status, 400, "{tool}");
        let answer = answer.json().await;
        let lack = (&answer["error"]["code"], &answer["error"]["data"]["requiredCapabilities"]);
        assert_eq!(lack, (&json!(-32021), &json!({"sampling": {}})), "{tool}");
    }
    let streaming = by(&json!({}), call(1, "test_streaming_elicitation", &json!({})));
    assert_eq!(post_modern(&server, &streaming).await.status, 400);
    let some = call(1, "test_input_required_result_capabilities", &json!({}));
    let some = ask(&server, &json!({"sampling": {}}), some).await;
    let keys: Vec<_> = some["result"]["inputRequests"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["sample_input"]);
}

#[tokio::test]
async fn methods_of_the_other_era_are_not_found() {
    let server = start().await;
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/list"] {
        let answer = post_modern(&server, &modern(request(1, method, &json!({})))).await;
        assert_eq!(answer.status, 404, "{method}");
        assert_eq!(answer.json().await["error"]["code"], -32601, "{method}");
    }
    // A legacy client that names a version of tomorrow is still one.
    let opening = post(&server, &[("mcp-protocol-version", "2026-07-28")], &initialize(1)).await;
    assert!(opening.header("mcp-session-id").is_some());
    let lost = json!({"uri": "test://nobody"});
    let lost = ask(&server, &able(), request(1, "resources/read", &lost)).await;
    let said = (&lost["error"]["code"], &lost["error"]["data"]["uri"]);
    assert_eq!(said, (&json!(-32602), &json!("test://nobody")));
}

#[tokio::test]
async fn lists_and_resources_say_how_long_they_stay_true() {
    let server = Fixture::http().everything().option("--ttl-ms", 5000).start().await.unwrap();
    let uri = json!({"uri": "test://static-text"});
    let cases = [
        ("tools/list", json!({}), "public"),
        ("prompts/list", json!({}), "public"),
        ("resources/list", json!({}), "public"),
        ("resources/templates/list", json!({}), "public"),
        ("resources/read", uri, "private"),
        ("server/discover", json!({}), "public"),
    ];
    for (method, params, scope) in cases {
        let answer = ask(&server, &able(), request(1, method, &params)).await;
        let hints = (&answer["result"]["ttlMs"], &answer["result"]["cacheScope"]);
        assert_eq!(hints, (&json!(5000), &json!(scope)), "{method}");
        assert_eq!(answer["result"]["resultType"], "complete", "{method}");
    }
}

#[tokio::test]
async fn subscriptions_hear_what_they_asked_for() {
    let server = start().await;
    let filter = json!({"promptsListChanged": true, "resourceSubscriptions": ["test://watched-resource"]});
    let listen = modern(request(7, "subscriptions/listen", &json!({ "notifications": filter })));
    let mut stream = post_modern(&server, &listen).await;
    let received = stream.next_message().await;
    assert_eq!(received["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(received["params"]["notifications"], filter);
    for tool in ["tool_change", "resource_update", "resource_change", "prompt_change"] {
        let message = call(1, &format!("test_trigger_{tool}"), &json!({}));
        assert_eq!(post_modern(&server, &modern(message)).await.status, 200);
    }
    for method in ["notifications/resources/updated", "notifications/prompts/list_changed"] {
        let received = stream.next_message().await;
        assert_eq!(received["method"], method);
        assert_eq!(received["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    }
}

#[tokio::test]
async fn log_messages_come_only_to_requests_that_want_them() {
    let server = start().await;
    let message = modern(call(1, "test_logging_tool", &json!({})));
    let events = post_modern(&server, &message).await.events().await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["result"]["resultType"], "complete");
    let mut wanted = message;
    wanted["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("info");
    let events = post_modern(&server, &wanted).await.events().await;
    assert_eq!(events.iter().filter(|event| event["method"] == "notifications/message").count(), 3);
}

#[tokio::test]
async fn tasks_are_for_clients_that_know_them() {
    let server = start().await;
    let knows = json!({"extensions": {TASKS: {}}});
    let work = call(1, "slow_compute", &json!({"seconds": 0, "label": "x"}));
    let events = post_modern(&server, &modern(work.clone())).await.events().await;
    assert_eq!(text_of(&events[0]), "Computed: x");
    for message in [call(1, "failing_job", &json!({})), request(1, "tasks/get", &json!({"taskId": "x"}))] {
        let refused = post_modern(&server, &modern(message)).await;
        assert_eq!(refused.status, 400);
        let refused = refused.json().await;
        assert_eq!(refused["error"]["data"]["requiredCapabilities"], knows);
    }
    let task = ask(&server, &knows, work).await;
    assert_eq!(task["result"]["resultType"], "task");
    let id = task["result"]["taskId"].clone();
    let get = |id: &Value| request(2, "tasks/get", &json!({ "taskId": id }));
    let done = ask(&server, &knows, get(&id)).await;
    let received = (&done["result"]["status"], &done["result"]["result"]["content"][0]["text"]);
    assert_eq!(received, (&json!("completed"), &json!("Computed: x")));
    assert_eq!(ask(&server, &knows, get(&json!("nobody"))).await["error"]["code"], -32602);

    let long = ask(&server, &knows, call(3, "slow_compute", &json!({"seconds": 60}))).await;
    let id = long["result"]["taskId"].clone();
    assert_eq!(ask(&server, &knows, get(&id)).await["result"]["status"], "working");
    let cancel = request(4, "tasks/cancel", &json!({ "taskId": id }));
    assert_eq!(ask(&server, &knows, cancel).await["result"], json!({"resultType": "complete"}));
    assert_eq!(ask(&server, &knows, get(&id)).await["result"]["status"], "cancelled");
}

#[tokio::test]
async fn a_task_waits_for_all_its_answers() {
    let server = start().await;
    let knows = json!({"elicitation": {}, "extensions": {TASKS: {}}});
    let task = ask(&server, &knows, call(1, "multi_input", &json!({}))).await;
    let id = task["result"]["taskId"].clone();
    let open = async || {
        let received = ask(&server, &knows, request(2, "tasks/get", &json!({ "taskId": id }))).await;
        let open = received["result"]["inputRequests"].as_object().cloned().unwrap_or_default();
        open.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(open().await, ["first", "second"]);
    for (key, left) in [("first", vec!["second"]), ("second", vec![])] {
        let responses = json!({key: {"action": "accept", "content": {"confirm": true}}, "strange": {}});
        let update = json!({"taskId": id, "inputResponses": responses});
        let update = ask(&server, &knows, request(3, "tasks/update", &update)).await;
        assert_eq!(update["result"], json!({"resultType": "complete"}));
        assert_eq!(open().await, left);
    }
}
