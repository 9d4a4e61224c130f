//! Cohere's chat API, version 2: it knows all members, and takes no others.

use serde_json::Value;

use super::json_schema::{Draft, check_metaschema, check_references};
use super::{Checked, list, text};
use crate::models::errors::Violation;

/// The members of a request.
const MEMBERS: [&str; 22] = [
    "model",
    "messages",
    "tools",
    "strict_tools",
    "documents",
    "citation_options",
    "response_format",
    "safety_mode",
    "max_tokens",
    "stop_sequences",
    "temperature",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "k",
    "p",
    "logprobs",
    "tool_choice",
    "thinking",
    "priority",
    "stream",
    "raw_prompting",
];

/// How many fields all tools of a request may have with `strict_tools`.
const MOST_FIELDS: usize = 200;

pub(super) fn check_parameters(body: &Value) -> Checked {
    check_members(body, &MEMBERS)?;
    if text(body, "model").is_none_or(str::is_empty) {
        return invalid("invalid request: model is required");
    }
    let tools = list(body, "tools");
    let mut names = Vec::new();
    for tool in tools {
        let name = check_tool(tool)?;
        if names.contains(&name) {
            return invalid(&format!("invalid request: all tool names must be unique, found {name} twice"));
        }
        names.push(name);
    }
    if body
        .get("tool_choice")
        .is_some_and(|choice| !choice.is_null() && choice != "REQUIRED" && choice != "NONE")
    {
        return invalid("invalid request: tool_choice must be one of REQUIRED or NONE");
    }
    if body.get("strict_tools") == Some(&Value::Bool(true)) {
        let fields: usize = tools.iter().map(count_fields).sum();
        if fields > MOST_FIELDS {
            return invalid(&format!(
                "invalid request: strict_tools takes at most {MOST_FIELDS} fields over all tools, got {fields}"
            ));
        }
    }
    Ok(())
}

fn check_tool(tool: &Value) -> Result<&str, Violation> {
    check_members(tool, &["type", "function"])?;
    if text(tool, "type") != Some("function") {
        return Err(bad("invalid request: all tools must have the type function"));
    }
    let Some(function) = tool.get("function").filter(|function| function.is_object()) else {
        return Err(bad("invalid request: all tools must have a function"));
    };
    check_members(function, &["name", "description", "parameters"])?;
    let Some(name) = text(function, "name").filter(|name| !name.is_empty()) else {
        return Err(bad("invalid request: all tool functions must have a name"));
    };
    let parameters =
        function.get("parameters").filter(|parameters| text(parameters, "type") == Some("object"));
    let Some(parameters) = parameters else {
        return Err(bad(&format!(
            "invalid request: the parameters of the tool {name} must be a JSON schema of type object"
        )));
    };
    check_metaschema(parameters, Draft::TwentyTwenty).and_then(|()| check_references(parameters)).map_err(
        |problem| {
            bad(&format!("invalid request: the parameters of the tool {name} are no JSON schema: {problem}"))
        },
    )?;
    Ok(name)
}

fn count_fields(tool: &Value) -> usize {
    fn count(schema: &Value) -> usize {
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let own: usize = properties.map(|(_, schema)| 1 + count(schema)).sum();
        own + schema.get("items").map_or(0, count)
    }
    tool.get("function").and_then(|function| function.get("parameters")).map_or(0, count)
}

pub(super) fn check_history(body: &Value) -> Checked {
    let messages = list(body, "messages");
    if messages.is_empty() {
        return invalid("invalid request: messages must not be empty");
    }
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = check_message(index, message)?;
        if role == "tool" {
            let id = text(message, "tool_call_id").unwrap_or_default();
            let Some(position) = open.iter().position(|known| *known == id) else {
                return invalid(&format!(
                    "invalid request: tool call id {id} of the tool message at position {index} not found in previous tool calls"
                ));
            };
            open.remove(position);
            continue;
        }
        check_answered(&open)?;
        open = check_calls(index, message)?;
    }
    check_answered(&open)?;
    match messages.last().and_then(|last| text(last, "role")) {
        Some("user" | "tool") => Ok(()),
        _ => invalid("invalid request: the last message must be from the user or a tool"),
    }
}

fn check_message(index: usize, message: &Value) -> Result<&str, Violation> {
    let role = text(message, "role").unwrap_or_default();
    let (members, kinds): (&[&str], &[&str]) = match role {
        "system" => (&["role", "content"], &["text"]),
        "user" => (&["role", "content"], &["text", "image_url"]),
        "assistant" => (&["role", "content", "tool_calls", "tool_plan", "citations"], &["text", "thinking"]),
        "tool" => (&["role", "content", "tool_call_id"], &["text", "document"]),
        _ => {
            return Err(bad(&format!(
                "invalid request: message at position {index} has the role '{role}', which is none of user, assistant, system, tool"
            )));
        }
    };
    check_members(message, members)?;
    let at = format!("invalid request: {role} message at position {index}");
    match message.get("content") {
        Some(Value::String(_)) => {}
        Some(Value::Array(blocks)) => {
            for block in blocks {
                let kind = text(block, "type").unwrap_or_default();
                if !kinds.contains(&kind) {
                    return Err(bad(&format!("{at} must not have content of the type '{kind}'")));
                }
                let has_data = block.get("document").and_then(|document| document.get("data")).is_some();
                if kind == "document" && !has_data {
                    return Err(bad(&format!("{at} has a document without data")));
                }
            }
        }
        None | Some(Value::Null) if role == "assistant" && !list(message, "tool_calls").is_empty() => {}
        None | Some(Value::Null) => return Err(bad(&format!("{at} must have content"))),
        Some(_) => return Err(bad(&format!("{at} must have text or a list as content"))),
    }
    if role == "tool" && text(message, "tool_call_id").is_none() {
        return Err(bad(&format!("{at} must have a tool_call_id")));
    }
    Ok(role)
}

fn check_calls(index: usize, message: &Value) -> Result<Vec<&str>, Violation> {
    let mut ids = Vec::new();
    for call in list(message, "tool_calls") {
        check_members(call, &["id", "type", "function"])?;
        let function = call.get("function").unwrap_or(&Value::Null);
        check_members(function, &["name", "arguments"])?;
        let arguments = text(function, "arguments").map(serde_json::from_str::<Value>);
        let is_object = matches!(arguments, Some(Ok(Value::Object(_))));
        let (Some(id), Some(_), true) = (text(call, "id"), text(function, "name"), is_object) else {
            return Err(bad(&format!(
                "invalid request: the tool calls of the assistant message at position {index} must have an id, a name, and arguments that are a JSON object as text"
            )));
        };
        if ids.contains(&id) {
            return Err(bad(&format!("invalid request: duplicate tool call id {id}")));
        }
        ids.push(id);
    }
    Ok(ids)
}

fn check_answered(open: &[&str]) -> Checked {
    match open.first() {
        None => Ok(()),
        Some(id) => invalid(&format!("invalid request: tool call id {id} has no tool result")),
    }
}

fn check_members(value: &Value, known: &[&str]) -> Checked {
    let mut keys = value.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    match keys.find(|key| !known.contains(key)) {
        Some(key) => Err(bad(&format!(
            "unknown field: parameter '{key}' is not a valid field. For proper usage, please refer to https://docs.cohere.com/reference/chat"
        ))
        .unprocessable()),
        None => Ok(()),
    }
}

fn bad(message: &str) -> Violation {
    Violation::new(message)
}

fn invalid(message: &str) -> Checked {
    Err(bad(message))
}
