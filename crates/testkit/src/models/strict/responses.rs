//! `OpenAI` Responses.

use serde_json::Value;

use super::openai_schema::{self, Defaults};
use super::{Checked, check_length, missing, text, wrong_type};
use crate::models::errors::Violation;
use crate::models::wire::Form;

/// Parameters of the other API, which people leave in.
const UNKNOWN: [&str; 6] =
    ["messages", "max_tokens", "max_completion_tokens", "functions", "function_call", "n"];

/// The members of a function beside those that Chat Completions has too.
const TOOL_MEMBERS: [&str; 5] = ["type", "allowed_callers", "async", "defer_loading", "output_schema"];

pub(super) fn check_parameters(body: &Value) -> Checked {
    if let Some(key) = UNKNOWN.iter().find(|key| body.get(**key).is_some()) {
        return Err(Violation::new(format!("Unknown parameter: '{key}'."))
            .at(*key)
            .code("unknown_parameter"));
    }
    if body.get("stream_options").and_then(|options| options.get("include_usage")).is_some() {
        let param = "stream_options.include_usage";
        return Err(Violation::new(format!("Unknown parameter: '{param}'."))
            .at(param)
            .code("unknown_parameter"));
    }
    if text(body, "model").is_none() {
        return Err(missing("model"));
    }
    if let Some(most) = body.get("max_output_tokens").and_then(Value::as_u64).filter(|most| *most < 16) {
        let text = format!(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {most} instead."
        );
        return Err(Violation::new(text).at("max_output_tokens").code("integer_below_min_value"));
    }
    openai_schema::check_unique(Form::Responses, body, "tools")?;
    for (index, tool) in openai_schema::functions(body, "tools") {
        let param = format!("tools[{index}]");
        openai_schema::check_name(tool, &param)?;
        openai_schema::check_members(tool, &param, &TOOL_MEMBERS)?;
        // Here a tool without arguments may say so.
        if tool.get("parameters").is_some_and(|parameters| !parameters.is_null()) {
            openai_schema::check_parameters(tool, &param, Defaults::Accepted)?;
        }
    }
    Ok(())
}

pub(super) fn check_history(body: &Value) -> Checked {
    let input = match body.get("input") {
        Some(Value::String(_)) => return Ok(()),
        Some(Value::Array(items)) => items,
        Some(other) => return Err(wrong_type("input", "one of a string or an array of input items", other)),
        None => return Err(missing("input")),
    };
    let continued = body.get("previous_response_id").is_some_and(|id| !id.is_null());
    let mut ids: Vec<&str> = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut known: Vec<&str> = Vec::new();
    for (index, item) in input.iter().enumerate() {
        let kind = text(item, "type").unwrap_or("message");
        if let Some(id) = text(item, "id") {
            check_id(index, kind, id, &ids)?;
            ids.push(id);
        }
        match kind {
            "function_call" => {
                let id = check_call(index, item)?;
                open.push(id);
                known.push(id);
            }
            "function_call_output" => {
                let param = format!("input[{index}].call_id");
                let id = text(item, "call_id").ok_or_else(|| missing(&param))?;
                if item.get("output").is_none() {
                    return Err(missing(&format!("input[{index}].output")));
                }
                match open.iter().position(|open| *open == id) {
                    Some(position) => drop(open.remove(position)),
                    None if continued && !known.contains(&id) => {}
                    None => {
                        let text = format!("No tool call found for function call output with call_id {id}.");
                        return Err(Violation::new(text).at("input"));
                    }
                }
            }
            "reasoning" => check_followed(item, input.get(index + 1))?,
            "message" => check_message(index, item, &open)?,
            _ => {}
        }
    }
    unanswered(&open)
}

/// Reasoning belongs to what the model made of it.
fn check_followed(item: &Value, next: Option<&Value>) -> Checked {
    let kind = next.map(|next| (text(next, "type").unwrap_or("message"), text(next, "role")));
    if matches!(kind, Some(("function_call" | "reasoning", _) | ("message", Some("assistant")))) {
        return Ok(());
    }
    let id = text(item, "id").unwrap_or_default();
    let text = format!("Item '{id}' of type 'reasoning' was provided without its required following item.");
    Err(Violation::new(text).at("input"))
}

fn check_message(index: usize, item: &Value, open: &[&str]) -> Checked {
    match text(item, "role") {
        None => Err(missing(&format!("input[{index}].role"))),
        // The next turn begins.
        Some("user") => unanswered(open),
        Some("assistant" | "system" | "developer") => Ok(()),
        Some(role) => {
            let text = format!(
                "Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'."
            );
            Err(Violation::new(text).at(format!("input[{index}]")).code("invalid_value"))
        }
    }
}

fn unanswered(open: &[&str]) -> Checked {
    match open.first() {
        None => Ok(()),
        Some(id) => Err(Violation::new(format!("No tool output found for function call {id}.")).at("input")),
    }
}

fn check_id(index: usize, kind: &str, id: &str, ids: &[&str]) -> Checked {
    let param = format!("input[{index}].id");
    let prefix = match kind {
        "function_call" => "fc",
        "reasoning" => "rs",
        "message" => "msg",
        _ => "",
    };
    if !id.starts_with(prefix) {
        let text = format!("Invalid '{param}': '{id}'. Expected an ID that begins with '{prefix}'.");
        return Err(Violation::new(text).at(param).code("invalid_value"));
    }
    if ids.contains(&id) {
        let text = format!(
            "Duplicate item found with id {id}. Remove duplicate items from your input and try again."
        );
        return Err(Violation::new(text).at("input"));
    }
    Ok(())
}

fn check_call(index: usize, item: &Value) -> Result<&str, Violation> {
    let param = format!("input[{index}]");
    openai_schema::check_name(item, &param)?;
    match item.get("arguments") {
        Some(Value::String(_)) => {}
        Some(other) => return Err(wrong_type(&format!("{param}.arguments"), "a string", other)),
        None => return Err(missing(&format!("{param}.arguments"))),
    }
    let id = text(item, "call_id").ok_or_else(|| missing(&format!("{param}.call_id")))?;
    check_length(&format!("{param}.call_id"), id, 64)?;
    Ok(id)
}
