//! Reading messages of blocks.

use serde_json::{Map, Value, json};

use super::neutral::{Block, Content, MediaBlock, Message, ResourceBlock, Role, Source};
use super::read::{Reader, bytes, list, result, text};
use crate::dialect::Protocol;
use crate::wire::results::media::mime_of;

/// Reads `given` onto the end of `messages`.
pub(super) fn read(reader: &mut Reader<'_>, given: &[Value], messages: &mut Vec<Message>) {
    for (index, message) in given.iter().enumerate() {
        reader.at = index;
        let role = match text(message, "role") {
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            Some("user") => Role::User,
            other => {
                reader.warn(format!("unknown role `{}` is read as the user's", other.unwrap_or_default()));
                Role::User
            }
        };
        let blocks: Vec<Block> = match message.get("content") {
            Some(Value::String(text)) => vec![Block::text(text)],
            _ => list(message, "content").iter().map(|given| block(reader, given)).collect(),
        };
        let only_results =
            !blocks.is_empty() && blocks.iter().all(|block| matches!(block, Block::ToolResult(_)));
        let role = if only_results { Role::Tool } else { role };
        messages.push(Message::new(role, Content::of(blocks)));
    }
}

fn block(reader: &mut Reader<'_>, given: &Value) -> Block {
    let known = if reader.protocol == Protocol::Converse {
        converse_block(reader, given)
    } else {
        messages_block(reader, given)
    };
    known.unwrap_or_else(|| reader.opaque(given))
}

fn messages_block(reader: &mut Reader<'_>, given: &Value) -> Option<Block> {
    match text(given, "type")? {
        "text" => text(given, "text").map(Block::text),
        "image" => media(given.get("source")?),
        "document" => document(given),
        "thinking" => {
            let thought = reader.thinking(text(given, "thinking")?, text(given, "signature"));
            Some(Block::Thinking(thought))
        }
        "tool_use" => {
            let call = reader.call(text(given, "id"), text(given, "name")?, given.get("input"));
            Some(Block::ToolUse(call))
        }
        "tool_result" => {
            let id = reader.answered(text(given, "tool_use_id"), None);
            let blocks = match given.get("content") {
                Some(Value::String(text)) => vec![Block::text(text)],
                _ => list(given, "content").iter().map(|inner| block(reader, inner)).collect(),
            };
            let failed = given.get("is_error").and_then(Value::as_bool).unwrap_or(false);
            Some(result(id, blocks, failed, None))
        }
        _ => None,
    }
}

fn media(source: &Value) -> Option<Block> {
    let source: Source = serde_json::from_value(source.clone()).ok()?;
    Some(Block::Image(MediaBlock { source, extra: Map::new() }))
}

fn document(given: &Value) -> Option<Block> {
    let source = given.get("source")?;
    let name = text(given, "title").unwrap_or_default();
    match text(source, "type")? {
        "base64" => Some(bytes(text(source, "media_type")?, text(source, "data")?, name)),
        "text" => Some(resource(name, text(source, "data")?)),
        _ => None,
    }
}

fn resource(uri: &str, content: &str) -> Block {
    Block::Resource(ResourceBlock { resource: json!({"uri": uri, "text": content}), extra: Map::new() })
}

fn converse_block(reader: &mut Reader<'_>, given: &Value) -> Option<Block> {
    let (kind, body) = given.as_object()?.iter().next()?;
    match kind.as_str() {
        "text" => body.as_str().map(Block::text),
        "image" | "document" => {
            let data = body.get("source").and_then(|source| text(source, "bytes"))?;
            let format = text(body, "format")?;
            let mime = if kind == "image" { format!("image/{format}") } else { mime_of(format)?.to_owned() };
            Some(bytes(&mime, data, text(body, "name").unwrap_or_default()))
        }
        "reasoningContent" => {
            let thought = body.get("reasoningText")?;
            Some(Block::Thinking(reader.thinking(text(thought, "text")?, text(thought, "signature"))))
        }
        "toolUse" => {
            let call = reader.call(text(body, "toolUseId"), text(body, "name")?, body.get("input"));
            Some(Block::ToolUse(call))
        }
        "toolResult" => {
            let id = reader.answered(text(body, "toolUseId"), None);
            let mut structured = None;
            let mut blocks = Vec::new();
            for inner in list(body, "content") {
                match inner.get("json") {
                    Some(value) if structured.is_none() => structured = Some(value.clone()),
                    Some(_) | None => blocks.push(block(reader, inner)),
                }
            }
            Some(result(id, blocks, text(body, "status") == Some("error"), structured))
        }
        _ => None,
    }
}
