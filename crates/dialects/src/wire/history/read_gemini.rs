//! Reading contents of parts.

use serde_json::{Map, Value};

use super::neutral::{Block, Content, MediaBlock, Message, Role, Source};
use super::read::{Reader, bytes, list, result, text};

/// Reads `given` onto the end of `messages`.
pub(super) fn read(reader: &mut Reader<'_>, given: &[Value], messages: &mut Vec<Message>) {
    for (index, content) in given.iter().enumerate() {
        reader.at = index;
        let role = match text(content, "role") {
            Some("model") => Role::Assistant,
            Some("system") => Role::System,
            Some("user" | "function") | None => Role::User,
            Some(other) => {
                reader.warn(format!("unknown role `{other}` is read as the user's"));
                Role::User
            }
        };
        let blocks: Vec<Block> = list(content, "parts")
            .iter()
            .map(|part| block(reader, part).unwrap_or_else(|| reader.opaque(part)))
            .collect();
        let only_results =
            !blocks.is_empty() && blocks.iter().all(|block| matches!(block, Block::ToolResult(_)));
        let role = if only_results { Role::Tool } else { role };
        messages.push(Message::new(role, Content::of(blocks)));
    }
}

/// A member under either of the two spellings that the API takes.
fn member<'v>(part: &'v Value, camel: &str, snake: &str) -> Option<&'v Value> {
    part.get(camel).or_else(|| part.get(snake))
}

fn block(reader: &mut Reader<'_>, part: &Value) -> Option<Block> {
    let signature = member(part, "thoughtSignature", "thought_signature").and_then(Value::as_str);
    if let Some(call) = member(part, "functionCall", "function_call") {
        let mut block = reader.call(text(call, "id"), text(call, "name")?, call.get("args"));
        block.signature = signature.map(str::to_owned);
        return Some(Block::ToolUse(block));
    }
    if let Some(response) = member(part, "functionResponse", "function_response") {
        return Some(function_response(reader, response));
    }
    if let Some(text) = text(part, "text") {
        let is_thought = part.get("thought").and_then(Value::as_bool).unwrap_or(false);
        if is_thought || (text.is_empty() && signature.is_some()) {
            let mut thought = reader.thinking(text, signature);
            thought.payload = Some(part.clone());
            return Some(Block::Thinking(thought));
        }
        let mut block = Block::text(text);
        if let (Block::Text(block), Some(signature)) = (&mut block, signature) {
            block.extra.insert("signature".into(), signature.into());
        }
        return Some(block);
    }
    media(part)
}

fn media(part: &Value) -> Option<Block> {
    if let Some(inline) = member(part, "inlineData", "inline_data") {
        let mime = member(inline, "mimeType", "mime_type")?.as_str()?;
        return Some(bytes(mime, text(inline, "data")?, ""));
    }
    let file = member(part, "fileData", "file_data")?;
    let mime = member(file, "mimeType", "mime_type").and_then(Value::as_str);
    let url = member(file, "fileUri", "file_uri")?.as_str()?.to_owned();
    let source = Source::Url { url, media_type: mime.map(str::to_owned) };
    match mime.and_then(|mime| mime.split('/').next()) {
        Some("image") | None => Some(Block::Image(MediaBlock { source, extra: Map::new() })),
        Some("audio") => Some(Block::Audio(MediaBlock { source, extra: Map::new() })),
        Some(_) => None,
    }
}

fn function_response(reader: &mut Reader<'_>, given: &Value) -> Block {
    let id = reader.answered(text(given, "id"), text(given, "name"));
    let mut blocks = Vec::new();
    let mut structured = None;
    let mut failed = false;
    match given.get("response") {
        Some(Value::Object(response)) => {
            let told = response.get("error").or_else(|| response.get("output"));
            let others =
                response.keys().any(|key| !matches!(key.as_str(), "output" | "error" | "structuredContent"));
            match told {
                Some(told)
                    if !others && (response.len() == 1 || response.contains_key("structuredContent")) =>
                {
                    failed = response.contains_key("error");
                    structured = response.get("structuredContent").cloned();
                    match told {
                        Value::String(text) if text.is_empty() => {}
                        Value::String(text) => blocks.push(Block::text(text)),
                        other => structured = Some(other.clone()),
                    }
                }
                Some(_) | None => structured = Some(Value::Object(response.clone())),
            }
        }
        Some(other) => structured = Some(other.clone()),
        None => {}
    }
    for part in list(given, "parts") {
        blocks.push(media(part).unwrap_or_else(|| reader.opaque(part)));
    }
    result(id, blocks, failed, structured)
}
