//! Tool use answered in the format in which it came.

use serde_json::{Value, json};

use super::{CallError, ReadOptions, Reply, TextScan, parse_reply, text::render_xml_result};
use crate::dialect::Protocol;
use crate::wire::Members as _;
use crate::wire::results::joined;

/// The formats that are answered in kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RouteFormat {
    /// `<tool><parameter>value</parameter></tool>`
    Xml,
    /// `{name, input}` without more.
    Json,
    /// `function_call` or `tool_calls`.
    OpenAi,
    /// `{"type":"tool_use", …}`
    Neutral,
}

/// The format of a request: JSON wherever it parses as JSON, XML for other text.
pub fn route_format(request: &Value) -> RouteFormat {
    match request {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => structured_format(&inner),
            Ok(_) => RouteFormat::Json,
            Err(_) => RouteFormat::Xml,
        },
        other => structured_format(other),
    }
}

fn structured_format(value: &Value) -> RouteFormat {
    let first = value.as_array().and_then(|list| list.first()).unwrap_or(value);
    let has = |key: &str| first.get(key).is_some_and(|member| !member.is_null());
    if has("function_call") || has("tool_calls") || has("function") {
        RouteFormat::OpenAi
    } else if first.text("type") == Some("tool_use") {
        RouteFormat::Neutral
    } else {
        RouteFormat::Json
    }
}

/// Reads a request in `format`. Tool use in JSON may lack its type and its id.
pub fn parse_route(request: &Value, format: RouteFormat, text: TextScan) -> Result<Reply, CallError> {
    let protocol = match format {
        RouteFormat::Xml => None,
        RouteFormat::OpenAi => Some(Protocol::Chat),
        RouteFormat::Json | RouteFormat::Neutral => Some(Protocol::Messages),
    };
    let reply = parse_reply(request, &ReadOptions { protocol, text, ..ReadOptions::default() });
    // Tool use that cannot be routed is a fault of the request here, also in a message.
    let reply = reply.and_then(|reply| {
        let is_nameless = reply.calls.iter().any(|call| call.name.trim().is_empty());
        if is_nameless { Err(CallError::Name { label: String::new() }) } else { Ok(reply) }
    });
    match format {
        RouteFormat::Json => reply.map_err(|error| CallError::Json { cause: error.to_string() }),
        RouteFormat::Xml | RouteFormat::OpenAi | RouteFormat::Neutral => reply,
    }
}

/// Writes a neutral tool result, `{tool_use_id, content, status?, error?}`, in `format`.
pub fn render_route_result(result: &Value, format: RouteFormat) -> Value {
    match format {
        RouteFormat::Xml => Value::String(render_xml_result(result)),
        RouteFormat::OpenAi => json!({
            "role": "tool",
            "tool_call_id": result.get("tool_use_id").cloned().unwrap_or_default(),
            "content": joined(result),
        }),
        RouteFormat::Json | RouteFormat::Neutral => {
            let mut out = json!({"type": "tool_result"});
            if let (Some(out), Some(members)) = (out.as_object_mut(), result.as_object()) {
                out.extend(
                    members.iter().filter(|(key, _)| *key != "type").map(|(k, v)| (k.clone(), v.clone())),
                );
            }
            out
        }
    }
}

/// Writes a fault of routing itself in `format`.
pub fn render_route_error(message: &str, format: RouteFormat) -> Value {
    let text = format!("Error routing tool use: {message}");
    let result = json!({
        "tool_use_id": "error",
        "content": [{"type": "text", "text": text}],
        "status": "error",
        "error": {"message": message},
    });
    render_route_result(&result, format)
}
