//! Upstreams that do not behave: what the caller sees, what health says, and how it goes on.

use std::time::{Duration, Instant};

use gateway_testkit::{Fault, Fixture, count_lines_with, eventually, is_alive};
use gateway_upstream::{CallError, Fleet, OnDefinitionChange, UpstreamSpec, UpstreamState};

use crate::fleet::{PATIENCE, call, http, start, stdio, text};

/// What a caller saw, in one word.
fn word(outcome: &Result<gateway_protocol::RawJson, CallError>) -> &'static str {
    match outcome {
        Ok(_) => "result",
        Err(CallError::Lost { .. }) => "lost",
        Err(CallError::Timeout { .. }) => "timeout",
        Err(CallError::TooLong { .. }) => "too long",
        Err(CallError::Malformed { .. }) => "malformed",
        Err(CallError::Unreachable { .. }) => "unreachable",
        Err(CallError::Refused { .. }) => "refused",
        Err(_) => "other",
    }
}

/// One row of the table: the fault strikes once, on a call of `count`.
async fn strike(fixture: Fixture, fault: Fault, seen: &str, ran: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (counter, memory) = (folder.path().join("counter"), folder.path().join("memory"));
    let fixture = fixture.mode(fault).only_tool("count").times(1, &memory).counter(&counter);
    let mut spec = stdio("bad", &fixture);
    spec.timeouts.call = if seen == "timeout" { Duration::from_millis(400) } else { PATIENCE };
    spec.limits.message_bytes = 1 << 20;
    strike_spec(spec, fault, seen, ran, &counter).await;
}

