//! What a model is shown of a result.

use std::sync::Arc;

use gateway_dialects::calls::ToolCall;
use gateway_dialects::calls::text::Notations;
use gateway_dialects::dialect::Protocol;
use gateway_dialects::history::{
    Block, Content, Conversation, Message, Role, ToolResultBlock, TranslatedTools, from_dialect,
};
use gateway_dialects::results::{
    IdMap, Outcome, ResultOptions, neutral_result, read_result, render_written_results,
};
use gateway_protocol::RawJson;
use serde_json::{Value, json};

use super::result_parts::ResultParts;
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
    /// The id under which the rest can be read in pieces.
    pub(super) kept_as: Option<String>,
}

/// The result with at most `most` bytes of text, as JSON writes it: of what is longer, the beginning and the end stay, and the whole is
/// kept. Images and other media are no text, and stay.
pub(super) async fn shown(
    result: &RawJson,
    most: usize,
    note: Option<String>,
    keeper: Option<&Keeper>,
) -> Shown {
    let (mut value, whole) = if result.len() <= most {
        // No part is longer than the whole.
        (read_result(result.as_str()).value, None)
    } else {
        let parts = ResultParts::read(result);
        let whole = Some(parts.whole_text()).filter(|text| !fits(text, most));
        (if whole.is_some() { parts.without_text() } else { parts.value() }, whole)
    };
    let mut kept_as = None;
    if let Some(whole) = whole {
        let Cut { head, gone, tail } = cut(&whole, most);
        let (head, tail, bytes) = (head.to_owned(), tail.to_owned(), whole.len());
        if let Some(keeper) = keeper {
            kept_as = keeper.keep(whole).await;
        }
        let rest = match &kept_as {
            Some(id) => format!(
                "[… {gone} characters cut; the whole result has {bytes} bytes, and {READ_RESULT} with the id \"{id}\" \
                 reads it in pieces, the next from offset {} on …]",
                head.len()
            ),
            None => format!("[… {gone} characters cut …]"),
        };
        insert_text(&mut value, Place::First, &format!("{head}{rest}{tail}"));
    }
    if let Some(note) = note {
        insert_text(&mut value, Place::Last, &note);
    }
    Shown { result: value, kept_as }
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

/// Where a text goes among the blocks of a result.
#[derive(Clone, Copy)]
enum Place {
    First,
    Last,
}

fn insert_text(value: &mut Value, place: Place, text: &str) {
    let Some(members) = value.as_object_mut() else { return };
    let content = members.entry("content").or_insert_with(|| json!([]));
    if let Some(content) = content.as_array_mut() {
        let index = match place {
            Place::First => 0,
            Place::Last => content.len(),
        };
        content.insert(index, json!({"type": "text", "text": text}));
    }
}

/// What stays of a text, and how many characters are gone between.
#[derive(Debug, PartialEq, Eq)]
struct Cut<'a> {
    head: &'a str,
    gone: usize,
    tail: &'a str,
}

/// The beginning and the end of a text that is longer than `most`.
fn cut(text: &str, most: usize) -> Cut<'_> {
    let for_tail = most / 3;
    let (head, rest) = split_after(text, most - for_tail);
    let mut room = for_tail;
    let mut start = rest.len();
    for (index, letter) in rest.char_indices().rev() {
        let Some(left) = room.checked_sub(json_length(letter)) else { break };
        (room, start) = (left, index);
    }
    let (middle, tail) = rest.split_at_checked(start).unwrap_or((rest, ""));
    Cut { head, gone: middle.chars().count(), tail }
}

/// A text split behind as many of its letters as take at most `room` bytes in JSON.
fn split_after(text: &str, mut room: usize) -> (&str, &str) {
    for (index, letter) in text.char_indices() {
        match room.checked_sub(json_length(letter)) {
            Some(left) => room = left,
            None => return text.split_at_checked(index).unwrap_or((text, "")),
        }
    }
    (text, "")
}

/// Whether a text takes at most `most` bytes in JSON.
fn fits(text: &str, most: usize) -> bool {
    split_after(text, most).1.is_empty()
}

