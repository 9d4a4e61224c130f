//! One call: checked, sent, measured, written to the log.

mod approval;
mod entry;
pub mod in_flight;
pub mod input;
mod outcome;
mod request;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway_dialects::arguments::{BadArguments, FilledArguments, render_issues};
use gateway_dialects::calls::ToolCall;
use gateway_dialects::dialect::Compat;
use gateway_dialects::{Dialect, Plan};
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
use crate::lists::ListRequest;
use crate::progress::Watcher;
use crate::validators::coerced;

/// How long a call waits for room in the log.
const LOG_PATIENCE: Duration = Duration::from_secs(2);

/// What a server may report about a call before it is passed on.
const REPORTED: usize = 16;

/// The answer to callers who cannot be asked.
const NEEDS_INPUT: &str = "the server needs input for this call, and the request does not say that the caller can give it; \
     say so with \"input\"";

/// The transport of plain HTTP callers.
pub const PLAIN: &str = "http";

/// The transport of programs that call the runtime itself.
pub const LIBRARY: &str = "library";

/// How a call came to us.
#[derive(Clone, Debug)]
pub struct Origin {
    /// `http`, `mcp`, `stdio` or `library`.
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
    /// Other dialects in which the arguments may be written, where nobody named one.
    pub siblings: Option<Siblings<'a>>,
}

/// Other dialects in which the model may have been given the tool.
#[derive(Clone, Copy, Debug)]
pub struct Siblings<'a> {
    /// Which ones.
    pub dialects: SiblingDialects<'a>,
    /// The list that the tool is in.
    pub list: &'a ListRequest,
    /// Whether the caller named no dialect, so that the call is one of the dialect that its arguments fit.
    pub is_detected: bool,
}

