//! What a turn is answered with.

use gateway_dialects::Protocol;
use gateway_dialects::calls::ToolCall;
use gateway_dialects::calls::text::Notation;
use gateway_dialects::results::{
    Outcome, PlainResult, ReadResult, RenderedResults, ResultChange, ResultFate, ResultMode, read_result,
    render_mode, render_plain_results, render_results, render_written_results,
};
use gateway_protocol::RawJson;
use gateway_upstream::UpstreamId;
use serde_json::{Value, json};

use super::run::turn_key;
use super::{Turn, TurnRun};
use crate::Runtime;
use crate::call::{CallOutcome, CallState};
use crate::context::RequestContext;
use crate::failure::{ErrorStyle, Failure};

/// Stands for a result that nobody has to read.
static UNREAD: Value = Value::Null;

/// The answer to a turn.
pub struct TurnAnswer {
    /// The body, as JSON.
    pub body: Vec<u8>,
    /// Whether certainly nothing ran.
    pub not_run: bool,
}

impl TurnRun {
    /// The answer, once no call can go on: one call's result or several calls' results, and the messages to append; or what
    /// has to be known before there can be more.
    pub fn answer(self, runtime: &Runtime, context: &RequestContext) -> Result<TurnAnswer, Failure> {
        let (turn, ran) = (&self.turn, self.outcomes());
        if ran.len() < self.calls.len() {
            return self.set_aside(runtime, context);
        }
        if let [single] = ran.as_slice()
            && let Some(error) = turn.single_failure(single)
        {
            return Err(error);
        }
        let calls = turn.reply.calls.iter();
        let plain: Option<Vec<PlainResult<'_>>> = if turn.may_answer_plainly() {
            ran.iter().map(|ran| PlainResult::read(ran.result.as_str())).collect()
        } else {
            None
        };
        let read: Vec<ReadResult> = match &plain {
            Some(_) => Vec::new(),
            None => ran.iter().map(|ran| read_result(ran.result.as_str())).collect(),
        };
        let (outcomes, rendered) = if let Some(plain) = plain {
            let outcomes: Vec<Outcome<'_>> = calls.map(|call| outcome_of(call, &UNREAD)).collect();
            let rendered = render_plain_results(&turn.dialect, &outcomes, &plain, &turn.options.results);
            (outcomes, rendered)
        } else {
            let outcomes: Vec<Outcome<'_>> =
                calls.zip(&read).map(|(call, read)| outcome_of(call, &read.value)).collect();
            let rendered = turn.messages_of(&turn.reply.calls, &outcomes);
            (outcomes, rendered)
        };
        let mut body = Vec::with_capacity(ran.iter().map(|ran| ran.result.len()).sum::<usize>() * 2 + 256);
        body.push(b'{');
        if let ([single], [outcome], [call]) =
            (ran.as_slice(), outcomes.as_slice(), turn.reply.calls.as_slice())
        {
            body.extend_from_slice(b"\"result\":");
            body.extend_from_slice(turn.shown(single, call, outcome).as_bytes());
            single.write_facts(&mut body);
        } else {
            body.extend_from_slice(b"\"results\":[");
            let calls = turn.reply.calls.iter();
            for (index, ((one, outcome), call)) in ran.iter().zip(&outcomes).zip(calls).enumerate() {
                body.extend_from_slice(if index > 0 { b",{" } else { b"{" });
                turn.write_entry(&mut body, one, call, outcome);
                body.push(b'}');
            }
            body.push(b']');
        }
        write_member(&mut body, ",\"messages\":", &rendered.messages);
        // A dialect that was named is that of the answer, also where a call had the other form of its list.
        let taken = ran.iter().filter(|_| turn.is_detected).find_map(|ran| ran.dialect.as_ref());
        let taken = taken.unwrap_or(&turn.dialect);
        write_member(&mut body, ",\"provider\":", &taken.name);
        if !turn.reply.text.is_empty() {
            write_member(&mut body, ",\"text\":", &turn.reply.text);
        }
        if !turn.reply.reasoning.is_empty() {
            write_member(&mut body, ",\"reasoning\":", &turn.reply.reasoning);
        }
        if let Some(usage) = turn.reply.usage {
            write_member(&mut body, ",\"usage\":", &usage);
        }
        let changes = changes(&read, &rendered.changes);
        if !changes.is_empty() {
            write_member(&mut body, ",\"changes\":", &changes);
        }
        if !turn.reply.skipped.is_empty() {
            let skipped =
                turn.reply.skipped.iter().map(
                    |one| json!({"name": one.name, "notation": one.notation.name(), "reason": one.reason}),
                );
            write_member(&mut body, ",\"skipped\":", &skipped.collect::<Vec<_>>());
        }
        body.push(b'}');
        let not_run = ran.iter().all(|ran| ran.did_not_run());
        Ok(TurnAnswer { body, not_run })
    }
}

