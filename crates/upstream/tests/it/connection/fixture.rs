//! Every transport, era and kind of answer against the fixture server, and its faults.

use std::collections::BTreeMap;
use std::time::Duration;

use gateway_testkit::{AnswerKind, Fault, Fixture, LOSSLESS_RESULT, SpokenEra};
use gateway_upstream::{CallError, Endpoint, HttpMode, OutgoingRequest, UpstreamSpec};

use super::peer::{call, open, request, text};

fn stdio(fixture: &Fixture) -> UpstreamSpec {
    let (command, args) = fixture.command().expect("the fixture can be built");
    let command = command.to_string_lossy().into_owned();
    UpstreamSpec::new("peer", Endpoint::Stdio { command, args, env: BTreeMap::new(), cwd: None })
}

fn http(url: &str) -> UpstreamSpec {
    let headers = BTreeMap::new();
    UpstreamSpec::new("peer", Endpoint::Http { url: url.to_owned(), headers, mode: HttpMode::Auto })
}

/// Connects, and sees that a result that is easily damaged is not.
async fn check(spec: &UpstreamSpec, transport: &str, era: &str) {
    let connection = open(spec).await.unwrap_or_else(|error| panic!("{transport} {era}: {error}"));
    assert_eq!((connection.transport(), connection.era().name()), (transport, era));
    let result =
        call(&connection, "lossless").await.unwrap_or_else(|error| panic!("{transport} {era}: {error}"));
    assert_eq!(result.as_str(), LOSSLESS_RESULT, "{transport} {era}");
    let tools = connection.request(request("tools/list", &[])).await.expect("a list");
    assert!(tools.as_str().contains("\"lossless\""), "{tools}");
    connection.close().await;
}

#[tokio::test]
async fn every_transport_and_era_gives_the_same_result() {
    let eras = [(SpokenEra::Legacy, "legacy"), (SpokenEra::Modern, "modern"), (SpokenEra::Both, "modern")];
    for (spoken, era) in eras {
        check(&stdio(&Fixture::stdio().era(spoken)), "stdio", era).await;
        for answers in [AnswerKind::Json, AnswerKind::Sse] {
            let server = Fixture::http().era(spoken).answers(answers).start().await.expect("it listens");
            check(&http(server.url()), "http", era).await;
        }
    }
    let stateless =
        Fixture::http().era(SpokenEra::Legacy).args(["--stateless"]).start().await.expect("it listens");
    check(&http(stateless.url()), "http", "legacy").await;
    let server = Fixture::sse().era(SpokenEra::Legacy).start().await.expect("it listens");
    check(&http(server.url()), "sse", "legacy").await;
}

#[tokio::test]
async fn a_server_that_is_silent_before_initialize_is_legacy() {
    let mut spec = stdio(&Fixture::stdio().era(SpokenEra::Legacy).mode(Fault::SilentBeforeInitialize));
    spec.timeouts.probe = Duration::from_millis(100);
    check(&spec, "stdio", "legacy").await;
}

#[tokio::test]
async fn odd_answers_reach_their_caller() {
    for fault in [
        Fault::OutOfOrder,
        Fault::DuplicateAnswers,
        Fault::UnknownIds,
        Fault::IdAsText,
        Fault::StdoutNoise,
        Fault::NoisyStderr,
    ] {
        let connection = open(&stdio(&Fixture::stdio().mode(fault))).await.expect("the fixture answers");
        let calls = (0..8).map(|_| call(&connection, "lossless"));
        for outcome in futures_util::future::join_all(calls).await {
            assert_eq!(outcome.expect("a result").as_str(), LOSSLESS_RESULT, "{fault:?}");
        }
        connection.close().await;
    }
}

