//! `servers`

use gateway_testkit::{Fault, Fixture, SpokenEra, count_lines_with, eventually_blocking};
use serde_json::{Value, json};

use crate::sandbox::{Sandbox, fixture, free_port};

#[test]
fn states_are_a_table_or_json() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"mcpServers": {
        "old": fixture(&Fixture::stdio().era(SpokenEra::Legacy)),
        "new": {"type": "builtin"},
        "bad": fixture(&Fixture::stdio().mode(Fault::CrashAtInitialize)),
        "off": {"command": "x", "disabled": true},
    }}));
    let run = sandbox.run(&["servers", "--json"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let rows = run.json()["servers"].as_array().unwrap().clone();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap().clone();
    let old = row("old");
    assert_eq!(
        (&old["state"], &old["transport"], &old["era"], &old["tools"], &old["serverName"], &old["reason"]),
        (
            &json!("connected"),
            &json!("stdio"),
            &json!("legacy"),
            &json!(18),
            &json!("gateway-fixture"),
            &Value::Null
        ),
    );
    assert!(old["connectMs"].as_u64().is_some_and(|time| time > 0), "{old}");
    assert_eq!((&row("new")["era"], &row("new")["tools"]), (&json!("modern"), &json!(5)));
    assert!(row("bad")["reason"].as_str().unwrap().contains("ended before the handshake"), "{rows:#?}");
    assert_eq!((&row("off")["state"], &row("off")["reason"]), (&json!("disabled"), &Value::Null));

    let table = sandbox.run(&["servers"]).stdout;
    let cells = |name: &str| -> Vec<&str> {
        table.lines().find(|line| line.starts_with(name)).unwrap().split_whitespace().collect()
    };
    assert_eq!(cells("name")[..5], ["name", "state", "transport", "era", "tools"]);
    assert_eq!(cells("old")[..4], ["old", "connected", "stdio", "legacy"]);
    assert!(table.contains("ended before the handshake"), "{table}");
    assert_eq!(sandbox.run(&["servers", "--server", "new"]).status, 0);
}

#[test]
fn check_starts_nothing_and_finds_everything() {
    let sandbox = Sandbox::new();
    let pids = sandbox.path("pids");
    let entry = fixture(&Fixture::stdio().option("--pid-file", pids.display()));
    sandbox.configure(&json!({"mcpServers": {"a": entry}}));
    let run = sandbox.run(&["servers", "check"]);
    assert_eq!(
        (run.status, run.stdout.as_str(), run.stderr.as_str()),
        (0, "1 server: 0 errors, 0 warnings\n", "")
    );
    assert_eq!(count_lines_with(&pids, ""), 0);

    sandbox
        .write("warn.json", "{\"mcpServers\": {\"a\": {\"command\": \"sh\",\n\"argz\": []}},\n\"prot\": 1}");
    let run = sandbox.run(&["servers", "check", "warn.json"]);
    assert_eq!(run.status, 1, "{}", run.stdout);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("warning: warn.json:2: mcpServers.a.argz: unknown field"), "{lines:#?}");
    assert!(lines[1].starts_with("warning: warn.json:3: prot: "), "{lines:#?}");
    assert_eq!(lines[2..], ["1 server: 0 errors, 2 warnings"]);

    sandbox.write("bad.json", "{\"mcpServers\": {\"a\": {},\n\"b\": {\"comand\": \"x\"}},\n\"port\": \"x\"}");
    let run = sandbox.run(&["servers", "check", "bad.json", "--json"]);
    assert_eq!(run.status, 2, "{}", run.stdout);
    let report = run.json();
    let locations: Vec<(&Value, &Value)> =
        report["errors"].as_array().unwrap().iter().map(|error| (&error["line"], &error["field"])).collect();
    assert_eq!(
        locations,
        [
            (&json!(1), &json!("mcpServers.a")),
            (&json!(2), &json!("mcpServers.b")),
            (&json!(3), &json!("port")),
        ]
    );
    assert_eq!((&report["warnings"][0]["file"], &report["servers"]), (&json!("bad.json"), &Value::Null));
    let run = sandbox.run(&["servers", "check", "nowhere.json"]);
    assert_eq!(run.status, 2);
    assert!(run.stdout.starts_with("nowhere.json: cannot be read"), "{}", run.stdout);
}

