//! `serve`: a new configuration while it runs.

use std::path::Path;

use gateway_testkit::{Fixture, count_lines_with, eventually_blocking};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::sandbox::{DEADLINE, Gateway, Sandbox, fixture};

fn starts(pids: &Path) -> usize {
    count_lines_with(pids, "server ")
}

fn entry(pids: &Path) -> Value {
    fixture(&Fixture::stdio().option("--pid-file", pids.display()))
}

/// Waits for these lines. A new server does not wait until the reload is reported.
fn in_any_order(gateway: &mut Gateway, lines: &[&str]) {
    let mut missing = lines.to_vec();
    while !missing.is_empty() {
        let line = gateway.line("");
        missing.retain(|wanted| *wanted != line);
    }
}

#[test]
fn only_changed_servers_restart_when_the_file_changes() {
    let sandbox = Sandbox::new();
    let (same, other, gone) = (sandbox.path("same"), sandbox.path("other"), sandbox.path("gone"));
    sandbox.configure(
        &json!({"mcpServers": {"same": entry(&same), "other": entry(&other), "gone": entry(&gone)}}),
    );
    let mut gateway = sandbox.serve(&[]);
    for _ in 0..3 {
        gateway.line(": 18 tools");
    }
    let mut changed = entry(&other);
    changed["env"] = json!({"SOMETHING": "new"});
    let config = json!({"mcpServers": {"same": entry(&same), "other": changed, "fresh": {"type": "builtin", "connect": "eager"}}});
    sandbox.configure(&config);
    let reloaded = "configuration reloaded: added fresh; changed other; removed gone";
    in_any_order(&mut gateway, &[reloaded, "fresh: 5 tools"]);
    eventually_blocking(DEADLINE, "the changed one", || starts(&other) == 2).unwrap();
    assert_eq!((starts(&same), starts(&other), starts(&gone)), (1, 2, 1));
    let servers = gateway.get("/servers");
    let names: Vec<&str> = servers["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| server["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["fresh", "other", "same"]);
}

#[test]
fn sighup_reloads_and_a_broken_file_changes_nothing() {
    let sandbox = Sandbox::new();
    let pids = sandbox.path("pids");
    // The named file is a link, so that the watch of its folder sees no change and only the signal counts.
    std::fs::create_dir(sandbox.path("elsewhere")).unwrap();
    let config = json!({"mcpServers": {"a": entry(&pids)}});
    sandbox.write("elsewhere/real.json", &config.to_string());
    std::os::unix::fs::symlink("elsewhere/real.json", sandbox.path("link.json")).unwrap();
    let mut gateway = sandbox.serve(&["--config", "link.json"]);
    gateway.line("a: 18 tools");
    sandbox.write("elsewhere/real.json", "{\"mcpServers\": {\"a\": {}}}");
    gateway.running.signal(Signal::HUP);
    let line = gateway.line("configuration not reloaded");
    assert!(
        line.starts_with("configuration not reloaded, the old one stays: link.json:1: mcpServers.a: "),
        "{line}"
    );
    let health = gateway.get("/health");
    assert_eq!(health["status"], "degraded", "{health}");
    assert!(
        health["configProblems"][0].as_str().unwrap().starts_with("link.json:1: mcpServers.a: "),
        "{health}"
    );
    assert_eq!(gateway.call("a", "add", &json!({"a": 1, "b": 2}))["result"]["resultType"], "complete");
    sandbox.write(
        "elsewhere/real.json",
        &json!({"port": 1, "clash": "first", "mcpServers": {"a": entry(&pids)}}).to_string(),
    );
    gateway.running.signal(Signal::HUP);
    let line = gateway.line("takes effect");
    assert!(line.starts_with("`port` changed"), "{line:?}");
    assert_eq!(gateway.line("configuration reloaded"), "configuration reloaded: no server changed");
    assert_eq!(starts(&pids), 1);
}

#[test]
fn a_file_that_is_made_while_the_demo_runs_is_taken() {
    let sandbox = Sandbox::new();
    let mut gateway = sandbox.serve(&[]);
    gateway.line("demo: 5 tools");
    sandbox.configure(&json!({"mcpServers": {"mine": {"type": "builtin", "connect": "eager"}}}));
    in_any_order(&mut gateway, &["configuration reloaded: added mine; removed demo", "mine: 5 tools"]);
    let health = gateway.get("/health");
    assert_eq!(health["configSource"], "file", "{health}");
}

