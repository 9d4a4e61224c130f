//! Errors have the shape of Chat Completions, whatever went wrong.

use std::collections::BTreeSet;
use std::time::Duration;

use gateway_agent::completions::{BadRequest, CompletionError, code};
use gateway_agent::{AgentError, ModelError, ModelFailure, UnknownModel};
use gateway_config::ModelKind;
use gateway_runtime::failure::Failure;
use serde_json::{Value, json};

fn model(failure: ModelFailure) -> CompletionError {
    CompletionError::Agent(AgentError::Model(ModelError { model: "m".to_owned(), kind: None, failure }))
}

fn status(status: u16, body: Option<Value>) -> CompletionError {
    let body = body.map(Box::new);
    model(ModelFailure::Status { status, message: "No.".to_owned(), body, retry_after: None })
}

#[track_caller]
fn check(error: &CompletionError, message: &str, kind: &str, param: Option<&str>, code: Option<&str>) {
    let expected = json!({"error": {"message": message, "type": kind, "param": param, "code": code}});
    assert_eq!(error.body(), expected);
}

#[test]
fn wrong_requests_name_the_member() {
    let bad = BadRequest { message: "\"model\" must be a text".to_owned(), param: Some("model".into()) };
    check(&bad.into(), "\"model\" must be a text", "invalid_request_error", Some("model"), None);
}

#[test]
fn unknown_models_have_the_code_that_clients_look_for() {
    let message = "no model is called `x`".to_owned();
    let unknown = UnknownModel { message: message.clone(), known: Vec::new() };
    check(&unknown.into(), &message, "invalid_request_error", Some("model"), Some("model_not_found"));
}

#[test]
fn statuses_have_the_types_that_clients_look_for() {
    for (code, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "authentication_error"),
        (404, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "server_error"),
        (529, "server_error"),
    ] {
        check(&status(code, None), &format!("model `m`: answered {code}: No."), kind, None, None);
        // Errors of other APIs that are no object are not passed on as they are.
        let text = Some(json!({"error": "model not found"}));
        check(&status(code, text), &format!("model `m`: answered {code}: No."), kind, None, None);
    }
}

#[test]
fn the_apis_own_error_is_passed_on() {
    let own = json!({"message": "Too long", "type": "invalid_request_error", "param": "messages",
        "code": "context_length_exceeded", "new": 1});
    assert_eq!(status(400, Some(json!({"error": own}))).body(), json!({"error": own}));
}

