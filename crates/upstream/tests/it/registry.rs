//! Registered tools among those of all upstreams.

use std::time::Duration;

use gateway_config::Environment;
use gateway_protocol::RawJson;
use gateway_upstream::{
    CallError, CallOptions, Endpoint, Fleet, FleetEvent, FleetOptions, Handler, RegisteredTool, Registry,
    RegistryConfig, UpstreamId, UpstreamSpec,
};
use serde_json::{Value, json};

/// A tool that says `text`.
fn says(name: &str, text: &'static str) -> RegisteredTool {
    let handler = Handler::function(move |_| async move { Ok(json!(text)) });
    RegisteredTool::new(name, &json!({"description": text}), handler).unwrap()
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

async fn call(fleet: &Fleet, server: &str, name: &str) -> Result<Value, CallError> {
    let catalogue = fleet.catalogue();
    let tool = catalogue.get(server, name).unwrap_or_else(|| panic!("no {server}/{name}"));
    let result = fleet.call(tool, Some(&RawJson::empty_object()), &CallOptions::default()).await?;
    let mut result: Value = result.read().unwrap();
    result.as_object_mut().unwrap().remove("resultType");
    Ok(result)
}

fn names(fleet: &Fleet) -> Vec<String> {
    fleet.catalogue().listed().map(|tool| tool.public_name.clone()).collect()
}

#[tokio::test]
async fn what_is_registered_before_and_after_the_start_is_offered() {
    let options = FleetOptions::default();
    let registry: Registry = options.registry.clone();
    registry.register(says("early", "one")).unwrap();
    let fleet = Fleet::start(vec![UpstreamSpec::new("demo", Endpoint::Demo)], options);
    assert!(*fleet.registry() == registry, "it is one registry");
    assert_eq!(names(&fleet), ["early"], "nobody waits for what is in our own process");
    assert_eq!(call(&fleet, "registry", "early").await.unwrap(), text("one"));
    let mut events = fleet.events();
    registry.register(says("late", "two")).unwrap();
    assert_eq!(names(&fleet), ["early", "late"]);
    assert_eq!(call(&fleet, "registry", "late").await.unwrap(), text("two"));
    let listed = std::iter::from_fn(|| events.try_recv().ok()).find_map(|event| match event {
        FleetEvent::Listed { upstream, tools } => Some((upstream, tools)),
        _ => None,
    });
    assert_eq!(listed, Some((UpstreamId::new("registry"), 2)));
    let catalogue = fleet.catalogue();
    let late = catalogue.get("registry", "late").unwrap().clone();
    assert!(registry.unregister("late"));
    assert_eq!(names(&fleet), ["early"]);
    let error = fleet.call(&late, None, &CallOptions::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "Tool 'late' not found (code -32602)");
    fleet.listed(&[], Duration::from_secs(20)).await;
    assert_eq!(names(&fleet).len(), 6, "the demo's tools stand beside them");
    assert_eq!(fleet.health_of("registry").unwrap().tools, Some(1));
    fleet.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn an_upstream_for_them_comes_with_the_first_tool_from_any_thread() {
    let fleet = Fleet::start(Vec::new(), FleetOptions::default());
    assert_eq!(fleet.ids(), []);
    let registry = fleet.registry().clone();
    std::thread::spawn(move || registry.register(says("a", "one")).unwrap()).join().unwrap();
    assert_eq!(fleet.ids(), [UpstreamId::new("registry")]);
    assert_eq!(call(&fleet, "registry", "a").await.unwrap(), text("one"));
    fleet.apply(vec![UpstreamSpec::new("demo", Endpoint::Demo)]);
    assert_eq!(fleet.ids(), ["demo", "registry"].map(UpstreamId::new), "a reload keeps it");
    fleet.shutdown(Duration::ZERO).await;
    fleet.registry().register(says("b", "two")).unwrap();
    assert_eq!(names(&fleet).len(), 1, "a fleet that has ended follows nothing");
}

#[tokio::test]
async fn a_configuration_replaces_its_own_tools_only() {
    let fleet = Fleet::start(Vec::new(), FleetOptions::default());
    let registry = fleet.registry();
    registry.register(says("mine", "x")).unwrap();
    let text = |names: &[&str], program: &str| {
        let tools: serde_json::Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), json!({"handler": {"command": program}}))).collect();
        json!({"tools": tools}).to_string()
    };
    let config = |text: &str| -> RegistryConfig {
        let environment = Environment::new(|_| None, |_| Err(std::io::ErrorKind::NotFound.into()));
        gateway_config::parse(std::path::Path::new("x.json"), text, &environment).unwrap().registry
    };
    registry.configure(&config(&text(&["a", "b"], "true")));
    assert_eq!(names(&fleet), ["a", "b", "mine"]);
    let mut events = registry.subscribe();
    registry.configure(&config(&text(&["b", "c"], "true")));
    assert_eq!(names(&fleet), ["b", "c", "mine"]);
    let mut heard: Vec<String> = Vec::new();
    while let Ok(event) = events.try_recv() {
        heard.push(format!("{} {}", event.word(), event.name()));
    }
    assert_eq!(heard, ["tool-unregistered a", "tool-registered c"], "what is the same is left alone");
    let refused = registry.unregister_remote("b").unwrap_err().to_string();
    assert_eq!(refused, "`b` stands in the configuration file; change it there");
    let body = json!({"handler": {"url": "http://1.1.1.1/"}});
    let refused = registry.register_remote("b", body.as_object().unwrap()).await.unwrap_err().to_string();
    assert_eq!(refused, "`b` stands in the configuration file; change it there");
    fleet.shutdown(Duration::ZERO).await;
}
