//! One request on its way to an upstream, for a caller who can be asked: the call itself, what the server reports meanwhile,
//! and what it asks.
//!
//! It can be set aside while nobody has the answers: it is a value that moves, not a task. Whoever brings the answers takes
//! it up again; whoever drops it cancels the call at the upstream.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use gateway_protocol::{Notification, RawJson, RawObject, ResultType, RpcError, method};
use gateway_store::Permit;
use gateway_upstream::{CallOptions, Question, QuestionOrigin, Responder, UpstreamId};
use serde_json::json;
use tokio::sync::mpsc;

use super::{Call, CallResult, Origin};
use crate::Runtime;
use crate::capabilities::Capabilities;
use crate::context::RequestContext;
use crate::failure::Failure;
use crate::questions;

/// Notifications of one call that may wait; more are dropped, as a slow reader cannot be waited for.
const NOTES: usize = 64;

/// What is asked of which upstream.
#[derive(Clone, Debug)]
pub struct UpstreamRequest {
    /// Who runs it.
    pub runtime: Runtime,
    /// For whom.
    pub context: RequestContext,
    /// How it came to us.
    pub origin: Origin,
    /// Whose calls may be taken for each other.
    pub owner: Arc<str>,
    /// What it is about.
    pub target: Target,
    /// The caller's own members of `_meta`.
    pub meta: Vec<(String, RawJson)>,
    /// What the caller can do, for modern upstreams.
    pub capabilities: RawJson,
    /// Whether the caller wants to see progress or log messages.
    pub is_watched: bool,
}

/// What a request is about.
#[derive(Clone, Debug)]
pub enum Target {
    /// A call of a tool.
    Tool {
        /// Whose it is.
        server: UpstreamId,
        /// Its name there.
        name: String,
        /// With what.
        arguments: RawJson,
    },
    /// A prompt that is taken.
    Prompt {
        /// Whose it is.
        server: UpstreamId,
        /// Its name there.
        name: String,
        /// With what.
        arguments: Option<RawJson>,
    },
    /// A resource that is read.
    Resource {
        /// Whose it is.
        server: UpstreamId,
        /// Its address there.
        uri: String,
    },
}

impl Target {
    /// The server that is asked.
    pub fn server(&self) -> &UpstreamId {
        match self {
            Self::Tool { server, .. } | Self::Prompt { server, .. } | Self::Resource { server, .. } => server,
        }
    }
}

/// Answers for a server of the modern era.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// The answers, by name.
    pub responses: Option<RawJson>,
    /// The state that the server gave with its questions.
    pub state: Option<String>,
}

/// Whoever a request is made for, while it is under way.
pub trait Peer: Sync {
    /// Passes on what the server reports.
    fn notify(&self, notification: Notification) -> BoxFuture<'_, ()>;

    /// Whether it answers questions while the request is under way; otherwise it comes back with the answers.
    fn is_asked(&self) -> bool;

    /// Asks it something. Dropping the future takes the question back.
    fn ask<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawJson>,
    ) -> BoxFuture<'a, Result<RawJson, RpcError>>;
}

type Run = Pin<Box<dyn Future<Output = Result<CallResult, Failure>> + Send>>;

/// A request on its way.
pub struct InFlight {
    /// What is asked of which upstream.
    pub request: Arc<UpstreamRequest>,
    run: Run,
    /// What the server reports meanwhile, where the caller wants to see it.
    notes: Option<mpsc::Receiver<Notification>>,
    questions: mpsc::Receiver<Question>,
    /// What the server waits for, under the names that the caller knows.
    open: Vec<(String, Question)>,
    began: Instant,
    responder: Responder,
}

/// How far a request came.
pub enum Reached {
    /// There is a result, which may be the upstream's own `input_required`.
    Result(CallResult),
    /// The server waits for answers that only another request can bring.
    Question,
}

impl std::fmt::Debug for InFlight {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("InFlight").field("request", &self.request).finish_non_exhaustive()
    }
}

