//! A server whose entry is invalid is left out with its reason, and affects nothing else.

use gateway_testkit::{Fixture, count_lines_with, eventually_blocking};
use serde_json::{Value, json};

use crate::sandbox::{DEADLINE, Gateway, Sandbox, fixture};

fn demo() -> Value {
    json!({"type": "builtin", "connect": "eager"})
}

/// An entry whose variable is not set.
fn unset() -> Value {
    json!({"command": "server", "args": ["${NOPE}"]})
}

const REASON: &str = "mcp-gateway-config.json:1: mcpServers.bad.args.0: variable `NOPE` is not set; set it, or give a default: `${NOPE:-...}`";

fn server(gateway: &Gateway, path: &str, name: &str) -> Value {
    let answer = gateway.get(path);
    let servers = answer["servers"].as_array().unwrap();
    servers.iter().find(|server| server["name"] == name).unwrap_or_else(|| panic!("{answer}")).clone()
}

#[test]
fn the_others_start_and_the_reason_is_everywhere() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"mcpServers": {"good": demo(), "bad": unset()}}));
    let mut gateway = sandbox.serve(&[]);
    assert_eq!(gateway.line("bad: "), format!("bad: invalid: {REASON}"));
    for path in ["/health", "/servers"] {
        let bad = server(&gateway, path, "bad");
        assert_eq!(
            (&bad["state"], &bad["status"], &bad["ok"], &bad["reason"], &bad["configProblems"]),
            (&json!("invalid"), &json!("failed"), &json!(false), &json!(REASON), &json!([REASON])),
            "{path}"
        );
    }
    assert_eq!(gateway.get("/health")["status"], "degraded");
    assert_eq!(gateway.get("/ready")["ok"], true);
    let result = gateway.call("good", "add", &json!({"a": 1, "b": 2}));
    assert_eq!(result["result"]["structuredContent"]["result"], 3, "{result}");
    let refused = gateway.call("bad", "anything", &json!({}));
    let text = "server `bad` is left out, because its entry in the configuration is invalid: variable `NOPE` is not set";
    assert!(refused["error"].as_str().is_some_and(|error| error.starts_with(text)), "{refused}");
    gateway.stop();
    let errors = gateway.running.errors();
    let logged = errors.lines().filter(|line| line.contains("Server left out") && line.contains(REASON));
    assert_eq!(logged.count(), 1, "{errors}");
}

#[test]
fn a_required_one_keeps_the_gateway_from_being_ready() {
    let sandbox = Sandbox::new();
    let mut bad = unset();
    bad["required"] = json!(true);
    sandbox.configure(&json!({"mcpServers": {"good": demo(), "bad": bad}}));
    let mut gateway = sandbox.serve(&[]);
    gateway.line("bad: invalid");
    let ready = gateway.get("/ready");
    assert_eq!(
        (&ready["ok"], &ready["reasons"]),
        (&json!(false), &json!([format!("server `bad` is invalid: {REASON}")]))
    );
}

#[test]
fn commands_use_the_others_and_the_check_fails() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"mcpServers": {"good": demo(), "bad": unset()}}));
    let call = sandbox.run(&["call", "good", "add", r#"{"a": 1, "b": 2}"#]);
    assert_eq!(
        (call.status, call.stderr.as_str()),
        (0, format!("error: {REASON}; this server is left out\n").as_str())
    );
    let servers = sandbox.run(&["servers", "--json"]);
    assert_eq!(servers.status, 1);
    assert_eq!(servers.json()["servers"][0]["state"], "invalid");
    let check = sandbox.run(&["servers", "check"]);
    assert_eq!((check.status, check.stdout), (2, format!("{REASON}\n2 servers: 1 error, 0 warnings\n")));
}

#[test]
fn whoever_wants_all_or_nothing_gets_nothing() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"mcpServers": {"good": demo(), "bad": unset()}}));
    for command in ["serve", "mcp"] {
        let run = sandbox.run(&[command, "--strict"]);
        assert_eq!((run.status, run.stderr), (2, format!("{REASON}\n")), "{command}");
    }
    sandbox.configure(&json!({"mcpServers": {"bad": unset()}}));
    let run = sandbox.run(&["serve"]);
    assert_eq!((run.status, run.stderr), (2, format!("{REASON}\n")), "nothing would be left");
}

#[test]
fn a_reload_keeps_what_runs_under_the_earlier_entry() {
    let sandbox = Sandbox::new();
    let pids = sandbox.path("pids");
    let entry = fixture(&Fixture::stdio().option("--pid-file", pids.display()));
    sandbox.configure(&json!({"mcpServers": {"good": demo(), "bad": entry}}));
    let mut gateway = sandbox.serve(&[]);
    gateway.line("bad: 18 tools");
    sandbox
        .configure(&json!({"mcpServers": {"good": demo(), "bad": unset(), "new": unset(), "fresh": demo()}}));
    gateway.line("configuration reloaded: added new, fresh");
    assert_eq!(
        gateway.line("bad: "),
        format!("bad: its new entry is invalid, the earlier one stays: {REASON}")
    );
    gateway.line("new: invalid: ");
    let bad = server(&gateway, "/servers", "bad");
    assert_eq!(
        (&bad["state"], &bad["ok"], &bad["configProblems"]),
        (&json!("connected"), &json!(true), &json!([REASON]))
    );
    assert_eq!(gateway.get("/health")["status"], "degraded");
    let result = gateway.call("bad", "add", &json!({"a": 1, "b": 2}));
    assert_eq!(result["result"]["resultType"], "complete", "{result}");
    // Right again, and as it was: nothing restarts.
    sandbox.configure(
        &json!({"mcpServers": {"good": demo(), "bad": entry, "new": {"type": "builtin"}, "fresh": demo()}}),
    );
    gateway.line("configuration reloaded: changed new");
    assert_eq!(server(&gateway, "/servers", "bad").get("configProblems"), None);
    // The changed server connects once more.
    eventually_blocking(DEADLINE, "a healthy gateway", || gateway.get("/health")["status"] == "healthy")
        .unwrap();
    assert_eq!(count_lines_with(&pids, "server "), 1);
}
