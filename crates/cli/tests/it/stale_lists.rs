//! Tools that are known from an earlier run: nobody waits for a slow server to list them again.

use serde_json::{Value, json};

use crate::sandbox::{Gateway, Sandbox};

/// A server whose list is in the file `tools.json`. It answers calls with `ok`.
const ANSWERS: &str = r#"while read -r line; do
id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
[ -n "$id" ] || continue
case "$line" in
*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}}\n' "$id" ;;
*tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}\n' "$id" "$(cat tools.json)" ;;
*tools/call*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"ok"}]}}\n' "$id" ;;
*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
esac; done"#;

/// A server that takes longer than any test.
const SILENT: &str = "while read -r line; do :; done";

/// A sandbox with the server `slow`, which runs a script that can be replaced, and the demo. Nothing is given up in time.
fn sandbox(rules: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    let slow = json!({
        "command": "sh", "args": ["server.sh"], "env": {"PATH": "/usr/bin:/bin"}, "tools": rules,
        "connectTimeout": "1h", "listTimeout": "1h", "probeTimeout": "1h",
    });
    sandbox.configure(&json!({
        "timeouts": {"list": "1h"}, "mcpServers": {"slow": slow, "demo": {"type": "builtin"}},
    }));
    sandbox
}

fn list(sandbox: &Sandbox, description: &str) {
    let tool = json!([{"name": "slow_tool", "description": description, "inputSchema": {"type": "object"}}]);
    sandbox.write("tools.json", &tool.to_string());
}

fn slow(gateway: &Gateway) -> Value {
    let answer = gateway.get("/servers");
    let servers = answer["servers"].as_array().unwrap();
    servers.iter().find(|server| server["name"] == "slow").unwrap().clone()
}

/// Lists all tools once, and ends.
fn run_once(sandbox: &Sandbox) {
    sandbox.write("server.sh", ANSWERS);
    let mut gateway = sandbox.serve(&[]);
    let report = gateway.get("/tools/openai?report=true");
    assert_eq!((report["tools"].as_array().unwrap().len(), report.get("stale")), (6, None), "{report}");
    assert_eq!(slow(&gateway).get("stale"), None);
    gateway.stop();
}

#[test]
fn nobody_waits_for_a_server_whose_tools_are_known() {
    let sandbox = sandbox(&json!({}));
    list(&sandbox, "first");
    run_once(&sandbox);

    sandbox.write("server.sh", SILENT);
    let mut gateway = sandbox.serve(&[]);
    // Nobody says which server has it, and the one that has it was not asked yet.
    let sum = gateway.post("/call_tool", &json!({"tool": "add", "arguments": {"a": 1, "b": 2}}));
    assert_eq!(sum["result"]["structuredContent"]["result"], 3, "{sum}");
    gateway.stop();
    let mut gateway = sandbox.serve(&[]);
    let call = json!({"call": {"type": "function", "id": "1", "function": {"name": "add", "arguments": "{\"a\": 1, \"b\": 2}"}}});
    let executed = gateway.post("/execute", &call).to_string();
    assert!(executed.contains("operation"), "{executed}");
    let report = gateway.get("/tools/openai?report=true");
    assert_eq!(
        (report["tools"].as_array().unwrap().len(), &report["stale"]),
        (6, &json!(["slow"])),
        "{report}"
    );
    assert_eq!((&slow(&gateway)["stale"], &slow(&gateway)["tools"]), (&json!(true), &json!(1)));
    gateway.stop();

    // It is back, with another definition.
    sandbox.write("server.sh", ANSWERS);
    list(&sandbox, "second");
    let mut gateway = sandbox.serve(&[]);
    let called = gateway.call("slow", "slow_tool", &json!({}));
    assert_eq!(called["result"]["content"][0]["text"], "ok", "{called}");
    gateway.line("slow: tool `slow_tool` changed its description");
    gateway.line("slow: 1 tool");
    let report = gateway.get("/tools/openai?report=true");
    assert_eq!(report.get("stale"), None, "{report}");
    assert!(report["tools"].to_string().contains("second"), "{report}");
    gateway.stop();
}

#[test]
fn another_program_does_not_get_the_tools_of_the_old_one() {
    let sandbox = sandbox(&json!({}));
    list(&sandbox, "first");
    run_once(&sandbox);
    sandbox.write("server.sh", "exit 1");
    sandbox.configure(&json!({"mcpServers": {
        "slow": {"command": "sh", "args": ["server.sh", "--other"], "env": {"PATH": "/usr/bin:/bin"}},
        "demo": {"type": "builtin"},
    }}));
    let mut gateway = sandbox.serve(&[]);
    let report = gateway.get("/tools/openai?report=true");
    assert_eq!(
        (report["tools"].as_array().unwrap().len(), &report["missing"][0]["server"]),
        (5, &json!("slow"))
    );
    gateway.stop();
}

/// What somebody has to accept is not called because it was accepted as another.
#[test]
fn a_changed_definition_is_blocked_before_the_first_call() {
    let sandbox = sandbox(&json!({"onDefinitionChange": "block"}));
    list(&sandbox, "first");
    run_once(&sandbox);
    list(&sandbox, "second");
    for _ in 0..2 {
        let mut gateway = sandbox.serve(&[]);
        let called = gateway.call("slow", "slow_tool", &json!({}));
        assert!(called["error"].as_str().is_some_and(|error| error.contains("is blocked")), "{called}");
        gateway.stop();
    }
}
