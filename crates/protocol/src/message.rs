//! The JSON-RPC envelope.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::errors::RpcError;
use crate::raw::RawJson;

/// A message that came in.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// The answer to a request of ours.
    Response(Response),
    /// A request from the other side.
    Request(Request),
    /// A notification.
    Notification(Notification),
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Which request it answers.
    pub id: RequestId,
    /// The result as it came, or the error.
    pub outcome: Result<RawJson, RpcError>,
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The id as it came; the answer repeats it.
    pub id: RawJson,
    /// The method.
    pub method: String,
    /// The parameters as they came.
    pub params: Option<RawJson>,
}

/// A notification.
#[derive(Clone, Debug, PartialEq)]
pub struct Notification {
    /// The method.
    pub method: String,
    /// The parameters as they came.
    pub params: Option<RawJson>,
}

/// The id of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    /// What we send.
    Number(u64),
    /// What others may send.
    Text(String),
    /// An answer to a request whose id could not be read.
    Null,
}

impl RequestId {
    /// Our number, also where the other side gave it back as a text.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            Self::Null => None,
        }
    }
}

/// Why a text is no message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The text is not JSON, or its envelope has fields of a wrong type.
    #[error("reading a JSON-RPC message of {bytes} bytes")]
    Json {
        /// How long the text was.
        bytes: usize,
        /// What stood in the way.
        #[source]
        cause: serde_json::Error,
    },
    /// JSON, but neither request nor response nor notification.
    #[error("a JSON-RPC message has neither `method` nor `id` with `result` or `error`")]
    Shapeless,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Keeps an explicit `null` apart from an absent member.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one message. The parts of it share the memory of `text`.
#[expect(
    clippy::needless_pass_by_value,
    reason = "what is read lives on in the parts, so the text is given away"
)]
pub fn parse_message(text: Bytes) -> Result<Incoming, MessageError> {
    // A list would be read as the members of an envelope without their names.
    if text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
        && serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok()
    {
        return Err(MessageError::Shapeless);
    }
    let envelope: Envelope<'_> =
        serde_json::from_slice(&text).map_err(|cause| MessageError::Json { bytes: text.len(), cause })?;
    let params = envelope.params.filter(|params| params.get() != "null");
    let params = params.map(|params| RawJson::part_of(&text, params));
    if let Some(method) = envelope.method {
        let method = method.into_owned();
        return Ok(match envelope.id {
            Some(id) => Incoming::Request(Request { id: RawJson::part_of(&text, id), method, params }),
            None => Incoming::Notification(Notification { method, params }),
        });
    }
    let json = |cause| MessageError::Json { bytes: text.len(), cause };
    let id = match envelope.id {
        Some(id) => read_id(id).map_err(json)?,
        None => RequestId::Null,
    };
    let outcome = match (envelope.result, envelope.error) {
        (_, Some(error)) => Err(read_error(error)),
        (Some(result), None) => Ok(RawJson::part_of(&text, result)),
        (None, None) => return Err(MessageError::Shapeless),
    };
    Ok(Incoming::Response(Response { id, outcome }))
}

/// The id of an over-long message, from its beginning or its end.
///
/// Programs write the id as the first or as the last member of the envelope; deeper in the text the same letters may be
/// anything, so only these two places count.
pub fn find_id(head: &[u8], tail: &[u8]) -> Option<u64> {
    let head = String::from_utf8_lossy(head);
    let opening = head.split(['[', '}']).next().unwrap_or_default();
    let opening = match opening.match_indices('{').nth(1) {
        Some((nested, _)) => opening.get(..nested).unwrap_or_default(),
        None => opening,
    };
    let tail = String::from_utf8_lossy(tail);
    let closing = tail.trim_end().strip_suffix('}').unwrap_or_default();
    let closing = closing.rsplit(['}', ']']).next().unwrap_or_default();
    number_after_id(opening).or_else(|| number_after_id(closing))
}

fn number_after_id(text: &str) -> Option<u64> {
    let (_, rest) = text.rsplit_once("\"id\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    let rest = rest.strip_prefix('"').unwrap_or(rest);
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..digits)?.parse().ok()
}

fn read_id(id: &RawValue) -> Result<RequestId, serde_json::Error> {
    if id.get() == "null" {
        return Ok(RequestId::Null);
    }
    serde_json::from_str(id.get()).or_else(|error| {
        // `7.0` is the number 7; some languages have no other numbers.
        match serde_json::from_str::<f64>(id.get()) {
            Ok(_) => Ok(RequestId::Text(id.get().trim_end_matches(".0").to_owned())),
            Err(_) => Err(error),
        }
    })
}

/// An error as the other side meant it, even where it is malformed: nothing of it may vanish.
fn read_error(error: &RawValue) -> RpcError {
    serde_json::from_str(error.get()).unwrap_or_else(|_| RpcError {
        code: crate::errors::code::INTERNAL_ERROR,
        message: "the other side sent a malformed error".to_owned(),
        data: RawJson::parse(error.get().to_owned()).ok(),
    })
}
