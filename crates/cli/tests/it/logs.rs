//! `logs`

use gateway_testkit::eventually_blocking;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::sandbox::{DEADLINE, Gateway, Running, Sandbox, free_port};
use crate::tools::over_http;

/// A gateway on a configured port with three calls in its log, the last of which failed.
fn three_calls(sandbox: &Sandbox) -> Gateway {
    let config =
        json!({"port": free_port(), "dataDirectory": "data", "mcpServers": {"demo": {"type": "builtin"}}});
    sandbox.configure(&config);
    let gateway = Gateway::start(sandbox.command(&["serve"]));
    gateway.call("demo", "add", &json!({"a": 1, "b": 2}));
    gateway.call("demo", "get_weather", &json!({"location": "Oslo"}));
    gateway.call("demo", "add", &json!({"a": 1}));
    // Entries are written in batches, a moment after the calls.
    let is_written = || gateway.get("/logs").as_array().is_some_and(|entries| entries.len() == 3);
    eventually_blocking(DEADLINE, "three entries", is_written).unwrap();
    gateway
}

fn tools(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["tool"].as_str().unwrap()).collect()
}

#[test]
fn calls_are_read_from_the_gateway_and_from_the_database() {
    let sandbox = Sandbox::new();
    let mut gateway = three_calls(&sandbox);
    let from_gateway = sandbox.run(&["logs", "--json"]);
    assert_eq!((from_gateway.status, from_gateway.stderr.as_str()), (0, ""));
    let lines = from_gateway.lines();
    assert_eq!(tools(&lines), ["add", "get_weather", "add"]);
    assert_eq!(
        (&lines[0]["input"], &lines[2]["code"]),
        (&json!({"a": 1, "b": 2}), &json!("VALIDATION_ERROR"))
    );

    let check = |flags: &[&str], expected: &[&str]| {
        let run = sandbox.run(&[&["logs", "--json"], flags].concat());
        assert_eq!(run.status, 0, "{}", run.stderr);
        assert_eq!(tools(&run.lines()), expected, "{flags:?}");
    };
    let filters = |check: &dyn Fn(&[&str], &[&str])| {
        check(&["--tool", "get_*"], &["get_weather"]);
        check(&["--status", "error"], &["add"]);
        check(&["--status", "ok", "--tool", "add"], &["add"]);
        check(&["--server", "demo", "--limit", "1"], &["add"]);
        check(&["--provider", "openai"], &[]);
        check(&["--limit", "2"], &["get_weather", "add"]);
        check(&["--since", "1h"], &["add", "get_weather", "add"]);
        check(&["--until", "1h"], &[]);
        check(&["--since", "2026-01-01", "--until", "2026-01-02T00:00:00Z"], &[]);
    };
    filters(&check);
    assert_eq!(gateway.stop().0, Some(0));
    // Nothing listens on the configured port now, so the entries are read from the database.
    let from_database = sandbox.run(&["logs", "--json"]);
    assert_eq!(
        (from_database.status, &from_database.stdout),
        (0, &from_gateway.stdout),
        "{}",
        from_database.stderr
    );
    filters(&check);
    assert_eq!(sandbox.run(&["logs", "--json", "--data", "data"]).stdout, from_gateway.stdout);
}

#[test]
fn a_configured_dialect_has_all_its_names_in_the_database_too() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "acme.toml",
        "name = \"acme\"\ntitle = \"Acme\"\nextends = \"openai-chat\"\naliases = [\"acme-chat\"]\n",
    );
    sandbox.configure(&json!({
        "port": free_port(), "dataDirectory": "data", "dialects": ["acme.toml"],
        "mcpServers": {"demo": {"type": "builtin"}},
    }));
    let mut gateway = Gateway::start(sandbox.command(&["serve"]));
    let call =
        json!({"id": "c", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1,\"b\":2}"}});
    gateway.post("/execute", &json!({"provider": "acme", "call": call}));
    gateway.stop();
    for (flags, expected) in [
        (&["--provider", "acme-chat"][..], 1),
        (&["--provider", "acme-chat", "--data", "data"], 1),
        (&["--provider", "openai"], 0),
    ] {
        let run = sandbox.run(&[&["logs", "--json"], flags].concat());
        assert_eq!((run.status, run.lines().len(), run.stderr.as_str()), (0, expected, ""), "{flags:?}");
    }
    sandbox.write("acme.toml", "name = 1");
    let run = sandbox.run(&["logs", "--json", "--provider", "acme"]);
    assert_eq!((run.status, run.lines().len()), (0, 1), "{}", run.stderr);
    assert!(
        run.stderr.contains("--provider knows only the names of the built-in dialects"),
        "{}",
        run.stderr
    );
}

