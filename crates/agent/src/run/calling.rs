//! Running the calls of one reply: several at once, results in the order of the calls.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use gateway_dialects::calls::text::RefusedCall;
use gateway_dialects::calls::{Reply, ToolCall};
use gateway_dialects::history::{Block, Content, Message, Role};
use gateway_dialects::results::read_result;
use gateway_runtime::failure::{code, error_result};
use serde::Serialize;
use serde_json::Value;

use super::guards::Verdict;
use super::next_step::ask_for_next_step;
use super::reader::read_piece;
use super::shown::{Shown, result_block, shown, text_of_result, written_results};
use super::{Event, Run};
use crate::error::AgentError;
use crate::toolbox::{Offer, ToolOutcome, Toolbox};

/// What came of a call, for whoever watches.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallReport {
    /// The id that the model gave it.
    pub id: String,
    /// The tool, as the model calls it.
    pub name: String,
    /// The arguments, as JSON.
    pub arguments: String,
    /// The server that ran it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The name of the tool there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the model was shown of the result.
    pub result: String,
    /// The id under which the whole result is kept, if the model was shown a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_id: Option<String>,
    /// The word for programs if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// What was done to the arguments before it ran: repaired, or read as the type that the tool wants.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Value>,
    /// How long it took.
    #[serde(skip)]
    pub duration: Duration,
}

/// The result of a call for which there was no time.
const NO_TIME: &str = "The call was stopped: the time for this message is over. It may have run.";

/// The result of a call that would have been one too many.
const TOO_MANY: &str = "The call was not made: there were too many calls for this message.";

