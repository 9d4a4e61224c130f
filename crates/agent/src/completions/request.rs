//! Reading a request of Chat Completions.

use gateway_dialects::requests::ToolChoice;
use serde_json::{Map, Value};

use crate::gateway_tools::ToolSelection;

/// A request, read as far as the loop needs it. Everything else stays as it came.
#[derive(Clone, Debug)]
pub struct CompletionRequest {
    /// The model that is asked for.
    pub model: Option<String>,
    /// The conversation, as it came.
    pub messages: Vec<Value>,
    /// The caller's own tools, as they came.
    pub tools: Vec<Value>,
    /// Whether they came as `functions`.
    pub has_functions: bool,
    /// Whether, and which, tools have to be called.
    pub tool_choice: ToolChoice,
    /// Whether the answer is streamed.
    pub stream: bool,
    /// Whether a stream says at its end what it cost.
    pub include_usage: bool,
    /// All other members.
    pub settings: Map<String, Value>,
}

/// Which of the gateway's tools a caller wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedTools {
    /// None.
    None,
    /// These.
    Some(ToolSelection),
}

/// What is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BadRequest {
    /// What to say.
    pub message: String,
    /// The member that is wrong.
    pub param: Option<&'static str>,
}

impl BadRequest {
    pub(crate) fn new(param: &'static str, message: impl Into<String>) -> Self {
        Self { message: message.into(), param: Some(param) }
    }
}

impl CompletionRequest {
    /// Reads a body.
    pub fn read(body: &[u8]) -> Result<Self, BadRequest> {
        let body: Value = gateway_dialects::from_slice(body).map_err(|error| BadRequest {
            message: format!("reading the body as JSON: {error}"),
            param: None,
        })?;
        let Value::Object(mut members) = body else {
            let message = "the body must be a JSON object with \"messages\"".to_owned();
            return Err(BadRequest { message, param: None });
        };
        let messages = match members.remove("messages") {
            Some(Value::Array(messages)) if messages.iter().all(Value::is_object) => messages,
            Some(_) => return Err(BadRequest::new("messages", "\"messages\" must be a list of objects")),
            None => return Err(BadRequest::new("messages", "\"messages\" is missing")),
        };
        let model = match members.remove("model") {
            Some(Value::String(model)) => Some(model),
            None | Some(Value::Null) => None,
            Some(_) => return Err(BadRequest::new("model", "\"model\" must be a text")),
        };
        let stream = match members.remove("stream") {
            Some(Value::Bool(stream)) => stream,
            None | Some(Value::Null) => false,
            Some(_) => return Err(BadRequest::new("stream", "\"stream\" must be true or false")),
        };
        let list = |value: Option<Value>, name: &'static str| match value {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(list)) => Ok(list),
            Some(_) => Err(BadRequest::new(name, format!("\"{name}\" must be a list"))),
        };
        let mut tools = list(members.remove("tools"), "tools")?;
        let functions = list(members.remove("functions"), "functions")?;
        let has_functions = tools.is_empty() && !functions.is_empty();
        tools.extend(
            functions
                .into_iter()
                .map(|function| serde_json::json!({"type": "function", "function": function})),
        );
        let choice = members.remove("tool_choice").or_else(|| members.remove("function_call"));
        let tool_choice = match choice {
            None => ToolChoice::Auto,
            Some(given) => ToolChoice::read(&given).ok_or_else(|| {
                BadRequest::new("tool_choice", format!("\"tool_choice\" cannot be {given}"))
            })?,
        };
        let usage = members.get("stream_options").and_then(|options| options.get("include_usage"));
        let include_usage = usage.and_then(Value::as_bool).unwrap_or(false);
        Ok(Self {
            model,
            messages,
            tools,
            has_functions,
            tool_choice,
            stream,
            include_usage,
            settings: members,
        })
    }

    /// Which of the gateway's tools are wanted, by the header `x-gateway-tools`: `auto`, `none`, `group:NAME` or patterns. Without it,
    /// all, unless the request brings tools of its own.
    pub fn wanted_tools(&self, header: Option<&str>) -> WantedTools {
        match header.map(str::trim).filter(|text| !text.is_empty()) {
            None if self.tools.is_empty() => WantedTools::Some(ToolSelection::default()),
            None | Some("none") => WantedTools::None,
            Some("auto") => WantedTools::Some(ToolSelection::default()),
            Some(list) => {
                let mut selection = ToolSelection::default();
                for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
                    match part.strip_prefix("group:") {
                        Some(group) => selection.groups.push(group.trim().to_owned()),
                        None => selection.names.push(part.to_owned()),
                    }
                }
                WantedTools::Some(selection)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_says_which_tools_are_wanted() {
        let plain = CompletionRequest::read(br#"{"messages":[]}"#).unwrap();
        let own = CompletionRequest::read(br#"{"messages":[],"tools":[{"type":"function"}]}"#).unwrap();
        let some = |names: &[&str], groups: &[&str]| {
            WantedTools::Some(ToolSelection {
                names: names.iter().map(|name| (*name).to_owned()).collect(),
                groups: groups.iter().map(|name| (*name).to_owned()).collect(),
                ..ToolSelection::default()
            })
        };
        for (request, header, expected) in [
            (&plain, None, some(&[], &[])),
            (&own, None, WantedTools::None),
            (&own, Some("auto"), some(&[], &[])),
            (&plain, Some("none"), WantedTools::None),
            (&plain, Some("group:docs"), some(&[], &["docs"])),
            (&plain, Some("files/*, add ,group: x"), some(&["files/*", "add"], &["x"])),
            (&own, Some("  "), WantedTools::None),
        ] {
            assert_eq!(request.wanted_tools(header), expected, "{header:?}");
        }
    }

    #[test]
    fn wrong_bodies_are_refused_with_the_member() {
        for (body, param) in [
            ("[]", None),
            ("{", None),
            ("{}", Some("messages")),
            (r#"{"messages":[1]}"#, Some("messages")),
            (r#"{"messages":[],"model":1}"#, Some("model")),
            (r#"{"messages":[],"stream":"yes"}"#, Some("stream")),
            (r#"{"messages":[],"tools":{}}"#, Some("tools")),
            (r#"{"messages":[],"tool_choice":"perhaps"}"#, Some("tool_choice")),
        ] {
            assert_eq!(
                CompletionRequest::read(body.as_bytes()).map(drop).unwrap_err().param,
                param,
                "{body}"
            );
        }
        let read = CompletionRequest::read(br#"{"messages":[],"x":{"y":[1]},"temperature":0}"#).unwrap();
        assert_eq!(Value::Object(read.settings), serde_json::json!({"x": {"y": [1]}, "temperature": 0}));
    }
}
