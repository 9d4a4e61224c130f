//! A call with nothing unusual about it, read without a tree.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::Map;

use super::super::calls::{Arguments, CallId, Reply, ToolCall};
use crate::dialect::Protocol;
use crate::wire::object::object;

/// A single call as Chat Completions has it: an id, a name, and arguments as text. Most calls are just that. Whatever else a
/// model may say is no `PlainCall` and is read by [`parse_reply`](crate::calls::parse_reply), which reads these too.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlainCall {
    id: String,
    function: Function,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Function {
    name: String,
    arguments: String,
}

impl<'de> Deserialize<'de> for PlainCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Members<'a> {
            id: String,
            #[serde(borrow, rename = "type")]
            kind: Cow<'a, str>,
            #[serde(deserialize_with = "object")]
            function: Function,
        }
        let Members { id, kind, function } = object(deserializer)?;
        if kind != "function" {
            return Err(D::Error::custom("not the call of a function"));
        }
        Ok(Self { id, function })
    }
}

impl PlainCall {
    /// Whether it has an id and a name; what has not is for [`parse_reply`](crate::calls::parse_reply) to refuse.
    pub fn is_whole(&self) -> bool {
        !self.id.is_empty() && !self.function.name.chars().all(char::is_whitespace)
    }

    /// What [`parse_reply`](crate::calls::parse_reply) gives for the same JSON, where the protocol is known or left open.
    pub fn into_reply(self, protocol: Option<Protocol>) -> Reply {
        let call = ToolCall {
            id: CallId::Given(self.id),
            name: self.function.name,
            arguments: Arguments::Text(self.function.arguments),
            item_id: None,
            signature: None,
            extra: Map::new(),
            written: None,
        };
        let protocol = protocol.or(Some(Protocol::Chat));
        Reply { calls: vec![call], protocol, is_bare: true, ..Reply::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{ReadOptions, parse_reply};

    #[test]
    fn a_plain_call_is_read_as_every_call_is() {
        let text = r#"{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\": 1}"}}"#;
        for protocol in [None, Some(Protocol::Chat), Some(Protocol::Messages)] {
            let call: PlainCall = serde_json::from_str(text).unwrap();
            assert!(call.is_whole());
            let options = ReadOptions { protocol, ..ReadOptions::default() };
            let expected = parse_reply(&serde_json::from_str(text).unwrap(), &options).unwrap();
            assert_eq!(call.into_reply(protocol), expected);
        }
    }

    #[test]
    fn what_is_unusual_is_no_plain_call() {
        for text in [
            r#"{"id":"c1","type":"function","function":{"name":"add","arguments":{"a":1}}}"#,
            r#"{"id":"c1","type":"function","function":{"name":"add","arguments":"{}"},"index":0}"#,
            r#"{"id":"c1","id":"c2","type":"function","function":{"name":"add","arguments":"{}"}}"#,
            r#"{"id":"c1","type":"custom","function":{"name":"add","arguments":"{}"}}"#,
            r#"{"type":"function","function":{"name":"add","arguments":"{}"}}"#,
            r#"[{"id":"c1","type":"function","function":{"name":"add","arguments":"{}"}}]"#,
            r#"["c1","function",{"name":"add","arguments":"{}"}]"#,
            r#"{"id":"c1","type":"function","function":["add","{}"]}"#,
            r#"{"id":"c1","type":{"function":null},"function":{"name":"add","arguments":"{}"}}"#,
        ] {
            assert!(serde_json::from_str::<PlainCall>(text).is_err(), "{text}");
        }
        let blank = r#"{"id":"c1","type":"function","function":{"name":" ","arguments":"{}"}}"#;
        assert!(!serde_json::from_str::<PlainCall>(blank).unwrap().is_whole());
    }
}
