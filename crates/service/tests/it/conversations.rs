//! `/conversations` over HTTP: shapes, statuses, and a stream byte by byte.

use gateway_config::{ModelKind, ModelSpec, ScreenMode, ScreenModes, Secret, StoreLocation};
use gateway_service::{Gateway, ServiceConfig, serve};
use gateway_store::CallLog;
use gateway_testkit::models::{Fault, Gate, Moment, Reply, Script, Step, Wire};
use gateway_upstream::{Fleet, FleetOptions};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::client::{Answer, Service, read_until};
use crate::completions::{adding, start, start_with, unchunked};

async fn create(service: &Service, title: &str) -> String {
    let created = service.post("/conversations", &json!({"title": title}).to_string()).await;
    assert_eq!(created.status, 200, "{}", created.body);
    created.json()["id"].as_str().unwrap().to_owned()
}

async fn chat(service: &Service, id: &str, body: &Value) -> Answer {
    service.post(&format!("/conversations/{id}/chat"), &body.to_string()).await
}

fn message(text: &str, stream: bool) -> Value {
    json!({"message": {"role": "user", "content": text}, "stream": stream})
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn conversations_are_created_listed_read_renamed_and_deleted() {
    let service = Service::start().await;
    let created = service.post("/conversations", "{}").await;
    assert_eq!((created.status, created.header("etag")), (200, Some("\"1\"")), "{}", created.body);
    let created = created.json();
    let members =
        ["id", "title", "messages", "created_at", "updated_at", "version", "message_count", "metadata"];
    assert_eq!(keys(&created), members);
    assert_eq!((&created["title"], &created["messages"]), (&json!("New Conversation"), &json!([])));
    let first = created["id"].as_str().unwrap().to_owned();
    let second = create(&service, "Second").await;
    assert_eq!(service.get(&format!("/conversations/{first}")).await.json(), created);

    let listed = service.get("/conversations").await.json();
    let members = ["id", "title", "created_at", "updated_at", "message_count", "version"];
    assert_eq!(keys(&listed[0]), members);
    let ids = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&listed), [second.clone(), first.clone()]);

    // An update moves a conversation to the front.
    let json = "content-type: application/json\r\n";
    let path = format!("/conversations/{first}");
    let renamed = service.send("PATCH", &path, json, r#"{"title":"Sums","version":1}"#).await;
    assert_eq!((renamed.status, &renamed.json()["title"]), (200, &json!("Sums")), "{}", renamed.body);
    assert_eq!(ids(&service.get("/conversations").await.json()), [first.clone(), second.clone()]);
    for (headers, body) in [
        (json.to_owned(), r#"{"title":"Late","version":1}"#),
        (format!("{json}if-match: \"1\"\r\n"), r#"{"title":"Late"}"#),
    ] {
        let late = service.send("PATCH", &path, &headers, body).await;
        assert_eq!((late.status, late.code().as_str()), (409, "CONFLICT"), "{}", late.body);
        assert_eq!(late.json()["version"], 2);
    }
    let tagged = format!("{json}if-match: \"2\"\r\n");
    assert_eq!(service.send("PATCH", &path, &tagged, r#"{"title":"More sums"}"#).await.status, 200);

    let found = service.get("/conversations?q=SUMS").await.json();
    assert_eq!(ids(&found), std::slice::from_ref(&first));
    let page = service.get("/conversations?limit=1").await;
    assert_eq!(ids(&page.json()), std::slice::from_ref(&first));
    let link = page.header("link").unwrap();
    let next = link.strip_prefix('<').unwrap().split('>').next().unwrap();
    assert!(next.starts_with("/conversations?limit=1&after="), "{link}");
    let page = service.get(next).await;
    assert_eq!((ids(&page.json()), page.header("link")), (vec![second.clone()], None));

    let deleted = service.send("DELETE", &path, "", "").await;
    assert_eq!(deleted.status, 200, "{}", deleted.body);
    assert_eq!(deleted.json(), json!({"message": "Conversation deleted successfully", "success": true}));
    assert_eq!(ids(&service.get("/conversations").await.json()), [second]);
}

#[tokio::test]
async fn what_is_not_there_is_not_found_with_both_words() {
    let (_server, service) = start(Wire::Chat, Script::new()).await;
    let json = "content-type: application/json\r\n";
    for id in ["6f1c2a9e-0b4d-4c8e-9a57-2f6d0f1b7c3d", "nothing"] {
        let path = format!("/conversations/{id}");
        for answer in [
            service.get(&path).await,
            service.get(&format!("{path}/calls")).await,
            service.send("DELETE", &path, "", "").await,
            service.send("PATCH", &path, json, r#"{"title":"x"}"#).await,
            service.post(&format!("{path}/chat"), &message("?", true).to_string()).await,
        ] {
            let body = answer.json();
            assert_eq!((answer.status, answer.code().as_str()), (404, "CONVERSATION_NOT_FOUND"), "{body}");
            let said = json!("Conversation not found");
            assert_eq!((&body["detail"], &body["error"]), (&said, &said), "{body}");
        }
    }
}

#[tokio::test]
async fn wrong_requests_are_refused_with_what_is_wrong() {
    let (_server, service) = start(Wire::Chat, Script::new()).await;
    let id = create(&service, "x").await;
    let path = format!("/conversations/{id}/chat");
    for (target, body, part) in [
        (&*path, "{}", "\"message\" is missing"),
        (&*path, r#"{"message":{"role":"tool","content":"x"}}"#, "must be \"user\""),
        (&*path, r#"{"message":"x","model":"unknown"}"#, "no model is called `unknown`"),
        ("/conversations", r#"{"titel":"x"}"#, "unknown member \"titel\""),
        ("/conversations", "[]", "JSON object"),
    ] {
        let answer = service.post(target, body).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "VALIDATION_ERROR"), "{}", answer.body);
        let said = answer.json();
        assert!(said["detail"].as_str().unwrap().contains(part) && said["detail"] == said["error"], "{said}");
    }
    let json = "content-type: application/json\r\n";
    let tools = |bytes: &str| format!("{json}x-gateway-tools: {bytes}\r\n");
    let (one, body) = (format!("/conversations/{id}"), r#"{"message":"x","stream":false}"#);
    for (method, target, headers, body, status) in [
        ("GET", "/conversations?after=x", "", "", 400),
        ("GET", "/conversations?limit=0", "", "", 400),
        ("GET", "/conversations?errors=zzz", "", "", 400),
        ("GET", &format!("{one}?offset=-1"), "", "", 400),
        ("PATCH", &one, &format!("{json}if-match: x\r\n"), r#"{"title":"x"}"#, 400),
        ("POST", &path, &tools("group:nope"), body, 400),
        ("POST", &path, &tools("närrisch"), body, 400),
        ("POST", "/conversations", "content-type: text/plain\r\n", "{}", 415),
        ("PUT", "/conversations", "", "", 405),
        ("GET", &format!("{one}/nothing"), "", "", 404),
    ] {
        let answer = service.send(method, target, headers, body).await;
        assert_eq!(answer.status, status, "{method} {target}: {}", answer.body);
        let said = answer.json();
        assert!(said["error"].is_string() && said["detail"] == said["error"], "{method} {target}: {said}");
    }
    // Nothing of all that was stored.
    let stored = service.get(&format!("{one}?errors=precise")).await;
    assert_eq!((&stored.json()["messages"], stored.header("x-parameters-unknown")), (&json!([]), None));
    for target in ["/conversations?errors=precise", &format!("{one}/calls?errors=precise")] {
        let answer = service.get(target).await;
        assert_eq!((answer.status, answer.header("x-parameters-unknown")), (200, None), "{target}");
    }
}

/// What the gateway keeps cannot be replaced by what a caller sends.
#[tokio::test]
async fn a_caller_cannot_bring_a_history_or_tools_of_its_own() {
    let (server, service) = start(Wire::Chat, adding()).await;
    let id = create(&service, "x").await;
    let members = [
        ("messages", json!([{"role": "user", "content": "Mine"}])),
        ("tools", json!([{"type": "function", "function": {"name": "mine"}}])),
        ("functions", json!([{"name": "mine"}])),
        ("tool_choice", json!("none")),
        ("function_call", json!("none")),
    ];
    for (name, value) in members {
        let mut body = message("?", false);
        body[name] = value;
        let answer = chat(&service, &id, &body).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "VALIDATION_ERROR"), "{}", answer.body);
        assert!(answer.json()["detail"].as_str().unwrap().contains(name), "{}", answer.body);
    }
    assert_eq!(server.requests().len(), 0);
    let mut body = message("?", false);
    (body["n"], body["stream_options"], body["gateway"]) = (json!(2), json!({}), json!({"events": "calls"}));
    assert_eq!(chat(&service, &id, &body).await.status, 200);
    let sent = &server.requests()[0].body;
    assert_eq!(
        (sent.get("n"), sent.get("stream_options"), sent.get("gateway")),
        (None, None, None),
        "{sent}"
    );
}

/// S001-17: byte for byte, with a tool turn in the middle.
#[tokio::test]
async fn a_stream_is_that_of_the_protocol_byte_for_byte() {
    let (_server, service) = start(Wire::Chat, adding()).await;
    let id = create(&service, "Sums").await;
    let body = json!({"message": {"role": "user", "content": "How much is 15 and 27?"}});
    let answer = chat(&service, &id, &body).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    let text = |events: &str| -> (Vec<String>, String) {
        // How the model cuts its text is its own affair.
        let (mut lines, mut joined) = (Vec::new(), String::new());
        for event in events.split_terminator("\n\n") {
            let prefix = "data: {\"choices\":[{\"delta\":{\"content\":";
            let suffix = "},\"index\":0,\"finish_reason\":null}]}";
            match event.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix)) {
                Some(content) => joined.push_str(&serde_json::from_str::<String>(content).unwrap()),
                None => lines.push(event.to_owned()),
            }
        }
        (lines, joined)
    };
    let (lines, joined) = text(&unchunked(&answer.body));
    assert_eq!(
        lines,
        [
            format!("data: {{\"conversation_id\":\"{id}\"}}"),
            "data: {\"choices\":[{\"delta\":{},\"index\":0,\"finish_reason\":\"stop\"}]}".to_owned(),
            "data: [DONE]".to_owned(),
        ]
    );
    assert_eq!(joined, "Let me add.\n\nThe sum is 42.");
    assert!(unchunked(&answer.body).ends_with("\n\ndata: [DONE]\n\n"));
    let stored = service.get(&format!("/conversations/{id}")).await.json();
    let roles: Vec<&Value> =
        stored["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant"]);
    let summary = &service.get("/conversations").await.json()[0];
    assert_eq!(summary["message_count"], 5);
}

#[tokio::test]
async fn an_answer_that_is_not_streamed_has_two_members_and_runs_once_under_a_key() {
    let (server, service) = start(Wire::Chat, adding()).await;
    let id = create(&service, "Sums").await;
    let headers = "content-type: application/json\r\nidempotency-key: once\r\n";
    let (path, body) = (format!("/conversations/{id}/chat"), message("How much?", false).to_string());
    let first = service.send("POST", &path, headers, &body).await;
    assert_eq!(
        (first.status, first.json()),
        (200, json!({"content": "Let me add.\n\nThe sum is 42.", "conversation_id": id}))
    );
    let again = service.send("POST", &path, headers, &body).await;
    assert_eq!((&again.body, again.header("idempotent-replayed")), (&first.body, Some("true")));
    assert_eq!(server.requests().len(), 2);
    let calls = service.get(&format!("/conversations/{id}/calls")).await.json();
    assert_eq!(calls["conversation_id"], json!(id));
    let record = &calls["calls"][0];
    assert_eq!(keys(record), ["tool_name", "arguments", "result", "id", "correlation_id"]);
    assert_eq!((&record["tool_name"], &record["arguments"]), (&json!("add"), &json!({"a": 15, "b": 27})));
    let id = record["correlation_id"].as_str().unwrap();
    let logged = service.get(&format!("/logs?correlation_id={id}")).await.json();
    assert_eq!(logged.as_array().unwrap().len(), 1, "{logged}");
}

#[tokio::test]
async fn failures_have_a_detail_and_the_status_that_is_asked_for() {
    for stream in [true, false] {
        let (_server, service) =
            start(Wire::Chat, Script::new().fault(Fault::ServerError).fault(Fault::ServerError)).await;
        let id = create(&service, "x").await;
        let plain = chat(&service, &id, &message("?", stream)).await;
        assert_eq!((plain.status, plain.code().as_str()), (500, "MODEL_ERROR"), "{}", plain.body);
        assert!(plain.json()["detail"].as_str().unwrap().contains("model `m`"), "{}", plain.body);
        let path = format!("/conversations/{id}/chat?errors=precise");
        let precise = service.post(&path, &message("?", stream).to_string()).await;
        assert_eq!(precise.status, 502, "{}", precise.body);
    }
}

#[tokio::test]
async fn a_failure_after_the_first_byte_is_an_event_and_the_stream_ends() {
    let script = Script::new()
        .step(Step::spoiled(
            Fault::NoTerminalEvent,
            Reply::new().text("A long answer, of which not all arrives."),
        ))
        .last(Step::reply(Reply::new().text("Better.")));
    let (_server, service) = start(Wire::Chat, script).await;
    let id = create(&service, "x").await;
    let answer = chat(&service, &id, &message("?", true)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let body = unchunked(&answer.body);
    let events: Vec<&str> = body.split_terminator("\n\n").collect();
    assert_eq!(events.last(), Some(&"data: [DONE]"), "{body}");
    let error: Value =
        serde_json::from_str(events[events.len() - 2].strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(
        (&error["code"], keys(&error)),
        (&json!("MODEL_ERROR"), vec!["error", "code", "detail"]),
        "{error}"
    );
    // What was said stays, and the conversation goes on.
    assert_eq!(chat(&service, &id, &message("Again", false)).await.json()["content"], "Better.");
    let stored = service.get(&format!("/conversations/{id}")).await.json();
    assert_eq!(stored["messages"][2]["interrupted"], true, "{stored}");
}

#[tokio::test]
async fn two_writers_at_once_one_gets_409() {
    let gate = Gate::new();
    let script = Script::new()
        .step(Step::reply(Reply::new().text("First.")).wait(Moment::Headers, &gate))
        .last(Step::reply(Reply::new().text("Next.")));
    let (server, service) = start(Wire::Chat, script).await;
    let id = create(&service, "x").await;
    let first = message("One", false);
    let first = chat(&service, &id, &first);
    let second = async {
        server.arrived(0).await.unwrap();
        let refused = chat(&service, &id, &message("Two", true)).await;
        gate.open();
        refused
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.status, second.status), (200, 409), "{} {}", first.body, second.body);
    assert_eq!((second.code().as_str(), second.header("retry-after")), ("CONFLICT", Some("1")));
    let stored = service.get(&format!("/conversations/{id}")).await.json();
    let texts: Vec<&Value> =
        stored["messages"].as_array().unwrap().iter().skip(1).map(|message| &message["content"]).collect();
    assert_eq!(texts, ["One", "First."]);
}

#[tokio::test]
async fn a_quiet_stream_says_that_it_lives_and_a_caller_who_leaves_ends_the_turn() {
    let script = Script::new()
        .step(Step::reply(Reply::new().text("One. Two.")).wait(Moment::Headers, &Gate::new()))
        .last(Step::reply(Reply::new().text("Three.")));
    let (server, service) =
        start_with(Wire::Chat, script, |config| config.heartbeat = std::time::Duration::from_millis(20))
            .await;
    let id = create(&service, "x").await;
    let mut caller = service.connect().await;
    let body = message("?", true).to_string();
    let head = format!(
        "POST /conversations/{id}/chat HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    caller.write_all((head + &body).as_bytes()).await.unwrap();
    let mut text = String::new();
    read_until(&mut caller, &mut text, |text| text.matches(": heartbeat\n\n").count() >= 2).await;
    drop(caller);
    server.aborted(0).await.unwrap();
    // The turn is saved a moment later.
    let mut next = chat(&service, &id, &message("Go on", false)).await;
    while next.status == 409 {
        next = chat(&service, &id, &message("Go on", false)).await;
    }
    assert_eq!(next.json()["content"], "Three.", "{}", next.body);
}

/// S001-17: the first event names the conversation, also where nothing but signs of life came before the failure.
#[tokio::test]
async fn a_stream_that_fails_after_a_heartbeat_begins_like_any_other() {
    let gate = Gate::new();
    let script = Script::new().step(Step::fault(Fault::ServerError).wait(Moment::Headers, &gate));
    let (_server, service) =
        start_with(Wire::Chat, script, |config| config.heartbeat = std::time::Duration::from_millis(20))
            .await;
    let id = create(&service, "x").await;
    let mut caller = service.connect().await;
    let body = message("?", true).to_string();
    let head = format!(
        "POST /conversations/{id}/chat HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    caller.write_all((head + &body).as_bytes()).await.unwrap();
    let mut text = String::new();
    read_until(&mut caller, &mut text, |text| text.contains(": heartbeat\n\n")).await;
    gate.open();
    read_until(&mut caller, &mut text, |text| text.contains("data: [DONE]")).await;
    let events: Vec<&str> = text.lines().filter(|line| line.starts_with("data: ")).collect();
    assert_eq!(events[0], format!("data: {{\"conversation_id\":\"{id}\"}}"), "{text}");
    assert!(events[1].contains("MODEL_ERROR") && events.len() == 3, "{text}");
}

#[tokio::test]
async fn conversations_belong_to_the_owner_of_the_key() {
    let (_server, service) = start_with(Wire::Chat, adding(), |config| {
        for (name, key) in [("alice", "alice-0123456789abcdef"), ("bob", "bob-0123456789abcdef")] {
            config.keys.insert(name.to_owned(), Secret::new(key));
        }
    })
    .await;
    let key =
        |name: &str| format!("x-api-key: {name}-0123456789abcdef\r\ncontent-type: application/json\r\n");
    assert_eq!(service.post("/conversations", "{}").await.status, 401);
    let created = service.send("POST", "/conversations", &key("alice"), "{}").await.json();
    let path = format!("/conversations/{}", created["id"].as_str().unwrap());
    assert_eq!(service.send("GET", &path, &key("alice"), "").await.status, 200);
    let chat = format!("{path}/chat");
    for (method, target, body) in [
        ("GET", &path, ""),
        ("DELETE", &path, ""),
        ("PATCH", &path, r#"{"title":"x"}"#),
        ("POST", &chat, r#"{"message":"x"}"#),
    ] {
        assert_eq!(service.send(method, target, &key("bob"), body).await.status, 404, "{method} {target}");
    }
    assert_eq!(service.send("GET", "/conversations", &key("bob"), "").await.json(), json!([]));
}

#[tokio::test]
async fn health_says_whether_conversations_are_there() {
    let without = Service::start().await;
    assert_eq!(without.get("/health").await.json()["conversation_manager_initialized"], json!(false));
    assert_eq!(without.post("/conversations", "{}").await.status, 200);
    assert_eq!(without.get("/health").await.json()["conversation_manager_initialized"], json!(true));
    let with = Service::with(|config| {
        config.models = vec![ModelSpec::at("a", ModelKind::OpenAi, "http://127.0.0.1:1/v1")];
    })
    .await;
    let health = with.get("/health").await.json();
    assert_eq!(
        (&health["conversation_manager_initialized"], &health["status"]),
        (&json!(true), &json!("healthy")),
        "{health}"
    );
}

/// A store that is another program is looked for at the start.
#[tokio::test]
async fn a_store_that_is_not_there_is_an_error_at_the_start() {
    for (address, location) in [
        ("redis://:hunter2@127.0.0.1:1", StoreLocation::Redis as fn(Secret) -> StoreLocation),
        ("postgres://me:hunter2@127.0.0.1:1/x", StoreLocation::Postgres),
    ] {
        let mut config = ServiceConfig::default();
        config.listen.set_port(0);
        config.conversations.store = location(Secret::new(address));
        let log = CallLog::in_memory(&gateway_store::Options::default()).unwrap();
        let fleet = Fleet::start(Vec::new(), FleetOptions::default());
        let gateway = Gateway::new(config, fleet, gateway_dialects::Dialects::builtin(), log);
        let error = serve(gateway).await.map(drop).unwrap_err();
        let text = format!("{error}: {}", std::error::Error::source(&error).unwrap());
        assert!(text.contains("127.0.0.1:1") && !text.contains("hunter2"), "{text}");
    }
}

/// How large a conversation is, or where it is kept, is no fault of the gateway's; and no business of the caller's.
#[tokio::test]
async fn a_conversation_that_is_full_in_the_middle_of_a_turn_is_413() {
    for stream in [false, true] {
        let script = Script::new().last(Reply::new().text("y".repeat(3_000)));
        let (_server, service) =
            start_with(Wire::Chat, script, |config| config.conversations.bytes = 2_000).await;
        let id = create(&service, "x").await;
        let answer = chat(&service, &id, &message("?", stream)).await;
        let said = if stream { unchunked(&answer.body) } else { answer.body.clone() };
        assert!(said.contains("CONVERSATION_FULL") && said.contains("conversations.maxBytes"), "{said}");
        if !stream {
            assert_eq!(answer.status, 413, "{said}");
        }
    }
}

/// What is stored is what the model gets; what it may not get is not stored.
#[tokio::test]
async fn personal_data_is_masked_before_it_is_stored_or_refused() {
    for stream in [false, true] {
        let script = Script::new().last(Reply::new().text("Written to anna@example.com."));
        let (server, service) = start_with(Wire::Chat, script, |config| {
            config.privacy.conversations = ScreenModes::all(Some(ScreenMode::Mask));
        })
        .await;
        let id = create(&service, "Mail").await;
        let answer = chat(&service, &id, &message("I am anna@example.com.", stream)).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let stored = service.get(&format!("/conversations/{id}")).await.body;
        assert!(stored.contains("I am [email].") && stored.contains("Written to [email]."), "{stored}");
        let sent = server.requests().pop().unwrap().body.to_string();
        for text in [&stored, &sent, &answer.body] {
            assert!(!text.contains("anna@"), "{text}");
        }

        let (server, service) = start_with(Wire::Chat, Script::new(), |config| {
            config.privacy.conversations.messages = Some(ScreenMode::Block);
        })
        .await;
        let id = create(&service, "Mail").await;
        let answer = chat(&service, &id, &message("I am anna@example.com.", stream)).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "PERSONAL_DATA"), "{}", answer.body);
        let stored = service.get(&format!("/conversations/{id}")).await.json();
        assert_eq!((&stored["messages"], server.requests().len()), (&json!([]), 0));
    }
}