impl Run<'_> {
    /// Runs calls, and adds their results to the conversation.
    pub(super) async fn run_calls(
        &mut self,
        calls: &[ToolCall],
        offer: &Arc<Offer>,
    ) -> Result<Verdict, AgentError> {
        let mut outcomes = self.begin(calls, offer).await?;
        let mut verdict = Verdict::GoOn;
        let mut calls = calls.iter();
        while let (Some(call), Some(outcome)) = (calls.next(), outcomes.next().await) {
            let outcome = self.screened(outcome).await;
            let (note, judged) = self.judge(call, &outcome);
            let shown = self.shown(&outcome, note).await;
            let block = result_block(call.id.as_str(), &shown.result);
            self.add(Message::new(Role::Tool, Content::Blocks(vec![Block::ToolResult(block)]))).await?;
            self.report(call, outcome, &shown).await?;
            verdict = verdict.or(judged);
        }
        Ok(verdict)
    }

    /// Runs calls that the model wrote as text. Their results are text too, in the notation of the calls: one message of the user.
    pub(super) async fn run_written(
        &mut self,
        reply: Reply,
        offer: &Arc<Offer>,
    ) -> Result<Verdict, AgentError> {
        let mut outcomes = self.begin(&reply.calls, offer).await?;
        let mut good = reply.calls.into_iter();
        let mut refused = reply.refused.into_iter().peekable();
        let mut verdict = Verdict::GoOn;
        let mut results = Vec::new();
        for position in 0.. {
            let (call, outcome) = match refused.next_if(|refused| refused.position == position) {
                Some(RefusedCall { call, refusal, .. }) => (call, refused_outcome(&refusal)),
                None => match (good.next(), outcomes.next().await) {
                    (Some(call), Some(outcome)) => (call, outcome),
                    _ => break,
                },
            };
            let outcome = self.screened(outcome).await;
            let (note, judged) = self.judge(&call, &outcome);
            let shown = self.shown(&outcome, note).await;
            self.report(&call, outcome, &shown).await?;
            verdict = verdict.or(judged);
            results.push((call, shown.result));
        }
        let mut message = written_results(&results, self.asking.notations());
        ask_for_next_step(&mut message, self.history.request().as_deref(), self.written_results);
        self.written_results += 1;
        self.add(message).await?;
        Ok(verdict)
    }

    /// Begins calls; what comes of them comes in their order.
    async fn begin(
        &mut self,
        calls: &[ToolCall],
        offer: &Arc<Offer>,
    ) -> Result<BoxStream<'static, ToolOutcome>, AgentError> {
        let deadline = self.deadline;
        let left = self.agent.limits.calls.saturating_sub(self.finished.calls.len());
        let mut running = Vec::with_capacity(calls.len());
        for (index, call) in calls.iter().cloned().enumerate() {
            let event = Event::CallBegins {
                id: call.id.as_str().to_owned(),
                name: call.name.clone(),
                arguments: self.shown_arguments(&call).await,
            };
            self.emit(event).await?;
            if index >= left {
                // Each call needs a result, else no API takes the conversation.
                running.push(std::future::ready(not_run(TOO_MANY, code::CANCELLED, Duration::ZERO)).boxed());
                continue;
            }
            let (tools, offer) = (Arc::clone(&self.agent.tools), Arc::clone(offer));
            let reader = self.keeper.clone().filter(|_| self.asking.is_reader(&call.name));
            running.push(
                async move {
                    match reader {
                        Some(keeper) => read_piece(&keeper, &call).await,
                        None => run_call(tools.as_ref(), &offer, &call, deadline).await,
                    }
                }
                .boxed(),
            );
        }
        Ok(stream::iter(running).buffered(self.agent.limits.at_once).boxed())
    }

    /// An outcome without the personal data that may not be passed on.
    async fn screened(&self, outcome: ToolOutcome) -> ToolOutcome {
        match &self.agent.screen {
            Some(screen) => screen.outcome(outcome).await,
            None => outcome,
        }
    }

    /// The arguments of a call for whoever watches.
    async fn shown_arguments(&self, call: &ToolCall) -> String {
        let arguments = call.arguments.to_text().into_owned();
        match &self.agent.screen {
            Some(screen) => screen.shown_arguments(arguments).await,
            None => arguments,
        }
    }

    /// What the model is shown of a result. Where that is not all, it is offered a tool that reads the rest.
    async fn shown(&mut self, outcome: &ToolOutcome, note: Option<String>) -> Shown {
        let most = self.agent.limits.result_characters;
        let shown = shown(&outcome.result, most, note, self.keeper.as_ref()).await;
        if shown.kept_as.is_some() {
            self.asking.offer_reader();
        }
        shown
    }

    /// The note that the model gets beside a result, and whether the loop goes on after it.
    fn judge(&mut self, call: &ToolCall, outcome: &ToolOutcome) -> (Option<String>, Verdict) {
        let (note, repeated) =
            self.repeats.take((&call.name, &call.arguments.to_text()), outcome.result.as_bytes());
        let reason = outcome.is_bad.then(|| text_of_result(&read_result(outcome.result.as_str()).value));
        (note, self.bad_calls.take(reason.as_deref()).or(repeated))
    }

    async fn report(
        &mut self,
        call: &ToolCall,
        outcome: ToolOutcome,
        shown: &Shown,
    ) -> Result<(), AgentError> {
        let (server, tool) = outcome.ran_on.unzip();
        let report = CallReport {
            id: call.id.as_str().to_owned(),
            name: call.name.clone(),
            arguments: self.shown_arguments(call).await,
            server,
            tool,
            result: text_of_result(&shown.result),
            result_id: shown.kept_as.clone(),
            code: outcome.code,
            notes: outcome.notes,
            duration: outcome.duration,
        };
        self.finished.calls.push(report.clone());
        self.emit(Event::CallEnds(Box::new(report))).await
    }
}

/// The outcome of a call that its tool does not take.
fn refused_outcome(refusal: &str) -> ToolOutcome {
    ToolOutcome {
        result: error_result(refusal),
        code: Some(code::VALIDATION_ERROR),
        is_bad: true,
        ran_on: None,
        notes: Vec::new(),
        duration: Duration::ZERO,
    }
}

async fn run_call(
    tools: &dyn Toolbox,
    offer: &Offer,
    call: &ToolCall,
    deadline: tokio::time::Instant,
) -> ToolOutcome {
    let begun = tokio::time::Instant::now();
    let outcome = tokio::time::timeout_at(deadline, tools.call(offer, call)).await;
    outcome.unwrap_or_else(|_| not_run(NO_TIME, code::TIMEOUT, begun.elapsed()))
}

fn not_run(reason: &str, code: &'static str, duration: Duration) -> ToolOutcome {
    ToolOutcome {
        result: error_result(reason),
        code: Some(code),
        is_bad: false,
        ran_on: None,
        notes: Vec::new(),
        duration,
    }
}
