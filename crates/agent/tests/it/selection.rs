//! Which tools a model is sent when there are too many.

use std::collections::BTreeMap;

use gateway_config::{SearchTools, ServiceConfig, ToolBudget};
use gateway_testkit::models::{Fault, ModelServer, Reply, Script, Wire};
use gateway_upstream::{Endpoint, UpstreamSpec};
use serde_json::{Value, json};

use crate::gateway::{Gateway, spec, strict_model};

/// The names of the tools in a request.
fn sent(server: &ModelServer, request: usize) -> Vec<String> {
    server.requests()[request].tools().iter().map(|tool| tool.name.clone()).collect()
}

fn gateway(server: &ModelServer, most: usize, pinned: &[&str]) -> Gateway {
    let mut entry = spec("m", Wire::Chat, server);
    entry.tools.most = Some(most);
    entry.tools.pinned = pinned.iter().map(|name| (*name).to_owned()).collect();
    let mut config = ServiceConfig::default();
    config.models = vec![entry];
    Gateway::new(config)
}

fn conversation(texts: &[&str]) -> Value {
    let messages: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            json!({"role": if index % 2 == 0 { "user" } else { "assistant" }, "content": text})
        })
        .collect();
    json!({"model": "m", "messages": messages})
}

#[tokio::test]
async fn the_tools_that_fit_the_question_are_sent() {
    for (question, first) in [
        ("What is the weather in Paris?", "get_weather"),
        ("Please multiply 3 by 4", "multiply"),
        ("Remember the text `x` under the key `k`: store it", "store_value"),
    ] {
        let server = strict_model(Wire::Chat, Script::new().reply(Reply::new().text("Ok."))).await;
        let gateway = gateway(&server, 1, &[]);
        gateway.whole(&conversation(&[question]), None).await.unwrap();
        assert_eq!(sent(&server, 0), [first], "{question}");
    }
}

#[tokio::test]
async fn pinned_tools_are_always_sent() {
    let server = strict_model(Wire::Chat, Script::new().reply(Reply::new().text("Ok."))).await;
    let gateway = gateway(&server, 2, &["demo/add"]);
    gateway.whole(&conversation(&["What is the weather in Paris?"]), None).await.unwrap();
    assert_eq!(sent(&server, 0), ["add", "get_weather"]);
}

#[tokio::test]
async fn all_rounds_have_the_same_tools_and_later_questions_append() {
    let script = Script::new()
        .reply(Reply::new().call("c1", "get_weather", json!({"location": "Paris"})))
        .reply(Reply::new().text("Sunny."))
        .reply(Reply::new().text("12."));
    let server = strict_model(Wire::Chat, script).await;
    let gateway = gateway(&server, 3, &[]);
    gateway.whole(&conversation(&["What is the weather in Paris?"]), None).await.unwrap();
    assert_eq!(server.requests()[0].body["tools"], server.requests()[1].body["tools"]);
    let longer = conversation(&["What is the weather in Paris?", "Sunny.", "Now multiply 3 by 4"]);
    gateway.whole(&longer, None).await.unwrap();
    let names = sent(&server, 2);
    assert_eq!(names[0], "get_weather", "what was sent before stays in front: {names:?}");
    assert!(names.contains(&"multiply".to_owned()), "{names:?}");
}

#[tokio::test]
async fn tokens_and_bytes_bound_the_list_too() {
    let server = strict_model(
        Wire::Chat,
        Script::new().reply(Reply::new().text("Ok.")).reply(Reply::new().text("Ok.")),
    )
    .await;
    for bytes in [false, true] {
        let mut entry = spec("m", Wire::Chat, &server);
        if bytes {
            entry.tools.bytes = Some(600);
        } else {
            entry.tools.tokens = Some(150);
        }
        let mut config = ServiceConfig::default();
        config.models = vec![entry];
        Gateway::new(config).whole(&conversation(&["What is the weather in Paris?"]), None).await.unwrap();
        let request = usize::from(bytes);
        let names = sent(&server, request);
        assert!(names.first().is_some_and(|name| name == "get_weather") && names.len() < 5, "{names:?}");
        let size = server.requests()[request].body["tools"].to_string().len();
        assert!(size <= 700, "{size}");
    }
}

/// A gateway with the demo tools of six servers, more than `budget` allows.
fn six_servers(server: &ModelServer, budget: impl FnOnce(&mut ToolBudget)) -> Gateway {
    let mut entry = spec("m", Wire::Chat, server);
    budget(&mut entry.tools);
    let mut config = ServiceConfig::default();
    config.models = vec![entry];
    let servers = ["a", "b", "c", "d", "e", "f"].map(|name| UpstreamSpec::new(name, Endpoint::Demo));
    Gateway::with_servers(config, servers.into())
}

const SEARCH: [&str; 3] = ["search_tools", "describe_tool", "call_tool"];

