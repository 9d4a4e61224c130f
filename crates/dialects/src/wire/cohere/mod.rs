//! Cohere's chat, version 2: chat messages with a `tool_plan`, results with documents.

mod stream;

use serde_json::{Value, json};

use super::chat;
use super::history::{Conversation, Message, Reader, Writer};
use super::results::{Media, Part, Prepared};
use super::stream::{State, StreamEvent};
use super::{Members as _, Object, WireFormat};
use crate::dialect::MessageRules;

pub(crate) struct Cohere;

impl WireFormat for Cohere {
    fn dialect(&self) -> &'static str {
        "cohere"
    }

    fn owns_message(&self, message: &Object) -> bool {
        message.has("tool_plan")
    }

    fn is_chunk(&self, chunk: &Object) -> bool {
        let kinds = ["message-start", "content-start", "content-delta", "tool-plan-delta", "tool-call-start"];
        chunk.get("type").and_then(Value::as_str).is_some_and(|kind| kinds.contains(&kind))
    }

    fn push_chunk(&self, state: &mut State, chunk: &Value, out: &mut Vec<StreamEvent>) {
        stream::push(state, chunk, out);
    }

    fn media_part(&self, media: &Media<'_>, _number: usize) -> Value {
        chat::media_part(media)
    }

    fn user_message(&self, text: &str, media: &[&Media<'_>]) -> Value {
        chat::user_message(text, media)
    }

    fn write_result(&self, rules: &MessageRules, result: &Prepared<'_>) -> Value {
        chat::tool_message(self, rules, result)
    }

    fn result_part(&self, part: &Part<'_>, number: usize) -> Value {
        match part {
            Part::Text(text) => self.text_part(text),
            Part::Document { uri, text } => {
                json!({"type": "document", "document": {"data": {"uri": uri, "text": text}}})
            }
            Part::Data(value) => json!({"type": "document", "document": {"data": value}}),
            Part::Media(media) => self.media_part(media, number),
        }
    }

    fn replaces_absent_ids(&self, rules: &MessageRules) -> bool {
        rules.call_ids
    }

    fn read_history(&self, reader: &mut Reader<'_>, given: &[Value], messages: &mut Vec<Message>) {
        chat::read(reader, given, messages);
    }

    fn write_history(&self, writer: &mut Writer<'_>, messages: &[Message]) -> Conversation {
        writer.message_list(messages, |writer, at, blocks| {
            let said = chat::assistant(writer, at, blocks, "tool_plan");
            said.map(|said| chat::tool_calls(writer.rules(), said, chat::function)).into_iter().collect()
        })
    }
}
