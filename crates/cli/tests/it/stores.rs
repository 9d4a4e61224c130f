//! The call log in PostgreSQL. What needs a server is ignored; `scripts/services run` runs it.

use gateway_testkit::eventually_blocking;
use serde_json::json;

use crate::sandbox::{DEADLINE, Gateway, Sandbox, free_port};

/// A sandbox whose log is at the address in `LOG_DATABASE`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.configure(
        &json!({"mcpServers": {"demo": {"type": "builtin"}}, "log": {"store": "${LOG_DATABASE}"}}),
    );
    sandbox
}

#[test]
#[ignore = "needs scripts/services"]
fn the_log_in_postgresql_outlives_the_gateway() {
    let url = std::env::var("GATEWAY_TEST_POSTGRES_URL").unwrap();
    let sandbox = sandbox();
    let serve = || {
        let mut command = sandbox.command(&["serve", "--port", "0"]);
        command.env("LOG_DATABASE", &url);
        Gateway::start(command)
    };
    // Other gateways may write to the same database.
    let key = format!("stores-{}", std::process::id());
    let mut gateway = serve();
    gateway.call("demo", "store_value", &json!({"key": key, "value": "x"}));
    let has_entry = |gateway: &Gateway| {
        let entries = gateway.get("/logs?tool=store_value&limit=1000");
        let mut entries = entries.as_array().unwrap().iter();
        entries.any(|entry| entry["input"] == json!({"key": key, "value": "x"}))
    };
    eventually_blocking(DEADLINE, "the entry of the log", || has_entry(&gateway)).unwrap();
    let health = gateway.get("/health").to_string();
    assert!(!health.contains("secret"), "{health}");
    let (status, _) = gateway.stop();
    assert_eq!((status, gateway.running.errors()), (Some(0), String::new()));
    // Nothing of it is on the disk.
    assert!(!sandbox.path(".local").exists() && !sandbox.path("calls.db").exists());

    let mut again = serve();
    assert!(has_entry(&again));
    again.stop();

    // Without a gateway, the command reads the database.
    let port = free_port().to_string();
    let variables = [("LOG_DATABASE", url.as_str()), ("PORT", port.as_str())];
    let run =
        sandbox.run_with(&["logs", "--json", "--tool", "store_value", "--limit", "1000"], "", &variables);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert!(run.lines().iter().any(|entry| entry["input"]["key"] == key.as_str()), "{}", run.stdout);
}

#[test]
fn a_log_that_cannot_be_reached_keeps_the_gateway_from_starting() {
    let sandbox = sandbox();
    let (closed, port) = (free_port(), free_port().to_string());
    let address = format!("postgres://me:hunter2@127.0.0.1:{closed}/log");
    let variables = [("LOG_DATABASE", address.as_str()), ("PORT", port.as_str())];
    for (arguments, expected) in [
        (&["serve"][..], "opening the call log: call log in `postgres://127.0.0.1:"),
        (&["mcp"], "opening the call log: call log in `postgres://127.0.0.1:"),
        (&["logs"], "reading the call log at the address in `log.store`"),
    ] {
        let run = sandbox.run_with(arguments, "", &variables);
        assert!(run.status != 0 && run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
        assert!(!run.stderr.contains("hunter2") && !run.stdout.contains("hunter2"), "{}", run.stderr);
    }
}