/// Which other dialects are tried.
#[derive(Clone, Copy, Debug)]
pub enum SiblingDialects<'a> {
    /// These.
    Given(&'a [Arc<Dialect>]),
    /// The strict form of this one, if it has one.
    StrictFormOf(&'a Dialect),
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
    /// As a model wrote them: to be read, decoded by the plan, and coerced and completed if the caller wants that.
    Written {
        /// The call that has them.
        call: &'a ToolCall,
        /// What the provider is called in messages.
        label: &'a str,
        /// What to do with arguments that are no JSON object.
        bad: BadArguments,
        /// Whether values may be turned into the types that the schema wants.
        coerce: bool,
        /// Whether the schema's defaults stand for what is left out.
        fill: bool,
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

/// Why arguments are not sent.
struct Refusal {
    /// The arguments as the log has them.
    arguments: RawJson,
    failure: Failure,
    /// How much is wrong with them; 0 if they are not the reason.
    faults: usize,
}

/// The arguments as the server gets them, or why it does not.
type Checked = Result<RawJson, Box<Refusal>>;

impl Refusal {
    /// A refusal for another reason than what the arguments are.
    fn new(arguments: RawJson, failure: Failure) -> Self {
        Self { arguments, failure, faults: 0 }
    }
}

/// The label of servers and tools that do not exist.
const UNKNOWN: &str = "unknown";

impl Runtime {
    /// The one way of a call, whatever face it came by: find, decode, check, approve, look into the cache, send, record.
    /// However it ends, it is in the log.
    pub async fn call(&self, request: CallRequest<'_>, permit: Permit) -> CallState {
        let CallRequest { named, tool, catalogue, arguments, context, origin, answerer, siblings } = request;
        let (tool, plan) = match tool {
            Ok(found) => found,
            Err(failure) => {
                self.record_unknown(named, &arguments.as_sent(), permit, context, origin, &failure);
                return CallState::Done(CallOutcome::not_found(failure));
            }
        };
        let mut outcome = CallOutcome::of(tool);
        let mut checked = self.checked(catalogue, tool, plan, arguments, &mut outcome.notes);
        if let (Err(refusal), Some(siblings)) = (&checked, siblings)
            && let Some((dialect, better, notes)) =
                self.checked_as_sibling(catalogue, tool, siblings, arguments, refusal.faults)
        {
            (checked, outcome.notes) = (better, notes);
            // Nothing else says that arguments were not taken as those of the dialect that was named.
            if !siblings.is_detected {
                outcome.notes.push(json!({"readAs": dialect.name}));
            }
            outcome.dialect = Some(dialect);
        }
        let is_checked = self.config().validate;
        let detected = outcome.dialect.as_ref().filter(|_| siblings.is_some_and(|all| all.is_detected));
        let recognised =
            detected.map(|dialect| Origin { provider: Some(dialect.name.as_str().into()), ..*origin });
        let origin = recognised.as_ref().unwrap_or(origin);
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
            (Err(refusal), _) => {
                let Refusal { arguments, failure, .. } = *refusal;
                CallState::Done(outcome.failed(Entry::new(self, call(&arguments), permit).fail(failure)))
            }
        }
    }

    /// The arguments as the server gets them.
    fn checked(
        &self,
        catalogue: &Catalogue,
        tool: &CatalogueTool,
        plan: Option<&Plan>,
        arguments: CallArguments<'_>,
        notes: &mut Vec<Value>,
    ) -> Checked {
        let written = |value: &Value| RawJson::of(value).unwrap_or_else(|_| RawJson::empty_object());
        let (value, text, coerce, fill, is_raw) = match arguments {
            CallArguments::Read { text, value } => (Cow::Borrowed(value), text.clone(), false, false, false),
            CallArguments::Written { call, label, bad, coerce, fill } => {
                let parsed = call.arguments_object(label, bad).map_err(|error| {
                    Box::new(Refusal::new(arguments.as_sent(), Failure::Request(error.to_string())))
                })?;
                notes.extend(parsed.repairs.iter().map(|repair| json!({"repaired": repair.name()})));
                let sent = Value::Object(parsed.object);
                let value = match plan {
                    Some(plan) if !parsed.raw && !plan.is_identity() => {
                        plan.decode(&sent).map_err(|error| {
                            Box::new(Refusal {
                                arguments: written(&sent),
                                failure: Failure::Arguments(format!("The arguments cannot be read: {error}")),
                                faults: usize::MAX,
                            })
                        })?
                    }
                    Some(_) | None => sent,
                };
                let text = written(&value);
                (Cow::Owned(value), text, coerce, fill && !parsed.raw, parsed.raw)
            }
        };
        // What nobody accepted is refused whatever the configuration says, and is no measure for arguments.
        if let Some(reason) = &tool.unaccepted {
            let (upstream, tool, reason) = (tool.server.clone(), tool.name.clone(), reason.to_string());
            let failure = Failure::Call(CallError::Blocked { upstream, tool, reason });
            return Err(Box::new(Refusal::new(text, failure)));
        }
        // Whoever hands on what is no JSON means the server to judge it. A tool of the registry has no judge but us.
        let validates = self.config().validate && (!is_raw || tool.registered);
        if !validates && !fill {
            return Ok(text);
        }
        let validator = self.validators().get(catalogue, tool);
        let rename = |path: &str| match plan {
            Some(plan) => pointer::dotted(&plan.wire_pointer(path)),
            None => pointer::dotted(path),
        };
        let (value, text) = if !validates || validator.is_valid(&value) {
            (value, text)
        } else {
            let (coerced, coercions) = match coerced(&validator, &value, coerce) {
                Ok(coerced) => coerced,
                Err(issues) => {
                    return Err(Box::new(Refusal {
                        arguments: text,
                        failure: Failure::Arguments(render_issues(&issues, &rename)),
                        faults: issues.len(),
                    }));
                }
            };
            let coercions = coercions.iter();
            notes.extend(coercions.map(|one| json!({"coerced": one.path, "rule": one.rule.name()})));
            let text = written(&coerced);
            (Cow::Owned(coerced), text)
        };
        if !fill {
            return Ok(text);
        }
        let FilledArguments { arguments, filled, unfilled } = validator.fill_defaults(&value);
        notes.extend(filled.iter().map(|path| json!({"filled": path})));
        notes.extend(unfilled.iter().map(|one| json!({"notFilled": one.path, "reason": one.reason.text()})));
        Ok(if filled.is_empty() { text } else { written(&arguments) })
    }

    /// The same by the first of `siblings` that arguments fit, and which one that is; if they fit none, by the one that finds
    /// fewest faults. `None` if none finds fewer than `faults`. A model that was given a strict list writes null for what it
    /// leaves out, nothing else in its reply shows which list it was given, and it cannot obey another list's corrections.
    #[cold]
    fn checked_as_sibling(
        &self,
        catalogue: &Catalogue,
        tool: &CatalogueTool,
        siblings: Siblings<'_>,
        arguments: CallArguments<'_>,
        mut faults: usize,
    ) -> Option<(Arc<Dialect>, Checked, Vec<Value>)> {
        let mut best = None;
        let strict;
        let dialects = match siblings.dialects {
            SiblingDialects::Given(dialects) => dialects,
            SiblingDialects::StrictFormOf(dialect) => {
                let name = dialect.tool.strict_dialect.as_deref()?;
                strict = [self.ready_dialects().choose(Some(name), None, &Compat::Auto).ok()?];
                &strict
            }
        };
        for dialect in dialects {
            let plan = siblings.list.plan_in(dialect, tool, self.lists()).filter(|plan| !plan.is_identity());
            let Some(plan) = plan else { continue };
            let mut notes = Vec::new();
            let checked = self.checked(catalogue, tool, Some(&plan), arguments, &mut notes);
            let found = checked.as_ref().map_or_else(|refusal| refusal.faults, |_| 0);
            if found < faults {
                faults = found;
                best = Some((Arc::clone(dialect), checked, notes));
            }
            if faults == 0 {
                break;
            }
        }
        best
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
            return Err(Entry::new(self, call, permit).fail(failure));
        }
        let mut entry = Entry::new(self, call, permit);
        // A call that brings answers is another call than the same one without them.
        let cacheable =
            if options.params.is_empty() { self.cache().cacheable(tool, arguments) } else { None };
        let kept = cacheable.as_ref().filter(|_| !context.wants_fresh);
        let done = if let Some((result, age)) = kept.and_then(|key| self.cache().get(key, Instant::now())) {
            CallResult { age: Some(age), ..CallResult::fresh(result) }
        } else {
            let is_refused = |other: &UpstreamId| !self.may_stand_in(other, tool);
            let answered = match &context.progress {
                None => self.fleet().call_unless(tool, Some(arguments), &options, is_refused).await,
                Some(sink) => {
                    let (sender, reported) = mpsc::channel(REPORTED);
                    options.progress = Some(sender);
                    let (server, name) = (tool.server.clone(), tool.name.clone());
                    let watcher = Watcher { sink: Arc::clone(sink), server, tool: name };
                    // Boxed: few callers watch, and all calls would carry the future along.
                    let sent = self.fleet().call_unless(tool, Some(arguments), &options, is_refused);
                    Box::pin(watcher.watch(reported, sent)).await
                }
            };
            entry.ran_on(answered.ran_on);
            CallResult::fresh(answered.outcome.map_err(|error| entry.fail(Failure::Call(error)))?)
        };
        if done.view.result_type == ResultType::InputRequired {
            if self.needs_approval(tool) {
                self.approvals().note_question(tool, arguments, context, &self.approval());
            }
            // Whoever can be asked brings somebody who answers.
            if options.responder.is_none() {
                return Err(entry.fail_with(Failure::NeedsInput(NEEDS_INPUT.to_owned()), &done));
            }
        }
        let is_whole = done.view.result_type == ResultType::Complete;
        if let Some(key) = cacheable.as_ref().filter(|_| is_whole && done.age.is_none()) {
            self.cache().put(key, &done.result, Instant::now());
        }
        if done.result.len() > FREE_BYTES {
            // Boxed: few results are long, and all calls would carry the future along.
            Box::pin(entry.hold(&done, context)).await?;
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
        let is_server = self.fleet().spec(&record.server).is_some();
        let label = if is_server { &*record.server } else { UNKNOWN };
        let provider = record.provider.as_deref();
        self.call_metrics().call(label, UNKNOWN, provider, Some(word), Duration::ZERO);
        permit.record(record);
    }
}
