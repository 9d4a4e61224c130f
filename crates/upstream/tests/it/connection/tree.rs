//! Nothing that a server started outlives its connection.

use std::time::Duration;

use gateway_upstream::{Connection, UpstreamSpec};

use super::peer::{call, open, python, shell, text};

/// A server that starts `command` in the background and tells its number.
fn with_child(command: &str) -> UpstreamSpec {
    let mut spec = python(&format!(
        r#"
if not legacy(message) and method == "tools/call":
    import subprocess
    child = subprocess.Popen({command}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    result(message, text(str(child.pid)))
"#
    ));
    spec.timeouts.close = Duration::from_millis(200);
    spec
}

async fn child_of(connection: &Connection) -> u32 {
    text(&call(connection, "start").await.expect("a result")).parse().expect("a number")
}

/// Whether the process is there and no zombie.
fn lives(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

#[tokio::test]
async fn closing_ends_the_process_and_its_children() {
    for command in [
        r#"["sleep", "1000"]"#,
        // Out of the group.
        r#"["setsid", "sleep", "1000"]"#,
        // Without a parent, out of the group, deaf to SIGTERM.
        r#"["setsid", "sh", "-c", "trap '' TERM; sleep 1000; sleep 1000"]"#,
    ] {
        let connection = open(&with_child(command)).await.expect("the peer answers");
        let (process, child) = (connection.process().expect("a process"), child_of(&connection).await);
        assert!(lives(process) && lives(child), "{command}");
        connection.close().await;
        assert!(!lives(process) && !lives(child), "{command}");
    }
}

#[tokio::test]
async fn dropping_ends_them_too() {
    let connection = open(&with_child(r#"["setsid", "sleep", "1000"]"#)).await.expect("the peer answers");
    let (process, child) = (connection.process().expect("a process"), child_of(&connection).await);
    drop(connection);
    while lives(process) || lives(child) {
        gateway_testkit::pause().await;
    }
}

#[tokio::test]
async fn a_crash_leaves_nothing_behind() {
    let connection = open(&with_child(r#"["setsid", "sleep", "1000"]"#)).await.expect("the peer answers");
    let (process, child) = (connection.process().expect("a process"), child_of(&connection).await);
    let number = i32::try_from(process).expect("a small number");
    let number = rustix::process::Pid::from_raw(number).expect("not zero");
    rustix::process::kill_process(number, rustix::process::Signal::KILL).expect("it is ours");
    assert!(connection.ended().await.starts_with("it was ended by signal 9"));
    connection.close().await;
    assert!(!lives(child));
}

#[tokio::test]
async fn wrappers_leave_no_grandchildren() {
    let directory = tempfile::tempdir().expect("a directory");
    let note = directory.path().join("note");
    let mut spec = shell(&format!("sleep 1000 & echo $! > '{}'; wait", note.display()));
    spec.timeouts.probe = Duration::from_millis(50);
    spec.timeouts.connect = Duration::from_secs(2);
    open(&spec).await.expect_err("it never answers");
    let child: u32 = std::fs::read_to_string(&note).expect("a note").trim().parse().expect("a number");
    while lives(child) {
        gateway_testkit::pause().await;
    }
}

#[tokio::test]
async fn a_flood_on_the_standard_error_blocks_nobody_and_stays_bounded() {
    let mut spec = python(
        r#"
if not legacy(message) and method == "tools/call":
    for line in range(20000):
        print("noise", line, file=sys.stderr)
    result(message, text("done"))
"#,
    );
    spec.limits.stderr_bytes = 1_000;
    let connection = open(&spec).await.expect("the peer answers");
    assert_eq!(text(&call(&connection, "any").await.expect("a result")), "done");
    while !connection.stderr().ends_with("noise 19999\n") {
        gateway_testkit::pause().await;
    }
    assert!(connection.stderr().len() <= 1_000);
    connection.close().await;
}
