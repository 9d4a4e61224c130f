//! Every fault mode of the fixture in one table: what the caller saw, what health said, how often the tool ran, and how
//! long it took until calls worked again. What must hold for all of them is asserted; times are only told.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _};
use gateway_testkit::{Fault, Fixture, RunningFixture, count_lines_with, eventually, is_alive};
use gateway_upstream::{CallError, Fleet, FleetEvent, UpstreamHealth, UpstreamSpec};
use tokio::sync::broadcast;

use crate::fleet::{PATIENCE, call, http, start, stdio};

/// The file that the table is written to, if this variable names one.
const TABLE: &str = "GATEWAY_FAULT_TABLE";
/// Faults that are tried at the same time.
const AT_ONCE: usize = 4;
/// How long a server is given that does not come back while its fault lasts.
const GLIMPSE: Duration = Duration::from_millis(500);
/// The very next call worked: shorter than any pause before an attempt.
const AT_ONCE_MOST: Duration = Duration::from_millis(10);
/// How long messages may be, and how long those are that are too long.
const MESSAGE_BYTES: usize = 1 << 20;
const TOO_MANY_BYTES: u64 = 3 << 20;

/// Faults that only exist over HTTP.
const OF_HTTP: [Fault; 6] = [
    Fault::HttpStatus,
    Fault::ForgetSessions,
    Fault::CloseMidBody,
    Fault::SlowBody,
    Fault::WrongContentType,
    Fault::Redirect,
];
/// Faults of answers that are tried over HTTP as well.
const OF_BOTH: [Fault; 9] = [
    Fault::CrashBeforeCall,
    Fault::CrashDuringCall,
    Fault::CrashAfterCall,
    Fault::NeverAnswers,
    Fault::Slow,
    Fault::WrongJson,
    Fault::WrongShape,
    Fault::WrongResult,
    Fault::HugeResult,
];
/// Faults that end the server.
const CRASHES: [Fault; 3] = [Fault::CrashBeforeCall, Fault::CrashDuringCall, Fault::CrashAfterCall];
/// Faults that last for as long as the server does, and in every start of it.
const LASTING: [Fault; 6] = [
    Fault::CrashAfterList,
    Fault::Silent,
    Fault::SilentList,
    Fault::CursorLoop,
    Fault::EndlessPages,
    Fault::FailingPage,
];

#[derive(Debug)]
struct Row {
    fault: Fault,
    transport: &'static str,
    seen: &'static str,
    ran: usize,
    told: String,
    recovered: Option<Duration>,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_told_runs_nothing_twice_and_leaves_nothing_behind() {
    let over_stdio =
        Fault::ALL.iter().filter(|fault| !OF_HTTP.contains(fault)).map(|fault| (*fault, "stdio"));
    let over_http = OF_HTTP.iter().chain(&OF_BOTH).map(|fault| (*fault, "http"));
    let rows: Vec<Row> = stream::iter(over_stdio.chain(over_http))
        .map(|(fault, transport)| row(fault, transport))
        .buffered(AT_ONCE)
        .collect()
        .await;
    for row in &rows {
        assert!(row.ran <= 1, "it ran {} times: {row:?}", row.ran);
        assert!(row.recovered.is_some() || LASTING.contains(&row.fault), "it never came back: {row:?}");
    }
    if let Some(path) = std::env::var_os(TABLE) {
        std::fs::write(path, written(&rows)).unwrap();
    }
}

async fn row(fault: Fault, transport: &'static str) -> Row {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let fixture = if transport == "stdio" { Fixture::stdio() } else { Fixture::http() };
    let value = match fault {
        Fault::HugeResult | Fault::LongLine | Fault::LongLineTail => TOO_MANY_BYTES,
        Fault::CrashEvery | Fault::ForgetSessions => 1,
        _ => fault.default_value(),
    };
    // Sessions are of the legacy era.
    let fixture = if fault == Fault::ForgetSessions {
        fixture.era(gateway_testkit::SpokenEra::Legacy)
    } else {
        fixture
    };
    let fixture = fixture
        .mode_with(fault, value)
        .only_tool("count")
        .times(1, &file("memory"))
        .counter(&file("counter"))
        .option("--pid-file", file("pids").display());
    let (mut spec, mut server) = spec_of(fixture, transport).await;
    spec.timeouts.call = Duration::from_millis(400);
    spec.timeouts.list = Duration::from_millis(500);
    spec.timeouts.connect = Duration::from_secs(3);
    spec.limits.message_bytes = MESSAGE_BYTES;
    spec.limits.pages = 50;
    let fleet = start(vec![spec]);
    let events = fleet.events();
    fleet.listed(&[], PATIENCE).await;
    let seen = match fleet.catalogue().get("bad", "count") {
        Some(_) => word(&call(&fleet, "bad", "count", "{}").await),
        None => "no tools",
    };
    let health = fleet.health_of("bad").unwrap();
    // Whoever runs a server over HTTP starts it again; here the test does.
    if let (Some(server), true) = (&mut server, CRASHES.contains(&fault)) {
        server.restart().await.unwrap();
    }
    let patience = if LASTING.contains(&fault) { GLIMPSE } else { PATIENCE };
    let recovered = recovery(&fleet, patience).await;
    let told = told(events, &health);
    let ran = count_lines_with(&file("counter"), "count");
    fleet.shutdown(Duration::from_millis(500)).await;
    drop(server);
    let pids = std::fs::read_to_string(file("pids")).unwrap_or_default();
    for process in pids.lines().filter_map(|line| line.split(' ').nth(1)?.parse().ok()) {
        let what = format!("{fault:?} over {transport}: the end of process {process}");
        eventually(PATIENCE, &what, || !is_alive(process)).await.unwrap();
    }
    Row { fault, transport, seen, ran, told, recovered }
}

async fn spec_of(fixture: Fixture, transport: &str) -> (UpstreamSpec, Option<RunningFixture>) {
    if transport == "stdio" {
        return (stdio("bad", &fixture), None);
    }
    let server = fixture.start().await.unwrap();
    (http("bad", server.url()), Some(server))
}

fn word(outcome: &Result<gateway_protocol::RawJson, CallError>) -> &'static str {
    match outcome {
        Ok(_) => "the result",
        Err(CallError::Lost { .. }) => "lost: it may have run",
        Err(CallError::Timeout { .. }) => "timeout",
        Err(CallError::TooLong { .. }) => "too long",
        Err(CallError::Malformed { .. }) => "malformed",
        Err(CallError::Unreachable { .. }) => "unreachable: it did not run",
        Err(CallError::Refused { .. }) => "an error of the server",
        Err(_) => "another error",
    }
}

