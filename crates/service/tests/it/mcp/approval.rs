//! Calls that are refused, or wait until somebody approves them, on every way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gateway_service::{ApprovalConfig, Approver, Secret, ServiceConfig};
use gateway_testkit::{Fault, Fixture, count_lines};
use gateway_upstream::{
    Approval, Endpoint, Fallback, FleetOptions, Handler, RegisteredTool, UpstreamId, UpstreamSpec,
};
use serde_json::{Value, json};

use super::wire::{Caller, Era, Front, Way, everything};
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
                let expected = "The gateway asks: may this call run?\nServer: \"registry\"\nTool: \"work\"\nArguments: {\"n\":1}";
                assert_eq!(message, expected);
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

/// Whoever has a key does not approve its own calls where only admins may.
#[tokio::test(flavor = "multi_thread")]
async fn only_admins_approve_where_the_configuration_says_so() {
    let (service, runs) = service(|config| {
        ask_with_admin(config);
        config.approval.approver = Approver::Admin;
        config.approval.wait = Duration::from_mins(1);
    })
    .await;
    for era in [Era::Legacy, Era::Modern] {
        let before = runs.load(Ordering::SeqCst);
        let caller = Caller::open(&service, era, "/mcp", "").await;
        // `call` panics where the caller is asked anything.
        let (outcome, ()) = tokio::join!(caller.call("work", json!({"n": 1})), async {
            let listed = waiting(&service).await;
            assert_eq!(runs.load(Ordering::SeqCst), before, "it has not run yet");
            assert_eq!(decide(&service, &listed["id"], "approve").await.status, 200);
        });
        assert_eq!((outcome.said(), runs.load(Ordering::SeqCst)), ("done", before + 1), "{era:?}");
    }
    let (service, runs) = self::service(|config| {
        ask(config);
        config.approval.approver = Approver::Admin;
    })
    .await;
    let caller = Caller::open(&service, Era::Modern, "/mcp", "").await;
    let outcome = caller.call("work", json!({"n": 1})).await;
    let why = "The tool `work` needs approval, and nobody can give it: only an admin may, and no admin key is configured.";
    assert_eq!((outcome.said(), runs.load(Ordering::SeqCst)), (why, 0));
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

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_caller_does_not_approve_its_own_call() {
    let (service, runs) = service(|config| {
        ask_with_admin(config);
        config.approval.wait = Duration::from_millis(10);
    })
    .await;
    let body = json!({
        "server": "registry", "tool": "work", "arguments": {"n": 1}, "input": ["elicitation"],
    });
    let called = service.post("/call_tool", &body.to_string()).await;
    assert_eq!((called.status, called.code().as_str()), (400, "APPROVAL_REQUIRED"), "{}", called.body);
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_approves_sees_all_arguments_or_that_there_are_more() {
    let (service, _) = service(|config| {
        ask_with_admin(config);
        config.approval.wait = Duration::from_millis(10);
    })
    .await;
    let blanks = " ".repeat(30_000);
    let hidden = format!(r#"{{"server":"registry","tool":"work","arguments":{{"n":1{blanks},"more":2}}}}"#);
    service.post("/call_tool", &hidden).await;
    let listed = waiting(&service).await;
    assert_eq!((&listed["arguments"], &listed["truncated"]), (&json!(r#"{"n":1,"more":2}"#), &json!(false)));
    decide(&service, &listed["id"], "deny").await;
    let long = json!({"server": "registry", "tool": "work", "arguments": {"n": 1, "x": "y".repeat(30_000)}});
    service.post("/call_tool", &long.to_string()).await;
    let listed = waiting(&service).await;
    assert_eq!(listed["truncated"], true);
    assert!(listed["arguments"].as_str().unwrap().ends_with("more characters, not shown"), "{listed}");
    let legacy = Caller::open(&service, Era::Legacy, "/mcp", "").await;
    let outcome = legacy.call("work", json!({"n": 1, "x": "z".repeat(30_000)})).await;
    assert!(outcome.said().contains("needs approval, and it was not given within"), "{}", outcome.text);
}

/// A server's question belongs to the approved call: its answer needs no second approval, and gives no third call.
#[tokio::test(flavor = "multi_thread")]
async fn one_approval_is_one_call_also_where_the_server_asks() {
    let front = Front::with((Era::Modern, Way::Stdio), everything, |config| {
        config.approval.default = Approval::Ask;
    })
    .await;
    let caller = front.caller(Era::Modern).await;
    let plain = json!({"name": "test_input_required_result_request_state", "arguments": {}});
    let next = |outcome: &Value, answer: &Value| {
        let key = outcome["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
        let mut params = plain.clone();
        params["inputResponses"] = json!({key: answer});
        params["requestState"] = outcome["requestState"].clone();
        params
    };
    let approve = json!({"action": "accept", "content": {"decision": "approve"}});
    let confirm = json!({"action": "accept", "content": {"ok": true}});
    let question = caller.once("tools/call", plain.clone()).await;
    assert!(question.text.contains("may this call run"), "{}", question.text);
    let asked = caller.once("tools/call", next(question.result(), &approve)).await;
    assert_eq!(asked.result()["resultType"], "input_required", "{}", asked.text);
    assert!(!asked.text.contains("may this call run"), "it was approved: {}", asked.text);
    let done = caller.once("tools/call", next(asked.result(), &confirm)).await;
    assert_eq!(done.result()["resultType"], "complete", "{}", done.text);
    let again = caller.once("tools/call", next(asked.result(), &confirm)).await;
    assert!(again.text.contains("may this call run"), "{}", again.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registered_tool_whose_schema_cannot_be_checked_does_not_run() {
    let options = FleetOptions::default();
    let never = Handler::function(|_| async { Ok(json!("ran")) });
    let about = json!({"inputSchema": {"type": "object", "properties": {"a": {"pattern": "^[a-z"}}}});
    options.registry.register(RegisteredTool::new("broken", &about, never).unwrap()).unwrap();
    let service = Service::with_fleet(Vec::new(), options, ask_with_admin).await;
    let call = json!({"server": "registry", "tool": "broken", "arguments": {"a": "A"}});
    let called = service.post("/call_tool", &call.to_string()).await;
    assert!(called.body.contains("its inputSchema cannot be checked at"), "{}", called.body);
    let about = json!({"inputSchema": about["inputSchema"], "handler": {"url": "http://198.51.100.1/"}});
    let put = service.send("PUT", "/registry/other", ADMIN, &about.to_string()).await;
    assert_eq!(put.status, 400, "{}", put.body);
    assert!(put.body.contains("`inputSchema` is wrong at"), "{}", put.body);
    for name in ["mcp__up__add", ".."] {
        let target = format!("/registry/{}", name.replace('.', "%2e"));
        let about = json!({"handler": {"url": "http://198.51.100.1/"}});
        assert_eq!(service.send("PUT", &target, ADMIN, &about.to_string()).await.status, 400, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_not_kept_under_a_key() {
    let (service, runs) = service(|config| {
        ask_with_admin(config);
        config.approval.wait = Duration::ZERO;
    })
    .await;
    let gemini = json!({"functionCall": {"name": "work", "args": {"n": 1}}});
    for (index, (target, body)) in [
        ("/call_tool", CALL.to_owned()),
        ("/execute", json!({"call": tool_use()}).to_string()),
        ("/route", tool_use().to_string()),
        ("/route", gemini.to_string()),
        ("/route", "<work><n>1</n></work>".to_owned()),
    ]
    .into_iter()
    .enumerate()
    {
        let media = if body.starts_with('<') { "text/plain" } else { "application/json" };
        let headers = format!("content-type: {media}\r\nidempotency-key: key-{index}\r\n");
        let refused = service.send("POST", target, &headers, &body).await;
        assert!(refused.body.contains("needs approval"), "{target}: {}", refused.body);
        decide(&service, &waiting(&service).await["id"], "approve").await;
        let ran = service.send("POST", target, &headers, &body).await;
        assert!(ran.body.contains("done"), "{target}: {}", ran.body);
        let again = service.send("POST", target, &headers, &body).await;
        assert_eq!((again.header("idempotent-replayed"), &again.body), (Some("true"), &ran.body), "{target}");
        assert_eq!(runs.load(Ordering::SeqCst), index + 1, "{target}");
    }
    // Nor is anything else that did not run.
    let headers = "content-type: application/json\r\nidempotency-key: later\r\n";
    for body in [r#"{"name":"nobody","input":{}}"#, r#"{"name":"work","input":{"n":"x"}}"#, r#"{"input":{}}"#]
    {
        for _ in 0..2 {
            let refused = service.send("POST", "/route", headers, body).await;
            assert_eq!(
                (refused.status, refused.header("idempotent-replayed")),
                (200, None),
                "{}",
                refused.body
            );
        }
    }
    assert_eq!(runs.load(Ordering::SeqCst), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_with_too_many_calls_that_wait_is_told_so() {
    let (service, _) = service(|config| {
        ask_with_admin(config);
        config.approval.wait = Duration::ZERO;
        config.approval.pending_per_caller = Some(1);
        config.keys.insert("ann".to_owned(), Secret::new("ann-key"));
        config.keys.insert("bob".to_owned(), Secret::new("bob-key"));
    })
    .await;
    let call = async |key: &str, body: &str| {
        let headers = format!("content-type: application/json\r\nx-api-key: {key}\r\n");
        service.send("POST", "/call_tool", &headers, body).await
    };
    let other = CALL.replace('1', "2");
    assert_eq!(call("ann-key", CALL).await.code(), "APPROVAL_REQUIRED");
    let refused = call("ann-key", &other).await;
    assert_eq!((refused.status, refused.code().as_str()), (429, "OVERLOADED"), "{}", refused.body);
    assert!(refused.body.contains("1 calls of this caller wait for approval already"), "{}", refused.body);
    assert_eq!(call("bob-key", &other).await.code(), "APPROVAL_REQUIRED", "another has its own share");
    let spelled = CALL.replace("{\"n\":1}", "{ \"n\" : 1 }");
    assert_eq!(
        call("ann-key", &spelled).await.code(),
        "APPROVAL_REQUIRED",
        "the same call, spelled otherwise"
    );
}

/// The first server never answers, and what it is asked may run again, so that the second one takes over if it may.
#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_never_goes_past_the_policy() {
    let files = tempfile::tempdir().unwrap();
    let server = |id: &str, fixture: Fixture| {
        let fixture = fixture.counter(&files.path().join(id));
        let (program, args) = fixture.command().unwrap();
        let command = program.to_str().unwrap().to_owned();
        UpstreamSpec::new(id, Endpoint::Stdio { command, args, env: BTreeMap::new(), cwd: None })
    };
    let body = r#"{"server":"first","tool":"count_idempotent","arguments":{}}"#;
    for (approval, ran) in [(Approval::Deny, 0), (Approval::Ask, 0), (Approval::Allow, 1)] {
        let mut first = server("first", Fixture::stdio().mode(Fault::NeverAnswers));
        first.timeouts.call = Duration::from_millis(300);
        first.fallback = Some(Fallback::Server(UpstreamId::new("second")));
        let specs = vec![first, server("second", Fixture::stdio())];
        let service = Service::with_servers(specs, |config| {
            config.approval.tools = vec![("second/*".to_owned(), approval)];
        })
        .await;
        service.running.gateway().fleet().listed(&[], Duration::from_secs(30)).await;
        let called = service.post("/call_tool", body).await;
        let (status, count) = (called.status, count_lines(&files.path().join("second")));
        assert_eq!((status == 200, count), (ran == 1, ran), "{approval:?}: {}", called.body);
        service.running.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_policy_counts_from_the_next_call_on() {
    let (service, runs) = service(|_| {}).await;
    for (default, code) in [(Approval::Deny, "TOOL_DENIED"), (Approval::Ask, "APPROVAL_REQUIRED")] {
        assert_eq!(service.post("/call_tool", CALL).await.status, 200);
        let policy = ApprovalConfig { default, ..ApprovalConfig::default() };
        service.running.gateway().set_approval(policy);
        assert_eq!(service.post("/call_tool", CALL).await.code(), code);
        service.running.gateway().set_approval(ApprovalConfig::default());
    }
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_new_policy_denies_cannot_be_approved_any_more() {
    let (service, runs) = service(ask_with_admin).await;
    let (called, decided) = tokio::join!(service.post("/call_tool", CALL), async {
        let id = waiting(&service).await["id"].clone();
        let tools = vec![("registry/work".to_owned(), Approval::Deny)];
        let policy = ApprovalConfig { tools, ..ApprovalConfig::default() };
        service.running.gateway().set_approval(policy);
        decide(&service, &id, "approve").await
    });
    assert_eq!(decided.status, 200, "{}", decided.body);
    assert_eq!(called.code(), "TOOL_DENIED", "{}", called.body);
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_is_too_large_to_be_checked_is_not_called_wrong() {
    let service = Service::with_fleet(Vec::new(), FleetOptions::default(), ask_with_admin).await;
    let put = async |pattern: &str| {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}});
        let about = json!({"inputSchema": schema, "handler": {"url": "http://198.51.100.1/"}});
        let put = service.send("PUT", "/registry/other", ADMIN, &about.to_string()).await;
        assert_eq!(put.status, 400, "{}", put.body);
        put.json()["error"].as_str().unwrap().to_owned()
    };
    let large = put("^((a{1000}){1000}){1000}$").await;
    let begin =
        "`inputSchema` cannot be checked at `/properties/a/pattern`: a regular expression that is too large";
    assert!(large.starts_with(begin), "{large}");
    let wrong = put("^[a-z").await;
    assert!(wrong.starts_with("`inputSchema` is wrong at `/properties/a/pattern`"), "{wrong}");
}
