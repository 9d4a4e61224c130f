//! Reading chat messages: OpenAI's and those that look like them.

use serde_json::Value;

use crate::wire::Members as _;
use crate::wire::calls::carried_signature;
use crate::wire::history::{Block, Content, Message, Reader, Role, bytes, image, result};
use crate::wire::results::split_data_url;

/// Members of an assistant message in which APIs send reasoning.
const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

/// Reads `given` onto the end of `messages`.
pub(crate) fn read(reader: &mut Reader<'_>, given: &[Value], messages: &mut Vec<Message>) {
    for (index, message) in given.iter().enumerate() {
        reader.at = index;
        let (role, blocks) = match message.text("role") {
            Some("system" | "developer") => (Role::System, content(reader, message.get("content"))),
            Some("user") => (Role::User, user(reader, message)),
            Some("assistant") => (Role::Assistant, assistant(reader, message)),
            Some("tool" | "function") => (Role::Tool, vec![tool(reader, message)]),
            other => (reader.unknown_role(other), user(reader, message)),
        };
        messages.push(Message::new(role, Content::of(blocks)));
    }
}

fn user(reader: &mut Reader<'_>, message: &Value) -> Vec<Block> {
    let mut blocks = content(reader, message.get("content"));
    for data in message.list("images").iter().filter_map(Value::as_str) {
        blocks.push(bytes(image_type(data), data, ""));
    }
    blocks
}

/// The type of an image by its first bytes, which base64 shows.
fn image_type(data: &str) -> &'static str {
    const STARTS: [(&str, &str); 4] =
        [("/9j/", "image/jpeg"), ("R0lGOD", "image/gif"), ("UklGR", "image/webp"), ("iVBORw", "image/png")];
    STARTS.iter().find(|(start, _)| data.starts_with(start)).map_or("image/png", |(_, mime)| mime)
}

fn assistant(reader: &mut Reader<'_>, message: &Value) -> Vec<Block> {
    let mut blocks = Vec::new();
    for thought in REASONING.iter().filter_map(|key| message.text(key)).filter(|text| !text.is_empty()) {
        blocks.push(Block::Thinking(reader.thinking(thought, None)));
    }
    if let Some(plan) = message.text("tool_plan").filter(|plan| !plan.is_empty()) {
        blocks.push(Block::text(plan));
    }
    blocks.extend(content(reader, message.get("content")));
    if let Some(refusal) = message.text("refusal") {
        blocks.push(Block::text(refusal));
    }
    for call in message.list("tool_calls") {
        let Some(function) = call.get("function") else {
            blocks.push(reader.opaque(call));
            continue;
        };
        let name = function.text("name").unwrap_or_default();
        let mut block = reader.call(call.text("id"), name, function.get("arguments"));
        block.signature = call.as_object().and_then(carried_signature);
        blocks.push(Block::ToolUse(block));
    }
    if let Some(call) = message.get("function_call").filter(|call| call.is_object()) {
        let name = call.text("name").unwrap_or_default();
        blocks.push(Block::ToolUse(reader.call(None, name, call.get("arguments"))));
    }
    blocks
}

fn tool(reader: &mut Reader<'_>, message: &Value) -> Block {
    let name = message.text("tool_name").or_else(|| message.text("name"));
    let id = reader.answered(message.text("tool_call_id"), name);
    let mut structured = None;
    let mut blocks = Vec::new();
    for part in parts(message.get("content")) {
        let document = part.get("document").and_then(|document| document.get("data"));
        match document.and_then(Value::as_object) {
            Some(data) if data.len() == 2 && data.contains_key("uri") && data.contains_key("text") => {
                blocks.push(Block::resource(Value::Object(data.clone())));
            }
            Some(data) if structured.is_none() => structured = Some(Value::Object(data.clone())),
            Some(_) | None => blocks.push(block(reader, &part)),
        }
    }
    result(id, blocks, false, structured)
}

fn content(reader: &mut Reader<'_>, content: Option<&Value>) -> Vec<Block> {
    parts(content).iter().map(|part| block(reader, part)).collect()
}

/// Content as a list, whether it is one, a text or nothing.
fn parts(content: Option<&Value>) -> Vec<Value> {
    match content {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::Array(parts)) => parts.clone(),
        Some(other) => vec![other.clone()],
    }
}

fn block(reader: &mut Reader<'_>, part: &Value) -> Block {
    if let Value::String(text) = part {
        return Block::text(text);
    }
    let known = match part.text("type") {
        Some("text") => part.text("text").map(Block::text),
        Some("refusal") => part.text("refusal").map(Block::text),
        Some("image_url") => {
            let url = part.get("image_url");
            url.and_then(|url| url.as_str().or_else(|| url.text("url"))).map(image)
        }
        Some("input_audio") => part.get("input_audio").and_then(|audio| {
            let mime = if audio.text("format") == Some("mp3") { "audio/mpeg" } else { "audio/wav" };
            audio.text("data").map(|data| bytes(mime, data, ""))
        }),
        Some("file") => part.get("file").and_then(|file| {
            let (mime, data) = split_data_url(file.text("file_data")?)?;
            Some(bytes(mime, data, file.text("filename").unwrap_or_default()))
        }),
        Some("thinking") => part.get("thinking").map(|thinking| {
            let whole = match thinking {
                Value::String(text) => text.clone(),
                _ => part.list("thinking").iter().filter_map(|piece| piece.text("text")).collect(),
            };
            Block::Thinking(reader.thinking(&whole, None))
        }),
        Some(_) | None => None,
    };
    known.unwrap_or_else(|| reader.opaque(part))
}
