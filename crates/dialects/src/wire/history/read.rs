//! The messages of each API as a neutral conversation.

use serde_json::{Map, Value, json};

use super::codec::ArgumentCodec;
use super::neutral::{
    Block, Content, MediaBlock, Message, OpaqueBlock, ResourceBlock, Role, Source, ThinkingBlock,
    ToolResultBlock, ToolUseBlock,
};
use super::{Conversation, Warning, origin};
use super::{read_blocks, read_chat, read_gemini, read_responses};
use crate::dialect::Protocol;
use crate::wire::results::IdMap;
use crate::wire::results::piece::split_data_url;

/// Reads a conversation of the API `protocol`; `ids` is the table that [`to_dialect`](super::to_dialect) filled, or
/// an empty one.
pub fn from_dialect(
    conversation: &Conversation,
    protocol: Protocol,
    codec: &dyn ArgumentCodec,
    ids: &IdMap,
) -> (Vec<Message>, Vec<Warning>) {
    let mut reader = Reader { protocol, codec, ids, open: Vec::new(), at: 0, made: 0, warnings: Vec::new() };
    let mut messages: Vec<Message> = Vec::new();
    if let Some(system) = &conversation.system {
        messages.push(Message::new(Role::System, Content::of(reader.system(system))));
    }
    match protocol {
        Protocol::Chat | Protocol::Functions | Protocol::CohereChat | Protocol::OllamaChat => {
            read_chat::read(&mut reader, &conversation.messages, &mut messages);
        }
        Protocol::Responses => read_responses::read(&mut reader, &conversation.messages, &mut messages),
        Protocol::Messages | Protocol::Converse => {
            read_blocks::read(&mut reader, &conversation.messages, &mut messages);
        }
        Protocol::GenerateContent => read_gemini::read(&mut reader, &conversation.messages, &mut messages),
        Protocol::Mcp => {
            for (index, message) in conversation.messages.iter().enumerate() {
                reader.at = index;
                match serde_json::from_value(message.clone()) {
                    Ok(message) => messages.push(message),
                    Err(error) => reader.warn(format!("not a message: {error}")),
                }
            }
        }
    }
    (messages, reader.warnings)
}

/// What all APIs' readers share.
pub(super) struct Reader<'r> {
    pub(super) protocol: Protocol,
    codec: &'r dyn ArgumentCodec,
    ids: &'r IdMap,
    /// Calls without a result so far: id and wire name.
    open: Vec<(String, String)>,
    /// The message that is being read.
    pub(super) at: usize,
    /// How many ids were made up.
    made: usize,
    warnings: Vec<Warning>,
}