async fn strike_spec(spec: UpstreamSpec, fault: Fault, seen: &str, ran: usize, counter: &std::path::Path) {
    let fleet = start(vec![spec]);
    call(&fleet, "bad", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    let outcome = call(&fleet, "bad", "count", "{}").await;
    assert_eq!(word(&outcome), seen, "{fault:?}: {outcome:?}");
    assert_eq!(count_lines_with(counter, "count"), ran, "{fault:?}: how often the tool ran");
    let failed = Instant::now();
    recovered(&fleet, fault).await;
    assert!(failed.elapsed() < PATIENCE, "{fault:?}");
    assert_eq!(count_lines_with(counter, "count"), ran, "{fault:?}: nothing ran again on its own");
    fleet.shutdown(PATIENCE).await;
}

/// The upstream answers again without anybody's help.
async fn recovered(fleet: &Fleet, fault: Fault) {
    let begin = Instant::now();
    loop {
        let outcome = call(fleet, "bad", "add", r#"{"a":1,"b":2}"#).await;
        if outcome.is_ok() && fleet.health_of("bad").unwrap().ok {
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "{fault:?}: {outcome:?} {:?}", fleet.health_of("bad"));
        gateway_testkit::pause().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_before_the_call_ran_is_told_and_nothing_runs() {
    strike(Fixture::stdio(), Fault::CrashBeforeCall, "lost", 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_after_the_tool_ran_is_told_and_it_ran_once() {
    strike(Fixture::stdio(), Fault::CrashDuringCall, "lost", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_after_the_answer_is_not_the_callers_matter() {
    strike(Fixture::stdio(), Fault::CrashAfterCall, "result", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_an_answer_times_out() {
    strike(Fixture::stdio(), Fault::NeverAnswers, "timeout", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_long_lines_fail_their_call_and_no_other() {
    strike(Fixture::stdio(), Fault::LongLine, "too long", 1).await;
    strike(Fixture::stdio(), Fault::LongLineTail, "too long", 1).await;
    strike(Fixture::stdio(), Fault::EndlessLine, "too long", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_answer_fails_its_call_and_noise_is_ignored() {
    strike(Fixture::stdio(), Fault::WrongJson, "malformed", 1).await;
    strike(Fixture::stdio(), Fault::StdoutNoise, "result", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_answers_still_reach_their_call() {
    for fault in
        [Fault::DuplicateAnswers, Fault::UnknownIds, Fault::IdAsText, Fault::UnknownFields, Fault::OutOfOrder]
    {
        strike(Fixture::stdio(), fault, "result", 1).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_over_http_are_told() {
    for (fault, seen, ran) in [
        (Fault::HttpStatus, "lost", 1),
        (Fault::CloseMidBody, "lost", 1),
        (Fault::WrongContentType, "result", 1),
        (Fault::SlowBody, "result", 1),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (counter, memory) = (folder.path().join("counter"), folder.path().join("memory"));
        let fixture = Fixture::http().mode(fault).only_tool("count").times(1, &memory).counter(&counter);
        let server = fixture.start().await.unwrap();
        let fleet = start(vec![http("bad", server.url())]);
        call(&fleet, "bad", "add", r#"{"a":1,"b":2}"#).await.unwrap();
        let outcome = call(&fleet, "bad", "count", "{}").await;
        assert_eq!(word(&outcome), seen, "{fault:?}: {outcome:?}");
        assert!(count_lines_with(&counter, "count") <= ran, "{fault:?}");
        recovered(&fleet, fault).await;
        fleet.shutdown(PATIENCE).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_session_is_opened_again_and_the_call_runs_once() {
    let folder = tempfile::tempdir().unwrap();
    let counter = folder.path().join("counter");
    let fixture = Fixture::http().era(gateway_testkit::SpokenEra::Legacy).mode_with(Fault::ForgetSessions, 2);
    let server = fixture.counter(&counter).start().await.unwrap();
    let fleet = start(vec![http("bad", server.url())]);
    for _ in 0..6 {
        call(&fleet, "bad", "count", "{}").await.unwrap();
    }
    assert_eq!(count_lines_with(&counter, "count"), 6);
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_server_is_found_again() {
    let mut server = Fixture::http().start().await.unwrap();
    let fleet = start(vec![http("bad", server.url())]);
    call(&fleet, "bad", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    server.kill().await.unwrap();
    let outcome = call(&fleet, "bad", "add", r#"{"a":1,"b":2}"#).await;
    assert_eq!(word(&outcome), "unreachable", "{outcome:?}");
    server.restart().await.unwrap();
    recovered(&fleet, Fault::HttpStatus).await;
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_listing_that_fails_is_tried_again() {
    let mut spec = stdio("bad", &Fixture::stdio().mode_with(Fault::FailFirstList, 2));
    (spec.restart.first, spec.restart.longest) = (Duration::from_secs(1), Duration::from_secs(1));
    let fleet = start(vec![spec]);
    fleet.listed(&[], PATIENCE).await;
    let health = fleet.health_of("bad").unwrap();
    assert!(!health.ok && health.tools.is_none() && health.reason.is_some(), "{health:?}");
    eventually(PATIENCE, "the list", || fleet.health_of("bad").unwrap().ok).await.unwrap();
    assert!(fleet.health_of("bad").unwrap().tools.unwrap() > 5);
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listings_without_end_are_refused_as_a_whole() {
    for (fault, told) in [
        (Fault::CursorLoop, "MCP_PAGINATION_CURSOR_REPEATED"),
        (Fault::EndlessPages, "MCP_PAGINATION_LIMIT_EXCEEDED"),
        (Fault::FailingPage, "page 2"),
        (Fault::SilentList, "gave no answer within"),
    ] {
        let mut spec = stdio("bad", &Fixture::stdio().mode(fault));
        spec.limits.pages = 50;
        spec.timeouts.list = if fault == Fault::SilentList { Duration::from_secs(1) } else { PATIENCE };
        let fleet = start(vec![spec, stdio("good", &Fixture::stdio())]);
        fleet.listed(&[], PATIENCE).await;
        let health = fleet.health_of("bad").unwrap();
        let reason = health.reason.clone().unwrap_or_default();
        assert!(reason.contains(told) && health.tools.is_none(), "{fault:?}: {health:?}");
        assert!(fleet.catalogue().tools_of("bad").next().is_none());
        assert!(fleet.catalogue().tools_of("good").next().is_some());
        fleet.shutdown(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_read_to_their_end() {
    for fault in [Fault::Paged, Fault::EmptyPages] {
        let fleet =
            start(vec![stdio("paged", &Fixture::stdio().mode(fault)), stdio("whole", &Fixture::stdio())]);
        fleet.listed(&[], PATIENCE).await;
        let names =
            |id: &str| fleet.catalogue().tools_of(id).map(|tool| tool.name.clone()).collect::<Vec<_>>();
        assert_eq!(names("paged"), names("whole"), "{fault:?}");
        fleet.shutdown(PATIENCE).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_changes_ends_in_the_last_list() {
    let fleet = start(vec![stdio("bad", &Fixture::stdio().mode_with(Fault::ListChangedStorm, 50))]);
    fleet.listed(&[], PATIENCE).await;
    let before = fleet.catalogue().version();
    eventually(PATIENCE, "a new list", || fleet.catalogue().version() > before).await.unwrap();
    eventually(PATIENCE, "the last list", || {
        fleet.catalogue().tools().iter().any(|tool| tool.name.contains("50"))
    })
    .await
    .unwrap();
    assert!(fleet.catalogue().version() < before + 50, "one listing for each change is too many");
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_definition_is_told_and_blocked_where_that_is_wanted() {
    for (policy, blocked) in [(OnDefinitionChange::Warn, false), (OnDefinitionChange::Block, true)] {
        let mut spec = stdio("bad", &Fixture::stdio().mode(Fault::ChangedDefinition));
        spec.tools.on_definition_change = policy;
        let fleet = start(vec![spec]);
        call(&fleet, "bad", "add", r#"{"a":1,"b":2}"#).await.unwrap();
        fleet.refresh("bad").unwrap();
        eventually(PATIENCE, "the notice", || {
            !fleet.health_of("bad").unwrap().changed_definitions.is_empty()
        })
        .await
        .unwrap();
        let notice = fleet.health_of("bad").unwrap().changed_definitions.remove(0);
        assert_eq!((notice.change.tool.as_str(), notice.blocked), ("add", blocked));
        let outcome = call(&fleet, "bad", "add", r#"{"a":1,"b":2}"#).await;
        assert_eq!(matches!(outcome, Err(CallError::Blocked { .. })), blocked, "{outcome:?}");
        fleet.accept_definitions("bad", notice.shown_fingerprint()).await.unwrap();
        call(&fleet, "bad", "add", r#"{"a":1,"b":2}"#).await.unwrap();
        fleet.shutdown(PATIENCE).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_loop_is_visible_and_can_be_revived() {
    const TIMES: usize = 1_000;
    let folder = tempfile::tempdir().unwrap();
    let memory = folder.path().join("memory");
    let fixture = Fixture::stdio().mode(Fault::CrashBeforeInitialize).times(TIMES as u64, &memory);
    let mut spec = stdio("bad", &fixture);
    spec.restart.attempts = 3;
    spec.restart.longest = Duration::from_hours(1);
    spec.restart.first = Duration::from_millis(5);
    let fleet = start(vec![spec]);
    fleet.listed(&[], PATIENCE).await;
    let crashing = || fleet.health_of("bad").unwrap().state == UpstreamState::Crashing;
    eventually(PATIENCE, "the crash loop", crashing).await.unwrap();
    let health = fleet.health_of("bad").unwrap();
    assert!(health.failures >= 3 && health.reason.is_some(), "{health:?}");
    assert!(fleet.restart("bad").await.is_err(), "a restart is one more attempt");
    std::fs::write(&memory, "fault\n".repeat(TIMES)).unwrap();
    fleet.restart("bad").await.unwrap();
    call(&fleet, "bad", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn noise_on_standard_error_harms_nothing_and_is_kept_in_part() {
    let fleet = start(vec![stdio("bad", &Fixture::stdio().mode(Fault::NoisyStderr))]);
    let result = call(&fleet, "bad", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    assert!(text(&result).contains('3'));
    let stderr = fleet.health_of("bad").unwrap().stderr;
    assert!(!stderr.is_empty() && stderr.len() <= 16 << 10, "{} bytes are kept", stderr.len());
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_goes_away_cancels_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let counter = folder.path().join("counter");
    let server = Fixture::http().counter(&folder.path().join("counter-http")).start().await.unwrap();
    let fleet = start(vec![stdio("stdio", &Fixture::stdio().counter(&counter)), http("http", server.url())]);
    for (id, file) in [("stdio", counter.clone()), ("http", folder.path().join("counter-http"))] {
        call(&fleet, id, "add", r#"{"a":1,"b":2}"#).await.unwrap();
        let task = tokio::spawn({
            let fleet = fleet.clone();
            async move { call(&fleet, id, "slow", r#"{"ms":60000}"#).await }
        });
        eventually(PATIENCE, "the slow call", || count_lines_with(&file, "slow-started") > 0).await.unwrap();
        assert_eq!(fleet.health_of(id).unwrap().in_flight, 1);
        task.abort();
        let cancelled = || std::fs::read_to_string(&file).unwrap_or_default().contains("cancelled");
        eventually(PATIENCE, "the cancellation", cancelled).await.unwrap();
        eventually(PATIENCE, "the free slot", || fleet.health_of(id).unwrap().in_flight == 0).await.unwrap();
    }
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_dies_between_calls_is_started_again() {
    let fleet = start(vec![stdio("bad", &Fixture::stdio())]);
    call(&fleet, "bad", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    let process = fleet.health_of("bad").unwrap().process.unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(i32::try_from(process).unwrap()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    eventually(PATIENCE, "the death", || !is_alive(process)).await.unwrap();
    recovered(&fleet, Fault::CrashAfterCall).await;
    assert!(fleet.health_of("bad").unwrap().restarts >= 1);
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_lists_and_dies_is_a_crash_loop() {
    let mut spec = stdio("bad", &Fixture::stdio().mode(Fault::CrashAfterList));
    spec.restart.attempts = 3;
    spec.restart.first = Duration::from_millis(5);
    let fleet = start(vec![spec]);
    fleet.listed(&[], PATIENCE).await;
    let crashing = || fleet.health_of("bad").unwrap().state == UpstreamState::Crashing;
    eventually(PATIENCE, "the crash loop", crashing).await.unwrap();
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_is_restarted_but_a_busy_one_is_not() {
    let mut spec =
        stdio("bad", &Fixture::stdio().era(gateway_testkit::SpokenEra::Legacy).mode_with(Fault::Slow, 1_500));
    spec.restart.ping_every = Some(Duration::from_millis(50));
    spec.restart.ping_timeout = Duration::from_millis(50);
    spec.restart.ping_failures = 2;
    let fleet = start(vec![spec]);
    let result = call(&fleet, "bad", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    assert!(text(&result).contains('3'));
    assert_eq!(fleet.health_of("bad").unwrap().restarts, 0);
    fleet.shutdown(PATIENCE).await;
}
