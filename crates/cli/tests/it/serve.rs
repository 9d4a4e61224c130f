//! `serve`: how it starts.

use std::net::TcpListener;

use gateway_testkit::{Fault, Fixture, eventually_blocking};
use serde_json::{Value, json};

use crate::sandbox::{DEADLINE, Gateway, Running, Sandbox, fixture, free_port};

#[test]
fn the_first_start_needs_nothing_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let mut gateway = Gateway::start(sandbox.command(&["serve", "--port", "0"]));
    assert_eq!(gateway.running.seen, [format!("listening on {}", gateway.url())]);
    let hint = gateway.line("/tools/gemini");
    assert_eq!(hint, format!("  curl {}/tools/gemini", gateway.url()));
    assert!(
        gateway.line("/call_tool").contains("-d '{\"tool\": \"add\", \"arguments\": {\"a\": 1, \"b\": 2}}'")
    );
    gateway.line("demo: connected");
    gateway.line("demo: 5 tools");
    let tools = gateway.get("/tools/gemini");
    assert_eq!(tools["function_declarations"][0]["name"], "add");
    let answer = gateway.post("/call_tool", &json!({"tool": "add", "arguments": {"a": 1, "b": 2}}));
    assert_eq!(answer["result"]["structuredContent"]["result"], 3);
    let is_written = || gateway.get("/logs")[0]["tool"] == "add";
    eventually_blocking(DEADLINE, "the entry of the log", is_written).unwrap();
    let (status, rest) = gateway.stop();
    assert_eq!((status, rest.last().map(String::as_str)), (Some(0), Some("stopped")), "{rest:?}");
    assert_eq!(gateway.running.errors(), "");
    assert_eq!(std::fs::read_dir(sandbox.folder()).unwrap().count(), 0);
}

#[test]
fn examples_of_the_first_start_have_a_key_where_one_is_needed() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["serve", "--port", "0"]);
    command.env("MCP_GATEWAY_API_KEY", "k-0123456789abcdef");
    let mut gateway = Gateway::start(command);
    let expected = format!("  curl {}/tools/gemini -H 'authorization: Bearer YOUR-KEY'", gateway.url());
    assert_eq!(gateway.line("/tools/gemini"), expected);
    assert!(
        gateway
            .line("/call_tool")
            .contains("/call_tool -H 'authorization: Bearer YOUR-KEY' -H 'content-type")
    );
}

#[test]
fn models_without_servers_are_said_to_have_no_tools() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"models": {"local": {"kind": "ollama"}}}));
    let line = sandbox.serve(&[]).line("no servers");
    assert!(line.starts_with("models are configured, but no servers, so the models have no tools"), "{line}");
}

#[test]
fn servers_are_reported_as_they_come_up_or_fail() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"mcpServers": {
        "good": fixture(&Fixture::stdio()),
        "bad": {"command": "/nowhere/server", "connect": "eager"},
        "late": {"type": "builtin", "connect": "lazy"},
        "off": {"command": "x", "disabled": true},
    }}));
    let mut gateway = sandbox.serve(&[]);
    gateway.line("good: connected");
    gateway.line("good: 18 tools");
    let mut lines = gateway.running.seen.clone();
    if !lines.iter().any(|line| line.starts_with("bad: disconnected")) {
        lines.push(gateway.line("bad: disconnected"));
    }
    let has = |start: &str| assert!(lines.iter().any(|line| line.starts_with(start)), "{start}: {lines:#?}");
    has("late: idle, starts when it is needed");
    has("off: disabled");
    has("bad: disconnected: starting `/nowhere/server`: ");
    assert!(!lines.iter().any(|line| line.contains("curl")), "{lines:#?}");
    // The one that failed does not affect the others.
    assert_eq!(gateway.call("good", "add", &json!({"a": 1, "b": 2}))["result"]["resultType"], "complete");
}

#[test]
fn programs_read_json_lines() {
    let sandbox = Sandbox::new();
    let mut gateway = sandbox.serve(&["--json"]);
    gateway.line("\"event\":\"tools\"");
    gateway.running.signal(rustix::process::Signal::TERM);
    let (status, rest) = gateway.running.end();
    assert_eq!(status, Some(0));
    let values: Vec<Value> = gateway
        .running
        .seen
        .iter()
        .chain(&rest)
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .inspect(|value: &Value| {
            let members: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(members, ["timestamp", "level", "message", "context"], "one shape: {value}");
        })
        .map(|mut value: Value| value["context"].take())
        .filter(|value: &Value| value.get("event").is_some())
        .collect();
    let url = gateway.url();
    assert_eq!(values[0], json!({"event": "listening", "url": url}));
    assert!(values.contains(&json!({"event": "tools", "server": "demo", "tools": 5})), "{values:?}");
    assert!(
        values.contains(&json!({"event": "server", "server": "demo", "state": "connected", "reason": null}))
    );
    assert_eq!(values.last(), Some(&json!({"event": "stopped", "clean": true})));
}

#[test]
fn programs_read_warnings_as_json_lines_too() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({
        "prot": 1, "tools": {"unhandled": {}}, "mcpServers": {"demo": {"type": "builtin"}},
    }));
    let mut gateway = sandbox.serve(&["--json"]);
    gateway.stop();
    let errors = gateway.running.errors();
    let lines: Vec<Value> = errors.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_level = |level: &str| lines.iter().find(|line| line["level"] == level).unwrap_or(&Value::Null);
    let warning = of_level("warn");
    assert_eq!(warning["message"], "Configuration warning.", "{errors}");
    assert!(warning["context"]["problem"].as_str().unwrap().contains("did you mean `port`?"), "{errors}");
    assert_eq!(of_level("error")["message"], "Tool of the configuration left out.", "{errors}");
}

