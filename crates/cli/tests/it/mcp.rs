//! `mcp`: the gateway as an MCP server on standard input and output.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Runs the endpoint over `messages` and gives its answers by id.
#[track_caller]
fn answers(arguments: &[&str], messages: &[Value]) -> Vec<Value> {
    answers_in(&Sandbox::new(), arguments, messages)
}

#[track_caller]
fn answers_in(sandbox: &Sandbox, arguments: &[&str], messages: &[Value]) -> Vec<Value> {
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
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: no group or server is called `nowhere`; there are: demo\n"
    );
}

#[test]
fn why_a_server_cannot_be_reached_is_reported_once() {
    let sandbox = Sandbox::new();
    sandbox.configure(
        &json!({"mcpServers": {"gone": {"command": "sh", "args": ["-c", "echo no such luck >&2; exit 7"]}}}),
    );
    let messages =
        ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "prompts/list"];
    let messages: Vec<String> =
        (1..).zip(messages).map(|(id, method)| modern(id, method, json!({})).to_string()).collect();
    let mut command = assert_cmd::Command::from_std(sandbox.command(&["mcp"]));
    let output = command.write_stdin(messages.join("\n") + "\n").output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(errors.matches("no such luck").count(), 1, "{errors}");
    assert!(!errors.contains("are left out"), "{errors}");
}

/// A server that lists what is in the file `tools.json`.
const LISTING: &str = r#"while read -r line; do
id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
[ -n "$id" ] || continue
case "$line" in
*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}}\n' "$id" ;;
*tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}\n' "$id" "$(cat tools.json)" ;;
*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
esac; done"#;

/// What is wrong with a tool by the schema of MCP.
fn fault(tool: &Value, is_modern: bool) -> Option<&'static str> {
    let is = |value: &Value, check: fn(&Value) -> bool| value.is_null() || check(value);
    let members = tool.as_object()?;
    let schema = &tool["inputSchema"];
    let properties = schema["properties"].as_object();
    let output = &tool["outputSchema"];
    let rules = [
        (tool["name"].is_string(), "name"),
        (schema["type"] == "object", "inputSchema.type"),
        (schema.get("properties").is_none() == properties.is_none(), "inputSchema.properties"),
        (properties.is_none_or(|all| all.values().all(Value::is_object)), "a property"),
        (
            schema
                .get("required")
                .is_none_or(|names| names.as_array().is_some_and(|all| all.iter().all(Value::is_string))),
            "inputSchema.required",
        ),
        (members.values().all(|value| !value.is_null()), "a null"),
        (is(&tool["title"], Value::is_string), "title"),
        (is(&tool["description"], Value::is_string), "description"),
        (is(&tool["annotations"], Value::is_object), "annotations"),
        (is(&tool["annotations"]["readOnlyHint"], Value::is_boolean), "a hint"),
        (
            output.is_null() || (output.is_object() && (is_modern || output["type"] == "object")),
            "outputSchema",
        ),
    ];
    rules.into_iter().find(|(is_kept, _)| !is_kept).map(|(_, rule)| rule)
}

#[test]
fn one_malformed_tool_spoils_no_list() {
    let sandbox = Sandbox::new();
    let object = json!({"type": "object"});
    let tools = json!([
        {"name": "right", "inputSchema": object},
        {"name": "missing"},
        {"name": "null", "inputSchema": null},
        {"name": "untyped", "inputSchema": {"properties": {"a": true, "b": {}}, "required": null}},
        {"name": "nullable", "inputSchema": {"type": ["object", "null"]}},
        {"name": "labels", "inputSchema": object, "title": 1, "description": null, "annotations": {"readOnlyHint": "yes"}},
        {"name": "output", "inputSchema": object, "outputSchema": {"type": "array"}},
        {"name": "outputless", "inputSchema": object, "outputSchema": null},
        {"name": "text", "inputSchema": "x"},
        {"name": "string", "inputSchema": {"type": "string"}},
        {"name": "list", "inputSchema": []},
        {"description": "nameless", "inputSchema": object},
    ]);
    sandbox.write("tools.json", &tools.to_string());
    sandbox.configure(&json!({"mcpServers": {
        "odd": {"command": "sh", "args": ["-c", LISTING], "env": {"PATH": "/usr/bin:/bin"}, "connect": "eager"},
        "demo": {"type": "builtin"},
    }}));
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let old = answers_in(
        &sandbox,
        &["mcp"],
        &[
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        ],
    );
    let new = answers_in(&sandbox, &["mcp"], &[modern(2, "tools/list", json!({}))]);
    for (answer, is_modern) in [(old.last().unwrap(), false), (new.last().unwrap(), true)] {
        let listed = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
        for tool in listed {
            assert_eq!(fault(tool, is_modern), None, "{tool}");
        }
        let names: Vec<&str> = listed.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        let shown = ["right", "missing", "null", "untyped", "nullable", "labels", "output", "outputless"];
        assert_eq!(names.get(5..), Some(shown.as_slice()), "the demo has five");
        let untyped = json!({"properties": {"a": {}, "b": {}}, "type": "object"});
        assert_eq!(listed[8]["inputSchema"], untyped);
        assert_eq!(listed[11].get("outputSchema").is_some(), is_modern);
    }

    let strict =
        json!({"command": "sh", "args": ["-c", LISTING], "env": {"PATH": "/usr/bin:/bin"}, "strict": true});
    sandbox.write(
        "strict.json",
        &json!({"mcpServers": {"odd": strict, "demo": {"type": "builtin"}}}).to_string(),
    );
    let run = sandbox.run(&["servers", "--config", "strict.json", "--json"]);
    let reason = run.json()["servers"][1]["reason"].as_str().unwrap_or_default().to_owned();
    assert!(
        reason.contains("`strict`") && reason.contains("tool `missing`") && reason.contains("index 11"),
        "{reason}"
    );

    let mut gateway = sandbox.serve(&["--json"]);
    gateway.line("\"tools\":12");
    for path in ["/health", "/servers"] {
        let answer = gateway.get(path);
        let odd =
            answer["servers"].as_array().unwrap().iter().find(|server| server["name"] == "odd").unwrap();
        let rows: Vec<(u64, &str)> = odd["malformedTools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| (row["index"].as_u64().unwrap(), row["withheld"].as_str().unwrap()))
            .collect();
        let expected = [
            (1, "no"),
            (2, "no"),
            (3, "no"),
            (4, "no"),
            (5, "no"),
            (7, "no"),
            (8, "mcp"),
            (9, "mcp"),
            (10, "mcp"),
            (11, "all"),
        ];
        assert_eq!(rows, expected, "{odd}");
    }
    gateway.stop();
    let errors = gateway.running.errors();
    let logged = errors.lines().filter(|line| line.contains("\"index\":")).count();
    assert_eq!(logged, 10, "each once, and before anybody asked for a list: {errors}");
}
