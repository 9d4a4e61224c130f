//! One call: checked, sent, measured, written to the log.

mod request;

use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway_dialects::arguments::{Coercion, render_issues};
use gateway_notation::pointer;
use gateway_protocol::{CallResultView, RawJson, ResultType};
use gateway_store::{CallRecord, Outcome, Permit};
use gateway_upstream::{CallError, CallOptions, Catalogue, CatalogueTool, FREE_BYTES, UpstreamId};
use http::StatusCode;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::mpsc;

use self::request::Subject;
use crate::errors::{ApiError, code};
use crate::runtime::context::RequestContext;
use crate::runtime::failure::Failure;
use crate::runtime::gateway::Gateway;
use crate::runtime::owner::Owner;

/// How long a call waits for room in the log.
const LOG_PATIENCE: Duration = Duration::from_secs(2);

/// What a server may tell about a call before it is passed on.
const TOLD: usize = 16;

/// What callers are told who cannot be asked.
const NEEDS_INPUT: &str = "the server needs input for this call, and the request does not say that the caller can give it; \
     say so with \"input\"";

/// The transport of plain HTTP callers.
pub(crate) const PLAIN: &str = "http";

/// How a call came to us.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) transport: &'static str,
    pub(crate) provider: Option<Arc<str>>,
}

/// A call to make: which tool, with what, for whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) tool: &'a CatalogueTool,
    pub(crate) arguments: &'a RawJson,
    pub(crate) context: &'a RequestContext,
    pub(crate) origin: &'a Origin,
}

/// What a call gave.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    /// The result as it came.
    pub(crate) result: RawJson,
    /// How old it is, where it is that of an earlier call.
    pub(crate) age: Option<Duration>,
    /// What it says about itself, read once: results can be long.
    pub(crate) view: CallResultView,
}

impl Done {
    /// A result that came just now.
    pub(crate) fn fresh(result: RawJson) -> Self {
        let view = CallResultView::of(&result);
        Self { result, age: None, view }
    }
}

impl Gateway {
    /// Room in the log for one call. Without it the call is not made: no call goes unrecorded.
    ///
    /// A burst fills the queue for the time of one commit, so a caller waits a moment before it is sent away.
    pub(crate) async fn reserve(&self) -> Result<Permit, ApiError> {
        if let Some(permit) = self.log().try_reserve() {
            return Ok(permit);
        }
        let waiting = async {
            loop {
                let written = self.written().notified();
                if let Some(permit) = self.log().try_reserve() {
                    return permit;
                }
                written.await;
            }
        };
        tokio::time::timeout(LOG_PATIENCE, waiting).await.map_err(|_| {
            let message = "the call log is full and takes no entries at the moment";
            ApiError::overloaded(StatusCode::SERVICE_UNAVAILABLE, message, 1)
        })
    }

    /// Waits until the server's entries leave room for those of others in the log. One server's traffic must not make
    /// the calls of others fail.
    async fn await_share(&self, server: &UpstreamId) -> Result<(), Failure> {
        if self.log().has_share(server.as_str()) {
            return Ok(());
        }
        let waiting = async {
            loop {
                let written = self.written().notified();
                if self.log().has_share(server.as_str()) {
                    return;
                }
                written.await;
            }
        };
        tokio::time::timeout(LOG_PATIENCE, waiting).await.map_err(|_| {
            Failure::NoRoom(format!(
                "the call log has too many entries of server `{server}` to write; try again later"
            ))
        })
    }

    /// Checks arguments that are a JSON value already. `rename` gives the names that the caller knows.
    pub(crate) fn check_arguments(
        &self,
        catalogue: &Catalogue,
        tool: &CatalogueTool,
        arguments: &Value,
        coerce: bool,
        rename: &dyn Fn(&str) -> String,
    ) -> Result<Option<(Value, Vec<Coercion>)>, Failure> {
        if !self.config().validate && tool.withheld.is_none() {
            return Ok(None);
        }
        self.validate_arguments(catalogue, tool, arguments, coerce, rename)
    }

