//! Ollama's `/api/chat`: chat messages with arguments as objects and images beside the text; a stream of lines.

use serde_json::{Value, json};

use super::calls::Envelope;
use super::chat;
use super::history::{Block, Conversation, Message, ToolUseBlock, Writer, Written};
use super::request::{AnswerFormat, ModelRequest, RequestBody};
use super::results::{Media, Prepared, media};
use super::stream::{State, StreamEvent};
use super::{Members as _, Object, UsageMembers, WireFormat};
use crate::dialect::MessageRules;

pub(crate) struct Ollama;

impl WireFormat for Ollama {
    fn usage(&self) -> UsageMembers {
        (&[], "prompt_eval_count", "eval_count")
    }

    fn envelope<'a>(&self, response: &'a Object) -> Option<Envelope<'a>> {
        response.member("done")?;
        let message = response.member("message")?.as_object()?;
        Some(Envelope::Message { message, stop: "done_reason" })
    }

    /// Each line is a whole response.
    fn is_chunk(&self, line: &Object) -> bool {
        self.envelope(line).is_some()
    }

    /// One line of a stream: a call stands whole in it.
    fn push_chunk(&self, state: &mut State, line: &Value, out: &mut Vec<StreamEvent>) {
        if let Some(Value::Object(message)) = line.get("message") {
            chat::push_speech(state, message, out);
            for call in chat::listed(message.get("tool_calls")) {
                state.read_whole(call, out);
            }
        }
        if line.get("done") == Some(&Value::Bool(true)) {
            State::stop(line.get("done_reason"), out);
            state.usage(Some(line), "prompt_eval_count", "eval_count");
        }
    }

    fn media_part(&self, media: &Media<'_>, _number: usize) -> Value {
        Value::String(media::url(media))
    }

    fn user_message(&self, text: &str, media: &[&Media<'_>]) -> Value {
        if media.is_empty() {
            return json!({"role": "user", "content": text});
        }
        let images: Vec<&str> = media.iter().filter_map(|media| media::data(media)).collect();
        json!({"role": "user", "content": text, "images": images})
    }

    fn write_result(&self, rules: &MessageRules, result: &Prepared<'_>) -> Value {
        chat::tool_message(self, rules, result)
    }

    fn write_user(&self, writer: &mut Writer<'_>, message: usize, blocks: &[Block]) -> Option<Value> {
        let mut texts = Vec::new();
        let mut images = Vec::new();
        for part in writer.user_blocks(message, blocks) {
            match part {
                Written::Text(text) => texts.push(text),
                Written::Media(Value::String(url)) => {
                    images.push(url.split_once(',').map_or(url.clone(), |(_, data)| data.to_owned()));
                }
                Written::Media(_) | Written::Same(_) => {}
            }
        }
        if texts.is_empty() && images.is_empty() {
            return None;
        }
        let mut written = json!({"role": "user", "content": texts.join("\n\n")});
        if let Some(members) = written.as_object_mut().filter(|_| !images.is_empty()) {
            members.insert("images".into(), images.into());
        }
        Some(written)
    }

    fn write_history(&self, writer: &mut Writer<'_>, messages: &[Message]) -> Conversation {
        chat::write(writer, messages, "content", function)
    }

    fn write_request(&self, request: &ModelRequest<'_>, body: &mut RequestBody<'_>) -> bool {
        if let Some(tools) = request.tools {
            body.set_tools("tools", tools, ("", ""));
        }
        body.set("model", request.model);
        body.set("messages", request.conversation.messages.clone());
        body.set("stream", request.stream);
        let mut options = match body.settings.take("options") {
            Some(Value::Object(options)) => options.clone(),
            Some(_) | None => Object::new(),
        };
        let same = [
            "temperature",
            "top_p",
            "top_k",
            "min_p",
            "seed",
            "presence_penalty",
            "frequency_penalty",
            "num_ctx",
        ];
        for name in same {
            options.extend(body.settings.take(name).map(|value| (name.to_owned(), value.clone())));
        }
        let most = body.settings.take_first(&["max_completion_tokens", "max_tokens"]);
        options.extend(most.map(|value| ("num_predict".to_owned(), value.clone())));
        options.extend(body.settings.take_stops().map(|stops| ("stop".to_owned(), stops)));
        body.set_object("options", options);
        match body.settings.take_answer_format() {
            Some(AnswerFormat::Json) => body.set("format", "json"),
            Some(AnswerFormat::Schema(format)) => body.set_some("format", format.get("schema").cloned()),
            None => {}
        }
        body.settings.take("stream_options");
        body.copy(&["think", "keep_alive", "format"]);
        true
    }
}

fn function(call: &ToolUseBlock) -> Value {
    json!({"id": call.id, "function": {"name": call.name, "arguments": call.input}})
}
