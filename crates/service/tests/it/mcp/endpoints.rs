//! What each endpoint shows, under which names, in pages; and that every call is written down.

use gateway_upstream::{CatalogueRules, Endpoint, ToolGroup, UpstreamSpec};
use serde_json::{Value, json};

use super::wire::{Caller, ERAS, Era, Front, Way, everything, upstream};
use crate::logs::eventually_logged;

fn group(servers: &[&str], tools: &[&str]) -> ToolGroup {
    let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    ToolGroup { servers: texts(servers), tools: texts(tools), ..ToolGroup::default() }
}

/// Two servers that offer the same, one of another kind, and groups of them.
async fn front(page: usize) -> Front {
    let mut rules = CatalogueRules::default();
    rules.groups.insert("first".to_owned(), group(&["one"], &[]));
    rules.groups.insert("both".to_owned(), group(&["one", "two"], &[]));
    rules.groups.insert("sums".to_owned(), group(&[], &["add", "one__greet"]));
    let servers = vec![
        upstream("one", (Era::Legacy, Way::Http), everything).await,
        upstream("two", (Era::Modern, Way::Stdio), everything).await,
        (UpstreamSpec::new("demo", Endpoint::Demo), None),
    ];
    Front::of_specs(servers, rules, |config| config.mcp.page = page).await
}

