//! One call: checked, sent, measured, written to the log.

mod approval;
mod entry;
pub mod in_flight;
pub mod input;
mod outcome;
mod request;

use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway_dialects::Plan;
use gateway_dialects::arguments::{BadArguments, Coercion, render_issues};
use gateway_dialects::calls::ToolCall;
use gateway_notation::pointer;
use gateway_protocol::{CallResultView, RawJson, ResultType};
use gateway_store::{Outcome, Permit};
use gateway_upstream::{CallError, CallOptions, Catalogue, CatalogueTool, FREE_BYTES, UpstreamId};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use self::entry::{Entry, begun};
use self::input::{Answerer, PausedCall};
pub use self::outcome::{CallOutcome, CallState};
use crate::Runtime;
use crate::context::RequestContext;
use crate::failure::Failure;
use crate::progress::Watcher;

/// How long a call waits for room in the log.
const LOG_PATIENCE: Duration = Duration::from_secs(2);

/// What a server may report about a call before it is passed on.
const REPORTED: usize = 16;

/// The answer to callers who cannot be asked.
const NEEDS_INPUT: &str = "the server needs input for this call, and the request does not say that the caller can give it; \
     say so with \"input\"";

/// The transport of plain HTTP callers.
pub const PLAIN: &str = "http";

/// How a call came to us.
#[derive(Clone, Debug)]
pub struct Origin {
    /// `http`, `mcp` or `stdio`.
    pub transport: &'static str,
    /// The provider whose model called, where one did.
    pub provider: Option<Arc<str>>,
}

/// A call as a face hands it over.
#[derive(Debug)]
pub struct CallRequest<'a> {
    /// The server and the tool, as the caller named them.
    pub named: (Option<&'a str>, &'a str),
    /// The tool, with the plan of its arguments if the list that the model saw has one; or why the name leads to none.
    pub tool: Result<(&'a CatalogueTool, Option<&'a Plan>), Failure>,
    /// Where the tool was found.
    pub catalogue: &'a Catalogue,
    /// With what.
    pub arguments: CallArguments<'a>,
    /// For whom.
    pub context: &'a RequestContext,
    /// How it came to us.
    pub origin: &'a Origin,
    /// What the caller can be asked, if anything.
    pub answerer: Option<&'a Answerer>,
}

/// The arguments of a call.
#[derive(Clone, Copy, Debug)]
pub enum CallArguments<'a> {
    /// An object that was read already, and its text as it came.
    Read {
        /// The text.
        text: &'a RawJson,
        /// What it says.
        value: &'a Value,
    },
    /// As a model wrote them: to be read, decoded by the plan, and coerced if the caller wants that.
    Written {
        /// The call that has them.
        call: &'a ToolCall,
        /// What the provider is called in messages.
        label: &'a str,
        /// What to do with arguments that are no JSON object.
        bad: BadArguments,
        /// Whether values may be turned into the types that the schema wants.
        coerce: bool,
    },
}

/// A call that was checked: which tool, with what, for whom.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool.
    pub tool: &'a CatalogueTool,
    /// The arguments as the server gets them, but for those that are filled in.
    pub arguments: &'a RawJson,
    /// For whom.
    pub context: &'a RequestContext,
    /// How it came to us.
    pub origin: &'a Origin,
    /// Whether the arguments were checked against the schema already.
    pub is_checked: bool,
}

/// What a server gave.
#[derive(Clone, Debug)]
pub struct CallResult {
    /// The result as it came.
    pub result: RawJson,
    /// How old it is, where it is that of an earlier call.
    pub age: Option<Duration>,
    /// What it says about itself, read once: results can be long.
    pub view: CallResultView,
}

impl CallResult {
    /// A result that came just now.
    pub fn fresh(result: RawJson) -> Self {
        let view = CallResultView::of(&result);
        Self { result, age: None, view }
    }
}

impl Runtime {
    /// The one way of a call, whatever face it came by: find, decode, check, approve, look into the cache, send, record.
    /// However it ends, it is in the log.
    pub async fn call(&self, request: CallRequest<'_>, permit: Permit) -> CallState {
        let CallRequest { named, tool, catalogue, arguments, context, origin, answerer } = request;
        let (tool, plan) = match tool {
            Ok(found) => found,
            Err(failure) => {
                self.record_unknown(named, &arguments.as_sent(), permit, context, origin, &failure);
                return CallState::Done(CallOutcome::not_found(failure));
            }
        };
        let mut outcome = CallOutcome::of(tool);
        let checked = self.checked(catalogue, tool, plan, arguments, &mut outcome.notes);
        let is_checked = self.config().validate;
        let call = |arguments| Call { tool, arguments, context, origin, is_checked };
        match (checked, answerer) {
            (Ok(arguments), None) => {
                let sent = self.send(call(&arguments), permit, context.own_call_options()).await;
                CallState::Done(outcome.ended(sent))
            }
            // Boxed: few callers can be asked, and all calls would carry the future along.
            (Ok(arguments), Some(answerer)) => {
                Box::pin(PausedCall::begin(self, outcome, call(&arguments), permit, answerer)).await
            }
            (Err(refused), _) => {
                let (arguments, failure) = *refused;
                Entry::new(self, call(&arguments), permit).fail(&failure);
                CallState::Done(outcome.failed(failure))
            }
        }
    }

