//! How flows ask: by results of the modern era, by requests of the legacy era.

use std::sync::Arc;

use gateway_protocol::{RpcError, code};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::flows::{self, Round, Step, step};
use super::questions::Question;
use super::{Answer, Answered, Asked, lacks};
use crate::exchange::SpeaksNow;
use crate::notify::Outbox;
use crate::session::Session;

/// More questions than any flow has, against endless loops.
const MOST_ROUNDS: usize = 8;

/// Starts or continues a flow.
pub(super) fn drive(asked: Asked<'_>, flow: &str) -> Answered {
    match asked.era() {
        SpeaksNow::Legacy => Ok(Answer::Later),
        SpeaksNow::Modern => {
            let (answers, state) = (answers_of(asked)?, state_of(asked, flow)?);
            let round = Round { answers, state, ..asked.first_round() };
            match step(flow, &round) {
                Some(Step::Done(result)) => Ok(asked.complete(result)),
                Some(Step::Failed(error)) => Err(error),
                Some(Step::Ask(questions, state)) => {
                    input_required(asked, flow, &questions, state.as_ref(), &round.capabilities)
                }
                None => Err(RpcError::new(code::INTERNAL_ERROR, "there is no such flow")),
            }
        }
    }
}

/// The answers in a modern request.
pub(super) fn answers_of(asked: Asked<'_>) -> Result<Map<String, Value>, RpcError> {
    let raw = asked.message.params.as_ref().and_then(|params| params.input_responses);
    let Some(raw) = raw else { return Ok(Map::new()) };
    let answers: Option<Map<String, Value>> = serde_json::from_str(raw.get()).ok();
    let answers = answers.filter(|answers| answers.values().all(Value::is_object));
    answers.ok_or_else(|| RpcError::new(code::INVALID_PARAMS, "inputResponses must be an object of objects"))
}

fn state_of(asked: Asked<'_>, flow: &str) -> Result<Option<Value>, RpcError> {
    let text = asked.message.params.as_ref().and_then(|params| params.request_state.as_deref());
    let Some(text) = text else { return Ok(None) };
    match asked.everything.seal.open(flow, text) {
        Some(state) => Ok(Some(state)),
        None => Err(RpcError::new(code::INVALID_PARAMS, "this requestState was not given for this request")),
    }
}

fn input_required(
    asked: Asked<'_>,
    flow: &str,
    questions: &[Question],
    state: Option<&Value>,
    capabilities: &Value,
) -> Answered {
    let missing = missing(questions, capabilities);
    if !missing.is_empty() {
        return Err(lacks(&Value::Object(missing)));
    }
    let requests: Map<String, Value> =
        questions.iter().map(|question| (question.key.to_owned(), question.to_request())).collect();
    let mut result = json!({"resultType": "input_required", "inputRequests": requests});
    if let Some(state) = state {
        result["requestState"] = json!(asked.everything.seal.close(flow, state));
    }
    Ok(Answer::Now(result))
}

/// The capabilities that the questions need and the client lacks.
fn missing(questions: &[Question], capabilities: &Value) -> Map<String, Value> {
    let needed = questions.iter().map(Question::capability);
    needed.filter(|need| !capabilities[*need].is_object()).map(|need| (need.to_owned(), json!({}))).collect()
}

/// Runs a flow to its end by asking a legacy client; `None` if it was cancelled.
pub(super) async fn drive_legacy(
    asked: Asked<'_>,
    flow: &str,
    cancelled: &CancellationToken,
) -> Option<Result<Value, RpcError>> {
    let (Some(session), Some(outbox)) = (&asked.exchange.session, &asked.exchange.related) else {
        return Some(unable(flow, "there is no connection on which the client could be asked"));
    };
    let mut round = asked.first_round();
    for _ in 0..MOST_ROUNDS {
        let questions = match step(flow, &round) {
            Some(Step::Done(result)) => return Some(Ok(result)),
            Some(Step::Failed(error)) => return Some(Err(error)),
            Some(Step::Ask(questions, state)) => {
                round.state = state;
                questions
            }
            None => break,
        };
        if let Some((lack, _)) = missing(&questions, &round.capabilities).iter().next() {
            return Some(unable(flow, &format!("the client does not support {lack}")));
        }
        for question in questions {
            let answer = tokio::select! {
                () = cancelled.cancelled() => return None,
                answer = put(session, outbox, &question) => answer,
            };
            // A cancellation is sent before the answer, but both may have arrived since the last check.
            if cancelled.is_cancelled() {
                return None;
            }
            match answer {
                Ok(answer) => round.answers.insert(question.key.to_owned(), answer),
                Err(error) => return Some(unable(flow, &format!("the client refused: {error}"))),
            };
        }
    }
    Some(unable(flow, "the questions have no end"))
}

/// Sends one request to the client and waits for its answer.
async fn put(session: &Arc<Session>, outbox: &Outbox, question: &Question) -> Result<Value, Value> {
    let (id, answer) = session.expect_answer();
    let mut params = question.params.clone();
    if session.client(|client| client.version.as_str() < gateway_protocol::LATEST_LEGACY)
        && let Some(params) = params.as_object_mut()
    {
        // Elicitations have a mode since 2025-11-25.
        params.shift_remove("mode");
    }
    let request = json!({"jsonrpc": "2.0", "id": id, "method": question.method, "params": params});
    outbox.send(request.to_string().as_bytes());
    answer.await.unwrap_or_else(|_| Err(json!("the session is over")))
}

/// The error for a legacy client that cannot be asked.
fn unable(flow: &str, why: &str) -> Result<Value, RpcError> {
    match flows::unable(flow, why) {
        Step::Failed(error) => Err(error),
        Step::Done(result) => Ok(result),
        Step::Ask(..) => Err(RpcError::new(code::INTERNAL_ERROR, why)),
    }
}
