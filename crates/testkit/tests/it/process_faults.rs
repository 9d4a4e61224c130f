//! Faults of the process: its start, its end, its children, its stderr.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use gateway_testkit::{Fault, Fixture, children_of, eventually, is_alive};
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use crate::talk::{LONG, SHORT, Talk, call};

fn signal(name: &str, pid: u32) {
    let done = std::process::Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
    assert!(done.success());
}

fn pid_of(path: &Path, name: &str) -> u32 {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(key, _)| *key == name).unwrap().1.parse().unwrap()
}

#[tokio::test]
async fn a_slow_start_takes_its_time() {
    let start = Instant::now();
    Talk::open(&Fixture::stdio().mode_with(Fault::SlowStart, 300)).await;
    assert!(start.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn sigterm_ends_a_fixture_unless_it_ignores_it() {
    let mut talk = Talk::open(&Fixture::stdio()).await;
    signal("-TERM", talk.child.id().unwrap());
    assert_eq!(talk.exit_code().await, None, "ended by the signal");

    let mut talk = Talk::open(&Fixture::stdio().mode(Fault::IgnoresSigterm)).await;
    let pid = talk.child.id().unwrap();
    signal("-TERM", pid);
    assert_eq!(talk.ask(&call(1, "echo", &json!({}))).await["id"], 1);
    talk.close_stdin();
    signal("-TERM", pid);
    assert!(tokio::time::timeout(SHORT, talk.child.wait()).await.is_err());
    assert!(is_alive(pid));
    signal("-KILL", pid);
    assert_eq!(talk.exit_code().await, None);
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn grandchildren_are_there_and_outlive_their_parent() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let fixture = Fixture::stdio().mode(Fault::Grandchild).option("--pid-file", pids.display());
    let mut talk = Talk::open(&fixture).await;
    let server = talk.child.id().unwrap();
    let (child, detached) = (pid_of(&pids, "child"), pid_of(&pids, "detached"));
    assert_eq!(pid_of(&pids, "server"), server);
    let mut children = children_of(server);
    children.sort_unstable();
    let mut expected = vec![child, detached];
    expected.sort_unstable();
    assert_eq!(children, expected);
    let session = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(')').unwrap().1.split_whitespace().nth(3).unwrap().to_owned()
    };
    eventually(LONG, "the new session", || session(detached) == detached.to_string()).await.unwrap();
    assert_eq!(session(child), session(server));
    talk.child.kill().await.unwrap();
    assert!(is_alive(child) && is_alive(detached));
    for pid in [child, detached] {
        signal("-KILL", pid);
        eventually(LONG, "the end", || !is_alive(pid)).await.unwrap();
    }
}

#[tokio::test]
async fn stderr_can_be_flooded() {
    let fixture = Fixture::stdio().mode_with(Fault::NoisyStderr, 1_000_000);
    let mut talk = Talk::start_with(&fixture, Stdio::piped(), &[]);
    let mut stderr = talk.child.stderr.take().unwrap();
    let reader = tokio::spawn(async move {
        let mut text = Vec::new();
        stderr.read_to_end(&mut text).await.unwrap();
        text.len()
    });
    talk.handshake().await;
    talk.ask(&call(1, "echo", &json!({}))).await;
    talk.close_stdin();
    talk.exit_code().await;
    assert!(reader.await.unwrap() >= 2_000_000);
}

#[tokio::test]
async fn whoever_does_not_read_stderr_gets_no_answer() {
    let fixture = Fixture::stdio().mode_with(Fault::NoisyStderr, 1_000_000);
    let mut talk = Talk::start_with(&fixture, Stdio::piped(), &[]);
    talk.send(&crate::talk::initialize(1)).await;
    assert!(talk.is_silent().await);
}
