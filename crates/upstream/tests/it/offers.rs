//! What servers offer beside tools: a server that says nothing is waited for once, and what it said last is remembered.

use std::time::Duration;

use gateway_protocol::ListKind;
use gateway_testkit::{Fault, Fixture};
use gateway_upstream::CallError;

use crate::fleet::{PATIENCE, call, http, start, stdio};

/// Longer than any test may take: whoever waits for so long never comes back.
const FOREVER: Duration = Duration::from_hours(1);
const SHORT: Duration = Duration::from_millis(1);

/// Waits for something that must not need all the time that it was given.
async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("nobody waits for it a second time")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_connects_is_waited_for_once() {
    let mut silent = stdio("silent", &Fixture::stdio().mode(Fault::Silent));
    silent.timeouts.connect = FOREVER;
    let fleet = start(vec![silent]);
    assert_eq!(fleet.capabilities("silent", SHORT).await, None);
    assert_eq!(soon(fleet.capabilities("silent", FOREVER)).await, None);
    for kind in [ListKind::Prompts, ListKind::Resources] {
        for wait in [SHORT, FOREVER] {
            let outcome = soon(fleet.entries("silent", kind, wait)).await;
            assert!(matches!(outcome, Err(CallError::Unreachable { .. })), "{kind:?} {outcome:?}");
        }
    }
    fleet.shutdown(Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_never_comes_is_waited_for_once_and_holds_nothing_else_up() {
    let fixture =
        Fixture::stdio().everything().mode(Fault::NeverAnswers).option("--fault-method", "prompts/list");
    let mut spec = stdio("half", &fixture);
    spec.timeouts.list = FOREVER;
    let fleet = start(vec![spec]);
    assert!(fleet.capabilities("half", PATIENCE).await.is_some_and(|can| can.prompts && can.resources));
    for wait in [SHORT, FOREVER] {
        let outcome = soon(fleet.entries("half", ListKind::Prompts, wait)).await;
        assert!(matches!(outcome, Err(CallError::Unreachable { .. })), "{outcome:?}");
    }
    let resources = fleet.entries("half", ListKind::Resources, PATIENCE).await.unwrap();
    assert!(!resources.is_empty());
    fleet.shutdown(Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_offered_is_known_while_it_is_away() {
    let server = Fixture::http().everything().start().await.unwrap();
    let fleet = start(vec![http("up", server.url())]);
    let before = fleet.entries("up", ListKind::Prompts, PATIENCE).await.unwrap();
    let can = fleet.capabilities("up", PATIENCE).await;
    assert!(!before.is_empty() && can.is_some());
    fleet.listed(&[], PATIENCE).await;
    drop(server);
    while call(&fleet, "up", "greet", r#"{"name":"x"}"#).await.is_ok() {}
    let after = soon(fleet.entries("up", ListKind::Prompts, SHORT)).await.unwrap();
    assert_eq!(*after, *before);
    assert_eq!(soon(fleet.capabilities("up", SHORT)).await, can);
    fleet.shutdown(Duration::ZERO).await;
}
