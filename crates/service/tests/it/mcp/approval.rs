//! Calls that are refused, or wait until somebody approves them, on every way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gateway_service::{Secret, ServiceConfig};
use gateway_upstream::{Approval, FleetOptions, Handler, RegisteredTool};
use serde_json::{Value, json};

use super::wire::{Caller, Era};
use crate::client::{Answer, Service};
use crate::logs::eventually_logged;

/// A gateway with one tool, `work`, which counts how often it ran.
async fn service(change: impl FnOnce(&mut ServiceConfig)) -> (Service, Arc<AtomicUsize>) {
    let options = FleetOptions::default();
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let work = Handler::function(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok(json!("done")) }
    });
    let about = json!({"inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}});
    options.registry.register(RegisteredTool::new("work", &about, work).unwrap()).unwrap();
    (Service::with_fleet(Vec::new(), options, change).await, runs)
}

fn ask(config: &mut ServiceConfig) {
    config.approval.tools = vec![("registry/work".to_owned(), Approval::Ask)];
}

fn ask_with_admin(config: &mut ServiceConfig) {
    ask(config);
    config.admin_keys.insert("root".to_owned(), Secret::new("admin-key"));
}

const ADMIN: &str = "content-type: application/json\r\nauthorization: Bearer admin-key\r\n";
const CALL: &str = r#"{"server":"registry","tool":"work","arguments":{"n":1}}"#;

fn tool_use() -> Value {
    json!({"type": "tool_use", "id": "t1", "name": "work", "input": {"n": 1}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_tool_runs_on_no_way() {
    let (service, runs) =
        service(|config| config.approval.tools = vec![("*/work".to_owned(), Approval::Deny)]).await;
    let why = "The tool `work` may not be called: the gateway's policy denies it. Do not call it again.";
    let called = service.post("/call_tool", CALL).await;
    assert_eq!((called.status, called.code().as_str()), (400, "TOOL_DENIED"), "{}", called.body);
    assert_eq!(called.json()["error"], why);
    assert_eq!(service.post("/call_tool?errors=precise", CALL).await.status, 403);
    let executed = service.post("/execute", &json!({"call": tool_use()}).to_string()).await.json();
    assert_eq!(
        (&executed["code"], &executed["result"]["content"][0]["text"], &executed["result"]["isError"]),
        (&json!("TOOL_DENIED"), &json!(why), &json!(true))
    );
    let routed = service.post("/route", &tool_use().to_string()).await.json();
    assert_eq!((&routed["status"], &routed["error"]["message"]), (&json!("error"), &json!(why)));
    for era in [Era::Legacy, Era::Modern] {
        let client = Caller::open(&service, era, "/mcp", "").await;
        let outcome = client.call("work", json!({"n": 1})).await;
        assert_eq!((outcome.said(), &outcome.result()["isError"]), (why, &json!(true)));
    }
    let logged = eventually_logged(&service, "/logs?status=error", "", 6).await;
    assert!(logged.iter().all(|entry| entry.to_string().contains("TOOL_DENIED")), "{logged:?}");
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_can_be_asked_is_asked() {
    let (service, runs) = service(ask).await;
    for era in [Era::Legacy, Era::Modern] {
        let caller = Caller::open(&service, era, "/mcp", "").await;
        let params = json!({"name": "work", "arguments": {"n": 1}});
        let before = runs.load(Ordering::SeqCst);
        let answers = [
            (json!({"action": "accept", "content": {"decision": "approve"}}), "done"),
            (
                json!({"action": "accept", "content": {"decision": "deny"}}),
                "may not be called: the user did not",
            ),
            (json!({"action": "accept", "content": {}}), "may not be called"),
            (json!({"action": "decline"}), "may not be called"),
            (json!({"action": "cancel"}), "may not be called"),
        ];
        for (answer, expected) in answers {
            let answered = |method: &str, params: &Value| {
                assert_eq!(method, "elicitation/create");
                let message = params["message"].as_str().unwrap();
                assert!(
                    message.contains("`work` of server `registry`") && message.contains(r#"{"n":1}"#),
                    "{message}"
                );
                assert_eq!(
                    params["requestedSchema"]["properties"]["decision"]["enum"],
                    json!(["approve", "deny"])
                );
                answer.clone()
            };
            let outcome = caller.ask_answering("tools/call", params.clone(), &answered).await;
            assert!(outcome.said().contains(expected), "{}", outcome.text);
        }
        assert_eq!(runs.load(Ordering::SeqCst), before + 1, "only what was approved ran");
        let cannot = Caller::able(&service, era, "/mcp", "", json!({})).await;
        let outcome = cannot.call("work", json!({"n": 1})).await;
        assert!(outcome.said().contains("needs approval, and nobody can give it"), "{}", outcome.text);
    }
}

/// The one call that waits.
async fn waiting(service: &Service) -> Value {
    loop {
        let list = service.send("GET", "/approvals", ADMIN, "").await.json();
        if let Some(first) = list["approvals"].get(0) {
            return first.clone();
        }
    }
}

async fn decide(service: &Service, id: &Value, decision: &str) -> Answer {
    let target = format!("/approvals/{}", id.as_str().unwrap());
    service.send("POST", &target, ADMIN, &json!({"decision": decision}).to_string()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_over_http_waits_for_an_operator() {
    let (service, runs) = service(|config| {
        ask_with_admin(config);
        config.approval.wait = Duration::from_mins(1);
    })
    .await;
    let (called, listed) = tokio::join!(service.post("/call_tool", CALL), async {
        let listed = waiting(&service).await;
        assert_eq!(runs.load(Ordering::SeqCst), 0, "it has not run yet");
        assert_eq!(decide(&service, &listed["id"], "approve").await.status, 200);
        listed
    });
    assert_eq!(called.status, 200, "{}", called.body);
    assert_eq!(
        (&listed["server"], &listed["tool"], &listed["arguments"], &listed["approved"]),
        (&json!("registry"), &json!("work"), &json!(r#"{"n":1}"#), &json!(false))
    );
    let gone = decide(&service, &listed["id"], "approve").await;
    assert_eq!((gone.status, gone.code().as_str()), (404, "NOT_FOUND"), "it is used up");
    let execute = json!({"call": tool_use()}).to_string();
    let (executed, ()) = tokio::join!(service.post("/execute", &execute), async {
        let listed = waiting(&service).await;
        assert_eq!(decide(&service, &listed["id"], "maybe").await.status, 400);
        assert_eq!(decide(&service, &listed["id"], "deny").await.status, 200);
    });
    let executed = executed.json();
    assert_eq!(executed["code"], "TOOL_DENIED");
    let text = executed["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("an operator denied it"), "{text}");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(service.get("/approvals").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_not_approved_in_time_can_go_on() {
    let (service, runs) = service(|config| {
        ask_with_admin(config);
        config.approval.wait = Duration::ZERO;
        config.keys.insert("ann".to_owned(), Secret::new("ann-key"));
        config.keys.insert("bob".to_owned(), Secret::new("bob-key"));
    })
    .await;
    let call = async |key: &str, body: &str| {
        service
            .send(
                "POST",
                "/call_tool",
                &format!("content-type: application/json\r\nx-api-key: {key}\r\n"),
                body,
            )
            .await
    };
    let refused = call("ann-key", CALL).await;
    assert_eq!((refused.status, refused.code().as_str()), (400, "APPROVAL_REQUIRED"), "{}", refused.body);
    let id = refused.json()["approvalId"].clone();
    assert_eq!(call("ann-key", CALL).await.json()["approvalId"], id, "the same call waits once");
    assert_eq!(decide(&service, &id, "approve").await.status, 200);
    let other = CALL.replace('1', "2");
    for (key, body) in [("bob-key", CALL), ("ann-key", other.as_str())] {
        assert_eq!(
            call(key, body).await.code(),
            "APPROVAL_REQUIRED",
            "it is for this caller and these arguments"
        );
    }
    assert_eq!(call("ann-key", CALL).await.status, 200);
    assert_eq!(call("ann-key", CALL).await.code(), "APPROVAL_REQUIRED", "and once");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_of_registered_tools_are_checked_on_every_way() {
    let (service, runs) = service(|config| config.validate = false).await;
    for era in [Era::Legacy, Era::Modern] {
        let caller = Caller::open(&service, era, "/mcp", "").await;
        let outcome = caller.call("work", json!({"n": "many"})).await;
        assert_eq!(outcome.result()["isError"], true);
        assert!(outcome.said().contains('n') && outcome.said().contains("integer"), "{}", outcome.said());
    }
    let wrong = service.post("/call_tool", &CALL.replace('1', "\"many\"")).await;
    assert_eq!((wrong.status, wrong.code().as_str()), (400, "VALIDATION_ERROR"));
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}