async fn all(caller: &Caller<'_>, list: &str, member: &str, most: usize) -> Vec<String> {
    let method = if list == "resourceTemplates" { "resources/templates".to_owned() } else { list.to_owned() };
    let mut found = Vec::new();
    let mut params = json!({});
    loop {
        let page = caller.ask(&format!("{method}/list"), params).await;
        let entries = page.result()[list].as_array().unwrap();
        assert!(entries.len() <= most, "{}", page.text);
        found.extend(entries.iter().map(|entry| entry[member].as_str().unwrap().to_owned()));
        match page.result().get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return found,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_paged_whole_and_the_same_every_time() {
    let (small, large) = (front(3).await, front(1_000).await);
    for era in ERAS {
        let (few, many) = (small.caller(era).await, large.caller(era).await);
        for (list, member) in [
            ("tools", "name"),
            ("prompts", "name"),
            ("resources", "uri"),
            ("resourceTemplates", "uriTemplate"),
        ] {
            let paged = all(&few, list, member, 3).await;
            assert_eq!(paged, all(&many, list, member, 1_000).await, "{era:?} {list}");
            assert_eq!(paged, all(&few, list, member, 3).await, "{era:?} {list}");
            let mut names = paged.clone();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), paged.len(), "{era:?} {list}: every name once");
        }
        for cursor in [json!("x"), json!(""), json!(7)] {
            let wrong = few.ask("tools/list", json!({"cursor": cursor})).await;
            assert_eq!(wrong.error().0, -32602, "{era:?}: {}", wrong.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_two_servers_have_is_reached_under_both_names() {
    let front = front(1_000).await;
    for era in ERAS {
        for path in ["/mcp", "/mcp/both"] {
            let caller = Caller::open(&front.service, era, path, "").await;
            let prompts = all(&caller, "prompts", "name", 1_000).await;
            let resources = all(&caller, "resources", "uri", 1_000).await;
            for server in ["one", "two"] {
                let name = format!("{server}__test_simple_prompt");
                assert!(prompts.contains(&name), "{prompts:?}");
                let got = caller.ask("prompts/get", json!({"name": name})).await;
                let text = &got.result()["messages"][0]["content"]["text"];
                assert_eq!(text, "This is a simple prompt for testing.", "{era:?} {path}");
                let uri = format!("gateway:{server}:test://static-text");
                assert!(resources.contains(&uri), "{resources:?}");
                let read = caller.ask("resources/read", json!({"uri": uri})).await;
                let text = &read.result()["contents"][0]["text"];
                assert_eq!(text, "This is the content of the static text resource.", "{era:?} {path}");
                let greeting = caller.call(&format!("{server}__greet"), json!({"name": server})).await;
                assert_eq!(greeting.said(), format!("Hello, {server}!"), "{era:?} {path}");
                let reference =
                    json!({"type": "ref/prompt", "name": format!("{server}__test_prompt_with_arguments")});
                let argument = json!({"name": "arg1", "value": "par"});
                let done =
                    caller.ask("completion/complete", json!({"ref": reference, "argument": argument})).await;
                assert_eq!(done.result()["completion"]["values"], json!(["paris", "park", "party"]));
            }
            assert!(!prompts.contains(&"test_simple_prompt".to_owned()));
            let bare = caller.ask("prompts/get", json!({"name": "test_simple_prompt"})).await;
            assert_eq!(bare.error().0, -32602, "{era:?} {path}: {}", bare.text);
            let bare = caller.ask("resources/read", json!({"uri": "test://static-text"})).await;
            let candidates = json!(["gateway:one:test://static-text", "gateway:two:test://static-text"]);
            assert_eq!(
                bare.answer["error"]["data"]["candidates"], candidates,
                "{era:?} {path}: {}",
                bare.text
            );
            let bare = caller.call("greet", json!({"name": "x"})).await;
            assert_eq!(bare.error().0, -32602, "{era:?} {path}: {}", bare.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_come_under_the_name_that_was_subscribed() {
    let front = front(1_000).await;
    for era in ERAS {
        let caller = front.caller(era).await;
        let mut news = caller.listen(&["gateway:one:test://watched-resource"]).await;
        // The other server's resource of the same name is another resource.
        for server in ["two", "one"] {
            let changed = caller.call(&format!("{server}__test_trigger_resource_update"), json!({})).await;
            assert_eq!(changed.said(), "changed");
        }
        let told = news.until("notifications/resources/updated").await;
        assert_eq!(told["params"]["uri"], "gateway:one:test://watched-resource", "{era:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_shows_and_runs_only_what_is_in_it() {
    let front = front(1_000).await;
    for era in ERAS {
        let sums = Caller::open(&front.service, era, "/mcp/sums", "").await;
        let mut tools = all(&sums, "tools", "name", 1_000).await;
        tools.sort();
        assert_eq!(tools, ["add", "one__greet"], "{era:?}");
        assert_eq!(sums.call("one__greet", json!({"name": "x"})).await.said(), "Hello, x!", "{era:?}");
        for outside in ["two__greet", "one__test_simple_text", "multiply", "mcp__one__test_simple_text"] {
            let refused = sums.call(outside, json!({})).await;
            assert_eq!(refused.error().0, -32602, "{era:?} {outside}: {}", refused.text);
        }
        // It names no servers, so it has nothing but tools.
        assert_eq!(all(&sums, "prompts", "name", 1_000).await, Vec::<String>::new(), "{era:?}");
        assert_eq!(all(&sums, "resources", "uri", 1_000).await, Vec::<String>::new(), "{era:?}");
        for uri in ["gateway:one:test://static-text", "test://static-text"] {
            let read = sums.ask("resources/read", json!({"uri": uri})).await;
            assert!(read.answer.get("error").is_some(), "{era:?} {uri}: {}", read.text);
        }
        let first = Caller::open(&front.service, era, "/mcp/first", "").await;
        let tools = all(&first, "tools", "name", 1_000).await;
        assert!(
            tools.contains(&"greet".to_owned()) && !tools.contains(&"add".to_owned()),
            "{era:?}: {tools:?}"
        );
        for uri in ["gateway:two:test://static-text", "gateway:demo:x"] {
            let read = first.ask("resources/read", json!({"uri": uri})).await;
            assert!(read.answer.get("error").is_some(), "{era:?} {uri}: {}", read.text);
        }
        for (method, params) in [
            ("prompts/get", json!({"name": "two__test_simple_prompt"})),
            ("tools/call", json!({"name": "two__greet", "arguments": {"name": "x"}})),
            ("tools/call", json!({"name": "add", "arguments": {"a": 1, "b": 2}})),
        ] {
            let refused = first.ask(method, params.clone()).await;
            assert!(refused.answer.get("error").is_some(), "{era:?} {params}: {}", refused.text);
        }
        if era == Era::Legacy {
            let outside = json!({"uri": "gateway:two:test://watched-resource"});
            let refused = sums.ask("resources/subscribe", outside).await;
            assert!(refused.answer.get("error").is_some(), "{}", refused.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_groups_are_not_found() {
    let front = front(1_000).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    for (verb, target) in [("POST", "/mcp/nobody"), ("GET", "/mcp/nobody"), ("GET", "/mcp/nobody/events")] {
        let body = if verb == "POST" { body } else { "" };
        let headers = "content-type: application/json\r\naccept: text/event-stream\r\n";
        let answer = front.service.send(verb, target, headers, body).await;
        assert_eq!(answer.status, 404, "{verb} {target}: {}", answer.body);
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("nobody") && message.contains("first"), "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_is_in_the_log() {
    let front = front(1_000).await;
    for era in ERAS {
        let caller = front.caller(era).await;
        caller.call("add", json!({"a": 1, "b": 2})).await;
        caller.call("one__test_error_handling", json!({})).await;
        caller.call("no_such_tool", json!({"x": 1})).await;
    }
    let entries = eventually_logged(&front.service, "/logs", "", 6).await;
    let mut rows: Vec<(Value, Value, Value)> = entries
        .iter()
        .map(|entry| (entry["tool"].clone(), entry["transport"].clone(), entry["code"].clone()))
        .collect();
    rows.sort_by_key(|(tool, ..)| tool.to_string());
    let row = |tool: &str, code: Value| (json!(tool), json!("mcp"), code);
    let add = row("add", Value::Null);
    let unknown = row("no_such_tool", json!("TOOL_NOT_FOUND"));
    assert_eq!(rows[..4], [add.clone(), add, unknown.clone(), unknown], "{entries:?}");
    assert!(rows[4..].iter().all(|(tool, transport, _)| tool == "test_error_handling" && transport == "mcp"));
}
