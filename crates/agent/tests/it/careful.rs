//! APIs that refuse a tool: they are asked once more, with tools written more carefully.

use std::collections::BTreeMap;

use gateway_config::{Endpoint, ServiceConfig, UpstreamSpec};
use gateway_testkit::Fixture;
use gateway_testkit::models::{Behaviour, Fault, ModelServer, Reply, Script, Step, Wire};
use serde_json::{Value, json};

use crate::gateway::{Gateway, question, spec, strict_model};

fn fine() -> Reply {
    Reply::new().text("It is 42.")
}

/// Checks that the answer came at the second attempt, and says so.
#[track_caller]
fn check_notice(answer: &Value, about: &str) {
    let notices = answer["gateway"]["notices"].as_array().unwrap_or_else(|| panic!("{about}: {answer}"));
    assert_eq!(notices.len(), 1, "{about}: {notices:?}");
    let notice = notices[0].as_str().unwrap();
    assert!(
        notice.contains("answered 400: ") && notice.contains("tools written more carefully"),
        "{about}: {notice}"
    );
}

#[tokio::test]
async fn a_refused_tool_is_sent_once_more_and_more_carefully() {
    for wire in Wire::OF_AGENT.iter().copied() {
        for fault in [Fault::SchemaRefused, Fault::ToolRefused] {
            let script = Script::new()
                .fault(fault)
                .reply(Reply::new().call("call00001", "add", json!({"a": 15, "b": 27})))
                .reply(fine());
            let server = ModelServer::start(wire, script).await.unwrap();
            let about = format!("{wire:?} {fault:?}");
            let answer = Gateway::over(wire, &server).whole(&question(false), None).await.unwrap();
            assert_eq!(answer["choices"][0]["message"]["content"], "It is 42.", "{about}");
            assert_eq!(answer["gateway"]["calls"][0]["tool"], "add", "{about}");
            check_notice(&answer, &about);
            let requests = server.requests();
            assert_eq!(requests.len(), 3, "{about}");
            assert_eq!(requests[1].tools(), requests[2].tools(), "{about}: careful in later rounds too");
            let names = |index: usize| -> Vec<String> {
                requests[index].tools().into_iter().map(|tool| tool.name).collect()
            };
            assert_eq!(names(0), names(1), "{about}: no tool is lost");
        }
    }
}

#[tokio::test]
async fn a_tool_that_stays_refused_is_not_sent_a_third_time() {
    for wire in Wire::OF_AGENT.iter().copied() {
        let server = ModelServer::start(wire, Script::new().last(Fault::SchemaRefused)).await.unwrap();
        Gateway::over(wire, &server).text(false).await.unwrap_err();
        assert_eq!(server.requests().len(), 2, "{wire:?}");
    }
}

#[tokio::test]
async fn a_400_about_something_else_is_not_tried_again() {
    for wire in Wire::OF_AGENT.iter().copied() {
        for message in [
            "This model's maximum context length is 128000 tokens.",
            "Unsupported value: 'temperature' does not support 0.5 with this model.",
            "messages: roles must alternate",
            "Please add a user message.",
        ] {
            let body = json!({"error": {"message": message, "type": "invalid_request_error"}}).to_string();
            let refusal = Step::raw(400, "application/json", body);
            let server = ModelServer::start(wire, Script::new().step(refusal).last(fine())).await.unwrap();
            Gateway::over(wire, &server).text(false).await.unwrap_err();
            assert_eq!(server.requests().len(), 1, "{wire:?}: {message}");
        }
    }
}

#[tokio::test]
async fn without_tools_nothing_can_be_sent_more_carefully() {
    let server = ModelServer::start(Wire::Messages, Script::new().last(Fault::SchemaRefused)).await.unwrap();
    let error = Gateway::over(Wire::Messages, &server).whole(&question(false), Some("none")).await;
    assert!(error.is_err());
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn geminis_words_for_a_keyword_lead_to_careful_tools() {
    let text = "Invalid JSON payload received. Unknown name \"exclusiveMinimum\" at \
                'tools[0].function_declarations[3].parameters.properties[0].value': Cannot find field.";
    let body = json!({"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}).to_string();
    let script = Script::new().step(Step::raw(400, "application/json", body)).reply(fine());
    let server = strict_model(Wire::GenerateContent, script).await;
    let gateway = Gateway::over(Wire::GenerateContent, &server);
    check_notice(&gateway.whole(&question(false), None).await.unwrap(), "Gemini");
    assert_eq!(server.requests().len(), 2);
}

/// A gateway with a tool whose schema has defaults.
fn with_defaults(wire: Wire, server: &ModelServer, change: impl FnOnce(&mut ServiceConfig)) -> Gateway {
    let fixture = Fixture::stdio().args(["--no-builtin"]).option("--tools", 1);
    let (command, args) = fixture.command().unwrap();
    let command = command.to_str().unwrap().to_owned();
    let endpoint = Endpoint::Stdio { command, args, env: BTreeMap::new(), cwd: None };
    let mut config = ServiceConfig::default();
    config.models = vec![spec("m", wire, server)];
    change(&mut config);
    Gateway::with_servers(config, vec![UpstreamSpec::new("fixture", endpoint)])
}

#[tokio::test]
async fn an_argo_server_gets_no_defaults_where_its_dialect_is_known() {
    let script = Script::new().last(Behaviour::CallToolOnce("tool_00000".to_owned()));
    let server = strict_model(Wire::Argo, script).await;
    let gateway = with_defaults(Wire::Argo, &server, |_| {});
    let answer = gateway.whole(&question(false), None).await.unwrap();
    assert_eq!(answer["gateway"]["calls"][0]["tool"], "tool_00000", "{answer}");
    assert_eq!(answer["gateway"].get("notices"), None, "the first request was right");
}

#[tokio::test]
async fn an_argo_server_that_nobody_named_refuses_defaults_and_is_asked_again() {
    let script = Script::new().last(Behaviour::CallToolOnce("tool_00000".to_owned()));
    let server = strict_model(Wire::Argo, script).await;
    let gateway = with_defaults(Wire::Argo, &server, |config| {
        config.models[0].model = Some("gpt-4o".to_owned());
    });
    let answer = gateway.whole(&question(false), None).await.unwrap();
    assert_eq!(answer["gateway"]["calls"][0]["tool"], "tool_00000", "{answer}");
    check_notice(&answer, "Argo");
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests[0].tools()[0].schema.to_string().contains("\"default\""));
    assert!(!requests[1].tools()[0].schema.to_string().contains("\"default\""));
}
