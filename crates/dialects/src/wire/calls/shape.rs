//! The shape of one call: where its name, id and arguments stand, and who sends it so.

use serde_json::{Map, Value};

use super::{Arguments, CallError, CallId, Ids, ToolCall, text::Notation};
use crate::dialect::Protocol;

/// A call that may still lack an id, and the protocols that send this shape.
#[derive(Clone, Debug)]
pub(crate) struct RawCall {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) arguments: Arguments,
    pub(crate) item_id: Option<String>,
    pub(crate) signature: Option<String>,
    pub(crate) extra: Map<String, Value>,
    pub(crate) candidates: Vec<Protocol>,
    /// How it is written, where it stands in the text.
    pub(crate) written: Option<Notation>,
}

impl RawCall {
    pub(crate) fn into_call(self, ids: &mut Ids) -> ToolCall {
        let id = match self.id {
            Some(id) => CallId::Given(id),
            None => ids.generate(),
        };
        ToolCall {
            id,
            name: self.name,
            arguments: self.arguments,
            item_id: self.item_id,
            signature: self.signature,
            extra: self.extra,
            written: self.written,
        }
    }
}

/// Where one shape keeps things.
struct Layout<'a> {
    /// The object that holds the name.
    inner: &'a Map<String, Value>,
    /// Members of the outer object that are read, and so are not extra.
    read: &'static [&'static str],
    /// Where the id stands, in the outer object or in the inner one.
    id: &'static [&'static str],
    /// The item's own id beside the call's.
    item_id: Option<&'static str>,
    /// The members that may hold the arguments, the likeliest first.
    arguments: &'static [&'static str],
    candidates: Vec<Protocol>,
}

/// The call in `map`, if `map` is one. `given` settles what is ambiguous.
pub(crate) fn read_call(
    map: &Map<String, Value>,
    given: Option<Protocol>,
    label: &str,
) -> Result<Option<RawCall>, CallError> {
    let Some(layout) = layout_of(map, given, label)? else { return Ok(None) };
    let inner = layout.inner;
    let name = inner.get("name").and_then(Value::as_str).filter(|name| !name.trim().is_empty());
    let Some(name) = name else { return Err(CallError::Name { label: label.to_owned() }) };
    let id = layout.id.iter().find_map(|key| id_text(map.get(*key)).or_else(|| id_text(inner.get(*key))));
    let arguments = layout.arguments.iter().find_map(|key| inner.get(*key));
    let mut extra = map.clone();
    extra.retain(|key, _| !layout.read.contains(&key.as_str()));
    Ok(Some(RawCall {
        id,
        name: name.to_owned(),
        arguments: arguments.map_or(Arguments::Missing, as_received),
        item_id: layout.item_id.and_then(|key| id_text(map.get(key))),
        signature: part_signature(map).or_else(|| carried_signature(map)),
        extra,
        candidates: layout.candidates,
        written: None,
    }))
}

fn as_received(value: &Value) -> Arguments {
    match value {
        Value::Null => Arguments::Missing,
        Value::String(text) => Arguments::Text(text.clone()),
        other => Arguments::Json(other.clone()),
    }
}

fn id_text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

/// The signature on a part of content.
pub(crate) fn part_signature(map: &Map<String, Value>) -> Option<String> {
    ["thoughtSignature", "thought_signature"]
        .iter()
        .find_map(|key| map.get(*key)?.as_str())
        .map(str::to_owned)
}

/// The signature that compatible endpoints carry under a vendor's name.
fn carried_signature(map: &Map<String, Value>) -> Option<String> {
    let vendors = map.get("extra_content")?.as_object()?;
    vendors.values().find_map(|vendor| vendor.get("thought_signature")?.as_str()).map(str::to_owned)
}

const ARGUMENTS: &[&str] = &["arguments", "args", "input", "parameters"];
const ARGS: &[&str] = &["args", "arguments", "input"];
const INPUT: &[&str] = &["input", "arguments", "args"];

