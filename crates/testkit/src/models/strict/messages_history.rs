//! Conversations of Anthropic Messages.

use serde_json::Value;

use super::{Checked, is_name, list, refuse, text};
use crate::models::errors::Violation;

pub(super) fn check(body: &Value) -> Checked {
    let messages = list(body, "messages");
    if messages.is_empty() {
        return refuse("messages: at least one message is required");
    }
    let mut ids: Vec<&str> = Vec::new();
    // The calls of the message before.
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = check_role(index, message)?;
        check_content(index, message, index + 1 == messages.len() && role == "assistant")?;
        check_results(index, message, role, &open)?;
        open = check_calls(index, message, role, &mut ids)?;
    }
    check_answered(messages.len().saturating_sub(1), &open)?;
    check_thinking(body, messages)
}

fn check_role(index: usize, message: &Value) -> Result<&str, Violation> {
    match text(message, "role") {
        Some("assistant") if index == 0 => {
            Err(Violation::new("messages: first message must use the \"user\" role"))
        }
        Some(role @ ("user" | "assistant")) => Ok(role),
        Some("system") => Err(Violation::new(
            "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.",
        )),
        Some(_) => {
            Err(Violation::new(format!("messages.{index}.role: Input should be 'user' or 'assistant'")))
        }
        None => Err(Violation::new(format!("messages.{index}.role: Field required"))),
    }
}

fn check_content(index: usize, message: &Value, is_prefill: bool) -> Checked {
    let empty = format!(
        "messages.{index}: all messages must have non-empty content except for the optional final assistant message"
    );
    let last = match message.get("content") {
        None => return refuse(format!("messages.{index}.content: Field required")),
        Some(Value::String(content)) if content.is_empty() && !is_prefill => return refuse(empty),
        Some(Value::String(content)) => Some(content.as_str()),
        Some(Value::Array(blocks)) if blocks.is_empty() && !is_prefill => return refuse(empty),
        Some(Value::Array(blocks)) => {
            for block in blocks.iter().filter(|block| text(block, "type") == Some("text")) {
                match text(block, "text") {
                    Some("") => return refuse("messages: text content blocks must be non-empty"),
                    Some(words) if words.trim().is_empty() => {
                        return refuse("messages: text content blocks must contain non-whitespace text");
                    }
                    _ => {}
                }
            }
            blocks.last().and_then(|block| text(block, "text"))
        }
        Some(_) => return refuse(format!("messages.{index}.content: Input should be a valid list")),
    };
    if is_prefill && last.is_some_and(|text| text.ends_with(char::is_whitespace)) {
        return refuse("messages: final assistant content cannot end with trailing whitespace");
    }
    Ok(())
}

/// The results of a message answer all calls of the message before, before anything else is said.
fn check_results(index: usize, message: &Value, role: &str, open: &[&str]) -> Checked {
    let mut left: Vec<&str> = open.to_vec();
    let mut others = false;
    for (position, block) in list(message, "content").iter().enumerate() {
        if text(block, "type") != Some("tool_result") {
            others = true;
            continue;
        }
        if role != "user" {
            return refuse(format!("messages.{index}: `tool_result` blocks can only be in `user` messages"));
        }
        let at = format!("messages.{index}.content.{position}");
        let Some(id) = text(block, "tool_use_id") else {
            return refuse(format!("{at}.tool_result.tool_use_id: Field required"));
        };
        if !open.contains(&id) {
            return refuse(format!(
                "{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            ));
        }
        let Some(found) = left.iter().position(|open| *open == id) else {
            return refuse(format!(
                "{at}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
            ));
        };
        if others {
            break;
        }
        left.remove(found);
    }
    check_answered(index.saturating_sub(1), &left)
}

fn check_answered(index: usize, open: &[&str]) -> Checked {
    if open.is_empty() {
        return Ok(());
    }
    refuse(format!(
        "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        open.join(", ")
    ))
}

fn check_calls<'a>(
    index: usize,
    message: &'a Value,
    role: &str,
    ids: &mut Vec<&'a str>,
) -> Result<Vec<&'a str>, Violation> {
    let mut open = Vec::new();
    for (position, block) in list(message, "content").iter().enumerate() {
        let at = format!("messages.{index}.content.{position}");
        match text(block, "type") {
            Some("tool_use") => {
                if role != "assistant" {
                    let text =
                        format!("messages.{index}: `tool_use` blocks can only be in `assistant` messages");
                    return Err(Violation::new(text));
                }
                let id = check_call(&at, block)?;
                if ids.contains(&id) {
                    return Err(Violation::new(format!("{at}: `tool_use` ids must be unique")));
                }
                ids.push(id);
                open.push(id);
            }
            Some("thinking") => match text(block, "signature") {
                None => return Err(Violation::new(format!("{at}.thinking.signature: Field required"))),
                Some("") => {
                    return Err(Violation::new(format!("{at}: Invalid `signature` in `thinking` block")));
                }
                Some(_) => {}
            },
            None => return Err(Violation::new(format!("{at}.type: Field required"))),
            Some(_) => {}
        }
    }
    Ok(open)
}

fn check_call<'a>(at: &str, block: &'a Value) -> Result<&'a str, Violation> {
    let Some(id) = text(block, "id") else {
        return Err(Violation::new(format!("{at}.tool_use.id: Field required")));
    };
    if !is_name(id, "") {
        return Err(Violation::new(format!(
            "{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        )));
    }
    if !text(block, "name").is_some_and(|name| is_name(name, "")) {
        let text = format!("{at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'");
        return Err(Violation::new(text));
    }
    if !block.get("input").is_some_and(Value::is_object) {
        return Err(Violation::new(format!("{at}.tool_use.input: Input should be a valid dictionary")));
    }
    Ok(id)
}

/// With thinking, the turn that waits for results begins with its thoughts.
fn check_thinking(body: &Value, messages: &[Value]) -> Checked {
    if body.get("thinking").and_then(|thinking| text(thinking, "type")) != Some("enabled") {
        return Ok(());
    }
    let Some(index) = messages.iter().rposition(|message| text(message, "role") == Some("assistant")) else {
        return Ok(());
    };
    let blocks = messages.get(index).map_or(&[][..], |message| list(message, "content"));
    let has_call = blocks.iter().any(|block| text(block, "type") == Some("tool_use"));
    match blocks.first().and_then(|block| text(block, "type")) {
        Some("thinking" | "redacted_thinking") | None => Ok(()),
        Some(found) if has_call => refuse(format!(
            "messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
        )),
        Some(_) => Ok(()),
    }
}
