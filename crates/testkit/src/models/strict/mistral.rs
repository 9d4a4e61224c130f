//! Mistral's Chat Completions: members that its reader forbids, and the rules of its own validator.

use serde_json::Value;

use super::json_schema::{Draft, check_metaschema, check_patterns};
use super::{Checked, is_name, list, text};
use crate::models::errors::Violation;

/// The members of a request; others are refused.
const MEMBERS: [&str; 31] = [
    "model",
    "messages",
    "temperature",
    "top_p",
    "max_tokens",
    "stream",
    "stop",
    "random_seed",
    "metadata",
    "response_format",
    "tools",
    "tool_choice",
    "presence_penalty",
    "frequency_penalty",
    "min_tokens",
    "repetition_penalty",
    "top_k",
    "logprobs",
    "top_logprobs",
    "prompt_logprobs",
    "top_prompt_logprobs",
    "n",
    "prediction",
    "parallel_tool_calls",
    "reasoning_effort",
    "prompt_mode",
    "guardrails",
    "prompt_cache_key",
    "service_tier",
    "safe_prompt",
    "document_image_limit",
];

const TOOL_MEMBERS: [&str; 2] = ["type", "function"];
const FUNCTION_MEMBERS: [&str; 4] = ["name", "description", "parameters", "strict"];
const CALL_MEMBERS: [&str; 4] = ["id", "type", "function", "index"];
/// The kinds of chunks that content can have.
const CHUNKS: [&str; 7] =
    ["text", "image_url", "document_url", "reference", "file", "thinking", "input_audio"];

pub(super) fn check_parameters(body: &Value) -> Checked {
    check_members(body, "", &MEMBERS)?;
    for key in ["model", "messages"] {
        require(body, "", key)?;
    }
    for (index, tool) in list(body, "tools").iter().enumerate() {
        check_tool(tool, &format!("tools.{index}"))?;
    }
    let mut names = Vec::new();
    for name in list(body, "tools").iter().filter_map(|tool| text(tool.get("function")?, "name")) {
        if names.contains(&name) {
            return Err(Violation::new(format!("Duplicate tool name {name} in tools")));
        }
        names.push(name);
    }
    Ok(())
}

fn check_tool(tool: &Value, at: &str) -> Checked {
    if text(tool, "type").is_some_and(|kind| kind != "function") {
        // What Mistral runs by itself.
        return Ok(());
    }
    check_members(tool, at, &TOOL_MEMBERS)?;
    let function = require(tool, at, "function")?;
    let at = format!("{at}.function");
    check_members(function, &at, &FUNCTION_MEMBERS)?;
    let name = require_text(function, &at, "name")?;
    let parameters = require(function, &at, "parameters")?;
    if !parameters.is_object() {
        return Err(unprocessable(
            "dict_type",
            &format!("{at}.parameters"),
            "Input should be a valid dictionary",
        ));
    }
    check_metaschema(parameters, Draft::Seven)
        .and_then(|()| check_patterns(parameters))
        .map_err(|problem| Violation::new(format!("Invalid tool schema: {problem}")))?;
    check_name(name)
}

fn check_name(name: &str) -> Checked {
    if is_name(name, "") && name.len() <= 64 {
        return Ok(());
    }
    let text = format!(
        "Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64."
    );
    Err(Violation::new(text).code("3280"))
}

pub(super) fn check_history(body: &Value) -> Checked {
    let messages = list(body, "messages");
    if messages.is_empty() {
        return Err(order("Conversation must have at least one message"));
    }
    let mut previous: Option<&str> = None;
    let mut open: Vec<&str> = Vec::new();
    let mut answered: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = check_message(index, message)?;
        check_role(previous, role)?;
        if role == "tool" {
            check_result(message, &mut open, &mut answered)?;
        } else if !open.is_empty() {
            return Err(order("Not the same number of function calls and responses"));
        }
        if role == "assistant" {
            answered.clear();
            open = check_calls(index, message)?;
        }
        previous = Some(role);
    }
    if !open.is_empty() {
        return Err(order("Not the same number of function calls and responses"));
    }
    let prefix = messages.last().is_some_and(|last| last.get("prefix") == Some(&Value::Bool(true)));
    match previous {
        Some("user" | "tool") => Ok(()),
        Some("assistant") if prefix => Ok(()),
        Some("system") if messages.len() == 1 => Ok(()),
        last => {
            let role = last.unwrap_or_default();
            Err(order(&format!(
                "Expected last role User or Tool (or Assistant with prefix True) for serving but got {role}"
            )))
        }
    }
}

fn check_message(index: usize, message: &Value) -> Result<&str, Violation> {
    let at = format!("messages.{index}");
    let role = require_text(message, &at, "role")?;
    let known: &[&str] = match role {
        "system" | "user" => &["role", "content"],
        "assistant" => &["role", "content", "tool_calls", "prefix"],
        "tool" => &["role", "content", "tool_call_id", "name"],
        _ => {
            let problem = format!(
                "Input tag '{role}' found using 'role' does not match any of the expected tags: 'system', 'user', 'assistant', 'tool'"
            );
            return Err(unprocessable("union_tag_invalid", &at, &problem));
        }
    };
    let at = format!("{at}.{role}");
    check_members(message, &at, known)?;
    check_content(role, message, &at)?;
    Ok(role)
}

