//! The entry of a call in the log, written however the call ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway_protocol::RawJson;
use gateway_store::{CallRecord, Outcome, Permit};
use gateway_upstream::{CallError, UpstreamId};
use jiff::Timestamp;
use serde_json::Value;

use super::{Call, CallResult, Origin};
use crate::Runtime;
use crate::context::RequestContext;
use crate::failure::{Failure, code};
use crate::owner::Owner;

/// What an entry is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// A call of a tool, which the figures count.
    Call,
    /// Another request.
    Request,
}

/// The record of a call that begins now; how it ends is written later.
pub(super) fn begun(
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
pub(super) struct Entry<'r> {
    runtime: &'r Runtime,
    subject: Subject,
    permit: Option<Permit>,
    began: Instant,
    record: Option<CallRecord>,
}

impl<'r> Entry<'r> {
    pub(super) fn new(runtime: &'r Runtime, call: Call<'_>, permit: Permit) -> Self {
        let Call { tool, arguments, context, origin, .. } = call;
        let record = begun(tool.server.to_shared(), tool.name.as_str().into(), arguments, context, origin);
        Self::begin(runtime, record, Subject::Call, permit)
    }

    pub(super) fn begin(runtime: &'r Runtime, record: CallRecord, subject: Subject, permit: Permit) -> Self {
        Self { runtime, subject, permit: Some(permit), began: Instant::now(), record: Some(record) }
    }

    /// Notes who ran the call, where that is not the server that was asked.
    pub(super) fn ran_on(&mut self, server: Option<UpstreamId>) {
        if let Some(record) = &mut self.record {
            record.ran_on = server.map(|server| server.to_shared());
        }
    }

    pub(super) fn finish_with(&mut self, done: &CallResult) {
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

    /// Counts a long result for the caller, who takes it over from the server. The call has failed if there is no room.
    pub(super) async fn hold(&mut self, done: &CallResult, context: &RequestContext) -> Result<(), Failure> {
        let (budget, bytes) = (self.runtime.fleet().results(), done.result.len());
        if context.hold(budget, bytes, done.age.is_none()).await {
            return Ok(());
        }
        let limit = budget.limit();
        let server = self.record.as_ref().map_or("", |record| &*record.server);
        let failure = match done.age {
            None => Failure::Call(CallError::ResultDropped { upstream: UpstreamId::new(server), limit }),
            Some(_) => Failure::NoRoom(format!(
                "the result that is kept of an earlier call has {bytes} bytes, and the results in flight already take what \
                 they may of {limit} bytes (`limits.resultBytes`); the tool did not run; read the other results first, then \
                 try again"
            )),
        };
        Err(self.fail_with(failure, done))
    }

    /// Writes the call as failed.
    pub(super) fn fail(&mut self, failure: Failure) -> Failure {
        let code = failure.code();
        self.fail_as(failure, code)
    }

    /// The same under another code.
    pub(super) fn fail_as(&mut self, failure: Failure, code: &'static str) -> Failure {
        self.finish(Outcome::error(failure.message(), code), Some(code));
        failure
    }

    /// The same, with the result that the server gave all the same.
    pub(super) fn fail_with(&mut self, failure: Failure, done: &CallResult) -> Failure {
        let outcome = Outcome::Error {
            message: failure.message().into(),
            code: Some(failure.code().into()),
            result: Some(done.result.to_bytes()),
        };
        self.finish(outcome, Some(failure.code()));
        failure
    }

    fn finish(&mut self, outcome: Outcome, word: Option<&'static str>) {
        let (Some(mut record), Some(permit)) = (self.record.take(), self.permit.take()) else { return };
        record.duration = self.began.elapsed();
        record.outcome = outcome;
        if self.subject == Subject::Request {
            return permit.record(record);
        }
        let provider = record.provider.as_deref();
        self.runtime.call_metrics().call(&record.server, &record.tool, provider, word, record.duration);
        let milliseconds = record.duration.as_millis();
        match word {
            None => tracing::info!(
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
            Outcome::error("the caller went away before the call ended", code::CANCELLED),
            Some(code::CANCELLED),
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