#[tokio::test]
async fn what_is_left_out_is_within_reach_of_search() {
    let call = json!({"name": "f__multiply", "arguments": {"a": 3, "b": 4}});
    let script = Script::new()
        .reply(Reply::new().call("c1", "search_tools", json!({"query": "f"})))
        .reply(Reply::new().call("c2", "call_tool", call))
        .reply(Reply::new().text("12."));
    let server = strict_model(Wire::Chat, script).await;
    let gateway = six_servers(&server, |tools| tools.most = Some(12));
    let answer = gateway.whole(&conversation(&["What is the weather in Paris?"]), None).await.unwrap();
    let names = sent(&server, 0);
    assert_eq!(names[..3], SEARCH, "in front, so that others can be appended: {names:?}");
    assert!(names.len() <= 12 && !names.contains(&"f__multiply".to_owned()), "{names:?}");
    let calls = &answer["gateway"]["calls"];
    assert_eq!((&calls[1]["server"], &calls[1]["tool"]), (&json!("f"), &json!("multiply")), "{calls}");
    assert!(calls[0]["result"].as_str().unwrap().contains("f__multiply"), "{calls}");
    assert!(calls[1]["result"].as_str().unwrap().contains("12"), "{calls}");
}

#[tokio::test]
async fn search_stands_alone_or_not_at_all_if_the_configuration_says_so() {
    for (search, count) in [(SearchTools::Only, 3), (SearchTools::Off, 6)] {
        let server = strict_model(Wire::Chat, Script::new().reply(Reply::new().text("Ok."))).await;
        let gateway = six_servers(&server, |tools| (tools.most, tools.search) = (Some(12), search));
        gateway.whole(&conversation(&["What is the weather in Paris?"]), None).await.unwrap();
        let names = sent(&server, 0);
        let searching = names.iter().filter(|name| SEARCH.contains(&name.as_str())).count();
        let expected = if search == SearchTools::Only { 3 } else { 0 };
        assert_eq!((names.len(), searching), (count, expected), "{search:?}: {names:?}");
    }
}

#[tokio::test]
async fn later_questions_only_append_until_the_room_is_full() {
    let texts = ["What is the weather in Paris?", "Multiply 3 by 4", "Store x under k", "Add 1 and 2"];
    let mut script = Script::new();
    for _ in &texts {
        script = script.reply(Reply::new().text("Ok."));
    }
    let server = strict_model(Wire::Chat, script).await;
    let gateway = six_servers(&server, |tools| tools.most = Some(24));
    let mut said = Vec::new();
    for text in texts {
        said.push(text);
        gateway.whole(&conversation(&said), None).await.unwrap();
        said.push("Ok.");
    }
    let lists: Vec<Vec<String>> = (0..texts.len()).map(|request| sent(&server, request)).collect();
    let starts: Vec<bool> = lists.windows(2).map(|pair| !pair[1].starts_with(&pair[0])).collect();
    assert_eq!(starts, [false, false, true], "{lists:?}");
    for (list, tool) in lists.iter().zip(["get_weather", "multiply", "store_value", "add"]) {
        assert!(list.len() <= 24 && list.iter().any(|name| name.ends_with(tool)), "{tool}: {list:?}");
    }
}

#[tokio::test]
async fn a_fallback_has_its_own_budget_and_its_own_name() {
    let first = ModelServer::start(Wire::Chat, Script::new().fault(Fault::Unavailable)).await.unwrap();
    let second = strict_model(Wire::Chat, Script::new().last(Reply::new().text("Ok."))).await;
    let mut entries = [spec("m", Wire::Chat, &first), spec("m2", Wire::Chat, &second)];
    entries[0].fallbacks = vec!["m2".to_owned()];
    entries[1].tools.most = Some(1);
    let mut config = ServiceConfig::default();
    config.models = entries.into();
    let whole = Gateway::new(config).whole(&conversation(&["Please multiply 3 by 4"]), None).await.unwrap();
    assert!(sent(&first, 0).len() > 1);
    assert_eq!(sent(&second, 0), ["multiply"]);
    assert_eq!(whole["model"], "m2");
}

#[tokio::test]
async fn patterns_that_match_nothing_and_servers_that_are_not_there_are_named() {
    let server = strict_model(Wire::Chat, Script::new().last(Reply::new().text("Ok."))).await;
    let mut config = ServiceConfig::default();
    config.models = vec![spec("m", Wire::Chat, &server)];
    let broken = UpstreamSpec::new(
        "broken",
        Endpoint::Stdio {
            command: "/nothing/here".to_owned(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
        },
    );
    let gateway = Gateway::with_servers(config, vec![UpstreamSpec::new("demo", Endpoint::Demo), broken]);
    let whole = gateway.whole(&conversation(&["Hello"]), Some("demo/add, nope*, demo/nope")).await.unwrap();
    assert_eq!(
        whole["gateway"]["notices"],
        json!([
            "no tool matches `nope*`",
            "no tool matches `demo/nope`",
            "the tools of server `broken` are not available"
        ])
    );
    assert_eq!(sent(&server, 0), ["add"]);
}
