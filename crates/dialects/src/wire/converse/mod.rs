//! Bedrock's Converse: calls, results and reasoning are blocks that their only member names.

mod stream;

use serde_json::{Map, Value, json};

use super::calls::{Envelope, INPUT, Layout, Malformed, Reply, inner};
use super::history::{Block, Conversation, Message, PartList, Reader, ToolUseBlock, Writer, bytes, result};
use super::messages;
use super::results::{Media, MediaKind, Prepared, content_list, media};
use super::stream::{State, StreamEvent};
use super::{Members as _, Object, UsageMembers, WireFormat};
use crate::dialect::{ErrorStyle, MessageRules, Protocol};

pub(crate) struct Converse;

impl WireFormat for Converse {
    fn usage(&self) -> UsageMembers {
        (&["usage"], "inputTokens", "outputTokens")
    }

    fn envelope<'a>(&self, response: &'a Object) -> Option<Envelope<'a>> {
        let message = response.member("output")?.as_object()?;
        message.has("message").then_some(Envelope::Message { message, stop: "stopReason" })
    }

    fn read_block(&self, kind: Option<&str>, block: &Object, said: &mut Reply) -> bool {
        let Some(thought) = block.member("reasoningContent").filter(|_| kind.is_none()) else { return false };
        let text = thought.pointer("/reasoningText/text").and_then(Value::as_str);
        said.reasoning.push_str(text.unwrap_or_default());
        said.keep(block);
        true
    }

    fn call<'a>(&self, map: &'a Object) -> Result<Option<Layout<'a>>, Malformed> {
        Ok(inner(map, "toolUse")?.map(|inner| Layout {
            id: &["toolUseId"],
            ..Layout::of(Protocol::Converse, inner, &["toolUse"], INPUT)
        }))
    }

    fn bare_call(&self) -> (&'static [&'static str], &'static [&'static str]) {
        (&["toolUseId", "name", "input"], INPUT)
    }

    fn is_chunk(&self, chunk: &Object) -> bool {
        let kinds = ["messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop"];
        kinds.iter().any(|kind| chunk.get(*kind).is_some_and(Value::is_object))
    }

    fn push_chunk(&self, state: &mut State, chunk: &Value, out: &mut Vec<StreamEvent>) {
        stream::push(state, chunk, out);
    }

    fn text_part(&self, text: &str) -> Value {
        json!({"text": text})
    }

    fn media_part(&self, media: &Media<'_>, number: usize) -> Value {
        let source = json!({"bytes": media::data(media).unwrap_or_default()});
        match media.kind {
            MediaKind::Image => {
                json!({"image": {"format": media::subtype(&media.mime), "source": source}})
            }
            MediaKind::Audio | MediaKind::File => {
                let format = media::format_of(&media.mime).unwrap_or("txt");
                let name = media::document_name(media.uri, number);
                json!({"document": {"format": format, "name": name, "source": source}})
            }
        }
    }

    fn write_result(&self, rules: &MessageRules, result: &Prepared<'_>) -> Value {
        let mut block = Map::new();
        block.insert("toolUseId".into(), (&*result.id).into());
        block.insert("content".into(), content_list(self, &result.arranged).into());
        if result.arranged.failed && self.marks_failure(rules.errors) {
            block.insert("status".into(), "error".into());
        }
        json!({"toolResult": block})
    }

    fn gathers_results(&self) -> bool {
        true
    }

    fn data_part(&self, value: &Value) -> Value {
        json!({"json": value})
    }

    fn replaces_absent_ids(&self, _rules: &MessageRules) -> bool {
        true
    }

    fn marks_failure(&self, style: ErrorStyle) -> bool {
        style == ErrorStyle::Flag
    }

    fn read_history(&self, reader: &mut Reader<'_>, given: &[Value], messages: &mut Vec<Message>) {
        reader.part_lists(given, messages, "content", messages::role, block);
    }

    fn write_history(&self, writer: &mut Writer<'_>, messages: &[Message]) -> Conversation {
        let list = PartList {
            model: "assistant",
            key: "content",
            system: |text| json!([{"text": text}]),
            assistant: |writer, at, blocks| messages::assistant(writer, at, blocks, tool_use, reasoning),
        };
        writer.part_list(messages, &list)
    }
}

fn tool_use(call: &ToolUseBlock) -> Value {
    json!({"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.input}})
}

fn reasoning(text: &str, signature: &str) -> Value {
    json!({"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}})
}

/// One block of a message or of a result.
fn block(reader: &mut Reader<'_>, given: &Value) -> Option<Block> {
    let (kind, body) = given.as_object()?.iter().next()?;
    match kind.as_str() {
        "text" => body.as_str().map(Block::text),
        "image" | "document" => {
            let data = body.get("source").and_then(|source| source.text("bytes"))?;
            let format = body.text("format")?;
            let mime =
                if kind == "image" { format!("image/{format}") } else { media::mime_of(format)?.to_owned() };
            Some(bytes(&mime, data, body.text("name").unwrap_or_default()))
        }
        "reasoningContent" => {
            let thought = body.get("reasoningText")?;
            Some(Block::Thinking(reader.thinking(thought.text("text")?, thought.text("signature"))))
        }
        "toolUse" => {
            let call = reader.call(body.text("toolUseId"), body.text("name")?, body.get("input"));
            Some(Block::ToolUse(call))
        }
        "toolResult" => {
            let id = reader.answered(body.text("toolUseId"), None);
            let mut structured = None;
            let mut blocks = Vec::new();
            for inner in body.list("content") {
                match inner.get("json") {
                    Some(value) if structured.is_none() => structured = Some(value.clone()),
                    Some(_) | None => {
                        blocks.push(block(reader, inner).unwrap_or_else(|| reader.opaque(inner)));
                    }
                }
            }
            Some(result(id, blocks, body.text("status") == Some("error"), structured))
        }
        _ => None,
    }
}
