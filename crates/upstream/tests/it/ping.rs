//! Signs of life.

use std::time::Duration;

use gateway_testkit::{Fixture, SpokenEra};
use gateway_upstream::{CallError, Endpoint, UpstreamSpec};
use rustix::process::{Pid, Signal, kill_process};

use crate::fleet::{PATIENCE, http, start, stdio};

#[tokio::test(flavor = "multi_thread")]
async fn every_transport_and_era_is_asked_in_its_own_words() {
    let folder = tempfile::tempdir().unwrap();
    for (spoken, method) in [(SpokenEra::Legacy, "ping"), (SpokenEra::Modern, "server/discover")] {
        let (pipe, web) = (folder.path().join("pipe"), folder.path().join("web"));
        let server = Fixture::http().era(spoken).option("--wire-log", web.display()).start().await.unwrap();
        let fixture = Fixture::stdio().era(spoken).option("--wire-log", pipe.display());
        let fleet = start(vec![stdio("pipe", &fixture), http("web", server.url())]);
        for (id, log) in [("pipe", &pipe), ("web", &web)] {
            let asked = || {
                let text = std::fs::read_to_string(log).unwrap();
                text.matches(&format!(r#""method":"{method}""#)).count()
            };
            fleet.connect(id).await.unwrap();
            let before = asked();
            fleet.ping(id).await.unwrap();
            assert_eq!(asked(), before + 1, "{id} {method}");
        }
        fleet.shutdown(PATIENCE).await;
    }
    let sse = Fixture::sse().start().await.unwrap();
    let fleet = start(vec![http("sse", sse.url()), UpstreamSpec::new("demo", Endpoint::Demo)]);
    fleet.ping("sse").await.unwrap();
    fleet.ping("demo").await.unwrap();
    fleet.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stands_still_is_told() {
    let mut spec = stdio("still", &Fixture::stdio());
    spec.restart.ping_timeout = Duration::from_secs(1);
    spec.restart.ping_every = None;
    let mut off = stdio("off", &Fixture::stdio());
    off.disabled = true;
    let mut server = Fixture::http().start().await.unwrap();
    let fleet = start(vec![spec, off, http("web", server.url())]);
    fleet.ping("still").await.unwrap();
    let process = fleet.health_of("still").unwrap().process.unwrap();
    let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    kill_process(process, Signal::STOP).unwrap();
    let outcome = fleet.ping("still").await;
    assert!(matches!(outcome, Err(CallError::Timeout { .. })), "{outcome:?}");
    kill_process(process, Signal::CONT).unwrap();
    fleet.ping("still").await.unwrap();
    fleet.ping("web").await.unwrap();
    server.kill().await.unwrap();
    let outcome = fleet.ping("web").await;
    assert!(matches!(outcome, Err(CallError::Unreachable { .. })), "{outcome:?}");
    assert!(matches!(fleet.ping("off").await, Err(CallError::Disabled { .. })));
    assert!(matches!(fleet.ping("none").await, Err(CallError::UnknownUpstream { .. })));
    fleet.shutdown(PATIENCE).await;
}
