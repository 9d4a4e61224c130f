//! MCP itself: `tools/call` requests and results as they are; conversations in the neutral format.

use serde_json::{Value, json};

use super::calls::{ARGUMENTS, Layout, Malformed, inner};
use super::history::{Conversation, Message, Reader, Writer};
use super::results::{Media, Prepared, media};
use super::stream::{State, StreamEvent};
use super::{Members as _, Object, WireFormat, messages};
use crate::dialect::{MessageRules, Protocol};

pub(crate) struct Mcp;

impl WireFormat for Mcp {
    fn call<'a>(&self, map: &'a Object) -> Result<Option<Layout<'a>>, Malformed> {
        if map.text("method") != Some("tools/call") {
            return Ok(None);
        }
        let inner = inner(map, "params")?.ok_or(Malformed::NoName)?;
        // The request's id stays among the extras: there a number is not a string.
        Ok(Some(Layout::of(Protocol::Mcp, inner, &["jsonrpc", "method", "params"], ARGUMENTS)))
    }

    /// MCP streams no replies; the neutral format's blocks are those of Messages.
    fn push_chunk(&self, state: &mut State, chunk: &Value, out: &mut Vec<StreamEvent>) {
        messages::Messages.push_chunk(state, chunk, out);
    }

    fn media_part(&self, media: &Media<'_>, _number: usize) -> Value {
        media::neutral_part(media)
    }

    /// A message of MCP's prompts and samplings, which holds one block.
    fn user_message(&self, text: &str, _media: &[&Media<'_>]) -> Value {
        self.message("user", json!({"type": "text", "text": text}))
    }

    fn write_result(&self, _rules: &MessageRules, result: &Prepared<'_>) -> Value {
        result.outcome.result.clone()
    }

    fn read_history(&self, reader: &mut Reader<'_>, given: &[Value], messages: &mut Vec<Message>) {
        for (index, message) in given.iter().enumerate() {
            reader.at = index;
            match serde_json::from_value(message.clone()) {
                Ok(message) => messages.push(message),
                Err(error) => reader.warn(format!("not a message: {error}")),
            }
        }
    }

    fn write_history(&self, _writer: &mut Writer<'_>, messages: &[Message]) -> Conversation {
        let messages = messages.iter().filter_map(|message| serde_json::to_value(message).ok()).collect();
        Conversation { system: None, messages }
    }
}
