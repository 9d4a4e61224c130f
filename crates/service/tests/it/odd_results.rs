//! Results that are hard to hold: nothing of them is lost on the way to the model, and what is told otherwise is said.

use gateway_testkit::Fixture;
use gateway_upstream::{Endpoint, ProtocolChoice, UpstreamSpec};
use serde_json::{Value, json};

use crate::client::Service;
use crate::turns::fixture;

/// A server whose only tool has this result.
async fn answering(result: &str) -> Service {
    let script = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"initialize"'*) printf '%s\n' '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"1"}}}';;
    *'"tools/list"'*) printf '%s\n' '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"odd","inputSchema":{"type":"object"}}]}}';;
    *'"tools/call"'*) printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$RESULT";;
  esac
done
"#;
    let endpoint = Endpoint::Stdio {
        command: "sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: [("RESULT".to_owned(), result.to_owned())].into(),
        cwd: None,
    };
    let mut spec = UpstreamSpec::new("up", endpoint);
    spec.protocol = ProtocolChoice::Legacy;
    Service::with_servers(vec![spec], |_| {}).await
}

async fn execute(service: &Service, provider: &str, query: &str) -> Value {
    let call = json!({"provider": provider, "call": {"name": "odd", "arguments": {}, "args": {}}});
    let answer = service.post(&format!("/execute{query}"), &call.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    // A number that nothing here can hold.
    serde_json::from_str(&answer.body.replace("1e400", "1")).unwrap_or_else(|_| json!(answer.body))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_odd_number_takes_nothing_else_with_it() {
    let service = answering(
        r#"{"content":[{"type":"text","text":"hello"}],"structuredContent":{"huge":"no","n":1e400,"m":12345678901234567890123}}"#,
    )
    .await;
    let openai = execute(&service, "openai", "").await;
    let said = openai["messages"][0]["content"].as_str().unwrap();
    assert!(said.contains("hello") && said.contains("12345678901234567890123"), "{openai}");
    let changed = openai["changes"].to_string();
    assert!(
        changed.contains("/structuredContent/n") && changed.contains("/structuredContent/m"),
        "{changed}"
    );
    let gemini = execute(&service, "gemini", "").await.to_string();
    assert!(gemini.contains("hello"), "{gemini}");
    let joined = execute(&service, "openai", "?result=joined").await;
    assert!(joined["result"].as_str().unwrap().starts_with("hello"), "{joined}");
    let rich = execute(&service, "openai", "?result=rich").await;
    assert_eq!(rich["result"]["text"], "hello", "{rich}");
    let routed = service.post("/route", r#"{"type":"tool_use","id":"t","name":"odd","input":{}}"#).await;
    assert_eq!(routed.json()["content"][0]["text"], "hello", "{}", routed.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn halves_of_pairs_and_deep_values_take_nothing_else_with_them() {
    let half =
        answering(r#"{"content":[{"type":"text","text":"a\\ud800b"}]}"#.replace("\\\\", "\\").as_str()).await;
    let call = r#"{"provider":"openai","call":{"name":"odd","arguments":"{}"}}"#;
    let answer = half.post("/execute", call).await;
    assert!(answer.body.contains("\"content\":\"a\u{fffd}b\""), "{}", answer.body);
    assert!(answer.body.contains("surrogate"), "{}", answer.body);
    let (open, close) = ("[".repeat(200), "]".repeat(200));
    let deep = format!(
        r#"{{"content":[{{"type":"text","text":"hello"}}],"structuredContent":{{"x":{open}7{close}}}}}"#
    );
    let answer = answering(&deep).await.post("/execute", call).await;
    assert!(answer.body.contains("\"content\":\"hello"), "{}", answer.body);
    assert!(answer.body.contains("nested too deeply"), "{}", answer.body);
}

/// The tools of the fixture with more than text in their results.
#[tokio::test(flavor = "multi_thread")]
async fn routed_results_tell_what_is_no_text() {
    let service = Service::with_servers(vec![fixture("up", &Fixture::stdio())], |_| {}).await;
    let openai = |name: &str| {
        json!({"tool_calls": [{"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}]})
            .to_string()
    };
    let image = service.post("/route", &openai("image")).await.json();
    assert!(image["content"].as_str().unwrap().contains("[image: image/png, "), "{image}");
    let mixed = service.post("/route", &openai("mixed")).await.json();
    let said = mixed["content"].as_str().unwrap();
    assert!(said.contains("Resource (test://embedded):\nembedded") && said.contains("[image: "), "{mixed}");
    let headers = "content-type: text/plain\r\n";
    let xml = service.send("POST", "/route", headers, "<mixed></mixed>").await.body;
    assert!(xml.contains("Resource (test://embedded):\nembedded") && !xml.contains("<unknown"), "{xml}");
    let structured = answering(r#"{"content":[],"structuredContent":{"n":1}}"#).await;
    let answer = structured.post("/route", &openai("odd")).await.json();
    assert_eq!(answer["content"], r#"{"n":1}"#, "{answer}");
    let xml = structured.send("POST", "/route", headers, "<odd></odd>").await.body;
    assert!(xml.contains("{&quot;n&quot;:1}"), "{xml}");
}

#[tokio::test(flavor = "multi_thread")]
async fn values_in_xml_are_of_the_type_that_the_tool_wants() {
    let service = Service::with_servers(vec![fixture("up", &Fixture::stdio())], |_| {}).await;
    for text in ["007", "true", "1.50", "{}"] {
        let xml = format!("<echo><text>{text}</text></echo>");
        let headers = "content-type: text/plain\r\n";
        let routed = service.send("POST", "/route", headers, &xml).await;
        assert!(routed.body.contains("status=\"success\""), "{text}: {}", routed.body);
        let executed = service.post("/execute", &json!({"call": xml}).to_string()).await;
        assert_eq!(executed.json()["result"]["structuredContent"]["text"], text, "{}", executed.body);
    }
    let sum = service.post("/execute", r#"{"call":"<add><a>15</a><b>27</b></add>"}"#).await;
    assert!(sum.json()["result"]["content"][0]["text"].as_str().unwrap().contains("42"), "{}", sum.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_route_takes_the_name_of_any_provider() {
    let service = Service::start().await;
    let gemini =
        service.post("/route?format=gemini", r#"{"name":"add","args":{"a":15,"b":27}}"#).await.json();
    assert_eq!(gemini[0]["parts"][0]["functionResponse"]["name"], "add", "{gemini}");
    let bare =
        service.post("/route?format=anthropic", r#"{"name":"add","input":{"a":15,"b":27}}"#).await.json();
    assert_eq!(bare[0]["content"][0]["type"], "tool_result", "{bare}");
    let unknown = service.post("/route?format=morse", r#"{"name":"add","input":{}}"#).await.json();
    assert!(unknown.to_string().contains("Unsupported tool use format: morse"), "{unknown}");
    let old = service.post("/route", r#"{"function_call":{"name":"add"}}"#).await.json();
    assert_eq!(old["role"], "tool", "{old}");
    assert!(!old["content"].as_str().unwrap().contains("ambiguous"), "{old}");
}
