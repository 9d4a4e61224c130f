//! What a turn is answered with.

use std::sync::Arc;

use gateway_dialects::calls::ToolCall;
use gateway_dialects::calls::text::Notation;
use gateway_dialects::results::{
    Outcome, ReadResult, RenderedResults, ResultChange, ResultFate, ResultMode, read_result, render_mode,
    render_results, render_written_results,
};
use gateway_protocol::RawJson;
use gateway_upstream::UpstreamId;
use serde_json::{Value, json};

use super::Turn;
use super::run::turn_key;
use crate::call::{CallOutcome, CallState};
use crate::failure::{ErrorStyle, Failure};

/// The answer to a turn.
pub struct TurnAnswer {
    /// The body, as JSON.
    pub body: Vec<u8>,
    /// Who was meant, for the figures.
    pub provider: Option<Arc<str>>,
    /// Whether certainly nothing ran.
    pub not_run: bool,
}

impl Turn {
    /// The answer: one call's result or several calls' results, and the messages to append.
    pub fn answer(&self, ran: &[CallOutcome]) -> Result<TurnAnswer, Failure> {
        if let [single] = ran
            && let Some(error) = self.single_failure(single)
        {
            return Err(error);
        }
        let read: Vec<ReadResult> = ran.iter().map(|ran| read_result(ran.result.as_str())).collect();
        let outcomes: Vec<Outcome<'_>> =
            self.reply.calls.iter().zip(&read).map(|(call, read)| outcome_of(call, &read.value)).collect();
        let rendered = self.messages_of(&self.reply.calls, &outcomes);
        let mut body = Vec::with_capacity(ran.iter().map(|ran| ran.result.len()).sum::<usize>() * 2 + 256);
        body.push(b'{');
        if let ([single], [outcome], [call]) = (ran, outcomes.as_slice(), self.reply.calls.as_slice()) {
            body.extend_from_slice(b"\"result\":");
            body.extend_from_slice(self.shown(single, call, outcome).as_bytes());
            single.write_facts(&mut body);
        } else {
            body.extend_from_slice(b"\"results\":[");
            let calls = self.reply.calls.iter();
            for (index, ((one, outcome), call)) in ran.iter().zip(&outcomes).zip(calls).enumerate() {
                body.extend_from_slice(if index > 0 { b",{" } else { b"{" });
                self.write_entry(&mut body, one, call, outcome);
                body.push(b'}');
            }
            body.push(b']');
        }
        body.extend_from_slice(b",\"messages\":");
        write_json(&mut body, &rendered.messages);
        body.extend_from_slice(b",\"provider\":");
        write_json(&mut body, &self.dialect.name);
        if !self.reply.text.is_empty() {
            body.extend_from_slice(b",\"text\":");
            write_json(&mut body, &self.reply.text);
        }
        let changes = changes(&read, &rendered.changes);
        if !changes.is_empty() {
            body.extend_from_slice(b",\"changes\":");
            write_json(&mut body, &changes);
        }
        if !self.reply.skipped.is_empty() {
            let skipped =
                self.reply.skipped.iter().map(
                    |one| json!({"name": one.name, "notation": one.notation.name(), "reason": one.reason}),
                );
            body.extend_from_slice(b",\"skipped\":");
            write_json(&mut body, &skipped.collect::<Vec<_>>());
        }
        body.push(b'}');
        let not_run = ran.iter().all(CallOutcome::did_not_run);
        Ok(TurnAnswer { body, provider: self.origin.provider.clone(), not_run })
    }

    /// What is reported of a turn, behind `inputRequired`, while servers wait for answers of the caller. There are no messages
    /// yet, as the turn is not over.
    pub(super) fn so_far(&self, steps: &[CallState]) -> Vec<u8> {
        let mut body = Vec::with_capacity(512);
        let begun = |step: &CallState, body: &mut Vec<u8>| {
            if let CallState::Waiting(paused) = step {
                paused.outcome.write_facts(body);
            }
        };
        if let [single] = steps {
            begun(single, &mut body);
        } else {
            body.extend_from_slice(b",\"results\":[");
            for (index, (call, step)) in self.reply.calls.iter().zip(steps).enumerate() {
                body.extend_from_slice(if index > 0 { b",{" } else { b"{" });
                match step {
                    CallState::Done(ran) => {
                        let read = read_result(ran.result.as_str());
                        self.write_entry(&mut body, ran, call, &outcome_of(call, &read.value));
                    }
                    CallState::Ahead | CallState::Waiting(_) => {
                        write_name(&mut body, &outcome_of(call, &Value::Null));
                        if let CallState::Waiting(paused) = step {
                            body.extend_from_slice(b",\"inputRequired\":");
                            let keys = paused.requests.iter().map(|(key, _)| turn_key(index, key));
                            write_json(&mut body, &keys.collect::<Vec<_>>());
                        }
                        begun(step, &mut body);
                    }
                }
                body.push(b'}');
            }
            body.push(b']');
        }
        body.extend_from_slice(b",\"provider\":");
        write_json(&mut body, &self.dialect.name);
        body
    }

