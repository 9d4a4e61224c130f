//! The loop as a drop-in for Chat Completions: `/v1/chat/completions` and `/v1/models`.

mod caller_tools;
pub mod code;
mod interleaved;
mod keeping;
mod kept_turns;
mod proxy;
mod request;
mod signing;
mod turns;
mod write;

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use gateway_config::ModelSpec;
use gateway_runtime::Runtime;
use gateway_runtime::context::{RequestContext, random_uuid};
use gateway_runtime::failure::Failure;
use gateway_runtime::failure::code::PERSONAL_DATA;
use gateway_runtime::progress::Step;
use http::HeaderMap;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

pub use self::proxy::Proxied;
pub use self::request::{BadRequest, CompletionRequest, WantedTools};
pub use crate::http_model::ProxiedBody;

use self::caller_tools::CallerTools;
use self::interleaved::Interleaved;
use self::keeping::{Keeping, journalled};
use self::proxy::Forwarded;
use self::turns::{RestoreError, Turns};
use self::write::{DONE, Frame, call_begins, call_report, gateway_member};
use crate::error::{AgentError, ModelFailure};
use crate::gateway_tools::GatewayTools;
use crate::kept_results::KeptResults;
use crate::model::Model;
use crate::models::{ChosenModel, Models, UnknownModel};
use crate::run::{Agent, AgentRequest, Event, Limits};
use crate::screening::{Face, Part, Screen};
use crate::store::Store;
use crate::toolbox::Toolbox;

/// Which of the gateway's tools a caller wants.
const TOOLS: &str = "x-gateway-tools";

/// Events that wait for a slow caller before the model has to wait.
const WAITING: usize = 64;

/// The loop as Chat Completions.
#[derive(Clone, Debug)]
pub struct Completions {
    runtime: Runtime,
    models: Arc<Models>,
    limits: Limits,
    turns: Turns,
    results: Arc<KeptResults>,
    store: Store,
}

/// An answer.
pub enum Completion {
    /// In one piece, as JSON.
    Whole(Bytes),
    /// As server-sent events. The first item comes before anything is sent, so that a failure can still be an answer of its own.
    Stream(CompletionStream),
    /// As another server gave it.
    Proxied(Proxied),
}

/// Events of an answer.
pub type CompletionStream = Pin<Box<dyn Stream<Item = StreamItem> + Send>>;

