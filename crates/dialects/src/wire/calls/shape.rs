//! The shape of one call: where its name, id and arguments stand, and who sends it so.

use serde_json::{Map, Value};

use super::{Arguments, CallError, CallId, Ids, ToolCall, text::Notation};
use crate::dialect::Protocol;
use crate::wire::{Members as _, Object, format};

/// A call that may still lack an id, and the protocols that send this shape.
#[derive(Clone, Debug, Default)]
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
    /// A call of which only the id can be read.
    pub(crate) fn nameless(map: &Object, protocol: Protocol) -> Self {
        let id = ["id", "call_id", "toolUseId"].iter().find_map(|key| id_text(map.member(key)));
        Self { id, candidates: vec![protocol], ..Self::default() }
    }

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

/// Members that may hold arguments, the likeliest first.
pub(crate) const ARGUMENTS: &[&str] = &["arguments", "args", "input", "parameters"];
pub(crate) const ARGS: &[&str] = &["args", "arguments", "input"];
pub(crate) const INPUT: &[&str] = &["input", "arguments", "args"];

/// Where one shape keeps things.
pub(crate) struct Layout<'a> {
    /// The object that holds the name.
    pub(crate) inner: &'a Object,
    /// Members of the outer object that are read, and so are not extra.
    pub(crate) read: &'static [&'static str],
    /// Where the id stands, in the outer object or in the inner one.
    pub(crate) id: &'static [&'static str],
    /// The item's own id beside the call's.
    pub(crate) item_id: Option<&'static str>,
    /// The members that may hold the arguments, the likeliest first.
    pub(crate) arguments: &'static [&'static str],
    /// The formats that send this shape.
    pub(crate) candidates: Vec<Protocol>,
}

impl<'a> Layout<'a> {
    /// A call with its id under `id`, which only `protocol` sends so.
    pub(crate) fn of(
        protocol: Protocol,
        inner: &'a Object,
        read: &'static [&'static str],
        arguments: &'static [&'static str],
    ) -> Self {
        Self { inner, read, id: &["id"], item_id: None, arguments, candidates: vec![protocol] }
    }
}

/// What is wrong with an object that can only be meant as a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Malformed {
    NotAnObject,
    NoName,
}

impl Malformed {
    /// The same for whoever made the request; `label` is the provider's name and may be empty.
    pub(crate) fn error(self, label: &str) -> CallError {
        match self {
            Self::NotAnObject => CallError::NotObject { label: label.to_owned() },
            Self::NoName => CallError::Name { label: label.to_owned() },
        }
    }
}

/// A call that names no tool, and why not. Its id and its arguments are there, as far as they can be read: the model may get an answer.
pub(crate) struct NamelessCall {
    pub(crate) malformed: Malformed,
    pub(crate) call: RawCall,
}

/// The object under `key`; `None` if it is absent or null.
pub(crate) fn inner<'a>(map: &'a Object, key: &str) -> Result<Option<&'a Object>, Malformed> {
    match map.member(key) {
        Some(Value::Object(inner)) => Ok(Some(inner)),
        Some(Value::Null) | None => Ok(None),
        Some(_) => Err(Malformed::NotAnObject),
    }
}

/// The call in `map`, if `map` is one. `given` settles what is ambiguous.
pub(crate) fn read_call(map: &Object, given: Option<Protocol>) -> Result<Option<RawCall>, Box<NamelessCall>> {
    let layout = layout_of(map, given).map_err(|(protocol, malformed)| {
        Box::new(NamelessCall { malformed, call: RawCall::nameless(map, protocol) })
    })?;
    let Some(layout) = layout else { return Ok(None) };
    let inner = layout.inner;
    let name = inner.text("name").unwrap_or_default();
    let id = layout.id.iter().find_map(|key| id_text(map.member(key)).or_else(|| id_text(inner.member(key))));
    let arguments = layout.arguments.iter().find_map(|key| inner.member(key));
    let extra = map.iter().filter(|(key, _)| !layout.read.contains(&key.as_str()));
    let call = RawCall {
        id,
        name: name.to_owned(),
        arguments: arguments.map_or(Arguments::Missing, as_received),
        item_id: layout.item_id.and_then(|key| id_text(map.member(key))),
        signature: part_signature(map).or_else(|| carried_signature(map)),
        extra: extra.map(|(key, value)| (key.clone(), value.clone())).collect(),
        candidates: layout.candidates,
        written: None,
    };
    if name.trim().is_empty() {
        return Err(Box::new(NamelessCall { malformed: Malformed::NoName, call }));
    }
    Ok(Some(call))
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
pub(crate) fn part_signature(map: &Object) -> Option<String> {
    ["thoughtSignature", "thought_signature"]
        .iter()
        .find_map(|key| map.member(key)?.as_str())
        .map(str::to_owned)
}

/// The signature that compatible endpoints carry as `extra_content.<vendor>.thought_signature`.
pub(crate) fn carried_signature(map: &Object) -> Option<String> {
    let vendors = map.member("extra_content")?.as_object()?;
    vendors.values().find_map(|vendor| vendor.get("thought_signature")?.as_str()).map(str::to_owned)
}

fn layout_of(map: &Object, given: Option<Protocol>) -> Result<Option<Layout<'_>>, (Protocol, Malformed)> {
    for protocol in Protocol::ALL {
        if let Some(layout) = format(*protocol).call(map).map_err(|malformed| (*protocol, malformed))? {
            return Ok(Some(layout));
        }
    }
    Ok(map.has("name").then(|| bare(map, given)))
}

/// A call without any wrapper: its members say who could have sent it.
fn bare(map: &Object, given: Option<Protocol>) -> Layout<'_> {
    let mut candidates = Vec::new();
    if map.has("toolUseId") {
        candidates.push(Protocol::Converse);
    } else {
        if map.has("args") {
            candidates.push(Protocol::GenerateContent);
        }
        match map.member("arguments") {
            None => {}
            Some(Value::String(_)) => candidates.push(Protocol::Chat),
            Some(_) => candidates.extend([Protocol::Chat, Protocol::OllamaChat, Protocol::Mcp]),
        }
        if map.has("input") {
            candidates.push(Protocol::Messages);
        }
        if candidates.is_empty() {
            candidates.extend([Protocol::Chat, Protocol::GenerateContent, Protocol::Messages, Protocol::Mcp]);
        }
    }
    let likely = given.or(candidates.first().copied()).unwrap_or(Protocol::Chat);
    let (read, arguments) = format(likely).bare_call();
    Layout { inner: map, read, id: &["id", "toolUseId"], item_id: None, arguments, candidates }
}
