//! Parameters of Chat Completions.

use serde_json::Value;

use super::openai_schema::{self, Defaults};
use super::{Checked, empty_array, list, missing, text};
use crate::models::errors::Violation;
use crate::models::wire::{Form, Wire};

/// How many tools a request may have.
const MOST_TOOLS: usize = 128;

pub(super) fn check_parameters(wire: Wire, form: Form, model: &str, body: &Value) -> Checked {
    if model.is_empty() {
        return Err(Violation::new("you must provide a model parameter"));
    }
    if body.get("messages").is_none() {
        return Err(missing("messages"));
    }
    check_dependent(body)?;
    check_reasoning_model(model, body)?;
    let defaults = match wire {
        Wire::Argo => Defaults::Refused,
        Wire::Dial => Defaults::RefusedIfStrict,
        _ => Defaults::Accepted,
    };
    let key = if form == Form::Functions { "functions" } else { "tools" };
    check_count(body, key)?;
    check_kinds(body, key)?;
    openai_schema::check_unique(form, body, key)?;
    for (index, tool) in openai_schema::functions(body, key) {
        let (function, param) = if form == Form::Functions {
            (tool, format!("functions[{index}]"))
        } else {
            let param = format!("tools[{index}].function");
            (tool.get("function").ok_or_else(|| missing(&param))?, param)
        };
        if form == Form::Functions && function.get("strict").is_some() {
            return Err(openai_schema::unknown_parameter(&format!("{param}.strict")));
        }
        // DIAL takes members that it does not know.
        if wire != Wire::Dial {
            openai_schema::check_members(function, &param, &[])?;
        }
        openai_schema::check_name(function, &param)?;
        openai_schema::check_parameters(function, &param, defaults)?;
    }
    Ok(())
}

fn check_count(body: &Value, key: &str) -> Checked {
    match body.get(key).and_then(Value::as_array).map(Vec::len) {
        Some(0) => Err(empty_array(key)),
        Some(count) if count > MOST_TOOLS => Err(Violation::new(format!(
            "Invalid '{key}': array too long. Expected an array with maximum length {MOST_TOOLS}, but got an array with length {count} instead."
        ))
        .at(key)
        .code("array_above_max_length")),
        _ => Ok(()),
    }
}

/// Tools are functions, or texts in a notation.
fn check_kinds(body: &Value, key: &str) -> Checked {
    for (index, tool) in list(body, key).iter().enumerate().filter(|_| key == "tools") {
        let param = format!("tools[{index}].type");
        match text(tool, "type") {
            Some("function" | "custom") => {}
            Some(kind) => {
                let message =
                    format!("Invalid value: '{kind}'. Supported values are: 'function' and 'custom'.");
                return Err(Violation::new(message).at(param).code("invalid_value"));
            }
            None => return Err(missing(&param)),
        }
    }
    Ok(())
}

/// Parameters that mean nothing without another.
fn check_dependent(body: &Value) -> Checked {
    for (key, needs) in
        [("tool_choice", "tools"), ("parallel_tool_calls", "tools"), ("function_call", "functions")]
    {
        if body.get(key).is_some_and(|value| !value.is_null()) && body.get(needs).is_none() {
            let message =
                format!("Invalid value for '{key}': '{key}' is only allowed when '{needs}' are specified.");
            return Err(Violation::new(message).at(key));
        }
    }
    let streamed = body.get("stream") == Some(&Value::Bool(true));
    if body.get("stream_options").is_some_and(|options| !options.is_null()) && !streamed {
        let message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        return Err(Violation::new(message).at("stream_options"));
    }
    Ok(())
}

/// Models that think have neither a temperature nor `max_tokens`.
fn check_reasoning_model(model: &str, body: &Value) -> Checked {
    let model = model.rsplit([':', '/']).next().unwrap_or(model);
    let is_series = model.starts_with("o1") || model.starts_with("o3") || model.starts_with("o4");
    if !is_series && !model.starts_with("gpt-5") {
        return Ok(());
    }
    if body.get("max_tokens").is_some_and(|value| !value.is_null()) {
        let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        return Err(Violation::new(message).at("max_tokens").code("unsupported_parameter"));
    }
    match body.get("temperature").filter(|value| !value.is_null()) {
        Some(_) if is_series => {
            let message = "Unsupported parameter: 'temperature' is not supported with this model.";
            Err(Violation::new(message).at("temperature").code("unsupported_parameter"))
        }
        Some(value) if value.as_f64() != Some(1.0) => {
            let message = format!(
                "Unsupported value: 'temperature' does not support {value} with this model. Only the default (1) value is supported."
            );
            Err(Violation::new(message).at("temperature").code("unsupported_value"))
        }
        _ => Ok(()),
    }
}
