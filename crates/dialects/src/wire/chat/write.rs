//! What the model said, as a chat message.

use serde_json::{Map, Value, json};

use crate::dialect::{MessageRules, Placement, SilentContent};
use crate::wire::history::{Block, Conversation, Message, ToolUseBlock, Writer, Written};

/// A message of the model without its calls, and the calls.
pub(crate) struct Said<'b> {
    pub(crate) message: Map<String, Value>,
    pub(crate) calls: Vec<&'b ToolUseBlock>,
}

/// Writes what stands beside the calls; text goes under `text_key` where there are calls. `None` if nothing was said.
pub(crate) fn assistant<'b>(
    writer: &mut Writer<'_>,
    at: usize,
    blocks: &'b [Block],
    text_key: &str,
) -> Option<Said<'b>> {
    let mut texts = Vec::new();
    let mut thoughts = Vec::new();
    let mut calls = Vec::new();
    let takes_reasoning = writer.takes_reasoning && writer.rules().reasoning_field.is_some();
    for block in blocks {
        match block {
            Block::ToolUse(call) => calls.push(call),
            Block::Thinking(thought) if takes_reasoning && !thought.thinking.is_empty() => {
                thoughts.push(thought.thinking.as_str());
            }
            Block::Thinking(_) => writer.warn(at, "reasoning has no place here and is left out"),
            block => match writer.assistant_block(at, block, Placement::Note) {
                Some(Written::Text(text)) => texts.push(text),
                Some(Written::Media(_)) | None => {}
                Some(Written::Same(_)) => writer.warn(at, "an item of the API's own is left out"),
            },
        }
    }
    let text = texts.join("\n\n");
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let rules = writer.rules();
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    if let Some(field) = rules.reasoning_field.as_ref().filter(|_| !thoughts.is_empty()) {
        message.insert(field.clone(), thoughts.join("\n\n").into());
    }
    let text_key = if calls.is_empty() { "content" } else { text_key };
    match (text.is_empty(), rules.silent_content) {
        (false, _) => message.insert(text_key.into(), text.into()),
        (true, SilentContent::Null) => message.insert("content".into(), Value::Null),
        (true, SilentContent::Text) => message.insert("content".into(), "".into()),
        (true, SilentContent::Omit) => None,
    };
    Some(Said { message, calls })
}

/// A conversation with the calls of a message under `tool_calls`; `function` writes one, and text goes under `text_key`.
pub(crate) fn write(
    writer: &mut Writer<'_>,
    messages: &[Message],
    text_key: &str,
    function: fn(&ToolUseBlock) -> Value,
) -> Conversation {
    writer.message_list(messages, |writer, at, blocks| {
        let said = assistant(writer, at, blocks, text_key);
        let Some(Said { mut message, calls }) = said else { return Vec::new() };
        if !calls.is_empty() {
            let calls = calls.iter().map(|call| signed(writer.rules(), call, function(call)));
            message.insert("tool_calls".into(), calls.collect());
        }
        vec![message.into()]
    })
}

/// A call as Chat Completions spells it.
pub(crate) fn function(call: &ToolUseBlock) -> Value {
    json!({"id": call.id, "type": "function",
        "function": {"name": call.name, "arguments": call.input.to_string()}})
}

/// Puts the signature of a call where the dialect wants it.
fn signed(rules: &MessageRules, call: &ToolUseBlock, mut written: Value) -> Value {
    if let (Some(path), Some(signature)) = (&rules.call_signature_field, &call.signature) {
        let mut member = &mut written;
        for key in path.split('.') {
            if !member.is_object() {
                *member = json!({});
            }
            let Some(members) = member.as_object_mut() else { return written };
            member = members.entry(key).or_insert(Value::Null);
        }
        *member = signature.clone().into();
    }
    written
}
