//! Incoming messages, borrowed from their text: one pass, no trees.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// One message.
#[derive(Debug, Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) params: Option<Params<'a>>,
    /// What the client answers to a request of ours.
    #[serde(borrow, default)]
    pub(crate) result: Option<&'a RawValue>,
    /// That the client refuses a request of ours.
    #[serde(borrow, default)]
    pub(crate) error: Option<&'a RawValue>,
}

/// The parameters that the methods read.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Params<'a> {
    #[serde(borrow, default)]
    pub(crate) name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) cursor: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) uri: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "protocolVersion")]
    pub(crate) protocol_version: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "requestId")]
    pub(crate) request_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) notifications: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) capabilities: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) level: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) argument: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "taskId")]
    pub(crate) task: Option<Cow<'a, str>>,
    /// Present even if it is `null`, which differs from absent.
    #[serde(borrow, default, rename = "inputResponses", deserialize_with = "present")]
    pub(crate) input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestState")]
    pub(crate) request_state: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "_meta")]
    pub(crate) meta: Option<Meta<'a>>,
}

/// The members of `_meta` that are read.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    pub(crate) version: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    pub(crate) capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/logLevel")]
    pub(crate) log_level: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "progressToken")]
    pub(crate) progress_token: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    pub(crate) fn parse(text: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(text)
    }

    pub(crate) fn method(&self) -> &str {
        self.method.as_deref().unwrap_or_default()
    }

    /// The id as text; `null` if absent.
    pub(crate) fn id_text(&self) -> &str {
        self.id.map_or("null", RawValue::get)
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.params.as_ref().and_then(|params| params.name.as_deref())
    }

    /// The arguments of a call as text.
    pub(crate) fn arguments(&self) -> &str {
        self.params.as_ref().and_then(|params| params.arguments).map_or("{}", RawValue::get)
    }

    /// What a message without a method answers to a request of ours.
    pub(crate) fn answer(&self) -> Result<Value, Value> {
        let read = |raw: &RawValue| serde_json::from_str(raw.get()).unwrap_or_default();
        match self.error {
            Some(error) => Err(read(error)),
            None => Ok(self.result.map(read).unwrap_or_default()),
        }
    }

    pub(crate) fn meta(&self) -> Option<&Meta<'a>> {
        self.params.as_ref().and_then(|params| params.meta.as_ref())
    }

    pub(crate) fn progress_token(&self) -> Option<&'a RawValue> {
        self.meta().and_then(|meta| meta.progress_token)
    }
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}
