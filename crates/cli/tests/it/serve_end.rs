//! `serve`: how it ends.

use std::time::Duration;

use gateway_testkit::{Fault, Fixture, children_of, eventually_blocking, is_alive};
use rustix::process::Signal;
use serde_json::json;

use crate::sandbox::{DEADLINE, Sandbox, call, fixture};

#[test]
fn sigterm_leaves_no_child() {
    let sandbox = Sandbox::new();
    let pids = sandbox.path("pids");
    sandbox.configure(&json!({"mcpServers": {
        "plain": fixture(&Fixture::stdio()),
        "family": fixture(&Fixture::stdio().mode(Fault::Grandchild).option("--pid-file", pids.display())),
    }}));
    let mut gateway = sandbox.serve(&[]);
    gateway.line(": 18 tools");
    gateway.line(": 18 tools");
    let ids = || -> Vec<u32> {
        let text = std::fs::read_to_string(&pids).unwrap_or_default();
        text.lines().filter_map(|line| line.split_whitespace().nth(1)?.parse().ok()).collect()
    };
    eventually_blocking(DEADLINE, "three processes", || ids().len() == 3).unwrap();
    let mut all = children_of(gateway.running.pid());
    assert_eq!(all.len(), 2);
    all.extend(ids());
    assert!(all.iter().all(|pid| is_alive(*pid)));
    let (status, rest) = gateway.stop();
    assert_eq!(status, Some(0), "{rest:?}");
    let left: Vec<u32> = all.into_iter().filter(|pid| is_alive(*pid)).collect();
    assert_eq!(left, Vec::<u32>::new());
}

#[test]
fn calls_in_flight_finish_before_the_end() {
    let sandbox = Sandbox::new();
    let counter = sandbox.path("counter");
    sandbox.configure(&json!({"mcpServers": {"a": fixture(&Fixture::stdio().counter(&counter))}}));
    let mut gateway = sandbox.serve(&[]);
    gateway.line("a: 18 tools");
    let port = gateway.port;
    let slow = std::thread::spawn(move || call(port, "a", "slow", &json!({"ms": 500})));
    let started = || std::fs::read_to_string(&counter).unwrap_or_default().contains("slow-started");
    eventually_blocking(DEADLINE, "the slow call", started).unwrap();
    let (status, rest) = gateway.stop();
    assert_eq!(status, Some(0), "{rest:?}");
    assert!(rest.iter().any(|line| line == "SIGTERM: stopping, calls in flight have 10 s"), "{rest:?}");
    assert_eq!(rest.last().map(String::as_str), Some("stopped"));
    assert_eq!(slow.join().unwrap()["result"]["isError"], serde_json::Value::Null);
}

#[test]
fn a_second_signal_ends_at_once() {
    let sandbox = Sandbox::new();
    let counter = sandbox.path("counter");
    sandbox.configure(
        &json!({"drain": "10m", "mcpServers": {"a": fixture(&Fixture::stdio().counter(&counter))}}),
    );
    let mut gateway = sandbox.serve(&[]);
    gateway.line("a: 18 tools");
    let port = gateway.port;
    let slow = std::thread::spawn(move || call(port, "a", "slow", &json!({"ms": 600_000})));
    let started = || std::fs::read_to_string(&counter).unwrap_or_default().contains("slow-started");
    eventually_blocking(DEADLINE, "the slow call", started).unwrap();
    let children = children_of(gateway.running.pid());
    assert_eq!(children.len(), 1);
    gateway.running.signal(Signal::TERM);
    gateway.line("SIGTERM: stopping, calls in flight have 600 s");
    gateway.running.signal(Signal::INT);
    let (status, rest) = gateway.running.end();
    assert_eq!(status, Some(130), "{rest:?}");
    // The connection breaks, or the call just hears that its server is gone.
    if let Ok(answer) = slow.join() {
        assert!(answer["error"].is_string(), "{answer}");
    }
    eventually_blocking(Duration::from_secs(5), "no child", || !children.iter().any(|pid| is_alive(*pid)))
        .unwrap();
}
