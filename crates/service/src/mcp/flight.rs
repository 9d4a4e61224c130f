//! One request on its way to an upstream: the call itself, what comes back meanwhile, and what the server asks.
//!
//! A flight can be set aside while nobody has the answers: it is a value that moves, not a task. Whoever brings the
//! answers takes it up again; whoever drops it cancels the call at the upstream.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use gateway_protocol::{
    Notification, RawJson, RawObject, ResultType, RpcError, code, method, without_repeats,
};
use gateway_store::Permit;
use gateway_upstream::{Asker, CallError, CallOptions, Question, QuestionOrigin, UpstreamId};
use serde_json::json;
use tokio::sync::mpsc;

use super::caller::{Caller, Can, Reach};
use super::out::Out;
use super::questions;
use crate::runtime::call::{Call, Done, Origin};
use crate::runtime::context::RequestContext;
use crate::runtime::failure::{Failure, error_result};
use crate::runtime::gateway::Gateway;

/// Notifications of one call that may wait; more are dropped, as a slow reader cannot be waited for.
const NOTES: usize = 64;

/// How often a server may ask for more before the call is given up.
const ROUNDS: usize = 32;

/// What is asked of which upstream.
#[derive(Debug)]
pub(super) struct Errand {
    pub(super) gateway: Gateway,
    pub(super) context: RequestContext,
    pub(super) transport: &'static str,
    /// The provider whose model called, where one did.
    pub(super) provider: Option<Arc<str>>,
    pub(super) owner: Arc<str>,
    pub(super) target: Target,
    /// The caller's own members of `_meta`.
    pub(super) meta: Vec<(String, RawJson)>,
    /// What the caller can do, for modern upstreams.
    pub(super) capabilities: RawJson,
    /// Whether the caller wants to see progress or log messages.
    pub(super) is_watched: bool,
}

/// What a request is about.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Tool { server: UpstreamId, name: String, arguments: RawJson },
    Prompt { server: UpstreamId, name: String, arguments: Option<RawJson> },
    Resource { server: UpstreamId, uri: String },
}

impl Target {
    pub(super) fn server(&self) -> &UpstreamId {
        match self {
            Self::Tool { server, .. } | Self::Prompt { server, .. } | Self::Resource { server, .. } => server,
        }
    }
}

/// Answers for a server of the modern era.
#[derive(Clone, Debug, Default)]
pub(super) struct Input {
    pub(super) responses: Option<RawJson>,
    pub(super) state: Option<String>,
}

type Run = Pin<Box<dyn Future<Output = Result<Done, Failure>> + Send>>;

/// A request on its way.
pub(crate) struct Flight {
    pub(super) errand: Arc<Errand>,
    run: Run,
    /// What the server tells meanwhile, where the caller wants to see it.
    notes: Option<mpsc::Receiver<Notification>>,
    questions: mpsc::Receiver<Question>,
    /// What the server waits for, under the names that the caller knows.
    open: Vec<(String, Question)>,
    rounds: usize,
    began: Instant,
    asker: Asker,
}

impl std::fmt::Debug for Flight {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Flight").field("errand", &self.errand).finish_non_exhaustive()
    }
}

impl Errand {
    /// Sets out. Whoever has room in the log already gives it.
    pub(super) fn start(self: Arc<Self>, input: Input, permit: Option<Permit>) -> Flight {
        let (notes, notes_receiver) = self.is_watched.then(|| mpsc::channel(NOTES)).unzip();
        let (asker, questions) = Asker::new(Arc::clone(&self.owner));
        let mut options = self.context.call_options();
        // A member that stands there twice is one that nobody can read; ours know of this hop.
        for (key, value) in &self.meta {
            if !options.meta.iter().any(|(known, _)| known == key) {
                options.meta.push((key.clone(), value.clone()));
            }
        }
        options.progress = notes;
        options.asker = Some(asker.clone());
        options.capabilities = Some(self.capabilities.clone());
        if let Some(responses) = input.responses {
            options.params.push(("inputResponses", responses));
        }
        if let Some(state) = input.state.and_then(|state| RawJson::of(&state).ok()) {
            options.params.push(("requestState", state));
        }
        let errand = Arc::clone(&self);
        let run = Box::pin(async move { errand.run(options, permit).await });
        let (open, began) = (Vec::new(), Instant::now());
        Flight { errand: self, run, notes: notes_receiver, questions, open, rounds: 0, began, asker }
    }