#[tokio::test]
async fn long_lines_never_hang_a_call() {
    for fault in [Fault::LongLine, Fault::LongLineTail, Fault::EndlessLine, Fault::HugeResult] {
        let mut spec = stdio(&Fixture::stdio().mode_with(fault, 3_000_000).only_tool("lossless"));
        spec.limits.message_bytes = 1_000_000;
        spec.timeouts.close = Duration::from_millis(200);
        let connection = open(&spec).await.expect("the fixture answers");
        let outcome = call(&connection, "lossless").await;
        assert!(matches!(outcome, Err(CallError::TooLong { .. })), "{fault:?}: {outcome:?}");
        if fault != Fault::EndlessLine {
            let params = [("name", b"\"echo\"".as_slice()), ("arguments", b"{\"text\":\"on\"}".as_slice())];
            let next = connection.request(request("tools/call", &params)).await;
            assert!(text(&next.expect("the stream goes on")).contains("on"), "{fault:?}");
        }
        connection.close().await;
    }
}

#[tokio::test]
async fn nothing_of_a_stubborn_family_is_left() {
    let directory = tempfile::tempdir().expect("a directory");
    let pids = directory.path().join("pids");
    let fixture = Fixture::stdio().mode(Fault::Grandchild).mode(Fault::IgnoresSigterm);
    let mut spec = stdio(&fixture.option("--pid-file", pids.display()));
    spec.timeouts.close = Duration::from_millis(200);
    let connection = open(&spec).await.expect("the fixture answers");
    call(&connection, "lossless").await.expect("a result");
    let family = || gateway_testkit::count_lines(&pids) == 3;
    gateway_testkit::eventually(super::peer::PATIENCE, "the family", family).await.expect("in time");
    connection.close().await;
    let pids = std::fs::read_to_string(&pids).expect("the fixture wrote it");
    let numbers: Vec<u32> =
        pids.lines().filter_map(|line| line.split_whitespace().nth(1)?.parse().ok()).collect();
    assert_eq!(numbers.len(), 3, "{pids}");
    for number in numbers {
        assert!(!gateway_testkit::is_alive(number), "{number} of {pids}");
    }
}

#[tokio::test]
async fn faults_of_http_are_told_apart() {
    #[track_caller]
    fn check(fault: Fault, outcome: &Result<gateway_protocol::RawJson, CallError>) {
        let expected = match fault {
            Fault::HttpStatus | Fault::CloseMidBody => matches!(outcome, Err(CallError::Lost { .. })),
            Fault::WrongJson | Fault::WrongShape => matches!(outcome, Err(CallError::Malformed { .. })),
            Fault::HugeResult => matches!(outcome, Err(CallError::TooLong { .. })),
            Fault::NeverAnswers => matches!(outcome, Err(CallError::Timeout { .. })),
            // A page without a message, or an answer that is labelled wrongly.
            Fault::WrongContentType => !matches!(outcome, Err(CallError::Timeout { .. })),
            _ => outcome.as_ref().is_ok_and(|result| result.as_str() == LOSSLESS_RESULT),
        };
        assert!(expected, "{fault:?}: {outcome:?}");
    }
    for fault in [
        Fault::HttpStatus,
        Fault::CloseMidBody,
        Fault::WrongJson,
        Fault::WrongShape,
        Fault::HugeResult,
        Fault::NeverAnswers,
        Fault::WrongContentType,
        Fault::SlowBody,
        Fault::ForgetSessions,
    ] {
        for era in [SpokenEra::Legacy, SpokenEra::Modern] {
            let value = if fault == Fault::HugeResult { 3_000_000 } else { fault.default_value() };
            let server = Fixture::http().era(era).mode_with(fault, value).start().await.expect("it listens");
            let mut spec = http(server.url());
            spec.limits.message_bytes = 1_000_000;
            let connection = open(&spec).await.expect("the fixture answers");
            for _ in 0..4 {
                let params = [("name", b"\"lossless\"".as_slice())];
                let idle = Duration::from_millis(if fault == Fault::NeverAnswers { 100 } else { 10_000 });
                let outgoing = OutgoingRequest {
                    name: Some("lossless"),
                    idle,
                    maximum: idle,
                    ..request("tools/call", &params)
                };
                check(fault, &connection.request(outgoing).await);
                if fault != Fault::ForgetSessions {
                    break;
                }
            }
            connection.close().await;
        }
    }
}
