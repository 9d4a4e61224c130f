//! Conversations as items.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::dialect::{Placement, Protocol};
use crate::wire::Members as _;
use crate::wire::history::{
    Block, Content, Message, Reader, Role, ThinkingBlock, ToolUseBlock, Writer, Written, bytes, image, result,
};
use crate::wire::results::split_data_url;

/// Reads `given` onto the end of `messages`; items of the model in a row become one message.
pub(super) fn read(reader: &mut Reader<'_>, given: &[Value], messages: &mut Vec<Message>) {
    let mut own = Vec::new();
    for (index, item) in given.iter().enumerate() {
        reader.at = index;
        match (item.text("type").unwrap_or("message"), item.text("role")) {
            ("message", Some("assistant")) => own.extend(output_message(reader, item)),
            ("message", role) => {
                flush(&mut own, messages);
                let role = match role {
                    Some("system" | "developer") => Role::System,
                    Some("user") => Role::User,
                    other => reader.unknown_role(other),
                };
                messages.push(Message::new(role, Content::of(parts(reader, item.get("content")))));
            }
            ("function_call", _) => {
                let name = item.text("name").unwrap_or_default();
                let mut call = reader.call(item.text("call_id"), name, item.get("arguments"));
                call.item_id = item.text("id").map(str::to_owned);
                own.push(Block::ToolUse(call));
            }
            ("function_call_output", _) => {
                flush(&mut own, messages);
                let id = reader.answered(item.text("call_id"), None);
                let blocks = parts(reader, item.get("output"));
                messages.push(Message::new(Role::Tool, Content::of(vec![result(id, blocks, false, None)])));
            }
            ("reasoning", _) => {
                let summary: Vec<&str> = item
                    .list("summary")
                    .iter()
                    .chain(item.list("content"))
                    .filter_map(|part| part.text("text"))
                    .collect();
                let mut thought = reader.thinking(&summary.join("\n\n"), None);
                thought.payload = Some(item.clone());
                own.push(Block::Thinking(thought));
            }
            _ => own.push(reader.opaque(item)),
        }
    }
    flush(&mut own, messages);
}

fn flush(own: &mut Vec<Block>, messages: &mut Vec<Message>) {
    if !own.is_empty() {
        messages.push(Message::new(Role::Assistant, Content::of(std::mem::take(own))));
    }
}

/// What the model said. An item with an id is kept whole beside its text: reasoning before it needs it unchanged.
fn output_message(reader: &mut Reader<'_>, item: &Value) -> Vec<Block> {
    let mut blocks = parts(reader, item.get("content"));
    if let (Some(_), [Block::Text(only)]) = (item.text("id"), blocks.as_mut_slice()) {
        only.extra.insert("origin".into(), json!(Protocol::Responses.name()));
        only.extra.insert("payload".into(), item.clone());
    }
    blocks
}

fn parts(reader: &Reader<'_>, content: Option<&Value>) -> Vec<Block> {
    match content {
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::String(text)) => vec![Block::text(text)],
        Some(Value::Array(parts)) => {
            parts.iter().map(|part| block(part).unwrap_or_else(|| reader.opaque(part))).collect()
        }
        Some(Value::Null) | None => Vec::new(),
        Some(other) => vec![reader.opaque(other)],
    }
}

fn block(part: &Value) -> Option<Block> {
    match part.text("type")? {
        "input_text" | "output_text" | "text" => part.text("text").map(Block::text),
        "refusal" => part.text("refusal").map(Block::text),
        "input_image" => part.text("image_url").map(image),
        "input_file" => {
            let (mime, data) = split_data_url(part.text("file_data")?)?;
            Some(bytes(mime, data, part.text("filename").unwrap_or_default()))
        }
        _ => None,
    }
}

/// Items of what the model said.
pub(super) fn assistant(writer: &mut Writer<'_>, message: usize, blocks: &[Block]) -> Vec<Value> {
    let mut items = Vec::new();
    // Reasoning is refused without the item that followed it: it waits until there is one.
    let mut reasoning: Vec<Value> = Vec::new();
    for block in blocks {
        let item = match block {
            Block::ToolUse(call) => function_call(call),
            Block::Thinking(thought) => {
                match own_item(thought) {
                    Some(item) => reasoning.push(item),
                    None => writer.warn(message, "reasoning of another provider is left out"),
                }
                continue;
            }
            block => match assistant_item(writer, message, block) {
                Some(item) => item,
                None => continue,
            },
        };
        items.append(&mut reasoning);
        items.push(item);
    }
    if !reasoning.is_empty() {
        writer.warn(message, "reasoning without the item that follows it is left out");
    }
    items
}

/// Leaves out ids of items that an earlier item has. The API refuses a repeated id, does without one, and servers that count their items
/// from one repeat them when a conversation moves from one to another.
pub(super) fn drop_repeated_ids(items: &mut [Value]) {
    let mut seen = HashSet::new();
    for item in items.iter_mut().filter_map(Value::as_object_mut) {
        let is_optional =
            matches!(item.get("type").and_then(Value::as_str), Some("function_call" | "message"));
        let Some(id) = item.get("id").and_then(Value::as_str) else { continue };
        if !seen.insert(id.to_owned()) && is_optional {
            item.remove("id");
        }
    }
}

fn assistant_item(writer: &mut Writer<'_>, message: usize, block: &Block) -> Option<Value> {
    if let Block::Text(text) = block
        && let Some(payload) = text.extra.get("payload")
        && text.extra.get("origin").is_some_and(|given| given == Protocol::Responses.name())
    {
        return Some(payload.clone());
    }
    Some(match writer.assistant_block(message, block, Placement::Note)? {
        Written::Text(text) => json!({"type": "message", "role": "assistant", "content": text}),
        Written::Media(value) | Written::Same(value) => value,
    })
}

fn own_item(thought: &ThinkingBlock) -> Option<Value> {
    (thought.origin.as_deref() == Some(Protocol::Responses.name())).then(|| thought.payload.clone()).flatten()
}

fn function_call(call: &ToolUseBlock) -> Value {
    let mut item = json!({"type": "function_call", "call_id": call.id, "name": call.name,
        "arguments": call.input.to_string()});
    if let (Some(id), Some(members)) = (&call.item_id, item.as_object_mut()) {
        members.insert("id".into(), id.clone().into());
    }
    item
}
