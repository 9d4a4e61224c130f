//! Conversations as contents of parts.

use serde_json::{Map, Value, json};

use crate::dialect::{Placement, Protocol};
use crate::wire::Members as _;
use crate::wire::history::{Block, Reader, Role, Source, ThinkingBlock, ToolUseBlock, Writer, bytes, result};

/// The role called `name`.
pub(super) fn role(name: Option<&str>) -> Option<Role> {
    match name {
        Some("model") => Some(Role::Assistant),
        Some("system") => Some(Role::System),
        Some("user" | "function") | None => Some(Role::User),
        Some(_) => None,
    }
}

/// A member under either of the two spellings that the API takes.
fn member<'v>(part: &'v Value, camel: &str, snake: &str) -> Option<&'v Value> {
    part.get(camel).or_else(|| part.get(snake))
}

/// One part of a content.
pub(super) fn part(reader: &mut Reader<'_>, part: &Value) -> Option<Block> {
    let signature = member(part, "thoughtSignature", "thought_signature").and_then(Value::as_str);
    if let Some(call) = member(part, "functionCall", "function_call") {
        let mut block = reader.call(call.text("id"), call.text("name")?, call.get("args"));
        block.signature = signature.map(str::to_owned);
        return Some(Block::ToolUse(block));
    }
    if let Some(response) = member(part, "functionResponse", "function_response") {
        return Some(function_response(reader, response));
    }
    if let Some(text) = part.text("text") {
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
        return Some(bytes(mime, inline.text("data")?, ""));
    }
    let file = member(part, "fileData", "file_data")?;
    let mime = member(file, "mimeType", "mime_type").and_then(Value::as_str);
    let url = member(file, "fileUri", "file_uri")?.as_str()?.to_owned();
    let source = Source::Url { url, media_type: mime.map(str::to_owned) };
    match mime.and_then(|mime| mime.split('/').next()) {
        Some("image") | None => Some(Block::Image(source.into())),
        Some("audio") => Some(Block::Audio(source.into())),
        Some(_) => None,
    }
}

/// What a response in our form says; `None` if it is another object.
fn said(response: &Value) -> Option<&Value> {
    let members = response.as_object()?;
    let ours = |key: &String| matches!(key.as_str(), "output" | "error" | "structuredContent");
    let is_ours = members.keys().all(ours) && (members.len() == 1 || members.has("structuredContent"));
    members.member("error").or_else(|| members.member("output")).filter(|_| is_ours)
}

fn function_response(reader: &mut Reader<'_>, given: &Value) -> Block {
    let id = reader.answered(given.text("id"), given.text("name"));
    let mut blocks = Vec::new();
    let mut structured;
    let mut failed = false;
    let response = given.get("response");
    match response.and_then(said) {
        Some(said) => {
            failed = response.is_some_and(|response| response.has("error"));
            structured = response.and_then(|response| response.get("structuredContent")).cloned();
            match said {
                Value::String(text) if text.is_empty() => {}
                Value::String(text) => blocks.push(Block::text(text)),
                other => structured = Some(other.clone()),
            }
        }
        None => structured = response.cloned(),
    }
    for part in given.list("parts") {
        blocks.push(media(part).unwrap_or_else(|| reader.opaque(part)));
    }
    result(id, blocks, failed, structured)
}

/// Parts of what the model said.
pub(super) fn model_parts(writer: &mut Writer<'_>, at: usize, blocks: &[Block]) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut called = false;
    for block in blocks {
        match block {
            Block::ToolUse(call) => {
                parts.push(function_call(writer, call, called));
                called = true;
            }
            Block::Thinking(thought) => match thinking(thought) {
                Some(written) => parts.push(written),
                None => writer.warn(at, "reasoning of another provider is left out"),
            },
            block => {
                let mut written =
                    writer.assistant_block(at, block, Placement::Result).map(|part| writer.part(part));
                if let (Block::Text(text), Some(Value::Object(members))) = (block, &mut written)
                    && let Some(signature) = text.extra.get("signature")
                {
                    members.insert("thoughtSignature".into(), signature.clone());
                }
                parts.extend(written);
            }
        }
    }
    parts
}

/// The first call of a turn needs a signature; the others have none of their own.
fn function_call(writer: &Writer<'_>, call: &ToolUseBlock, called: bool) -> Value {
    let rules = writer.rules();
    let mut body = Map::new();
    if rules.call_ids {
        body.insert("id".into(), call.id.clone().into());
    }
    body.insert("name".into(), call.name.clone().into());
    body.insert("args".into(), call.input.clone());
    let mut part = Map::from_iter([("functionCall".to_owned(), Value::Object(body))]);
    let foreign = rules.foreign_signature.as_ref().filter(|text| !called && !text.is_empty());
    if let Some(signature) = call.signature.as_ref().or(foreign) {
        part.insert("thoughtSignature".into(), signature.clone().into());
    }
    Value::Object(part)
}

fn thinking(thought: &ThinkingBlock) -> Option<Value> {
    if thought.origin.as_deref() != Some(Protocol::GenerateContent.name()) {
        return None;
    }
    if let Some(payload) = &thought.payload {
        return Some(payload.clone());
    }
    let mut part = json!({"text": thought.thinking, "thought": true});
    if let (Some(signature), Some(members)) = (&thought.signature, part.as_object_mut()) {
        members.insert("thoughtSignature".into(), signature.clone().into());
    }
    Some(part)
}
