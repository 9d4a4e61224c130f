//! The JSON-RPC envelope.

use std::fmt;

use bytes::Bytes;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::errors::RpcError;
use crate::object::Key;
use crate::raw::{RawJson, read_json};
use crate::repeated::{Repeated, find_repeated, without_repeats};

/// A received message.
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
    /// The result, as received, or the error.
    pub outcome: Result<RawJson, RpcError>,
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The id, as received; the response repeats it.
    pub id: RawJson,
    /// The method.
    pub method: String,
    /// The parameters, as received.
    pub params: Option<RawJson>,
}

/// A notification.
#[derive(Clone, Debug, PartialEq)]
pub struct Notification {
    /// The method.
    pub method: String,
    /// The parameters, as received.
    pub params: Option<RawJson>,
}

/// The id of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    /// The form that we send.
    Number(u64),
    /// A form that others may send.
    Text(String),
    /// The id of a response to a request whose id could not be read.
    Null,
}

impl RequestId {
    /// Our number, even if the other side returned it as a string.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            Self::Null => None,
        }
    }
}

/// Why a text is not a message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The text is not JSON, or its envelope has fields of a wrong type.
    #[error("reading a JSON-RPC message of {bytes} bytes")]
    Json {
        /// How long the text was.
        bytes: usize,
        /// The parse error.
        #[source]
        cause: serde_json::Error,
    },
    /// JSON, but neither request nor response nor notification.
    #[error("a JSON-RPC message has neither `method` nor `id` with `result` or `error`")]
    Shapeless,
    /// An object has a repeated member.
    #[error("reading a JSON-RPC message: {repeated}")]
    Repeated {
        /// The id of the request, if the message is one and its id can be read.
        id: Option<RawJson>,
        /// Which member.
        repeated: Repeated,
    },
}

/// The known members of a message. Of repeated ones the last counts.
#[derive(Default)]
struct Envelope<'a> {
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    /// Whether a member is or may be repeated: unknown members are not compared.
    suspect: bool,
}

impl<'de: 'a, 'a> Deserialize<'de> for Envelope<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Envelope<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON-RPC message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut envelope = Envelope::default();
                let mut versioned = false;
                while let Some(Key(name)) = map.next_key()? {
                    let member = match name.as_ref() {
                        "id" => &mut envelope.id,
                        "method" => &mut envelope.method,
                        "params" => &mut envelope.params,
                        "result" => &mut envelope.result,
                        "error" => &mut envelope.error,
                        other => {
                            map.next_value::<IgnoredAny>()?;
                            envelope.suspect |= versioned || other != "jsonrpc";
                            versioned = true;
                            continue;
                        }
                    };
                    envelope.suspect |= member.replace(map.next_value()?).is_some();
                }
                Ok(envelope)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Reads one message of a server. The parts of it share the memory of `text`.
///
/// Of repeated members the last one counts. Parameters and errors are rewritten so that every later reader sees the same;
/// a result stays unchanged.
#[expect(
    clippy::needless_pass_by_value,
    reason = "what is read lives on in the parts, so the text is given away"
)]
pub fn parse_message(text: Bytes) -> Result<Incoming, MessageError> {
    let mut incoming = read_envelope(&text)?.message(&text)?;
    match &mut incoming {
        Incoming::Request(Request { params: Some(params), .. })
        | Incoming::Notification(Notification { params: Some(params), .. }) => {
            *params = without_repeats(params);
        }
        Incoming::Request(_) | Incoming::Notification(_) | Incoming::Response(_) => {}
    }
    Ok(incoming)
}

/// Reads one message of a caller. Repeated members at any depth are an error.
#[expect(
    clippy::needless_pass_by_value,
    reason = "what is read lives on in the parts, so the text is given away"
)]
pub fn parse_strict_message(text: Bytes) -> Result<Incoming, MessageError> {
    let envelope = read_envelope(&text)?;
    // Only parts that contain objects are checked, which is cheaper than the whole text.
    let parts = [envelope.params, envelope.result, envelope.error, envelope.id];
    let is_suspect = |part: &RawValue| {
        part.get().starts_with(['{', '[']) && find_repeated(part.get().as_bytes()).is_some()
    };
    let is_suspect = envelope.suspect || parts.into_iter().flatten().any(is_suspect);
    match if is_suspect { find_repeated(&text) } else { None } {
        None => envelope.message(&text),
        Some(repeated) => {
            let id = match envelope.message(&text) {
                Ok(Incoming::Request(request)) => Some(request.id),
                Ok(Incoming::Notification(_) | Incoming::Response(_)) | Err(_) => None,
            };
            let is_of_id = repeated.object.is_empty() && repeated.member == "id";
            Err(MessageError::Repeated { id: id.filter(|_| !is_of_id), repeated })
        }
    }
}

fn read_envelope(text: &Bytes) -> Result<Envelope<'_>, MessageError> {
    // An array is JSON too, but not a message.
    if text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
        && serde_json::from_slice::<IgnoredAny>(text).is_ok()
    {
        return Err(MessageError::Shapeless);
    }
    read_json(text).map_err(|cause| MessageError::Json { bytes: text.len(), cause })
}

impl Envelope<'_> {
    fn message(&self, text: &Bytes) -> Result<Incoming, MessageError> {
        let json = |cause| MessageError::Json { bytes: text.len(), cause };
        // Some servers write absent members as `null`.
        let present = |value: &&RawValue| value.get() != "null";
        let params = self.params.filter(present).map(|params| RawJson::part_of(text, params));
        if let Some(method) = self.method.filter(present) {
            let method = serde_json::from_str(method.get()).map_err(json)?;
            return Ok(match self.id {
                Some(id) => Incoming::Request(Request { id: RawJson::part_of(text, id), method, params }),
                None => Incoming::Notification(Notification { method, params }),
            });
        }
        let id = match self.id {
            Some(id) => read_id(id).map_err(json)?,
            None => RequestId::Null,
        };
        let outcome = match (self.result, self.error.filter(present)) {
            (_, Some(error)) => Err(read_error(&RawJson::part_of(text, error))),
            (Some(result), None) => Ok(RawJson::part_of(text, result)),
            (None, None) => return Err(MessageError::Shapeless),
        };
        Ok(Incoming::Response(Response { id, outcome }))
    }
}

/// The id of an over-long message, from its beginning or its end.
///
/// Programs write the id as the first or the last member of the envelope; elsewhere the same letters may be anything, so
/// only the beginning and the end are searched. Of two ids the last one counts, as in a complete message.
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
    number_after_id(closing).or_else(|| number_after_id(opening))
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

/// The error of the other side; a malformed one is kept as `data`, so that nothing of it is lost.
fn read_error(error: &RawJson) -> RpcError {
    let error = without_repeats(error);
    error.read().unwrap_or_else(|_| RpcError {
        code: crate::errors::code::INTERNAL_ERROR,
        message: "the other side sent a malformed error".to_owned(),
        data: Some(error.clone()),
    })
}
