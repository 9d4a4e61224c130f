//! Reading a request of Chat Completions.

use std::borrow::Cow;

use gateway_dialects::requests::ToolChoice;
use http::HeaderMap;
use serde_json::{Map, Value};

use crate::gateway_tools::ToolSelection;

/// What an earlier answer has as `gateway.continuation`, for clients that cannot add members to a body.
const CONTINUE: &str = "x-gateway-continue";

/// `calls` for events of the calls that run here, likewise.
const EVENTS: &str = "x-gateway-events";

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
    /// What goes on: `gateway.continuation` of an earlier answer.
    pub continuation: Option<String>,
    /// Whether a stream has events for the calls that run here.
    pub call_events: bool,
    /// All other members.
    pub settings: Map<String, Value>,
    /// Settings that the loop cannot do, which are not sent.
    pub ignored: Vec<String>,
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
    pub param: Option<Cow<'static, str>>,
}

impl WantedTools {
    /// By the header `x-gateway-tools`: `auto`, `none`, `group:NAME` or patterns; all if absent.
    pub fn of_header(header: Option<&str>) -> Self {
        match header.map(str::trim).filter(|text| !text.is_empty()) {
            Some("none") => Self::None,
            None | Some("auto") => Self::Some(ToolSelection::default()),
            Some(list) => {
                let mut selection = ToolSelection::default();
                for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
                    match part.strip_prefix("group:") {
                        Some(group) => selection.groups.push(group.trim().to_owned()),
                        None => selection.names.push(part.to_owned()),
                    }
                }
                Self::Some(selection)
            }
        }
    }
}

impl BadRequest {
    pub(crate) fn new(param: &'static str, message: impl Into<String>) -> Self {
        Self { message: message.into(), param: Some(param.into()) }
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
        let tool_choice = choice.as_ref().map_or(ToolChoice::Auto, ToolChoice::read);
        let usage = members.get("stream_options").and_then(|options| options.get("include_usage"));
        let include_usage = usage.and_then(Value::as_bool).unwrap_or(false);
        let (continuation, call_events) = take_gateway(&mut members)?;
        Ok(Self {
            model,
            messages,
            tools,
            has_functions,
            tool_choice,
            stream,
            include_usage,
            continuation,
            call_events,
            ignored: take_ignored(&mut members),
            settings: members,
        })
    }

    /// Takes what the headers say of the same things. What the body says counts more.
    pub(crate) fn read_headers(&mut self, headers: &HeaderMap) {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        if self.continuation.is_none() {
            self.continuation = text(CONTINUE).filter(|text| !text.is_empty()).map(str::to_owned);
        }
        self.call_events |= text(EVENTS).is_some_and(|text| text == "calls");
    }

    /// Checks what the loop has to read of the messages. The transparent proxy leaves that to the API.
    pub(crate) fn check_messages(&self) -> Result<(), BadRequest> {
        const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];
        if self.messages.is_empty() {
            return Err(BadRequest::new("messages", "\"messages\" is empty: send one message at least"));
        }
        for (index, message) in self.messages.iter().enumerate() {
            let wrong = match message.get("role") {
                Some(Value::String(role)) if ROLES.contains(&role.as_str()) => continue,
                Some(given) => format!("cannot be {given}: use one of {}", ROLES.join(", ")),
                None => format!("is missing: use one of {}", ROLES.join(", ")),
            };
            let param = format!("messages[{index}].role");
            return Err(BadRequest { message: format!("\"{param}\" {wrong}"), param: Some(param.into()) });
        }
        Ok(())
    }

    /// Whether the body has to reach the model as it came: nothing in it is for the gateway.
    pub(crate) fn is_plain(&self) -> bool {
        self.continuation.is_none() && !self.call_events
    }

    /// Which of the gateway's tools are wanted, by the header `x-gateway-tools`: `auto`, `none`, `group:NAME` or patterns. Without it,
    /// all, unless the request brings tools of its own.
    pub fn wanted_tools(&self, header: Option<&str>) -> WantedTools {
        let header = header.filter(|text| !text.trim().is_empty());
        if header.is_none() && !self.tools.is_empty() {
            WantedTools::None
        } else {
            WantedTools::of_header(header)
        }
    }
}

