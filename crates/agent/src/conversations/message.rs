//! Messages as they are stored: in the form of Chat Completions, which every model's API can be given.
//!
//! ```json
//! {"role": "assistant", "content": "Let me add.", "tool_calls": [{"id": "a", "type": "function",
//!     "function": {"name": "add", "arguments": "{\"a\":1,\"b\":2}"}}]}
//! {"role": "tool", "content": "3", "tool_call_id": "a", "name": "add"}
//! ```
//!
//! Names and arguments are those of MCP, whatever the model called them. Members without a value are left out. What this form cannot
//! carry, such as signed reasoning or images in results, stands beside it under `blocks`, in the neutral form of histories.

use std::collections::HashMap;

use gateway_dialects::dialect::Protocol;
use gateway_dialects::history::{
    Block, Content, Conversation, Message, Role, ThinkingBlock, ToolResultBlock, TranslatedTools,
    from_dialect,
};
use gateway_dialects::results::IdMap;
use serde_json::{Map, Value, json};

use crate::chat_dialect::chat_dialect;

/// The member for what the form of Chat Completions cannot carry.
const BLOCKS: &str = "blocks";

/// A message as it is stored. `names` has the tools of the calls that results answer, by id.
pub(super) fn to_stored(message: &Message, names: &HashMap<String, String>) -> Map<String, Value> {
    let mut stored = Map::new();
    stored.insert("role".to_owned(), message.role.name().into());
    let blocks = message.content.blocks();
    match blocks.as_slice() {
        [Block::ToolResult(result)] => write_result(&mut stored, result, names),
        blocks => write_said(&mut stored, blocks),
    }
    if normal(&from_stored(&stored).content) != normal(&message.content) {
        stored.insert(BLOCKS.to_owned(), serde_json::to_value(&blocks).unwrap_or_default());
    }
    if let Some(metadata) = &message.metadata {
        stored.insert("metadata".to_owned(), metadata.clone());
    }
    stored.extend(message.extra.clone());
    stored
}

/// A stored message in the neutral form.
pub(super) fn from_stored(stored: &Map<String, Value>) -> Message {
    let said = Conversation { system: None, messages: vec![Value::Object(stored.clone())] };
    let ids = IdMap::new(chat_dialect());
    let (mut read, _) = from_dialect(&said, Protocol::Chat, &TranslatedTools::default(), &ids);
    let mut message = read.pop().unwrap_or_else(|| Message::new(Role::User, Content::Text(String::new())));
    if let Some(blocks) = stored.get(BLOCKS).and_then(|blocks| serde_json::from_value(blocks.clone()).ok()) {
        message.content = Content::Blocks(blocks);
    } else if let Content::Blocks(blocks) = &mut message.content
        && let [Block::ToolResult(result)] = blocks.as_mut_slice()
    {
        result.status =
            (stored.get("status").and_then(Value::as_str) == Some("error")).then(|| "error".to_owned());
        if let Some(structured) = stored.get("structuredContent") {
            result.structured = Some(structured.clone());
        }
    }
    message.metadata = stored.get("metadata").cloned();
    message
}

/// The text of a stored message.
pub(super) fn text_of(stored: &Map<String, Value>) -> String {
    match stored.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The role of a stored message.
pub(super) fn role_of(stored: &Map<String, Value>) -> &str {
    stored.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn write_result(stored: &mut Map<String, Value>, result: &ToolResultBlock, names: &HashMap<String, String>) {
    write_content(stored, &result.content.blocks());
    stored.insert("tool_call_id".to_owned(), result.tool_use_id.clone().into());
    if let Some(name) = names.get(&result.tool_use_id) {
        stored.insert("name".to_owned(), name.clone().into());
    }
    if is_failed(result) {
        stored.insert("status".to_owned(), "error".into());
    }
    if let Some(structured) = &result.structured {
        stored.insert("structuredContent".to_owned(), structured.clone());
    }
}

fn write_said(stored: &mut Map<String, Value>, blocks: &[Block]) {
    let thoughts: Vec<&str> = blocks.iter().filter_map(plain_thought).collect();
    if let [thought] = thoughts.as_slice() {
        stored.insert("reasoning_content".to_owned(), (*thought).into());
    }
    write_content(stored, blocks);
    let calls: Vec<Value> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::ToolUse(call) => Some(json!({"id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": call.input.to_string()}})),
            _ => None,
        })
        .collect();
    if !calls.is_empty() {
        stored.insert("tool_calls".to_owned(), calls.into());
    }
}

/// Reasoning that Chat Completions can carry: text, and nobody signed it.
fn plain_thought(block: &Block) -> Option<&str> {
    match block {
        Block::Thinking(ThinkingBlock {
            thinking,
            signature: None,
            payload: None,
            origin: Some(origin),
            ..
        }) if origin == Protocol::Chat.name() => Some(thinking),
        _ => None,
    }
}

/// One text as text, several as parts.
fn write_content(stored: &mut Map<String, Value>, blocks: &[Block]) {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    let content: Value = match texts.as_slice() {
        [] => return,
        [only] => (*only).into(),
        several => several.iter().map(|text| json!({"type": "text", "text": text})).collect(),
    };
    stored.insert("content".to_owned(), content);
}

fn is_failed(result: &ToolResultBlock) -> bool {
    result.status.as_deref() == Some("error") || result.error.is_some()
}

/// Content in one of the forms that mean the same.
fn normal(content: &Content) -> Vec<Block> {
    let mut blocks = content.blocks();
    for block in &mut blocks {
        if let Block::ToolResult(result) = block {
            let is_failed = is_failed(result);
            result.status = is_failed.then(|| "error".to_owned());
            result.error = None;
            result.content = Content::Blocks(result.content.blocks());
        }
    }
    blocks
}