impl UpstreamRequest {
    /// Sets out. Whoever has room in the log already gives it.
    pub fn start(self: Arc<Self>, input: Input, permit: Option<Permit>) -> InFlight {
        let (notes, notes_receiver) = self.is_watched.then(|| mpsc::channel(NOTES)).unzip();
        let (responder, questions) = Responder::new(Arc::clone(&self.owner));
        let mut options = self.context.call_options();
        // A member that stands there twice is one that nobody can read; ours know of this hop.
        for (key, value) in &self.meta {
            if !options.meta.iter().any(|(known, _)| known == key) {
                options.meta.push((key.clone().into(), value.clone()));
            }
        }
        options.progress = notes;
        options.responder = Some(responder.clone());
        options.capabilities = Some(self.capabilities.clone());
        if let Some(responses) = input.responses {
            options.params.push(("inputResponses", responses));
        }
        if let Some(state) = input.state.and_then(|state| RawJson::of(&state).ok()) {
            options.params.push(("requestState", state));
        }
        let run = Box::pin(Arc::clone(&self).run(options, permit));
        let (open, began) = (Vec::new(), Instant::now());
        InFlight { request: self, run, notes: notes_receiver, questions, open, began, responder }
    }

    async fn run(
        self: Arc<Self>,
        options: CallOptions,
        permit: Option<Permit>,
    ) -> Result<CallResult, Failure> {
        let fleet = self.runtime.fleet();
        let (context, origin) = (&self.context, &self.origin);
        match &self.target {
            Target::Tool { server, name, arguments } => {
                // By name: the definition and the policy may be others than when the call was set aside.
                let catalogue = fleet.catalogue();
                let Some(tool) = catalogue.get(server.as_str(), name) else {
                    return Err(Failure::UnknownTool(format!("Unknown tool: {name}")));
                };
                let permit = match permit {
                    Some(permit) => permit,
                    None => self.runtime.reserve().await?,
                };
                let call = Call { tool, arguments, context, origin, is_checked: false };
                self.runtime.send(call, permit, options).await
            }
            Target::Prompt { server, name, arguments } => {
                let quoted = json!(name).to_string();
                let mut params = vec![("name", quoted.as_bytes())];
                params.extend(arguments.as_ref().map(|arguments| ("arguments", arguments.as_bytes())));
                let asking =
                    fleet.request(server.as_str(), method::GET_PROMPT, Some(name), &params, &options);
                let input = prompt_input(name, arguments.as_ref());
                // Boxed, as the next: calls are more frequent, and would carry the future along.
                Box::pin(self.runtime.run_request(
                    (server, method::GET_PROMPT),
                    &input,
                    context,
                    origin,
                    asking,
                ))
                .await
            }
            Target::Resource { server, uri } => {
                let quoted = json!(uri).to_string();
                let params = [("uri", quoted.as_bytes())];
                let asking =
                    fleet.request(server.as_str(), method::READ_RESOURCE, Some(uri), &params, &options);
                let input = resource_input(uri);
                Box::pin(self.runtime.run_request(
                    (server, method::READ_RESOURCE),
                    &input,
                    context,
                    origin,
                    asking,
                ))
                .await
            }
        }
    }
}

/// What the log has as the input of a prompt that is taken.
pub fn prompt_input(name: &str, arguments: Option<&RawJson>) -> RawJson {
    let written = || {
        let mut input = RawObject::default();
        input.set("name", &RawJson::of(name)?)?;
        if let Some(arguments) = arguments {
            input.set("arguments", arguments)?;
        }
        input.to_raw()
    };
    written().unwrap_or_else(|_: serde_json::Error| RawJson::empty_object())
}

/// What the log has as the input of a resource that is read.
pub fn resource_input(uri: &str) -> RawJson {
    RawJson::of(&json!({"uri": uri})).unwrap_or_else(|_| RawJson::empty_object())
}

