//! `mcp`: the gateway as an MCP server on standard input and output.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Runs the endpoint over `messages` and gives its answers by id.
#[track_caller]
fn answers(arguments: &[&str], messages: &[Value]) -> Vec<Value> {
    let sandbox = Sandbox::new();
    let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
    let input = format!("{}\n", lines.join("\n"));
    let mut command = assert_cmd::Command::from_std(sandbox.command(arguments));
    let output = command.write_stdin(input).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut answers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    answers.retain(|answer| answer.get("id").is_some());
    answers.sort_by_key(|answer| answer["id"].as_u64());
    answers
}

fn modern(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[test]
fn old_clients_initialize_list_and_call() {
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let answers = answers(
        &["mcp"],
        &[
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
            json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}}),
            json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "nothing"}}),
            json!({"jsonrpc": "2.0", "id": 5, "method": "server/other"}),
        ],
    );
    let [hello, list, sum, unknown, other] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(hello["result"]["serverInfo"]["name"], "mcp-tool-gateway");
    assert_eq!(list["result"]["tools"].as_array().map(Vec::len), Some(5));
    assert_eq!(sum["result"]["structuredContent"]["result"], 3);
    assert_eq!(unknown["error"]["code"], -32602);
    assert_eq!(other["error"]["code"], -32601);
}

#[test]
fn new_clients_need_no_handshake() {
    let answers = answers(
        &["mcp", "--group", "demo"],
        &[
            modern(1, "server/discover", json!({})),
            modern(2, "tools/call", json!({"name": "multiply", "arguments": {"a": 6, "b": 7}})),
            json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}),
        ],
    );
    let [discovered, product, refused] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!(discovered["result"]["supportedVersions"][0], "2026-07-28");
    assert_eq!(product["result"]["structuredContent"]["result"], 42);
    assert_eq!(product["result"]["resultType"], "complete");
    assert_eq!(refused["error"]["message"], "`initialize` must come first");
}

#[test]
fn a_group_that_does_not_exist_is_named() {
    let sandbox = Sandbox::new();
    let output =
        assert_cmd::Command::from_std(sandbox.command(&["mcp", "--group", "nowhere"])).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "error: no group or server is called `nowhere`\n");
}
