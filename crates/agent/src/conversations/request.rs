//! What callers send.

use serde_json::{Map, Value};

use crate::completions::BadRequest;

/// A message to a conversation.
#[derive(Clone, Debug)]
pub(super) struct ChatRequest {
    /// The message as it is stored.
    pub(super) message: Map<String, Value>,
    /// Whether the answer is streamed.
    pub(super) stream: bool,
    /// The model that is asked for.
    pub(super) model: Option<String>,
    /// The version that the conversation has to have.
    pub(super) version: Option<u64>,
    /// Instructions for a conversation that is empty.
    pub(super) system_prompt: Option<String>,
    /// Whether what was said before is forgotten.
    pub(super) reset_history: bool,
    /// What is sent beside the answer.
    pub(super) events: WantedEvents,
    /// All other members, in the words of Chat Completions.
    pub(super) settings: Map<String, Value>,
}

/// What is sent beside the answer. By default nothing, so that clients that know only text go on working.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WantedEvents {
    pub(super) tool_call: bool,
    pub(super) tool_result: bool,
    pub(super) usage: bool,
    pub(super) reasoning: bool,
}

/// Members of Chat Completions that say what the gateway says here itself: a caller's own would stand beside the stored conversation and
/// its tools, or instead of them.
const REFUSED: [&str; 5] = ["messages", "tools", "tool_choice", "functions", "function_call"];

/// Members that change how an answer is sent, which has one form here. They are left out.
const LEFT_OUT: [&str; 4] = ["n", "stream_options", "parallel_tool_calls", "gateway"];

/// Longest title, in characters.
const TITLE: usize = 1_000;

impl ChatRequest {
    pub(super) fn read(body: &[u8]) -> Result<Self, BadRequest> {
        let mut members = object(body)?;
        let message = match members.remove("message") {
            Some(Value::Object(message)) => user_message(message)?,
            Some(Value::String(text)) => user_message(Map::from_iter([("content".to_owned(), text.into())]))?,
            Some(_) => {
                return Err(BadRequest::new("message", "\"message\" must be an object {role, content}"));
            }
            None => return Err(BadRequest::new("message", "\"message\" is missing")),
        };
        for name in REFUSED {
            if members.remove(name).is_some_and(|value| !value.is_null()) {
                let why = "the conversation and its tools are the gateway's; send \"message\", and choose tools with x-gateway-tools";
                return Err(BadRequest::new(name, format!("\"{name}\" cannot be set here: {why}")));
            }
        }
        members.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
        Ok(Self {
            message,
            stream: flag(&mut members, "stream")?.unwrap_or(true),
            model: text(&mut members, "model")?,
            version: version(&mut members)?,
            system_prompt: text(&mut members, "system_prompt")?,
            reset_history: flag(&mut members, "reset_history")?.unwrap_or(false),
            events: wanted_events(members.remove("events"))?,
            settings: members,
        })
    }
}

/// The title of a conversation to begin; `None` if the caller gives none.
pub(super) fn read_title(body: &[u8]) -> Result<Option<String>, BadRequest> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let mut members = object(body)?;
    let title = title(&mut members)?;
    no_more(&members, "\"title\"")?;
    Ok(title)
}

/// Another title, and the version that it is meant for.
pub(super) fn read_rename(body: &[u8]) -> Result<(String, Option<u64>), BadRequest> {
    let mut members = object(body)?;
    let title = title(&mut members)?.ok_or_else(|| BadRequest::new("title", "\"title\" is missing"))?;
    let version = version(&mut members)?;
    no_more(&members, "\"title\" and \"version\"")?;
    Ok((title, version))
}

fn object(body: &[u8]) -> Result<Map<String, Value>, BadRequest> {
    let wrong =
        |why: &str| BadRequest { message: format!("reading the body as a JSON object: {why}"), param: None };
    match gateway_dialects::from_slice(body) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(wrong("it is none")),
        Err(error) => Err(wrong(&error.to_string())),
    }
}

fn no_more(members: &Map<String, Value>, known: &str) -> Result<(), BadRequest> {
    match members.keys().next() {
        None => Ok(()),
        Some(unknown) => {
            let shown: String = unknown.chars().take(64).collect();
            let message = format!("unknown member \"{shown}\" of the body; it may have {known}");
            Err(BadRequest { message, param: None })
        }
    }
}

fn title(members: &mut Map<String, Value>) -> Result<Option<String>, BadRequest> {
    let title = text(members, "title")?;
    if title.as_ref().is_some_and(|title| title.chars().count() > TITLE) {
        return Err(BadRequest::new("title", format!("\"title\" may have {TITLE} characters")));
    }
    Ok(title.filter(|title| !title.trim().is_empty()))
}

