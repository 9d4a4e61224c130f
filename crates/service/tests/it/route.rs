//! `/route`: tool use in any format, answered in the same.

use gateway_upstream::{FleetOptions, Handler, RegisteredTool};
use serde_json::{Value, json};

use crate::client::{Answer, Service};

async fn route(service: &Service, body: &Value) -> Value {
    let answer = service.post("/route", &body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

async fn route_text(service: &Service, media: &str, body: &str) -> Answer {
    service.send("POST", "/route", &format!("content-type: {media}\r\n"), body).await
}

const SUM: &str = r#"{"result":42,"operation":"add","a":15,"b":27}"#;

#[tokio::test]
async fn the_four_formats_are_answered_in_kind() {
    let service = Service::start().await;
    let content = json!([{"type": "text", "text": SUM}]);
    let neutral =
        route(&service, &json!({"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 15, "b": 27}}))
            .await;
    assert_eq!(
        (&neutral["type"], &neutral["tool_use_id"], &neutral["status"], &neutral["content"]),
        (&json!("tool_result"), &json!("t1"), &json!("success"), &content)
    );
    let prose =
        format!("Sure: {} ok?", json!({"type": "tool_use", "name": "add", "input": {"a": 15, "b": 27}}));
    let answer = route_text(&service, "text/plain", &prose).await.json();
    assert_eq!((&answer["type"], &answer["content"]), (&json!("tool_result"), &content), "{answer}");
    let json = route(&service, &json!({"id": "j1", "name": "add", "input": {"a": 15, "b": 27}})).await;
    assert_eq!(
        (&json["type"], &json["tool_use_id"], &json["content"]),
        (&json!("tool_result"), &json!("j1"), &content)
    );
    let call = json!({"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":15,\"b\":27}"}});
    let openai = json!({"role": "tool", "tool_call_id": "c1", "content": SUM});
    assert_eq!(route(&service, &json!({"tool_calls": [call]})).await, openai);
    let as_text = Value::String(json!({"tool_calls": [call]}).to_string());
    assert_eq!(route(&service, &as_text).await, openai, "also as a text");
    let old =
        route(&service, &json!({"function_call": {"name": "add", "arguments": "{\"a\":15,\"b\":27}"}})).await;
    assert_eq!((&old["role"], &old["content"]), (&json!("tool"), &json!(SUM)));
    for media in ["text/plain", "application/xml", "text/xml; charset=utf-8"] {
        let xml = route_text(&service, media, "<add><a>15</a><b>27</b></add>").await;
        assert_eq!((xml.status, xml.header("content-type")), (200, Some("application/xml")));
        assert!(xml.body.starts_with("<tool_result tool_use_id=\""), "{}", xml.body);
        assert!(xml.body.contains("status=\"success\">\n{&quot;result&quot;:42,"), "{}", xml.body);
    }
    let logged = crate::logs::eventually_logged(&service, "/logs?tool=add", "", 9).await;
    assert_eq!(logged.len(), 9, "each is written to the log");
}

#[tokio::test]
async fn values_with_angle_brackets_do_not_make_xml() {
    let service = Service::start().await;
    let call = json!({"name": "store_value", "input": {"key": "k", "value": "a<b>c"}});
    let stored = route_text(&service, "text/plain", &call.to_string()).await;
    assert_eq!(stored.header("content-type"), Some("application/json"));
    assert_eq!(stored.json()["status"], "success", "{}", stored.body);
}

#[tokio::test]
async fn other_providers_get_their_own_messages() {
    let service = Service::start().await;
    let gemini = route(&service, &json!({"functionCall": {"name": "add", "args": {"a": 15, "b": 27}}})).await;
    assert_eq!(gemini[0]["parts"][0]["functionResponse"]["name"], "add", "{gemini}");
    let responses =
        json!({"type": "function_call", "call_id": "r1", "name": "add", "arguments": "{\"a\":15,\"b\":27}"});
    let responses = route(&service, &responses).await;
    assert_eq!(
        (&responses[0]["type"], &responses[0]["call_id"]),
        (&json!("function_call_output"), &json!("r1"))
    );
    let bedrock = json!({"toolUse": {"toolUseId": "b1", "name": "add", "input": {"a": 15, "b": 27}}});
    let bedrock = route(&service, &bedrock).await;
    assert_eq!(bedrock[0]["content"][0]["toolResult"]["toolUseId"], "b1", "{bedrock}");
}

#[tokio::test]
async fn several_calls_give_their_results_in_order() {
    let service = Service::start().await;
    let calls: Vec<Value> = (1..=3)
        .map(|n| json!({"type": "tool_use", "id": format!("t{n}"), "name": "multiply", "input": {"a": n, "b": 2}}))
        .collect();
    let results = route(&service, &json!(calls)).await;
    let found: Vec<(&Value, &Value)> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["tool_use_id"], &one["content"][0]["text"]))
        .collect();
    let expected = [("t1", 2), ("t2", 4), ("t3", 6)].map(|(id, n)| {
        (json!(id), json!(format!(r#"{{"result":{n},"operation":"multiply","a":{},"b":2}}"#, n / 2)))
    });
    assert_eq!(found, expected.iter().map(|(id, text)| (id, text)).collect::<Vec<_>>());
}

#[tokio::test]
async fn faults_are_told_in_the_same_format() {
    let service = Service::start().await;
    let missing =
        route(&service, &json!({"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}})).await;
    assert_eq!((&missing["tool_use_id"], &missing["status"]), (&json!("t1"), &json!("error")));
    assert!(
        missing["error"]["message"].as_str().unwrap().contains('b'),
        "a missing parameter is named: {missing}"
    );
    let unknown = route(
        &service,
        &json!({"tool_calls": [{"id": "c1", "function": {"name": "ad", "arguments": "{}"}}]}),
    )
    .await;
    assert_eq!((&unknown["role"], &unknown["tool_call_id"]), (&json!("tool"), &json!("c1")));
    let nameless = route(&service, &json!({"type": "tool_use", "id": "t1", "input": {}})).await;
    assert_eq!((&nameless["tool_use_id"], &nameless["status"]), (&json!("error"), &json!("error")));
    let text = nameless["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Error routing tool use: "), "{text}");
    let odd = route(&service, &json!({"input": {}})).await;
    let text = odd["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Error routing tool use: Failed to convert JSON to MCP format: "), "{text}");
    let openai = route(&service, &json!({"tool_calls": [{"id": "c1", "function": {}}]})).await;
    assert_eq!((&openai["role"], &openai["tool_call_id"]), (&json!("tool"), &json!("error")));
    let xml = route_text(&service, "text/plain", "just words").await;
    assert!(
        xml.body.starts_with("<tool_result tool_use_id=\"error\" status=\"error\">\nError routing tool use: there is no tool use in it\n"),
        "{}",
        xml.body
    );
    let headers = "content-type: application/json\r\n";
    let format = service.send("POST", "/route?format=yaml", headers, "{}").await.json();
    assert_eq!(format["content"][0]["text"], "Error routing tool use: Unsupported tool use format: yaml");
    let named = service
        .send("POST", "/route?format=json", headers, r#"{"functionCall":{"name":"add"}}"#)
        .await
        .json();
    assert_eq!(named["type"], "tool_result", "a format that is named is not found out: {named}");
    let media = route_text(&service, "application/yaml", "a: 1").await;
    assert_eq!((media.status, media.code().as_str()), (415, "UNSUPPORTED_MEDIA_TYPE"));
    let foreign = "content-type: text/plain\r\norigin: https://evil.example\r\n";
    assert_eq!(
        service.send("POST", "/route", foreign, "<add></add>").await.status,
        403,
        "pages elsewhere cannot"
    );
}

#[tokio::test]
async fn an_empty_output_says_so() {
    let options = FleetOptions::default();
    let quiet = Handler::function(|_| async { Ok(json!({"content": []})) });
    options.registry.register(RegisteredTool::new("quiet", &json!({}), quiet).unwrap()).unwrap();
    let service = Service::with_fleet(Vec::new(), options, |_| {}).await;
    let result =
        route(&service, &json!({"type": "tool_use", "id": "t1", "name": "quiet", "input": {}})).await;
    assert_eq!(result["content"], json!([{"type": "text", "text": "(No response)"}]));
    // Also in the messages of other providers.
    for (request, pointer) in [
        (json!({"type": "function_call", "call_id": "r1", "name": "quiet", "arguments": "{}"}), "/0/output"),
        (
            json!({"toolUse": {"toolUseId": "b1", "name": "quiet", "input": {}}}),
            "/0/content/0/toolResult/content/0/text",
        ),
        (
            json!({"functionCall": {"name": "quiet", "args": {}}}),
            "/0/parts/0/functionResponse/response/output",
        ),
    ] {
        let messages = route(&service, &request).await;
        assert_eq!(messages.pointer(pointer), Some(&json!("(No response)")), "{messages}");
    }
}
