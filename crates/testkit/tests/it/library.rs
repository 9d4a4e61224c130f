//! What tests use to start fixtures and to look at them.

use std::time::Duration;

use gateway_testkit::{
    Fault, Fixture, FixtureError, TimedOut, children_of, eventually, eventually_blocking, fixture_path,
    is_alive,
};
use serde_json::json;

use crate::talk::{LONG, call, value_of};
use crate::talk_http::HttpSession;

#[tokio::test]
async fn a_restarted_fixture_keeps_its_port_and_forgets_its_sessions() {
    let mut server = Fixture::http().start().await.unwrap();
    let (url, old) = (server.url().to_owned(), server.pid().unwrap());
    let id = HttpSession::open(&server).await.id;
    server.kill().await.unwrap();
    assert!(!is_alive(old));
    server.restart().await.unwrap();
    assert_eq!(server.url(), url);
    assert_ne!(server.pid(), Some(old));
    let lost = HttpSession { server: &server, id };
    assert_eq!(lost.post(&call(1, "echo", &json!({}))).await.status, 404);
    let sum = HttpSession::open(&server).await.post(&call(2, "add", &json!({"a": 1, "b": 1}))).await;
    assert_eq!(value_of(&sum.json().await)["result"], 2);
    server.restart().await.unwrap();
    assert_eq!(server.url(), url);
}

#[tokio::test]
async fn a_dropped_fixture_is_gone() {
    let server = Fixture::http().start().await.unwrap();
    let pid = server.pid().unwrap();
    assert!(is_alive(pid) && children_of(std::process::id()).contains(&pid));
    drop(server);
    eventually(LONG, "the end", || !is_alive(pid)).await.unwrap();
}

#[tokio::test]
async fn a_fixture_that_crashes_is_reported() {
    let crashed = Fixture::http().mode(Fault::CrashBeforeInitialize).start().await;
    assert!(matches!(crashed, Err(FixtureError::NotListening(_))));
    let stdio = Fixture::stdio().start().await;
    assert!(matches!(stdio, Err(FixtureError::NotListening(_))));
}

#[tokio::test]
async fn waiting_has_an_end() {
    let short = Duration::from_millis(30);
    let expected = Err(TimedOut { what: "nothing".to_owned(), waited: short });
    assert_eq!(eventually(short, "nothing", || false).await, expected);
    assert_eq!(eventually_blocking(short, "nothing", || false), expected);
    let mut turns = 0;
    let third = || {
        turns += 1;
        turns == 3
    };
    assert_eq!(eventually(LONG, "the third turn", third).await, Ok(()));
}

#[test]
fn the_command_is_ready_for_a_configuration() {
    let (command, arguments) =
        Fixture::stdio().mode_with(Fault::CrashEvery, 3).args(["--stateless"]).command().unwrap();
    assert_eq!(command, fixture_path().unwrap());
    assert!(command.is_absolute() && command.exists());
    assert_eq!(arguments, ["stdio", "--mode", "crash-every=3", "--stateless"]);
}

#[test]
fn the_help_names_every_mode() {
    let output = std::process::Command::new(fixture_path().unwrap()).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    for fault in Fault::ALL {
        assert!(help.contains(fault.name()), "{}", fault.name());
    }
}