/// Bytes of a letter inside of JSON.
fn json_length(letter: char) -> usize {
    match letter {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
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
        json!({"tool_call_id": call.id.as_str(), "name": call.name, "content": text_of_result(result)});
    if result["isError"] == true {
        kept["status"] = "error".into();
    }
    kept
}

/// All texts of a result, one below the other; its data where it has none.
pub(super) fn text_of_result(result: &Value) -> String {
    let blocks = result["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(block_text).collect();
    if texts.is_empty() {
        return result.get("structuredContent").map(Value::to_string).unwrap_or_default();
    }
    texts.join("\n")
}

/// The text of a block, also of a resource.
fn block_text(block: &Value) -> Option<&str> {
    block.get("resource").unwrap_or(block).get("text")?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(result: Value, most: usize, expected: Value) {
        let raw = RawJson::of(&result).unwrap();
        let found = shown(&raw, most, None, None).await.result;
        assert_eq!(found["content"], expected, "{result}");
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[tokio::test]
    async fn what_is_short_stays_as_it_is() {
        let result = json!({"content": [text("a"), text("b")], "structuredContent": {"n": 1}});
        let raw = RawJson::of(&result).unwrap();
        assert_eq!(shown(&raw, 30, None, None).await.result, result);
    }

    #[tokio::test]
    async fn data_beside_a_short_text_is_cut_with_it() {
        let data = json!({"rows": ["x".repeat(100)]});
        let result = json!({"content": [text("See the data.")], "structuredContent": data});
        let whole = format!("See the data.\n{data}");
        // Line breaks and quotes count twice.
        let (head, tail) = (&whole[..40 - 4], &whole[whole.len() - (20 - 1)..]);
        let gone = whole.len() - head.len() - tail.len();
        check(result, 60, json!([text(&format!("{head}[… {gone} characters cut …]{tail}"))])).await;
    }

    #[tokio::test]
    async fn data_that_a_text_repeats_is_shown_once() {
        let long = "y".repeat(90);
        let expected =
            || json!([text(&format!("{}[… 30 characters cut …]{}", "y".repeat(40), "y".repeat(20)))]);
        for data in [json!({"result": long}), json!({"content": long})] {
            check(json!({"content": [text(&long)], "structuredContent": data}), 60, expected()).await;
        }
        let data = json!({"rows": [1, 2, "z".repeat(100)]});
        let spelled = serde_json::to_string_pretty(&data).unwrap();
        let result = json!({"content": [text(&spelled)], "structuredContent": data});
        let raw = RawJson::of(&result).unwrap();
        let found = text_of_result(&shown(&raw, 60, None, None).await.result);
        assert!(found.starts_with("{\n  \"rows\"") && found.ends_with("zz\"\n  ]\n}"), "{found}");
    }

    #[tokio::test]
    async fn media_beside_a_text_stays() {
        let image = json!({"type": "image", "data": "QUJD".repeat(100_000), "mimeType": "image/png"});
        check(json!({"content": [text("There."), image]}), 60, json!([text("There."), image])).await;
        let long = json!({"content": [text(&"y".repeat(90)), image]});
        let cut = text(&format!("{}[… 30 characters cut …]{}", "y".repeat(40), "y".repeat(20)));
        check(long, 60, json!([cut, image])).await;
    }

    #[tokio::test]
    async fn media_that_no_model_takes_is_named() {
        let image = json!({"type": "image", "data": "QUJD".repeat(3 << 20), "mimeType": "image/png"});
        let note = text("[image/png of 9437184 bytes: too large to be sent to a model]");
        check(json!({"content": [text("There."), image]}), 1_000, json!([text("There."), note])).await;
    }

    #[test]
    fn a_cut_counts_the_bytes_of_json() {
        assert!(fits("a\"\n\u{1}漢", 1 + 2 + 2 + 6 + 3) && !fits("a\"\n\u{1}漢", 1 + 2 + 2 + 6 + 2));
        for letter in ["x", "漢", "\"", "\n", "\u{1}", "😀", "\\"] {
            let text = letter.repeat(200_000);
            let Cut { head, gone, tail } = cut(&text, 32 << 10);
            assert_eq!(gone + head.chars().count() + tail.chars().count(), 200_000, "{letter:?}");
            let written = serde_json::to_string(&format!("{head}{tail}")).unwrap();
            assert!(
                ((32 << 10) - 12..=(32 << 10) + 2).contains(&written.len()),
                "{letter:?}: {}",
                written.len()
            );
        }
    }
}