#[test]
fn errors_of_other_apis_have_the_members_that_clients_read() {
    let anthropic = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let google = json!({"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}});
    for body in [anthropic, google] {
        let written = status(503, Some(body)).body();
        let error = &written["error"];
        assert!(error["message"].is_string() && error["type"].is_string(), "{written}");
        assert!(error["code"].is_string() || error["code"].is_null(), "{written}");
        assert!(error.as_object().unwrap().contains_key("param"), "{written}");
    }
}

#[test]
fn errors_of_ollama_say_so_first() {
    let failure = ModelFailure::Connection("cannot be reached: refused".to_owned());
    let error = ModelError { model: "m".to_owned(), kind: Some(ModelKind::Ollama), failure };
    assert_eq!(error.to_string(), "Ollama completion error: model `m`: cannot be reached: refused");
}

#[test]
fn what_happened_to_the_model_has_a_code() {
    let text = || "x".to_owned();
    for (failure, kind, code) in [
        (ModelFailure::Timeout(Duration::from_secs(3)), "timeout_error", Some("model_timeout")),
        (ModelFailure::Connection(text()), "server_error", Some("model_unreachable")),
        (ModelFailure::Stream(text()), "server_error", Some("model_error")),
        (ModelFailure::Malformed(text()), "server_error", Some("model_error")),
        (ModelFailure::Request(text()), "invalid_request_error", None),
    ] {
        let message = format!("model `m`: {failure}");
        check(&model(failure), &message, kind, None, code);
    }
}

#[test]
fn what_happened_in_the_loop_has_a_code() {
    for (error, code) in [
        (AgentError::Limit("exceeded max turns (10)".to_owned()), "limit_exceeded"),
        (AgentError::Empty { model: "m".to_owned(), times: 3 }, "empty_answer"),
        (AgentError::Journal("disk full".to_owned()), "store_unavailable"),
        (AgentError::Gone, "cancelled"),
        (AgentError::Tools(Failure::Internal("x".to_owned())), Failure::Internal(String::new()).code()),
    ] {
        let message = error.to_string();
        check(&error.into(), &message, "server_error", None, Some(code));
    }
}

/// The document of the routes and the classes of the clients are made from the table.
#[test]
fn the_table_has_the_codes_that_are_sent_and_no_others() {
    let text = || "x".to_owned();
    let too_long = json!({"error": {"message": "prompt is too long"}});
    let errors: Vec<CompletionError> = vec![
        UnknownModel { message: text(), known: Vec::new() }.into(),
        status(400, Some(too_long)),
        model(ModelFailure::Timeout(Duration::from_secs(3))),
        model(ModelFailure::Connection(text())),
        model(ModelFailure::Stream(text())),
        model(ModelFailure::Malformed(text())),
        AgentError::Limit(text()).into(),
        AgentError::Empty { model: text(), times: 3 }.into(),
        AgentError::Journal(text()).into(),
        AgentError::Gone.into(),
    ];
    let bodies: Vec<Value> = errors.iter().map(CompletionError::body).collect();
    let sent: BTreeSet<&str> = bodies.iter().filter_map(|body| body["error"]["code"].as_str()).collect();
    assert_eq!(sent, code::ALL.iter().map(|code| code.word).collect());
    assert_eq!(code::ALL.len(), sent.len());
}

#[test]
fn a_conversation_that_is_too_long_has_the_code_that_clients_look_for() {
    for (body, message) in [
        (json!({"error": {"message": "prompt is too long: 203542 tokens > 200000 maximum"}}), "No."),
        (
            json!({"error": {"code": 400, "message": "The input token count (1195021) exceeds the maximum number of tokens allowed (1048576)."}}),
            "No.",
        ),
        (
            json!({"error": "the input length exceeds the context length"}),
            "the input length exceeds the context length",
        ),
    ] {
        let (message, body) = (message.to_owned(), Some(Box::new(body)));
        let written = model(ModelFailure::Status { status: 400, message, body, retry_after: None }).body();
        assert_eq!(written["error"]["code"], "context_length_exceeded", "{written}");
    }
}

#[test]
fn a_refused_key_or_address_is_said_to_be_the_models() {
    let own = json!({"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}});
    for code in [401, 403, 404] {
        let written = status(code, Some(own.clone())).body();
        let message = format!("model `m`: answered {code}: No.");
        let expected = json!({"message": message, "type": "invalid_request_error", "param": null, "code": "invalid_api_key"});
        assert_eq!(written["error"], expected);
    }
}

#[test]
fn wrong_names_of_groups_are_the_callers() {
    let unknown = Failure::UnknownGroup { message: "no group `x`".to_owned(), known: Vec::new() };
    let written = CompletionError::from(AgentError::Tools(unknown)).body();
    assert_eq!(written["error"]["type"], "invalid_request_error", "{written}");
}

#[test]
fn an_unknown_model_is_answered_with_those_that_there_are() {
    let unknown = UnknownModel {
        message: "no model is called `x`".to_owned(),
        known: vec!["a".to_owned(), "b".to_owned()],
    };
    let message =
        "no model is called `x`; there are: a, b. `models` of the configuration is read at the start";
    check(&unknown.into(), message, "invalid_request_error", Some("model"), Some("model_not_found"));
    let unknown = UnknownModel {
        message: "no model is called `x`".to_owned(),
        known: (0..11).map(|number| number.to_string()).collect(),
    };
    let message = "no model is called `x`; `GET /v1/models` lists the 11 that there are. `models` of the configuration is read at the start";
    check(&unknown.into(), message, "invalid_request_error", Some("model"), Some("model_not_found"));
}