fn check_content(role: &str, message: &Value, at: &str) -> Checked {
    let empty = |content: &Value| content == "" || content.as_array().is_some_and(Vec::is_empty);
    match message.get("content") {
        Some(Value::String(_) | Value::Null) | None => {}
        Some(Value::Array(chunks)) => {
            let kind = |chunk: &Value| text(chunk, "type").is_some_and(|kind| CHUNKS.contains(&kind));
            if !chunks.iter().all(kind) {
                let problem = "Input tag found using 'type' does not match any of the expected tags";
                return Err(unprocessable("union_tag_invalid", &format!("{at}.content"), problem));
            }
        }
        Some(_) => {
            let problem = "Input should be a valid string";
            return Err(unprocessable("string_type", &format!("{at}.content.str"), problem));
        }
    }
    let has_content = message.get("content").is_some_and(|content| !content.is_null() && !empty(content));
    let has_calls = !list(message, "tool_calls").is_empty();
    match role {
        "assistant" if !has_content && !has_calls => {
            let text = "Assistant message must have either content or tool_calls, but not none.";
            Err(Violation::new(text).code("3240"))
        }
        "user" | "system" if message.get("content").is_none_or(Value::is_null) => {
            Err(unprocessable("missing", &format!("{at}.content"), "Field required"))
        }
        _ => Ok(()),
    }
}

fn check_role(previous: Option<&str>, role: &str) -> Checked {
    // Results follow calls or other results; instructions follow nobody else.
    let allowed = match previous {
        None | Some("system" | "user") => role != "tool",
        Some(_) => role != "system",
    };
    if allowed {
        return Ok(());
    }
    Err(order(&match previous {
        Some(previous) => format!("Unexpected role '{role}' after role '{previous}'"),
        None => "Conversation must start with a user message or system message".to_owned(),
    }))
}

fn check_calls(index: usize, message: &Value) -> Result<Vec<&str>, Violation> {
    let mut ids = Vec::new();
    for (position, call) in list(message, "tool_calls").iter().enumerate() {
        let at = format!("messages.{index}.assistant.tool_calls.{position}");
        check_members(call, &at, &CALL_MEMBERS)?;
        let function = require(call, &at, "function")?;
        let at = format!("{at}.function");
        let name = require_text(function, &at, "name")?;
        if !require(function, &at, "arguments").is_ok_and(|value| value.is_string() || value.is_object()) {
            let problem = "Input should be a valid string";
            return Err(unprocessable("string_type", &format!("{at}.arguments"), problem));
        }
        let id = text(call, "id").unwrap_or("null");
        check_id(id)?;
        check_name(name)?;
        if ids.contains(&id) {
            return Err(order(&format!("Duplicate tool call id {id} in assistant message")));
        }
        ids.push(id);
    }
    Ok(ids)
}

fn check_id(id: &str) -> Checked {
    if id.len() == 9 && id.chars().all(|letter| letter.is_ascii_alphanumeric()) {
        return Ok(());
    }
    let text = format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.");
    Err(Violation::new(text).code("3280"))
}

fn check_result<'a>(message: &'a Value, open: &mut Vec<&'a str>, answered: &mut Vec<&'a str>) -> Checked {
    let id = match message.get("tool_call_id") {
        Some(Value::String(id)) => id.as_str(),
        None | Some(Value::Null) => return Err(Violation::new("Tool call id has to be defined.")),
        Some(_) => {
            let problem = "Input should be a valid string";
            return Err(unprocessable("string_type", "messages.tool.tool_call_id", problem));
        }
    };
    check_id(id)?;
    if let Some(name) = text(message, "name") {
        check_name(name)?;
    }
    if answered.contains(&id) {
        return Err(order(&format!("Duplicate tool call id {id} in tool results")));
    }
    let Some(position) = open.iter().position(|known| *known == id) else {
        return Err(order(&format!("Unexpected tool call id {id} in tool results")));
    };
    answered.push(open.remove(position));
    Ok(())
}

fn order(message: &str) -> Violation {
    Violation::new(message).code("3230")
}

fn unprocessable(code: &'static str, at: &str, message: &str) -> Violation {
    Violation::new(message).at(at).code(code).unprocessable()
}

fn join(at: &str, key: &str) -> String {
    if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") }
}

fn check_members(value: &Value, at: &str, known: &[&str]) -> Checked {
    let mut keys = value.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    match keys.find(|key| !known.contains(key)) {
        Some(key) => Err(unprocessable("extra_forbidden", &join(at, key), "Extra inputs are not permitted")),
        None => Ok(()),
    }
}

fn require<'a>(value: &'a Value, at: &str, key: &str) -> Result<&'a Value, Violation> {
    value.get(key).ok_or_else(|| unprocessable("missing", &join(at, key), "Field required"))
}

fn require_text<'a>(value: &'a Value, at: &str, key: &str) -> Result<&'a str, Violation> {
    require(value, at, key)?
        .as_str()
        .ok_or_else(|| unprocessable("string_type", &join(at, key), "Input should be a valid string"))
}
