//! Lists of tools in a provider's format.

use gateway_upstream::{Endpoint, UpstreamSpec};
use serde_json::{Value, json};

use crate::client::Service;

/// Two servers with the same tools, so that every name has a prefix.
async fn service(prefixes: [&str; 2]) -> Service {
    let specs = prefixes.map(|prefix| {
        let mut spec = UpstreamSpec::new(prefix, Endpoint::Demo);
        spec.prefix = Some(prefix.to_owned());
        spec
    });
    Service::with_servers(specs.into(), |_| {}).await
}

#[tokio::test]
async fn a_list_is_what_the_engine_makes_of_all_tools_together() {
    // Names that every provider takes, and names that most of them replace.
    for prefixes in [["one", "two"], ["one.x", "one:x"]] {
        let service = service(prefixes).await;
        let tools = service.get("/tools").await.json()["tools"].clone();
        assert_eq!(tools.as_array().map(Vec::len), Some(10));
        for provider in ["gemini", "openai", "openai-chat-strict", "bedrock", "mcp"] {
            let body = json!({"to": provider, "tools": tools}).to_string();
            let converted = service.post("/convert", &body).await.json();
            let answer = service.get(&format!("/tools/{provider}")).await;
            let (document, list) = only_member(&answer.json());
            assert_eq!(list, converted[&document], "{provider} with {prefixes:?}");
            let bare = service.get(&format!("/tools/{provider}?list=true")).await.json();
            assert_eq!(bare, list, "{provider}");
            let wire = &converted["report"][7]["wireName"];
            let name = tools[7]["name"].as_str().unwrap();
            assert!(answer.body.contains(&wire.to_string()), "{name} is {wire} for {provider}");
        }
    }
}

fn only_member(value: &Value) -> (String, Value) {
    let members = value.as_object().unwrap();
    assert_eq!(members.len(), 1, "{value}");
    members.iter().next().map(|(name, value)| (name.clone(), value.clone())).unwrap()
}
