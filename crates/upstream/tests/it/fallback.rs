//! What takes calls over when an upstream cannot answer, and that nothing runs twice that must not.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gateway_testkit::{Fault, Fixture, count_lines, count_lines_with, eventually, is_alive};
use gateway_upstream::{CallError, Endpoint, Fallback, FallbackOn, UpstreamId, UpstreamSpec};

use crate::fleet::{PATIENCE, call, start, stdio};

/// A folder with the files of the first server and of the one that takes over.
struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The first server, with a fault in each call.
    fn first(&self, fault: Fault) -> UpstreamSpec {
        let fixture = Fixture::stdio().mode(fault).counter(&self.file("first"));
        let mut spec = stdio("first", &fixture);
        spec.timeouts.call = Duration::from_secs(1);
        spec
    }

    /// The one that takes over.
    fn second(&self) -> UpstreamSpec {
        let fixture = Fixture::stdio().counter(&self.file("second"));
        stdio("second", &fixture.option("--pid-file", self.file("pids").display()))
    }

    fn ran(&self, tool: &str) -> (usize, usize) {
        let count = |file: &Path| count_lines_with(file, tool);
        (count(&self.file("first")), count(&self.file("second")))
    }
}

fn command(spec: UpstreamSpec) -> Fallback {
    Fallback::Command(spec.endpoint)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_may_run_twice_is_taken_over_and_no_other() {
    for is_command in [false, true] {
        let files = Files::new();
        let mut specs = vec![files.first(Fault::NeverAnswers), files.second()];
        let fallback =
            if is_command { command(specs.remove(1)) } else { Fallback::Server(UpstreamId::new("second")) };
        specs[0].fallback = Some(fallback);
        let fleet = start(specs);
        fleet.listed(&[UpstreamId::new("first")], PATIENCE).await;
        if is_command {
            assert_eq!(count_lines(&files.file("pids")), 0, "it is not started before it is needed");
        }
        call(&fleet, "first", "count_idempotent", "{}").await.unwrap();
        assert_eq!(files.ran("count_idempotent"), (1, 1));
        let outcome = call(&fleet, "first", "count", "{}").await;
        assert!(matches!(outcome, Err(CallError::Timeout { .. })), "{outcome:?}");
        assert_eq!(files.ran("count"), (2, 1), "what may have run is not sent again");
        fleet.shutdown(PATIENCE).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_idempotent_by_configuration_is_taken_over_too() {
    let files = Files::new();
    let mut spec = files.first(Fault::NeverAnswers);
    spec.tools.idempotent = vec!["count".to_owned()];
    spec.fallback = Some(command(files.second()));
    let fleet = start(vec![spec]);
    call(&fleet, "first", "count", "{}").await.unwrap();
    assert_eq!(files.ran("count"), (1, 1));
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_takes_over_what_was_never_sent() {
    let files = Files::new();
    // Comes up once, and never again.
    let fixture = Fixture::stdio().mode(Fault::CrashBeforeCall).counter(&files.file("first"));
    let script = files.file("once");
    let (program, arguments) = fixture.command().unwrap();
    std::fs::write(
        &script,
        format!("mkdir {0} && exec {1} \"$@\"", files.file("ran").display(), program.display()),
    )
    .unwrap();
    let args = std::iter::once(script.to_str().unwrap().to_owned()).chain(arguments).collect();
    let env = std::collections::BTreeMap::new();
    let endpoint = Endpoint::Stdio { command: "sh".to_owned(), args, env, cwd: None };
    let mut spec = files.second();
    spec.id = UpstreamId::new("first");
    spec.fallback = Some(command(files.second()));
    spec.endpoint = endpoint;
    let fleet = start(vec![spec]);
    let lost = call(&fleet, "first", "count", "{}").await;
    assert!(matches!(lost, Err(CallError::Lost { .. })), "{lost:?}");
    assert_eq!(count_lines(&files.file("second")), 0, "the first one may have run");
    eventually(PATIENCE, "the failure", || fleet.health_of("first").unwrap().failures > 1).await.unwrap();
    call(&fleet, "first", "count", "{}").await.unwrap();
    assert_eq!(files.ran("count"), (0, 1));
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_only_serves_what_it_is_for() {
    let files = Files::new();
    let mut spec = files.first(Fault::NeverAnswers);
    spec.fallback = Some(command(files.second()));
    spec.fallback_on = on_unreachable();
    let fleet = start(vec![spec]);
    let outcome = call(&fleet, "first", "count_idempotent", "{}").await;
    assert!(matches!(outcome, Err(CallError::Timeout { .. })), "{outcome:?}");
    assert_eq!(count_lines(&files.file("pids")), 0);
    fleet.shutdown(PATIENCE).await;
}

fn on_unreachable() -> FallbackOn {
    let mut on = FallbackOn::default();
    (on.timeout, on.lost) = (false, false);
    on
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_ends_with_its_server_and_is_no_server_itself() {
    let files = Files::new();
    let mut spec = files.first(Fault::NeverAnswers);
    spec.fallback = Some(command(files.second()));
    let fleet = start(vec![spec]);
    call(&fleet, "first", "count_idempotent", "{}").await.unwrap();
    assert_eq!(fleet.ids(), [UpstreamId::new("first")]);
    assert_eq!(fleet.catalogue().servers(), [UpstreamId::new("first")]);
    let pids = std::fs::read_to_string(files.file("pids")).unwrap();
    let process: u32 = pids.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(is_alive(process));
    fleet.apply(Vec::new());
    eventually(PATIENCE, "the end of the command", || !is_alive(process)).await.unwrap();
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_stands_in_for_a_server_that_was_never_there() {
    let files = Files::new();
    let env = std::collections::BTreeMap::new();
    let nowhere =
        Endpoint::Stdio { command: "no-such-program-anywhere".to_owned(), args: Vec::new(), env, cwd: None };
    let mut spec = files.second();
    (spec.id, spec.endpoint) = (UpstreamId::new("first"), nowhere);
    spec.fallback = Some(command(files.second()));
    let fleet = start(vec![spec.clone()]);
    call(&fleet, "first", "count", "{}").await.unwrap();
    assert_eq!(files.ran("count"), (0, 1));
    assert!(!fleet.health_of("first").unwrap().ok, "health tells of the server itself");
    fleet.shutdown(PATIENCE).await;

    spec.fallback_on.unreachable = false;
    let fleet = start(vec![spec]);
    fleet.listed(&[], PATIENCE).await;
    assert_eq!(fleet.catalogue().tools().len(), 0, "no call would be taken over");
    fleet.shutdown(PATIENCE).await;
}
