//! Turns that ended in the middle.

use std::collections::HashSet;

use gateway_dialects::history::{Block, Content, Message, Role};
use serde_json::json;

use crate::run::result_block;

/// The result of a call that nobody waited for.
const NO_RESULT: &str = "interrupted: nobody waited for the result. The call may have run.";

/// Makes a conversation valid again whose last turn ended in the middle: each call has a result, and the turn ends with the model's
/// words, as far as they came, and `note`.
pub fn end_interrupted(messages: &mut Vec<Message>, text: &str, note: &str) {
    let mut open: Vec<String> = Vec::new();
    for message in messages.iter() {
        for block in message.content.blocks() {
            match block {
                Block::ToolUse(call) => open.push(call.id),
                Block::ToolResult(result) => open.retain(|id| *id != result.tool_use_id),
                _ => {}
            }
        }
    }
    let mut seen = HashSet::new();
    for id in open.iter().filter(|id| seen.insert(id.as_str())) {
        let result = json!({"content": [{"type": "text", "text": NO_RESULT}], "isError": true});
        let block = Block::ToolResult(result_block(id, &result));
        messages.push(Message::new(Role::Tool, Content::Blocks(vec![block])));
    }
    let text = if text.trim().is_empty() { note.to_owned() } else { format!("{text}\n\n{note}") };
    match messages.last_mut() {
        // Two replies in a row are more than some models take.
        Some(Message { role: Role::Assistant, content: Content::Text(said), .. }) => {
            said.push_str("\n\n");
            said.push_str(&text);
        }
        _ => messages.push(Message::new(Role::Assistant, Content::Text(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neutral(messages: serde_json::Value) -> Vec<Message> {
        serde_json::from_value(messages).unwrap()
    }

    #[track_caller]
    fn check(before: serde_json::Value, text: &str, added: serde_json::Value) {
        let mut messages = neutral(before.clone());
        end_interrupted(&mut messages, text, "[stopped]");
        let mut expected = neutral(before);
        expected.extend(neutral(added));
        assert_eq!(messages, expected);
    }

    #[test]
    fn what_the_model_has_said_stays() {
        let user = json!([{"role": "user", "content": "Hi"}]);
        check(user.clone(), "Hel", json!([{"role": "assistant", "content": "Hel\n\n[stopped]"}]));
        check(user, "", json!([{"role": "assistant", "content": "[stopped]"}]));
    }

    #[test]
    fn calls_without_a_result_get_one() {
        let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "add", "input": {}});
        let before = json!([
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [call("a"), call("b")]},
            {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "3"}]},
        ]);
        let mut messages = neutral(before);
        end_interrupted(&mut messages, "", "[stopped]");
        let chat = crate::history::to_chat(&messages);
        let results: Vec<(&str, bool)> = chat
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| {
                let text = message["content"].as_str().unwrap();
                (message["tool_call_id"].as_str().unwrap(), text.contains("interrupted"))
            })
            .collect();
        assert_eq!(results, [("a", false), ("b", true)]);
        assert_eq!(chat.last().unwrap()["content"], "[stopped]");
    }

    #[test]
    fn calls_that_were_written_as_text_leave_one_reply() {
        let mut messages = neutral(json!([{"role": "assistant", "content": "[add(a=1)]"}]));
        end_interrupted(&mut messages, "", "[stopped]");
        assert_eq!(messages, neutral(json!([{"role": "assistant", "content": "[add(a=1)]\n\n[stopped]"}])));
    }
}