    /// The arguments as the server gets them. Where they do not fit, why, with the arguments as the log has them.
    fn checked(
        &self,
        catalogue: &Catalogue,
        tool: &CatalogueTool,
        plan: Option<&Plan>,
        arguments: CallArguments<'_>,
        notes: &mut Vec<Value>,
    ) -> Result<RawJson, Box<(RawJson, Failure)>> {
        let check = |value: &Value, coerce: bool, rename: &dyn Fn(&str) -> String| {
            // What nobody accepted is refused whatever the configuration says.
            if self.config().validate || tool.unaccepted.is_some() {
                self.validate_arguments(catalogue, tool, value, coerce, rename)
            } else {
                Ok(None)
            }
        };
        let (call, label, bad, coerce) = match arguments {
            CallArguments::Read { text, value } => {
                return match check(value, false, &pointer::dotted) {
                    Ok(_) => Ok(text.clone()),
                    Err(failure) => Err(Box::new((text.clone(), failure))),
                };
            }
            CallArguments::Written { call, label, bad, coerce } => (call, label, bad, coerce),
        };
        let written = |value: &Value| RawJson::of(value).unwrap_or_else(|_| RawJson::empty_object());
        let parsed = call
            .arguments_object(label, bad)
            .map_err(|error| Box::new((arguments.as_sent(), Failure::Request(error.to_string()))))?;
        notes.extend(parsed.repairs.iter().map(|repair| json!({"repaired": repair.name()})));
        let sent = Value::Object(parsed.object);
        let value = match plan {
            Some(plan) if !parsed.raw && !plan.is_identity() => plan.decode(&sent).map_err(|error| {
                let failure = Failure::Arguments(format!("The arguments cannot be read: {error}"));
                Box::new((written(&sent), failure))
            })?,
            Some(_) | None => sent,
        };
        let rename = |path: &str| match plan {
            Some(plan) => pointer::dotted(&plan.wire_pointer(path)),
            None => pointer::dotted(path),
        };
        match check(&value, coerce, &rename) {
            Ok(None) => Ok(written(&value)),
            Ok(Some((coerced, coercions))) => {
                let coercions = coercions.iter();
                notes.extend(coercions.map(|one| json!({"coerced": one.path, "rule": one.rule.name()})));
                Ok(written(&coerced))
            }
            Err(failure) => Err(Box::new((written(&value), failure))),
        }
    }

    /// Room in the log for one call. Without it the call is not made: no call goes unrecorded.
    pub async fn reserve(&self) -> Result<Permit, Failure> {
        self.once_written(|| self.log().try_reserve()).await.ok_or_else(|| {
            Failure::NoRoom("the call log is full and takes no entries at the moment".to_owned())
        })
    }

    /// Waits until the server's entries leave room for those of others in the log. One server's traffic must not make
    /// the calls of others fail.
    async fn await_share(&self, server: &UpstreamId) -> Result<(), Failure> {
        self.once_written(|| self.log().has_share(server.as_str()).then_some(())).await.ok_or_else(|| {
            Failure::NoRoom(format!(
                "the call log has too many entries of server `{server}` to write; try again later"
            ))
        })
    }

    /// What `attempt` gives, tried again whenever the log was written. A burst fills the queue for the time of one commit, so
    /// a caller waits a moment before it is sent away.
    async fn once_written<T>(&self, attempt: impl Fn() -> Option<T>) -> Option<T> {
        if let Some(found) = attempt() {
            return Some(found);
        }
        let waiting = async {
            loop {
                let written = self.written().notified();
                if let Some(found) = attempt() {
                    return found;
                }
                written.await;
            }
        };
        // Boxed: few calls wait, and all would carry the future along.
        tokio::time::timeout(LOG_PATIENCE, Box::pin(waiting)).await.ok()
    }

    /// Checks arguments against the tool's schema. `rename` gives the names that the caller knows.
    pub(crate) fn validate_arguments(
        &self,
        catalogue: &Catalogue,
        tool: &CatalogueTool,
        arguments: &Value,
        coerce: bool,
        rename: &dyn Fn(&str) -> String,
    ) -> Result<Option<(Value, Vec<Coercion>)>, Failure> {
        // What nobody accepted is no measure for arguments.
        if let Some(reason) = &tool.unaccepted {
            let (upstream, tool, reason) = (tool.server.clone(), tool.name.clone(), reason.to_string());
            return Err(Failure::Call(CallError::Blocked { upstream, tool, reason }));
        }
        let cell = self.validators().get(catalogue, tool);
        let Some(validator) = cell.get() else { return Ok(None) };
        if validator.is_valid(arguments) {
            return Ok(None);
        }
        if coerce {
            let (coerced, coercions) = validator.coerce(arguments);
            if validator.is_valid(&coerced) {
                return Ok(Some((coerced, coercions)));
            }
        }
        Err(Failure::Arguments(render_issues(&validator.validate(arguments), rename)))
    }

