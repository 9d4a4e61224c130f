//! The messages of each API as a neutral conversation.

use serde_json::{Map, Value, json};

use super::codec::TranslatedTools;
use super::neutral::{
    Block, Content, MediaBlock, Message, OpaqueBlock, Role, Source, ThinkingBlock, ToolResultBlock,
    ToolUseBlock,
};
use super::{Conversation, Warning};
use crate::dialect::Protocol;
use crate::wire::results::IdMap;
use crate::wire::results::piece::split_data_url;
use crate::wire::{Members as _, format};

/// Reads a conversation of the API `protocol`; `ids` is the table that [`to_dialect`](super::to_dialect) filled, or
/// an empty one.
pub fn from_dialect(
    conversation: &Conversation,
    protocol: Protocol,
    codec: &TranslatedTools,
    ids: &IdMap,
) -> (Vec<Message>, Vec<Warning>) {
    let mut reader = Reader { protocol, codec, ids, open: Vec::new(), at: 0, made: 0, warnings: Vec::new() };
    let mut messages: Vec<Message> = Vec::new();
    if let Some(system) = &conversation.system {
        messages.push(Message::new(Role::System, Content::of(reader.system(system))));
    }
    format(protocol).read_history(&mut reader, &conversation.messages, &mut messages);
    (messages, reader.warnings)
}

/// What all APIs' readers share.
pub(crate) struct Reader<'r> {
    pub(crate) protocol: Protocol,
    codec: &'r TranslatedTools,
    ids: &'r IdMap,
    /// Calls without a result so far: id and wire name.
    open: Vec<(String, String)>,
    /// The message that is being read.
    pub(crate) at: usize,
    /// How many ids were made up.
    made: usize,
    warnings: Vec<Warning>,
}

impl Reader<'_> {
    pub(crate) fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(Warning { message: self.at, text: text.into() });
    }

    /// The role of a message whose own is none that the API knows.
    pub(crate) fn unknown_role(&mut self, name: Option<&str>) -> Role {
        self.warn(format!("unknown role `{}` is read as the user's", name.unwrap_or_default()));
        Role::User
    }

    /// A call; without an id it gets one of ours.
    pub(crate) fn call(
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
        let input = self.codec.decode(&name, &arguments);
        ToolUseBlock { id, name, input, ..ToolUseBlock::default() }
    }

    fn arguments(&mut self, wire_name: &str, arguments: Option<&Value>) -> Value {
        let parsed = match arguments {
            None | Some(Value::Null) => return json!({}),
            Some(Value::String(text)) if text.trim().is_empty() => return json!({}),
            Some(Value::String(text)) => crate::json::from_str(text).ok(),
            Some(other) => Some(other.clone()),
        };
        parsed.filter(Value::is_object).unwrap_or_else(|| {
            self.warn(format!("arguments of `{wire_name}` are no JSON object"));
            json!({"raw": arguments})
        })
    }

    /// The id of the call that a result answers: by its id, else by the tool's name, else the oldest.
    pub(crate) fn answered(&mut self, id: Option<&str>, wire_name: Option<&str>) -> String {
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

    pub(crate) fn opaque(&self, payload: &Value) -> Block {
        let origin = self.protocol.name().to_owned();
        Block::Opaque(OpaqueBlock { origin, payload: payload.clone(), extra: Map::new() })
    }

    pub(crate) fn thinking(&self, text: &str, signature: Option<&str>) -> ThinkingBlock {
        ThinkingBlock {
            thinking: text.to_owned(),
            signature: signature.map(str::to_owned),
            origin: Some(self.protocol.name().to_owned()),
            ..ThinkingBlock::default()
        }
    }

    /// Reads messages whose parts stand in a list under `key`; `role` knows the API's roles, `part` its parts.
    pub(crate) fn part_lists(
        &mut self,
        given: &[Value],
        messages: &mut Vec<Message>,
        key: &str,
        role: fn(Option<&str>) -> Option<Role>,
        part: fn(&mut Self, &Value) -> Option<Block>,
    ) {
        for (index, message) in given.iter().enumerate() {
            self.at = index;
            let name = message.text("role");
            let role = role(name).unwrap_or_else(|| self.unknown_role(name));
            let blocks = self.parts(message.get(key), part);
            let only_results =
                !blocks.is_empty() && blocks.iter().all(|block| matches!(block, Block::ToolResult(_)));
            let role = if only_results { Role::Tool } else { role };
            messages.push(Message::new(role, Content::of(blocks)));
        }
    }

    /// A text as one block, a list as one for each entry; what `part` does not know stays as it came.
    pub(crate) fn parts(
        &mut self,
        content: Option<&Value>,
        part: fn(&mut Self, &Value) -> Option<Block>,
    ) -> Vec<Block> {
        match content {
            Some(Value::String(text)) => vec![Block::text(text)],
            Some(Value::Array(list)) => {
                list.iter().map(|given| part(self, given).unwrap_or_else(|| self.opaque(given))).collect()
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// The request's own member for instructions: text, blocks or parts.
    fn system(&self, system: &Value) -> Vec<Block> {
        let list = system.get("parts").unwrap_or(system);
        match list {
            Value::String(text) => vec![Block::text(text)],
            Value::Array(items) => {
                let block = |item: &Value| item.text("text").map_or_else(|| self.opaque(item), Block::text);
                items.iter().map(block).collect()
            }
            other => vec![self.opaque(other)],
        }
    }
}

/// A result block.
pub(crate) fn result(id: String, content: Vec<Block>, failed: bool, structured: Option<Value>) -> Block {
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
pub(crate) fn image(url: &str) -> Block {
    Block::Image(MediaBlock::from(match split_data_url(url) {
        Some((mime, data)) => Source::Base64 { media_type: mime.to_owned(), data: data.to_owned() },
        None => Source::Url { url: url.to_owned(), media_type: None },
    }))
}

/// A block for bytes of any type.
pub(crate) fn bytes(mime: &str, data: &str, name: &str) -> Block {
    let source = Source::Base64 { media_type: mime.to_owned(), data: data.to_owned() };
    match mime.split('/').next() {
        Some("image") => Block::Image(source.into()),
        Some("audio") => Block::Audio(source.into()),
        Some(_) | None => Block::resource(json!({"uri": name, "mimeType": mime, "blob": data})),
    }
}