impl Turn {
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
                            let keys = paused.requests.iter().map(|(key, _)| turn_key(index, key));
                            write_member(&mut body, ",\"inputRequired\":", &keys.collect::<Vec<_>>());
                        }
                        begun(step, &mut body);
                    }
                }
                body.push(b'}');
            }
            body.push(b']');
        }
        write_member(&mut body, ",\"provider\":", &self.dialect.name);
        body
    }

    fn write_entry(&self, body: &mut Vec<u8>, ran: &CallOutcome, call: &ToolCall, outcome: &Outcome<'_>) {
        write_name(body, outcome);
        body.extend_from_slice(b",\"result\":");
        body.extend_from_slice(self.shown(ran, call, outcome).as_bytes());
        ran.write_facts(body);
    }

    /// Whether results that are plain text need not be read further: they are shown as they came, and answer native calls of a
    /// dialect that has results of its own.
    fn may_answer_plainly(&self) -> bool {
        let has_own_results = self.dialect.messages.protocol != Protocol::Mcp;
        self.options.mode == ResultMode::Raw && self.reply.written.is_none() && has_own_results
    }

    /// The messages to append. What answers calls in the text is text: no provider takes a result without its call.
    fn messages_of(&self, calls: &[ToolCall], outcomes: &[Outcome<'_>]) -> RenderedResults {
        let Some(first) = self.reply.written else {
            return render_results(&self.dialect, outcomes, &self.options.results);
        };
        let notations = calls.iter().map(|call| call.written.unwrap_or(first));
        let written: Vec<(Notation, Outcome<'_>)> = notations.zip(outcomes.iter().copied()).collect();
        render_written_results(&self.dialect, &written, &self.options.results)
    }

    /// A result in the form that the caller wants.
    fn shown(&self, ran: &CallOutcome, call: &ToolCall, outcome: &Outcome<'_>) -> RawJson {
        if self.options.mode == ResultMode::Raw {
            return ran.result.clone();
        }
        let (server, tool) =
            (ran.server.as_ref().map_or("", UpstreamId::as_str), ran.tool.as_deref().unwrap_or_default());
        let origin = format!("{server}/{tool}");
        if self.options.mode == ResultMode::Provider && self.reply.written.is_some() {
            let (call, outcome) = (std::slice::from_ref(call), std::slice::from_ref(outcome));
            let mut messages = self.messages_of(call, outcome).messages;
            let message = if messages.len() == 1 { messages.swap_remove(0) } else { messages.into() };
            return RawJson::of(&message).unwrap_or_else(|_| RawJson::null());
        }
        let mut options = self.options.results.clone();
        options.ids = vec![call.id.as_str().to_owned()];
        RawJson::of(&render_mode(self.options.mode, &self.dialect, outcome, &origin, &options))
            .unwrap_or_else(|_| RawJson::null())
    }

    /// A single call's failure as the failure of the whole request, where it is the caller's own or the caller asked for
    /// precision.
    fn single_failure(&self, ran: &CallOutcome) -> Option<Failure> {
        let failure = ran.failure.as_ref()?;
        // Whoever sends a whole reply gets a message for the model, whatever is wrong with the call.
        let is_callers = self.reply.is_bare && matches!(failure, Failure::Request(_));
        (is_callers || self.options.style == ErrorStyle::Precise).then(|| failure.clone())
    }
}

impl CallOutcome {
    fn write_facts(&self, body: &mut Vec<u8>) {
        if let Some(server) = &self.server {
            write_member(body, ",\"server\":", server.as_str());
        }
        if let Some(tool) = &self.tool {
            write_member(body, ",\"tool\":", tool);
        }
        if let Some(code) = self.code {
            write_member(body, ",\"code\":", code);
        }
        if let Some(Failure::Ambiguous { candidates, .. }) = &self.failure {
            write_member(body, ",\"candidates\":", candidates);
        }
        if self.age.is_some() {
            body.extend_from_slice(b",\"cached\":true");
        }
        if !self.notes.is_empty() {
            write_member(body, ",\"notes\":", &self.notes);
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
    // No provider takes a result for nobody.
    let wire_name = if call.name.trim().is_empty() { "unknown" } else { &call.name };
    Outcome { call_id: call.id.given(), wire_name, result, kept: None }
}

fn write_name(body: &mut Vec<u8>, outcome: &Outcome<'_>) {
    write_member(body, "\"name\":", outcome.wire_name);
    if let Some(id) = outcome.call_id {
        write_member(body, ",\"id\":", id);
    }
}

/// Writes a value behind `before`, which is JSON already.
pub(super) fn write_member<T: serde::Serialize + ?Sized>(body: &mut Vec<u8>, before: &str, value: &T) {
    body.extend_from_slice(before.as_bytes());
    let start = body.len();
    if serde_json::to_writer(&mut *body, value).is_err() {
        body.truncate(start);
        body.extend_from_slice(b"null");
    }
}
