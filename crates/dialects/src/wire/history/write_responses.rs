//! Conversations as items.

use serde_json::{Value, json};

use super::neutral::{Block, ThinkingBlock};
use super::turns::{AssistantBlock, Call, Turn, TurnKind};
use super::write::{Writer, Written};
use super::{Conversation, origin};
use crate::dialect::{Placement, Protocol};

/// Writes `turns` as items.
pub(super) fn write(writer: &mut Writer<'_>, turns: &[Turn]) -> Conversation {
    let mut items = Vec::new();
    for turn in turns {
        match &turn.kind {
            TurnKind::System(blocks) => {
                let text = writer.system_text(turn.message, blocks);
                items.push(json!({"type": "message", "role": "system", "content": text}));
            }
            TurnKind::User(blocks) => items.extend(user(writer, turn.message, blocks)),
            TurnKind::Assistant(blocks) => items.extend(assistant(writer, turn.message, blocks)),
            TurnKind::Results(replies) => items.extend(writer.results(turn, replies)),
        }
    }
    Conversation { system: None, messages: items }
}

fn user(writer: &mut Writer<'_>, message: usize, blocks: &[Block]) -> Option<Value> {
    let mut parts = Vec::new();
    for block in blocks {
        parts.extend(writer.user_block(message, block, 0));
    }
    let content = match parts.as_mut_slice() {
        [] => return None,
        [Written::Text(text)] => Value::String(std::mem::take(text)),
        _ => parts
            .into_iter()
            .map(|part| match part {
                Written::Text(text) => json!({"type": "input_text", "text": text}),
                Written::Media(value) | Written::Same(value) => value,
            })
            .collect(),
    };
    Some(json!({"type": "message", "role": "user", "content": content}))
}

fn assistant(writer: &mut Writer<'_>, message: usize, blocks: &[AssistantBlock]) -> Vec<Value> {
    let mut items = Vec::new();
    // Reasoning is refused without the item that followed it: it waits until there is one.
    let mut reasoning: Vec<Value> = Vec::new();
    for block in blocks {
        let item = match block {
            AssistantBlock::Call(call) => function_call(call),
            AssistantBlock::Block(Block::Thinking(thought)) => {
                match own_item(thought) {
                    Some(item) => reasoning.push(item),
                    None => writer.warn(message, "reasoning of another provider is left out"),
                }
                continue;
            }
            AssistantBlock::Block(block) => match assistant_item(writer, message, block) {
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

fn assistant_item(writer: &mut Writer<'_>, message: usize, block: &Block) -> Option<Value> {
    if let Block::Text(text) = block
        && let Some(payload) = text.extra.get("payload")
        && text.extra.get("origin").is_some_and(|given| given == origin(Protocol::Responses))
    {
        return Some(payload.clone());
    }
    Some(match writer.assistant_block(message, block, Placement::Note)? {
        Written::Text(text) => json!({"type": "message", "role": "assistant", "content": text}),
        Written::Media(value) | Written::Same(value) => value,
    })
}

fn own_item(thought: &ThinkingBlock) -> Option<Value> {
    (thought.origin.as_deref() == Some(origin(Protocol::Responses)))
        .then(|| thought.payload.clone())
        .flatten()
}

fn function_call(call: &Call) -> Value {
    let mut item = json!({"type": "function_call", "call_id": call.id, "name": call.name,
        "arguments": call.arguments.to_string()});
    if let (Some(id), Some(members)) = (&call.item_id, item.as_object_mut()) {
        members.insert("id".into(), id.clone().into());
    }
    item
}
