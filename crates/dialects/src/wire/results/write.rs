//! Arranged results in the messages of each API.

use serde_json::{Map, Value, json};

use super::arrange::{Arranged, Part};
use super::piece::{Media, MediaKind};
use super::{Prepared, media, note};
use crate::dialect::{ErrorStyle, MessageRules, Protocol};

/// Writes the results of one turn.
pub(super) fn write(rules: &MessageRules, results: &[Prepared<'_>]) -> Vec<Value> {
    if results.is_empty() {
        return Vec::new();
    }
    match rules.protocol {
        Protocol::Chat | Protocol::Functions | Protocol::CohereChat | Protocol::OllamaChat => {
            let mut messages: Vec<Value> = results.iter().map(|result| chat_message(rules, result)).collect();
            messages.extend(following_message(rules.protocol, results));
            messages
        }
        Protocol::Responses => {
            let mut items: Vec<Value> = results
                .iter()
                .map(|result| {
                    let output = text_or_parts(rules.protocol, &result.arranged, "input_text");
                    json!({"type": "function_call_output", "call_id": result.id(), "output": output})
                })
                .collect();
            items.extend(following_message(rules.protocol, results));
            items
        }
        Protocol::Messages => {
            let mut blocks: Vec<Value> = results.iter().map(|result| tool_result(rules, result)).collect();
            blocks.extend(following_parts(rules.protocol, results));
            vec![json!({"role": "user", "content": blocks})]
        }
        Protocol::Converse => {
            let mut blocks: Vec<Value> =
                results.iter().map(|result| converse_result(rules, result)).collect();
            blocks.extend(following_parts(rules.protocol, results));
            vec![json!({"role": "user", "content": blocks})]
        }
        Protocol::GenerateContent => {
            let mut parts: Vec<Value> =
                results.iter().map(|result| function_response(rules, result)).collect();
            parts.extend(following_parts(rules.protocol, results));
            vec![json!({"role": "user", "parts": parts})]
        }
        Protocol::Mcp => results.iter().map(|result| result.outcome.result.clone()).collect(),
    }
}

/// Whether a result is written with an id of ours where its call had none.
pub(super) fn replaces_absent_ids(rules: &MessageRules) -> bool {
    match rules.protocol {
        Protocol::Chat | Protocol::CohereChat => rules.call_ids,
        Protocol::Responses | Protocol::Messages | Protocol::Converse => true,
        // Without ids, or with ids that only calls with an id have.
        Protocol::Functions | Protocol::OllamaChat | Protocol::GenerateContent | Protocol::Mcp => false,
    }
}

fn chat_message(rules: &MessageRules, result: &Prepared<'_>) -> Value {
    let name = result.outcome.wire_name;
    let mut message = Map::new();
    if rules.protocol == Protocol::Functions {
        message.insert("role".into(), "function".into());
        message.insert("name".into(), name.into());
    } else {
        message.insert("role".into(), "tool".into());
        if rules.call_ids && (result.outcome.call_id.is_some() || replaces_absent_ids(rules)) {
            message.insert("tool_call_id".into(), result.id().into());
        }
        if let Some(field) = &rules.tool_name_field {
            message.insert(field.clone(), name.into());
        }
    }
    message.insert("content".into(), text_or_parts(rules.protocol, &result.arranged, "text"));
    Value::Object(message)
}

/// One text where all parts are text, otherwise a list.
fn text_or_parts(protocol: Protocol, arranged: &Arranged<'_>, text_type: &str) -> Value {
    if arranged.is_only_text() {
        return Value::String(arranged.text());
    }
    let mut files = 0;
    let parts = arranged.parts.iter().map(|part| match part {
        Part::Text(text) => json!({"type": text_type, "text": text}),
        Part::Document { uri, text } if protocol == Protocol::CohereChat => {
            json!({"type": "document", "document": {"data": {"uri": uri, "text": text}}})
        }
        Part::Document { uri, text } => json!({"type": text_type, "text": note::document(uri, text)}),
        Part::Data(value) if protocol == Protocol::CohereChat => {
            json!({"type": "document", "document": {"data": value}})
        }
        Part::Data(value) => json!({"type": text_type, "text": note::json_text(value)}),
        Part::Media(medium) => media::part(protocol, medium, count_file(&mut files, medium)),
    });
    Value::Array(parts.collect())
}

/// The number of a file among those of its result.
fn count_file(files: &mut usize, medium: &Media<'_>) -> usize {
    let number = *files;
    if medium.kind == MediaKind::File {
        *files += 1;
    }
    number
}

/// Media that results cannot hold, in one user message.
fn following_message(protocol: Protocol, results: &[Prepared<'_>]) -> Option<Value> {
    let parts = following_parts(protocol, results);
    if parts.is_empty() {
        return None;
    }
    Some(match protocol {
        Protocol::OllamaChat => {
            let images: Vec<&str> =
                results.iter().flat_map(|result| &result.arranged.after).filter_map(media::data).collect();
            json!({"role": "user", "content": heading(results), "images": images})
        }
        Protocol::Responses => {
            let mut content = vec![json!({"type": "input_text", "text": heading(results)})];
            content.extend(parts);
            json!({"type": "message", "role": "user", "content": content})
        }
        Protocol::Chat
        | Protocol::Functions
        | Protocol::CohereChat
        | Protocol::Messages
        | Protocol::Converse
        | Protocol::GenerateContent
        | Protocol::Mcp => {
            let mut content = vec![json!({"type": "text", "text": heading(results)})];
            content.extend(parts);
            json!({"role": "user", "content": content})
        }
    })
}

/// Says which tools the media come from, in their order.
fn heading(results: &[Prepared<'_>]) -> String {
    let tools = results.iter().filter(|result| !result.arranged.after.is_empty()).map(|result| {
        let count = result.arranged.after.len();
        let times = if count == 1 { String::new() } else { format!(" ({count})") };
        format!("`{}`{times}", result.outcome.wire_name)
    });
    format!("Media from the tool results above, in order: {}", tools.collect::<Vec<_>>().join(", "))
}

fn following_parts(protocol: Protocol, results: &[Prepared<'_>]) -> Vec<Value> {
    results
        .iter()
        .flat_map(|result| &result.arranged.after)
        .enumerate()
        .map(|(number, medium)| media::part(protocol, medium, number))
        .collect()
}

fn tool_result(rules: &MessageRules, result: &Prepared<'_>) -> Value {
    let mut block = Map::new();
    block.insert("type".into(), "tool_result".into());
    block.insert("tool_use_id".into(), result.id().into());
    match result.arranged.parts.as_slice() {
        [] => {}
        [Part::Text(text)] => {
            block.insert("content".into(), text.clone().into());
        }
        parts => {
            let content = parts.iter().map(|part| match part {
                Part::Text(text) => json!({"type": "text", "text": text}),
                Part::Document { uri, text } => json!({"type": "document", "title": uri,
                    "source": {"type": "text", "media_type": "text/plain", "data": text}}),
                Part::Data(value) => json!({"type": "text", "text": note::json_text(value)}),
                Part::Media(medium) => media::part(rules.protocol, medium, 0),
            });
            block.insert("content".into(), content.collect());
        }
    }
    if result.arranged.failed && rules.errors == ErrorStyle::Flag {
        block.insert("is_error".into(), true.into());
    }
    Value::Object(block)
}

fn converse_result(rules: &MessageRules, result: &Prepared<'_>) -> Value {
    let mut files = 0;
    let content: Vec<Value> = result
        .arranged
        .parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => json!({"text": text}),
            Part::Document { uri, text } => json!({"text": note::document(uri, text)}),
            Part::Data(value) => json!({"json": value}),
            Part::Media(medium) => media::part(rules.protocol, medium, count_file(&mut files, medium)),
        })
        .collect();
    let mut block = Map::new();
    block.insert("toolUseId".into(), result.id().into());
    block.insert("content".into(), content.into());
    if result.arranged.failed && rules.errors == ErrorStyle::Flag {
        block.insert("status".into(), "error".into());
    }
    json!({"toolResult": block})
}

fn function_response(rules: &MessageRules, result: &Prepared<'_>) -> Value {
    let arranged = &result.arranged;
    let failed = arranged.failed && rules.errors == ErrorStyle::Key;
    let key = if failed { "error" } else { "output" };
    let has_text = arranged.parts.iter().any(|part| matches!(part, Part::Text(_)));
    let data = arranged.parts.iter().find_map(|part| match part {
        Part::Data(value) => Some(*value),
        Part::Text(_) | Part::Document { .. } | Part::Media(_) => None,
    });
    let response = match (data, has_text) {
        (Some(data), false) if failed => json!({key: data}),
        (Some(data), false) => data.clone(),
        (Some(data), true) => json!({key: arranged.text(), "structuredContent": data}),
        (None, _) => json!({key: arranged.text()}),
    };
    let mut body = Map::new();
    if rules.call_ids
        && let Some(id) = result.outcome.call_id
    {
        body.insert("id".into(), id.into());
    }
    body.insert("name".into(), result.outcome.wire_name.into());
    body.insert("response".into(), response);
    let media: Vec<Value> = arranged
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Media(medium) => Some(media::part(rules.protocol, medium, 0)),
            Part::Text(_) | Part::Document { .. } | Part::Data(_) => None,
        })
        .collect();
    if !media.is_empty() {
        body.insert("parts".into(), media.into());
    }
    json!({"functionResponse": body})
}