    async fn run(&self, options: CallOptions, permit: Option<Permit>) -> Result<Done, Failure> {
        let fleet = self.gateway.fleet();
        match &self.target {
            Target::Tool { server, name, arguments } => {
                let catalogue = fleet.catalogue();
                let Some(tool) = catalogue.get(server.as_str(), name) else {
                    return Err(Failure::UnknownTool(format!("Unknown tool: {name}")));
                };
                let permit = match permit {
                    Some(permit) => permit,
                    None => self.gateway.reserve().await.map_err(|error| Failure::NoRoom(error.message))?,
                };
                let origin = Origin { transport: self.transport, provider: self.provider.clone() };
                let call = Call { tool, arguments, context: &self.context, origin: &origin };
                self.gateway.run(call, permit, options).await
            }
            Target::Prompt { server, name, arguments } => {
                let quoted = json!(name).to_string();
                let mut params = vec![("name", quoted.as_bytes())];
                params.extend(arguments.as_ref().map(|arguments| ("arguments", arguments.as_bytes())));
                let asking =
                    fleet.request(server.as_str(), method::GET_PROMPT, Some(name), &params, &options);
                let input = prompt_input(name, arguments.as_ref());
                self.run_request(server, method::GET_PROMPT, &input, asking).await
            }
            Target::Resource { server, uri } => {
                let quoted = json!(uri).to_string();
                let params = [("uri", quoted.as_bytes())];
                let asking =
                    fleet.request(server.as_str(), method::READ_RESOURCE, Some(uri), &params, &options);
                self.run_request(server, method::READ_RESOURCE, &resource_input(uri), asking).await
            }
        }
    }

    async fn run_request(
        &self,
        server: &UpstreamId,
        asked: &'static str,
        input: &RawJson,
        asking: impl Future<Output = Result<RawJson, CallError>>,
    ) -> Result<Done, Failure> {
        let origin = Origin { transport: self.transport, provider: self.provider.clone() };
        self.gateway.run_request((server, asked), input, &self.context, &origin, asking).await
    }
}

