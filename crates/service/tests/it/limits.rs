//! More tools than a provider takes: what is listed, what is reported, and that everything stays within reach.

use gateway_upstream::{Endpoint, FleetOptions, Handler, RegisteredTool, RegistryConfig, UpstreamSpec};
use serde_json::{Value, json};

use crate::client::{Answer, Service};

/// A service with the five tools of the demo, of which `get_value` is pinned, and these tools, which give back what they got.
async fn service(tools: impl Iterator<Item = (String, Value)>) -> Service {
    let options = FleetOptions::default();
    options.registry.configure(&RegistryConfig::default());
    for (name, about) in tools {
        let handler = Handler::function(|arguments: serde_json::Map<String, Value>| async move {
            Ok(json!({"got": arguments}))
        });
        options.registry.register(RegisteredTool::new(&name, &about, handler).unwrap()).unwrap();
    }
    let mut demo = UpstreamSpec::new("demo", Endpoint::Demo);
    demo.tools.pin = vec!["get_v*".to_owned()];
    Service::with_fleet(vec![demo], options, |_| {}).await
}

/// So many tools with a number and a map, `tool_150` of high importance.
fn numbered(count: usize) -> impl Iterator<Item = (String, Value)> {
    (0..count).map(|index| {
        let importance = if index == 150 { "high" } else { "normal" };
        let about = json!({
            "description": format!("Does number {index}"),
            "_meta": {"importance": importance},
            "inputSchema": {
                "type": "object",
                "properties": {
                    "n": {"type": "integer"},
                    "more": {"type": "object", "additionalProperties": {"type": "string"}},
                },
                "required": ["n"],
            },
        });
        (format!("tool_{index:03}"), about)
    })
}

const SEARCH: [&str; 3] = ["search_tools", "describe_tool", "call_tool"];