fn user_message(mut message: Map<String, Value>) -> Result<Map<String, Value>, BadRequest> {
    let role = message.remove("role").unwrap_or_else(|| "user".into());
    if role != "user" {
        return Err(BadRequest::new("message", "\"role\" of the message must be \"user\""));
    }
    let content = match message.remove("content") {
        Some(Value::String(text)) if !text.trim().is_empty() => Value::String(text),
        Some(Value::Array(parts)) if !parts.is_empty() && parts.iter().all(Value::is_object) => {
            Value::Array(parts)
        }
        _ => {
            let message = "\"content\" of the message must be a text that is not empty, or a list of parts";
            return Err(BadRequest::new("message", message));
        }
    };
    let mut stored = Map::new();
    stored.insert("role".to_owned(), role);
    stored.insert("content".to_owned(), content);
    // These say something about histories, and only the gateway writes them.
    let ours = ["blocks", "metadata", "tool_calls", "tool_call_id", "correlation_id"];
    stored
        .extend(message.into_iter().filter(|(key, value)| !value.is_null() && !ours.contains(&key.as_str())));
    Ok(stored)
}

fn text(members: &mut Map<String, Value>, name: &'static str) -> Result<Option<String>, BadRequest> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(BadRequest::new(name, format!("\"{name}\" must be a text"))),
    }
}

fn flag(members: &mut Map<String, Value>, name: &'static str) -> Result<Option<bool>, BadRequest> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(flag)),
        Some(_) => Err(BadRequest::new(name, format!("\"{name}\" must be true or false"))),
    }
}

fn version(members: &mut Map<String, Value>) -> Result<Option<u64>, BadRequest> {
    match members.remove("version") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(version) => Ok(Some(version)),
            None => {
                Err(BadRequest::new("version", "\"version\" must be the number that the conversation has"))
            }
        },
    }
}

fn wanted_events(value: Option<Value>) -> Result<WantedEvents, BadRequest> {
    const WORDS: &str =
        "\"events\" must be a list of \"tool_call\", \"tool_result\", \"usage\" and \"reasoning\"";
    let wrong = || BadRequest::new("events", WORDS);
    let mut wanted = WantedEvents::default();
    let names = match value {
        None | Some(Value::Null) => return Ok(wanted),
        Some(Value::Array(names)) => names,
        Some(_) => return Err(wrong()),
    };
    for name in names {
        match name.as_str() {
            Some("tool_call") => wanted.tool_call = true,
            Some("tool_result") => wanted.tool_result = true,
            Some("usage") => wanted.usage = true,
            Some("reasoning") => wanted.reasoning = true,
            _ => return Err(wrong()),
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_is_read_with_its_defaults() {
        let body = json!({"message": {"role": "user", "content": "Hi", "name": "Ann", "id": null, "metadata": 1}, "temperature": 0});
        let read = ChatRequest::read(body.to_string().as_bytes()).unwrap();
        assert_eq!(Value::Object(read.message), json!({"role": "user", "content": "Hi", "name": "Ann"}));
        assert_eq!((read.stream, read.model, read.version, read.reset_history), (true, None, None, false));
        assert_eq!(read.events, WantedEvents::default());
        assert_eq!(Value::Object(read.settings), json!({"temperature": 0}));
    }

    #[test]
    fn what_the_gateway_decides_does_not_reach_the_model() {
        let body = json!({"message": "x", "n": 2, "stream_options": {}, "parallel_tool_calls": false, "gateway": {}, "messages": null,
            "tools": null, "seed": 1});
        let read = ChatRequest::read(body.to_string().as_bytes()).unwrap();
        assert_eq!(Value::Object(read.settings), json!({"seed": 1}));
    }

    #[test]
    fn wrong_requests_name_their_member() {
        for (body, param) in [
            ("[]", None),
            ("{}", Some("message")),
            (r#"{"message":{"role":"assistant","content":"x"}}"#, Some("message")),
            (r#"{"message":{"role":"user","content":" "}}"#, Some("message")),
            (r#"{"message":{"content":[1]}}"#, Some("message")),
            (r#"{"message":"x","stream":"no"}"#, Some("stream")),
            (r#"{"message":"x","version":"1"}"#, Some("version")),
            (r#"{"message":"x","events":["all"]}"#, Some("events")),
            (r#"{"message":"x","messages":[{"role":"user","content":"y"}]}"#, Some("messages")),
            (r#"{"message":"x","tools":[]}"#, Some("tools")),
            (r#"{"message":"x","tool_choice":"auto"}"#, Some("tool_choice")),
            (r#"{"message":"x","functions":[]}"#, Some("functions")),
            (r#"{"message":"x","function_call":"auto"}"#, Some("function_call")),
        ] {
            assert_eq!(
                ChatRequest::read(body.as_bytes()).map(drop).unwrap_err().param.as_deref(),
                param,
                "{body}"
            );
        }
        for body in ["[]", r#"{"title":1}"#, r#"{"name":"x"}"#] {
            assert!(read_title(body.as_bytes()).is_err(), "{body}");
        }
        assert_eq!(read_title(b" ").unwrap(), None);
        assert_eq!(read_title(br#"{"title":"  "}"#).unwrap(), None);
        assert!(read_rename(br"{}").is_err());
        assert_eq!(read_rename(br#"{"title":"x","version":3}"#).unwrap(), ("x".to_owned(), Some(3)));
    }
}
