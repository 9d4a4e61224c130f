//! Nothing is left of connections that are gone, however many there were.

use std::time::Duration;

use gateway_testkit::{Fixture, SpokenEra, children_of, eventually};
use rustix::process::{Pid, Signal, kill_process};

use crate::fleet::{PATIENCE, call, http, start, stdio};

/// Enough to see what each restart leaves behind; `scripts/soak` asks for many more.
fn restarts() -> u64 {
    std::env::var("GATEWAY_TEST_RESTARTS").map_or(50, |text| text.parse().unwrap())
}

/// What one process holds of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    descriptors: usize,
    children: usize,
    tasks: usize,
    threads: usize,
}

impl Held {
    fn now() -> Self {
        let entries = |path: &str| std::fs::read_dir(path).unwrap().count();
        Self {
            descriptors: entries("/proc/self/fd"),
            children: children_of(std::process::id()).len(),
            tasks: tokio::runtime::Handle::current().metrics().num_alive_tasks(),
            threads: entries("/proc/self/task"),
        }
    }

    fn is_within(self, other: Self) -> bool {
        self.descriptors <= other.descriptors
            && self.children <= other.children
            && self.tasks <= other.tasks
            && self.threads <= other.threads
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn restarts_leave_nothing_behind() {
    // Other tests in the same process open and close things too.
    let is_alone = std::env::var_os("NEXTEST").is_some();
    let mut pipe = stdio("pipe", &Fixture::stdio());
    (pipe.restart.first, pipe.restart.longest) = (Duration::from_millis(1), Duration::from_millis(1));
    let server = Fixture::http().era(SpokenEra::Legacy).start().await.unwrap();
    let fleet = start(vec![pipe, http("web", server.url())]);
    for id in ["pipe", "web"] {
        call(&fleet, id, "add", r#"{"a":1,"b":2}"#).await.unwrap();
    }
    // Once in advance, for what is made at the first restart and kept.
    restart(&fleet, 0).await;
    restart(&fleet, 1).await;
    let before = Held::now();
    let count = restarts();
    for number in 0..count {
        restart(&fleet, number).await;
    }
    for id in ["pipe", "web"] {
        call(&fleet, id, "add", r#"{"a":1,"b":2}"#).await.unwrap();
        assert_eq!(fleet.health_of(id).unwrap().restarts, count + 2, "{id}");
    }
    if is_alone {
        // The last connections are still being closed.
        let outcome = eventually(PATIENCE, "the former state", || Held::now().is_within(before)).await;
        assert!(outcome.is_ok(), "before {count} restarts {before:?}, after them {:?}", Held::now());
    }
    fleet.shutdown(PATIENCE).await;
    if is_alone {
        assert_eq!(children_of(std::process::id()).len(), 1, "the server over HTTP, which is the test's own");
    }
}

/// Restarts both servers: the one over HTTP on request, the process on request or by a sudden death.
async fn restart(fleet: &gateway_upstream::Fleet, number: u64) {
    fleet.restart("web").await.unwrap();
    if number.is_multiple_of(2) {
        fleet.restart("pipe").await.unwrap();
        return;
    }
    let before = fleet.health_of("pipe").unwrap();
    let process = Pid::from_raw(i32::try_from(before.process.unwrap()).unwrap()).unwrap();
    kill_process(process, Signal::KILL).unwrap();
    let is_back = || {
        let now = fleet.health_of("pipe").unwrap();
        now.restarts > before.restarts && now.process.is_some()
    };
    eventually(PATIENCE, "the restart", is_back).await.unwrap();
}
