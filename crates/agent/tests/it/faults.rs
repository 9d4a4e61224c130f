//! Every fault of a model's server, over every wire, streamed and not.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use gateway_agent::completions::CompletionError;
use gateway_agent::{AgentError, ModelFailure};
use gateway_config::Secret;
use gateway_testkit::models::{Delivery, Fault, Gate, ModelServer, Moment, Reply, Script, Step, Wire};
use serde_json::json;

use crate::gateway::{Gateway, spec};

/// The key of every model here. No message may show it.
const KEY: &str = "sk-test-0123456789";

/// How long a model may be silent where a fault is silence.
const SILENCE: Duration = Duration::from_millis(800);

/// What comes of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The API's refusal, with its status.
    Status(u16),
    /// Unreachable, or gone.
    Connection,
    Timeout,
    /// The API's own error where a reply should be.
    Stream,
    Malformed,
    /// The reply is whole all the same.
    Answered,
}

/// What has to come of a fault, and a part of the message.
fn expected(fault: Fault, streamed: bool) -> (Outcome, &'static str) {
    let ended = "the stream ended before the reply did";
    match fault {
        Fault::RateLimitedSeconds | Fault::RateLimitedDate | Fault::RateLimited => {
            (Outcome::Status(429), "answered 429: ")
        }
        Fault::ServerError => (Outcome::Status(500), "answered 500: "),
        Fault::Unavailable => (Outcome::Status(503), "answered 503: "),
        Fault::Overloaded => (Outcome::Status(529), "answered 529: "),
        Fault::SchemaRefused | Fault::ToolRefused | Fault::ContextLength => {
            (Outcome::Status(400), "answered 400: ")
        }
        Fault::Unauthorized => (Outcome::Status(401), "answered 401: "),
        Fault::UnknownModel => (Outcome::Status(404), "answered 404: "),
        Fault::HtmlBadGateway => (Outcome::Status(502), "answered 502: a proxy in front of it"),
        Fault::Redirect => (Outcome::Status(307), "answered 307: the address redirects"),
        Fault::ConnectionRefused => (Outcome::Connection, "cannot be reached at "),
        Fault::ClosedBeforeHeaders => (Outcome::Connection, "gave no answer at "),
        Fault::ClosedInChunk | Fault::ClosedInArguments => (Outcome::Connection, "broke off: "),
        Fault::NoTerminalEvent | Fault::ContentLengthTooShort if streamed => (Outcome::Connection, ended),
        Fault::NoTerminalEvent | Fault::ContentLengthTooShort | Fault::MalformedJson => {
            (Outcome::Malformed, "no JSON")
        }
        Fault::ErrorEvent => (Outcome::Stream, "broke off with an error: "),
        Fault::Html => (Outcome::Malformed, "a page in HTML; check `baseUrl`"),
        Fault::EmptyBody => (Outcome::Malformed, "the reply is empty"),
        Fault::GzipGarbage => (Outcome::Malformed, "the reply is compressed"),
        Fault::HangBeforeHeaders | Fault::HangAfterFirstChunk => (Outcome::Timeout, "sent nothing for 800ms"),
        Fault::OversizeLine => (Outcome::Malformed, " has more than "),
        // The end of a stream says itself that nothing is missing.
        Fault::ContentLengthTooLong if !streamed => (Outcome::Connection, "before message length reached"),
        Fault::ContentLengthTooLong | Fault::WrongContentType | Fault::Trickle => (Outcome::Answered, ""),
    }
}

/// A server that has a fault as long as it is broken.
async fn faulty(fault: Fault, wire: Wire, is_broken: &Arc<AtomicBool>) -> ModelServer {
    let fine = || Reply::new().text("It is 42.");
    let script = if fault == Fault::ConnectionRefused {
        Script::new().fault(fault).last(fine())
    } else {
        let is_broken = Arc::clone(is_broken);
        Script::by(move |request| {
            let is_fine = !is_broken.load(Ordering::SeqCst) || request.last_result().is_some();
            if is_fine { fine().into() } else { Step::fault(fault) }
        })
    };
    ModelServer::start(wire, script).await.unwrap()
}

fn outcome_of(error: &CompletionError) -> Outcome {
    let CompletionError::Agent(AgentError::Model(error)) = error else { panic!("not the model's: {error}") };
    match &error.failure {
        ModelFailure::Status { status, .. } => Outcome::Status(*status),
        ModelFailure::Connection(_) => Outcome::Connection,
        ModelFailure::Timeout(_) => Outcome::Timeout,
        ModelFailure::Stream(_) => Outcome::Stream,
        ModelFailure::Malformed(_) => Outcome::Malformed,
        other => panic!("{other:?}"),
    }
}

