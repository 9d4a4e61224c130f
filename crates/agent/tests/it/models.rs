//! The models of the configuration: their names, and how each API is asked.

use gateway_agent::completions::CompletionError;
use gateway_config::{ModelKind, ModelSpec, Secret, ServiceConfig};
use gateway_testkit::models::{ModelServer, RecordedRequest, Reply, Script, ServerOptions, Wire};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::gateway::{Gateway, question, spec};

const NOT_CONFIGURED: &str = "no model is configured: add one under \"models\" in the configuration file and start the gateway \
    again; docs/guides/agent.md shows how";

const KEY: &str = "sk-test-0123456789";

fn fine() -> Script {
    Script::new().last(Reply::new().text("Fine."))
}

/// A server with these models.
async fn serving(wire: Wire, models: &[&str]) -> ModelServer {
    let models = models.iter().map(|model| (*model).to_owned()).collect();
    let options = ServerOptions { models, key: Some(KEY.to_owned()), ..ServerOptions::default() };
    ModelServer::start_with(wire, fine(), options).await.unwrap()
}

/// An entry that stands for all models of a server.
fn all_of(name: &str, wire: Wire, server: &ModelServer) -> ModelSpec {
    let mut entry = spec(name, wire, server);
    (entry.model, entry.lists_models) = (None, true);
    entry.api_key = Some(Secret::new(KEY));
    entry
}

fn gateway(models: Vec<ModelSpec>) -> Gateway {
    let mut config = ServiceConfig::default();
    config.models = models;
    Gateway::new(config)
}

