//! Upstreams that behave: starting, listing, calling, reloading, ending.

use std::time::Duration;

use gateway_protocol::RawJson;
use gateway_testkit::{
    Fault, Fixture, LOSSLESS_RESULT, SpokenEra, children_of, count_lines, eventually, is_alive,
};
use gateway_upstream::{
    CallError, CallOptions, CatalogueRules, ClashPolicy, ConnectMode, Endpoint, Fleet, FleetEvent,
    FleetOptions, HttpMode, ToolGroup, UpstreamId, UpstreamSpec, UpstreamState,
};
use serde_json::Value;

/// How long anything may take here.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A specification for a fixture over stdio, with short pauses.
pub(crate) fn stdio(id: &str, fixture: &Fixture) -> UpstreamSpec {
    let (command, args) = fixture.command().unwrap();
    let endpoint = Endpoint::Stdio {
        command: command.to_str().unwrap().to_owned(),
        args,
        env: std::collections::BTreeMap::new(),
        cwd: None,
    };
    quick(UpstreamSpec::new(id, endpoint))
}

/// A specification for a server over HTTP, with short pauses.
pub(crate) fn http(id: &str, url: &str) -> UpstreamSpec {
    let endpoint = Endpoint::Http {
        url: url.to_owned(),
        headers: std::collections::BTreeMap::new(),
        mode: HttpMode::Auto,
    };
    quick(UpstreamSpec::new(id, endpoint))
}

pub(crate) fn quick(mut spec: UpstreamSpec) -> UpstreamSpec {
    spec.restart.first = Duration::from_millis(20);
    spec.restart.longest = Duration::from_millis(200);
    spec.timeouts.probe = Duration::from_millis(500);
    spec.timeouts.close = Duration::from_millis(500);
    spec
}

pub(crate) fn start(specs: Vec<UpstreamSpec>) -> Fleet {
    Fleet::start(specs, FleetOptions::default())
}

/// Calls a tool by server and name.
pub(crate) async fn call(
    fleet: &Fleet,
    server: &str,
    tool: &str,
    arguments: &str,
) -> Result<RawJson, CallError> {
    fleet.listed(&[UpstreamId::new(server)], PATIENCE).await;
    let catalogue = fleet.catalogue();
    let found = catalogue.get(server, tool).unwrap_or_else(|| {
        panic!("{server} has no tool {tool}: {:?}", fleet.health_of(server));
    });
    let arguments = RawJson::parse(arguments.to_owned()).unwrap();
    fleet.call(found, Some(&arguments), &CallOptions::default()).await
}