impl Reader<'_> {
    pub(super) fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(Warning { message: self.at, text: text.into() });
    }

    /// A call; without an id it gets one of ours.
    pub(super) fn call(
        &mut self,
        id: Option<&str>,
        wire_name: &str,
        arguments: Option<&Value>,
    ) -> ToolUseBlock {
        let id = id.filter(|id| !id.is_empty()).map(|id| self.ids.original(id).to_owned());
        let id = id.unwrap_or_else(|| self.made_up_id());
        let name = self.codec.mcp_name(wire_name);
        let arguments = self.arguments(wire_name, arguments);
        self.open.push((id.clone(), wire_name.to_owned()));
        ToolUseBlock {
            input: self.codec.decode(&name, &arguments),
            id,
            name,
            signature: None,
            item_id: None,
            extra: Map::new(),
        }
    }

    fn arguments(&mut self, wire_name: &str, arguments: Option<&Value>) -> Value {
        match arguments {
            None | Some(Value::Null) => json!({}),
            Some(Value::Object(members)) => Value::Object(members.clone()),
            Some(Value::String(text)) if text.trim().is_empty() => json!({}),
            Some(Value::String(text)) => match crate::unrepeated::from_str(text) {
                Ok(value) if value.is_object() => value,
                Ok(_) | Err(_) => {
                    self.warn(format!("arguments of `{wire_name}` are no JSON object"));
                    json!({"raw": text})
                }
            },
            Some(other) => {
                self.warn(format!("arguments of `{wire_name}` are no JSON object"));
                json!({"raw": other})
            }
        }
    }

    /// The id of the call that a result answers: by its id, else by the tool's name, else the oldest.
    pub(super) fn answered(&mut self, id: Option<&str>, wire_name: Option<&str>) -> String {
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            let id = self.ids.original(id).to_owned();
            if let Some(at) = self.open.iter().position(|(open, _)| *open == id) {
                self.open.remove(at);
            }
            return id;
        }
        let by_name = self.open.iter().position(|(_, name)| Some(name.as_str()) == wire_name);
        if self.open.is_empty() {
            self.warn("a result answers no call");
            return self.made_up_id();
        }
        self.open.remove(by_name.unwrap_or(0)).0
    }

    fn made_up_id(&mut self) -> String {
        self.made += 1;
        format!("call_{}", self.made)
    }

    pub(super) fn opaque(&self, payload: &Value) -> Block {
        Block::Opaque(OpaqueBlock {
            origin: origin(self.protocol).to_owned(),
            payload: payload.clone(),
            extra: Map::new(),
        })
    }

    pub(super) fn thinking(&self, text: &str, signature: Option<&str>) -> ThinkingBlock {
        ThinkingBlock {
            thinking: text.to_owned(),
            signature: signature.map(str::to_owned),
            origin: Some(origin(self.protocol).to_owned()),
            payload: None,
            extra: Map::new(),
        }
    }

    /// The request's own member for instructions: text, blocks or parts.
    fn system(&self, system: &Value) -> Vec<Block> {
        let list = system.get("parts").unwrap_or(system);
        match list {
            Value::String(text) => vec![Block::text(text)],
            Value::Array(items) => items
                .iter()
                .map(|item| match item.get("text").and_then(Value::as_str) {
                    Some(text) => Block::text(text),
                    None => self.opaque(item),
                })
                .collect(),
            other => vec![self.opaque(other)],
        }
    }
}

/// A result block.
pub(super) fn result(id: String, content: Vec<Block>, failed: bool, structured: Option<Value>) -> Block {
    Block::ToolResult(ToolResultBlock {
        tool_use_id: id,
        content: Content::of(content),
        status: failed.then(|| "error".to_owned()),
        error: None,
        structured,
        extra: Map::new(),
    })
}

/// An image block from an address or a data URL.
pub(super) fn image(url: &str) -> Block {
    let source = match split_data_url(url) {
        Some((mime, data)) => Source::Base64 { media_type: mime.to_owned(), data: data.to_owned() },
        None => Source::Url { url: url.to_owned(), media_type: None },
    };
    Block::Image(MediaBlock { source, extra: Map::new() })
}

/// A block for bytes of any type.
pub(super) fn bytes(mime: &str, data: &str, name: &str) -> Block {
    let source = Source::Base64 { media_type: mime.to_owned(), data: data.to_owned() };
    match mime.split('/').next() {
        Some("image") => Block::Image(MediaBlock { source, extra: Map::new() }),
        Some("audio") => Block::Audio(MediaBlock { source, extra: Map::new() }),
        Some(_) | None => Block::Resource(ResourceBlock {
            resource: json!({"uri": name, "mimeType": mime, "blob": data}),
            extra: Map::new(),
        }),
    }
}

/// The blocks of a result in MCP's shape, and whether it failed.
pub(super) fn result_blocks(result: &Value) -> (Vec<Block>, bool) {
    let failed = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
    let content = result.get("content").cloned().unwrap_or_default();
    (serde_json::from_value(content).unwrap_or_default(), failed)
}

/// The text under `key`.
pub(super) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

/// The list under `key`.
pub(super) fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
