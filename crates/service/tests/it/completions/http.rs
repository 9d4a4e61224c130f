//! What only HTTP has: statuses, shapes of errors, streams that nobody reads any more.

use std::time::Duration;

use gateway_config::{ModelKind, ModelSpec, ScreenMode, Secret};
use gateway_testkit::models::{Fault, Gate, Moment, Reply, Script, Step, Wire};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{ask, question, start, start_with};
use crate::client::Service;

#[tokio::test]
async fn errors_have_openais_shape_whoever_made_them() {
    let (_server, service) = start_with(Wire::Chat, Script::new(), |config| {
        config.keys.insert("alice".to_owned(), Secret::new("0123456789abcdef"));
    })
    .await;
    let key = "authorization: Bearer 0123456789abcdef\r\ncontent-type: application/json\r\n";
    let question = question("?", false).to_string();
    for (headers, target, body, status, kind) in [
        ("", "/v1/chat/completions", &*question, 401, "authentication_error"),
        (key, "/v1/nothing", &*question, 404, "invalid_request_error"),
        (key, "/v1/chat/completions", "{", 400, "invalid_request_error"),
        (key, "/v1/chat/completions", "{\"messages\": 1}", 400, "invalid_request_error"),
        (key, "/v1/chat/completions", "{\"model\": \"x\", \"messages\": []}", 404, "invalid_request_error"),
        (key, "/v1/chat/completions", "{\"messages\": []}", 400, "invalid_request_error"),
        (key, "/v1/chat/completions", "{\"messages\": [{\"content\": \"x\"}]}", 400, "invalid_request_error"),
        (key, "/chat/completions", &*question, 404, "invalid_request_error"),
        (key, "/v1/chat/completions", &*question, 502, "server_error"),
    ] {
        let answer = service.send("POST", target, headers, body).await;
        let error = &answer.json()["error"];
        assert_eq!(
            (answer.status, error["type"].as_str()),
            (status, Some(kind)),
            "{target} {body}: {}",
            answer.body
        );
        assert!(error["message"].is_string() && error.get("param").is_some(), "{}", answer.body);
    }
}

#[tokio::test]
async fn a_base_url_without_its_version_is_named() {
    let (_server, service) = start(Wire::Chat, Script::new()).await;
    let answer = service.post("/chat/completions", &question("?", false).to_string()).await;
    let message = "no route /chat/completions; see /docs; the base URL of an OpenAI client ends in /v1 here";
    assert_eq!(answer.json()["error"]["message"], message);
}

#[tokio::test]
async fn one_model_can_be_looked_up() {
    let (_server, service) = start(Wire::Chat, Script::new()).await;
    let found = service.get("/v1/models/m").await;
    assert_eq!(found.status, 200);
    assert_eq!(found.json(), service.get("/v1/models").await.json()["data"][0]);
    let unknown = service.get("/v1/models/other").await;
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (404, &json!("model_not_found")));
    assert!(unknown.body.contains("there are: m."), "{}", unknown.body);
}

#[tokio::test]
async fn the_statuses_of_a_model_reach_the_caller_where_they_concern_it() {
    for (fault, status) in [
        (Fault::RateLimited, 429),
        (Fault::UnknownModel, 404),
        (Fault::Unauthorized, 502),
        (Fault::ServerError, 502),
        (Fault::ContextLength, 400),
    ] {
        for stream in [false, true] {
            let (_server, service) = start(Wire::Chat, Script::new().fault(fault)).await;
            let answer = ask(&service, &question("?", stream)).await;
            assert_eq!(answer.status, status, "{fault:?} {stream}: {}", answer.body);
            assert!(answer.json()["error"]["message"].is_string(), "{}", answer.body);
        }
    }
}

/// Refused before the first byte, so that a stream has a status too.
#[tokio::test]
async fn personal_data_is_refused_with_a_status_and_counted() {
    for stream in [false, true] {
        let (server, service) = start_with(Wire::Chat, Script::new(), |config| {
            config.privacy.completions.messages = Some(ScreenMode::Block);
        })
        .await;
        let answer = ask(&service, &question("I am anna@example.com.", stream)).await;
        let error = &answer.json()["error"];
        assert_eq!(
            (answer.status, error["code"].as_str(), error["param"].as_str()),
            (400, Some("PERSONAL_DATA"), Some("messages")),
            "{}",
            answer.body
        );
        assert_eq!(server.requests().len(), 0);
        let metrics = service.get("/metrics").await.body;
        let line =
            r#"gateway_personal_data_total{face="completions",part="messages",kind="email",mode="block"} 1"#;
        assert!(metrics.contains(line), "{metrics}");
    }
}

