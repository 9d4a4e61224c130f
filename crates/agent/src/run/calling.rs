//! Running the calls of one reply: several at once, results in the order of the calls.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, stream};
use gateway_dialects::calls::{Arguments, ToolCall};
use gateway_dialects::history::{Block, Content, Message, Role};
use gateway_runtime::failure::{code, error_result};
use serde::Serialize;

use super::guards::Verdict;
use super::shown::{first_text, shown_result};
use super::{Event, Run};
use crate::error::AgentError;
use crate::toolbox::{Offer, ToolOutcome};

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
    /// The word for programs if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
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
        for call in calls {
            let event = Event::CallBegins {
                id: call.id.as_str().to_owned(),
                name: call.name.clone(),
                arguments: arguments_text(call),
            };
            self.emit(event).await?;
        }
        let (tools, deadline) = (Arc::clone(&self.agent.tools), self.deadline);
        let mut running = Vec::with_capacity(calls.len());
        let left = self.agent.limits.calls.saturating_sub(self.finished.calls.len());
        for (index, call) in calls.iter().cloned().enumerate() {
            let (tools, offer) = (Arc::clone(&tools), Arc::clone(offer));
            running.push(if index < left {
                async move { run_call(tools.as_ref(), &offer, &call, deadline).await }.boxed()
            } else {
                // Each call needs a result, else no API takes the conversation.
                std::future::ready(not_run(TOO_MANY, code::CANCELLED, Duration::ZERO)).boxed()
            });
        }
        let mut outcomes = stream::iter(running).buffered(self.agent.limits.at_once);
        let mut verdict = Verdict::GoOn;
        let mut calls = calls.iter();
        while let (Some(call), Some(outcome)) = (calls.next(), outcomes.next().await) {
            let judged = self.add_result(call, outcome).await?;
            if verdict == Verdict::GoOn {
                verdict = judged;
            }
        }
        Ok(verdict)
    }

    async fn add_result(&mut self, call: &ToolCall, outcome: ToolOutcome) -> Result<Verdict, AgentError> {
        let arguments = arguments_text(call);
        let (note, repeated) = self.repeats.take((&call.name, &arguments), outcome.result.as_bytes());
        let block =
            shown_result(call.id.as_str(), &outcome.result, self.agent.limits.result_characters, note);
        let text = first_text(&block);
        let bad = self.bad_calls.take(outcome.is_bad.then_some(text.as_str()));
        let (server, tool) = outcome.ran_on.unzip();
        let report = CallReport {
            id: call.id.as_str().to_owned(),
            name: call.name.clone(),
            arguments,
            server,
            tool,
            result: text,
            code: outcome.code,
            duration: outcome.duration,
        };
        self.add(Message::new(Role::Tool, Content::Blocks(vec![Block::ToolResult(block)]))).await?;
        self.finished.calls.push(report.clone());
        self.emit(Event::CallEnds(report)).await?;
        Ok(if bad == Verdict::GoOn { repeated } else { bad })
    }
}

async fn run_call(
    tools: &dyn crate::toolbox::Toolbox,
    offer: &Offer,
    call: &ToolCall,
    deadline: tokio::time::Instant,
) -> ToolOutcome {
    let begun = tokio::time::Instant::now();
    let outcome = tokio::time::timeout_at(deadline, tools.call(offer, call)).await;
    outcome.unwrap_or_else(|_| not_run(NO_TIME, code::TIMEOUT, begun.elapsed()))
}

fn not_run(reason: &str, code: &'static str, duration: Duration) -> ToolOutcome {
    ToolOutcome { result: error_result(reason), code: Some(code), is_bad: false, ran_on: None, duration }
}

/// The arguments as the model wrote them, as JSON.
fn arguments_text(call: &ToolCall) -> String {
    match &call.arguments {
        Arguments::Missing => "{}".to_owned(),
        Arguments::Text(text) => text.clone(),
        Arguments::Json(value) => value.to_string(),
    }
}
