//! Conversations for chat APIs: messages with a role, calls beside the text, one message per result.

use serde_json::{Map, Value, json};

use super::Conversation;
use super::neutral::{Block, ThinkingBlock};
use super::turns::{AssistantBlock, Call, Turn, TurnKind};
use super::write::{Writer, Written};
use crate::dialect::{Placement, Protocol, ReasoningScope, SilentContent};

/// Writes `turns` as chat messages.
pub(super) fn write(writer: &mut Writer<'_>, turns: &[Turn]) -> Conversation {
    let last_question = turns.iter().rposition(|turn| matches!(turn.kind, TurnKind::User(_)));
    let mut messages = Vec::new();
    let mut pending: Vec<Map<String, Value>> = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        match &turn.kind {
            TurnKind::System(blocks) => {
                let text = writer.system_text(turn.message, blocks);
                messages.push(json!({"role": "system", "content": text}));
            }
            TurnKind::User(blocks) => messages.extend(user(writer, turn.message, blocks)),
            TurnKind::Assistant(blocks) => {
                let in_scope = match writer.rules().reasoning_scope {
                    ReasoningScope::All => true,
                    ReasoningScope::Loop => last_question.is_none_or(|question| index > question),
                };
                let mut written = assistant(writer, turn.message, blocks, in_scope);
                // One call per message: all but the first wait for the result of the one before.
                if written.len() > 1 {
                    pending = written.split_off(1);
                }
                messages.extend(written.into_iter().map(Value::Object));
            }
            TurnKind::Results(replies) => {
                let mut rendered = writer.results(turn, replies).into_iter();
                messages.extend(rendered.next());
                for call in pending.drain(..) {
                    messages.push(Value::Object(call));
                    messages.extend(rendered.next());
                }
                messages.extend(rendered);
            }
        }
    }
    messages.extend(pending.into_iter().map(Value::Object));
    Conversation { system: None, messages }
}

fn user(writer: &mut Writer<'_>, message: usize, blocks: &[Block]) -> Option<Value> {
    let mut parts = Vec::new();
    for block in blocks {
        parts.extend(writer.user_block(message, block, 0));
    }
    if writer.rules().protocol == Protocol::OllamaChat {
        return user_with_images(parts);
    }
    let content = match parts.as_mut_slice() {
        [] => return None,
        [Written::Text(text)] => Value::String(std::mem::take(text)),
        _ => parts
            .into_iter()
            .map(|part| match part {
                Written::Text(text) => json!({"type": "text", "text": text}),
                Written::Media(value) | Written::Same(value) => value,
            })
            .collect(),
    };
    Some(json!({"role": "user", "content": content}))
}

fn user_with_images(parts: Vec<Written>) -> Option<Value> {
    let mut texts = Vec::new();
    let mut images = Vec::new();
    for part in parts {
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
    let mut message = json!({"role": "user", "content": texts.join("\n\n")});
    if let Some(members) = message.as_object_mut().filter(|_| !images.is_empty()) {
        members.insert("images".into(), images.into());
    }
    Some(message)
}

/// One message, or one per call where the API takes only one call in each.
fn assistant(
    writer: &mut Writer<'_>,
    message: usize,
    blocks: &[AssistantBlock],
    in_scope: bool,
) -> Vec<Map<String, Value>> {
    let mut texts = Vec::new();
    let mut thoughts = Vec::new();
    let mut calls = Vec::new();
    for block in blocks {
        match block {
            AssistantBlock::Call(call) => calls.push(call),
            AssistantBlock::Block(Block::Thinking(thought)) => {
                if keeps_reasoning(writer, message, thought, in_scope) {
                    thoughts.push(thought.thinking.as_str());
                }
            }
            AssistantBlock::Block(block) => match writer.assistant_block(message, block, Placement::Note) {
                Some(Written::Text(text)) => texts.push(text),
                Some(Written::Media(_)) | None => {}
                Some(Written::Same(_)) => writer.warn(message, "an item of the API's own is left out"),
            },
        }
    }
    let text = texts.join("\n\n");
    if text.is_empty() && calls.is_empty() {
        return Vec::new();
    }
    let rules = writer.rules();
    let mut first = Map::new();
    first.insert("role".into(), "assistant".into());
    if let Some(field) = rules.reasoning_field.as_ref().filter(|_| !thoughts.is_empty()) {
        first.insert(field.clone(), thoughts.join("\n\n").into());
    }
    match (rules.protocol, text.is_empty(), rules.silent_content) {
        (Protocol::CohereChat, false, _) if !calls.is_empty() => {
            first.insert("tool_plan".into(), text.into())
        }
        (_, false, _) => first.insert("content".into(), text.into()),
        (_, true, SilentContent::Null) => first.insert("content".into(), Value::Null),
        (_, true, SilentContent::Text) => first.insert("content".into(), "".into()),
        (_, true, SilentContent::Omit) => None,
    };
    if rules.protocol != Protocol::Functions {
        if !calls.is_empty() {
            first.insert("tool_calls".into(), calls.iter().map(|call| tool_call(writer, call)).collect());
        }
        return vec![first];
    }
    let mut messages: Vec<Map<String, Value>> = Vec::new();
    for call in calls {
        let mut next = if messages.is_empty() {
            first.clone()
        } else {
            Map::from_iter([("role".to_owned(), "assistant".into()), ("content".to_owned(), Value::Null)])
        };
        next.insert(
            "function_call".into(),
            json!({"name": call.name, "arguments": call.arguments.to_string()}),
        );
        messages.push(next);
    }
    if messages.is_empty() { vec![first] } else { messages }
}

fn keeps_reasoning(writer: &mut Writer<'_>, message: usize, thought: &ThinkingBlock, in_scope: bool) -> bool {
    let kept = writer.rules().reasoning_field.is_some() && in_scope && !thought.thinking.is_empty();
    if !kept {
        writer.warn(message, "reasoning has no place here and is left out");
    }
    kept
}

fn tool_call(writer: &Writer<'_>, call: &Call) -> Value {
    let rules = writer.rules();
    let mut written = if rules.protocol == Protocol::OllamaChat {
        json!({"id": call.id, "function": {"name": call.name, "arguments": call.arguments}})
    } else {
        json!({"id": call.id, "type": "function",
            "function": {"name": call.name, "arguments": call.arguments.to_string()}})
    };
    if let (Some(path), Some(signature)) = (&rules.call_signature_field, &call.signature) {
        let mut place = &mut written;
        for key in path.split('.') {
            if !place.is_object() {
                *place = json!({});
            }
            let Some(members) = place.as_object_mut() else { return written };
            place = members.entry(key).or_insert(Value::Null);
        }
        *place = signature.clone().into();
    }
    written
}
