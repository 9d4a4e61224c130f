//! The Messages API: calls, results and reasoning are blocks of messages.

mod history;
mod request;
mod stream;

pub(crate) use history::{assistant, role};

use serde_json::{Map, Value, json};

use super::calls::{INPUT, Layout, Malformed, Reply};
use super::history::{Conversation, Message, PartList, Reader, ToolUseBlock, Writer};
use super::request::{ModelRequest, RequestBody};
use super::results::{Media, MediaKind, Part, Prepared, content_list, media};
use super::stream::{State, StreamEvent};
use super::{Members as _, Object, UsageMembers, WireFormat};
use crate::dialect::{ErrorStyle, MessageRules, Protocol};

pub(crate) struct Messages;

impl WireFormat for Messages {
    fn owns_message(&self, message: &Object) -> bool {
        message.text("type") == Some("message") && message.has("stop_reason")
    }

    fn usage(&self) -> UsageMembers {
        (&["usage"], "input_tokens", "output_tokens")
    }

    fn read_block(&self, kind: Option<&str>, block: &Object, said: &mut Reply) -> bool {
        match kind {
            Some("thinking") => {
                let text = ["thinking", "content"].iter().find_map(|key| block.member(key)?.as_str());
                said.reasoning.push_str(text.unwrap_or_default());
            }
            Some("redacted_thinking") => {}
            Some(_) | None => return false,
        }
        said.keep(block);
        true
    }

    fn call<'a>(&self, map: &'a Object) -> Result<Option<Layout<'a>>, Malformed> {
        let is_block = map.text("type") == Some("tool_use");
        Ok(is_block.then(|| Layout::of(Protocol::Messages, map, &["id", "type", "name", "input"], INPUT)))
    }

    fn bare_call(&self) -> (&'static [&'static str], &'static [&'static str]) {
        (&["id", "name", "input"], INPUT)
    }

    fn is_chunk(&self, chunk: &Object) -> bool {
        let kinds = ["message_start", "content_block_start", "content_block_delta", "content_block_stop"];
        chunk.text("type").is_some_and(|kind| kinds.contains(&kind))
    }

    fn push_chunk(&self, state: &mut State, chunk: &Value, out: &mut Vec<StreamEvent>) {
        stream::push(state, chunk, out);
    }

    fn media_part(&self, media: &Media<'_>, _number: usize) -> Value {
        let source = media::source(media);
        match (media.kind, media.uri.filter(|uri| !uri.is_empty())) {
            (MediaKind::Image, _) => json!({"type": "image", "source": source}),
            (MediaKind::Audio | MediaKind::File, Some(uri)) => {
                json!({"type": "document", "source": source, "title": uri})
            }
            (MediaKind::Audio | MediaKind::File, None) => json!({"type": "document", "source": source}),
        }
    }

    fn write_result(&self, rules: &MessageRules, result: &Prepared<'_>) -> Value {
        let mut block = Map::new();
        block.insert("type".into(), "tool_result".into());
        block.insert("tool_use_id".into(), (&*result.id).into());
        let content = match result.arranged.parts.as_slice() {
            [] => None,
            [Part::Text(text)] => Some(text.clone().into()),
            _ => Some(content_list(self, &result.arranged).into()),
        };
        block.extend(content.map(|content| ("content".to_owned(), content)));
        if result.arranged.failed && self.marks_failure(rules.errors) {
            block.insert("is_error".into(), true.into());
        }
        Value::Object(block)
    }

    fn gathers_results(&self) -> bool {
        true
    }

    fn document_part(&self, uri: &str, text: &str) -> Value {
        json!({"type": "document", "title": uri,
            "source": {"type": "text", "media_type": "text/plain", "data": text}})
    }

    fn replaces_absent_ids(&self, _rules: &MessageRules) -> bool {
        true
    }

    fn marks_failure(&self, style: ErrorStyle) -> bool {
        style == ErrorStyle::Flag
    }

    fn read_history(&self, reader: &mut Reader<'_>, given: &[Value], messages: &mut Vec<Message>) {
        reader.part_lists(given, messages, "content", role, history::block);
    }

    fn write_history(&self, writer: &mut Writer<'_>, messages: &[Message]) -> Conversation {
        let list = PartList {
            model: "assistant",
            key: "content",
            system: |text| text.into(),
            assistant: |writer, at, blocks| assistant(writer, at, blocks, tool_use, thinking),
        };
        writer.part_list(messages, &list)
    }

    fn write_request(&self, request: &ModelRequest<'_>, body: &mut RequestBody<'_>) -> bool {
        request::write(request, body);
        true
    }
}

fn tool_use(call: &ToolUseBlock) -> Value {
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input})
}

fn thinking(text: &str, signature: &str) -> Value {
    json!({"type": "thinking", "thinking": text, "signature": signature})
}
