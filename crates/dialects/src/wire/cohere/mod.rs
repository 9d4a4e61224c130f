//! Cohere's chat, version 2: chat messages with a `tool_plan`, results with documents.

mod stream;

use serde_json::{Value, json};

use super::calls::Envelope;
use super::chat;
use super::history::{Conversation, Message, Writer};
use super::results::Prepared;
use super::stream::{State, StreamEvent};
use super::{Members as _, Object, UsageMembers, WireFormat};
use crate::dialect::MessageRules;

pub(crate) struct Cohere;

impl WireFormat for Cohere {
    /// A choice of Chat Completions has the same members; the reasons are Cohere's own.
    fn envelope<'a>(&self, response: &'a Object) -> Option<Envelope<'a>> {
        let message = response.member("message")?.as_object()?;
        let reasons = ["COMPLETE", "STOP_SEQUENCE", "MAX_TOKENS", "TOOL_CALL", "ERROR", "TIMEOUT"];
        let is_own = reasons.contains(&response.text("finish_reason")?);
        is_own.then_some(Envelope::Message { message, stop: "finish_reason" })
    }

    fn usage(&self) -> UsageMembers {
        (&["usage", "tokens"], "input_tokens", "output_tokens")
    }

    fn owns_message(&self, message: &Object) -> bool {
        message.has("tool_plan")
    }

    fn is_chunk(&self, chunk: &Object) -> bool {
        let kinds = ["message-start", "content-start", "content-delta", "tool-plan-delta", "tool-call-start"];
        chunk.text("type").is_some_and(|kind| kinds.contains(&kind))
    }

    fn push_chunk(&self, state: &mut State, chunk: &Value, out: &mut Vec<StreamEvent>) {
        stream::push(state, chunk, out);
    }

    fn write_result(&self, rules: &MessageRules, result: &Prepared<'_>) -> Value {
        chat::tool_message(self, rules, result)
    }

    fn document_part(&self, uri: &str, text: &str) -> Value {
        self.data_part(&json!({"uri": uri, "text": text}))
    }

    fn data_part(&self, value: &Value) -> Value {
        json!({"type": "document", "document": {"data": value}})
    }

    fn replaces_absent_ids(&self, rules: &MessageRules) -> bool {
        rules.call_ids
    }

    fn write_history(&self, writer: &mut Writer<'_>, messages: &[Message]) -> Conversation {
        chat::write(writer, messages, "tool_plan", chat::function)
    }
}
