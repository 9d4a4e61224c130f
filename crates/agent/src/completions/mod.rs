//! The loop as a drop-in for Chat Completions: `/v1/chat/completions` and `/v1/models`.

mod caller_tools;
mod interleaved;
mod proxy;
mod request;
mod turns;
mod write;

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use gateway_runtime::Runtime;
use gateway_runtime::context::{RequestContext, random_uuid};
use gateway_runtime::progress::Step;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

pub use self::proxy::Proxied;
pub use self::request::{BadRequest, CompletionRequest, WantedTools};
pub use crate::http_model::ProxiedBody;

use self::caller_tools::CallerTools;
use self::interleaved::Interleaved;
use self::turns::{RestoreError, Turns};
use self::write::{DONE, Frame, gateway_member};
use crate::error::{AgentError, ModelFailure};
use crate::gateway_tools::GatewayTools;
use crate::kept_results::KeptResults;
use crate::model::Model;
use crate::models::{ChosenModel, Models, UnknownModel};
use crate::run::{Agent, AgentRequest, Event, Finished, Limits};
use crate::store::Store;
use crate::toolbox::Toolbox;

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
}

impl CompletionError {
    /// The error as Chat Completions has it.
    pub fn body(&self) -> Value {
        let (kind, code, param) = match self {
            Self::Request(bad) => ("invalid_request_error", None, bad.param),
            Self::UnknownModel(_) => ("invalid_request_error", Some("model_not_found"), Some("model")),
            Self::Agent(AgentError::Model(error)) => match &error.failure {
                ModelFailure::Status { status, body, .. } => {
                    // What the API says of itself is more exact than anything that we could say.
                    if let Some(error) = body.as_ref().and_then(|body| body.get("error")?.as_object()) {
                        return json!({"error": completed(error.clone(), *status)});
                    }
                    (status_type(*status), None, None)
                }
                ModelFailure::Timeout(_) => ("timeout_error", Some("model_timeout"), None),
                ModelFailure::Connection(_) => ("server_error", Some("model_unreachable"), None),
                ModelFailure::Stream(_) | ModelFailure::Malformed(_) => {
                    ("server_error", Some("model_error"), None)
                }
                ModelFailure::Request(_) => ("invalid_request_error", None, None),
            },
            Self::Agent(AgentError::Limit(_)) => ("server_error", Some("limit_exceeded"), None),
            Self::Agent(AgentError::Tools(failure)) => ("server_error", Some(failure.code()), None),
            Self::Agent(AgentError::Empty { .. }) => ("server_error", Some("empty_answer"), None),
            Self::Agent(AgentError::Journal(_)) => ("server_error", Some("store_unavailable"), None),
            Self::Agent(AgentError::Gone) => ("server_error", Some("cancelled"), None),
        };
        json!({"error": {"message": self.to_string(), "type": kind, "param": param, "code": code}})
    }
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
    error
}

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
        let models: Vec<Value> = self
            .models
            .list()
            .await
            .into_iter()
            .map(
                |(id, spec)| json!({"id": id, "object": "model", "created": 0, "owned_by": spec.kind.name()}),
            )
            .collect();
        json!({"object": "list", "data": models})
    }

    /// `POST /v1/chat/completions`. `tools` is the header that says which tools are wanted, `body` the request as it came.
    pub async fn complete(
        &self,
        body: Bytes,
        tools: Option<&str>,
        context: RequestContext,
    ) -> Result<Completion, CompletionError> {
        let request = CompletionRequest::read(&body)?;
        let wanted = request.wanted_tools(tools);
        let dialects = self.runtime.ready_dialects();
        let chosen = self.models.choose(request.model.as_deref(), &dialects).await?;
        if let (WantedTools::None, Some(first)) = (&wanted, chosen.first())
            && proxy::can_proxy(first)
        {
            return Ok(Completion::Proxied(proxy::forward(first, &body).await?));
        }
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
        let history = self.turns.restore(messages, &context).await.map_err(|error| match error {
            RestoreError::Request(error) => CompletionError::Request(error),
            RestoreError::Agent(error) => CompletionError::Agent(error),
        })?;
        let caller = context.clone();
        let own: Option<Box<dyn Toolbox>> = match wanted {
            WantedTools::None => None,
            WantedTools::Some(mut selection) => {
                selection.budget = chosen.first().map(|model| model.spec.tools.clone()).unwrap_or_default();
                Some(Box::new(GatewayTools::new(self.runtime.clone(), context, selection)))
            }
        };
        let tools: Arc<dyn Toolbox> = match own {
            Some(own) if request.tools.is_empty() => Arc::from(own),
            own => {
                let dialects = Arc::clone(&self.runtime.ready_dialects().all);
                Arc::new(CallerTools::new(own, request.tools.clone(), dialects))
            }
        };
        let models: Vec<Arc<dyn Model>> =
            chosen.iter().map(|model| Arc::clone(&model.model) as Arc<dyn Model>).collect();
        let frame = Frame::new(
            format!("chatcmpl-{}", random_uuid()),
            jiff::Timestamp::now().as_second(),
            chosen.first().map(|model| model.model.name().to_owned()).unwrap_or_default(),
        );
        let agent_request = AgentRequest {
            history,
            settings: request.settings.clone(),
            tool_choice: request.tool_choice.clone(),
            stream: request.stream,
            owner: caller.caller.as_ref().map(ToString::to_string),
            journal: None,
        };
        Ok(Work {
            agent: Agent::new(models, tools, self.limits.clone()).keeping(Arc::clone(&self.results)),
            agent_request,
            frame,
            as_function: request.has_functions,
            turns: self.turns.clone(),
            context: caller,
            request,
        })
    }
}