pub(crate) fn text(result: &RawJson) -> String {
    let value: Value = result.read().unwrap();
    value.pointer("/content/0/text").and_then(Value::as_str).unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_transport_and_era_lists_and_calls() {
    let modern = Fixture::http().era(SpokenEra::Modern).start().await.unwrap();
    let legacy = Fixture::http().era(SpokenEra::Legacy).start().await.unwrap();
    let sse = Fixture::sse().start().await.unwrap();
    let fleet = start(vec![
        stdio("stdio-modern", &Fixture::stdio().era(SpokenEra::Modern)),
        stdio("stdio-legacy", &Fixture::stdio().era(SpokenEra::Legacy)),
        http("http-modern", modern.url()),
        http("http-legacy", legacy.url()),
        http("sse", sse.url()),
        UpstreamSpec::new("demo", Endpoint::Demo),
    ]);
    let mut seen = Vec::new();
    for server in ["stdio-modern", "stdio-legacy", "http-modern", "http-legacy", "sse", "demo"] {
        let result = call(&fleet, server, "add", r#"{"a":15,"b":27}"#).await.unwrap();
        assert!(text(&result).contains("42"), "{server}: {result}");
        let health = fleet.health_of(server).unwrap();
        assert!(health.ok, "{health:?}");
        seen.push((server, health.transport, health.era.unwrap().name()));
    }
    assert_eq!(
        seen,
        [
            ("stdio-modern", "stdio", "modern"),
            ("stdio-legacy", "stdio", "legacy"),
            ("http-modern", "http", "modern"),
            ("http-legacy", "http", "legacy"),
            ("sse", "sse", "legacy"),
            ("demo", "builtin", "modern"),
        ]
    );
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn results_arrive_as_they_were_sent() {
    let server = Fixture::http().start().await.unwrap();
    let sse = Fixture::sse().start().await.unwrap();
    let fleet = start(vec![stdio("a", &Fixture::stdio()), http("b", server.url()), http("c", sse.url())]);
    for id in ["a", "b", "c"] {
        let result = call(&fleet, id, "lossless", "{}").await.unwrap();
        assert_eq!(result.as_str(), LOSSLESS_RESULT, "{id}");
    }
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lazy_upstreams_start_when_they_are_needed_and_stop_when_they_are_not() {
    let mut spec = stdio("lazy", &Fixture::stdio());
    spec.idle_stop = Some(Duration::from_secs(1));
    let fleet = start(vec![spec]);
    assert_eq!(fleet.health_of("lazy").unwrap().state, UpstreamState::Idle);
    call(&fleet, "lazy", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    let process = fleet.health_of("lazy").unwrap().process.unwrap();
    let stopped = || fleet.health_of("lazy").unwrap().state == UpstreamState::Idle && !is_alive(process);
    eventually(PATIENCE, "the idle stop", stopped).await.unwrap();
    // Its tools are still known, and a call brings it back.
    assert!(fleet.health_of("lazy").unwrap().ok);
    call(&fleet, "lazy", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_upstream_neither_delays_nor_breaks_the_others() {
    let mut silent = stdio("silent", &Fixture::stdio().mode(Fault::Silent));
    silent.connect = ConnectMode::Eager;
    let mut missing = UpstreamSpec::new(
        "missing",
        Endpoint::Stdio {
            command: "no-such-program-anywhere".to_owned(),
            args: Vec::new(),
            env: std::collections::BTreeMap::new(),
            cwd: None,
        },
    );
    missing.connect = ConnectMode::Eager;
    let mut good = stdio("good", &Fixture::stdio());
    good.connect = ConnectMode::Eager;
    let fleet = start(vec![silent, missing, good]);
    let result = call(&fleet, "good", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    assert!(text(&result).contains('3'));
    eventually(PATIENCE, "the reason", || fleet.health_of("missing").unwrap().reason.is_some())
        .await
        .unwrap();
    let reason = fleet.health_of("missing").unwrap().reason.unwrap();
    assert!(reason.contains("no-such-program-anywhere"), "{reason}");
    assert!(!fleet.health_of("silent").unwrap().ok);
    fleet.shutdown(Duration::from_millis(200)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_touches_only_what_changed_and_calls_in_flight_finish() {
    let folder = tempfile::tempdir().unwrap();
    let counter = folder.path().join("counter");
    let same = stdio("same", &Fixture::stdio());
    let changing = stdio("changing", &Fixture::stdio().counter(&counter));
    let fleet = start(vec![same.clone(), changing.clone()]);
    call(&fleet, "same", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    call(&fleet, "changing", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    let process = |id: &str| fleet.health_of(id).unwrap().process;
    let (kept, replaced) = (process("same"), process("changing").unwrap());
    let slow = tokio::spawn({
        let fleet = fleet.clone();
        async move { call(&fleet, "changing", "slow", r#"{"ms":700}"#).await }
    });
    eventually(PATIENCE, "the slow call", || fleet.health_of("changing").unwrap().in_flight > 0)
        .await
        .unwrap();
    let mut changed = changing.clone();
    changed.timeouts.call = Duration::from_secs(59);
    fleet.apply(vec![same, changed, UpstreamSpec::new("new", Endpoint::Demo)]);
    assert_eq!(process("same"), kept);
    call(&fleet, "new", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    call(&fleet, "changing", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    assert_ne!(process("changing"), Some(replaced));
    slow.await.unwrap().unwrap();
    eventually(PATIENCE, "the end of the old process", || !is_alive(replaced)).await.unwrap();
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_replaced_is_not_reported_as_closed() {
    let demo = UpstreamSpec::new("demo", Endpoint::Demo);
    let fleet = start(vec![demo.clone()]);
    call(&fleet, "demo", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    let mut events = fleet.events();
    let mut changed = demo;
    changed.timeouts.call = Duration::from_secs(59);
    fleet.apply(vec![changed]);
    call(&fleet, "demo", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    // The end of the fleet waits for all that were replaced.
    fleet.shutdown(PATIENCE).await;
    let states: Vec<UpstreamState> = std::iter::from_fn(|| events.try_recv().ok())
        .filter_map(|event| match event {
            FleetEvent::State { state, .. } => Some(state),
            _ => None,
        })
        .collect();
    let closed = states.iter().filter(|state| **state == UpstreamState::Closed).count();
    assert_eq!(
        (closed, states.last()),
        (1, Some(&UpstreamState::Closed)),
        "only the last one ends: {states:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_changes_clashes_and_groups_without_touching_servers() {
    let specs = vec![stdio("one", &Fixture::stdio()), stdio("two", &Fixture::stdio())];
    let fleet = start(specs.clone());
    fleet.listed(&[], PATIENCE).await;
    let names = || fleet.catalogue().listed().map(|tool| tool.public_name.clone()).collect::<Vec<_>>();
    let (all, processes) = (names(), || ["one", "two"].map(|id| fleet.health_of(id).unwrap().process));
    let before = processes();
    assert!(all.contains(&"one__add".to_owned()) && all.contains(&"two__add".to_owned()), "{all:?}");
    let mut rules = CatalogueRules { clash: ClashPolicy::First, ..CatalogueRules::default() };
    let sums = ToolGroup { tools: vec!["add".to_owned()], ..ToolGroup::default() };
    rules.groups.insert("sums".to_owned(), sums);
    fleet.reload(specs.clone(), rules);
    let first = names();
    assert!(first.contains(&"add".to_owned()) && first.len() * 2 == all.len(), "{first:?}");
    assert!(fleet.catalogue().group("sums").is_some());
    // What is listed later follows the new rules too.
    let version = fleet.catalogue().version();
    fleet.refresh("one").unwrap();
    eventually(PATIENCE, "the next list", || fleet.catalogue().version() > version).await.unwrap();
    assert_eq!(names(), first);
    fleet.reload(specs, CatalogueRules::default());
    assert_eq!((names(), fleet.catalogue().group("sums").is_none(), processes()), (all, true, before));
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ending_leaves_no_process_behind() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let fixture = Fixture::stdio()
        .mode(Fault::Grandchild)
        .mode(Fault::IgnoresSigterm)
        .option("--pid-file", pids.display());
    let fleet = start(vec![stdio("family", &fixture)]);
    call(&fleet, "family", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    let process = fleet.health_of("family").unwrap().process.unwrap();
    eventually(PATIENCE, "the family", || count_lines(&pids) >= 3).await.unwrap();
    assert!(!children_of(process).is_empty());
    let family: Vec<u32> = std::fs::read_to_string(&pids)
        .unwrap()
        .lines()
        .filter_map(|line| line.split(' ').nth(1)?.parse().ok())
        .collect();
    fleet.shutdown(Duration::from_millis(200)).await;
    for member in family {
        eventually(PATIENCE, "the end of the family", || !is_alive(member)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn eras_and_fingerprints_are_remembered_between_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = FleetOptions::default();
    options.memory = Some(folder.path().join("memory.json"));
    let legacy = Fixture::stdio().era(SpokenEra::Legacy).mode(Fault::SilentBeforeInitialize);
    let wire = folder.path().join("wire");
    let spec = stdio("old", &legacy.option("--wire-log", wire.display()));
    let fleet = Fleet::start(vec![spec.clone()], options.clone());
    call(&fleet, "old", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    fleet.shutdown(PATIENCE).await;
    let probes = || std::fs::read_to_string(&wire).unwrap().matches("server/discover").count();
    assert_eq!(probes(), 1);
    let fleet = Fleet::start(vec![spec], options);
    call(&fleet, "old", "add", r#"{"a":1,"b":2}"#).await.unwrap();
    fleet.shutdown(PATIENCE).await;
    assert_eq!(probes(), 1, "the second run asks again");
}