    fn write_entry(&self, body: &mut Vec<u8>, ran: &CallOutcome, call: &ToolCall, outcome: &Outcome<'_>) {
        write_name(body, outcome);
        body.extend_from_slice(b",\"result\":");
        body.extend_from_slice(self.shown(ran, call, outcome).as_bytes());
        ran.write_facts(body);
    }

    /// The messages to append. What answers calls in the text is text: no provider takes a result without its call.
    fn messages_of(&self, calls: &[ToolCall], outcomes: &[Outcome<'_>]) -> RenderedResults {
        let Some(first) = self.reply.written else {
            return render_results(&self.dialect, outcomes, &self.results);
        };
        let notations = calls.iter().map(|call| call.written.unwrap_or(first));
        let written: Vec<(Notation, Outcome<'_>)> = notations.zip(outcomes.iter().copied()).collect();
        render_written_results(&self.dialect, &written, &self.results)
    }

    /// A result in the form that the caller wants.
    fn shown(&self, ran: &CallOutcome, call: &ToolCall, outcome: &Outcome<'_>) -> RawJson {
        if self.mode == ResultMode::Raw {
            return ran.result.clone();
        }
        let (server, tool) =
            (ran.server.as_ref().map_or("", UpstreamId::as_str), ran.tool.as_deref().unwrap_or_default());
        let origin = format!("{server}/{tool}");
        if self.mode == ResultMode::Provider && self.reply.written.is_some() {
            let (call, outcome) = (std::slice::from_ref(call), std::slice::from_ref(outcome));
            let mut messages = self.messages_of(call, outcome).messages;
            let message = if messages.len() == 1 { messages.swap_remove(0) } else { messages.into() };
            return RawJson::of(&message).unwrap_or_else(|_| RawJson::null());
        }
        RawJson::of(&render_mode(self.mode, &self.dialect, outcome, &origin, &self.results))
            .unwrap_or_else(|_| RawJson::null())
    }

    /// A single call's failure as the failure of the whole request, where it is the caller's own or the caller asked for
    /// precision.
    fn single_failure(&self, ran: &CallOutcome) -> Option<Failure> {
        let failure = ran.failure.as_ref()?;
        let is_whole = matches!(failure, Failure::Request(_)) || self.style == ErrorStyle::Precise;
        is_whole.then(|| failure.clone())
    }
}

impl CallOutcome {
    fn write_facts(&self, body: &mut Vec<u8>) {
        let mut fact = |key: &str, value: Value| {
            body.push(b',');
            write_json(body, key);
            body.push(b':');
            write_json(body, &value);
        };
        if let Some(server) = &self.server {
            fact("server", server.as_str().into());
        }
        if let Some(tool) = &self.tool {
            fact("tool", tool.as_str().into());
        }
        if let Some(code) = self.code {
            fact("code", code.into());
        }
        if let Some(Failure::Ambiguous { candidates, .. }) = &self.failure {
            fact("candidates", candidates.clone().into());
        }
        if self.age.is_some() {
            fact("cached", true.into());
        }
        if !self.notes.is_empty() {
            fact("notes", self.notes.clone().into());
        }
    }
}

/// What is other in the messages than in the results as they came.
fn changes(read: &[ReadResult], rendered: &[ResultChange]) -> Vec<Value> {
    let entry = |result: usize, path: &str, fate: ResultFate, reason: &str| {
        let fate = format!("{fate:?}").to_lowercase();
        json!({"result": result, "path": path, "fate": fate, "reason": reason})
    };
    let substituted = read.iter().enumerate().flat_map(|(result, read)| {
        read.substitutions
            .iter()
            .map(move |part| entry(result, &part.path, ResultFate::Described, &part.reason))
    });
    let arranged =
        rendered.iter().map(|change| entry(change.result, &change.path, change.fate, &change.reason));
    substituted.chain(arranged).collect()
}

fn outcome_of<'a>(call: &'a ToolCall, result: &'a Value) -> Outcome<'a> {
    Outcome { call_id: call.id.given(), wire_name: &call.name, result, kept: None }
}

fn write_name(body: &mut Vec<u8>, outcome: &Outcome<'_>) {
    body.extend_from_slice(b"\"name\":");
    write_json(body, outcome.wire_name);
    if let Some(id) = outcome.call_id {
        body.extend_from_slice(b",\"id\":");
        write_json(body, id);
    }
}

pub(super) fn write_json<T: serde::Serialize + ?Sized>(body: &mut Vec<u8>, value: &T) {
    let before = body.len();
    if serde_json::to_writer(&mut *body, value).is_err() {
        body.truncate(before);
        body.extend_from_slice(b"null");
    }
}
