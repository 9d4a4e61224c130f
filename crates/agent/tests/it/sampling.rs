//! Settings of chats by model: what the API is sent.

use std::sync::Arc;

use gateway_agent::{Agent, AgentRequest, Limits, Models, NoTools};
use gateway_config::ModelSpec;
use gateway_dialects::Dialects;
use gateway_runtime::lists::ReadyDialects;
use gateway_testkit::models::{ModelServer, Reply, Script, Wire};
use serde_json::{Map, Value, json};

use crate::gateway::{Gateway, question, spec};

/// Members of requests that have nothing to do with sampling.
const OTHERS: [&str; 8] =
    ["model", "messages", "stream", "stream_options", "contents", "input", "store", "include"];

/// What a chat with `model` is sent beside the messages.
async fn sent(wire: Wire, model: &str, asked: Value, change: impl FnOnce(&mut ModelSpec)) -> Value {
    let server = ModelServer::start(wire, Script::new().last(Reply::new().text("Fine."))).await.unwrap();
    let mut entry = spec("m", wire, &server);
    entry.model = Some(model.to_owned());
    change(&mut entry);
    let dialects = ReadyDialects::new(Dialects::builtin());
    let chosen = Models::new(&[entry], None).choose(None, &dialects).await.unwrap().remove(0);
    let Value::Object(asked) = asked else { panic!("no settings: {asked}") };
    let mut request = AgentRequest::of_user("Hello");
    request.settings = chosen.chat_settings(&asked);
    let agent = Agent::new(vec![chosen.model], Arc::new(NoTools), Limits::default());
    agent.answer(request).await.unwrap();
    let Value::Object(body) = server.requests().remove(0).body else { panic!("no object") };
    body.into_iter().filter(|(name, _)| !OTHERS.contains(&name.as_str())).collect::<Map<_, _>>().into()
}

#[tokio::test]
async fn defaults_follow_from_the_model() {
    for (wire, model, expected) in [
        (Wire::Chat, "gpt-4o", json!({"temperature": 0.7, "max_tokens": 4096})),
        (Wire::Chat, "openrouter/openai/gpt-4.1", json!({"temperature": 0.7, "max_tokens": 4096})),
        (Wire::Chat, "gpt-5-chat-latest", json!({"temperature": 0.7, "max_tokens": 4096})),
        (Wire::Argo, "argo:gpt-4o", json!({"temperature": 0.7, "max_tokens": 4096})),
        (Wire::Chat, "anthropic/claude-3-haiku", json!({"top_p": 0.9, "max_tokens": 4096})),
        (Wire::Messages, "claude-sonnet-4-20250514", json!({"top_p": 0.9, "max_tokens": 4096})),
        (Wire::Messages, "claude-opus-4-7", json!({"max_tokens": 4096})),
        (Wire::Messages, "claude-sonnet-5", json!({"max_tokens": 4096})),
        (Wire::Chat, "o1", json!({"max_completion_tokens": 4096})),
        (Wire::Chat, "openai/o3-mini", json!({"max_completion_tokens": 4096})),
        (Wire::Dial, "o4-mini", json!({"max_completion_tokens": 4096})),
        (Wire::Chat, "GPT-5-mini", json!({"max_completion_tokens": 4096})),
        (Wire::Argo, "argo:gpto3mini", json!({"max_completion_tokens": 4096})),
        (Wire::Responses, "gpt-5", json!({"max_output_tokens": 4096})),
        (Wire::Chat, "llama-3.3-70b", json!({"temperature": 0.7, "max_tokens": 4096})),
        (Wire::Chat, "proto1", json!({"temperature": 0.7, "max_tokens": 4096})),
        (Wire::Functions, "gpt-4", json!({"temperature": 0, "max_tokens": 4096})),
        (Wire::Ollama, "qwen3:8b", json!({"options": {"temperature": 0, "num_predict": 4096}})),
        (Wire::Ollama, "gpt-oss:20b", json!({"options": {"temperature": 0.7, "num_predict": 4096}})),
        (
            Wire::GenerateContent,
            "gemini-2.5-flash",
            json!({"generationConfig": {"temperature": 0.7, "maxOutputTokens": 4096}}),
        ),
    ] {
        assert_eq!(sent(wire, model, json!({}), |_| {}).await, expected, "{wire:?} {model}");
    }
}

#[tokio::test]
async fn what_is_asked_for_wins_and_the_two_are_never_sent_together() {
    for (model, configured, asked, expected) in [
        ("gpt-4o", json!({}), json!({"temperature": 0}), json!({"temperature": 0, "max_tokens": 4096})),
        ("gpt-4o", json!({}), json!({"top_p": 0.5, "max_tokens": 9}), json!({"top_p": 0.5, "max_tokens": 9})),
        (
            "claude-3-haiku",
            json!({}),
            json!({"temperature": 1}),
            json!({"temperature": 1, "max_tokens": 4096}),
        ),
        (
            "m",
            json!({}),
            json!({"temperature": 1, "top_p": 0.5}),
            json!({"temperature": 1, "max_tokens": 4096}),
        ),
        ("m", json!({"temperature": 0.2}), json!({}), json!({"temperature": 0.2, "max_tokens": 4096})),
        ("m", json!({"temperature": 0.2}), json!({"top_p": 0.5}), json!({"top_p": 0.5, "max_tokens": 4096})),
        (
            "m",
            json!({"temperature": 0.2}),
            json!({"temperature": null}),
            json!({"temperature": 0.2, "max_tokens": 4096}),
        ),
        ("m", json!({"temperature": null, "max_tokens": null, "seed": 7}), json!({}), json!({"seed": 7})),
        (
            "m",
            json!({"max_tokens": 10}),
            json!({"max_completion_tokens": 9}),
            json!({"max_completion_tokens": 9, "temperature": 0.7}),
        ),
        ("o3", json!({}), json!({"temperature": 0.2, "max_tokens": 9}), json!({"max_completion_tokens": 9})),
        // The operator knows best what his server takes.
        (
            "o3",
            json!({"temperature": 1}),
            json!({"temperature": 0.2}),
            json!({"temperature": 1, "max_completion_tokens": 4096}),
        ),
    ] {
        let Value::Object(settings) = configured.clone() else { panic!("no settings") };
        let found = sent(Wire::Chat, model, asked.clone(), |entry| entry.settings = settings).await;
        assert_eq!(found, expected, "{model} {configured} {asked}");
    }
}

#[tokio::test]
async fn completions_get_no_defaults() {
    let server =
        ModelServer::start(Wire::Chat, Script::new().last(Reply::new().text("Fine."))).await.unwrap();
    let gateway = Gateway::with(Wire::Chat, &server, |config| {
        config.models[0].settings.insert("temperature".to_owned(), 0.2.into());
    });
    gateway.whole(&question(false), None).await.unwrap();
    let Value::Object(mut body) = server.requests().remove(0).body else { panic!("no object") };
    body.retain(|name, _| name != "tools");
    assert_eq!(body.keys().collect::<Vec<_>>(), ["model", "messages", "stream"]);
}