/// The beginning of a reason, as it fits into a table.
fn beginning(reason: &str) -> String {
    let first = reason.split(';').next().unwrap_or_default().replace(['\n', '|'], " ");
    first.chars().take(90).collect()
}

/// Waits until calls work and health says so.
async fn recovery(fleet: &Fleet, patience: Duration) -> Option<Duration> {
    let begin = Instant::now();
    loop {
        let is_listed = fleet.catalogue().get("bad", "add").is_some();
        if is_listed
            && call(fleet, "bad", "add", r#"{"a":1,"b":2}"#).await.is_ok()
            && fleet.health_of("bad").unwrap().ok
        {
            return Some(begin.elapsed());
        }
        if begin.elapsed() > patience {
            return None;
        }
        fleet.listed(&[], patience).await;
        gateway_testkit::pause().await;
    }
}

/// The states that health went through, and the first reason that it gave. A crash loop is cut.
fn told(mut events: broadcast::Receiver<FleetEvent>, health: &UpstreamHealth) -> String {
    const MOST: usize = 7;
    let mut states: Vec<&str> = Vec::new();
    let mut first = health.reason.clone();
    while let Ok(event) = events.try_recv() {
        let FleetEvent::State { state, reason, .. } = event else { continue };
        first = first.or(reason);
        if states.last() != Some(&state.name()) {
            states.push(state.name());
        }
    }
    if states.len() > MOST {
        states.truncate(MOST);
        states.push("…");
    }
    let states = states.join(" → ");
    first.map_or(states.clone(), |reason| format!("{states}: {}", beginning(&reason)))
}

fn written(rows: &[Row]) -> String {
    let mut text =
        "| fault | transport | what the caller saw | the tool ran | what health said | works again after |\n\
                    | --- | --- | --- | ---: | --- | ---: |\n"
            .to_owned();
    for row in rows {
        let recovered = match row.recovered {
            Some(took) if took < AT_ONCE_MOST => "at once".to_owned(),
            Some(took) => format!("{} ms", took.as_millis()),
            None => "not while it lasts".to_owned(),
        };
        let Row { fault, transport, seen, ran, told, .. } = row;
        // Writing into memory cannot fail.
        let _ =
            writeln!(text, "| `{}` | {transport} | {seen} | {ran} | {told} | {recovered} |", fault.name());
    }
    text
}
