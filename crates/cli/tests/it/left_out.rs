//! Unusable tools are reported, and affect nothing else.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

fn says(text: &str) -> Value {
    json!({"handler": {"command": "printf", "args": ["%s", text]}})
}

fn names(list: &Value) -> Vec<&str> {
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn one_wrong_tool_does_not_stop_the_start() {
    let sandbox = Sandbox::new();
    let handlerless = json!({"description": "no handler"});
    let file = json!({"tools": {
        "good": says("hello"), "bad": handlerless, "far": {"handler": {"url": "ftp://x"}}, "a b": says("x"),
    }});
    sandbox.configure(&file);
    let check = sandbox.run(&["servers", "check", "--json"]);
    assert_eq!(check.status, 2, "{}", check.stdout);
    let fields: Vec<Value> =
        check.json()["errors"].as_array().unwrap().iter().map(|error| error["field"].clone()).collect();
    assert_eq!(fields, ["tools.bad", "tools.far.handler.url", "tools.a b"]);

    let mut gateway = sandbox.serve(&[]);
    gateway.line("tool bad: left out: ");
    assert_eq!(names(&gateway.get("/tools")), ["good"]);
    assert_eq!(gateway.call("registry", "good", &json!({}))["result"]["content"][0]["text"], "hello");
    let health = gateway.get("/health");
    assert_eq!((&health["ok"], &health["status"]), (&json!(true), &json!("degraded")));
    let refused = health["refusedTools"].as_array().unwrap();
    assert_eq!(refused.len(), 3, "{health}");
    assert_eq!(refused[0]["tool"], "bad");
    assert!(refused[0]["error"].as_str().unwrap().contains("needs a \"handler\""), "{health}");

    sandbox.configure(&json!({"tools": {"good": says("good day"), "bad": says("now right"), "new": {}}}));
    gateway.line("tool new: left out: ");
    assert_eq!(names(&gateway.get("/tools")), ["bad", "good"]);
    sandbox.configure(&json!({"tools": {"good": says("hello")}}));
    gateway.line("the registered tools changed");
    let health = gateway.get("/health");
    assert_eq!((&health["status"], health.get("refusedTools")), (&json!("healthy"), None));
    gateway.stop();
    let errors = gateway.running.errors();
    assert!(errors.contains("tools.bad: Tool \"bad\": needs a \"handler\""), "{errors}");
}

/// A server of three tools: one has no name, one cannot be called with an object.
const NAMELESS: &str = r#"while read -r line; do
id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
[ -n "$id" ] || continue
case "$line" in
*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}}\n' "$id" ;;
*tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"description":"nobody","inputSchema":{"type":"object"}},{"name":"known","inputSchema":{"type":"object"}},{"name":"worded","inputSchema":{"type":"string"}}]}}\n' "$id" ;;
*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
esac; done"#;

#[test]
fn the_log_tells_of_every_list_and_of_every_tool_that_is_not_in_it() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({
        "mcpServers": {"odd": {"command": "sh", "args": ["-c", NAMELESS]}},
    }));
    let mut gateway = sandbox.serve(&["--json"]);
    for _ in 0..3 {
        gateway.get("/tools/openai");
    }
    let report = gateway.get("/tools/openai?report=true");
    gateway.get("/tools");
    let rows = report["report"].as_array().unwrap();
    let nameless = rows.iter().find(|row| row["name"].is_null()).unwrap_or_else(|| panic!("{report}"));
    assert_eq!(
        (&nameless["server"], &nameless["quarantine"]),
        (&json!("odd"), &json!("the tool has no name"))
    );
    let (_, rest) = gateway.stop();
    // Warnings are on standard error.
    let errors = gateway.running.errors();
    assert!(!rest.iter().any(|line| line.contains("\"level\":\"warn\"")), "{rest:#?}");
    let lines: Vec<Value> = gateway
        .running
        .seen
        .iter()
        .chain(&rest)
        .map(String::as_str)
        .chain(errors.lines())
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .collect();
    let with = |message: &str| -> Vec<&Value> {
        lines
            .iter()
            .filter(|line| line["message"].as_str().is_some_and(|text| text.starts_with(message)))
            .collect()
    };
    let converted = with("Converted");
    assert_eq!(converted.len(), 1, "{lines:#?}");
    assert_eq!(converted[0]["level"], "info");
    assert_eq!(converted[0]["message"], "Converted 1 tools to OpenAI format.");
    let expected = json!({"count": 1, "servers": "odd", "profile": "openai-chat", "withheld": 1});
    assert_eq!(converted[0]["context"], expected);
    let withheld = with("Tool withheld.");
    assert_eq!(withheld.len(), 1, "{lines:#?}");
    let context = &withheld[0]["context"];
    assert_eq!((&context["tool"], &context["server"]), (&json!("worded"), &json!("odd")));
    assert!(context["reason"].as_str().unwrap().contains("type `string`"), "{context}");
    let left_out = with("Tool left out.");
    assert_eq!(left_out.len(), 1, "{lines:#?}");
    assert_eq!((&left_out[0]["level"], &left_out[0]["context"]["server"]), (&json!("warn"), &json!("odd")));
    assert_eq!(left_out[0]["context"]["reason"], "the tool has no name");
}