    /// Makes a call and writes it to the log, however it ends; or gives what is kept of an earlier one, where the
    /// configuration allows that, which is written to the log too. A caller who goes away cancels it.
    pub async fn send(
        &self,
        call: Call<'_>,
        permit: Permit,
        mut options: CallOptions,
    ) -> Result<CallResult, Failure> {
        let Call { tool, arguments, context, .. } = call;
        self.await_share(&tool.server).await?;
        if let Err(failure) = self.approved(call, &options).await {
            Entry::new(self, call, permit).fail(&failure);
            return Err(failure);
        }
        let mut entry = Entry::new(self, call, permit);
        // A call that brings answers is another call than the same one without them.
        let cacheable =
            if options.params.is_empty() { self.cache().cacheable(tool, arguments) } else { None };
        if let Some(kept) = cacheable.as_ref().filter(|_| !context.wants_fresh)
            && let Some((result, age)) = self.cache().get(kept, Instant::now())
        {
            let done = CallResult { age: Some(age), ..CallResult::fresh(result) };
            return self.handed_over(done, context, &tool.server, &mut entry).await;
        }
        let is_refused = |other: &UpstreamId| !self.may_stand_in(other, tool);
        let answered = match &context.progress {
            None => self.fleet().call_unless(tool, Some(arguments), &options, is_refused).await,
            Some(sink) => {
                let (sender, reported) = mpsc::channel(REPORTED);
                options.progress = Some(sender);
                let (sink, server, tool_name) = (Arc::clone(sink), tool.server.clone(), tool.name.clone());
                let watcher = Watcher { sink, server, tool: tool_name };
                // Boxed: few callers watch, and all calls would carry the future along.
                let sent = self.fleet().call_unless(tool, Some(arguments), &options, is_refused);
                Box::pin(watcher.watch(reported, sent)).await
            }
        };
        entry.ran_on(answered.ran_on);
        match answered.outcome {
            Ok(result) => {
                let done = CallResult::fresh(result);
                if done.view.result_type == ResultType::InputRequired && self.needs_approval(tool) {
                    self.approvals().note_question(tool, arguments, context, &self.approval());
                }
                // Whoever can be asked brings somebody who answers.
                if options.responder.is_none() && done.view.result_type == ResultType::InputRequired {
                    let failure = Failure::NeedsInput(NEEDS_INPUT.to_owned());
                    entry.finish_failed(&failure, &done);
                    return Err(failure);
                }
                let is_whole = done.view.result_type == ResultType::Complete;
                if let Some(kept) = cacheable.as_ref().filter(|_| is_whole) {
                    self.cache().put(kept, &done.result, Instant::now());
                }
                self.handed_over(done, context, &tool.server, &mut entry).await
            }
            Err(error) => {
                let failure = Failure::Call(error);
                entry.fail(&failure);
                Err(failure)
            }
        }
    }

    /// Counts a long result for the caller, who takes it over from the server, and writes the call to the log.
    async fn handed_over(
        &self,
        done: CallResult,
        context: &RequestContext,
        server: &UpstreamId,
        entry: &mut Entry<'_>,
    ) -> Result<CallResult, Failure> {
        let (budget, bytes) = (self.fleet().results(), done.result.len());
        // Boxed: few results are long, and all calls would carry the future along.
        if bytes > FREE_BYTES && !Box::pin(context.hold(budget, bytes, done.age.is_none())).await {
            let limit = budget.limit();
            let failure = match done.age {
                None => Failure::Call(CallError::ResultDropped { upstream: server.clone(), limit }),
                Some(_) => Failure::NoRoom(format!(
                    "the result that is kept of an earlier call has {bytes} bytes, and the results in flight already take what \
                     they may of {limit} bytes (`limits.resultBytes`); the tool did not run; read the other results first, then \
                     try again"
                )),
            };
            entry.finish_failed(&failure, &done);
            return Err(failure);
        }
        entry.finish_with(&done);
        Ok(done)
    }

    /// Writes a call to the log of a tool that nobody has, or whose server cannot be asked what it has.
    pub fn record_unknown(
        &self,
        (server, tool): (Option<&str>, &str),
        arguments: &RawJson,
        permit: Permit,
        context: &RequestContext,
        origin: &Origin,
        failure: &Failure,
    ) {
        let tool: String = tool.chars().take(256).collect();
        let named = match failure {
            Failure::Call(error) => error.upstream().map(UpstreamId::as_str),
            _ => None,
        };
        let server = server.or(named).unwrap_or_default();
        let word = failure.code();
        let mut record = begun(server.into(), tool.into(), arguments, context, origin);
        record.outcome = Outcome::error(failure.message(), word);
        // Invented names must not fill the table of the figures.
        let provider = record.provider.as_deref();
        self.call_metrics().call(&record.server, "unknown", provider, Some(word), Duration::ZERO);
        permit.record(record);
    }
}
