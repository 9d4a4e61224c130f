//! Tools that are not an upstream's.

mod command;
mod configured;
mod endpoint;

use gateway_builtin::{ExecuteError, Handler, RegisterError, RegisteredTool, Registry, RegistryEvent};
use gateway_protocol::RawJson;
use serde_json::{Value, json};

/// Arguments of a call.
fn arguments(value: &Value) -> RawJson {
    RawJson::of(value).unwrap()
}

/// A tool that says `text`.
fn says(name: &str, text: &'static str) -> RegisteredTool {
    let handler = Handler::function(move |_| async move { Ok(json!(text)) });
    RegisteredTool::new(name, &json!({"description": text}), handler).unwrap()
}

async fn run(registry: &Registry, name: &str, value: &Value) -> Result<Value, String> {
    let outcome = registry.execute(name, &arguments(value)).await;
    outcome.map(|result| result.read().unwrap()).map_err(|error| error.to_string())
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

#[tokio::test]
async fn tools_are_registered_replaced_and_unregistered() {
    let registry = Registry::new();
    assert!(!registry.has("a") && registry.get("a").is_none() && registry.get_all().is_empty());
    assert!(registry.register(says("a", "one")).unwrap().is_none());
    assert!(registry.has("a"));
    assert_eq!(registry.get("a").unwrap().name, "a");
    let replaced = registry.register(says("a", "two")).unwrap().unwrap();
    assert!(replaced.definition.as_str().contains("one"), "{replaced:?}");
    assert_eq!(run(&registry, "a", &json!({})).await, Ok(text("two")));
    registry.register(says("b", "three")).unwrap();
    let mut copy = registry.get_all();
    assert_eq!(copy.keys().collect::<Vec<_>>(), ["a", "b"]);
    copy.clear();
    assert_eq!(registry.get_all().len(), 2, "what is given is a copy");
    assert!(registry.unregister("a"));
    assert!(!registry.unregister("a"), "it is gone");
    assert!(!registry.has("a") && registry.has("b"));
}

#[tokio::test]
async fn clones_are_the_same_registry_and_others_are_not() {
    let (registry, other) = (Registry::new(), Registry::new());
    let clone = registry.clone();
    clone.register(says("a", "one")).unwrap();
    assert!(registry.has("a") && !other.has("a"));
    assert!(registry == clone && registry != other);
}

#[tokio::test]
async fn subscribers_hear_what_happens_and_nothing_else() {
    let registry = Registry::new();
    registry.register(says("before", "x")).unwrap();
    let mut events = registry.subscribe();
    registry.register(says("a", "one")).unwrap();
    registry.register(says("a", "two")).unwrap();
    assert!(!registry.unregister("nobody"));
    assert!(registry.unregister("a"));
    let mut heard = Vec::new();
    while let Ok(event) = events.try_recv() {
        heard.push((event.word(), event.name().to_owned()));
    }
    let expected =
        ["tool-registered", "tool-registered", "tool-unregistered"].map(|word| (word, "a".to_owned()));
    assert_eq!(heard, expected);
    assert_eq!(RegistryEvent::ToolRegistered { name: "a".to_owned() }.word(), "tool-registered");
}

#[tokio::test]
async fn failures_have_their_words() {
    let registry = Registry::new();
    assert_eq!(run(&registry, "x", &json!({})).await, Err("Tool 'x' not found".to_owned()));
    let failing = Handler::function(|_| async { Err("no such order".into()) });
    registry.register(RegisteredTool::new("x", &json!({}), failing).unwrap()).unwrap();
    assert_eq!(
        run(&registry, "x", &json!({})).await,
        Err("Error executing tool 'x': no such order".to_owned())
    );
    let panicking = Handler::function(|arguments: serde_json::Map<String, Value>| async move {
        Ok(arguments.get("n").unwrap().clone())
    });
    registry.register(RegisteredTool::new("x", &json!({}), panicking).unwrap()).unwrap();
    assert_eq!(
        run(&registry, "x", &json!({})).await,
        Err("Error executing tool 'x': it panicked".to_owned())
    );
    assert_eq!(run(&registry, "x", &json!({"n": "y"})).await, Ok(text("y")));
    let endless = Handler::function(|_| std::future::pending());
    let endless = RegisteredTool::new("x", &json!({}), endless).unwrap();
    registry.register(endless.with_timeout(std::time::Duration::from_millis(5))).unwrap();
    assert_eq!(
        run(&registry, "x", &json!({})).await,
        Err("Error executing tool 'x': no answer within 5ms".to_owned())
    );
    let outcome = registry.execute("y", &RawJson::empty_object()).await;
    assert_eq!(outcome.unwrap_err(), ExecuteError::NotFound { name: "y".to_owned() });
}

#[tokio::test]
async fn a_result_that_says_it_is_an_error_passes() {
    let registry = Registry::new();
    let result = json!({"content": [{"type": "text", "text": "no"}], "isError": true, "x": 1});
    let given = result.clone();
    let handler = Handler::function(move |_| std::future::ready(Ok(given.clone())));
    registry.register(RegisteredTool::new("x", &json!({}), handler).unwrap()).unwrap();
    assert_eq!(run(&registry, "x", &json!({})).await, Ok(result));
}

#[test]
fn definitions_are_checked() {
    let tool = |name: &str, about: Value| {
        let handler = Handler::function(|_| async { Ok(Value::Null) });
        RegisteredTool::new(name, &about, handler)
            .map(|tool| tool.definition.to_string())
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        tool("a.b-c_1", json!({"description": "d", "inputSchema": {"properties": {}}, "annotations": {"readOnlyHint": true}, "odd": 1})),
        Ok(r#"{"name":"a.b-c_1","description":"d","inputSchema":{"properties":{},"type":"object"},"annotations":{"readOnlyHint":true}}"#.to_owned())
    );
    assert_eq!(
        tool("a", json!({})),
        Ok(r#"{"name":"a","inputSchema":{"type":"object","properties":{},"required":[]}}"#.to_owned())
    );
    for name in ["", "a b", "a/b", "ü", &"x".repeat(129)] {
        assert!(tool(name, json!({})).unwrap_err().contains("is no name of a tool"), "{name}");
    }
    let wrong = [
        (json!({"description": 5}), "`description` must be a text"),
        (json!({"inputSchema": []}), "`inputSchema` must be an object"),
        (
            json!({"inputSchema": {"type": "string"}}),
            "`inputSchema` must describe an object: its `type` must be \"object\"",
        ),
        (json!([]), "`definition` must be an object"),
    ];
    for (about, message) in wrong {
        assert_eq!(tool("a", about), Err(message.to_owned()));
    }
}

#[test]
fn the_registry_is_bounded() {
    let registry = Registry::new();
    let mut config = gateway_config::RegistryConfig::default();
    (config.max_tools, config.max_definition_bytes) = (2, 200);
    registry.configure(&config);
    registry.register(says("a", "x")).unwrap();
    registry.register(says("b", "x")).unwrap();
    assert_eq!(registry.register(says("c", "x")).unwrap_err(), RegisterError::Full { limit: 2 });
    assert!(registry.register(says("b", "y")).unwrap().is_some(), "replacing takes no room");
    let long = says("a", Box::leak("x".repeat(300).into_boxed_str()));
    assert!(matches!(registry.register(long), Err(RegisterError::TooLong { limit: 200, .. })));
}
