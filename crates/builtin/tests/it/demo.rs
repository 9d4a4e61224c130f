//! The built-in server: every tool, both eras, every refusal.

use gateway_builtin::DemoServer;
use gateway_protocol::{MODERN, RawJson, RpcError, code, meta};
use serde_json::{Value, json};

fn ask(server: &DemoServer, method: &str, params: &Value) -> Result<Value, RpcError> {
    let params = RawJson::of(params).unwrap();
    server.handle(method, Some(&params)).map(|result| result.read().unwrap())
}

fn call(server: &DemoServer, tool: &str, arguments: &Value) -> Value {
    ask(server, "tools/call", &json!({"name": tool, "arguments": arguments})).unwrap()
}

/// The result has the same JSON as text and as structure, and the text has its members in this order.
#[track_caller]
fn check(server: &DemoServer, tool: &str, arguments: &Value, text: &str) {
    let structured: Value = serde_json::from_str(text).unwrap();
    assert_eq!(
        call(server, tool, arguments),
        json!({"content": [{"type": "text", "text": text}], "structuredContent": structured}),
    );
}

#[track_caller]
fn check_mistake(tool: &str, arguments: &Value, text: &str) {
    assert_eq!(
        call(&DemoServer::new(), tool, arguments),
        json!({"content": [{"type": "text", "text": text}], "isError": true}),
    );
}

