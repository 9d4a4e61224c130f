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
        let properties = function.get("parameters").and_then(|schema| schema.get("properties"));
        let mut schemas =
            properties.and_then(Value::as_object).into_iter().flatten().map(|(_, schema)| schema);
        if let Some(schema) = schemas.find(|schema| !schema.is_object()) {
            let kind = go_type(schema);
            return refuse(format!(
                "json: cannot unmarshal {kind} into Go struct field .tools.function.parameters.properties of type api.ToolProperty"
            ));
        }
    }
    Ok(())
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
