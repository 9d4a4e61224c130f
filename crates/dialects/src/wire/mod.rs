//! What travels between a model's API and the gateway: calls, streams, results and whole conversations.
//!
//! Each wire format has a module of its own that holds everything of that format, behind [`WireFormat`]. What all formats share
//! stands beside them: [`calls`] finds calls in replies, [`stream`] assembles them from pieces, [`results`] arranges what tools
//! return, [`history`] splits conversations into turns, [`request`] asks a model for the next one. Calls and results that are written as plain text go through any of the
//! formats; what is special about them is in [`text`] and in [`calls::text`].
//!
//! To add a format: a module that implements [`WireFormat`], its name in [`Protocol`], and its line in [`format`].

pub mod calls;
mod chat;
mod cohere;
mod converse;
mod functions;
mod generate_content;
pub mod history;
mod mcp;
mod messages;
mod object;
mod ollama;
pub mod request;
mod responses;
pub mod results;
pub mod stream;
mod text;

use serde_json::{Map, Value, json};

use crate::dialect::{ErrorStyle, MessageRules, Protocol};
pub(crate) use crate::schema::Members;
use calls::{Envelope, Layout, Malformed, Reply};
use history::{Block, Conversation, Message, Reader, Writer, Written};
use request::{ModelRequest, RequestBody};
use results::{Media, Prepared, note};
use stream::{State, StreamEvent};

/// A JSON object.
pub(crate) type Object = Map<String, Value>;

/// The wire format called `protocol`.
pub(crate) fn format(protocol: Protocol) -> &'static dyn WireFormat {
    match protocol {
        Protocol::Chat => &chat::Chat,
        Protocol::Responses => &responses::Responses,
        Protocol::Functions => &functions::Functions,
        Protocol::Messages => &messages::Messages,
        Protocol::GenerateContent => &generate_content::GenerateContent,
        Protocol::Converse => &converse::Converse,
        Protocol::CohereChat => &cohere::Cohere,
        Protocol::OllamaChat => &ollama::Ollama,
        Protocol::Mcp => &mcp::Mcp,
    }
}

/// All formats, in the order in which replies are compared with them.
pub(crate) fn formats() -> impl Iterator<Item = &'static dyn WireFormat> {
    Protocol::ALL.iter().map(|protocol| format(*protocol))
}

type UsageMembers = (&'static [&'static str], &'static str, &'static str);

/// One API's way to carry calls, results and conversations. What has a default is as in Chat Completions, which most APIs resemble.
pub(crate) trait WireFormat: Sync {
    // A whole reply.

    /// What a whole response of this API holds.
    fn envelope<'a>(&self, _response: &'a Object) -> Option<Envelope<'a>> {
        None
    }

    /// The members that lead to the counts of tokens in a whole response, and what those read and those written are called there.
    fn usage(&self) -> UsageMembers {
        (&["usage"], "prompt_tokens", "completion_tokens")
    }

    /// The format that calls in this API's responses had before.
    fn older_calls(&self) -> Option<Protocol> {
        None
    }

    /// Whether a message can only be of this API.
    fn owns_message(&self, _message: &Object) -> bool {
        false
    }

    /// Takes a block of text or reasoning; `false` if `block` is none of this API. `kind` is the block's `type`.
    fn read_block(&self, _kind: Option<&str>, _block: &Object, _said: &mut Reply) -> bool {
        false
    }

    /// Where a call of this API keeps its parts; `None` if `map` is none.
    fn call<'a>(&self, _map: &'a Object) -> Result<Option<Layout<'a>>, Malformed> {
        Ok(None)
    }

    /// The members that a call without any wrapper has, and those that may hold the arguments, the likeliest first.
    fn bare_call(&self) -> (&'static [&'static str], &'static [&'static str]) {
        (&["id", "name", "arguments"], calls::ARGUMENTS)
    }

    // A streamed reply.

    /// Whether `chunk` is one of this API's.
    fn is_chunk(&self, _chunk: &Object) -> bool {
        false
    }

    /// Takes one chunk.
    fn push_chunk(&self, state: &mut State, chunk: &Value, out: &mut Vec<StreamEvent>);

    // Content of messages.

    /// A message of `role`.
    fn message(&self, role: &str, content: Value) -> Value {
        json!({"role": role, "content": content})
    }

    /// Text as a member of a content list.
    fn text_part(&self, text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    /// An image, audio or file as a member of a content list; `number` distinguishes documents of one message.
    fn media_part(&self, media: &Media<'_>, _number: usize) -> Value {
        chat::media_part(media)
    }

    /// A message of the user with text and media. Text alone is a string, which every compatible server takes, except where all
    /// contents are lists.
    fn user_message(&self, text: &str, media: &[&Media<'_>]) -> Value {
        if media.is_empty() && !self.gathers_results() {
            return self.message("user", text.into());
        }
        let media = media.iter().enumerate().map(|(number, media)| self.media_part(media, number));
        self.message("user", std::iter::once(self.text_part(text)).chain(media).collect())
    }

    // Results.

    /// One result: a message, or a part of one where [`gathers_results`](Self::gathers_results) says so.
    fn write_result(&self, rules: &MessageRules, result: &Prepared<'_>) -> Value;

    /// Writes the members of a finished message in snake case.
    fn to_snake_case(&self, _message: &mut Value) {}

    /// Whether all results of a turn are parts of one message of the user.
    fn gathers_results(&self) -> bool {
        false
    }

    /// The text of a resource as a member of a result's content list.
    fn document_part(&self, uri: &str, text: &str) -> Value {
        self.text_part(&note::document(uri, text))
    }

    /// `structuredContent` as a member of a result's content list.
    fn data_part(&self, value: &Value) -> Value {
        self.text_part(&note::json_text(value))
    }

    /// Whether a result is written with an id of ours where its call had none.
    fn replaces_absent_ids(&self, _rules: &MessageRules) -> bool {
        false
    }

    /// Whether a failed call is marked in a member of the result, so that its text need not say so.
    fn marks_failure(&self, _style: ErrorStyle) -> bool {
        false
    }

    // Conversations.

    /// Items of reasoning as messages of the model.
    fn reasoning_messages(&self, items: &[Value]) -> Vec<Value> {
        vec![self.message("assistant", items.to_vec().into())]
    }

    /// Reads `given` onto the end of `messages`.
    fn read_history(&self, reader: &mut Reader<'_>, given: &[Value], messages: &mut Vec<Message>) {
        chat::read(reader, given, messages);
    }

    /// A message of the user: a text alone as such, everything else as a list.
    fn write_user(&self, writer: &mut Writer<'_>, at: usize, blocks: &[Block]) -> Option<Value> {
        let mut parts = writer.user_blocks(at, blocks);
        let content = match parts.as_mut_slice() {
            [] => return None,
            [Written::Text(text)] => Value::String(std::mem::take(text)),
            _ => parts.into_iter().map(|part| writer.part(part)).collect(),
        };
        Some(self.message("user", content))
    }

    /// Writes `messages`.
    fn write_history(&self, writer: &mut Writer<'_>, messages: &[Message]) -> Conversation;

    // Requests.

    /// Writes a request to a model; `false` if models are not asked in this format.
    fn write_request(&self, _request: &ModelRequest<'_>, _body: &mut RequestBody<'_>) -> bool {
        false
    }
}