#[test]
fn every_tool_answers_with_json_text() {
    let server = DemoServer::new();
    check(&server, "add", &json!({"a": 15, "b": 27}), r#"{"result":42,"operation":"add","a":15,"b":27}"#);
    check(
        &server,
        "multiply",
        &json!({"a": 6, "b": 7}),
        r#"{"result":42,"operation":"multiply","a":6,"b":7}"#,
    );
    check(
        &server,
        "get_weather",
        &json!({"location": "Oslo"}),
        r#"{"location":"Oslo","temperature":72,"conditions":"sunny","humidity":45}"#,
    );
    check(&server, "get_value", &json!({"key": "k"}), r#"{"key":"k","value":null}"#);
    check(
        &server,
        "store_value",
        &json!({"key": "k", "value": "v"}),
        r#"{"success":true,"key":"k","value":"v"}"#,
    );
    check(&server, "get_value", &json!({"key": "k"}), r#"{"key":"k","value":"v"}"#);
    check(&DemoServer::new(), "get_value", &json!({"key": "k"}), r#"{"key":"k","value":null}"#);
}

#[test]
fn numbers_are_written_as_people_do() {
    let cases = [
        (json!(1.5), json!(2), "3.5"),
        (json!(15.0), json!(27), "42"),
        (json!(0.1), json!(0.2), "0.30000000000000004"),
        (json!(i64::MAX), json!(1), "9223372036854775808"),
        (json!(-5), json!(5), "0"),
    ];
    for (a, b, sum) in cases {
        let result = call(&DemoServer::new(), "add", &json!({"a": a, "b": b}));
        assert_eq!(result["structuredContent"]["result"].to_string(), sum, "{a} + {b}");
    }
}

#[test]
fn bad_arguments_are_told_to_the_model() {
    check_mistake("add", &json!({"a": 1}), "argument `b` is missing; it must be a number");
    check_mistake("add", &json!({"a": 1, "b": "2"}), "argument `b` must be a number, not a string");
    check_mistake("add", &json!({"a": null, "b": 2}), "argument `a` must be a number, not null");
    check_mistake(
        "add",
        &json!({"a": 1, "b": 2, "c": 3}),
        "there is no argument `c`; the arguments are: a, b",
    );
    check_mistake("get_weather", &json!({}), "argument `location` is missing; it must be a string");
    check_mistake(
        "store_value",
        &json!({"key": "k", "value": [1]}),
        "argument `value` must be a string, not an array",
    );
    check_mistake("multiply", &json!({"a": 1e200, "b": 1e200}), "the result is too large for a number");
}

#[test]
fn wrong_requests_are_refused_with_a_code() {
    let server = DemoServer::new();
    let cases = [
        ("tools/call", json!({"name": "nope"}), code::INVALID_PARAMS, "Unknown tool: nope"),
        ("tools/call", json!({}), code::INVALID_PARAMS, "`name` of the tool is missing"),
        (
            "tools/call",
            json!({"name": "add", "arguments": [1, 2]}),
            code::INVALID_PARAMS,
            "`arguments` must be an object",
        ),
        ("resources/list", json!({}), code::METHOD_NOT_FOUND, "Method not found: resources/list"),
    ];
    for (method, params, code, message) in cases {
        assert_eq!(ask(&server, method, &params), Err(RpcError::new(code, message)));
    }
    assert_eq!(ask(&server, "ping", &json!([])).unwrap_err().code, code::INVALID_PARAMS);
}

#[test]
fn absent_arguments_are_no_arguments() {
    let result = ask(&DemoServer::new(), "tools/call", &json!({"name": "add"})).unwrap();
    assert_eq!(result["isError"], true);
}

#[test]
fn both_handshakes_are_answered() {
    let server = DemoServer::new();
    let initialized = ask(&server, "initialize", &json!({"protocolVersion": "2025-06-18"})).unwrap();
    assert_eq!(initialized["protocolVersion"], "2025-06-18");
    assert_eq!(initialized["serverInfo"]["name"], "demo");
    let newest = ask(&server, "initialize", &json!({"protocolVersion": "1999-01-01"})).unwrap();
    assert_eq!(newest["protocolVersion"], gateway_protocol::LATEST_LEGACY);
    let discovered: gateway_protocol::DiscoverResult =
        server.handle("server/discover", None).unwrap().read().unwrap();
    assert_eq!(discovered.supported_versions, [MODERN]);
    assert_eq!(discovered.server_info().name, "demo");
    assert_eq!(server.handle("ping", None).unwrap().as_str(), "{}");
}

#[test]
fn only_modern_requests_get_a_result_type() {
    let server = DemoServer::new();
    let modern =
        json!({"name": "add", "arguments": {"a": 1, "b": 1}, "_meta": {meta::PROTOCOL_VERSION: MODERN}});
    assert_eq!(ask(&server, "tools/call", &modern).unwrap()["resultType"], "complete");
    assert_eq!(call(&server, "add", &json!({"a": 1, "b": 1})).get("resultType"), None);
}

#[test]
fn definitions_are_complete_and_true() {
    let listed = ask(&DemoServer::new(), "tools/list", &json!({})).unwrap();
    let tools = listed["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["add", "multiply", "get_weather", "store_value", "get_value"]);
    for tool in tools {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["additionalProperties"], false, "{tool}");
        let properties = schema["properties"].as_object().unwrap();
        assert_eq!(properties.len(), schema["required"].as_array().unwrap().len(), "{tool}");
        assert!(properties.values().all(|property| property["description"].is_string()), "{tool}");
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
    }
    insta::assert_json_snapshot!(tools[3]);
}

/// What a tool gives as structure is what its `outputSchema` says.
#[test]
fn results_follow_their_output_schemas() {
    let server = DemoServer::new();
    let calls = [
        ("add", json!({"a": 1, "b": 2.5})),
        ("multiply", json!({"a": 3, "b": 2})),
        ("get_weather", json!({"location": "x"})),
        ("get_value", json!({"key": "x"})),
        ("store_value", json!({"key": "x", "value": "y"})),
        ("get_value", json!({"key": "x"})),
    ];
    let listed = ask(&server, "tools/list", &json!({})).unwrap();
    for (name, arguments) in calls {
        let tool = listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        assert!(jsonschema::is_valid(&tool["inputSchema"], &arguments), "{name}");
        let result = call(&server, name, &arguments);
        assert!(
            jsonschema::is_valid(&tool["outputSchema"], &result["structuredContent"]),
            "{name}: {result}"
        );
        assert!(!jsonschema::is_valid(&tool["outputSchema"], &json!({})), "{name}");
    }
}
