//! Changed definitions: what is remembered of them, and who accepts them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use gateway_testkit::eventually;
use gateway_upstream::{
    AcceptError, AcceptFileError, CallError, Endpoint, Fleet, FleetEvent, FleetOptions, OnDefinitionChange,
    UpstreamId, UpstreamSpec, accept_in_file, are_new_tools_taken_in_file, take_new_tools_in_file,
    unaccepted_fingerprint, unaccepted_in_file,
};

use crate::fleet::{PATIENCE, call};
use crate::scripted::scripted;

/// A server whose list stands in a file, and the memory of a fleet.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap() };
        bench.define("one");
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn memory(&self) -> PathBuf {
        self.path("data/servers.json")
    }

    /// The description of the tool from now on.
    fn define(&self, description: &str) {
        let tools = format!(r#"{{"name":"t","description":"{description}"}},{{"name":"u"}}"#);
        self.define_tools(&tools);
    }

    /// The whole list from now on.
    fn define_tools(&self, tools: &str) {
        let text = format!(r#"{{"tools":[{tools}]}}"#);
        // At once: the server may read it at any time.
        std::fs::write(self.path("draft"), text).unwrap();
        std::fs::rename(self.path("draft"), self.path("list")).unwrap();
    }

    fn spec(&self) -> UpstreamSpec {
        let mut spec = scripted("up", &format!("answer \"$(cat '{}')\"", self.path("list").display()));
        spec.tools.on_definition_change = OnDefinitionChange::Block;
        spec
    }

    async fn start(&self) -> Fleet {
        self.start_with(self.spec()).await
    }

    async fn start_with(&self, spec: UpstreamSpec) -> Fleet {
        let mut options = FleetOptions::default();
        options.memory = Some(self.memory());
        let fleet = Fleet::start(vec![spec], options);
        fleet.listed(&[UpstreamId::new("up")], PATIENCE).await;
        fleet
    }

    /// Reads the list of now.
    async fn list_again(&self, fleet: &Fleet) {
        let mut events = fleet.events();
        fleet.refresh("up").unwrap();
        let listed = async { while !matches!(events.recv().await.unwrap(), FleetEvent::Listed { .. }) {} };
        tokio::time::timeout(PATIENCE, listed).await.unwrap();
    }

    async fn refresh(&self, fleet: &Fleet, description: &str) {
        self.define(description);
        fleet.refresh("up").unwrap();
        let is_there = || {
            let tool = fleet.catalogue();
            tool.get("up", "t").is_some_and(|tool| tool.definition.as_str().contains(description))
        };
        eventually(PATIENCE, "the new list", is_there).await.unwrap();
    }
}

/// The tools whose calls are refused, each with the word for the change.
fn blocked(fleet: &Fleet) -> Vec<String> {
    let health = fleet.health_of("up").unwrap();
    health.changed_definitions.iter().map(|notice| notice.change.to_string()).collect()
}

fn fingerprint(fleet: &Fleet) -> String {
    let health = fleet.health_of("up").unwrap();
    health.changed_definitions.first().unwrap().shown_fingerprint().to_owned()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn lost(tool: &str) -> String {
    format!("tool `{tool}` cannot be compared: its earlier definition is lost")
}

const CHANGED: &str = "tool `t` changed its description";

#[tokio::test(flavor = "multi_thread")]
async fn only_the_definition_that_was_reviewed_is_accepted() {
    let bench = Bench::new();
    let fleet = bench.start().await;
    bench.refresh(&fleet, "two").await;
    assert_eq!(blocked(&fleet), [CHANGED]);
    let reviewed = fingerprint(&fleet);
    bench.refresh(&fleet, "three").await;
    let error = fleet.accept_definitions("up", &reviewed).await.unwrap_err();
    let expected =
        AcceptError::Stale { upstream: UpstreamId::new("up"), fingerprint: reviewed.clone(), pending: 1 };
    assert_eq!(error, expected);
    let outcome = call(&fleet, "up", "t", "{}").await;
    assert!(matches!(outcome, Err(CallError::Blocked { .. })), "{outcome:?}");
    let of_now = fingerprint(&fleet);
    assert_ne!(of_now, reviewed);
    fleet.accept_definitions("up", &of_now).await.unwrap();
    assert_eq!(blocked(&fleet), Vec::<String>::new());
    call(&fleet, "up", "t", "{}").await.unwrap();
    // What is as it was again blocks nothing.
    bench.refresh(&fleet, "four").await;
    assert_eq!(blocked(&fleet), [CHANGED]);
    bench.refresh(&fleet, "three").await;
    assert_eq!(blocked(&fleet), Vec::<String>::new());
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_fleet_takes_over_what_is_accepted_in_the_file() {
    let bench = Bench::new();
    let fleet = bench.start().await;
    bench.refresh(&fleet, "two").await;
    let path = bench.memory();
    eventually(PATIENCE, "the file", || !unaccepted_in_file(&path, "up").unwrap().is_empty()).await.unwrap();
    let stale = accept_in_file(&path, "up", &"0".repeat(64)).unwrap_err();
    assert!(matches!(stale, AcceptFileError::Stale { .. }), "{stale}");
    assert_eq!(accept_in_file(&path, "up", &fingerprint(&fleet)).unwrap(), ["t"]);
    eventually(PATIENCE, "the acceptance", || blocked(&fleet).is_empty()).await.unwrap();
    call(&fleet, "up", "t", "{}").await.unwrap();
    fleet.shutdown(PATIENCE).await;
    assert!(unaccepted_in_file(&path, "up").unwrap().is_empty());
    // The next start knows it too.
    let fleet = bench.start().await;
    assert_eq!(blocked(&fleet), Vec::<String>::new());
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_accepted_between_two_runs_counts() {
    let bench = Bench::new();
    bench.start().await.shutdown(PATIENCE).await;
    bench.define("two");
    let fleet = bench.start().await;
    let reviewed = fleet.health_of("up").unwrap().changes_fingerprint().unwrap();
    fleet.shutdown(PATIENCE).await;
    assert_eq!(accept_in_file(&bench.memory(), "up", &reviewed).unwrap(), ["t"]);
    let fleet = bench.start().await;
    assert_eq!(blocked(&fleet), Vec::<String>::new());
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_memory_withholds_tools_where_changes_are_blocked() {
    let bench = Bench::new();
    bench.start().await.shutdown(PATIENCE).await;
    let text = std::fs::read(bench.memory()).unwrap();
    for kept in [0, text.len() / 2] {
        std::fs::write(bench.memory(), text.get(..kept).unwrap()).unwrap();
        bench.define("two");
        // Twice: the second start does not take the new file for that of a first start.
        for is_first in [true, false] {
            let fleet = bench.start().await;
            assert_eq!(fleet.memory_problem().is_some(), is_first);
            assert_eq!(blocked(&fleet), [lost("t"), lost("u")]);
            assert_eq!(fleet.catalogue().listed().count(), 0);
            let outcome = call(&fleet, "up", "t", "{}").await;
            assert!(matches!(outcome, Err(CallError::Blocked { .. })), "{outcome:?}");
            fleet.shutdown(PATIENCE).await;
        }
        let fleet = bench.start().await;
        let all = fleet.health_of("up").unwrap().changes_fingerprint().unwrap();
        fleet.accept_definitions("up", &all).await.unwrap();
        assert_eq!(fleet.catalogue().listed().count(), 2);
        fleet.shutdown(PATIENCE).await;
        let fleet = bench.start().await;
        assert_eq!((blocked(&fleet), fleet.memory_problem()), (Vec::new(), None));
        fleet.shutdown(PATIENCE).await;
    }
    let aside = std::fs::read_dir(bench.path("data")).unwrap();
    let aside = aside.filter(|entry| {
        entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("servers.json.corrupt-")
    });
    assert_eq!(aside.count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_damaged_memory_an_empty_list_releases_nothing() {
    let bench = Bench::new();
    bench.start().await.shutdown(PATIENCE).await;
    std::fs::write(bench.memory(), "{").unwrap();
    bench.define_tools("");
    let fleet = bench.start().await;
    assert_eq!(blocked(&fleet), Vec::<String>::new());
    bench.define("two");
    bench.list_again(&fleet).await;
    assert_eq!(blocked(&fleet), [lost("t"), lost("u")]);
    // Neither does a list without what waits.
    bench.define_tools("");
    bench.list_again(&fleet).await;
    assert_eq!(blocked(&fleet), Vec::<String>::new());
    fleet.shutdown(PATIENCE).await;
    bench.define("three");
    let fleet = bench.start().await;
    assert_eq!(blocked(&fleet), [lost("t"), lost("u")]);
    assert_eq!(fleet.catalogue().listed().count(), 0);
    let all = fleet.health_of("up").unwrap().changes_fingerprint().unwrap();
    fleet.accept_definitions("up", &all).await.unwrap();
    assert_eq!((blocked(&fleet), fleet.catalogue().listed().count()), (Vec::new(), 2));
    fleet.shutdown(PATIENCE).await;
}

/// Tools of an earlier run are listed before their server is asked, but only those that are remembered as accepted.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_remembered_is_not_listed_from_an_earlier_run() {
    let bench = Bench::new();
    bench.start().await.shutdown(PATIENCE).await;
    let stale = || {
        let mut options = FleetOptions::default();
        options.memory = Some(bench.memory());
        let fleet = Fleet::start(vec![bench.spec()], options);
        (fleet.catalogue().listed().count(), fleet.health_of("up").unwrap().stale, fleet)
    };
    let (listed, is_stale, fleet) = stale();
    assert_eq!((listed, is_stale), (2, true));
    fleet.shutdown(PATIENCE).await;
    std::fs::write(bench.memory(), "{").unwrap();
    let (listed, is_stale, fleet) = stale();
    assert_eq!((listed, is_stale), (0, false), "after a damaged memory nothing is known to be accepted");
    fleet.shutdown(PATIENCE).await;
}

/// Who lists something harmless first gets nothing else accepted with it.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_damaged_memory_every_later_tool_has_to_be_accepted() {
    let bench = Bench::new();
    bench.start().await.shutdown(PATIENCE).await;
    std::fs::write(bench.memory(), "{").unwrap();
    let harmless = r#"{"name":"h"}"#;
    bench.define_tools(harmless);
    let fleet = bench.start().await;
    assert_eq!(blocked(&fleet), [lost("h")]);
    let all = fleet.health_of("up").unwrap().changes_fingerprint().unwrap();
    fleet.accept_definitions("up", &all).await.unwrap();
    assert_eq!(blocked(&fleet), Vec::<String>::new());
    bench.define_tools(&format!(r#"{harmless},{{"name":"t","description":"EVIL"}}"#));
    bench.list_again(&fleet).await;
    assert_eq!((blocked(&fleet), fleet.catalogue().listed().count()), (vec![lost("t")], 1));
    let outcome = call(&fleet, "up", "t", "{}").await;
    assert!(matches!(outcome, Err(CallError::Blocked { .. })), "{outcome:?}");
    fleet.shutdown(PATIENCE).await;
    // Over restarts too, and if it is accepted in the file.
    let fleet = bench.start().await;
    assert_eq!(blocked(&fleet), [lost("t")]);
    fleet.shutdown(PATIENCE).await;
    let all = unaccepted_fingerprint(&unaccepted_in_file(&bench.memory(), "up").unwrap());
    assert_eq!(accept_in_file(&bench.memory(), "up", &all).unwrap(), ["t"]);
    bench.define_tools(&format!(r#"{harmless},{{"name":"t","description":"EVIL"}},{{"name":"u"}}"#));
    let fleet = bench.start().await;
    assert_eq!((blocked(&fleet), fleet.catalogue().listed().count()), (vec![lost("u")], 2));
    fleet.shutdown(PATIENCE).await;
}

/// Until somebody ends it, which nobody can while a tool waits.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_damaged_memory_new_tools_are_taken_again_on_request() {
    let bench = Bench::new();
    bench.start().await.shutdown(PATIENCE).await;
    std::fs::write(bench.memory(), "{").unwrap();
    let path = bench.memory();
    let fleet = bench.start().await;
    eventually(PATIENCE, "the file", || unaccepted_in_file(&path, "up").is_ok_and(|tools| tools.len() == 2))
        .await
        .unwrap();
    let error = take_new_tools_in_file(&path, "up").unwrap_err();
    assert!(matches!(error, AcceptFileError::Waiting { waiting: 2, .. }), "{error}");
    let all = fleet.health_of("up").unwrap().changes_fingerprint().unwrap();
    fleet.accept_definitions("up", &all).await.unwrap();
    assert!(!are_new_tools_taken_in_file(&path, "up").unwrap());
    assert!(take_new_tools_in_file(&path, "up").unwrap());
    assert!(!take_new_tools_in_file(&path, "up").unwrap(), "once");
    // The fleet that runs takes notice, and what it writes does not undo it.
    bench.define_tools(r#"{"name":"t","description":"one"},{"name":"u"},{"name":"v"}"#);
    bench.list_again(&fleet).await;
    assert_eq!((blocked(&fleet), fleet.catalogue().listed().count()), (Vec::new(), 3));
    fleet.shutdown(PATIENCE).await;
    assert!(are_new_tools_taken_in_file(&path, "up").unwrap());
}

/// A server that nobody has listed since has shown nothing that somebody could have looked at.
#[test]
fn after_a_loss_new_tools_are_not_taken_before_any_was_accepted() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("data")).unwrap();
    std::fs::write(bench.memory(), r#"{"upstreams":{"up":{"unverified":true,"losses":1}}}"#).unwrap();
    let error = take_new_tools_in_file(&bench.memory(), "up").unwrap_err();
    assert!(matches!(error, AcceptFileError::Unseen { .. }), "{error}");
    assert!(!are_new_tools_taken_in_file(&bench.memory(), "up").unwrap());
}

/// A new release of a server is often another command line or address.
#[tokio::test(flavor = "multi_thread")]
async fn another_command_line_forgets_no_definition() {
    let bench = Bench::new();
    bench.start().await.shutdown(PATIENCE).await;
    bench.define("two");
    let mut spec = bench.spec();
    let Endpoint::Stdio { args, .. } = &mut spec.endpoint else { panic!("a server over stdio") };
    args.push("--release=2".to_owned());
    let fleet = bench.start_with(spec).await;
    assert_eq!((blocked(&fleet), fleet.catalogue().listed().count()), (vec![CHANGED.to_owned()], 1));
    let one = fingerprint(&fleet);
    fleet.accept_definitions("up", &one).await.unwrap();
    assert_eq!((blocked(&fleet), fleet.catalogue().listed().count()), (Vec::new(), 2));
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_memory_is_begun_anew_where_changes_are_only_reported() {
    let bench = Bench::new();
    let warns = || {
        let mut spec = bench.spec();
        spec.tools.on_definition_change = OnDefinitionChange::Warn;
        spec
    };
    bench.start_with(warns()).await.shutdown(PATIENCE).await;
    std::fs::write(bench.memory(), "{").unwrap();
    let fleet = bench.start_with(warns()).await;
    assert!(fleet.memory_problem().is_some());
    assert_eq!((blocked(&fleet), fleet.catalogue().listed().count()), (Vec::new(), 2));
    fleet.shutdown(PATIENCE).await;
}

/// Long names cost what short ones do: in the memory, in its file and where they are accepted.
#[tokio::test(flavor = "multi_thread")]
async fn long_names_are_remembered_by_their_digests() {
    let bench = Bench::new();
    let define = |description: &str| {
        let tool = |number: usize| {
            format!(r#"{{"name":"n{number}{}","description":"{description}"}}"#, "x".repeat(1_500))
        };
        bench.define_tools(&(0..500).map(tool).collect::<Vec<_>>().join(","));
    };
    define("one");
    bench.start().await.shutdown(PATIENCE).await;
    let size = std::fs::metadata(bench.memory()).unwrap().len();
    assert!(size < 200_000, "{size} bytes for 500 tools");
    define("two");
    let fleet = bench.start().await;
    assert_eq!((blocked(&fleet).len(), fleet.catalogue().listed().count()), (500, 0));
    let all = fleet.health_of("up").unwrap().changes_fingerprint().unwrap();
    // The file says the same of them.
    eventually(PATIENCE, "the file", || !unaccepted_in_file(&bench.memory(), "up").unwrap().is_empty())
        .await
        .unwrap();
    let unaccepted = unaccepted_in_file(&bench.memory(), "up").unwrap();
    assert_eq!((unaccepted.len(), unaccepted_fingerprint(&unaccepted)), (500, all.clone()));
    assert_eq!(accept_in_file(&bench.memory(), "up", &all).unwrap().len(), 500);
    eventually(PATIENCE, "the acceptance", || fleet.catalogue().listed().count() == 500).await.unwrap();
    assert_eq!(blocked(&fleet), Vec::<String>::new());
    fleet.shutdown(PATIENCE).await;
}

/// On one thread, so that a file that is waited for there would hold up everything.
#[tokio::test]
async fn no_call_waits_for_a_lock_that_another_process_keeps() {
    let bench = Bench::new();
    bench.start().await.shutdown(PATIENCE).await;
    let lock = std::fs::File::open(bench.memory().with_extension("lock")).unwrap();
    lock.lock().unwrap();
    // It is released on request, or when nothing happens any more.
    let (release, requests) = std::sync::mpsc::channel();
    let holder = std::thread::spawn(move || {
        let is_requested = requests.recv_timeout(PATIENCE).is_ok();
        drop(lock);
        is_requested
    });
    bench.define_tools(r#"{"name":"t","description":"one"},{"name":"u"},{"name":"v"}"#);
    let fleet = bench.start().await;
    call(&fleet, "up", "v", "{}").await.unwrap();
    let _ = release.send(());
    assert!(holder.join().unwrap(), "the lock was waited for");
    fleet.shutdown(PATIENCE).await;
    assert!(std::fs::read_to_string(bench.memory()).unwrap().contains("\"v\""), "it is written afterwards");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_memory_is_for_its_owner_only() {
    let bench = Bench::new();
    bench.start().await.shutdown(PATIENCE).await;
    assert_eq!((mode(&bench.path("data")), mode(&bench.memory())), (0o700, 0o600));
    std::fs::set_permissions(bench.memory(), std::fs::Permissions::from_mode(0o644)).unwrap();
    let fleet = bench.start().await;
    assert_eq!(mode(&bench.memory()), 0o600, "an old file is corrected");
    fleet.shutdown(PATIENCE).await;
}
