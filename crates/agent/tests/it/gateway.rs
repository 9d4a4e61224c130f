//! A gateway with the demo tools in front of a scripted model.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use gateway_agent::completions::{Completion, CompletionError, Completions, StreamItem};
use gateway_agent::{Model, Models, Store};
use gateway_config::{ModelKind, ModelSpec, ServiceConfig};
use gateway_dialects::Dialects;
use gateway_runtime::Runtime;
use gateway_runtime::context::RequestContext;
use gateway_runtime::lists::ReadyDialects;
use gateway_runtime::owner::Owner;
use gateway_store::CallLog;
use gateway_testkit::models::{ModelServer, Script, ServerOptions, Wire};
use gateway_upstream::{Endpoint, Fleet, FleetOptions, UpstreamSpec};
use http::HeaderMap;
use serde_json::{Value, json};

/// A gateway, whose model is called `m`.
pub(crate) struct Gateway {
    pub(crate) completions: Completions,
    pub(crate) runtime: Runtime,
}

/// The kind of a model that speaks a wire format.
fn kind_of(wire: Wire) -> ModelKind {
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

/// The entry of a model at `server`.
pub(crate) fn spec(name: &str, wire: Wire, server: &ModelServer) -> ModelSpec {
    let mut spec = ModelSpec::at(name, kind_of(wire), server.url());
    spec.model = Some(wire.usual_model().to_owned());
    spec.retries = 0;
    if wire == Wire::Functions {
        spec.tool_dialect = gateway_config::ToolDialect::Functions;
    }
    spec
}

/// A model that refuses what its provider would refuse.
pub(crate) async fn strict_model(wire: Wire, script: Script) -> ModelServer {
    let options = ServerOptions { strict: true, ..ServerOptions::default() };
    ModelServer::start_with(wire, script, options).await.unwrap()
}

/// The model at `server`, for a loop of its own.
pub(crate) async fn model_of(wire: Wire, server: &ModelServer) -> Arc<dyn Model> {
    let dialects = ReadyDialects::new(Dialects::builtin());
    let chosen = Models::new(&[spec("m", wire, server)], None).choose(None, &dialects).await.unwrap();
    Arc::clone(&chosen[0].model)
}

impl Gateway {
    /// With the demo tools and these settings.
    pub(crate) fn new(config: ServiceConfig) -> Self {
        Self::with_servers(config, vec![UpstreamSpec::new("demo", Endpoint::Demo)])
    }

    /// With the tools of these servers.
    pub(crate) fn with_servers(config: ServiceConfig, servers: Vec<UpstreamSpec>) -> Self {
        let fleet = Fleet::start(servers, FleetOptions::default());
        let log = CallLog::in_memory(&gateway_store::Options::default()).unwrap();
        let runtime = Runtime::new(config, fleet, Dialects::builtin(), log);
        let completions = Completions::new(runtime.clone(), Store::new(runtime.config()));
        Self { completions, runtime }
    }

    /// In front of one model, `m`.
    pub(crate) fn over(wire: Wire, server: &ModelServer) -> Self {
        Self::with(wire, server, |_| {})
    }

    /// The same, with its data in a directory.
    pub(crate) fn over_with_data(wire: Wire, server: &ModelServer, data: &Path) -> Self {
        Self::with(wire, server, |config| config.data = Some(data.to_owned()))
    }

    /// The same, with other settings.
    pub(crate) fn with(wire: Wire, server: &ModelServer, change: impl FnOnce(&mut ServiceConfig)) -> Self {
        let mut config = ServiceConfig::default();
        config.models = vec![spec("m", wire, server)];
        change(&mut config);
        Self::new(config)
    }

    pub(crate) async fn complete(
        &self,
        request: &Value,
        tools: Option<&str>,
        caller: Option<&str>,
    ) -> Result<Completion, CompletionError> {
        let context = RequestContext::new(caller.map(Owner::caller));
        let headers = headers(tools.map(|tools| ("x-gateway-tools", tools)));
        self.completions.complete(Bytes::from(request.to_string()), &headers, context).await
    }

    /// A whole answer.
    pub(crate) async fn whole(&self, request: &Value, tools: Option<&str>) -> Result<Value, CompletionError> {
        match self.complete(request, tools, None).await? {
            Completion::Whole(body) => Ok(serde_json::from_slice(&body).unwrap()),
            Completion::Stream(_) | Completion::Proxied(_) => panic!("not a whole answer"),
        }
    }

    /// An answer that is not streamed, whoever wrote it.
    pub(crate) async fn whole_or_proxied(&self, request: &Value, tools: Option<&str>) -> Vec<u8> {
        match self.complete(request, tools, None).await.unwrap() {
            Completion::Whole(body) => body.to_vec(),
            Completion::Proxied(proxied) => {
                let pieces: Vec<_> = proxied.body.collect().await;
                pieces.into_iter().flat_map(Result::unwrap).collect()
            }
            Completion::Stream(_) => panic!("it is streamed"),
        }
    }

    /// The data of a stream's events without the last, which has to be `[DONE]`; or why it failed.
    pub(crate) async fn streamed(
        &self,
        request: &Value,
        tools: Option<&str>,
    ) -> Result<Vec<Value>, CompletionError> {
        let Completion::Stream(mut items) = self.complete(request, tools, None).await? else {
            panic!("not a stream")
        };
        let mut text = Vec::new();
        while let Some(item) = items.next().await {
            match item {
                StreamItem::Bytes(bytes) => text.extend_from_slice(&bytes),
                StreamItem::Failed(error) => {
                    let text = String::from_utf8(text).unwrap();
                    assert!(!text.contains("[DONE]"), "it broke off, and says that it is complete: {text}");
                    assert!(items.next().await.is_none(), "something follows the failure");
                    return Err(error);
                }
            }
        }
        let text = String::from_utf8(text).unwrap();
        let mut events: Vec<&str> =
            text.split("\n\n").filter_map(|event| event.strip_prefix("data: ")).collect();
        assert_eq!(events.pop(), Some("[DONE]"), "{text}");
        Ok(events.iter().map(|event| serde_json::from_str(event).unwrap()).collect())
    }

    /// The text of an answer to a plain question, streamed or not, with the demo tools.
    pub(crate) async fn text(&self, stream: bool) -> Result<String, CompletionError> {
        if stream {
            return self.streamed(&question(true), None).await.map(|chunks| joined(&chunks, "content"));
        }
        let whole = self.whole(&question(false), None).await?;
        Ok(whole["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned())
    }

    /// How many calls of tools the log has.
    pub(crate) fn calls(&self) -> i64 {
        let log = self.runtime.log();
        log.flush(Duration::from_secs(10)).unwrap();
        log.last_id()
    }
}

/// Headers of a request.
pub(crate) fn headers<'a>(headers: impl IntoIterator<Item = (&'static str, &'a str)>) -> HeaderMap {
    headers.into_iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

/// A plain question to the model `m`.
pub(crate) fn question(stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": "How much is 15 and 27?"}]})
}

/// What the gateway says of its own in an answer, streamed or not.
pub(crate) async fn gateway_member(gateway: &Gateway, stream: bool) -> Value {
    if stream {
        return gateway.streamed(&question(true), None).await.unwrap().pop().unwrap()["gateway"].take();
    }
    gateway.whole(&question(false), None).await.unwrap()["gateway"].take()
}

/// The text under `key` of a stream's chunks, joined.
pub(crate) fn joined(chunks: &[Value], key: &str) -> String {
    chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"][key].as_str()).collect()
}
