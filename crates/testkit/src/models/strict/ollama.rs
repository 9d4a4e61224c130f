//! Ollama's own chat API. It reads into fixed types, and does not check conversations: those words are ours.

use serde_json::Value;

use super::{Checked, list, refuse, text};

pub(super) fn check_parameters(body: &Value) -> Checked {
    if text(body, "model").is_none_or(str::is_empty) {
        return refuse("model is required");
    }
    for tool in list(body, "tools") {
        let Some(function) = tool.get("function").filter(|function| function.is_object()) else {
            return refuse(
                "json: cannot unmarshal object into Go struct field ChatRequest.tools of type api.Tool",
            );
        };
        let Some(parameters) = function.get("parameters") else { continue };
        if !parameters.get("type").is_some_and(Value::is_string) {
            let kind = go_type(parameters.get("type").unwrap_or(&Value::Null));
            return refuse(format!(
                "json: cannot unmarshal {kind} into Go struct field .tools.function.parameters.type of type string"
            ));
        }
        check_property(parameters, "parameters", Depth::Root)?;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Root,
    Inside,
}

/// The members that it reads have one type each; those that it does not know are lost, which the model must not suffer from.
fn check_property(schema: &Value, at: &str, depth: Depth) -> Checked {
    let mismatch = |value: &Value, field: &str, expected: &str| {
        refuse(format!(
            "json: cannot unmarshal {} into Go struct field .tools.function.{field} of type {expected}",
            go_type(value)
        ))
    };
    if !schema.is_object() {
        return mismatch(schema, at, "api.ToolProperty");
    }
    if schema.get("$ref").is_some() && depth == Depth::Inside {
        return refuse(format!("{at}: a reference is lost here; write out what it leads to"));
    }
    if let Some(kind) = schema.get("type").filter(|kind| !is_text_or_texts(kind)) {
        return mismatch(kind, &format!("{at}.type"), "api.PropertyType");
    }
    if let Some(words) = schema.get("description").filter(|words| !words.is_string()) {
        return mismatch(words, &format!("{at}.description"), "string");
    }
    if let Some(names) = schema.get("required").filter(|names| !names.is_array() || !is_text_or_texts(names))
    {
        return mismatch(names, &format!("{at}.required"), "[]string");
    }
    match schema.get("properties") {
        None | Some(Value::Null) => {}
        Some(Value::Object(properties)) => {
            for property in properties.values() {
                check_property(property, &format!("{at}.properties"), Depth::Inside)?;
            }
        }
        Some(other) => return mismatch(other, &format!("{at}.properties"), "map[string]api.ToolProperty"),
    }
    list(schema, "anyOf")
        .iter()
        .try_for_each(|branch| check_property(branch, &format!("{at}.anyOf"), Depth::Inside))
}

fn is_text_or_texts(value: &Value) -> bool {
    value.is_string() || value.as_array().is_some_and(|values| values.iter().all(Value::is_string))
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

pub(super) fn check_history(body: &Value) -> Checked {
    let mut open: Vec<&Value> = Vec::new();
    for (index, message) in list(body, "messages").iter().enumerate() {
        let role = text(message, "role").unwrap_or_default();
        if !["system", "user", "assistant", "tool"].contains(&role) {
            return refuse(format!("invalid role: {role}, role must be one of [system user assistant tool]"));
        }
        if let Some(content) =
            message.get("content").filter(|content| !content.is_string() && !content.is_null())
        {
            let kind = go_type(content);
            return refuse(format!(
                "json: cannot unmarshal {kind} into Go struct field ChatRequest.messages.content of type string"
            ));
        }
        if role == "tool" {
            check_result(index, message, &mut open)?;
            continue;
        }
        check_answered(&open)?;
        open = list(message, "tool_calls").iter().collect();
        for call in &open {
            check_call(call)?;
        }
    }
    check_answered(&open)
}

fn name_of(call: &Value) -> &str {
    call.get("function").and_then(|function| text(function, "name")).unwrap_or_default()
}

fn check_call(call: &Value) -> Checked {
    let arguments =
        call.get("function").and_then(|function| function.get("arguments")).unwrap_or(&Value::Null);
    if arguments.is_object() {
        return Ok(());
    }
    let kind = go_type(arguments);
    refuse(format!(
        "json: cannot unmarshal {kind} into Go struct field ToolCallFunction.messages.tool_calls.function.arguments of type api.ToolCallFunctionArguments"
    ))
}

fn check_result<'a>(index: usize, message: &'a Value, open: &mut Vec<&'a Value>) -> Checked {
    let name = text(message, "tool_name").or_else(|| text(message, "name"));
    let id = text(message, "tool_call_id");
    let fits = |call: &&Value| {
        name.is_none_or(|name| name_of(call) == name)
            && id.is_none_or(|id| text(call, "id").is_none_or(|known| known == id))
    };
    match open.iter().position(fits) {
        Some(position) => {
            open.remove(position);
            Ok(())
        }
        None => refuse(format!(
            "messages[{index}]: the result of `{}` follows no call of it",
            name.unwrap_or_default()
        )),
    }
}

fn check_answered(open: &[&Value]) -> Checked {
    match open.first() {
        None => Ok(()),
        Some(call) => refuse(format!("the call of `{}` is followed by no result", name_of(call))),
    }
}