    /// Checks arguments against the tool's schema, whatever the configuration says.
    pub(crate) fn validate_arguments(
        &self,
        catalogue: &Catalogue,
        tool: &CatalogueTool,
        arguments: &Value,
        coerce: bool,
        rename: &dyn Fn(&str) -> String,
    ) -> Result<Option<(Value, Vec<Coercion>)>, Failure> {
        // What nobody accepted is no measure for arguments.
        if let Some(reason) = &tool.withheld {
            let (upstream, tool, reason) = (tool.server.clone(), tool.name.clone(), reason.to_string());
            return Err(Failure::Call(CallError::Blocked { upstream, tool, reason }));
        }
        let cell = self.validators().get(catalogue, tool);
        let Some(validator) = cell.get() else { return Ok(None) };
        if validator.is_valid(arguments) {
            return Ok(None);
        }
        if coerce {
            let (mended, coercions) = validator.coerce(arguments);
            if validator.is_valid(&mended) {
                return Ok(Some((mended, coercions)));
            }
        }
        Err(Failure::Arguments(render_issues(&validator.validate(arguments), rename)))
    }

    /// Makes a call and writes it to the log, however it ends; or gives what is kept of an earlier one, where the
    /// configuration allows that, which is written to the log too. A caller who goes away cancels it.
    pub(crate) async fn run(
        &self,
        call: Call<'_>,
        permit: Permit,
        mut options: CallOptions,
    ) -> Result<Done, Failure> {
        let Call { tool, arguments, context, .. } = call;
        self.await_share(&tool.server).await?;
        if let Err(failure) = self.permitted(call, &options).await {
            self.record_refusal(call, permit, &failure);
            return Err(failure);
        }
        let mut entry = Entry::new(self, call, permit);
        // A call that brings answers is another call than the same one without them.
        let cacheable =
            if options.params.is_empty() { self.cache().cacheable(tool, arguments) } else { None };
        if let Some(kept) = cacheable.as_ref().filter(|_| !context.wants_fresh)
            && let Some((result, age)) = self.cache().get(kept, Instant::now())
        {
            let done = Done { age: Some(age), ..Done::fresh(result) };
            return self.handed_over(done, context, &tool.server, &mut entry).await;
        }
        let is_refused = |other: &UpstreamId| !self.may_stand_in(other, tool);
        let answered = match &context.progress {
            None => self.fleet().call_unless(tool, Some(arguments), &options, is_refused).await,
            Some(sink) => {
                let (sender, told) = mpsc::channel(TOLD);
                options.progress = Some(sender);
                sink.watcher(&tool.server, &tool.name)
                    .watch(told, self.fleet().call_unless(tool, Some(arguments), &options, is_refused))
                    .await
            }
        };
        entry.ran_on(answered.ran_on);
        match answered.outcome {
            Ok(result) => {
                let done = Done::fresh(result);
                if done.view.result_type == ResultType::InputRequired && self.needs_approval(tool) {
                    self.approvals().note_question(&call, &self.approval());
                }
                // Whoever can be asked brings somebody who answers.
                if options.asker.is_none() && done.view.result_type == ResultType::InputRequired {
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
                entry.finish(Outcome::error(failure.message(), failure.code()), Some(failure.code()));
                Err(failure)
            }
        }
    }

    /// Counts a long result for the caller, who takes it over from the server, and writes the call to the log.
    async fn handed_over(
        &self,
        done: Done,
        context: &RequestContext,
        server: &UpstreamId,
        entry: &mut Entry<'_>,
    ) -> Result<Done, Failure> {
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

    /// Whether a call may be made: its arguments fit where nobody else looks, and the policy or somebody says yes.
    async fn permitted(&self, call: Call<'_>, options: &CallOptions) -> Result<(), Failure> {
        let Call { tool, arguments, .. } = call;
        if let Some(name) = tool.hidden_parameter(arguments) {
            return Err(Failure::Arguments(format!(
                "the tool `{}` has no parameter \"{name}\"; leave it out",
                tool.name
            )));
        }
        if tool.registered {
            let validator = self.validators().get(&self.fleet().catalogue(), tool);
            let value: Value = arguments.read().map_err(|error| Failure::Unreadable(error.to_string()))?;
            if let Some(validator) = validator.get() {
                if let Some(fault) = validator.unchecked() {
                    let message = format!(
                        "The tool `{}` cannot be called: its inputSchema cannot be checked at `{}`: {}",
                        tool.name, fault.path, fault.reason
                    );
                    return Err(Failure::Refused { code: code::TOOL_DENIED, message, approval: None });
                }
                if !validator.is_valid(&value) {
                    return Err(Failure::Arguments(render_issues(
                        &validator.validate(&value),
                        &pointer::dotted,
                    )));
                }
            }
        }
        self.approved(call, options).await
    }

    /// Writes a call to the log of a tool that nobody has, or whose server cannot be asked what it has.
    pub(crate) fn record_unknown(
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
        self.metrics().call(&record.server, "unknown", provider, Some(word), Duration::ZERO);
        permit.record(record);
    }

    /// Writes a call to the log that was not made.
    pub(crate) fn record_refusal(&self, call: Call<'_>, permit: Permit, failure: &Failure) {
        let mut entry = Entry::new(self, call, permit);
        entry.finish(Outcome::error(failure.message(), failure.code()), Some(failure.code()));
    }
}

/// The record of a call that begins now; how it ends is told later.
fn begun(
    server: Arc<str>,
    tool: Arc<str>,
    arguments: &RawJson,
    context: &RequestContext,
    origin: &Origin,
) -> CallRecord {
    CallRecord {
        timestamp: Timestamp::now(),
        caller: context.caller.as_ref().map(Owner::to_shared),
        server,
        tool,
        provider: origin.provider.clone(),
        input: arguments.to_bytes(),
        outcome: Outcome::Result(bytes::Bytes::new()),
        duration: Duration::ZERO,
        correlation_id: Arc::clone(&context.correlation),
        transport: Some(origin.transport.into()),
        ran_on: None,
    }
}

/// An entry of the log that is written even if the caller goes away before the call ends.
struct Entry<'g> {
    gateway: &'g Gateway,
    subject: Subject,
    permit: Option<Permit>,
    began: Instant,
    record: Option<CallRecord>,
}

impl<'g> Entry<'g> {
    fn new(gateway: &'g Gateway, call: Call<'_>, permit: Permit) -> Self {
        let Call { tool, arguments, context, origin } = call;
        let record = begun(tool.server.to_shared(), tool.name.as_str().into(), arguments, context, origin);
        Self::begin(gateway, record, Subject::Call, permit)
    }