#[tokio::test]
async fn a_failure_after_the_first_byte_is_an_event_and_the_stream_ends() {
    let script = Script::new().step(Step::spoiled(
        Fault::NoTerminalEvent,
        Reply::new().text("A long answer, of which not all arrives."),
    ));
    let (_server, service) = start(Wire::Chat, script).await;
    let answer = ask(&service, &question("?", true)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let chunks = super::chunks(&answer);
    let error = chunks.last().unwrap();
    assert!(error["error"]["message"].as_str().unwrap().contains("model `m`"), "{error}");
}

#[tokio::test]
async fn a_caller_who_goes_away_ends_the_request_to_the_model() {
    for stream in [false, true] {
        let gate = Gate::new();
        let script = Script::new().step(
            Step::reply(Reply::new().text("One. Two. Three."))
                .wait(if stream { Moment::Chunk(1) } else { Moment::Headers }, &gate),
        );
        let (server, service) = start(Wire::Chat, script).await;
        let mut caller = service.connect().await;
        let body = question("?", stream).to_string();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        caller.write_all((head + &body).as_bytes()).await.unwrap();
        server.arrived(0).await.unwrap();
        if stream {
            let mut some = [0; 64];
            assert!(caller.read(&mut some).await.unwrap() > 0);
        }
        drop(caller);
        server.aborted(0).await.unwrap();
    }
}

#[tokio::test]
async fn models_are_listed_and_health_knows_the_store() {
    let service = Service::with(|config| {
        config.models = vec![
            ModelSpec::at("a", ModelKind::OpenAi, "http://127.0.0.1:1/v1"),
            ModelSpec::at("b", ModelKind::Ollama, "http://127.0.0.1:1"),
        ];
    })
    .await;
    let listed = service.get("/v1/models").await.json();
    let ids: Vec<&Value> = listed["data"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!((ids, &listed["object"]), (vec![&json!("a"), &json!("b")], &json!("list")));
    assert_eq!(service.get("/health").await.json()["conversation_manager_initialized"], json!(true));
}

#[tokio::test]
async fn long_results_are_read_in_pieces_by_their_caller_only() {
    let script = Script::new()
        .reply(Reply::new().call("c1", "get_value", json!({"key": "k"})))
        .reply(Reply::new().text("Long."));
    let (server, service) = start_with(Wire::Chat, script, |config| {
        config.agent.result_characters = 200;
        config.heartbeat = Duration::from_secs(30);
    })
    .await;
    let text = "0123456789".repeat(100);
    let body = json!({"server": "demo", "tool": "store_value", "arguments": {"key": "k", "value": text}})
        .to_string();
    assert_eq!(service.post("/call_tool", &body).await.status, 200);
    assert_eq!(ask(&service, &question("?", false)).await.status, 200);
    let shown = server.requests()[1].body["messages"][2]["content"].as_str().unwrap().to_owned();
    let id = shown.split("the id \"").nth(1).unwrap().split('"').next().unwrap();
    let piece = service.get(&format!("/results/{id}?offset=20&length=30")).await;
    assert_eq!(
        (piece.status, piece.body.len(), piece.header("x-result-next")),
        (200, 30, Some("50")),
        "{}",
        piece.body
    );
    assert!(text.contains(&piece.body) || piece.body.contains("0123456789"), "{}", piece.body);
    for wrong in ["/results/res_nothing", "/results/..%2Fcalls.db"] {
        assert_eq!(service.get(wrong).await.status, 404, "{wrong}");
    }
    assert_eq!(service.get(&format!("/results/{id}?length=0")).await.status, 400);
}

#[tokio::test]
async fn requests_to_models_are_counted_by_what_came_of_them() {
    let script = Script::new()
        .reply(Reply::new().call("call_1", "add", json!({"a": 15, "b": 27})))
        .reply(Reply::new().text("42."))
        .fault(Fault::ServerError);
    let (_server, service) = start_with(Wire::Chat, script, |config| {
        let mut gone = ModelSpec::at("gone", ModelKind::OpenAi, "http://127.0.0.1:9/v1");
        gone.retries = 0;
        config.models.push(gone);
    })
    .await;
    assert_eq!(ask(&service, &question("?", false)).await.status, 200);
    assert_ne!(ask(&service, &question("?", false)).await.status, 200);
    let mut unreachable = question("?", false);
    unreachable["model"] = json!("gone");
    assert_ne!(ask(&service, &unreachable).await.status, 200);
    let metrics = service.get("/metrics").await.body;
    let counted: Vec<&str> =
        metrics.lines().filter(|line| line.starts_with("gateway_model_requests_total{")).collect();
    assert_eq!(
        counted,
        [
            r#"gateway_model_requests_total{model="gone",outcome="answered"} 0"#,
            r#"gateway_model_requests_total{model="gone",outcome="refused"} 0"#,
            r#"gateway_model_requests_total{model="gone",outcome="unanswered"} 1"#,
            r#"gateway_model_requests_total{model="m",outcome="answered"} 2"#,
            r#"gateway_model_requests_total{model="m",outcome="refused"} 1"#,
            r#"gateway_model_requests_total{model="m",outcome="unanswered"} 0"#,
        ]
    );
}
