//! Tools that a provider cannot take, and dialects that change while the gateway runs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sandbox::{Gateway, Sandbox};

/// A server of two tools, one of which cannot be called with an object.
const ODD: &str = r#"while read -r line; do
id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
[ -n "$id" ] || continue
case "$line" in
*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}}\n' "$id" ;;
*tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"known","inputSchema":{"type":"object"}},{"name":"worded","inputSchema":{"type":"string"}}]}}\n' "$id" ;;
*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
esac; done"#;

fn odd(members: &Value) -> Value {
    let mut entry = json!({"command": "sh", "args": ["-c", ODD]});
    for (name, value) in members.as_object().unwrap() {
        entry[name] = value.clone();
    }
    entry
}

fn names(list: &Value) -> Vec<&str> {
    let tools = list["tools"].as_array().unwrap_or_else(|| panic!("{list}"));
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

#[test]
fn each_server_says_what_becomes_of_a_list_that_cannot_take_a_tool() {
    let sandbox = Sandbox::new();
    let configure = |word: &str| {
        let demo = json!({"type": "builtin", "tools": {"allow": ["add"]}});
        let file = json!({"mcpServers": {"odd": odd(&json!({"onConversionError": word})), "demo": demo}});
        sandbox.configure(&file);
    };
    configure("skip");
    let mut gateway = sandbox.serve(&[]);
    assert_eq!(names(&gateway.get("/tools/openai")), ["add", "known"]);
    configure("empty");
    gateway.line("changed odd");
    assert_eq!(names(&gateway.get("/tools/openai")), ["add"]);
    assert_eq!(names(&gateway.get("/tools/openai?server=odd")), [""; 0]);
    let report = gateway.get("/tools/openai?report=1");
    let row = report["report"].as_array().unwrap().iter().find(|row| row["name"] == "known").unwrap();
    let reason = row["quarantine"].as_str().unwrap();
    let expected = "all tools of the server are left out (`onConversionError` is `empty`): tool `worded` cannot be written for \
                    `openai-chat`: ";
    assert!(reason.starts_with(expected), "{report}");
    // Whoever asks for nothing of this server is not concerned.
    configure("error");
    gateway.line("changed odd");
    assert_eq!(names(&gateway.get("/tools/openai?server=demo")), ["add"]);
    let answer = gateway.get("/tools/openai");
    let expected = "no list of the tools of server `odd` (its `onConversionError` is `error`): tool `worded` cannot be written for \
                    `openai-chat`: ";
    assert_eq!(answer["code"], "CONVERSION_ERROR", "{answer}");
    assert!(answer["error"].as_str().unwrap().starts_with(expected), "{answer}");
    // Also of a list that is shortened.
    assert_eq!(gateway.get("/tools/openai?limit=1")["code"], "CONVERSION_ERROR");
    // Calls are made whatever becomes of lists.
    let call = json!({"provider": "openai", "server": "*", "call": {"name": "add", "arguments": "{\"a\":1,\"b\":2}"}});
    let sum = gateway.post("/execute", &call);
    assert_eq!(sum["result"]["structuredContent"]["result"], 3, "{sum}");
    assert_eq!(gateway.get("/tools?server=odd")["tools"].as_array().map(Vec::len), Some(2));
    sandbox.configure(&json!({"mcpServers": {"odd": odd(&json!({"onConversionError": "skipp"}))}}));
    let check = sandbox.run(&["servers", "check"]);
    let shown = check.stdout + &check.stderr;
    assert!(shown.contains(r#"one of "skip", "empty", "error""#), "{shown}");
    gateway.stop();
}

/// What `ask` gives as soon as it gives something.
#[track_caller]
fn once<T>(gateway: &Gateway, path: &str, ask: impl Fn(&Value) -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_mins(1);
    loop {
        let answer = gateway.get(path);
        if let Some(found) = ask(&answer) {
            return found;
        }
        assert!(Instant::now() < until, "{answer}");
    }
}

#[test]
fn what_providers_cannot_take_of_eager_servers_is_known_before_anybody_asks() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"mcpServers": {
        "odd": odd(&json!({"connect": "eager"})), "lazy": odd(&json!({})),
    }}));
    let mut gateway = sandbox.serve(&[]);
    for path in ["/servers", "/health"] {
        let problems = once(&gateway, path, |answer| {
            let servers = answer["servers"].as_array().unwrap();
            assert!(
                servers
                    .iter()
                    .all(|server| server["name"] == "odd" || server["conversionProblems"].is_null())
            );
            servers.iter().find_map(|server| server.get("conversionProblems").cloned())
        });
        assert_eq!(problems.as_array().map(Vec::len), Some(1), "{problems}");
        assert_eq!(problems[0]["tool"], "worded");
        let providers = problems[0]["providers"].as_array().unwrap();
        for provider in ["openai-chat", "anthropic", "gemini", "bedrock"] {
            assert!(providers.contains(&provider.into()), "{provider}: {problems}");
        }
        assert!(problems[0]["reason"].as_str().unwrap().contains("type `string`"), "{problems}");
    }
    gateway.stop();
    let errors = gateway.running.errors();
    let lines =
        errors.lines().filter(|line| line.contains("Tool withheld.") && line.contains("profile=gemini "));
    assert_eq!(lines.count(), 1, "{errors}");
}

