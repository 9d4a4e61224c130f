//! `/v1`: scripted models behind the gateway, in each wire format.

mod http;
mod wires;

use gateway_config::{ModelKind, ModelSpec};
use gateway_service::ServiceConfig;
use gateway_testkit::models::{ModelServer, Reply, Script, ServerOptions, Wire};
use serde_json::{Value, json};

use crate::client::{Answer, Service};

/// The kind of a model that speaks a wire format.
pub(crate) fn kind_of(wire: Wire) -> ModelKind {
    match wire {
        Wire::Chat | Wire::Functions | Wire::Argo => ModelKind::OpenAi,
        Wire::Dial => ModelKind::Dial,
        Wire::Responses => ModelKind::Responses,
        Wire::Ollama => ModelKind::Ollama,
        Wire::Messages => ModelKind::Anthropic,
        Wire::GenerateContent => ModelKind::Gemini,
        Wire::Mistral | Wire::Cohere | Wire::Converse => panic!("the agent does not speak {}", wire.name()),
    }
}

/// The entry `m` for a server.
pub(crate) fn spec(name: &str, wire: Wire, server: &ModelServer) -> ModelSpec {
    let mut spec = ModelSpec::at(name, kind_of(wire), server.url());
    spec.model = Some(wire.usual_model().to_owned());
    spec.retries = 0;
    if wire == Wire::Functions {
        spec.tool_dialect = gateway_config::ToolDialect::Functions;
    }
    spec
}

/// A strict server with a script, and a gateway with the demo tools in front of it; the model is called `m`.
pub(crate) async fn start(wire: Wire, script: Script) -> (ModelServer, Service) {
    start_with(wire, script, |_| {}).await
}

pub(crate) async fn start_with(
    wire: Wire,
    script: Script,
    change: impl FnOnce(&mut ServiceConfig),
) -> (ModelServer, Service) {
    let options = ServerOptions { strict: true, ..ServerOptions::default() };
    let server = ModelServer::start_with(wire, script, options).await.unwrap();
    let model = spec("m", wire, &server);
    let service = Service::with(|config| {
        config.models = vec![model];
        change(config);
    })
    .await;
    (server, service)
}

/// A request to `m`.
pub(crate) fn question(text: &str, stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": text}]})
}

pub(crate) async fn ask(service: &Service, request: &Value) -> Answer {
    service.post("/v1/chat/completions", &request.to_string()).await
}

/// The data of a stream's events, without the last, which has to be `[DONE]`.
#[track_caller]
pub(crate) fn chunks(answer: &Answer) -> Vec<Value> {
    let body = unchunked(&answer.body);
    let mut events: Vec<&str> = body.split("\n\n").filter_map(|event| event.strip_prefix("data: ")).collect();
    assert_eq!(events.pop(), Some("[DONE]"), "{}", answer.body);
    events.iter().map(|event| serde_json::from_str(event).unwrap()).collect()
}

/// The text of a stream, joined.
pub(crate) fn joined(chunks: &[Value], key: &str) -> String {
    chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"][key].as_str()).collect()
}

/// A model that adds two numbers with the demo's tool, and says the sum.
pub(crate) fn adding() -> Script {
    Script::new()
        .reply(Reply::new().text("Let me add.").call("call_1", "add", json!({"a": 15, "b": 27})))
        .reply(Reply::new().text("The sum is 42."))
}

/// The body of an answer whose length nobody knew beforehand.
pub(crate) fn unchunked(body: &str) -> String {
    let (mut rest, mut whole) = (body.as_bytes(), Vec::new());
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        whole.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
    String::from_utf8(whole).unwrap()
}
