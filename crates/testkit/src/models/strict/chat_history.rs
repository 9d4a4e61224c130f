//! Conversations of Chat Completions, with tools and with functions.

use serde_json::Value;

use super::{Checked, check_length, empty_array, list, missing, openai_schema, text, wrong_type};
use crate::models::errors::Violation;

/// Makers of models who count and name differently: Mistral.
const MISTRAL: [&str; 7] =
    ["mistral", "ministral", "open-mistral", "codestral", "magistral", "devstral", "pixtral"];

/// Whether a model is one of `OpenAI`'s: others want their thoughts back.
fn is_openais(model: &str) -> bool {
    let name = model.rsplit(['/', ':']).next().unwrap_or(model);
    ["gpt-", "chatgpt-", "o1", "o3", "o4"].iter().any(|start| name.starts_with(start))
}

pub(super) fn check_tools(model: &str, body: &Value) -> Checked {
    let mistral =
        MISTRAL.iter().any(|name| model.rsplit('/').next().is_some_and(|model| model.starts_with(name)));
    // Ids that wait for their results, and where their call is.
    let mut open: Vec<&str> = Vec::new();
    let mut answered: Vec<&str> = Vec::new();
    let messages = messages(body)?;
    for (index, message) in messages.iter().enumerate() {
        let role = check_message(index, message)?;
        if message.get("reasoning_content").is_some() && is_openais(model) {
            return Err(openai_schema::unknown_parameter(&format!("messages[{index}].reasoning_content")));
        }
        if role == "tool" {
            check_result(index, message, &mut open, &mut answered)?;
            continue;
        }
        check_answered(index, &open, mistral)?;
        answered.clear();
        if role == "assistant" {
            open = check_calls(index, message, mistral)?;
        }
    }
    check_answered(messages.len(), &open, mistral)
}

fn messages(body: &Value) -> Result<&[Value], Violation> {
    let messages = list(body, "messages");
    if messages.is_empty() { Err(empty_array("messages")) } else { Ok(messages) }
}

/// The role of a message, whose content has to be there.
fn check_message(index: usize, message: &Value) -> Result<&str, Violation> {
    let param = format!("messages[{index}].role");
    let Some(role) = text(message, "role") else { return Err(missing(&param)) };
    if !["system", "assistant", "user", "function", "tool", "developer"].contains(&role) {
        let message = format!(
            "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."
        );
        return Err(Violation::new(message).at(param).code("invalid_value"));
    }
    check_members(index, role, message)?;
    let calls = message.get("tool_calls").is_some() || message.get("function_call").is_some();
    let empty = message.get("content").is_none_or(Value::is_null);
    if empty && !(role == "assistant" && calls) {
        let text = "Invalid value for 'content': expected a string, got null.";
        return Err(Violation::new(text).at(format!("messages.[{index}].content")));
    }
    let images = list(message, "content").iter().any(|part| text(part, "type") == Some("image_url"));
    if images && role != "user" {
        let text = format!(
            "Invalid 'messages[{index}]'. Image URLs are only allowed for messages with role 'user', but this message with role '{role}' contains an image URL."
        );
        return Err(Violation::new(text).at(format!("messages[{index}]")).code("invalid_value"));
    }
    Ok(role)
}

/// A result has no flag for failures: what it says is in its content. The name of its tool is taken, as older clients send it.
fn check_members(index: usize, role: &str, message: &Value) -> Checked {
    let known: &[&str] = match role {
        "tool" => &["role", "content", "tool_call_id", "name"],
        "function" => &["role", "content", "name"],
        _ => return Ok(()),
    };
    let mut keys = message.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    match keys.find(|key| !known.contains(key)) {
        Some(key) => Err(openai_schema::unknown_parameter(&format!("messages[{index}].{key}"))),
        None => Ok(()),
    }
}

