//! What listing and stateless routes say beside their lists.

use gateway_upstream::{
    CatalogueRules, Endpoint, FleetOptions, Handler, Importance, RegisteredTool, RegistryConfig, ToolGroup,
    UpstreamSpec,
};
use serde_json::json;

use crate::client::Service;

#[tokio::test]
async fn a_schema_is_transformed_for_a_model() {
    let service = Service::start().await;
    let schema = json!({"type": "object", "properties": {"a": {"type": "number", "exclusiveMinimum": 0}}});
    let convert = json!({"model": "gemini-2.5-flash", "tools": [{"name": "x", "inputSchema": schema}]});
    let converted = service.post("/convert", &convert.to_string()).await.json();
    let body = json!({"model": "gemini-2.5-flash", "schema": schema}).to_string();
    let answer = service.post("/transform", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answer = answer.json();
    assert_eq!(answer["dialect"], converted["dialect"]);
    assert!(converted.to_string().contains(&answer["schema"].to_string()), "{answer} {converted}");
    assert_eq!(answer["changes"], converted["report"][0]["changes"]);
    assert!(!answer["changes"].as_array().unwrap().is_empty());
    for key in ["to", "provider", "profile"] {
        let answer =
            service.post("/transform", &json!({key: "openai", "schema": schema}).to_string()).await.json();
        assert_eq!((&answer["dialect"], &answer["schema"]), (&json!("openai-chat"), &schema), "{key}");
    }
    let stripped = json!({"to": "openai", "defaults": "strip", "schema": {"type": "object", "properties": {
        "a": {"type": "string", "default": "x"}}}});
    let answer = service.post("/transform", &stripped.to_string()).await.json();
    assert_eq!(answer["schema"]["properties"]["a"], json!({"type": "string"}));
}

#[tokio::test]
async fn what_cannot_be_transformed_is_refused() {
    let service = Service::start().await;
    for (body, part) in [
        ("{", "reading the body as JSON"),
        ("[]", "must be an object with \\\"schema\\\""),
        (r#"{"to":"openai"}"#, "\\\"schema\\\" is missing"),
        (r#"{"to":"openai","schema":[{"name":"a"}]}"#, "holds tools, not a schema"),
        (r#"{"schema":{"type":"object"}}"#, "say which dialect"),
        (r#"{"to":"nobody","schema":{"type":"object"}}"#, "Unknown provider: nobody"),
        (r#"{"to":"openai","defaults":"maybe","schema":{"type":"object"}}"#, "keep, strip, describe"),
    ] {
        let answer = service.post("/transform", body).await;
        assert_eq!(answer.status, 400, "{body}: {}", answer.body);
        assert!(answer.body.contains(part), "{body}: {}", answer.body);
    }
}

#[tokio::test]
async fn any_schema_is_taken_and_what_cannot_be_transformed_comes_back() {
    let service = Service::start().await;
    let transform = async |body: &str| {
        let answer = service.post("/transform", body).await;
        assert_eq!(answer.status, 200, "{body}: {}", answer.body);
        answer
    };
    let answer = transform(r#"{"to":"universal","schema":{"type":"string","format":"uri","minLength":5}}"#)
        .await
        .json();
    let expected = json!({"type": "string", "description": "{\"format\":\"uri\",\"minLength\":5}"});
    assert_eq!((&answer["schema"], answer.get("warnings")), (&expected, None));
    for value in ["true", "null", "\"x\""] {
        let answer = transform(&format!(r#"{{"to":"openai","schema":{value}}}"#)).await.json();
        assert_eq!(answer["schema"].to_string(), value);
        assert!(answer["warnings"][0].as_str().unwrap().contains("unchanged"), "{answer}");
    }
    let answer =
        transform(r#"{"model":"acme-large","schema":{"type":"string","format":"uri"}}"#).await.json();
    assert_eq!(answer["schema"], json!({"type": "string", "format": "uri"}));
    assert!(answer["dialect"].is_null() && answer["warnings"][0].as_str().unwrap().contains("`acme-large`"));
    let deep = format!("{}{{}}{}", r#"{"items":"#.repeat(200), "}".repeat(200));
    let answer = transform(&format!(r#"{{"to":"openai","schema":{deep}}}"#)).await;
    assert!(
        answer.body.contains(&deep) && answer.body.contains("unchanged: recursion limit"),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn tools_are_taken_in_every_form() {
    let service = Service::start().await;
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let expected = json!([{"type": "function", "function": {"name": "t", "description": "MCP tool: t", "parameters": schema}}]);
    for body in [
        json!({"to": "openai", "tools": [{"name": "t", "paramSchema": schema}]}),
        json!({"to": "openai", "tools": [{"type": "function", "function": {"name": "t", "parameters": schema}}]}),
        json!({"to": "openai", "tool": {"name": "t", "input_schema": schema}}),
        json!({"to": "openai", "name": "t", "inputSchema": schema}),
    ] {
        let answer = service.post("/convert", &body.to_string()).await;
        assert_eq!((answer.status, &answer.json()["tools"]), (200, &expected), "{body}: {}", answer.body);
    }
    let deep = format!("{}{{}}{}", r#"{"items":"#.repeat(200), "}".repeat(200));
    let body = format!(
        r#"{{"to":"openai","tools":[{{"name":"deep","inputSchema":{deep}}},{{"name":"t","inputSchema":{schema}}},{{}}]}}"#
    );
    let answer = service.post("/convert", &body).await.json();
    assert_eq!(answer["tools"], expected);
    assert!(answer["report"][0]["quarantine"].as_str().unwrap().contains("levels deep"), "{answer}");
    assert_eq!((&answer["report"][2]["index"], answer["report"][1].get("index")), (&json!(2), None));
    let odd = json!({"to": "openai", "tools": [{"name": "t", "args": schema}]});
    let answer = service.post("/convert", &odd.to_string()).await.json();
    assert!(
        answer["report"][0]["warnings"][0].as_str().unwrap().contains("`args` looks like one"),
        "{answer}"
    );
}

#[tokio::test]
async fn the_server_of_a_tool_stands_beside_the_list() {
    let service = Service::start().await;
    let plain = service.get("/tools/openai").await.json();
    let answer = service.get("/tools/openai?meta=1").await;
    let with_meta = answer.json();
    assert_eq!(with_meta["tools"], plain["tools"], "the list is the provider's own");
    assert_eq!(with_meta["meta"]["add"]["server"], "demo");
    assert_eq!(with_meta["meta"]["add"]["name"], "add");
    assert_eq!(with_meta["meta"].as_object().unwrap().len(), plain["tools"].as_array().unwrap().len());
    let bare = service.get("/tools/openai?meta=1&list=1").await;
    assert_eq!(bare.status, 400, "{}", bare.body);
    assert!(bare.body.contains("no room"), "{}", bare.body);
}

#[tokio::test]
async fn an_unknown_model_is_told() {
    let service = Service::start().await;
    let answer = service.get("/tools/openai?model=unknownmodel").await;
    assert_eq!((answer.status, answer.header("x-model-unknown")), (200, Some("true")));
    let report = service.get("/tools/openai?model=unknownmodel&report=true").await;
    assert_eq!(report.header("x-model-unknown"), Some("true"));
    let warning = report.json()["warnings"][0].as_str().unwrap().to_owned();
    assert!(warning.contains("`unknownmodel`"), "{warning}");
    let known = service.get("/tools/openai?model=gpt-4o&report=true").await;
    assert_eq!((known.header("x-model-unknown"), known.json().get("warnings")), (None, None));
    for (route, what) in [("/convert", r#""tools":[]"#), ("/transform", r#""schema":{"type":"object"}"#)] {
        let body = format!(r#"{{"to":"openai","model":"unknownmodel",{what}}}"#);
        let answer = service.post(route, &body).await.json();
        assert!(
            answer["warnings"][0].as_str().is_some_and(|text| text.contains("`unknownmodel`")),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn verbatim_schemas_come_with_a_warning() {
    let service = Service::start().await;
    let answer = service.get("/tools/dial?verbatim=true&report=1").await;
    assert_eq!((answer.status, answer.header("x-tools-verbatim")), (200, Some("true")));
    let warning = answer.json()["warnings"][0].as_str().unwrap().to_owned();
    assert!(warning.starts_with("verbatim: schemas stay as they came"), "{warning}");
    let usual = service.get("/tools/dial?report=1").await;
    assert_eq!((usual.header("x-tools-verbatim"), usual.json().get("warnings")), (None, None));
    let union = json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    let tools = json!({"to": "argo", "verbatim": true, "tools": [{"name": "t", "inputSchema": union}]});
    let answer = service.post("/convert", &tools.to_string()).await.json();
    assert_eq!(answer["tools"][0]["function"]["parameters"], union);
    assert_eq!(answer["warnings"], json!([warning]));
    let schema = json!({"to": "openai-functions", "schema": union});
    let answer = service.post("/transform?verbatim=1", &schema.to_string()).await.json();
    assert_eq!((&answer["schema"], &answer["warnings"]), (&union, &json!([warning])));
    let refused = service.get("/tools/gemini?verbatim=true").await;
    let message = "verbatim: `gemini` has no verbatim form; use one of argo, dial, openai-functions";
    assert_eq!((refused.status, &refused.json()["error"]), (400, &json!(message)));
    let refused = service
        .post("/transform", &json!({"to": "xai", "schema": union, "verbatim": true}).to_string())
        .await;
    assert_eq!(refused.status, 400, "{}", refused.body);
}

#[tokio::test]
async fn a_budget_makes_another_list_with_another_plan() {
    let options = FleetOptions::default();
    options.registry.configure(&RegistryConfig::default());
    let part = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/part"}, "name": {"type": "string"}}});
    let schema =
        json!({"type": "object", "properties": {"part": {"$ref": "#/$defs/part"}}, "$defs": {"part": part}});
    let handler = Handler::function(|arguments| async move { Ok(json!(arguments)) });
    let tool = RegisteredTool::new("echo", &json!({"inputSchema": schema}), handler).unwrap();
    options.registry.register(tool).unwrap();
    let service = Service::with_fleet(Vec::new(), options, |_| {}).await;
    // What is asked for first must not be what the second request gets.
    let shown = async |query: &str| {
        let list = service.get(&format!("/tools/gemini{query}")).await.json();
        list["function_declarations"][0]["parameters"]["properties"]["part"]["type"].clone()
    };
    assert_eq!(shown("?budget=0").await, "string");
    assert_eq!([shown("").await, shown("?budget=off").await, shown("?budget=auto").await], ["object"; 3]);
    let call = json!({"provider": "gemini", "call": {"functionCall": {"name": "echo", "args": {"part": "{\"name\":\"x\"}"}}}});
    let answer = service.post("/execute?budget=0", &call.to_string()).await;
    assert!(answer.body.contains(r#"{\"part\":{\"name\":\"x\"}}"#), "{}", answer.body);
    let transformed =
        service.post("/transform", &json!({"to": "gemini", "budget": 0, "schema": schema}).to_string()).await;
    assert_eq!(transformed.json()["schema"]["properties"]["part"]["type"], "string");
    let refused = service.get("/tools/gemini?budget=much").await;
    let message = "budget=much: expected a number of tokens, off or auto";
    assert_eq!((refused.status, &refused.json()["error"]), (400, &json!(message)));
}

#[tokio::test]
async fn stripped_defaults_are_filled_in_where_the_caller_asks_for_it() {
    let options = FleetOptions::default();
    options.registry.configure(&RegistryConfig::default());
    let schema = json!({"type": "object", "properties": {"model_id": {"type": "string"}, "template": {"type": "string", "default": "auto"}}});
    let handler = Handler::function(|arguments| async move { Ok(json!(arguments)) });
    let tool = RegisteredTool::new("build", &json!({"inputSchema": schema}), handler).unwrap();
    options.registry.register(tool).unwrap();
    let service = Service::with_fleet(Vec::new(), options, |_| {}).await;
    let list = service.get("/tools/argo").await.body;
    assert!(list.contains("template") && !list.contains("auto"), "{list}");
    let run = async |query: &str, arguments: &str| {
        let function = json!({"name": "build", "arguments": arguments});
        let call =
            json!({"provider": "argo", "call": {"id": "c1", "type": "function", "function": function}});
        service.post(&format!("/execute{query}"), &call.to_string()).await
    };
    let filled = run("?fillDefaults=true", r#"{"model_id":"m"}"#).await;
    assert!(filled.body.contains(r#"\"template\":\"auto\""#), "{}", filled.body);
    assert_eq!(filled.json()["notes"], json!([{"filled": "/template"}]), "{}", filled.body);
    let plain = run("", r#"{"model_id":"m"}"#).await;
    assert!(!plain.body.contains("template"), "{}", plain.body);
    assert_eq!(plain.json().get("notes"), None);
    let own = run("?fillDefaults=true", r#"{"model_id":"m","template":"t"}"#).await;
    assert!(own.body.contains(r#"\"template\":\"t\""#) && own.json().get("notes").is_none(), "{}", own.body);
}

#[tokio::test]
async fn a_group_that_is_none_is_refused() {
    let mut options = FleetOptions::default();
    let group = ToolGroup { tools: vec!["add".to_owned()], ..ToolGroup::default() };
    options.catalogue =
        CatalogueRules { groups: [("sums".to_owned(), group)].into(), ..CatalogueRules::default() };
    let specs = vec![UpstreamSpec::new("demo", Endpoint::Demo)];
    let service = Service::with_fleet(specs, options, |_| {}).await;
    for route in ["/tools", "/tools/openai", "/tools/openai/context"] {
        let answer = service.get(&format!("{route}?group=nope")).await;
        assert_eq!(answer.status, 400, "{route}: {}", answer.body);
        assert_eq!(answer.json()["error"], "group=nope: expected one of sums");
        assert_eq!(service.get(&format!("{route}?group=sums")).await.status, 200);
    }
    let service = Service::start().await;
    let answer = service.get("/tools?group=nope").await;
    assert_eq!(
        (answer.status, &answer.json()["error"]),
        (400, &json!("group=nope: no groups are configured"))
    );
}

#[tokio::test]
async fn a_model_is_detected() {
    let service = Service::start().await;
    let answer = service.get("/detect?model=gpt-4").await;
    assert_eq!(
        (answer.status, answer.json()),
        (
            200,
            json!({"provider": "openai", "modelId": "gpt-4", "supportsStructuredOutputs": true,
                "isReasoningModel": false, "dialect": "openai-chat", "layer": null})
        )
    );
    let answer = service.get("/detect?provider=openai&model=o3-mini").await.json();
    assert_eq!((&answer["modelId"], &answer["isReasoningModel"]), (&json!("o3-mini"), &json!(true)));
    let answer = service.get("/detect?model=openrouter/anthropic/claude-3").await.json();
    assert_eq!((&answer["provider"], &answer["layer"]), (&json!("openrouter"), &json!("anthropic-compat")));
    assert_eq!(service.get("/detect?provider=google").await.json()["dialect"], "gemini");
    assert_eq!(service.get("/detect?model=acme").await.json()["provider"], "unknown");
    assert_eq!(service.get("/detect").await.status, 400);
    let listed = service.get("/tools/openai?model=google").await;
    assert_eq!((listed.status, listed.header("x-model-unknown")), (200, None));
}

/// A server with tools of every importance and category, named as no provider takes it.
async fn sorted_tools() -> Service {
    let mut spec = UpstreamSpec::new("demo", Endpoint::Demo);
    spec.tools.categories = [("add".to_owned(), "math".to_owned())].into();
    spec.tools.importance =
        [("add".to_owned(), Importance::High), ("get_*".to_owned(), Importance::Low)].into();
    Service::with_servers(vec![spec], |_| {}).await
}

#[tokio::test]
async fn a_prompt_text_is_grouped_and_keeps_to_its_bound() {
    let service = sorted_tools().await;
    let context = async |query: &str| service.get(&format!("/tools/openai/context?{query}")).await;
    let text = context("group_by=category&mode=concise").await.body;
    let (before, others) = text.split_once("\n\n## Other\n\n").unwrap();
    assert!(before.contains("## math\n\n1. add(") && others.contains("get_weather("), "{text}");
    let text = context("group_by=importance&mode=concise").await.body;
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(headings, ["## high", "## normal", "## low"]);
    assert_eq!(context("group_by=colour").await.status, 400);
    let whole = context("").await.body;
    let short = context("maxTokens=80").await;
    assert!(short.body.len() <= 320 && whole.len() > 320, "{}", short.body);
    assert!(
        short.body.contains("**add**") && short.body.contains("more tools are not described"),
        "{}",
        short.body
    );
    assert_eq!(short.header("x-tool-tokens"), Some(&*short.body.len().div_ceil(4).to_string()));
    assert_eq!(context("maxTokens=100000").await.body, whole);
    assert_eq!(context("maxTokens=0").await.status, 400);
}

#[tokio::test]
async fn a_prompt_text_has_the_names_that_the_model_sees() {
    let options = FleetOptions::default();
    options.registry.configure(&RegistryConfig::default());
    let handler = Handler::function(|_| async { Ok(json!("x")) });
    let about = json!({"inputSchema": {"type": "object", "properties": {"city name": {"type": "string"}}, "required": ["city name"]}});
    options.registry.register(RegisteredTool::new("weather.get", &about, handler).unwrap()).unwrap();
    let service = Service::with_fleet(Vec::new(), options, |_| {}).await;
    for (provider, tool, parameter) in
        [("openai", "weather_get", "city name"), ("gemini", "weather.get", "city_name")]
    {
        let listed = service.get(&format!("/tools/{provider}")).await.body;
        assert!(listed.contains(tool) && listed.contains(parameter), "{listed}");
        let text = service.get(&format!("/tools/{provider}/context")).await.body;
        assert!(text.contains(&format!("**{tool}**")), "{provider}: {text}");
        assert!(text.contains(&format!("- {parameter}*: string")), "{provider}: {text}");
    }
}
