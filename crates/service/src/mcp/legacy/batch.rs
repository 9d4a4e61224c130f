//! Several messages at once, which one version of the legacy era has (2025-03-26).

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use gateway_protocol::{Incoming, RawJson, RpcError, allows_batches, code, method, parse_strict_message};
use gateway_upstream::FREE_BYTES;
use serde_json::value::RawValue;

use super::session::Session;
use super::{answer, notified};
use crate::mcp::Endpoint;
use crate::mcp::events::{id_of, message, unreadable};
use gateway_runtime::context::RequestContext;

/// More messages than any client sends at once.
const MESSAGES: usize = 100;

/// Several messages that came as one.
#[derive(Debug)]
pub(in crate::mcp) struct Batch(Vec<Bytes>);

impl Batch {
    /// The messages of a list; nothing where the text is no list of objects.
    pub(in crate::mcp) fn read(text: &Bytes) -> Option<Self> {
        if text.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'[') {
            return None;
        }
        let messages: Vec<&RawValue> = serde_json::from_slice(text).ok()?;
        let are_objects = messages.iter().all(|message| message.get().starts_with('{'));
        (are_objects && !messages.is_empty())
            .then(|| Self(messages.iter().map(|message| text.slice_ref(message.get().as_bytes())).collect()))
    }

    /// Takes the messages at once, in their order; what they need to be answered is left to the future, which gives the list
    /// of answers, if there is any.
    pub(in crate::mcp) fn answer(
        self,
        endpoint: &Endpoint,
        session: &Arc<Session>,
        context: &RequestContext,
    ) -> Result<impl Future<Output = Option<Bytes>> + Send + use<>, RpcError> {
        let refuse = |message: &str| Err(RpcError::new(code::INVALID_REQUEST, message));
        if !session.shaken.get().is_some_and(|shaken| allows_batches(shaken.version)) {
            return refuse("the version of this session has no batches: send one message at a time");
        }
        if self.0.len() > MESSAGES {
            return refuse(&format!("more than {MESSAGES} messages in one batch"));
        }
        let (owned, holding) = (endpoint.clone(), context.clone());
        let mut work = Vec::new();
        for text in self.0 {
            let noted = match parse_strict_message(text) {
                Ok(Incoming::Request(request)) if request.method == method::INITIALIZE => {
                    let error = RpcError::new(code::INVALID_REQUEST, "`initialize` must not be in a batch");
                    Err(Answer::refusal(request.id, error))
                }
                Ok(Incoming::Request(request)) => match session.running(&request.id) {
                    Ok(running) => Ok((request, running)),
                    Err(error) => Err(Answer::refusal(request.id, error)),
                },
                Ok(Incoming::Notification(notification)) => {
                    notified(session, &notification);
                    continue;
                }
                Ok(Incoming::Response(response)) => {
                    session.peer.answered(&response.id, response.outcome);
                    continue;
                }
                Err(error) => {
                    let id = id_of(&error).cloned().unwrap_or_else(RawJson::null);
                    Err(Answer::refusal(id, unreadable(&error)))
                }
            };
            let (endpoint, session, context) = (endpoint.clone(), Arc::clone(session), context.clone());
            work.push(async move {
                let (request, running) = match noted {
                    Ok(noted) => noted,
                    Err(refused) => return Some(refused),
                };
                let (id, sink) = (request.id.clone(), session.sink.clone());
                let outcome = answer(&endpoint, &session, context, request, sink, running).await?;
                let text = message(&id, &outcome);
                Some(Answer { id, text })
            });
        }
        Ok(async move {
            let mut answers: Vec<Answer> = join_all(work).await.into_iter().flatten().collect();
            if answers.is_empty() {
                return None;
            }
            let list = list_of(&answers);
            // The list stands for them; without room, those that are short are all that is left.
            forget_long(&mut answers);
            let refusal = |error: RpcError| {
                for answer in answers.iter_mut().filter(|answer| answer.text.is_empty()) {
                    answer.text = message(&answer.id, &Err(error.clone()));
                }
                list_of(&answers)
            };
            Some(holding.count_message(owned.fleet().results(), list, refusal).await)
        })
    }
}

/// The answer to one message of a batch.
#[derive(Debug)]
struct Answer {
    id: RawJson,
    /// Empty where it was forgotten.
    text: Bytes,
}

impl Answer {
    fn refusal(id: RawJson, error: RpcError) -> Self {
        let text = message(&id, &Err(error));
        Self { id, text }
    }
}

fn list_of(answers: &[Answer]) -> Bytes {
    let mut list = Vec::with_capacity(answers.iter().map(|answer| answer.text.len() + 1).sum::<usize>() + 1);
    for answer in answers {
        list.push(if list.is_empty() { b'[' } else { b',' });
        list.extend_from_slice(&answer.text);
    }
    list.push(b']');
    list.into()
}

/// Forgets the texts of long answers, and of those that are too long together to need no room.
fn forget_long(answers: &mut [Answer]) {
    let mut room = FREE_BYTES / 2;
    for answer in answers {
        match room.checked_sub(answer.text.len()) {
            Some(rest) => room = rest,
            None => answer.text = Bytes::new(),
        }
    }
}
