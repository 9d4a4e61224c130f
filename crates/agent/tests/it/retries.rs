//! Requests that are sent again, and models that are asked in another's stead.

use std::sync::Arc;

use gateway_agent::completions::CompletionError;
use gateway_agent::{AgentError, ModelFailure};
use gateway_config::ServiceConfig;
use gateway_testkit::models::{Fault, ModelServer, Reply, Script, Step, Usage, Wire};
use serde_json::json;
use tokio::sync::Notify;
use tracing::span::{Attributes, Id, Record};

use crate::gateway::{Gateway, gateway_member, question, spec};

fn fine() -> Reply {
    Reply::new().text("It is 42.")
}

/// A gateway that repeats what a model could not take at the moment.
fn patient(wire: Wire, server: &ModelServer, retries: u32) -> Gateway {
    Gateway::with(wire, server, |config| config.models[0].retries = retries)
}

fn failure(error: CompletionError) -> ModelFailure {
    match error {
        CompletionError::Agent(AgentError::Model(error)) => error.failure,
        other => panic!("not the model's: {other}"),
    }
}

#[tokio::test]
async fn a_rate_limit_is_waited_for_as_long_as_the_api_wants() {
    for wire in Wire::OF_AGENT.iter().copied() {
        for fault in [Fault::RateLimitedSeconds, Fault::RateLimitedDate] {
            for stream in [false, true] {
                let script = Script::new().step(Step::fault(fault).retry_after(0)).reply(fine());
                let server = ModelServer::start(wire, script).await.unwrap();
                let gateway = patient(wire, &server, 2);
                assert_eq!(gateway.text(stream).await.unwrap(), "It is 42.", "{wire:?} {fault:?}");
                let requests = server.requests();
                assert_eq!(requests.len(), 2, "{wire:?} {fault:?}");
                assert_eq!(requests[0].raw, requests[1].raw, "{wire:?}: the same request again");
            }
        }
    }
}