fn layout_of<'a>(
    map: &'a Map<String, Value>,
    given: Option<Protocol>,
    label: &str,
) -> Result<Option<Layout<'a>>, CallError> {
    let kind = map.get("type").and_then(Value::as_str);
    let inside = |key: &str| match map.get(key) {
        Some(Value::Object(inner)) => Ok(Some(inner)),
        Some(Value::Null) | None => Ok(None),
        Some(_) => Err(CallError::NotObject { label: label.to_owned() }),
    };
    if map.get("method").and_then(Value::as_str) == Some("tools/call") {
        let Some(inner) = inside("params")? else { return Err(CallError::Name { label: label.to_owned() }) };
        return Ok(Some(Layout {
            inner,
            // The request's id stays among the extras: there a number is not a string.
            read: &["jsonrpc", "method", "params"],
            id: &["id"],
            item_id: None,
            arguments: ARGUMENTS,
            candidates: vec![Protocol::Mcp],
        }));
    }
    if let Some(inner) = inside("functionCall")? {
        return Ok(Some(part(inner, vec![Protocol::GenerateContent])));
    }
    if let Some(inner) = inside("function_call")? {
        return Ok(Some(part(inner, function_call_candidates(map, inner))));
    }
    if let Some(inner) = inside("toolUse")? {
        return Ok(Some(Layout {
            inner,
            read: &["toolUse"],
            id: &["toolUseId"],
            item_id: None,
            arguments: INPUT,
            candidates: vec![Protocol::Converse],
        }));
    }
    if let Some(inner) = inside("function")? {
        // Object arguments are one server's own; where the call says its type, it is a chat call with an object.
        let bare_object = kind.is_none() && inner.get("arguments").is_some_and(Value::is_object);
        return Ok(Some(Layout {
            inner,
            read: &["id", "type", "function", "index"],
            id: &["id"],
            item_id: None,
            arguments: ARGUMENTS,
            candidates: vec![if bare_object { Protocol::OllamaChat } else { Protocol::Chat }],
        }));
    }
    Ok(match kind {
        Some("function_call") => Some(responses(map)),
        Some("tool_use") => Some(Layout {
            inner: map,
            read: &["id", "type", "name", "input"],
            id: &["id"],
            item_id: None,
            arguments: INPUT,
            candidates: vec![Protocol::Messages],
        }),
        _ if map.contains_key("name") => Some(bare(map, given)),
        _ => None,
    })
}

fn part(inner: &Map<String, Value>, candidates: Vec<Protocol>) -> Layout<'_> {
    Layout {
        inner,
        read: &["functionCall", "function_call", "thoughtSignature", "thought_signature", "role", "content"],
        id: &["id"],
        item_id: None,
        arguments: ARGS,
        candidates,
    }
}

fn responses(map: &Map<String, Value>) -> Layout<'_> {
    Layout {
        inner: map,
        read: &["type", "id", "call_id", "name", "arguments"],
        id: if map.get("call_id").is_some_and(Value::is_string) { &["call_id"] } else { &["id"] },
        item_id: Some("id"),
        arguments: ARGUMENTS,
        candidates: vec![Protocol::Responses],
    }
}

/// `function_call` is a message's member in one API and a part's in another, which spells it `functionCall` as a rule.
fn function_call_candidates(outer: &Map<String, Value>, inner: &Map<String, Value>) -> Vec<Protocol> {
    let legacy =
        inner.contains_key("arguments") || outer.contains_key("role") || outer.contains_key("content");
    let part = inner.contains_key("args") || part_signature(outer).is_some();
    match (legacy, part) {
        (_, false) => vec![Protocol::Functions],
        (false, true) => vec![Protocol::GenerateContent],
        (true, true) => vec![Protocol::Functions, Protocol::GenerateContent],
    }
}

/// A call without any wrapper.
fn bare(map: &Map<String, Value>, given: Option<Protocol>) -> Layout<'_> {
    if map.contains_key("call_id") {
        return responses(map);
    }
    let mut candidates = Vec::new();
    if map.contains_key("toolUseId") {
        candidates.push(Protocol::Converse);
    } else {
        if map.contains_key("args") {
            candidates.push(Protocol::GenerateContent);
        }
        match map.get("arguments") {
            None => {}
            Some(Value::String(_)) => candidates.push(Protocol::Chat),
            Some(_) => candidates.extend([Protocol::Chat, Protocol::OllamaChat, Protocol::Mcp]),
        }
        if map.contains_key("input") {
            candidates.push(Protocol::Messages);
        }
        if candidates.is_empty() {
            candidates.extend([Protocol::Chat, Protocol::GenerateContent, Protocol::Messages, Protocol::Mcp]);
        }
    }
    let (read, arguments): (&[&str], _) = match given.or(candidates.first().copied()) {
        Some(Protocol::GenerateContent) => {
            (&["id", "name", "args", "thoughtSignature", "thought_signature"], ARGS)
        }
        Some(Protocol::Messages) => (&["id", "name", "input"], INPUT),
        Some(Protocol::Converse) => (&["toolUseId", "name", "input"], INPUT),
        Some(
            Protocol::Chat
            | Protocol::Functions
            | Protocol::Responses
            | Protocol::CohereChat
            | Protocol::OllamaChat
            | Protocol::Mcp,
        )
        | None => (&["id", "name", "arguments"], ARGUMENTS),
    };
    Layout { inner: map, read, id: &["id", "toolUseId"], item_id: None, arguments, candidates }
}