async fn ids(gateway: &Gateway) -> Vec<String> {
    let list = gateway.completions.list().await;
    assert_eq!(list["object"], "list");
    let entries = list["data"].as_array().unwrap();
    entries.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

/// What the model was sent for a plain question to `model`.
async fn sent(gateway: &Gateway, server: &ModelServer, model: &str, stream: bool) -> RecordedRequest {
    let mut request = question(stream);
    request["model"] = model.into();
    if stream {
        gateway.streamed(&request, None).await.unwrap();
    } else {
        gateway.whole(&request, None).await.unwrap();
    }
    server.requests().into_iter().rfind(|request| request.method == "POST").unwrap()
}

async fn refusal(gateway: &Gateway, model: &str) -> String {
    let mut request = question(false);
    request["model"] = model.into();
    match gateway.whole(&request, None).await {
        Err(CompletionError::UnknownModel(error)) => error.message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn entries_that_stand_for_all_models_list_them_once() {
    for wire in Wire::OF_AGENT.iter().copied() {
        let server = serving(wire, &["model-b", "model-a", "model-b"]).await;
        let gateway = gateway(vec![all_of("all", wire, &server)]);
        assert_eq!(ids(&gateway).await, ["model-b", "model-a"], "{wire:?}");
        assert_eq!(ids(&gateway).await.len(), 2, "{wire:?}");
        assert_eq!(server.requests().len(), 1, "{wire:?}: a list is good for a while");
        assert_eq!(
            sent(&gateway, &server, "model-a", false).await.model().as_deref(),
            Some("model-a"),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn a_name_of_two_entries_is_listed_once_and_means_the_first() {
    let (one, other) = (serving(Wire::Chat, &["a", "b"]).await, serving(Wire::Messages, &["b", "c"]).await);
    let gateway = gateway(vec![all_of("one", Wire::Chat, &one), all_of("other", Wire::Messages, &other)]);
    assert_eq!(ids(&gateway).await, ["a", "b", "c"]);
    sent(&gateway, &one, "b", false).await;
    assert_eq!(sent(&gateway, &other, "other/b", false).await.model().as_deref(), Some("b"));
}

#[tokio::test]
async fn an_entry_of_one_model_is_listed_by_its_own_name() {
    let server = serving(Wire::Chat, &[]).await;
    let gateway = gateway(vec![spec("mine", Wire::Chat, &server)]);
    let expected = json!({"object": "list", "data": [{"id": "mine", "object": "model", "created": 0, "owned_by": "openai"}]});
    assert_eq!(gateway.completions.list().await, expected);
    assert_eq!(server.requests(), []);
}

#[tokio::test]
async fn an_api_that_cannot_be_asked_lists_nothing_and_still_answers() {
    for wire in Wire::OF_AGENT.iter().copied() {
        let server = serving(wire, &["model-a"]).await;
        let mut entry = all_of("all", wire, &server);
        entry.api_key = Some(Secret::new("wrong"));
        assert_eq!(ids(&gateway(vec![entry])).await, [""; 0], "{wire:?}");
    }
    // Nothing that lists models, but something that answers.
    let server = ModelServer::start(Wire::Ollama, fine()).await.unwrap();
    let mut entry = all_of("all", Wire::Chat, &server);
    entry.base_url = format!("{}/elsewhere", server.url());
    entry.kind = ModelKind::Ollama;
    let gateway = gateway(vec![entry]);
    assert_eq!(sent(&gateway, &server, "llama3.2", false).await.model().as_deref(), Some("llama3.2"));
}

// The clock stands still, so the wait costs nothing.
#[tokio::test(start_paused = true)]
async fn a_list_that_does_not_come_is_not_waited_for() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", silent.local_addr().unwrap());
    let entry = |name: &str| {
        let mut entry = ModelSpec::at(name, ModelKind::OpenAi, &url);
        entry.lists_models = true;
        entry
    };
    let gateway = gateway(vec![entry("one"), entry("two"), entry("three")]);
    let begun = tokio::time::Instant::now();
    assert_eq!(ids(&gateway).await, [""; 0]);
    // The clock of the test says how long was waited for, and it moves only by waiting.
    assert!(begun.elapsed().as_secs() < 4, "all are asked at once: {:?}", begun.elapsed());
}

#[tokio::test]
async fn names_behind_that_of_the_entry_reach_its_models() {
    let server = serving(Wire::Argo, &["argo:gpt-4o", "gpt4o"]).await;
    let gateway = gateway(vec![all_of("argo", Wire::Argo, &server)]);
    assert_eq!(sent(&gateway, &server, "argo:gpt-4o", false).await.model().as_deref(), Some("argo:gpt-4o"));
    assert_eq!(sent(&gateway, &server, "argo/gpt4o", true).await.model().as_deref(), Some("gpt4o"));
}

#[tokio::test]
async fn an_unknown_name_gets_a_suggestion() {
    let server = serving(Wire::Chat, &["gpt-4o", "gpt-4o-mini"]).await;
    let gateway = gateway(vec![all_of("all", Wire::Chat, &server), spec("local", Wire::Chat, &server)]);
    let message = refusal(&gateway, "gpt-4p").await;
    assert!(message.starts_with("no model is called `gpt-4p`") && message.contains("gpt-4o"), "{message}");
    assert!(refusal(&gateway, "locl").await.contains("local"));
    assert_eq!(
        refusal(&gateway, "something-else-entirely").await,
        "no model is called `something-else-entirely`"
    );
}

#[tokio::test]
async fn without_models_the_error_says_what_to_do() {
    let gateway = gateway(Vec::new());
    assert_eq!(refusal(&gateway, "m").await, NOT_CONFIGURED);
    assert_eq!(ids(&gateway).await, [""; 0]);
}

#[tokio::test]
async fn a_request_without_a_model_means_the_configured_one() {
    let server = serving(Wire::Chat, &[]).await;
    let mut config = ServiceConfig::default();
    config.models = ["first", "second"]
        .map(|name| {
            let mut entry = spec(name, Wire::Chat, &server);
            (entry.model, entry.api_key) = (None, Some(Secret::new(KEY)));
            entry
        })
        .to_vec();
    assert_eq!(
        sent(&Gateway::new(config.clone()), &server, "", false).await.model().as_deref(),
        Some("first")
    );
    config.agent.model = Some("second".to_owned());
    assert_eq!(sent(&Gateway::new(config), &server, "", false).await.model().as_deref(), Some("second"));
}

/// Method, path, query and the header of the key, of a whole and of a streamed request.
async fn asked(
    kind: ModelKind,
    wire: Wire,
    change: impl Fn(&mut ModelSpec),
) -> [(String, Option<String>); 2] {
    let mut all = Vec::new();
    for stream in [false, true] {
        let server = serving(wire, &[]).await;
        let mut entry = spec("m", wire, &server);
        (entry.kind, entry.api_key) = (kind, Some(Secret::new(KEY)));
        change(&mut entry);
        let request = sent(&gateway(vec![entry]), &server, "m", stream).await;
        let with_key = request.headers.iter().filter(|(_, value)| value.to_str().unwrap().contains(KEY));
        let headers: Vec<String> =
            with_key.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        assert!(headers.len() <= 1 && !request.query.contains(KEY), "{headers:?} {}", request.query);
        assert_eq!(request.header("content-type"), Some("application/json"));
        let question = if request.query.is_empty() { "" } else { "?" };
        all.push((format!("{}{question}{}", request.path, request.query), headers.first().cloned()));
    }
    all.try_into().unwrap()
}

#[tokio::test]
async fn each_api_is_asked_at_its_path_with_the_key_in_its_header() {
    let bearer = format!("authorization: Bearer {KEY}");
    for (kind, wire, paths, header) in [
        (ModelKind::OpenAi, Wire::Chat, ["/v1/chat/completions"; 2], bearer.clone()),
        (ModelKind::OpenAi, Wire::Argo, ["/v1/chat/completions"; 2], bearer.clone()),
        (ModelKind::Responses, Wire::Responses, ["/v1/responses"; 2], bearer.clone()),
        (ModelKind::Ollama, Wire::Ollama, ["/api/chat"; 2], bearer.clone()),
        (
            ModelKind::Dial,
            Wire::Dial,
            ["/openai/deployments/gpt-4o/chat/completions?api-version="; 2],
            format!("api-key: {KEY}"),
        ),
        (
            ModelKind::Azure,
            Wire::Dial,
            ["/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"; 2],
            format!("api-key: {KEY}"),
        ),
        (ModelKind::Anthropic, Wire::Messages, ["/v1/messages"; 2], format!("x-api-key: {KEY}")),
        (
            ModelKind::Gemini,
            Wire::GenerateContent,
            [
                "/v1beta/models/gemini-3-pro:generateContent",
                "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
            ],
            format!("x-goog-api-key: {KEY}"),
        ),
    ] {
        let expected = paths.map(|path| (path.to_owned(), Some(header.clone())));
        assert_eq!(asked(kind, wire, |_| {}).await, expected, "{kind:?}");
        // An address may end with a slash.
        assert_eq!(asked(kind, wire, |entry| entry.base_url.push('/')).await, expected, "{kind:?}");
    }
}

#[tokio::test]
async fn azures_version_is_configurable() {
    let asked = asked(ModelKind::Azure, Wire::Dial, |entry| {
        entry.api_version = Some("2025-04-01-preview".to_owned());
    });
    let path = "/openai/deployments/gpt-4o/chat/completions?api-version=2025-04-01-preview";
    assert_eq!(asked.await[0].0, path);
}

#[tokio::test]
async fn names_of_deployments_cannot_leave_their_place_in_the_path() {
    let asked = asked(ModelKind::Dial, Wire::Dial, |entry| entry.model = Some("a/../b?c#d".to_owned()));
    assert_eq!(asked.await[0].0, "/openai/deployments/a%2F..%2Fb%3Fc%23d/chat/completions?api-version=");
}

#[tokio::test]
async fn lists_are_asked_for_where_each_api_has_them() {
    for (kind, wire, path) in [
        (ModelKind::OpenAi, Wire::Chat, "/v1/models"),
        (ModelKind::Responses, Wire::Responses, "/v1/models"),
        (ModelKind::Dial, Wire::Dial, "/openai/models"),
        (ModelKind::Azure, Wire::Dial, "/openai/models"),
        (ModelKind::Ollama, Wire::Ollama, "/api/tags"),
        (ModelKind::Anthropic, Wire::Messages, "/v1/models"),
        (ModelKind::Gemini, Wire::GenerateContent, "/v1beta/models"),
    ] {
        let server = serving(wire, &["model-a"]).await;
        let mut entry = all_of("all", wire, &server);
        entry.kind = kind;
        assert_eq!(ids(&gateway(vec![entry])).await, ["model-a"], "{kind:?}");
        assert_eq!(server.requests()[0].path, path, "{kind:?}");
    }
}

#[tokio::test]
async fn anthropic_is_told_its_version() {
    let server = serving(Wire::Messages, &[]).await;
    let mut entry = spec("m", Wire::Messages, &server);
    entry.api_key = Some(Secret::new(KEY));
    let request = sent(&gateway(vec![entry]), &server, "m", false).await;
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    assert!(request.body["max_tokens"].is_u64(), "it wants a bound: {}", request.body["max_tokens"]);
}

#[tokio::test]
async fn further_headers_are_sent_and_win() {
    let server = ModelServer::start(Wire::Chat, fine()).await.unwrap();
    let mut entry = spec("m", Wire::Chat, &server);
    entry.api_key = Some(Secret::new(KEY));
    entry.headers.insert("x-team".to_owned(), Secret::new("blue"));
    entry.headers.insert("Authorization".to_owned(), Secret::new("Basic abc"));
    let request = sent(&gateway(vec![entry]), &server, "m", false).await;
    assert_eq!(
        (request.header("x-team"), request.header("authorization")),
        (Some("blue"), Some("Basic abc"))
    );
}

#[tokio::test]
async fn tools_are_sent_as_functions_where_the_entry_says_so() {
    let server = ModelServer::start(Wire::Functions, fine()).await.unwrap();
    let gateway = gateway(vec![spec("m", Wire::Functions, &server)]);
    for stream in [false, true] {
        let body = sent(&gateway, &server, "m", stream).await.body;
        assert_eq!((&body["function_call"], &body["stream"]), (&json!("auto"), &json!(stream)), "{body}");
        assert!(body["functions"].as_array().unwrap().iter().any(|function| function["name"] == "add"));
        assert_eq!((body.get("tools"), body.get("tool_choice")), (None::<&Value>, None));
        assert_eq!(body["model"], "gpt-3.5-turbo");
    }
}
