//! Names that nobody knows: members of bodies, parameters of queries, tools, servers, providers and groups. The answer names
//! what was most likely meant.

use gateway_service::Secret;
use gateway_upstream::{CatalogueRules, FleetOptions, ToolGroup};

use crate::client::Service;

#[track_caller]
fn check(answer: &crate::client::Answer, status: u16, text: &str) {
    let error = answer.json()["error"].as_str().unwrap_or_default().to_owned();
    assert_eq!((answer.status, error.as_str()), (status, text), "{}", answer.body);
}

#[tokio::test]
async fn unknown_members_of_a_body_are_refused() {
    let service = Service::with(|config| {
        config.admin_keys.insert("ann".to_owned(), Secret::new("admin"));
    })
    .await;
    let refused = |member: &str, rest: &str| format!("unknown member \"{member}\" of the body{rest}");
    for (target, body, text) in [
        (
            "/call_tool",
            r#"{"server":"demo","tool":"multiply","args":{"a":2,"b":3}}"#,
            refused("args", ": did you mean \"arguments\"?"),
        ),
        ("/call_tool", r#"{"name":"multiply","arguments":{}}"#, refused("name", ": did you mean \"tool\"?")),
        (
            "/call_tool",
            r#"{"tool":"multiply","zzzz":1}"#,
            refused("zzzz", "; it may have server, tool, arguments, input, continue, responses"),
        ),
        (
            "/call_tool",
            r#"{"tool":"multiply","result":"joined"}"#,
            refused("result", ": it is a parameter of the query here, /call_tool?result=…"),
        ),
        (
            "/execute",
            r#"{"call":{"name":"multiply","args":{}},"modell":"gpt-5"}"#,
            refused("modell", ": did you mean \"model\"?"),
        ),
        (
            "/execute",
            r#"{"call":{"name":"multiply"},"arguments":{"a":2,"b":3}}"#,
            refused("arguments", ": it belongs in \"call\", in the form in which the model sent it"),
        ),
        (
            "/execute",
            r#"{"provider":"gemini","toolCall":{"name":"multiply","args":{}}}"#,
            refused("toolCall", ": did you mean \"call\"?"),
        ),
        (
            "/execute",
            r#"{"object":"chat.completion","id":"x","choices":[]}"#,
            "Missing or invalid \"call\" field: put what the model said under \"call\", as in {\"call\": {…}}"
                .to_owned(),
        ),
        (
            "/execute",
            r#"{"model":"llama3.2","created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true}"#,
            "Missing or invalid \"call\" field: put what the model said under \"call\", as in {\"call\": {…}}"
                .to_owned(),
        ),
        (
            "/execute",
            r#"{"provider":"ollama","message":{"role":"assistant","content":""}}"#,
            refused("message", ": did you mean \"call\"?"),
        ),
        (
            "/transform",
            r#"{"schema":{},"model":"gpt-5","strikt":"auto"}"#,
            refused("strikt", ": did you mean \"strict\"?"),
        ),
        (
            "/history",
            r#"{"from":"openai","to":"gemini","messages":[],"sistem":"x"}"#,
            refused("sistem", ": did you mean \"system\"?"),
        ),
        ("/approvals/x", r#"{"decison":"deny"}"#, refused("decison", ": did you mean \"decision\"?")),
        (
            "/servers/demo/accept",
            r#"{"fingerprint":"a","finger":1}"#,
            refused("finger", ": did you mean \"fingerprint\"?"),
        ),
    ] {
        let headers = "content-type: application/json\r\nauthorization: Bearer admin\r\n";
        check(&service.send("POST", target, headers, body).await, 400, &text);
    }
    let body = r#"{"handler":{"url":"https://example.com/"},"desciption":"x"}"#;
    let headers = "content-type: application/json\r\nauthorization: Bearer admin\r\n";
    let answer = service.send("PUT", "/registry/order", headers, body).await;
    check(&answer, 400, &refused("desciption", ": did you mean \"description\"?"));
}

/// What a provider or a server wrote may have any member.
#[tokio::test]
async fn foreign_members_are_taken() {
    let service = Service::start().await;
    let call = r#"{"id":"c1","type":"function","index":0,"zzz":1,"function":{"name":"multiply","arguments":"{\"a\":2,\"b\":3}","xyz":2}}"#;
    let reply = format!(
        r#"{{"id":"x","object":"chat.completion","zzz":1,"choices":[{{"index":0,"zzz":2,"message":{{"role":"assistant","toolz":1,"tool_calls":[{call}]}}}}]}}"#
    );
    for body in [format!(r#"{{"call":{call}}}"#), format!(r#"{{"call":{reply}}}"#)] {
        let answer = service.post("/execute", &body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    // Options of lists stand in the body as they do in the query.
    let body =
        format!(r#"{{"provider":"openai","call":{call},"hide":["zzz"],"strict":"auto","compat":"off"}}"#);
    let answer = service.post("/execute?coerce=1", &body).await;
    assert_eq!((answer.status, answer.header("x-parameters-unknown")), (200, None), "{}", answer.body);
    assert_eq!(service.post("/route", &reply).await.status, 200);
    let tools = r#"[{"name":"add","inputSchema":{"type":"object"},"xyz":1}]"#;
    for body in [
        format!(r#"{{"to":"gemini","tools":{tools},"nextCursor":"a","_meta":{{}}}}"#),
        format!(
            r#"{{"model":"gpt-5","messages":[],"tool_choice":"auto","max_tokens":5,"parallel_tool_calls":true,"tools":{tools}}}"#
        ),
    ] {
        let answer = service.post("/convert", &body).await;
        assert_eq!((answer.status, answer.json().get("warnings")), (200, None), "{}", answer.body);
    }
}

#[tokio::test]
async fn misspelt_options_beside_tools_are_warnings() {
    let service = Service::start().await;
    let tools = r#"[{"name":"add","inputSchema":{"type":"object"}}]"#;
    let hint = "\"strikt\" beside the tools is no option; did you mean \"strict\"?";
    for target in ["/convert", "/check"] {
        let answer =
            service.post(target, &format!(r#"{{"to":"gemini","strikt":"auto","tools":{tools}}}"#)).await;
        assert_eq!((answer.status, &answer.json()["warnings"][0]), (200, &hint.into()), "{}", answer.body);
    }
    let hint = "\"limit\" beside the tools is an option of lists of servers' tools, and means nothing here";
    for target in ["/convert", "/check"] {
        let answer = service.post(target, &format!(r#"{{"to":"gemini","limit":3,"tools":{tools}}}"#)).await;
        assert_eq!((answer.status, &answer.json()["warnings"][0]), (200, &hint.into()), "{}", answer.body);
    }
    let answer = service.post("/convert", &format!(r#"{{"modell":"gpt-5","tools":{tools}}}"#)).await;
    let text = "say which dialect: \"to\", \"provider\" or \"model\" is missing; \"modell\" beside the tools is no option; did you \
                mean \"model\"?";
    check(&answer, 400, text);
}

#[tokio::test]
async fn unknown_parameters_of_a_query_are_named_in_a_header() {
    let service = Service::start().await;
    for (target, header) in [
        ("/tools/openai?modell=gpt-5", Some("modell (did you mean model?)")),
        ("/tools/openai?model=gpt-5", None),
        ("/health?prob=1&zz", Some("prob (did you mean probe?), zz")),
        ("/tools/nobody?modell=a", Some("modell (did you mean model?)")),
        ("/docs?modell=a", Some("modell")),
    ] {
        assert_eq!(service.get(target).await.header("x-parameters-unknown"), header, "{target}");
    }
    let body = r#"{"tool":"multiply","arguments":{"a":2,"b":3}}"#;
    let answer = service.post("/call_tool?results=joined", body).await;
    let header = answer.header("x-parameters-unknown");
    assert_eq!((answer.status, header), (200, Some("results (did you mean result?)")));
}

#[tokio::test]
async fn unknown_tools_are_answered_with_the_nearest() {
    let service = Service::start().await;
    for (body, text) in [
        (
            r#"{"tool":"mutiply","arguments":{}}"#,
            "server is required when tool is not canonical: no server has a tool `mutiply`; did you mean `multiply`?",
        ),
        (
            r#"{"server":"demo","tool":"mutiply"}"#,
            "server `demo` has no tool `mutiply`; did you mean `multiply`?",
        ),
        (
            r#"{"tool":"mcp__demo__mutiply","arguments":{}}"#,
            "server `demo` has no tool `mutiply`; did you mean `mcp__demo__multiply`?",
        ),
        (
            r#"{"server":"dem","tool":"multiply"}"#,
            "Unknown server: dem. Available servers: demo, off; did you mean `demo`?",
        ),
    ] {
        check(&service.post("/call_tool", body).await, 400, text);
    }
    let call = r#"{"call":{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"mutiply","arguments":"{}"}}]}}]}}"#;
    let answer = service.post("/execute", call).await;
    let content = answer.json()["messages"][0]["content"].as_str().unwrap_or_default().to_owned();
    assert!(content.contains("Tool not found: mutiply. Did you mean `multiply`?"), "{}", answer.body);
    let answer = service.post("/route", r#"{"name":"mutiply","input":{}}"#).await;
    assert!(answer.body.contains("Did you mean `multiply`?"), "{}", answer.body);
    let answer = service.post("/route?format=opnai", r#"{"name":"mutiply","input":{}}"#).await;
    assert!(answer.body.contains("Unsupported tool use format: opnai; did you mean"), "{}", answer.body);
}

#[tokio::test]
async fn unknown_servers_providers_and_groups_are_answered_with_the_nearest() {
    let mut rules = CatalogueRules::default();
    rules
        .groups
        .insert("office".to_owned(), ToolGroup { tools: vec!["*".to_owned()], ..ToolGroup::default() });
    let mut options = FleetOptions::default();
    options.catalogue = rules;
    let demo = gateway_upstream::UpstreamSpec::new("demo", gateway_upstream::Endpoint::Demo);
    let service = Service::with_fleet(vec![demo], options, |_| {}).await;
    for (target, text) in [
        ("/tools?server=dmo", "Unknown server: dmo. Available servers: demo; did you mean `demo`?"),
        ("/logs?server=dmo", "Unknown server: dmo. Available servers: demo; did you mean `demo`?"),
        ("/tools/gemni", "Unknown provider: gemni; did you mean `gemini`?"),
        (
            "/tools/claude",
            "Unknown provider: claude; it names a model, so try provider `anthropic` with `model=claude`",
        ),
        (
            "/tools/gpt-4o",
            "Unknown provider: gpt-4o; it names a model, so try provider `openai-chat` with `model=gpt-4o`",
        ),
        ("/providers/gemni", "Unknown provider: gemni; did you mean `gemini`?"),
        ("/tools/gemini?group=ofice", "group=ofice: expected one of office; did you mean `office`?"),
    ] {
        check(&service.get(target).await, 400, text);
    }
    let answer = service.post("/servers/dmo/connect", "{}").await;
    check(&answer, 404, "Unknown server: dmo. Available servers: demo; did you mean `demo`?");
}

/// Who may not see a tool does not learn of it by asking for one like it.
#[tokio::test]
async fn names_that_are_in_no_list_are_not_offered() {
    let mut demo = gateway_upstream::UpstreamSpec::new("demo", gateway_upstream::Endpoint::Demo);
    demo.tools.deny = vec!["multiply".to_owned()];
    let service = Service::with_servers(vec![demo], |_| {}).await;
    for body in [r#"{"server":"demo","tool":"mutiply"}"#, r#"{"tool":"mcp__demo__mutiply"}"#] {
        check(&service.post("/call_tool", body).await, 400, "server `demo` has no tool `mutiply`");
    }
    let answer =
        service.post("/execute", r#"{"call":{"name":"mutiply","args":{}},"provider":"gemini"}"#).await;
    assert!(answer.body.contains("Tool not found: mutiply\""), "{}", answer.body);
}