#[tokio::test]
async fn an_api_that_wants_to_be_left_alone_for_long_is_not_asked_again() {
    let script = Script::new().step(Step::fault(Fault::RateLimitedSeconds).retry_after(3_600)).reply(fine());
    let server = ModelServer::start(Wire::Chat, script).await.unwrap();
    let error = patient(Wire::Chat, &server, 2).text(false).await.unwrap_err();
    assert!(matches!(failure(error), ModelFailure::Status { status: 429, .. }));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn what_passes_by_is_tried_again() {
    let cases = [Fault::ServerError, Fault::Unavailable, Fault::Overloaded, Fault::ClosedBeforeHeaders]
        .into_iter()
        .flat_map(|fault| [false, true].map(|stream| (fault, stream)))
        .map(|(fault, stream)| async move {
            let server =
                ModelServer::start(Wire::Chat, Script::new().fault(fault).reply(fine())).await.unwrap();
            assert_eq!(patient(Wire::Chat, &server, 2).text(stream).await.unwrap(), "It is 42.", "{fault:?}");
            assert_eq!(server.requests().len(), 2, "{fault:?}");
        });
    futures_util::future::join_all(cases).await;
}

/// Notices when a request is about to be sent again.
#[derive(Clone)]
struct Repeats(Arc<Notify>);

impl tracing::Subscriber for Repeats {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("gateway_agent::http_model")
    }

    fn new_span(&self, _attributes: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, _event: &tracing::Event<'_>) {
        self.0.notify_one();
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

#[tokio::test]
async fn a_model_that_comes_up_late_is_reached() {
    let script = Script::new().fault(Fault::ConnectionRefused).reply(fine());
    let server = ModelServer::start(Wire::Chat, script).await.unwrap();
    let repeats = Repeats(Arc::new(Notify::new()));
    let _guard = tracing::subscriber::set_default(repeats.clone());
    let gateway = patient(Wire::Chat, &server, 2);
    let comes_up = async {
        repeats.0.notified().await;
        server.reopen().unwrap();
    };
    let (text, ()) = tokio::join!(gateway.text(false), comes_up);
    assert_eq!(text.unwrap(), "It is 42.");
    assert_eq!(server.requests().len(), 1, "nobody listened before");
}

#[tokio::test]
async fn what_stays_wrong_is_not_sent_again() {
    for fault in [Fault::Unauthorized, Fault::ContextLength, Fault::UnknownModel, Fault::Redirect] {
        for stream in [false, true] {
            let server =
                ModelServer::start(Wire::Chat, Script::new().fault(fault).last(fine())).await.unwrap();
            let error = patient(Wire::Chat, &server, 5).text(stream).await.unwrap_err();
            assert!(matches!(failure(error), ModelFailure::Status { .. }), "{fault:?}");
            assert_eq!(server.requests().len(), 1, "{fault:?}");
        }
    }
}

#[tokio::test]
async fn nothing_is_sent_again_after_the_first_byte() {
    for wire in Wire::OF_AGENT.iter().copied() {
        for fault in [Fault::ClosedInChunk, Fault::ErrorEvent, Fault::NoTerminalEvent] {
            let server = ModelServer::start(wire, Script::new().fault(fault).last(fine())).await.unwrap();
            patient(wire, &server, 5).text(true).await.unwrap_err();
            assert_eq!(server.requests().len(), 1, "{wire:?} {fault:?}");
        }
    }
}

#[tokio::test]
async fn when_patience_ends_the_last_error_counts() {
    let script = Script::new()
        .step(Step::fault(Fault::RateLimitedSeconds).retry_after(0))
        .step(Step::fault(Fault::RateLimitedSeconds).retry_after(0))
        .fault(Fault::Unavailable)
        .last(fine());
    let server = ModelServer::start(Wire::Chat, script).await.unwrap();
    let error = patient(Wire::Chat, &server, 2).text(false).await.unwrap_err();
    assert!(matches!(failure(error), ModelFailure::Status { status: 503, .. }));
    assert_eq!(server.requests().len(), 3);
}

/// A gateway whose model `m` has another behind it.
fn with_fallback(first: (Wire, &ModelServer), second: (Wire, &ModelServer)) -> Gateway {
    let mut config = ServiceConfig::default();
    config.models = vec![spec("m", first.0, first.1), spec("spare", second.0, second.1)];
    config.models[0].fallbacks = vec!["spare".to_owned()];
    Gateway::new(config)
}

#[tokio::test]
async fn another_model_answers_in_the_place_of_one_that_fails() {
    for (index, wire) in Wire::OF_AGENT.iter().copied().enumerate() {
        let other = Wire::OF_AGENT[(index + 3) % Wire::OF_AGENT.len()];
        for (fault, stream) in
            [(Fault::ServerError, false), (Fault::ClosedBeforeHeaders, true), (Fault::Html, true)]
        {
            let first = ModelServer::start(wire, Script::new().last(fault)).await.unwrap();
            let call = Reply::new().call("call00001", "add", json!({"a": 15, "b": 27}));
            let second = ModelServer::start(other, Script::new().reply(call).reply(fine())).await.unwrap();
            let gateway = with_fallback((wire, &first), (other, &second));
            let member = gateway_member(&gateway, stream).await;
            let notice = member["notices"][0].as_str().unwrap_or_default();
            assert!(notice.contains("model `m`: ") && notice.contains("`spare`"), "{wire:?}: {member}");
            assert_eq!(member["calls"][0]["tool"], "add", "{wire:?} then {other:?}: {member}");
            assert_eq!((first.requests().len(), second.requests().len()), (1, 2), "{wire:?} {fault:?}");
        }
    }
}

#[tokio::test]
async fn another_model_is_asked_where_the_first_is_closed_or_unknown() {
    for fault in [Fault::Unauthorized, Fault::UnknownModel] {
        let first = ModelServer::start(Wire::Chat, Script::new().last(fault)).await.unwrap();
        let second = ModelServer::start(Wire::Messages, Script::new().last(fine())).await.unwrap();
        let gateway = with_fallback((Wire::Chat, &first), (Wire::Messages, &second));
        gateway.text(false).await.unwrap();
        assert_eq!(second.requests().len(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn another_model_is_not_asked_when_the_request_is_wrong() {
    for fault in [Fault::ContextLength, Fault::SchemaRefused] {
        let first = ModelServer::start(Wire::Chat, Script::new().last(fault)).await.unwrap();
        let second = ModelServer::start(Wire::Messages, Script::new().last(fine())).await.unwrap();
        let gateway = with_fallback((Wire::Chat, &first), (Wire::Messages, &second));
        gateway.text(false).await.unwrap_err();
        assert_eq!(second.requests().len(), 0, "{fault:?}");
    }
}

#[tokio::test]
async fn another_model_is_not_asked_once_text_was_passed_on() {
    let first = ModelServer::start(Wire::Chat, Script::new().last(Fault::ErrorEvent)).await.unwrap();
    let second = ModelServer::start(Wire::Messages, Script::new().last(fine())).await.unwrap();
    let gateway = with_fallback((Wire::Chat, &first), (Wire::Messages, &second));
    gateway.text(true).await.unwrap_err();
    assert_eq!(second.requests().len(), 0, "the answer would be of two models");
}

#[tokio::test]
async fn usage_is_the_sum_over_the_rounds() {
    let usage = |input, output| Usage { input, output, ..Usage::default() };
    for wire in Wire::OF_AGENT.iter().copied() {
        for stream in [false, true] {
            let script = Script::new()
                .reply(Reply::new().call("call00001", "add", json!({"a": 1, "b": 2})).usage(usage(100, 10)))
                .reply(fine().usage(usage(200, 5)));
            let server = ModelServer::start(wire, script).await.unwrap();
            let gateway = Gateway::over(wire, &server);
            let last = if stream {
                gateway.streamed(&question(true), None).await.unwrap().pop().unwrap()
            } else {
                gateway.whole(&question(false), None).await.unwrap()
            };
            let (sum, rounds) = (&last["usage"], &last["gateway"]["rounds"]);
            assert_eq!(
                (&sum["prompt_tokens"], &sum["completion_tokens"], &sum["total_tokens"]),
                (&json!(300), &json!(15), &json!(315)),
                "{wire:?}, streamed: {stream}"
            );
            assert_eq!(rounds[0]["prompt_tokens"], 100, "{wire:?}");
            assert_eq!(rounds[1]["completion_tokens"], 5, "{wire:?}");
        }
    }
}
