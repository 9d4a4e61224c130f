//! Several messages at once, which one version of the legacy era has (2025-03-26).

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use gateway_protocol::{Incoming, RawJson, RpcError, allows_batches, code, method, parse_strict_message};
use gateway_upstream::FREE_BYTES;
use http::StatusCode;
use serde_json::value::RawValue;

use super::{answer, note};
use crate::endpoint::Endpoint;
use crate::response::{Refused, message};
use crate::sessions::Session;
use gateway_runtime::context::RequestContext;

/// More messages than any client sends at once.
const MESSAGES: usize = 100;

/// Several messages that came as one.
#[derive(Debug)]
pub(crate) struct Batch(Vec<Bytes>);

impl Batch {
    /// The messages of a list; `None` if the text is no list of objects.
    pub(crate) fn read(text: &Bytes) -> Option<Self> {
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
    pub(crate) fn answer(
        self,
        endpoint: &Endpoint,
        session: &Arc<Session>,
        context: &RequestContext,
    ) -> Result<impl Future<Output = Option<Bytes>> + Send + use<>, Refused> {
        let refuse = |message: &str| {
            let error = RpcError::new(code::INVALID_REQUEST, message);
            Err(Refused::new(StatusCode::BAD_REQUEST, None, error))
        };
        if !session.handshake.get().is_some_and(|handshake| allows_batches(handshake.version)) {
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
                    Err(Refused::new(StatusCode::BAD_REQUEST, Some(request.id), error))
                }
                Ok(incoming) => match note(session, incoming) {
                    Ok(None) => continue,
                    Ok(Some(running)) => Ok(running),
                    Err(refused) => Err(refused),
                },
                Err(error) => Err(Refused::unreadable(&error)),
            };
            let (endpoint, context) = (endpoint.clone(), context.clone());
            work.push(async move {
                let running = match noted {
                    Ok(running) => running,
                    Err(refused) => return Some(Answer::of(refused)),
                };
                let outcome = answer(&endpoint, context, running.session.sink.clone(), &running).await?;
                let id = running.request.id.clone();
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
    fn of(refused: Refused) -> Self {
        Self { id: refused.id(), text: refused.message() }
    }
}

fn list_of(answers: &[Answer]) -> Bytes {
    let texts: Vec<&[u8]> = answers.iter().map(|answer| &answer.text[..]).collect();
    [b"[", &texts.join(&b',')[..], b"]"].concat().into()
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
