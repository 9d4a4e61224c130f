//! What a model is shown of a result.

use std::sync::Arc;

use gateway_dialects::calls::ToolCall;
use gateway_dialects::calls::text::Notations;
use gateway_dialects::dialect::Protocol;
use gateway_dialects::history::{
    Block, Content, Conversation, Message, Role, ToolResultBlock, TranslatedTools, from_dialect,
};
use gateway_dialects::results::{
    IdMap, Outcome, PlainResult, ResultOptions, neutral_result, read_result, render_written_results,
};
use gateway_protocol::{CallResultView, RawJson};
use serde_json::{Value, json};

use crate::chat_dialect::chat_dialect;
use crate::history::WRITTEN_RESULTS;
use crate::kept_results::KeptResults;

/// A result as a block of the conversation.
pub(crate) fn result_block(id: &str, result: &Value) -> ToolResultBlock {
    match serde_json::from_value(neutral_result(id, result)) {
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

/// A result as far as the model is shown it.
pub(super) struct Shown {
    pub(super) result: Value,
    /// Whether the rest can be read in pieces.
    pub(super) is_kept: bool,
}

/// Above so many bytes no tree is made of a result.
const LONG: usize = 256 << 10;

/// The result with at most `most` characters of text: of what is longer, the beginning and the end stay, and the whole is kept.
pub(super) async fn shown(
    result: &RawJson,
    most: usize,
    note: Option<String>,
    keeper: Option<&Keeper>,
) -> Shown {
    let (mut value, whole) = if result.len() > LONG {
        let (text, failed) = long_text(result);
        (json!({"content": [], "isError": failed}), Some(text))
    } else {
        let value = read_result(result.as_str()).value;
        let text = joined_text(&value);
        let is_long = text.chars().count() > most || data_length(&value) > most;
        if is_long { (without_texts(value), Some(text)) } else { (value, None) }
    };
    let mut is_kept = false;
    if let Some(whole) = whole {
        let (head, gone, tail) = cut(&whole, most);
        let bytes = whole.len();
        let id = match keeper {
            Some(keeper) => keeper.keep(whole).await,
            None => None,
        };
        is_kept = id.is_some();
        let rest = match &id {
            Some(id) => format!(
                "[… {gone} characters cut; the whole result has {bytes} bytes, and {READ_RESULT} with the id \"{id}\" \
                 reads it in pieces, the next from offset {} on …]",
                head.len()
            ),
            None => format!("[… {gone} characters cut …]"),
        };
        push_text(&mut value, &format!("{head}{rest}{tail}"));
    }
    if let Some(note) = note {
        push_text(&mut value, &note);
    }
    Shown { result: value, is_kept }
}

/// The tool that reads long results in pieces.
pub(super) const READ_RESULT: &str = "read_result";

/// Who keeps long results of one caller.
#[derive(Clone, Debug)]
pub(super) struct Keeper {
    pub(super) results: Arc<KeptResults>,
    pub(super) owner: Option<String>,
}

impl Keeper {
    async fn keep(&self, text: String) -> Option<String> {
        self.results.keep(self.owner.clone(), text).await
    }
}

/// The text of a long result, without a tree: its texts, or all of it as JSON; and whether the tool says that it failed.
fn long_text(result: &RawJson) -> (String, bool) {
    match PlainResult::read(result.as_str()) {
        Some(plain) => (plain.texts().collect::<Vec<_>>().join("\n"), plain.is_error()),
        None => (result.as_str().to_owned(), CallResultView::of(result).is_error),
    }
}

/// All texts of a result, with what else it says as data.
fn joined_text(value: &Value) -> String {
    let blocks = value["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(block_text).collect();
    if texts.is_empty() {
        return value.get("structuredContent").map(Value::to_string).unwrap_or_default();
    }
    texts.join("\n")
}

/// Characters of data that stands beside texts, or for them.
fn data_length(value: &Value) -> usize {
    value.get("structuredContent").map_or(0, |data| data.to_string().len())
}

/// What is left of a result without its texts and data: images, and whether it failed.
fn without_texts(mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.remove("structuredContent");
        if let Some(content) = members.get_mut("content").and_then(Value::as_array_mut) {
            content.retain(|block| block_text(block).is_none());
        }
    }
    value
}

fn push_text(value: &mut Value, text: &str) {
    let Some(members) = value.as_object_mut() else { return };
    let content = members.entry("content").or_insert_with(|| json!([]));
    if let Some(content) = content.as_array_mut() {
        content.push(json!({"type": "text", "text": text}));
    }
}

/// The beginning and the end of a text, and how many characters are between them.
fn cut(text: &str, most: usize) -> (String, usize, String) {
    let count = text.chars().count();
    let tail = most / 3;
    let head: String = text.chars().take(most - tail).collect();
    let end: String = text.chars().skip(count.saturating_sub(tail)).collect();
    (head, count.saturating_sub(most), end)
}

/// The text of a block, also of a resource.
fn block_text(block: &Value) -> Option<&str> {
    block.get("resource").unwrap_or(block).get("text")?.as_str()
}

/// The results of calls that a model which writes `notations` wrote as text: one message of the user.
pub(super) fn written_results(results: &[(ToolCall, Value)], notations: Notations) -> Message {
    let chat = chat_dialect();
    let outcomes: Vec<_> = results
        .iter()
        .filter_map(|(call, result)| {
            let outcome = Outcome { call_id: call.id.given(), wire_name: &call.name, result, kept: None };
            Some((call.written?.of_results(notations), outcome))
        })
        .collect();
    let messages = render_written_results(chat, &outcomes, &ResultOptions::default()).messages;
    let said = Conversation { system: None, messages };
    let (mut read, _) = from_dialect(&said, Protocol::Chat, &TranslatedTools::default(), &IdMap::new(chat));
    let message = read.pop().unwrap_or_else(|| Message::new(Role::User, Content::Text(String::new())));
    let kept: Vec<Value> = results.iter().map(|(call, result)| kept_result(call, result)).collect();
    Message { metadata: Some(json!({WRITTEN_RESULTS: kept})), ..message }
}

/// A result of a call that was written as text, for whoever keeps the conversation.
fn kept_result(call: &ToolCall, result: &Value) -> Value {
    let mut kept =
        json!({"tool_call_id": call.id.as_str(), "name": call.name, "content": first_text_of(result)});
    if result["isError"] == true {
        kept["status"] = "error".into();
    }
    kept
}

/// The first text of a result, for people.
pub(super) fn first_text_of(result: &Value) -> String {
    let texts = result["content"].as_array().into_iter().flatten();
    let text = texts.into_iter().find_map(|block| block["text"].as_str().map(str::to_owned));
    text.or_else(|| result.get("structuredContent").map(Value::to_string)).unwrap_or_default()
}
