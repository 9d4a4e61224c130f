//! Chat Completions, and what compatible servers make of it.

mod plain;
mod read;
mod request;
mod stream;
mod write;

pub use plain::PlainCall;
pub(crate) use read::read;
pub(crate) use request::write_common;
pub(crate) use stream::{listed, push, push_speech};
pub(crate) use write::{Said, assistant, function, write};

use serde_json::{Map, Value, json};

use super::calls::{ARGUMENTS, Envelope, Layout, Malformed, inner};
use super::history::{Conversation, Message, Writer};
use super::request::{ModelRequest, RequestBody};
use super::results::{Media, MediaKind, Prepared, media, text_or_list};
use super::stream::{State, StreamEvent};
use super::{Members as _, Object, WireFormat};
use crate::dialect::{MessageRules, Protocol};

pub(crate) struct Chat;

impl WireFormat for Chat {
    fn envelope<'a>(&self, response: &'a Object) -> Option<Envelope<'a>> {
        Some(Envelope::Alternatives(response.member("choices")?.as_array()?))
    }

    fn older_calls(&self) -> Option<Protocol> {
        Some(Protocol::Functions)
    }

    fn call<'a>(&self, map: &'a Object) -> Result<Option<Layout<'a>>, Malformed> {
        let Some(inner) = inner(map, "function")? else { return custom_call(map) };
        // Object arguments are one server's own; where the call says its type, it is a chat call with an object.
        let is_bare = inner.member("arguments").is_some_and(Value::is_object) && map.text("type").is_none();
        let protocol = if is_bare { Protocol::OllamaChat } else { Protocol::Chat };
        Ok(Some(Layout::of(protocol, inner, &["id", "type", "function", "index"], ARGUMENTS)))
    }

    fn is_chunk(&self, chunk: &Object) -> bool {
        let choices = chunk.get("choices").and_then(Value::as_array);
        choices.is_some_and(|choices| {
            chunk.get("object").is_some_and(|kind| kind == "chat.completion.chunk")
                || choices.iter().any(|choice| choice.get("delta").is_some())
        })
    }

    fn push_chunk(&self, state: &mut State, chunk: &Value, out: &mut Vec<StreamEvent>) {
        push(state, chunk, out);
    }

    fn write_result(&self, rules: &MessageRules, result: &Prepared<'_>) -> Value {
        tool_message(self, rules, result)
    }

    fn replaces_absent_ids(&self, rules: &MessageRules) -> bool {
        rules.call_ids
    }

    fn write_history(&self, writer: &mut Writer<'_>, messages: &[Message]) -> Conversation {
        write(writer, messages, "content", function)
    }

    fn write_request(&self, request: &ModelRequest<'_>, body: &mut RequestBody<'_>) -> bool {
        request::write(request, body);
        true
    }
}

/// A call of a tool that takes plain text. Its type stays among the call's other members, since it is answered as such.
fn custom_call(map: &Object) -> Result<Option<Layout<'_>>, Malformed> {
    let Some(inner) = inner(map, "custom")?.filter(|_| map.text("type") == Some("custom")) else {
        return Ok(None);
    };
    Ok(Some(Layout::of(Protocol::Chat, inner, &["id", "custom", "index"], &["input"])))
}

/// An image, audio or file as a member of a content list.
pub(crate) fn media_part(media: &Media<'_>) -> Value {
    match media.kind {
        MediaKind::Image => json!({"type": "image_url", "image_url": {"url": media::url(media)}}),
        MediaKind::Audio => {
            let format = if matches!(media::subtype(&media.mime), "mpeg" | "mp3") { "mp3" } else { "wav" };
            let data = media::data(media).unwrap_or_default();
            json!({"type": "input_audio", "input_audio": {"data": data, "format": format}})
        }
        MediaKind::File => {
            let name = media::file_name(media);
            json!({"type": "file", "file": {"filename": name, "file_data": media::url(media)}})
        }
    }
}

/// The message of a result.
pub(crate) fn tool_message(format: &dyn WireFormat, rules: &MessageRules, result: &Prepared<'_>) -> Value {
    let mut message = Map::with_capacity(4);
    message.insert("role".into(), "tool".into());
    if rules.call_ids && (result.outcome.call_id.is_some() || format.replaces_absent_ids(rules)) {
        message.insert("tool_call_id".into(), (&*result.id).into());
    }
    if let Some(field) = &rules.tool_name_field {
        message.insert(field.clone(), result.outcome.wire_name.into());
    }
    message.insert("content".into(), text_or_list(format, &result.arranged));
    Value::Object(message)
}
