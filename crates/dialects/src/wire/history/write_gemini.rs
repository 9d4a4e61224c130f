//! Conversations as contents of parts.

use serde_json::{Map, Value, json};

use super::neutral::{Block, ThinkingBlock};
use super::turns::{AssistantBlock, Call, Turn, TurnKind};
use super::write::{Writer, Written, append, contents};
use super::{Conversation, origin};
use crate::dialect::{Placement, Protocol};

/// Writes `turns` as contents.
pub(super) fn write(writer: &mut Writer<'_>, turns: &[Turn]) -> Conversation {
    let mut system = Vec::new();
    let mut messages = Vec::new();
    for turn in turns {
        match &turn.kind {
            TurnKind::System(blocks) => {
                writer.collect_system(turn.message, blocks, &mut system, !messages.is_empty());
            }
            TurnKind::User(blocks) => {
                let mut parts = Vec::new();
                for block in blocks {
                    parts.extend(writer.user_block(turn.message, block, 0).map(part));
                }
                append(writer.rules(), &mut messages, "user", "parts", parts);
            }
            TurnKind::Assistant(blocks) => {
                let parts = model_parts(writer, turn.message, blocks);
                append(writer.rules(), &mut messages, "model", "parts", parts);
            }
            TurnKind::Results(replies) => {
                let parts = contents(writer.results(turn, replies), "parts");
                append(writer.rules(), &mut messages, "user", "parts", parts);
            }
        }
    }
    let text = system.join("\n\n");
    Conversation { system: (!text.is_empty()).then(|| json!({"parts": [{"text": text}]})), messages }
}

fn part(written: Written) -> Value {
    match written {
        Written::Text(text) => json!({"text": text}),
        Written::Media(value) | Written::Same(value) => value,
    }
}

fn model_parts(writer: &mut Writer<'_>, message: usize, blocks: &[AssistantBlock]) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut called = false;
    for block in blocks {
        match block {
            AssistantBlock::Call(call) => {
                parts.push(function_call(writer, call, called));
                called = true;
            }
            AssistantBlock::Block(Block::Thinking(thought)) => match thinking(thought) {
                Some(written) => parts.push(written),
                None => writer.warn(message, "reasoning of another provider is left out"),
            },
            AssistantBlock::Block(block) => {
                let mut written = writer.assistant_block(message, block, Placement::Result).map(part);
                if let (Block::Text(text), Some(Value::Object(members))) = (block, &mut written)
                    && let Some(signature) = text.extra.get("signature")
                {
                    members.insert("thoughtSignature".into(), signature.clone());
                }
                parts.extend(written);
            }
        }
    }
    parts
}

/// The first call of a turn needs a signature; the others have none of their own.
fn function_call(writer: &Writer<'_>, call: &Call, called: bool) -> Value {
    let rules = writer.rules();
    let mut body = Map::new();
    if rules.call_ids {
        body.insert("id".into(), call.id.clone().into());
    }
    body.insert("name".into(), call.name.clone().into());
    body.insert("args".into(), call.arguments.clone());
    let mut part = Map::from_iter([("functionCall".to_owned(), Value::Object(body))]);
    let foreign = rules.foreign_signature.as_ref().filter(|_| !called);
    if let Some(signature) = call.signature.as_ref().or(foreign) {
        part.insert("thoughtSignature".into(), signature.clone().into());
    }
    Value::Object(part)
}

fn thinking(thought: &ThinkingBlock) -> Option<Value> {
    if thought.origin.as_deref() != Some(origin(Protocol::GenerateContent)) {
        return None;
    }
    if let Some(payload) = &thought.payload {
        return Some(payload.clone());
    }
    let mut part = json!({"text": thought.thinking, "thought": true});
    if let (Some(signature), Some(members)) = (&thought.signature, part.as_object_mut()) {
        members.insert("thoughtSignature".into(), signature.clone().into());
    }
    Some(part)
}