#[test]
fn a_tool_of_an_eager_server_that_is_nested_too_deeply_is_reported_as_that() {
    let sandbox = Sandbox::new();
    let deep = format!("{}{}", r#"{"items":"#.repeat(200), "{}".to_owned() + &"}".repeat(200));
    let server =
        ODD.replace(r#"{"type":"string"}"#, &format!(r#"{{"type":"object","properties":{{"a":{deep}}}}}"#));
    let entry = json!({"command": "sh", "args": ["-c", server], "connect": "eager"});
    sandbox.configure(&json!({"mcpServers": {"odd": entry}}));
    let mut gateway = sandbox.serve(&[]);
    let problems =
        once(&gateway, "/health", |answer| answer["servers"][0].get("conversionProblems").cloned());
    assert!(problems[0]["reason"].as_str().unwrap().contains("nested"), "{problems}");
    gateway.stop();
}

#[test]
fn a_dialect_file_must_be_a_regular_file() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["dialects", "--dialect-file", "/dev/zero"]);
    assert_eq!(
        (run.status, run.stderr.as_str()),
        (2, "error: reading /dev/zero: it is not a regular file\n")
    );
}

#[test]
fn dialect_files_are_reloaded_when_they_change() {
    let sandbox = Sandbox::new();
    let own = sandbox.path("own.toml");
    let write = |max: &str| {
        let text =
            format!("name = \"own\"\ntitle = \"Own\"\nextends = \"openai-chat\"\n[names]\nmax = {max}\n");
        std::fs::write(&own, text).unwrap();
    };
    write("64");
    sandbox.configure(&json!({
        "dialects": [own], "mcpServers": {"demo": {"type": "builtin", "tools": {"allow": ["store_value"]}}},
    }));
    let mut gateway = sandbox.serve(&[]);
    let length = |gateway: &Gateway| {
        let list = gateway.get("/tools/own");
        names(&list).first().map_or(0, |name| name.len())
    };
    let whole = length(&gateway);
    assert!(whole > 8, "{whole}");
    write("8");
    gateway.line("the dialects changed");
    assert_eq!(length(&gateway), 8);
    write("= 8");
    let line = gateway.line("configuration not reloaded, the old one stays");
    assert!(line.contains("own.toml`") && line.contains("line 5"), "{line}");
    assert_eq!(length(&gateway), 8);
    write("64");
    gateway.line("the dialects changed");
    assert_eq!(length(&gateway), whole);
    gateway.stop();
}
