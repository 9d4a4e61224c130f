//! More tools than a provider takes.

use serde_json::{Value, json};

use crate::run;
use crate::sandbox::Sandbox;

fn document(count: usize) -> String {
    let tools: Vec<Value> = (0..count)
        .map(|index| {
            json!({"name": format!("t{index}"), "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}},
                "required": ["n"]}})
        })
        .collect();
    json!({"tools": tools}).to_string()
}

/// The names in a list of OpenAI's format.
fn names(list: &Value) -> Vec<String> {
    let tools = list.as_array().unwrap().iter();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_list_of_live_servers_is_shortened_and_documents_are_not() {
    let sandbox = Sandbox::new();
    let whole = sandbox.run(&["tools", "--to", "openai"]);
    assert_eq!((whole.status, whole.stderr.as_str()), (0, ""));
    assert_eq!(names(&whole.json()).len(), 5);
    let some = sandbox.run(&["tools", "--to", "openai", "--limit", "4"]);
    assert_eq!(
        (some.status, some.stderr.as_str()),
        (
            1,
            "left out 4 tools: the list has 4, and the last three search, describe and call the rest; --limit off for all\n"
        )
    );
    assert_eq!(names(&some.json()), ["add", "search_tools", "describe_tool", "call_tool"]);
    sandbox.configure(&json!({"mcpServers": {"demo": {"type": "builtin", "tools": {"pin": ["get_value"]}}}}));
    let pinned = sandbox.run(&["tools", "--to", "openai", "--limit", "4"]);
    assert_eq!(names(&pinned.json()), ["get_value", "search_tools", "describe_tool", "call_tool"]);
    let off = sandbox.run(&["tools", "--to", "openai", "--limit", "off"]);
    assert_eq!((off.status, names(&off.json()).len()), (0, 5));
    let wrong = sandbox.run(&["tools", "--to", "openai", "--limit", "0"]);
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("expected a number of tools from 1, or `off`"), "{}", wrong.stderr);

    let converted = run(&["convert", "--to", "openai"], &document(130));
    assert_eq!(
        (converted.status, converted.stderr.as_str()),
        (1, "2 tools more than the 128 that one request takes\n")
    );
    assert_eq!(names(&converted.json()).len(), 130);
}

#[test]
fn documents_have_no_more_strict_tools_than_a_request_takes() {
    for flags in
        [&["convert", "--to", "anthropic-strict"][..], &["convert", "--to", "anthropic", "--strict", "auto"]]
    {
        let converted = run(flags, &document(25));
        assert_eq!(
            (converted.status, converted.stderr.as_str()),
            (0, "not strict: 5 tools, because one request takes 20 strict tools\n"),
            "{flags:?}"
        );
        let list = converted.json();
        let strict: Vec<bool> =
            list.as_array().unwrap().iter().map(|tool| tool.get("strict") == Some(&json!(true))).collect();
        assert_eq!(strict, [vec![true; 20], vec![false; 5]].concat(), "{flags:?}");
    }
}

#[test]
fn a_shortened_list_is_logged_once() {
    let sandbox = Sandbox::new();
    sandbox.configure(&json!({"mcpServers": {"demo": {"type": "builtin"}}}));
    let mut gateway = sandbox.serve(&["--json"]);
    for _ in 0..3 {
        gateway.get("/tools/openai?limit=4");
        gateway.get("/tools/openai?limit=4&report=true");
    }
    gateway.get("/tools/openai");
    gateway.stop();
    let errors = gateway.running.errors();
    let lines: Vec<Value> = errors.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let about =
        |line: &&Value| line["message"].as_str().is_some_and(|text| text.starts_with("The list has no room"));
    let found: Vec<&Value> = lines.iter().filter(about).collect();
    assert_eq!(found.len(), 1, "{lines:#?}");
    assert_eq!(
        found[0]["message"],
        "The list has no room for 4 tools, which models reach only through search."
    );
    assert_eq!(found[0]["context"], json!({"omitted": 4, "profile": "openai-chat", "limit": 4}));
}