/// One fault over one wire: what comes of it, and that the next request is answered.
async fn check(fault: Fault, wire: Wire, streamed: bool) {
    let about = format!("{} over {}, streamed: {streamed}", fault.name(), wire.name());
    let is_broken = Arc::new(AtomicBool::new(false));
    let server = faulty(fault, wire, &is_broken).await;
    let gateway = Gateway::with(wire, &server, |config| {
        let mut model = spec("m", wire, &server);
        model.api_key = Some(Secret::new(KEY));
        model.base_url = model.base_url.replace("http://", "http://somebody:password-77@");
        if matches!(fault, Fault::HangBeforeHeaders | Fault::HangAfterFirstChunk) {
            model.timeout = SILENCE;
        }
        config.models = vec![model];
    });
    if fault == Fault::Trickle {
        // All that waits now is the server between two bytes.
        gateway.text(false).await.unwrap();
        tokio::time::pause();
    }
    is_broken.store(true, Ordering::SeqCst);
    let (outcome, words) = expected(fault, streamed);
    match gateway.text(streamed).await {
        Ok(text) => {
            assert_eq!(outcome, Outcome::Answered, "{about}: {text}");
            assert_eq!(text, "Let me add these two.\n\nIt is 42.", "{about}");
            assert_eq!(gateway.calls(), 1, "{about}");
        }
        Err(error) => {
            assert_eq!(outcome_of(&error), outcome, "{about}: {error}");
            let (message, body) = (error.to_string(), error.body().to_string());
            let start = match wire {
                Wire::Ollama => "Ollama completion error: model `m`: ",
                _ => "model `m`: ",
            };
            assert!(message.starts_with(start) && message.contains(words), "{about}: {message}");
            assert!(message.len() > start.len() + 10, "{about}: {message}");
            for secret in [KEY, "password-77", "somebody"] {
                assert!(!message.contains(secret) && !body.contains(secret), "{about}: {message} {body}");
            }
            assert_eq!(gateway.calls(), 0, "{about}: a call ran that nobody made to its end");
        }
    }
    assert_eq!(server.redirected(), [], "{about}: the key went elsewhere");
    is_broken.store(false, Ordering::SeqCst);
    if fault == Fault::Trickle {
        tokio::time::resume();
    }
    if fault == Fault::ConnectionRefused {
        server.reopen().unwrap();
    }
    assert_eq!(gateway.text(streamed).await.unwrap(), "It is 42.", "{about}: the next request");
}

/// So many gateways at a time.
const AT_ONCE: usize = 16;

const REFUSED: &[Fault] = &[
    Fault::RateLimitedSeconds,
    Fault::RateLimitedDate,
    Fault::RateLimited,
    Fault::ServerError,
    Fault::Unavailable,
    Fault::Overloaded,
    Fault::Unauthorized,
    Fault::UnknownModel,
    Fault::ContextLength,
    Fault::HtmlBadGateway,
];
const TOOLS_REFUSED: &[Fault] = &[Fault::SchemaRefused, Fault::ToolRefused];
const REDIRECTED: &[Fault] = &[Fault::Redirect];
const ENDED: &[Fault] = &[
    Fault::ConnectionRefused,
    Fault::ClosedBeforeHeaders,
    Fault::ClosedInChunk,
    Fault::ClosedInArguments,
    Fault::NoTerminalEvent,
    Fault::ContentLengthTooShort,
];
const UNREADABLE: &[Fault] = &[Fault::MalformedJson, Fault::Html, Fault::EmptyBody, Fault::GzipGarbage];
const ERRORS: &[Fault] = &[Fault::ErrorEvent];
const SILENT: &[Fault] = &[Fault::HangBeforeHeaders, Fault::HangAfterFirstChunk];
const WHOLE: &[Fault] = &[Fault::WrongContentType, Fault::ContentLengthTooLong];
const SLOW: &[Fault] = &[Fault::Trickle];
const ENDLESS: &[Fault] = &[Fault::OversizeLine];

/// These faults, over all wires, streamed and not, so many at once.
async fn check_all(faults: &[Fault], at_once: usize) {
    let wires = faults.iter().flat_map(|fault| Wire::OF_AGENT.iter().map(|wire| (*fault, *wire)));
    let cases = wires
        .flat_map(|(fault, wire)| [false, true].map(|streamed| check(fault, wire, streamed).boxed_local()));
    stream::iter(cases).buffer_unordered(at_once).collect::<Vec<()>>().await;
}

#[tokio::test]
async fn refusals_keep_their_status_and_their_words() {
    check_all(REFUSED, AT_ONCE).await;
}

#[tokio::test]
async fn tools_that_stay_refused_are_the_apis_error() {
    check_all(TOOLS_REFUSED, AT_ONCE).await;
}

#[tokio::test]
async fn redirects_are_not_followed() {
    check_all(REDIRECTED, AT_ONCE).await;
}