#[test]
fn programs_read_why_the_gateway_does_not_start_as_json() {
    let sandbox = Sandbox::new();
    sandbox.write("gateway.json", "{\"mcpServers\":");
    let run = sandbox.run(&["serve", "--json", "--config", "gateway.json"]);
    let line: Value = serde_json::from_str(run.stderr.trim()).unwrap();
    assert_eq!(
        (run.status, &line["level"], &line["context"]),
        (2, &json!("error"), &json!({"event": "failed"}))
    );
    assert!(line["message"].as_str().unwrap().starts_with("gateway.json:1: not JSON"), "{line}");
}

#[test]
fn all_errors_of_a_configuration_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "gateway.json",
        "{\n  // comments are fine\n  \"port\": 99999,\n  \"mcpServers\": {\n    \"a\": {\"args\": []},\n    \
         \"b\": {\"url\": \"ftp://x\"}\n  },\n  \"validate\": 5\n}\n",
    );
    let run = sandbox.run(&["serve", "--config", "gateway.json"]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    for start in [
        "gateway.json:5: mcpServers.a: ",
        "gateway.json:6: mcpServers.b.url: ",
        "gateway.json:3: port: ",
        "gateway.json:8: validate: ",
    ] {
        assert!(run.stderr.lines().any(|line| line.starts_with(start)), "{start}: {}", run.stderr);
    }
    assert_eq!(run.stderr.lines().count(), 4, "{}", run.stderr);
}

#[test]
fn a_file_that_is_no_json_or_not_there_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("broken.json", "{\n\"servers\": {,}}\n");
    let run = sandbox.run(&["serve", "--config", "broken.json"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.starts_with("broken.json:2: not JSON: "), "{}", run.stderr);
    let run = sandbox.run(&["serve", "--config", "nowhere.json"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.starts_with("nowhere.json: cannot be read: "), "{}", run.stderr);
}

#[test]
fn a_port_in_use_is_reported_before_any_server_starts() {
    let sandbox = Sandbox::new();
    let pids = sandbox.path("pids");
    sandbox.configure(
        &json!({"mcpServers": {"a": fixture(&Fixture::stdio().option("--pid-file", pids.display()))}}),
    );
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let data = sandbox.path("data");
    let run = sandbox.run(&["serve", "--port", &port, "--data", data.to_str().unwrap()]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    let expected = format!(
        "error: listening on 127.0.0.1:{port} (another program has it; choose another port with `--port N`)"
    );
    assert!(run.stderr.starts_with(&expected), "{}", run.stderr);
    assert!(!pids.exists());
}

#[test]
fn the_world_is_not_served_without_keys() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["serve", "--host", "0.0.0.0", "--port", "0"]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert!(
        run.stderr.starts_with("error: refusing to listen on 0.0.0.0:0 without API keys"),
        "{}",
        run.stderr
    );
}

#[test]
fn flags_win_over_environment_over_file() {
    let sandbox = Sandbox::new();
    let (of_file, of_environment, of_flag) = (free_port(), free_port(), free_port());
    sandbox.configure(&json!({"port": of_file, "log": false, "servers": {"a": {"type": "builtin"}}}));
    let start = |variable: bool, flag: bool| {
        let port = of_flag.to_string();
        let mut command = sandbox.command(if flag { &["serve", "--port"][..] } else { &["serve"] });
        if flag {
            command.arg(port);
        }
        if variable {
            command.env("PORT", of_environment.to_string());
        }
        Gateway::start(command).port
    };
    assert_eq!(start(false, false), of_file);
    assert_eq!(start(true, false), of_environment);
    assert_eq!(start(true, true), of_flag);
}

#[test]
fn the_file_of_another_client_gives_its_servers() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "claude_desktop_config.json",
        &json!({"globalShortcut": "x", "mcpServers": {"files": fixture(&Fixture::stdio())}}).to_string(),
    );
    let mut gateway = sandbox.serve(&["--mcp-config", "claude_desktop_config.json"]);
    gateway.line("files: 18 tools");
    assert_eq!(gateway.get("/tools?server=files")["tools"].as_array().unwrap().len(), 18);
}

#[test]
fn a_data_directory_has_one_owner() {
    let sandbox = Sandbox::new();
    let _first = sandbox.serve(&[]);
    let mut second = Running::start(sandbox.command(&["serve", "--port", "0", "--data", "data"]));
    assert_eq!(second.end().0, Some(2));
    let errors = second.errors();
    assert!(errors.contains("is in use by another process") && errors.contains("`--data DIR`"), "{errors}");
}

#[test]
fn a_silent_server_delays_no_other() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"mcpServers": {
        "silent": fixture(&Fixture::stdio().mode(Fault::Silent)),
        "good": fixture(&Fixture::stdio()),
    }}));
    let mut gateway = sandbox.serve(&[]);
    gateway.line("good: 18 tools");
    assert_eq!(gateway.call("good", "add", &json!({"a": 1, "b": 2}))["result"]["isError"], Value::Null);
}
