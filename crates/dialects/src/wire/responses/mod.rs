//! The Responses API: calls and results are items beside messages.

mod history;
mod request;
mod stream;

use serde_json::{Value, json};

use super::calls::{ARGUMENTS, Envelope, Layout, Malformed, Reply};
use super::history::{Conversation, Message, Reader, Writer};
use super::request::{ModelRequest, RequestBody};
use super::results::{Media, MediaKind, Prepared, media, text_or_list};
use super::stream::{State, StreamEvent};
use super::{Members as _, Object, UsageMembers, WireFormat};
use crate::dialect::{MessageRules, Protocol};

pub(crate) struct Responses;

impl WireFormat for Responses {
    fn usage(&self) -> UsageMembers {
        (&["usage"], "input_tokens", "output_tokens")
    }

    fn envelope<'a>(&self, response: &'a Object) -> Option<Envelope<'a>> {
        Some(Envelope::Items { items: response.member("output")?.as_array()?, stop: "status" })
    }

    fn read_block(&self, kind: Option<&str>, block: &Object, said: &mut Reply) -> bool {
        if kind != Some("reasoning") {
            return false;
        }
        for list in ["summary", "content"] {
            said.reasoning.extend(block.list(list).iter().filter_map(|part| part.text("text")));
        }
        said.keep(block);
        true
    }

    fn call<'a>(&self, map: &'a Object) -> Result<Option<Layout<'a>>, Malformed> {
        let kind = map.text("type");
        let is_bare = || map.has("call_id") && map.has("name");
        let is_item = kind == Some("function_call") || (kind != Some("tool_use") && is_bare());
        let read = &["type", "id", "call_id", "name", "arguments"];
        Ok(is_item.then(|| Layout {
            id: if map.member("call_id").is_some_and(Value::is_string) { &["call_id"] } else { &["id"] },
            item_id: Some("id"),
            ..Layout::of(Protocol::Responses, map, read, ARGUMENTS)
        }))
    }

    fn is_chunk(&self, chunk: &Object) -> bool {
        chunk.text("type").is_some_and(|kind| kind.starts_with("response."))
    }

    fn push_chunk(&self, state: &mut State, chunk: &Value, out: &mut Vec<StreamEvent>) {
        stream::push(state, chunk, out);
    }

    fn message(&self, role: &str, content: Value) -> Value {
        json!({"type": "message", "role": role, "content": content})
    }

    fn text_part(&self, text: &str) -> Value {
        json!({"type": "input_text", "text": text})
    }

    fn media_part(&self, media: &Media<'_>, _number: usize) -> Value {
        let url = media::url(media);
        match media.kind {
            MediaKind::Image => json!({"type": "input_image", "image_url": url, "detail": "auto"}),
            MediaKind::Audio | MediaKind::File => {
                json!({"type": "input_file", "filename": media::file_name(media), "file_data": url})
            }
        }
    }

    fn user_message(&self, text: &str, media: &[&Media<'_>]) -> Value {
        let media = media.iter().map(|media| self.media_part(media, 0));
        self.message("user", std::iter::once(self.text_part(text)).chain(media).collect())
    }

    fn write_result(&self, _rules: &MessageRules, result: &Prepared<'_>) -> Value {
        let output = text_or_list(self, &result.arranged);
        json!({"type": "function_call_output", "call_id": result.id, "output": output})
    }

    fn replaces_absent_ids(&self, _rules: &MessageRules) -> bool {
        true
    }

    fn read_history(&self, reader: &mut Reader<'_>, given: &[Value], messages: &mut Vec<Message>) {
        history::read(reader, given, messages);
    }

    fn reasoning_messages(&self, items: &[Value]) -> Vec<Value> {
        items.to_vec()
    }

    fn write_history(&self, writer: &mut Writer<'_>, messages: &[Message]) -> Conversation {
        let mut written = writer.message_list(messages, history::assistant);
        history::drop_repeated_ids(&mut written.messages);
        written
    }

    fn write_request(&self, request: &ModelRequest<'_>, body: &mut RequestBody<'_>) -> bool {
        request::write(request, body);
        true
    }
}