/// The ids of an assistant's calls.
fn check_calls(index: usize, message: &Value, mistral: bool) -> Result<Vec<&str>, Violation> {
    let Some(calls) = message.get("tool_calls").filter(|calls| !calls.is_null()) else {
        return Ok(Vec::new());
    };
    let param = format!("messages[{index}].tool_calls");
    let Some(calls) = calls.as_array() else { return Err(wrong_type(&param, "an array of objects", calls)) };
    if calls.is_empty() {
        return Err(empty_array(&param));
    }
    let mut ids = Vec::new();
    for (position, call) in calls.iter().enumerate() {
        let param = format!("{param}[{position}]");
        let id = text(call, "id").ok_or_else(|| missing(&format!("{param}.id")))?;
        check_length(&format!("{param}.id"), id, 40)?;
        if mistral && !(id.len() == 9 && id.chars().all(|letter| letter.is_ascii_alphanumeric())) {
            let text = format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.");
            return Err(Violation::new(text).code("3280"));
        }
        if text(call, "type") != Some("function") {
            return Err(missing(&format!("{param}.type")));
        }
        let function = call.get("function").ok_or_else(|| missing(&format!("{param}.function")))?;
        openai_schema::check_name(function, &format!("{param}.function"))?;
        match function.get("arguments") {
            None => return Err(missing(&format!("{param}.function.arguments"))),
            Some(Value::String(_)) => {}
            Some(other) => return Err(wrong_type(&format!("{param}.function.arguments"), "a string", other)),
        }
        if ids.contains(&id) {
            let text = format!("Duplicate value for 'tool_call_id' of '{id}' in message[{index}].");
            return Err(Violation::new(text).at(format!("messages.[{index}].tool_calls")));
        }
        ids.push(id);
    }
    Ok(ids)
}

fn check_result<'a>(
    index: usize,
    message: &'a Value,
    open: &mut Vec<&'a str>,
    answered: &mut Vec<&'a str>,
) -> Checked {
    let Some(id) = text(message, "tool_call_id") else {
        return Err(missing(&format!("messages[{index}].tool_call_id")));
    };
    if open.is_empty() && answered.is_empty() {
        let text = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
        return Err(Violation::new(text).at(format!("messages.[{index}].role")));
    }
    let param = format!("messages.[{index}].tool_call_id");
    let Some(position) = open.iter().position(|known| *known == id) else {
        let text = if answered.contains(&id) {
            format!("Duplicate value for 'tool_call_id' of '{id}' in message[{index}].")
        } else {
            format!(
                "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message."
            )
        };
        return Err(Violation::new(text).at(param));
    };
    answered.push(open.remove(position));
    Ok(())
}

fn check_answered(index: usize, open: &[&str], mistral: bool) -> Checked {
    if open.is_empty() {
        return Ok(());
    }
    if mistral {
        return Err(Violation::new("Not the same number of function calls and responses").code("3230"));
    }
    let text = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    );
    Err(Violation::new(text).at(format!("messages.[{index}].role")))
}

/// One call a turn, without an id: the next message is its result.
pub(super) fn check_functions(body: &Value) -> Checked {
    let mut open: Option<&str> = None;
    for (index, message) in messages(body)?.iter().enumerate() {
        let role = check_message(index, message)?;
        if role == "tool" || message.get("tool_calls").is_some() {
            return Err(Violation::new("a conversation with functions has no tools")
                .at(format!("messages.[{index}]")));
        }
        if role == "function" {
            let Some(name) = text(message, "name") else {
                let text = "Missing parameter 'name': messages with role 'function' must have a 'name'.";
                return Err(Violation::new(text).at(format!("messages.[{index}].name")));
            };
            if open.take() != Some(name) {
                let text = format!("the result of the function `{name}` follows no call of it");
                return Err(Violation::new(text).at(format!("messages.[{index}].role")));
            }
            continue;
        }
        check_no_call(index, open)?;
        open = match message.get("function_call").filter(|call| !call.is_null()) {
            None => None,
            Some(call) => {
                let param = format!("messages[{index}].function_call");
                openai_schema::check_name(call, &param)?;
                match call.get("arguments") {
                    Some(Value::String(_)) => text(call, "name"),
                    other => {
                        let other = other.unwrap_or(&Value::Null);
                        return Err(wrong_type(&format!("{param}.arguments"), "a string", other));
                    }
                }
            }
        };
    }
    check_no_call(list(body, "messages").len(), open)
}

fn check_no_call(index: usize, open: Option<&str>) -> Checked {
    match open {
        None => Ok(()),
        Some(name) => {
            let text = format!("the call of the function `{name}` is followed by no result");
            Err(Violation::new(text).at(format!("messages.[{index}].role")))
        }
    }
}