#[test]
fn people_see_a_table() {
    let sandbox = Sandbox::new();
    let _gateway = three_calls(&sandbox);
    let run = sandbox.run(&["logs"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(
        lines[0].split_whitespace().collect::<Vec<_>>()[..6],
        ["time", "server", "tool", "provider", "ms", "status"]
    );
    let cells: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!((cells[1], cells[2], cells[3], cells[5]), ("demo", "add", "-", "ok"));
    assert!(lines[1].ends_with("{\"a\":1,\"b\":2}"), "{lines:#?}");
    assert!(lines[3].contains("VALIDATION_ERROR"), "{lines:#?}");
}

#[test]
fn following_shows_new_calls_as_they_come() {
    let sandbox = Sandbox::new();
    let mut gateway = three_calls(&sandbox);
    for flags in [&["--json"][..], &["--json", "--data", "data"]] {
        let mut follower =
            Running::start(sandbox.command(&[&["logs", "--follow", "--limit", "1"], flags].concat()));
        let first: Value = serde_json::from_str(&follower.line("\"tool\"")).unwrap();
        gateway.call("demo", "store_value", &json!({"key": "k", "value": flags.len().to_string()}));
        let next: Value = serde_json::from_str(&follower.line("store_value")).unwrap();
        assert_eq!(next["id"].as_i64().unwrap(), first["id"].as_i64().unwrap() + 1);
        follower.signal(Signal::INT);
        assert_eq!(follower.end().0, Some(0));
    }
    let mut people = Running::start(sandbox.command(&["logs", "--follow"]));
    let header = people.line("server");
    let entry = people.line("get_weather");
    assert_eq!(header.find("server"), entry.find("demo  "), "{header}\n{entry}");
    let mut faithful = Running::start(sandbox.command(&["logs", "--follow", "--json"]));
    faithful.line("store_value");
    assert_eq!(gateway.stop().0, Some(0));
    let again = Gateway::start(sandbox.command(&["serve"]));
    again.call("demo", "add", &json!({"a": 20, "b": 22}));
    let entry = faithful.line("\"a\":20");
    assert!(entry.contains("\"add\""), "{entry}");
    faithful.signal(Signal::INT);
    assert_eq!(faithful.end(), (Some(0), Vec::new()), "nothing is shown twice");
    assert_eq!(faithful.errors().matches("went away; waiting for it to come back").count(), 1);
}

#[test]
fn where_there_is_no_log_that_is_said() {
    let sandbox = Sandbox::new();
    let port = free_port();
    let refused = |arguments: &[&str], words: &[&str]| {
        let run = sandbox.run(arguments);
        assert_eq!((run.status, run.stdout.as_str()), (2, ""));
        for word in words {
            assert!(run.stderr.contains(word), "{word}: {}", run.stderr);
        }
    };
    sandbox.configure(
        &json!({"port": port, "dataDirectory": "data", "mcpServers": {"demo": {"type": "builtin"}}}),
    );
    refused(
        &["logs"],
        &["there is no call log in data", &format!("no gateway answers at http://127.0.0.1:{port}")],
    );
    refused(&["logs", "--data", "elsewhere"], &["there is no call log in elsewhere"]);
    let url = format!("http://127.0.0.1:{port}");
    refused(&["logs", "--url", &url], &["no gateway answers at"]);
    refused(&["logs", "--since", "yesterday"], &["expected 15m, 2h, 3d"]);
    refused(&["logs", "--limit", "0"], &["0 is not in 1..=10000"]);
    let (_runtime, stranger) = over_http(gateway_testkit::Fixture::http());
    refused(&["logs", "--url", stranger.origin()], &["is not a gateway; --url names another address"]);
    sandbox.configure(&json!({"port": port, "log": false, "mcpServers": {"demo": {"type": "builtin"}}}));
    refused(&["logs"], &["no data directory is configured"]);
}

#[test]
fn a_broken_configuration_hides_no_calls() {
    let sandbox = Sandbox::new();
    let port = free_port();
    let servers = json!({"demo": {"type": "builtin"}});
    sandbox.configure(&json!({"port": port, "dataDirectory": "data", "mcpServers": servers}));
    let mut gateway = sandbox.serve(&[]);
    gateway.call("demo", "add", &json!({"a": 1, "b": 2}));
    assert_eq!(gateway.stop().0, Some(0));
    let broken = json!({"port": port, "dataDirectory": "data", "mcpServers": {"demo": {}}});
    sandbox.configure(&broken);
    let run = sandbox.run(&["logs", "--json"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stdout.contains("\"tool\":\"add\""), "{}", run.stdout);
    assert!(
        run.stderr.starts_with("warning: mcp-gateway-config.json:1: mcpServers.demo: "),
        "{}",
        run.stderr
    );
    sandbox.write("mcp-gateway-config.json", "{ not json");
    let data = sandbox.path("data");
    let variables = [("MCP_GATEWAY_DATA", data.to_str().unwrap()), ("PORT", &*port.to_string())];
    let run = sandbox.run_with(&["logs", "--json"], "", &variables);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stdout.contains("\"tool\":\"add\""), "{}", run.stdout);
}