/// What the log has as the input of a prompt that is taken.
pub(super) fn prompt_input(name: &str, arguments: Option<&RawJson>) -> RawJson {
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
pub(super) fn resource_input(uri: &str) -> RawJson {
    RawJson::of(&json!({"uri": uri})).unwrap_or_else(|_| RawJson::empty_object())
}

/// What a caller is told about a request that gave no result: the upstream's own error, or that there is none.
pub(super) fn told(error: CallError) -> RpcError {
    match error {
        CallError::Refused { upstream, error } => questions::attributed_error(&upstream, error),
        other => {
            let (_, word) = crate::errors::classify(&other, crate::errors::ErrorStyle::Plain);
            let data = RawJson::of(&json!({"code": word})).ok();
            RpcError { code: code::INTERNAL_ERROR, message: other.to_string(), data }
        }
    }
}

/// The same for a call that may have failed before it reached its upstream.
pub(super) fn told_failure(failure: Failure) -> RpcError {
    match failure {
        Failure::Call(error) => told(error),
        Failure::NoRoom(message) => RpcError::new(code::INTERNAL_ERROR, message),
        Failure::Refused { message, .. }
        | Failure::TooMany(message)
        | Failure::Arguments(message)
        | Failure::Unreadable(message)
        | Failure::UnknownTool(message)
        | Failure::Ambiguous { message, .. }
        | Failure::NeedsInput(message) => RpcError::new(code::INVALID_PARAMS, message),
    }
}

/// How far a flight came.
pub(super) enum Progressed {
    /// It ended.
    Done(Done),
    /// The server waits for answers that only another request can bring.
    Waits(Box<Flight>),
    /// The upstream itself said `input_required`.
    Asks(RawJson),
}

impl Flight {
    /// Gives the server the answers that a caller brought. What it brought none for is refused.
    pub(super) fn answer(&mut self, answered: impl Fn(&str) -> Option<RawJson>) {
        for (key, question) in self.open.drain(..) {
            match answered(&key) {
                Some(response) => question.answer(Ok(response)),
                None => question.refuse(),
            }
        }
    }

    /// How long the caller may take to come back: as long as the call itself may last, and no longer than it may wait.
    pub(super) fn patience(&self) -> Duration {
        let gateway = &self.errand.gateway;
        let most = gateway.config().mcp.input_expiry;
        let spec = gateway.fleet().spec(self.errand.target.server().as_str());
        let left = spec.map(|spec| spec.timeouts.call_maximum.max(spec.timeouts.call));
        left.map_or(most, |left| left.saturating_sub(self.began.elapsed()).min(most))
    }

    /// The server that works on it.
    pub(super) fn server(&self) -> &UpstreamId {
        self.asker.fallback().unwrap_or_else(|| self.errand.target.server())
    }

    /// The requests that the server waits for, in the form of `inputRequests`.
    pub(super) fn input_requests(&self) -> Result<RawObject<'static>, serde_json::Error> {
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

    /// Goes on until there is a result, or answers are needed that this request cannot get.
    pub(super) async fn drive(mut self, caller: &Caller, out: &Out) -> Result<Progressed, RpcError> {
        loop {
            let lap = match self.lap(&caller.can, &caller.reach, out).await {
                // The model has to read why.
                Err(failure @ (Failure::Refused { .. } | Failure::TooMany(_) | Failure::Arguments(_))) => {
                    let result = error_result(&failure.message());
                    return Ok(Progressed::Done(Done::fresh(result)));
                }
                lap => lap.map_err(told_failure)?,
            };
            match lap {
                Lap::Done(done) => match (&done.view.result_type, &caller.reach) {
                    (ResultType::InputRequired, Reach::Returns) => return Ok(Progressed::Asks(done.result)),
                    (ResultType::InputRequired, Reach::Asked(peer)) => {
                        if self.rounds >= ROUNDS {
                            let message = format!("the server asked {ROUNDS} times and gave no result");
                            return Err(RpcError::new(code::INTERNAL_ERROR, message));
                        }
                        let mcp = self.errand.gateway.mcp();
                        let patience = self.errand.gateway.config().mcp.input_expiry;
                        let asking = tokio::time::timeout(patience, answers(&done.result, caller, peer, out));
                        let input =
                            mcp.stopping.run_until_cancelled(asking).await.and_then(Result::ok).ok_or_else(
                                || RpcError::new(code::INTERNAL_ERROR, "the caller gave no answer in time"),
                            )??;
                        let rounds = self.rounds + 1;
                        self = Arc::clone(&self.errand).start(input, None);
                        self.rounds = rounds;
                    }
                    (ResultType::Complete | ResultType::Other(_), _) => {
                        return Ok(Progressed::Done(done));
                    }
                },
                Lap::Waits => return Ok(Progressed::Waits(Box::new(self))),
            }
        }
    }

    /// Goes on until there is a result or a question that only another request can answer.
    pub(super) async fn lap(&mut self, can: &Can, reach: &Reach, out: &Out) -> Result<Lap, Failure> {
        let Self { errand, run, notes, questions, open, asker, .. } = self;
        let server = || asker.fallback().unwrap_or_else(|| errand.target.server());
        asker.take_up();
        let mut asking = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                Some(note) = next_note(notes) => out.note(note).await,
                Some(question) = questions.recv() => {
                    if !can.answers(&question.method) {
                        question.refuse();
                        continue;
                    }
                    match reach {
                        Reach::Asked(peer) => asking.push(async move {
                            let mut question = question;
                            // What cannot be read cannot be shown to anybody either.
                            let Ok(params) = question_params(server(), &question) else { return question.refuse() };
                            let method = question.method.clone();
                            // Whom the server asks no more is told so: dropping the request takes it back.
                            tokio::select! {
                                answer = peer.ask(&out.sink, &method, params.as_ref()) => question.answer(answer),
                                () = question.withdrawn() => {}
                            }
                        }),
                        Reach::Returns => {
                            let key = format!("request-{}", open.len() + 1);
                            open.push((key, question));
                            asker.set_aside();
                            return Ok(Lap::Waits);
                        }
                    }
                }
                Some(()) = asking.next() => {}
                outcome = &mut *run => {
                    while let Some(note) = notes.as_mut().and_then(|notes| notes.try_recv().ok()) {
                        out.note(note).await;
                    }
                    let mut done = outcome?;
                    if done.view.result_type == ResultType::InputRequired {
                        done.result = questions::attributed(server(), &done.result).map_err(|error| {
                            Failure::NeedsInput(format!("what the server asks cannot be read: {error}"))
                        })?;
                    }
                    return Ok(Lap::Done(done));
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

/// The next notification; none where nobody wants to see them.
async fn next_note(notes: &mut Option<mpsc::Receiver<Notification>>) -> Option<Notification> {
    notes.as_mut()?.recv().await
}

/// How a lap ended.
pub(super) enum Lap {
    Done(Done),
    Waits,
}

/// Asks a legacy caller what a modern server wants to know.
async fn answers(
    result: &RawJson,
    caller: &Caller,
    peer: &super::out::Peer,
    out: &Out,
) -> Result<Input, RpcError> {
    let malformed = |_| RpcError::new(code::INTERNAL_ERROR, "the server's `input_required` cannot be read");
    let result = without_repeats(result);
    let members = RawObject::parse(&result).map_err(malformed)?;
    let state = match members.get("requestState") {
        Some(state) => Some(serde_json::from_str(state.get()).map_err(malformed)?),
        None => None,
    };
    let requests = members.get("inputRequests").map_or("{}", serde_json::value::RawValue::get);
    let requests: RawObject<'_> = serde_json::from_str(requests).map_err(malformed)?;
    let mut asking = FuturesUnordered::new();
    for (key, request) in requests.members() {
        let request = RawJson::parse(request.get().to_owned()).map_err(malformed)?;
        asking.push(async move {
            let object = RawObject::parse(&request).map_err(malformed)?;
            let text = object.get("method").map_or("\"\"", serde_json::value::RawValue::get);
            let method: String = serde_json::from_str(text).map_err(malformed)?;
            if !caller.can.answers(&method) {
                let message = format!("the server asks for `{method}`, which the client does not offer");
                return Err(RpcError::new(code::INTERNAL_ERROR, message));
            }
            let params = object.get("params").and_then(|params| RawJson::parse(params.get().to_owned()).ok());
            let answer = peer.ask(&out.sink, &method, params.as_ref()).await?;
            Ok((key.to_string(), answer))
        });
    }
    let mut responses = RawObject::default();
    while let Some(answer) = asking.next().await {
        let (key, answer) = answer?;
        responses.set(&key, &answer).map_err(malformed)?;
    }
    Ok(Input { responses: Some(responses.to_raw().map_err(malformed)?), state })
}