#[test]
fn check_looks_for_the_programs() {
    let sandbox = Sandbox::new();
    let text = "{\"mcpServers\": {\"a\": {\"command\": \"no-such-program\"},\n\"b\": {\n\"command\": \"./not-here\"},\n\
                \"off\": {\"command\": \"no-such-program\", \"disabled\": true}, \"there\": {\"command\": \"sh\"}}}";
    sandbox.write("programs.json", text);
    let run = sandbox.run(&["servers", "check", "programs.json"]);
    assert_eq!(run.status, 1, "{}", run.stdout);
    let expected = [
        "warning: programs.json:1: mcpServers.a.command: `no-such-program` is in no folder of PATH; install it, or name the \
         program with its whole path",
        "warning: programs.json:3: mcpServers.b.command: there is no program `./not-here`; correct the path, or build it first",
        "4 servers: 0 errors, 2 warnings",
    ];
    assert_eq!(run.stdout.lines().collect::<Vec<_>>(), expected);
}

/// What keeps a configuration from being used, and what is only worth a look, is the same for all commands.
#[test]
fn serve_says_what_the_check_says() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.json", "{\"mcpServers\": {\"a\":\n{\"comand\": \"sh\"}}}");
    for arguments in [["serve", "--config", "bad.json"], ["mcp", "--config", "bad.json"]] {
        let run = sandbox.run(&arguments);
        assert_eq!(run.status, 2);
        let lines: Vec<&str> = run.stderr.lines().collect();
        let expected = [
            "bad.json:1: mcpServers.a: Server \"a\": stdio transport requires \"command\" field",
            "warning: bad.json:2: mcpServers.a.comand: unknown field, ignored; did you mean `command`?",
        ];
        assert_eq!(lines, expected);
    }
    let text = "{\"mcpServers\": {\"a\": {\"type\": \"builtin\"},\n\"b\": {\"command\": \"no-such-program -y @a/b\", \"args\": [\"c\"]}}}";
    sandbox.write("mcp-gateway-config.json", text);
    let expected = "warning: mcp-gateway-config.json:2: mcpServers.b.command: there is no program `no-such-program -y @a/b`; \
                    no shell splits it, so write \"command\": \"no-such-program\", \"args\": [\"-y\",\"@a/b\",\"c\"]";
    let check = sandbox.run(&["servers", "check"]);
    assert_eq!(check.stdout.lines().next(), Some(expected));
    let mut gateway = sandbox.serve(&[]);
    let called = gateway.call("b", "t", &json!({}));
    assert!(called["error"].as_str().is_some_and(|error| error.contains("belong into `args`")), "{called}");
    gateway.stop();
    let errors = gateway.running.errors();
    assert_eq!(errors.lines().next(), Some(expected));
}

#[test]
fn a_running_gateway_restarts_a_server() {
    let sandbox = Sandbox::new();
    let pids = sandbox.path("pids");
    let entry = fixture(&Fixture::stdio().option("--pid-file", pids.display()));
    sandbox.configure(&json!({
        "mcpServers": {"a": entry, "bad": {"command": "/nowhere/x", "connectTimeout": 0.5, "closeTimeout": 0.1}},
        "apiKeys": {"me": "a-key-that-is-long"},
    }));
    let mut gateway = sandbox.serve(&[]);
    gateway.line("a: 18 tools");
    let url = gateway.url();
    let restart = |name: &str, variables: &[(&str, &str)]| {
        sandbox.run_with(&["servers", "restart", name], "", variables)
    };
    let variables = [("MCP_GATEWAY_URL", url.as_str()), ("MCP_GATEWAY_KEY", "a-key-that-is-long")];
    let run = restart("a", &variables);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.starts_with("a: connected"), "{}", run.stdout);
    assert_eq!(count_lines_with(&pids, "server "), 2);

    let run = restart("nobody", &variables);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("refused: ") && run.stderr.contains("nobody"), "{}", run.stderr);
    let run = restart("bad", &variables);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.starts_with("server `bad` did not come back: "), "{}", run.stderr);
    let run = sandbox.run(&["servers", "restart", "a", "--url", &url, "--key", "wrong"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("give the key with --key or MCP_GATEWAY_KEY"), "{}", run.stderr);
}

