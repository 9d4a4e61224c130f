//! Tool calls as models send them.
//!
//! [`parse_reply`] takes a single call, a list of calls, a message, a whole response or the chunks of a streamed one, as JSON, as
//! text, or as plain text with tool use in it, of any provider, and gives the calls in one form. Calls are taken out of text only where
//! [`ReadOptions::text`] asks for it.

mod collect;
mod error;
mod ids;
mod route;
mod shape;
pub mod text;

pub use crate::arguments::Arguments;
pub use crate::wire::chat::PlainCall;
pub use error::CallError;
pub use ids::CallId;
pub use route::{RouteFormat, parse_route, render_route_error, render_route_result, route_format};

use serde_json::{Map, Value, json};

use crate::arguments::{BadArguments, Parsed, parse_arguments};
use crate::dialect::Protocol;
use crate::wire::Object;
use crate::wire::stream::{Usage, protocol_of, read_chunks, recognised_chunks};

pub use text::TextScan;

pub(crate) use collect::{Envelope, listed_keys};
pub(crate) use ids::Ids;
pub(crate) use shape::{
    ARGS, ARGUMENTS, INPUT, Layout, Malformed, RawCall, carried_signature, inner, part_signature, read_call,
};

use collect::Collector;

/// One tool call of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id under which the result is returned.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as they came.
    pub arguments: Arguments,
    /// The id of the item around the call, where the provider gives it one of its own.
    pub item_id: Option<String>,
    /// The thought signature that has to be replayed with the call, byte for byte.
    pub signature: Option<String>,
    /// Members of the call that are none of the above, as they came.
    pub extra: Map<String, Value>,
    /// How it is written, if it was found in the text. Its result is then text too.
    pub written: Option<text::Notation>,
}

impl ToolCall {
    /// The arguments as an object; `label` is the provider's name in error texts and may be empty.
    pub fn arguments_object(&self, label: &str, bad: BadArguments) -> Result<Parsed, CallError> {
        parse_arguments(&self.arguments, bad)
            .map_err(|cause| CallError::Arguments { label: label.to_owned(), cause })
    }

    /// The call in the neutral format, with these arguments or with the reason why there are none.
    pub fn to_neutral(&self, input: Result<Map<String, Value>, Value>) -> Value {
        let mut row = json!({"type": "tool_use", "id": self.id.as_str(), "name": self.name});
        match input {
            Ok(input) => row["input"] = Value::Object(input),
            Err(error) => row["error"] = error,
        }
        for (key, value) in [("signature", &self.signature), ("item_id", &self.item_id)] {
            if let Some(value) = value {
                row[key] = json!(value);
            }
        }
        row
    }
}

/// What a model said in one turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The calls, in order.
    pub calls: Vec<ToolCall>,
    /// What it said besides.
    pub text: String,
    /// What it thought, if the provider shows it.
    pub reasoning: String,
    /// Reasoning items as they came: some providers want them replayed unchanged.
    pub reasoning_items: Vec<Value>,
    /// A thought signature that came beside the calls.
    pub signature: Option<String>,
    /// The protocol that was given or detected; none for plain text.
    pub protocol: Option<Protocol>,
    /// How tool use was written, where it was found in plain text.
    pub written: Option<text::Notation>,
    /// Why the model stopped, in the provider's word.
    pub stop: Option<String>,
    /// What it cost, if the response counts it.
    pub usage: Option<Usage>,
    /// Whether it was one call and nothing around it: no list, no message, no response, no stream.
    pub is_bare: bool,
    /// Tool use that was looked for in the text and stays text, with the reason; the first few.
    pub skipped: Vec<text::SkippedCall>,
    /// Calls in the text that must not be run: the tool was offered, but does not take these arguments. Only where the reply is
    /// nothing but calls.
    pub refused: Vec<text::RefusedCall>,
    /// What the model wrote for the calls that end its text, byte for byte. The message to keep is `text` followed by this.
    pub source: String,
}

/// Tool uses that stay text and are reported.
const MAX_SKIPPED: usize = 16;

impl Reply {
    /// Keeps a block of reasoning as it came.
    pub(crate) fn keep(&mut self, block: &Object) {
        self.reasoning_items.push(Value::Object(block.clone()));
    }

    /// Reports tool use that stays text.
    pub(crate) fn skip(&mut self, call: text::SkippedCall) {
        if self.skipped.len() < MAX_SKIPPED {
            self.skipped.push(call);
        }
    }
}

/// How a reply is to be read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions<'a> {
    /// The protocol, when it is known. It decides between shapes that look alike.
    pub protocol: Option<Protocol>,
    /// The provider's name in error texts; may be empty.
    pub label: &'a str,
    /// Whether, and whose, calls are taken out of the text. By default none are.
    pub text: TextScan,
    /// Generated ids count on from here, so that a conversation can keep them apart.
    pub ids_after: u64,
}

/// Reads the calls, and what else was said, out of anything a model or its provider returns.
///
/// ```
/// use gateway_dialects::calls::{ReadOptions, parse_reply};
///
/// let value = serde_json::json!({"type": "tool_use", "id": "tu_1", "name": "add", "input": {"a": 1}});
/// let reply = parse_reply(&value, &ReadOptions::default())?;
/// assert_eq!(reply.calls.first().map(|call| call.name.as_str()), Some("add"));
/// # Ok::<(), gateway_dialects::calls::CallError>(())
/// ```
pub fn parse_reply(value: &Value, options: &ReadOptions<'_>) -> Result<Reply, CallError> {
    if let Some(reply) = streamed_reply(value, options) {
        return reply;
    }
    let mut collector = Collector::new(options);
    collector.read(value)?;
    collector.finish()
}

/// The reply that was streamed as the chunks of a list, or of a text; `None` if `value` is no stream.
fn streamed_reply(value: &Value, options: &ReadOptions<'_>) -> Option<Result<Reply, CallError>> {
    let read = |chunks: &[Value]| {
        let detected = protocol_of(chunks)?;
        Some(read_chunks(chunks, detected, options))
    };
    match value {
        Value::Array(chunks) => read(chunks),
        Value::String(text) => match recognised_chunks(text)? {
            Ok(chunks) => read(&chunks),
            Err(error) => Some(Err(error)),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}