impl InFlight {
    /// Gives the server the answers that a caller brought. What it brought none for is refused.
    pub fn answer(&mut self, answered: impl Fn(&str) -> Option<RawJson>) {
        for (key, question) in self.open.drain(..) {
            match answered(&key) {
                Some(response) => question.answer(Ok(response)),
                None => question.refuse(),
            }
        }
    }

    /// How long the caller may take to come back: as long as the call itself may last, and no longer than it may wait.
    pub fn patience(&self) -> Duration {
        let runtime = &self.request.runtime;
        let most = runtime.config().mcp.input_expiry;
        let spec = runtime.fleet().spec(self.request.target.server().as_str());
        let left = spec.map(|spec| spec.timeouts.call_maximum.max(spec.timeouts.call));
        left.map_or(most, |left| left.saturating_sub(self.began.elapsed()).min(most))
    }

    /// The server that works on it.
    pub fn server(&self) -> &UpstreamId {
        self.responder.fallback().unwrap_or_else(|| self.request.target.server())
    }

    /// The requests that the server waits for, in the form of `inputRequests`.
    pub fn input_requests(&self) -> Result<RawObject<'static>, serde_json::Error> {
        let mut requests = RawObject::default();
        for (key, question) in &self.open {
            let params = question_params(self.server(), question)?;
            let mut request = RawObject::default();
            request.set("method", &RawJson::of(&question.method)?)?;
            request.set("params", params.as_ref().unwrap_or(&RawJson::empty_object()))?;
            requests.set(key, &request.to_raw()?)?;
        }
        Ok(requests)
    }

    /// Goes on until there is a result or a question that only another request can answer.
    pub async fn advance(&mut self, can: &Capabilities, peer: &dyn Peer) -> Result<Reached, Failure> {
        let Self { request, run, notes, questions, open, responder, .. } = self;
        let server = || responder.fallback().unwrap_or_else(|| request.target.server());
        responder.take_up();
        let mut asking = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                Some(note) = next_note(notes) => peer.notify(note).await,
                Some(question) = questions.recv() => {
                    if !can.answers(&question.method) {
                        question.refuse();
                    } else if peer.is_asked() {
                        asking.push(async move {
                            let mut question = question;
                            // What cannot be read cannot be shown to anybody either.
                            let Ok(params) = question_params(server(), &question) else { return question.refuse() };
                            let method = question.method.clone();
                            // Whom the server asks no more is notified: dropping the request takes it back.
                            tokio::select! {
                                answer = peer.ask(&method, params.as_ref()) => question.answer(answer),
                                () = question.withdrawn() => {}
                            }
                        });
                    } else {
                        let key = format!("request-{}", open.len() + 1);
                        open.push((key, question));
                        responder.set_aside();
                        return Ok(Reached::Question);
                    }
                }
                Some(()) = asking.next() => {}
                outcome = &mut *run => {
                    while let Some(note) = notes.as_mut().and_then(|notes| notes.try_recv().ok()) {
                        peer.notify(note).await;
                    }
                    let mut done = outcome?;
                    if done.view.result_type == ResultType::InputRequired {
                        done.result = questions::attributed(server(), &done.result).map_err(|error| {
                            Failure::NeedsInput(format!("what the server asks cannot be read: {error}"))
                        })?;
                    }
                    return Ok(Reached::Result(done));
                }
            }
        }
    }
}

/// What a caller is asked. The gateway's own questions need no other name.
fn question_params(server: &UpstreamId, question: &Question) -> Result<Option<RawJson>, serde_json::Error> {
    match question.origin {
        QuestionOrigin::Gateway => Ok(question.params.clone()),
        QuestionOrigin::Server => questions::shown(server, &question.method, question.params.as_ref()),
    }
}

/// The next notification; never one if nobody wants to see them.
async fn next_note(notes: &mut Option<mpsc::Receiver<Notification>>) -> Option<Notification> {
    notes.as_mut()?.recv().await
}
