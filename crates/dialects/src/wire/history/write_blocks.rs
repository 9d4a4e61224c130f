//! Conversations for APIs whose messages are lists of blocks, calls and results among them.

use serde_json::{Value, json};

use super::neutral::{Block, ThinkingBlock};
use super::turns::{AssistantBlock, Turn, TurnKind};
use super::write::{Writer, Written, append, contents};
use super::{Conversation, origin};
use crate::dialect::{Placement, Protocol};

/// Writes `turns` as messages of blocks.
pub(super) fn write(writer: &mut Writer<'_>, turns: &[Turn]) -> Conversation {
    let mut system = Vec::new();
    let mut messages = Vec::new();
    for turn in turns {
        match &turn.kind {
            TurnKind::System(blocks) => {
                writer.collect_system(turn.message, blocks, &mut system, !messages.is_empty());
            }
            TurnKind::User(blocks) => {
                let mut content = Vec::new();
                let mut files = 0;
                for block in blocks {
                    let written = writer.user_block(turn.message, block, files);
                    files += usize::from(matches!(block, Block::Resource(_)));
                    content.extend(written.map(|written| block_value(writer, written)));
                }
                append(writer.rules(), &mut messages, "user", "content", content);
            }
            TurnKind::Assistant(blocks) => {
                let mut content = Vec::new();
                for block in blocks {
                    content.extend(assistant(writer, turn.message, block));
                }
                append(writer.rules(), &mut messages, "assistant", "content", content);
            }
            TurnKind::Results(replies) => {
                let content = contents(writer.results(turn, replies), "content");
                append(writer.rules(), &mut messages, "user", "content", content);
            }
        }
    }
    let text = system.join("\n\n");
    let converse = writer.rules().protocol == Protocol::Converse;
    let system =
        (!text.is_empty()).then(|| if converse { json!([{"text": text}]) } else { Value::String(text) });
    Conversation { system, messages }
}

fn block_value(writer: &Writer<'_>, written: Written) -> Value {
    match written {
        Written::Text(text) if writer.rules().protocol == Protocol::Converse => json!({"text": text}),
        Written::Text(text) => json!({"type": "text", "text": text}),
        Written::Media(value) | Written::Same(value) => value,
    }
}

fn assistant(writer: &mut Writer<'_>, message: usize, block: &AssistantBlock) -> Option<Value> {
    let converse = writer.rules().protocol == Protocol::Converse;
    match block {
        AssistantBlock::Call(call) if converse => {
            Some(json!({"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}}))
        }
        AssistantBlock::Call(call) => {
            Some(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}))
        }
        AssistantBlock::Block(Block::Thinking(thought)) => {
            let written = thinking(thought, converse);
            if written.is_none() {
                writer.warn(message, "reasoning without this provider's signature is left out");
            }
            written
        }
        AssistantBlock::Block(block) => {
            let written = writer.assistant_block(message, block, Placement::Note)?;
            Some(block_value(writer, written))
        }
    }
}

/// Reasoning goes back only as it came: signed by the provider. Both APIs carry the same signatures.
fn thinking(thought: &ThinkingBlock, converse: bool) -> Option<Value> {
    let own = [origin(Protocol::Messages), origin(Protocol::Converse)];
    if thought.origin.as_deref().is_some_and(|given| !own.contains(&given)) {
        return None;
    }
    let signature = thought.signature.as_ref()?;
    Some(if converse {
        json!({"reasoningContent": {"reasoningText": {"text": thought.thinking, "signature": signature}}})
    } else {
        json!({"type": "thinking", "thinking": thought.thinking, "signature": signature})
    })
}
