//! Lists of tools in a provider's format.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gateway_upstream::{Endpoint, FleetOptions, Handler, RegisteredTool, UpstreamSpec};
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

/// The names in a list of OpenAI's format.
fn listed_names(answer: &Value) -> Vec<String> {
    let tools = answer["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

/// Ends a loop also where the test fails.
struct SetWhenDropped(Arc<AtomicBool>);

impl Drop for SetWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_about_the_list_that_it_comes_with() {
    let options = FleetOptions::default();
    let registry = options.registry.clone();
    let servers = vec![UpstreamSpec::new("demo", Endpoint::Demo)];
    let service = Service::with_fleet(servers, options, |_| {}).await;
    let handler = || Handler::function(|_| async { Ok(json!("ok")) });
    let tool = |name: &str| RegisteredTool::new(name, &json!({}), handler()).unwrap();
    registry.register(tool("stays")).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let ending = SetWhenDropped(Arc::clone(&done));
    // The catalogue changes all the time.
    let changing = tokio::task::spawn_blocking({
        let (done, registry) = (Arc::clone(&done), registry.clone());
        let comes_and_goes = tool("comes-and-goes");
        move || {
            while !done.load(Ordering::Relaxed) {
                registry.register(comes_and_goes.clone()).unwrap();
                assert!(registry.unregister("comes-and-goes"));
            }
        }
    });
    for _ in 0..200 {
        let answer = service.get("/tools/openai-chat?server=*&report=true").await.json();
        let rows = answer["report"].as_array().unwrap().iter();
        let reported: Vec<&str> = rows.map(|row| row["wireName"].as_str().unwrap()).collect();
        assert_eq!(listed_names(&answer), reported);
    }
    drop(ending);
    changing.await.unwrap();
}

#[tokio::test]
async fn a_list_with_its_report_is_the_list_without_it() {
    let service = service(["one", "two"]).await;
    let plain = service.get("/tools/gemini").await.json();
    let mut reported = service.get("/tools/gemini?report=true&meta=true").await.json();
    let members = reported.as_object_mut().unwrap();
    let (report, meta) = (members.remove("report").unwrap(), members.remove("meta").unwrap());
    assert_eq!(reported, plain);
    let row = &report[1];
    let tokens = &row["tokens"];
    assert!(tokens["before"].as_u64() > Some(0) && tokens["after"].as_u64() > Some(0), "{tokens}");
    let expected = json!({
        "name": row["name"], "wireName": row["name"], "server": "one", "quarantine": null, "strict": false,
        "tokens": tokens, "changes": row["changes"],
    });
    assert_eq!(row, &expected);
    assert_eq!(report.as_array().unwrap().len(), meta.as_object().unwrap().len());
}

#[tokio::test]
async fn without_compatibility_gemini_gets_the_bare_form_and_arguments_are_still_checked() {
    let options = FleetOptions::default();
    let registry = options.registry.clone();
    let service = Service::with_fleet(Vec::new(), options, |_| {}).await;
    let schema = json!({
        "type": "object",
        "properties": {
            "count": {"type": "integer", "maximum": 9, "default": 3},
            "query": {"anyOf": [{"type": "string"}, {"type": "null"}]}
        },
        "required": ["count"]
    });
    let handler = Handler::function(|_| async { Ok(json!("found")) });
    let definition = json!({"description": "Finds", "inputSchema": schema});
    registry.register(RegisteredTool::new("find", &definition, handler).unwrap()).unwrap();
    let mut answer = service.get("/tools/gemini?compat=off&server=*&report=true").await.json();
    let report = answer.as_object_mut().unwrap().remove("report").unwrap();
    let expected = json!({"function_declarations": [{
        "name": "find",
        "description": "Finds",
        "parameters": {
            "type": "object",
            "properties": {"count": {"type": "integer"}, "query": {"type": "string", "nullable": true}},
            "required": ["count"]
        }
    }]});
    assert_eq!(answer, expected);
    let changes = report[0]["changes"].as_array().unwrap().iter();
    let dropped = changes.filter(|change| change["fate"] == "dropped");
    let mut dropped: Vec<&str> = dropped.filter_map(|change| change["keyword"].as_str()).collect();
    dropped.sort_unstable();
    assert_eq!(dropped, ["default", "maximum"]);
    let body = json!({"provider": "gemini", "call": {"name": "find", "args": {"count": 30}}}).to_string();
    let refused = service.post("/execute?compat=off", &body).await.json().to_string();
    assert!(refused.contains("expected at most 9"), "{refused}");
}