/// Takes what the loop cannot do: it follows one reply, so more than one is not asked for, and it writes the answer anew, so there are no
/// probabilities of its tokens.
fn take_ignored(members: &mut Map<String, Value>) -> Vec<String> {
    let mut ignored = Vec::new();
    if members.get("n").and_then(Value::as_u64).is_some_and(|count| count > 1) {
        members.remove("n");
        ignored.push("n".to_owned());
    }
    for name in ["logprobs", "top_logprobs"] {
        let asked = members.remove(name);
        if asked.is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false))) {
            ignored.push(name.to_owned());
        }
    }
    ignored
}

/// Takes our members out of `gateway`; those of others stay.
fn take_gateway(members: &mut Map<String, Value>) -> Result<(Option<String>, bool), BadRequest> {
    let Some(Value::Object(gateway)) = members.get_mut("gateway") else { return Ok((None, false)) };
    let wrong = |what: &str| Err(BadRequest::new("gateway", format!("\"gateway.{what}")));
    let continuation = match gateway.remove("continue") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(_) => {
            return wrong("continue\" must be the text that an answer has as \"gateway.continuation\"");
        }
    };
    let call_events = match gateway.remove("events") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) if text == "calls" => true,
        Some(_) => return wrong("events\" can only be \"calls\""),
    };
    if gateway.is_empty() {
        members.remove("gateway");
    }
    Ok((continuation, call_events))
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
            (r#"{"messages":[],"gateway":{"continue":1}}"#, Some("gateway")),
            (r#"{"messages":[],"gateway":{"events":true}}"#, Some("gateway")),
        ] {
            assert_eq!(
                CompletionRequest::read(body.as_bytes()).map(drop).unwrap_err().param.as_deref(),
                param,
                "{body}"
            );
        }
        let read = CompletionRequest::read(br#"{"messages":[],"x":{"y":[1]},"temperature":0}"#).unwrap();
        assert_eq!(Value::Object(read.settings), serde_json::json!({"x": {"y": [1]}, "temperature": 0}));
    }

    #[test]
    fn messages_without_a_role_are_refused_with_their_index() {
        for (messages, param) in [
            ("[]", Some("messages")),
            (r#"[{"content":"x"}]"#, Some("messages[0].role")),
            (r#"[{"role":"user","content":"x"},{"role":"ipython"}]"#, Some("messages[1].role")),
            (r#"[{"role":1}]"#, Some("messages[0].role")),
            (r#"[{"role":"developer"},{"role":"user"},{"role":"function"}]"#, None),
        ] {
            let body = format!(r#"{{"messages":{messages}}}"#);
            let checked = CompletionRequest::read(body.as_bytes()).unwrap().check_messages();
            assert_eq!(checked.err().and_then(|bad| bad.param).as_deref(), param, "{messages}");
        }
    }

    #[test]
    fn what_the_loop_cannot_do_is_not_sent() {
        for (members, ignored) in [
            (r#""n":1,"logprobs":false"#, &[][..]),
            (r#""n":2"#, &["n"]),
            (r#""logprobs":true,"top_logprobs":3,"n":3"#, &["n", "logprobs", "top_logprobs"]),
            (r#""logprobs":null"#, &[]),
        ] {
            let read = CompletionRequest::read(format!(r#"{{"messages":[],{members}}}"#).as_bytes()).unwrap();
            assert_eq!(read.ignored, ignored, "{members}");
            assert!(!read.settings.contains_key("logprobs"), "{members}");
        }
    }

    #[test]
    fn what_is_for_the_gateway_does_not_reach_the_model() {
        let read = |gateway: &str| {
            let body = format!(r#"{{"messages":[],"gateway":{gateway}}}"#);
            CompletionRequest::read(body.as_bytes()).unwrap()
        };
        for (gateway, continuation, call_events, left) in [
            (r#"{"continue":"x"}"#, Some("x"), false, None),
            (
                r#"{"continue":"x","events":"calls","order":["y"]}"#,
                Some("x"),
                true,
                Some(r#"{"order":["y"]}"#),
            ),
            (r#"{"continue":null,"events":false}"#, None, false, None),
            (r#""theirs""#, None, false, Some(r#""theirs""#)),
        ] {
            let mut request = read(gateway);
            let rest = request.settings.get("gateway").map(Value::to_string);
            assert_eq!(
                (request.continuation.as_deref(), request.call_events, rest.as_deref()),
                (continuation, call_events, left),
                "{gateway}"
            );
            let headers = [(CONTINUE, "from the header"), (EVENTS, "calls")];
            request.read_headers(&HeaderMap::from_iter(
                headers.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())),
            ));
            assert_eq!(request.continuation.as_deref(), continuation.or(Some("from the header")));
            assert!(request.call_events);
        }
    }
}