#[tokio::test]
async fn connections_that_end_too_early_are_errors() {
    check_all(ENDED, AT_ONCE).await;
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error_that_says_why() {
    check_all(UNREADABLE, AT_ONCE).await;
}

#[tokio::test]
async fn an_error_in_the_place_of_a_reply_is_the_error() {
    check_all(ERRORS, AT_ONCE).await;
}

#[tokio::test]
async fn silence_is_a_timeout() {
    check_all(SILENT, 2 * AT_ONCE).await;
}

#[tokio::test]
async fn replies_that_are_whole_all_the_same_are_taken() {
    check_all(WHOLE, AT_ONCE).await;
}

#[tokio::test]
async fn slow_replies_are_read_to_their_end() {
    check_all(SLOW, 1).await;
}

#[tokio::test]
async fn an_endless_line_is_not_kept() {
    // One after the other: each may hold as much as the bound allows.
    check_all(ENDLESS, 1).await;
}

#[tokio::test]
async fn a_stream_that_said_that_it_is_over_need_not_end() {
    let cases = Wire::OF_AGENT.iter().map(|wire| async move {
        let reply = Reply::new().text("It is 42.");
        let step = Step::reply(reply).wait(Moment::End, &Gate::new());
        let server = ModelServer::start(*wire, Script::new().step(step)).await.unwrap();
        let gateway = Gateway::with(*wire, &server, |config| {
            // Gemini's stream has no last event, so there only silence says that it is over.
            if *wire == Wire::GenerateContent {
                config.models[0].timeout = SILENCE;
            }
        });
        assert_eq!(gateway.text(true).await.unwrap(), "It is 42.", "{wire:?}");
    });
    join_all(cases).await;
}

#[tokio::test]
async fn a_key_that_an_api_repeats_is_not_passed_on() {
    let body = format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}\",\"code\":\"x\"}}}}");
    let server = ModelServer::start(Wire::Chat, Script::new().last(Step::raw(401, "application/json", body)))
        .await
        .unwrap();
    let gateway =
        Gateway::with(Wire::Chat, &server, |config| config.models[0].api_key = Some(Secret::new(KEY)));
    let error = gateway.text(false).await.unwrap_err();
    let shown = format!("{error} {}", error.body());
    assert!(shown.contains("Incorrect API key provided") && !shown.contains(KEY), "{shown}");
}

#[test]
fn every_fault_is_checked() {
    let groups =
        [REFUSED, TOOLS_REFUSED, REDIRECTED, ENDED, UNREADABLE, ERRORS, SILENT, WHOLE, SLOW, ENDLESS];
    let checked: BTreeSet<&Fault> = groups.into_iter().flatten().collect();
    assert_eq!(checked, Fault::ALL.iter().collect());
}

#[tokio::test]
async fn long_arguments_are_the_same_streamed_and_whole() {
    let value = "x".repeat(300 << 10);
    for wire in Wire::OF_AGENT.iter().copied() {
        for stream in [false, true] {
            let arguments = json!({"key": "k", "value": value});
            let script = Script::new()
                .reply(Reply::new().call("call00001", "store_value", arguments))
                .reply(Reply::new().text("Stored."));
            let server = ModelServer::start(wire, script).await.unwrap();
            let gateway = Gateway::over(wire, &server);
            assert_eq!(gateway.text(stream).await.unwrap(), "Stored.", "{wire:?}, streamed: {stream}");
            assert_eq!(gateway.calls(), 1, "{wire:?}, streamed: {stream}");
        }
    }
}

#[tokio::test]
async fn a_reply_without_an_end_ends_with_an_error() {
    let text = "x".repeat(512 << 10);
    let chunk = |delta: serde_json::Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let call =
        |piece: &str| json!([{"index": 0, "id": "c", "function": {"name": "add", "arguments": piece}}]);
    let begun = chunk(json!({"content": "It begins."}));
    for more in
        [json!({"content": text}), json!({"reasoning_content": text}), json!({"tool_calls": call(&text)})]
    {
        let more = chunk(more);
        let body = format!("data: {begun}\n\n{}", format!("data: {more}\n\n").repeat(20));
        let script = Script::new().last(Step::raw(200, "text/event-stream", body));
        let server = ModelServer::start(Wire::Chat, script).await.unwrap();
        let error = Gateway::over(Wire::Chat, &server).text(true).await.unwrap_err();
        assert_eq!(error.to_string(), "model `m`: the reply has more than 8388608 bytes");
    }
    let long = json!({"choices": [{"message": {"role": "assistant", "content": "x".repeat(9 << 20)}}]});
    let script = Script::new().last(Step::raw(200, "application/json", long.to_string()));
    let server = ModelServer::start(Wire::Chat, script).await.unwrap();
    let error = Gateway::over(Wire::Chat, &server).text(false).await.unwrap_err();
    assert_eq!(error.to_string(), "model `m`: the reply has more than 8388608 bytes");
}

#[tokio::test]
async fn long_events_and_replies_are_read_beside_the_workers() {
    let text = "word ".repeat(40_000);
    for wire in Wire::OF_AGENT.iter().copied() {
        for stream in [false, true] {
            let step = Step::reply(Reply::new().text(&*text)).delivered(Delivery::one_chunk());
            let server = ModelServer::start(wire, Script::new().step(step)).await.unwrap();
            let answer = Gateway::over(wire, &server).text(stream).await.unwrap();
            assert!(answer == text, "{wire:?}, streamed: {stream}");
        }
    }
}