#[test]
fn a_gateway_that_does_not_run_restarts_nothing() {
    let sandbox = Sandbox::new();
    let port = free_port();
    sandbox.configure(&json!({"port": port, "mcpServers": {"a": {"type": "builtin"}}}));
    let run = sandbox.run(&["servers", "restart", "a"]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    let expected = format!(
        "error: restarting a server needs a running gateway: no gateway answers at http://127.0.0.1:{port}: "
    );
    assert!(run.stderr.starts_with(&expected), "{}", run.stderr);
}

/// A program that is not there does not crash, and is not worth a line for each attempt.
#[test]
fn a_missing_program_is_logged_once() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"mcpServers": {
        "gone": {"command": "no-such-program", "connect": "eager", "restart": {"first": "10ms", "longest": "10ms", "attempts": 2}},
        "demo": {"type": "builtin"},
    }}));
    let mut gateway = sandbox.serve(&[]);
    let gone = |gateway: &crate::sandbox::Gateway| {
        let servers = gateway.get("/servers");
        servers["servers"].as_array().unwrap().iter().find(|server| server["name"] == "gone").unwrap().clone()
    };
    let failed_often = || gone(&gateway)["failures"].as_u64().is_some_and(|failures| failures > 4);
    eventually_blocking(crate::sandbox::DEADLINE, "attempts", failed_often).unwrap();
    let state = gone(&gateway)["state"].clone();
    assert!(state == "disconnected" || state == "connecting", "{state}");
    gateway.stop();
    let errors = gateway.running.errors();
    assert_eq!(errors.matches("Upstream failed").count(), 1, "{errors}");
}

#[test]
fn tools_that_nobody_lists_because_of_a_clash_are_reported() {
    let sandbox = Sandbox::new();
    let demo = json!({"type": "builtin"});
    sandbox.configure(&json!({"clash": "error", "mcpServers": {"a": demo, "b": demo}}));
    let mut gateway = sandbox.serve(&[]);
    let report = gateway.get("/tools/openai?report=true");
    assert_eq!(report["tools"], json!([]));
    assert_eq!(report["clashes"].as_array().map(Vec::len), Some(5), "{report}");
    assert_eq!(report["clashes"][0]["servers"], json!(["a", "b"]));
    assert_eq!(gateway.get("/health")["clashes"], report["clashes"]);
    gateway.stop();
    let errors = gateway.running.errors();
    assert_eq!(errors.matches("Tools are not listed").count(), 1, "{errors}");
}

#[test]
fn a_tool_that_another_server_has_first_is_reported() {
    let sandbox = Sandbox::new();
    let demo = json!({"type": "builtin", "tools": {"allow": ["add"]}});
    sandbox.configure(&json!({"clash": "first", "mcpServers": {"b": demo, "a": demo}}));
    let mut gateway = sandbox.serve(&[]);
    let report = gateway.get("/tools/openai?report=true");
    assert_eq!(report["tools"].as_array().map(Vec::len), Some(1), "{report}");
    let clashes = json!([{"tool": "add", "servers": ["b", "a"], "listed": "b"}]);
    assert_eq!((&report["clashes"], &gateway.get("/health")["clashes"]), (&clashes, &clashes));
    assert_eq!(gateway.post("/servers/default/connect", &json!({}))["code"], "SERVER_NOT_FOUND");
    gateway.stop();
}

#[test]
fn a_server_is_no_tool() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["call", "demo"]);
    assert_eq!(run.status, 2);
    assert!(
        run.stderr.contains("`demo` is a server; name one of its tools too: add, multiply"),
        "{}",
        run.stderr
    );
    let run = sandbox.run(&["call", "demo", "add", "a=1", "b=2", "c=3"]);
    assert!(run.stderr.contains("`c`") && !run.stderr.contains("`a`:"), "{}", run.stderr);
}

#[test]
fn without_a_configuration_the_default_server_is_the_demo() {
    let sandbox = Sandbox::new();
    let mut gateway = sandbox.serve(&[]);
    let sum = gateway.call("default", "add", &json!({"a": 1, "b": 2}));
    assert_eq!(sum["result"]["structuredContent"]["result"], 3, "{sum}");
    let call =
        json!({"provider": "gemini", "server": "default", "call": {"name": "add", "args": {"a": 1, "b": 2}}});
    assert!(gateway.post("/execute", &call).to_string().contains("\\\"result\\\":3"));
    let canonical = json!({"tool": "mcp__default__add", "arguments": {"a": 1, "b": 2}});
    let sum = gateway.post("/call_tool", &canonical);
    assert_eq!(sum["result"]["structuredContent"]["result"], 3, "{sum}");
    let call = json!({"provider": "gemini", "call": {"name": "mcp__default__add", "args": {"a": 1, "b": 2}}});
    let sum = gateway.post("/execute", &call);
    assert_eq!(sum["result"]["structuredContent"]["result"], 3, "{sum}");
    assert_eq!(gateway.get("/logs?server=default")[0]["server"], "demo");
    assert_eq!(gateway.post("/servers/default/connect", &json!({}))["server"]["name"], "demo");
    assert_eq!(gateway.get("/tools?server=default")["tools"].as_array().map(Vec::len), Some(5));
    let unknown = gateway.call("other", "add", &json!({}));
    assert_eq!(unknown["error"], "Unknown server: other. Available servers: demo");
    gateway.stop();
}