/// One item of a streamed answer.
#[derive(Clone, Debug)]
pub enum StreamItem {
    /// Bytes of the stream.
    Bytes(Bytes),
    /// It failed; nothing comes after it.
    Failed(CompletionError),
}

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompletionError {
    /// The request is wrong.
    #[error(transparent)]
    Request(#[from] BadRequest),
    /// No model has this name.
    #[error(transparent)]
    UnknownModel(#[from] UnknownModel),
    /// The loop gave none.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The loop gave none after calls ran, and can go on where it stopped.
    #[error("{error}")]
    Interrupted {
        /// Why there is none.
        #[source]
        error: AgentError,
        /// What a later request goes on with.
        continuation: String,
    },
}

impl CompletionError {
    /// Why the loop gave no answer, if that is the reason.
    pub fn agent(&self) -> Option<&AgentError> {
        match self {
            Self::Agent(error) | Self::Interrupted { error, .. } => Some(error),
            Self::Request(_) | Self::UnknownModel(_) => None,
        }
    }

    /// The error as Chat Completions has it.
    pub fn body(&self) -> Value {
        let mut body = match self {
            Self::Request(bad) => error_body(self, "invalid_request_error", None, bad.param.as_deref()),
            Self::UnknownModel(unknown) => {
                let code = Some(code::MODEL_NOT_FOUND);
                let mut body = error_body(self, "invalid_request_error", code, Some("model"));
                body["error"]["message"] = unknown.with_names().into();
                body
            }
            Self::Agent(error) | Self::Interrupted { error, .. } => agent_body(error),
        };
        if let Self::Interrupted { continuation, .. } = self {
            body["error"]["gateway"] = json!({"continuation": continuation});
        }
        body
    }
}

fn agent_body(error: &AgentError) -> Value {
    let (kind, word) = match error {
        AgentError::Model(error) => match &error.failure {
            ModelFailure::Status { status, body, .. } => {
                // What the API says of itself is more exact than anything that we could say.
                let said = body.as_ref().and_then(|body| body.get("error")?.as_object()).cloned();
                let mut said = said.unwrap_or_default();
                // Of a key or an address that is refused, the caller has to know that it is not its own.
                if matches!(status, 401 | 403 | 404) || !said.contains_key("message") {
                    said.insert("message".to_owned(), error.to_string().into());
                }
                return json!({"error": completed(said, *status)});
            }
            ModelFailure::Timeout(_) => ("timeout_error", Some(code::MODEL_TIMEOUT)),
            ModelFailure::Connection(_) => ("server_error", Some(code::MODEL_UNREACHABLE)),
            ModelFailure::Stream(_) | ModelFailure::Malformed(_) => ("server_error", Some(code::MODEL_ERROR)),
            ModelFailure::Request(_) => ("invalid_request_error", None),
        },
        AgentError::Limit(_) => ("server_error", Some(code::LIMIT_EXCEEDED)),
        AgentError::Tools(failure @ (Failure::Request(_) | Failure::UnknownGroup { .. })) => {
            ("invalid_request_error", Some(failure.code()))
        }
        AgentError::Tools(failure) => ("server_error", Some(failure.code())),
        AgentError::Empty { .. } => ("server_error", Some(code::EMPTY_ANSWER)),
        AgentError::Journal(_) => ("server_error", Some(code::STORE_UNAVAILABLE)),
        AgentError::PersonalData(_) => {
            return error_body(error, "invalid_request_error", Some(PERSONAL_DATA), Some("messages"));
        }
        AgentError::Gone => ("server_error", Some(code::CANCELLED)),
    };
    error_body(error, kind, word, None)
}

fn error_body(error: &dyn std::error::Error, kind: &str, code: Option<&str>, param: Option<&str>) -> Value {
    json!({"error": {"message": error.to_string(), "type": kind, "param": param, "code": code}})
}

/// Another API's error with the members that clients of Chat Completions read.
fn completed(mut error: Map<String, Value>, status: u16) -> Map<String, Value> {
    for (key, usual) in [("type", status_type(status).into()), ("param", Value::Null), ("code", Value::Null)]
    {
        error.entry(key).or_insert(usual);
    }
    if let Some(code @ Value::Number(_)) = error.get_mut("code") {
        *code = code.to_string().into();
    }
    let text = error.get("message").and_then(Value::as_str).unwrap_or_default().to_lowercase();
    if matches!(status, 400 | 413) && TOO_LONG.iter().any(|words| text.contains(words)) {
        // Clients know this word, and shorten the conversation.
        error.insert("code".to_owned(), code::CONTEXT_LENGTH_EXCEEDED.into());
    }
    error
}

/// What APIs say of a conversation that is too long for the model.
const TOO_LONG: [&str; 5] = [
    "maximum context length",
    "prompt is too long",
    "exceeds the maximum number of tokens",
    "exceeds the context length",
    "exceeds the available context size",
];

fn status_type(status: u16) -> &'static str {
    match status {
        401 | 403 => "authentication_error",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    }
}

impl Completions {
    /// Over a runtime, with the models of its configuration. Turns that wait for their caller are kept in `store`.
    pub fn new(runtime: Runtime, store: Store) -> Self {
        let config = runtime.config();
        let models = Models::new(&config.models, config.agent.model.clone());
        let limits = Limits::of(&config.agent, config.concurrent_calls_per_turn);
        let results = Arc::new(KeptResults::new(config));
        Self { models: Arc::new(models), limits, runtime, turns: Turns::new(store.clone()), results, store }
    }

    /// The models that callers may name.
    pub fn models(&self) -> &Arc<Models> {
        &self.models
    }

    /// Where turns that wait for their caller are kept.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Long results that models were shown a part of.
    pub fn results(&self) -> &Arc<KeptResults> {
        &self.results
    }

    /// `GET /v1/models`.
    pub async fn list(&self) -> Value {
        let models = self.models.list().await;
        let models: Vec<Value> = models.into_iter().map(|(id, spec)| model_object(&id, &spec)).collect();
        json!({"object": "list", "data": models})
    }

    /// `GET /v1/models/{id}`: the model that a request may name so.
    pub async fn model(&self, id: &str) -> Result<Value, CompletionError> {
        let chosen = self.models.choose(Some(id), &self.runtime.ready_dialects()).await?;
        Ok(chosen.first().map(|chosen| model_object(id, &chosen.spec)).unwrap_or_default())
    }

    /// `POST /v1/chat/completions`: `body` and `headers` as they came.
    pub async fn complete(
        &self,
        body: Bytes,
        headers: &HeaderMap,
        context: RequestContext,
    ) -> Result<Completion, CompletionError> {
        let mut request = CompletionRequest::read(&body)?;
        request.read_headers(headers);
        let wanted = request.wanted_tools(headers.get(TOOLS).and_then(|value| value.to_str().ok()));
        let dialects = self.runtime.ready_dialects();
        let mut chosen = self.models.choose(request.model.as_deref(), &dialects).await?;
        if let (WantedTools::None, Some(first)) = (&wanted, chosen.first())
            && proxy::can_proxy(first)
            && request.is_plain()
            && !request.messages.iter().any(turns::is_ours)
        {
            match Screen::new(&self.runtime, Face::Completions, &context) {
                // Answers are looked through by the loop, so they are no other server's bytes.
                Some(screen) if screen.mode(Part::Answers).is_some() => {}
                screen => {
                    let messages = std::mem::take(&mut request.messages);
                    // A tree takes many times its text, and is not needed while another server works.
                    drop(request);
                    let forwarded = if let Some(screen) = screen {
                        proxy::forward_screened(&chosen, &body, headers, messages, &screen).await?
                    } else {
                        drop(messages);
                        proxy::forward(&chosen, &body, headers).await?
                    };
                    match forwarded {
                        Forwarded::Answer(proxied) => return Ok(Completion::Proxied(proxied)),
                        Forwarded::LeftToTheLoop(failed) => chosen.drain(..failed),
                    };
                    request = CompletionRequest::read(&body)?;
                    request.read_headers(headers);
                }
            }
        }
        drop(body);
        request.check_messages()?;
        let work = self.prepare(request, wanted, &chosen, context).await?;
        if work.request.stream {
            Ok(Completion::Stream(work.stream()))
        } else {
            work.whole().await.map(Completion::Whole)
        }
    }

    async fn prepare(
        &self,
        mut request: CompletionRequest,
        wanted: WantedTools,
        chosen: &[ChosenModel],
        context: RequestContext,
    ) -> Result<Work, CompletionError> {
        let messages = std::mem::take(&mut request.messages);
        let (count, continuation) = (messages.len(), request.continuation.clone());
        let history =
            self.turns.restore(messages, continuation, &context).await.map_err(|error| match error {
                RestoreError::Request(error) => CompletionError::Request(error),
                RestoreError::Agent(error) => CompletionError::Agent(error),
            })?;
        let caller = context.clone();
        let own: Option<Box<dyn Toolbox>> = match wanted {
            WantedTools::None => None,
            WantedTools::Some(selection) => {
                let budgets =
                    chosen.iter().map(|chosen| (chosen.model.name().to_owned(), chosen.spec.tools.clone()));
                let tools = GatewayTools::new(self.runtime.clone(), context, selection);
                Some(Box::new(tools.with_budgets(budgets)))
            }
        };
        let tools: Arc<dyn Toolbox> = match own {
            Some(own) if request.tools.is_empty() => Arc::from(own),
            own => {
                let dialects = Arc::clone(&self.runtime.ready_dialects().all);
                Arc::new(CallerTools::new(own, std::mem::take(&mut request.tools), dialects))
            }
        };
        let models: Vec<Arc<dyn Model>> = chosen.iter().map(|model| Arc::clone(&model.model)).collect();
        let frame = Frame::new(
            format!("chatcmpl-{}", random_uuid()),
            jiff::Timestamp::now().as_second(),
            chosen.first().map(|model| model.model.name().to_owned()).unwrap_or_default(),
        );
        let agent_request = AgentRequest {
            history,
            settings: std::mem::take(&mut request.settings),
            tool_choice: std::mem::take(&mut request.tool_choice),
            stream: request.stream,
            owner: caller.caller.as_ref().map(ToString::to_string),
            journal: None,
        };
        let agent = Agent::new(models, tools, self.limits.clone())
            .keeping(Arc::clone(&self.results))
            .screening(Screen::new(&self.runtime, Face::Completions, &caller));
        let keeping = Keeping {
            turns: self.turns.clone(),
            context: caller,
            messages: count,
            after: request.continuation.take(),
            has_functions: request.has_functions,
        };
        Ok(Work { agent, agent_request, frame, keeping, request })
    }
}

/// A model as OpenAI lists it.
fn model_object(id: &str, spec: &ModelSpec) -> Value {
    json!({"id": id, "object": "model", "created": 0, "owned_by": spec.kind.name()})
}

/// One request on its way.
struct Work {
    agent: Agent,
    agent_request: AgentRequest,
    frame: Frame,
    keeping: Keeping,
    request: CompletionRequest,
}

impl Work {
    async fn whole(self) -> Result<Bytes, CompletionError> {
        let (journal, request) = journalled(self.agent_request);
        let mut finished = match self.agent.answer(request).await {
            Ok(finished) => finished,
            Err(error) => return Err(self.keeping.interrupted(error, &journal).await),
        };
        let kept = self.keeping.keep(&mut finished).await?;
        finished.ignored.extend(self.request.ignored);
        let gateway = gateway_member(&finished, kept.continuation.as_deref());
        Ok(self.frame.whole(&finished, kept.calls, &gateway).to_string().into())
    }

    fn stream(self) -> CompletionStream {
        let Self { agent, agent_request, frame, request, keeping, .. } = self;
        let CompletionRequest { include_usage, call_events, ignored, .. } = request;
        let (sender, events) = mpsc::channel(WAITING);
        let (journal, agent_request) = journalled(agent_request);
        // What comes after the loop is boxed: a stream that waits need not hold room for it.
        let run = async move {
            let mut finished = match agent.run(agent_request, sender).await {
                Ok(finished) => finished,
                Err(error) => return Err(Box::pin(keeping.interrupted(error, &journal)).await),
            };
            let kept = Box::pin(keeping.keep(&mut finished)).await?;
            finished.ignored.extend(ignored);
            Ok((finished, kept))
        };
        let mut has_begun = false;
        let items = Interleaved::new(run, events).flat_map(move |step| {
            let mut items = Vec::new();
            let shown = match step {
                Step::Message(Event::Text(text)) => vec![frame.text("content", &text)],
                Step::Message(Event::Reasoning(text)) => vec![frame.text("reasoning_content", &text)],
                Step::Message(Event::CallBegins { id, name, arguments }) if call_events => {
                    vec![frame.call("tool_call", &call_begins(&id, &name, &arguments))]
                }
                Step::Message(Event::CallEnds(call)) if call_events => {
                    vec![frame.call("tool_result", &call_report(&call))]
                }
                Step::Message(Event::CallBegins { .. } | Event::CallEnds(_) | Event::RoundEnds { .. }) => {
                    Vec::new()
                }
                Step::Done(Ok((finished, kept))) => {
                    let gateway = gateway_member(&finished, kept.continuation.as_deref());
                    frame.end(&finished, kept.calls, include_usage, &gateway)
                }
                Step::Done(Err(error)) => {
                    items.push(StreamItem::Failed(error));
                    Vec::new()
                }
            };
            if !has_begun && !shown.is_empty() {
                has_begun = true;
                items.push(StreamItem::Bytes(frame.role()));
            }
            items.extend(shown.into_iter().map(StreamItem::Bytes));
            stream::iter(items)
        });
        Box::pin(items)
    }
}

/// The end of a stream that failed after its first byte.
pub fn failed_stream(error: &CompletionError) -> Bytes {
    let mut end = format!("data: {}\n\n", error.body()).into_bytes();
    end.extend_from_slice(DONE);
    end.into()
}
