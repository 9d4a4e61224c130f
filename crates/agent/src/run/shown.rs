//! What a model is shown of a result.

use std::sync::LazyLock;

use gateway_dialects::calls::ToolCall;
use gateway_dialects::dialect::Protocol;
use gateway_dialects::history::{
    Block, Content, Conversation, Message, Role, ToolResultBlock, TranslatedTools, from_dialect,
};
use gateway_dialects::results::{
    IdMap, Outcome, ResultOptions, neutral_result, read_result, render_written_results,
};
use gateway_dialects::{Dialect, Dialects};
use gateway_protocol::RawJson;
use serde_json::{Value, json};

/// A result as a block of the conversation, with at most `most` characters of text.
pub(super) fn shown_result(id: &str, result: &RawJson, most: usize, note: Option<String>) -> ToolResultBlock {
    match serde_json::from_value(neutral_result(id, &cut_result(result, most, note))) {
        Ok(Block::ToolResult(block)) => block,
        Ok(_) | Err(_) => ToolResultBlock {
            tool_use_id: id.to_owned(),
            content: Content::Blocks(Vec::new()),
            status: None,
            error: None,
            structured: None,
            extra: serde_json::Map::new(),
        },
    }
}

/// The same result with at most `most` characters of text: of what is longer, the beginning and the end stay.
pub(super) fn cut_result(result: &RawJson, most: usize, note: Option<String>) -> Value {
    let mut value = read_result(result.as_str()).value;
    let mut left = most;
    let blocks = value.get_mut("content").and_then(Value::as_array_mut);
    for text in blocks.into_iter().flatten().filter_map(text_of) {
        let count = text.chars().count();
        if count <= left {
            left -= count;
            continue;
        }
        let (gone, tail) = (count - left, left / 3);
        let head: String = text.chars().take(left - tail).collect();
        let end: String = text.chars().skip(count - tail).collect();
        *text = format!("{head}[… {gone} characters cut …]{end}");
        left = 0;
    }
    // Beside texts, data says the same once more, or is too long as well.
    let is_long = |data: &Value| data.to_string().len() > most;
    if let Some(members) = value.as_object_mut() {
        if members.get("structuredContent").is_some_and(is_long) {
            members.remove("structuredContent");
        }
        if let (Some(note), Some(content)) = (note, members.get_mut("content").and_then(Value::as_array_mut))
        {
            content.push(json!({"type": "text", "text": note}));
        }
    }
    value
}

/// The text of a block, also of a resource.
fn text_of(block: &mut Value) -> Option<&mut String> {
    let holder = if block.get("resource").is_some() { block.get_mut("resource")? } else { block };
    match holder.get_mut("text")? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// The results of calls that were written as text: one message of the user.
pub(super) fn written_results(results: &[(ToolCall, Value)]) -> Message {
    static CHAT: LazyLock<Option<Dialect>> = LazyLock::new(|| Dialects::builtin().get("openai-chat").ok());
    let nothing = || Message::new(Role::User, Content::Text(String::new()));
    let Some(chat) = CHAT.as_ref() else { return nothing() };
    let outcomes: Vec<_> = results
        .iter()
        .filter_map(|(call, result)| {
            let outcome = Outcome { call_id: call.id.given(), wire_name: &call.name, result, kept: None };
            Some((call.written?, outcome))
        })
        .collect();
    let messages = render_written_results(chat, &outcomes, &ResultOptions::default()).messages;
    let said = Conversation { system: None, messages };
    let (mut read, _) = from_dialect(&said, Protocol::Chat, &TranslatedTools::default(), &IdMap::new(chat));
    read.pop().unwrap_or_else(nothing)
}

/// The first text of a result, for people.
pub(super) fn first_text_of(result: &Value) -> String {
    let texts = result["content"].as_array().into_iter().flatten();
    let text = texts.into_iter().find_map(|block| block["text"].as_str().map(str::to_owned));
    text.or_else(|| result.get("structuredContent").map(Value::to_string)).unwrap_or_default()
}

/// The same of a block of the conversation.
pub(super) fn first_text(block: &ToolResultBlock) -> String {
    let blocks = block.content.blocks();
    let text = blocks.iter().find_map(|block| match block {
        Block::Text(text) => Some(text.text.clone()),
        _ => None,
    });
    text.or_else(|| block.structured.as_ref().map(ToString::to_string)).unwrap_or_default()
}