fn names(answer: &Answer) -> Vec<String> {
    let tools = answer.json();
    let tools = tools.as_array().cloned().or_else(|| tools["tools"].as_array().cloned()).unwrap();
    let name = |tool: &Value| tool.pointer("/function/name").or(tool.get("name")).cloned();
    tools.iter().map(|tool| name(tool).unwrap().as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_list_keeps_to_what_its_provider_takes() {
    let service = service(numbered(200)).await;
    let all = names(&service.get("/tools/openai?limit=off&list=1").await);
    assert_eq!(all.len(), 205);
    let report = service.get("/tools/openai?report=true").await;
    assert_eq!((report.header("x-tool-dialect"), report.header("etag")), (Some("openai-chat"), None));
    assert!(report.header("x-tool-tokens").is_some());
    for (query, listed, omitted) in [
        ("openai?list=1", 125, Some("80")),
        ("openai-responses-strict?list=1", 125, Some("80")),
        ("vertex?list=1", 125, Some("80")),
        ("xai?list=1", 197, Some("8")),
        ("openai?list=1&limit=10", 7, Some("198")),
        ("openai?list=1&limit=500", 125, Some("80")),
        ("gemini?list=1&limit=4", 1, Some("204")),
    ] {
        let answer = service.get(&format!("/tools/{query}")).await;
        assert_eq!((answer.status, answer.header("x-tools-omitted")), (200, omitted), "{query}");
        let found = names(&answer);
        let (tools, search) = found.split_at(listed);
        assert_eq!(search, SEARCH, "{query}");
        assert!(tools.contains(&"get_value".to_owned()), "{query}: it is pinned");
        assert_eq!(tools.contains(&"tool_150".to_owned()), listed > 1, "{query}: it is important");
        let in_order: Vec<&String> = all.iter().filter(|name| tools.contains(name)).collect();
        assert_eq!(tools.iter().collect::<Vec<_>>(), in_order, "{query}: the order of the whole list");
        assert_eq!(service.get(&format!("/tools/{query}")).await.header("etag"), answer.header("etag"));
    }
    for (query, count) in
        [("gemini?list=1", 205), ("anthropic?list=1", 205), ("openai?list=1&limit=off", 205)]
    {
        let answer = service.get(&format!("/tools/{query}")).await;
        assert_eq!((names(&answer).len(), answer.header("x-tools-omitted")), (count, None), "{query}");
    }
    let few = service.get("/tools/openai?list=1&limit=2").await;
    assert_eq!(
        (names(&few), few.header("x-tools-omitted")),
        (vec!["get_value".to_owned(), "tool_150".to_owned()], Some("203"))
    );
    let small = service.get("/tools/openai?maxTokens=600").await;
    let tokens: usize = small.header("x-tool-tokens").unwrap().parse().unwrap();
    assert!(tokens <= 600 && names(&small).len() > 3, "{tokens}");
    assert!(names(&small).ends_with(&SEARCH.map(str::to_owned)) && small.header("x-tools-omitted").is_some());
    for wrong in ["limit=0", "limit=many", "limit=-1", "maxTokens=0"] {
        assert_eq!(service.get(&format!("/tools/openai?{wrong}")).await.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn what_a_list_has_no_room_for_is_in_its_report() {
    let service = service(numbered(200)).await;
    let answer = service.get("/tools/openai?report=true").await;
    assert_eq!(answer.header("x-tools-omitted"), Some("80"));
    let report = answer.json()["report"].clone();
    let rows = report.as_array().unwrap();
    assert_eq!(rows.len(), 208);
    let omitted: Vec<&Value> = rows.iter().filter(|row| row.get("omitted").is_some()).collect();
    assert_eq!(omitted.len(), 80);
    let listed = names(&answer);
    for row in &omitted {
        assert!(!listed.contains(&row["wireName"].as_str().unwrap().to_owned()), "{row}");
        assert_eq!(
            row["omitted"],
            "the list has room for 128 tools, and others come first by pin, importance and order; search_tools finds it, and \
             call_tool calls it"
        );
    }
    // A report does not change the list.
    let bare = service.get("/tools/openai").await;
    assert_eq!(bare.json()["tools"], answer.json()["tools"]);
}

#[tokio::test]
async fn lists_without_a_provider_are_whole_unless_a_limit_is_given() {
    let service = service(numbered(200)).await;
    assert_eq!(names(&service.get("/tools").await).len(), 205);
    let some = service.get("/tools?limit=3").await;
    assert_eq!(names(&some), ["add", "get_value", "tool_150"]);
    assert_eq!(some.header("x-tools-omitted"), Some("202"));
    let text = service.get("/tools/openai/context?mode=concise").await.body;
    assert!(text.contains("tool_199(") && !text.contains("search_tools"), "{text}");
    let text = service.get("/tools/openai/context?mode=concise&limit=2").await.body;
    assert!(
        text.contains("get_value(") && text.contains("tool_150(") && !text.contains("tool_000("),
        "{text}"
    );
}

/// What one call in a model's reply gives.
async fn execute(service: &Service, options: &Value, name: &str, arguments: &Value) -> Value {
    let mut body = options.clone();
    body["call"] = match options["provider"].as_str() {
        Some("gemini") => json!({"name": name, "args": arguments}),
        Some("openai") => json!({"id": "c1", "type": "function",
            "function": {"name": name, "arguments": arguments.to_string()}}),
        _ => json!({"type": "tool_use", "id": "c1", "name": name, "input": arguments}),
    };
    let answer = service.post("/execute", &body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["result"].clone()
}

fn got(result: &Value) -> &Value {
    &result["structuredContent"]["got"]
}

#[tokio::test]
async fn tools_that_are_left_out_are_called_as_if_they_were_listed() {
    let service = service(numbered(200)).await;
    let meant = json!({"n": 1, "more": {"a": "b"}});
    let entries = json!({"n": 1, "more": [{"key": "a", "value": "b"}]});
    // By their own names, in the form that they have in a list with other limits.
    for options in [
        json!({"provider": "gemini"}),
        json!({"provider": "gemini", "limit": 10}),
        json!({"provider": "gemini", "limit": "off"}),
    ] {
        let result = execute(&service, &options, "tool_199", &entries).await;
        assert_eq!(got(&result), &meant, "{options}: {result}");
    }
    // Through search, which knows what the list has no room for.
    let openai = json!({"provider": "openai"});
    let found = execute(&service, &openai, "search_tools", &json!({"query": "number 199"})).await;
    assert_eq!(found["structuredContent"]["tools"][0]["name"], "tool_199", "{found}");
    let described = execute(&service, &openai, "describe_tool", &json!({"name": "tool_199"})).await;
    assert_eq!(described["structuredContent"]["name"], "tool_199");
    for name in ["tool_199", "tool_150", "get_value"] {
        let arguments = if name == "get_value" { json!({"key": "k"}) } else { meant.clone() };
        let call = json!({"name": name, "arguments": arguments});
        let result = execute(&service, &openai, "call_tool", &call).await;
        assert!(result["isError"] != true && result["structuredContent"].is_object(), "{name}: {result}");
    }
    let call = json!({"id": "c1", "type": "function", "function": {"name": "call_tool",
        "arguments": json!({"name": "tool_199", "arguments": meant}).to_string()}});
    let routed = service.post("/route", &json!({"tool_calls": [call]}).to_string()).await;
    assert!(routed.body.contains("\\\"more\\\":{\\\"a\\\":\\\"b\\\"}"), "{}", routed.body);
    // A filter holds for search, too.
    let options = json!({"provider": "openai", "limit": 5, "name": "tool_00*"});
    let result =
        execute(&service, &options, "call_tool", &json!({"name": "tool_009", "arguments": {"n": 1}})).await;
    assert_eq!(got(&result), &json!({"n": 1}));
    let result = execute(&service, &options, "describe_tool", &json!({"name": "tool_199"})).await;
    assert!(result.to_string().contains("tool_199") && result["isError"] == true, "{result}");
}

#[tokio::test]
async fn no_more_tools_are_strict_than_a_provider_takes() {
    let service = service(numbered(81)).await;
    let strict = |answer: &Value| -> Vec<String> {
        let tools = answer["tools"].as_array().unwrap().iter();
        let strict = tools.filter(|tool| tool.get("strict") == Some(&json!(true)));
        strict.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    for target in ["/tools/anthropic-strict?report=true", "/tools/anthropic?strict=auto&report=true"] {
        let answer = service.get(target).await;
        assert_eq!((answer.status, answer.header("x-tools-omitted")), (200, None), "{target}");
        assert_eq!(answer.header("x-tools-not-strict"), Some("66"), "{target}");
        let body = answer.json();
        assert_eq!((body["tools"].as_array().unwrap().len(), strict(&body).len()), (86, 20), "{target}");
        assert!(strict(&body).contains(&"get_value".to_owned()), "{target}: the pinned one is strict");
        let rows = body["report"].as_array().unwrap().iter();
        let reasons: Vec<&Value> = rows.filter_map(|row| row.get("notStrict")).collect();
        assert_eq!(reasons, vec![&json!("one request takes 20 strict tools"); 66], "{target}");
    }
    // Each tool is called in the form that it has in the list, or in the other one if the list changed meanwhile.
    let listed = service.get("/tools/anthropic-strict").await.json();
    let [first, last] = ["tool_000", "tool_080"];
    assert!(strict(&listed).contains(&first.to_owned()) && !strict(&listed).contains(&last.to_owned()));
    let meant = json!({"n": 1, "more": {"a": "b"}});
    let entries = json!({"n": 1, "more": [{"key": "a", "value": "b"}]});
    for name in [first, last] {
        for arguments in [&meant, &entries] {
            let result = execute(&service, &json!({"provider": "anthropic-strict"}), name, arguments).await;
            assert_eq!(got(&result), &meant, "{name} with {arguments}: {result}");
        }
    }
}

#[tokio::test]
async fn optional_parameters_and_unions_of_strict_tools_are_counted_together() {
    let wide = |name: &str, optional: usize, unions: usize| {
        let text = json!({"type": "string"});
        let either = json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]});
        let optional = (0..optional).map(|index| (format!("o{index}"), text.clone()));
        let unions: Vec<(String, Value)> =
            (0..unions).map(|index| (format!("u{index}"), either.clone())).collect();
        let required: Vec<String> = unions.iter().map(|(name, _)| name.clone()).collect();
        let properties: serde_json::Map<String, Value> = optional.chain(unions).collect();
        (
            name.to_owned(),
            json!({"inputSchema": {"type": "object", "properties": properties, "required": required}}),
        )
    };
    let tools = [
        wide("a", 20, 0),
        wide("b", 5, 0),
        wide("c", 4, 10),
        wide("d", 0, 7),
        wide("e", 0, 6),
        wide("f", 1, 0),
    ];
    let service = service(tools.into_iter()).await;
    let answer = service.get("/tools/anthropic-strict?report=true&server=registry").await.json();
    let rows = answer["report"].as_array().unwrap().iter();
    let found: Vec<(&str, bool, Option<&str>)> = rows
        .map(|row| {
            (
                row["name"].as_str().unwrap(),
                row["strict"] == true,
                row.get("notStrict").and_then(Value::as_str),
            )
        })
        .collect();
    let optional = Some("the strict tools of one request take 24 optional parameters together");
    let unions = Some("the strict tools of one request take 16 unions together");
    let expected = [
        ("a", true, None),
        ("b", false, optional),
        ("c", true, None),
        ("d", false, unions),
        ("e", true, None),
        ("f", false, optional),
    ];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn candidates_are_named_as_in_the_list() {
    let specs = ["My Server (prod)!", "demo.two"].map(|name| UpstreamSpec::new(name, Endpoint::Demo));
    let service = Service::with_servers(specs.into(), |_| {}).await;
    let listed = names(&service.get("/tools").await);
    let own = ["My_Server__prod____add", "demo.two__add"];
    assert!(own.iter().all(|name| listed.contains(&(*name).to_owned())), "{listed:?}");
    let body = json!({"tool": "add", "arguments": {"a": 1, "b": 2}}).to_string();
    let answer = service.post("/call_tool?errors=precise", &body).await;
    assert_eq!(answer.json()["candidates"], json!(own), "{}", answer.body);
    assert!(answer.body.contains("use one of: My_Server__prod____add, demo.two__add"), "{}", answer.body);
    // A model knows the names that its provider takes.
    let listed = names(&service.get("/tools/openai").await);
    let wire = ["My_Server__prod____add", "demo_two__add"];
    assert!(wire.iter().all(|name| listed.contains(&(*name).to_owned())), "{listed:?}");
    let function = json!({"name": "add", "arguments": "{\"a\":1,\"b\":2}"});
    let calls = json!([{"id": "c1", "type": "function", "function": function}]);
    let body = json!({"provider": "openai", "call": {"role": "assistant", "tool_calls": calls}});
    let answer = service.post("/execute", &body.to_string()).await;
    let message = answer.json()["messages"][0]["content"].to_string();
    assert!(message.contains("use one of: My_Server__prod____add, demo_two__add"), "{}", answer.body);
    assert_eq!(answer.json()["candidates"], json!(wire), "{}", answer.body);
    for name in wire {
        let result = execute(&service, &json!({"provider": "openai"}), name, &json!({"a": 1, "b": 2})).await;
        assert_eq!(result["structuredContent"]["result"], 3, "{name}: {result}");
    }
}
