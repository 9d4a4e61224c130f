//! Conversations as messages of blocks.

use serde_json::{Value, json};

use crate::dialect::{Placement, Protocol};
use crate::wire::Members as _;
use crate::wire::history::{Block, Reader, Role, Source, ThinkingBlock, ToolUseBlock, Writer, bytes, result};

/// The role called `name`.
pub(crate) fn role(name: Option<&str>) -> Option<Role> {
    match name? {
        "assistant" => Some(Role::Assistant),
        "system" => Some(Role::System),
        "user" => Some(Role::User),
        _ => None,
    }
}

/// One block of a message or of a result.
pub(super) fn block(reader: &mut Reader<'_>, given: &Value) -> Option<Block> {
    match given.text("type")? {
        "text" => given.text("text").map(Block::text),
        "image" => {
            let source: Source = serde_json::from_value(given.get("source")?.clone()).ok()?;
            Some(Block::Image(source.into()))
        }
        "document" => document(given),
        "thinking" => {
            let thought = reader.thinking(given.text("thinking")?, given.text("signature"));
            Some(Block::Thinking(thought))
        }
        "tool_use" => {
            let call = reader.call(given.text("id"), given.text("name")?, given.get("input"));
            Some(Block::ToolUse(call))
        }
        "tool_result" => {
            let id = reader.answered(given.text("tool_use_id"), None);
            let blocks = reader.parts(given.get("content"), block);
            let failed = given.get("is_error").and_then(Value::as_bool).unwrap_or(false);
            Some(result(id, blocks, failed, None))
        }
        _ => None,
    }
}

fn document(given: &Value) -> Option<Block> {
    let source = given.get("source")?;
    let name = given.text("title").unwrap_or_default();
    match source.text("type")? {
        "base64" => Some(bytes(source.text("media_type")?, source.text("data")?, name)),
        "text" => Some(Block::resource(json!({"uri": name, "text": source.text("data")?}))),
        _ => None,
    }
}

/// Writes what the model said, with `tool_use` for a call, and `reasoning` for that and its signature.
pub(crate) fn assistant(
    writer: &mut Writer<'_>,
    at: usize,
    blocks: &[Block],
    tool_use: fn(&ToolUseBlock) -> Value,
    reasoning: fn(&str, &str) -> Value,
) -> Vec<Value> {
    let mut content = Vec::with_capacity(blocks.len());
    for block in blocks {
        match block {
            Block::ToolUse(call) => content.push(tool_use(call)),
            Block::Thinking(thought) => match signature(thought) {
                Some(signature) => content.push(reasoning(&thought.thinking, signature)),
                None => writer.warn(at, "reasoning without this provider's signature is left out"),
            },
            block => {
                let written = writer.assistant_block(at, block, Placement::Note);
                content.extend(written.map(|written| writer.part(written)));
            }
        }
    }
    content
}

/// Reasoning is replayed only as it came: signed by the provider. Messages and Converse carry the same signatures. An empty one, which
/// blocks begin with, is none.
fn signature(thought: &ThinkingBlock) -> Option<&str> {
    let own = [Protocol::Messages.name(), Protocol::Converse.name()];
    if thought.origin.as_deref().is_some_and(|given| !own.contains(&given)) {
        return None;
    }
    thought.signature.as_deref().filter(|signature| !signature.is_empty())
}