#[test]
fn a_watched_path_restarts_its_server_only() {
    let sandbox = Sandbox::new();
    let (one, two) = (sandbox.path("one"), sandbox.path("two"));
    std::fs::create_dir(sandbox.path("watched")).unwrap();
    sandbox.write("watched/code.js", "1");
    let mut watching = entry(&one);
    watching["watchPaths"] = json!([sandbox.path("watched/code.js")]);
    sandbox.configure(&json!({"mcpServers": {"one": watching, "two": entry(&two)}}));
    let mut gateway: Gateway = sandbox.serve(&[]);
    gateway.line(": 18 tools");
    gateway.line(": 18 tools");
    sandbox.write("watched/code.js", "2");
    assert_eq!(gateway.line("restarting it"), "one: a file that it depends on changed, restarting it");
    eventually_blocking(DEADLINE, "the restart", || starts(&one) == 2).unwrap();
    gateway.line("one: 18 tools");
    assert_eq!((starts(&one), starts(&two)), (2, 1));
}

#[test]
fn tools_of_the_file_follow_the_file() {
    let sandbox = Sandbox::new();
    let with = |tools: Value| json!({"mcpServers": {"demo": {"type": "builtin"}}, "tools": tools});
    let says = |text: &str| json!({"handler": {"command": "printf", "args": ["%s", text]}});
    sandbox.configure(&with(json!({"greet": says("hello")})));
    let mut gateway = sandbox.serve(&[]);
    let greeting = |gateway: &Gateway| {
        gateway.call("registry", "greet", &json!({}))["result"]["content"][0]["text"].clone()
    };
    assert_eq!(greeting(&gateway), "hello");
    sandbox.configure(&with(json!({"greet": says("good day"), "part": says("bye")})));
    gateway.line("the registered tools changed");
    assert_eq!(greeting(&gateway), "good day");
    let names = |gateway: &Gateway| gateway.get("/tools?server=registry")["tools"].clone();
    assert_eq!(names(&gateway).as_array().map(Vec::len), Some(2));
    sandbox.configure(&with(json!({})));
    gateway.line("the registered tools changed");
    assert!(!names(&gateway).to_string().contains("greet"));
}

#[test]
fn a_new_approval_policy_needs_no_new_start() {
    let sandbox = Sandbox::new();
    let config = |approval: Value| json!({"mcpServers": {"demo": {"type": "builtin"}}, "approval": approval});
    sandbox.configure(&config(json!({})));
    let mut gateway = sandbox.serve(&[]);
    let add = json!({"a": 1, "b": 2});
    assert!(gateway.call("demo", "add", &add).get("result").is_some());
    sandbox.configure(&config(json!({"tools": {"demo/add": "deny"}})));
    // Had a new start been needed, that would have been said before.
    assert_eq!(
        gateway.line("approval"),
        "configuration reloaded: no server changed; the approval policy changed"
    );
    assert_eq!(gateway.call("demo", "add", &add)["code"], "TOOL_DENIED");
}

#[test]
fn a_file_that_is_gone_takes_no_policy_with_it() {
    let sandbox = Sandbox::new();
    let config = json!({"mcpServers": {"demo": {"type": "builtin"}}, "approval": {"default": "deny"}});
    sandbox.configure(&config);
    let mut gateway = sandbox.serve(&[]);
    let denied = |gateway: &Gateway| {
        let answer = gateway.call("demo", "add", &json!({"a": 1, "b": 2}));
        assert_eq!(answer["code"], "TOOL_DENIED", "{answer}");
    };
    denied(&gateway);
    std::fs::remove_file(sandbox.path("mcp-gateway-config.json")).unwrap();
    let line = gateway.line("configuration not reloaded, the old one stays");
    assert!(line.contains("mcp-gateway-config.json: the file is gone"), "{line}");
    denied(&gateway);
    sandbox.configure(&json!({"mcpServers": {"demo": {"type": "builtin"}}}));
    gateway.line("configuration reloaded");
    gateway.stop();
}