    fn begin(gateway: &'g Gateway, record: CallRecord, subject: Subject, permit: Permit) -> Self {
        Self { gateway, subject, permit: Some(permit), began: Instant::now(), record: Some(record) }
    }

    /// Notes who ran the call, where that is not the server that was asked.
    fn ran_on(&mut self, server: Option<UpstreamId>) {
        if let Some(record) = &mut self.record {
            record.ran_on = server.map(|server| server.to_shared());
        }
    }

    fn finish_with(&mut self, done: &Done) {
        let text = done.result.to_bytes();
        if done.view.is_error {
            let message =
                first_text(&done.result).unwrap_or_else(|| "the tool says that it failed".to_owned());
            let outcome = Outcome::Error {
                message: message.into(),
                code: Some(code::TOOL_ERROR.into()),
                result: Some(text),
            };
            self.finish(outcome, Some(code::TOOL_ERROR));
        } else {
            self.finish(Outcome::Result(text), None);
        }
    }

    /// Writes the call as failed, with the result that the server gave all the same.
    fn finish_failed(&mut self, failure: &Failure, done: &Done) {
        let outcome = Outcome::Error {
            message: failure.message().into(),
            code: Some(failure.code().into()),
            result: Some(done.result.to_bytes()),
        };
        self.finish(outcome, Some(failure.code()));
    }

    fn finish(&mut self, outcome: Outcome, word: Option<&'static str>) {
        let (Some(mut record), Some(permit)) = (self.record.take(), self.permit.take()) else { return };
        record.duration = self.began.elapsed();
        record.outcome = outcome;
        if self.subject == Subject::Request {
            return permit.record(record);
        }
        let provider = record.provider.as_deref();
        self.gateway.metrics().call(&record.server, &record.tool, provider, word, record.duration);
        let milliseconds = record.duration.as_millis();
        match word {
            None => tracing::debug!(
                correlation = %record.correlation_id, server = %record.server, tool = %record.tool, provider,
                duration = milliseconds, success = true,
                "Tool execution: {} on {} ({milliseconds}ms)", record.tool, record.server
            ),
            Some(word) => tracing::warn!(
                correlation = %record.correlation_id, server = %record.server, tool = %record.tool, provider,
                duration = milliseconds, success = false, error = word,
                "Tool execution: {} on {} ({milliseconds}ms)", record.tool, record.server
            ),
        }
        permit.record(record);
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        // Still there: the caller went away, and the call was cancelled.
        self.finish(
            Outcome::error("the caller went away before the call ended", "CANCELLED"),
            Some("CANCELLED"),
        );
    }
}

/// The first text of a result, shortened.
fn first_text(result: &RawJson) -> Option<String> {
    let value: Value = result.read().ok()?;
    let blocks = value.get("content")?.as_array()?;
    let text = blocks.iter().find_map(|block| block.get("text")?.as_str())?;
    Some(text.chars().take(500).collect())
}
