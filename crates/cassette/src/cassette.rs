//! The file format.

use gateway_protocol::{RawJson, RpcError};
use serde::{Deserialize, Serialize};

use crate::error::CassetteError;
use crate::json_text::{compact, indented};

/// The version of the format.
pub const FORMAT: u64 = 1;

/// A recorded session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cassette {
    /// The version of the format, [`FORMAT`].
    pub cassette: u64,
    /// Where it comes from; nothing depends on it.
    #[serde(default)]
    pub recorded: Recorded,
    /// What clients sent, in this order, and what the server answered.
    pub entries: Vec<Entry>,
}

/// Where a cassette comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// The program that recorded it.
    #[serde(default)]
    pub by: String,
    /// `stdio` or `http`.
    #[serde(default)]
    pub transport: String,
    /// How many secrets were taken out.
    #[serde(default)]
    pub redacted: usize,
}

/// One message of a client, and what the server did about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The request, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Sent>,
    /// The notification, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notification: Option<Sent>,
    /// The name of the stream that this request opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// What the server sent before it answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<ServerMessage>,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// The error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RpcError>,
    /// Whether the request got no answer: it was cancelled, or the session ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unanswered: bool,
    /// What the server sent after its answer, before the next message of a client.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<ServerMessage>,
}

/// A method and its parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sent {
    /// The method.
    pub method: String,
    /// The parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<RawJson>,
}

/// A message that the server sent by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerMessage {
    /// The notification, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notification: Option<Sent>,
    /// The request, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Sent>,
    /// What the client answered to that request, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Reply>,
    /// The stream on which it came, if not on that of the entry: `session`, or the name that an entry gives its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
}

/// The answer of a client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// The error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RpcError>,
}

/// What has to be known before the rest is read.
#[derive(Deserialize)]
struct Header {
    cassette: Option<u64>,
}

impl Cassette {
    /// Reads a cassette.
    pub fn parse(text: &str) -> Result<Self, CassetteError> {
        let text = compact(text);
        // An older program gives a better answer than that a member is unknown.
        match serde_json::from_str::<Header>(&text) {
            Ok(Header { cassette: Some(FORMAT) }) => {}
            Ok(Header { cassette: Some(found) }) => {
                return Err(CassetteError::Version { found, known: FORMAT });
            }
            Ok(Header { cassette: None }) => return Err(CassetteError::Foreign),
            Err(cause) if cause.is_data() => return Err(CassetteError::Foreign),
            Err(cause) => return Err(CassetteError::Json(cause)),
        }
        let cassette: Self = serde_json::from_str(&text).map_err(CassetteError::Json)?;
        for (index, entry) in cassette.entries.iter().enumerate() {
            if let Some(problem) = entry.problem() {
                return Err(CassetteError::Entry { number: index + 1, problem });
            }
        }
        Ok(cassette)
    }

    /// The cassette as indented text.
    pub fn to_text(&self) -> Result<String, CassetteError> {
        let text = serde_json::to_string(self).map_err(CassetteError::Json)?;
        Ok(indented(&compact(&text)))
    }
}

impl Entry {
    /// The message of the client.
    pub fn sent(&self) -> Option<&Sent> {
        self.request.as_ref().or(self.notification.as_ref())
    }

    /// What contradicts itself.
    fn problem(&self) -> Option<&'static str> {
        let answers = [self.result.is_some(), self.error.is_some(), self.unanswered];
        let answers = answers.into_iter().filter(|given| *given).count();
        match (&self.request, &self.notification) {
            (Some(_), Some(_)) | (None, None) => Some("it needs either `request` or `notification`"),
            (Some(_), None) if answers != 1 => {
                Some("a request needs one of `result`, `error` and `\"unanswered\": true`")
            }
            (None, Some(_)) if answers != 0 => {
                Some("a notification has neither `result` nor `error` nor `unanswered`")
            }
            _ => self.before.iter().chain(&self.after).find_map(ServerMessage::problem),
        }
    }
}

impl ServerMessage {
    fn problem(&self) -> Option<&'static str> {
        let both = |reply: &Reply| reply.result.is_some() == reply.error.is_some();
        match (&self.notification, &self.request, &self.response) {
            (None, Some(_), Some(reply)) if both(reply) => {
                Some("a `response` needs either `result` or `error`")
            }
            (Some(_), None, None) | (None, Some(_), _) => None,
            _ => Some(
                "a message in `before` or `after` needs either `notification` or `request`, and only a request has a `response`",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let error = Cassette::parse(text).unwrap_err();
        match std::error::Error::source(&error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        }
    }

    #[test]
    fn what_is_no_cassette_is_refused_with_its_reason() {
        let cases = [
            ("[]", "this is no cassette"),
            ("{\"tools\":[]}", "this is no cassette"),
            ("{", "EOF"),
            ("{\"cassette\":2,\"tapes\":[]}", "format 2"),
            ("{\"cassette\":1}", "missing field `entries`"),
            ("{\"cassette\":1,\"entries\":[],\"speed\":1}", "unknown field `speed`"),
            ("{\"cassette\":1,\"entries\":[{}]}", "entry 1 of the cassette: it needs either"),
            (
                r#"{"cassette":1,"entries":[{"notification":{"method":"a"}},{"request":{"method":"a"}}]}"#,
                "entry 2 of the cassette: a request needs one of",
            ),
            (
                r#"{"cassette":1,"entries":[{"request":{"method":"a"},"result":{},"unanswered":true}]}"#,
                "a request needs one of",
            ),
            (
                r#"{"cassette":1,"entries":[{"notification":{"method":"a"},"result":{}}]}"#,
                "a notification has neither",
            ),
            (
                r#"{"cassette":1,"entries":[{"notification":{"method":"a"},"after":[{"stream":"x"}]}]}"#,
                "needs either `notification` or `request`",
            ),
            (
                r#"{"cassette":1,"entries":[{"notification":{"method":"a"},"after":[{"request":{"method":"b"},"response":{}}]}]}"#,
                "a `response` needs either",
            ),
        ];
        for (text, part) in cases {
            let shown = refused(text);
            assert!(shown.contains(part), "{text}: {shown}");
        }
    }

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let text = r#"{"cassette":1,"recorded":{"by":"x","transport":"stdio","redacted":2},"entries":[{"request":{"method":"tools/call","params":{"name":"a","arguments":{"big":12345678901234567890123,"text":"a\u0000 {\"b\": [1, 2]}"}}},"stream":"s","before":[{"notification":{"method":"n"},"stream":"session"},{"request":{"method":"q"},"response":{"result":{}}}],"error":{"code":-1,"message":"m","data":{"z":1,"a":1.50}},"after":[{"request":{"method":"q"},"response":{"error":{"code":1,"message":""}}}]},{"notification":{"method":"x"}},{"request":{"method":"y"},"unanswered":true}]}"#;
        let cassette = Cassette::parse(text).unwrap();
        let written = cassette.to_text().unwrap();
        assert!(written.lines().count() > 10 && written.lines().all(|line| line.len() < 200), "{written}");
        assert_eq!(compact(&written), text);
        assert_eq!(Cassette::parse(&written).unwrap(), cassette);
    }
}