/// One request on its way.
struct Work {
    agent: Agent,
    agent_request: AgentRequest,
    frame: Frame,
    as_function: bool,
    turns: Turns,
    context: RequestContext,
    request: CompletionRequest,
}

impl Work {
    async fn whole(self) -> Result<Bytes, CompletionError> {
        let mut finished = self.agent.answer(self.agent_request).await?;
        keep_turn(&self.turns, &self.context, &mut finished).await?;
        let whole = self.frame.whole(&finished, self.as_function, &gateway_member(&finished));
        Ok(whole.to_string().into())
    }

    fn stream(self) -> CompletionStream {
        let Self { agent, agent_request, frame, request, turns, context, .. } = self;
        let (sender, events) = mpsc::channel(WAITING);
        let run = async move {
            let mut finished = agent.run(agent_request, sender).await?;
            keep_turn(&turns, &context, &mut finished).await?;
            Ok::<_, AgentError>(finished)
        };
        let include_usage = request.include_usage;
        let mut has_begun = false;
        let items = Interleaved::new(run, events).flat_map(move |step| {
            let mut items = Vec::new();
            let is_shown = !matches!(
                step,
                Step::Message(Event::CallBegins { .. } | Event::CallEnds(_) | Event::RoundEnds { .. })
            );
            if !has_begun && is_shown && !matches!(step, Step::Done(Err(_))) {
                has_begun = true;
                items.push(StreamItem::Bytes(frame.role()));
            }
            match step {
                Step::Message(Event::Text(text)) => {
                    items.push(StreamItem::Bytes(frame.text("content", &text)));
                }
                Step::Message(Event::Reasoning(text)) => {
                    items.push(StreamItem::Bytes(frame.text("reasoning_content", &text)));
                }
                Step::Message(Event::CallBegins { .. } | Event::CallEnds(_) | Event::RoundEnds { .. }) => {}
                Step::Done(Ok(finished)) => items.extend(last_chunks(&frame, &finished, include_usage)),
                Step::Done(Err(error)) => items.push(StreamItem::Failed(error.into())),
            }
            stream::iter(items)
        });
        Box::pin(items)
    }
}

/// Keeps what ran here while the caller has to run calls of its own. A turn without anything of ours needs no keeping: what the
/// caller is given is all of it.
async fn keep_turn(
    turns: &Turns,
    context: &RequestContext,
    finished: &mut Finished,
) -> Result<(), AgentError> {
    if finished.handed_back.is_empty() || finished.is_plain {
        return Ok(());
    }
    let added = std::mem::take(&mut finished.added);
    turns.keep(context, added, &mut finished.handed_back).await
}

fn last_chunks(frame: &Frame, finished: &Finished, include_usage: bool) -> Vec<StreamItem> {
    let chunks = frame.end(finished, include_usage, &gateway_member(finished));
    chunks.into_iter().map(StreamItem::Bytes).collect()
}

/// The end of a stream that failed after its first byte.
pub fn failed_stream(error: &CompletionError) -> Bytes {
    let mut end = format!("data: {}\n\n", error.body()).into_bytes();
    end.extend_from_slice(DONE);
    end.into()
}
