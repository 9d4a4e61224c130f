//! Calls at the end of a reply's text, in every notation of the data.

mod bounds;
mod corpus;
mod outcomes;
mod properties;
mod results;
mod table;

use std::sync::Arc;

use gateway_dialects::Protocol;
use gateway_dialects::calls::text::{Notation, Notations, ToolSchemas};
use gateway_dialects::calls::{Arguments, ReadOptions, TextScan, parse_reply};
use gateway_dialects::stream::{Assembler, StreamEvent, StreamOptions, StreamedCall, TextStream};
use serde_json::{Value, json};

/// The tools that every test offers.
fn tools() -> ToolSchemas {
    ToolSchemas::default()
        .with(
            "get_weather",
            json!({"type": "object", "required": ["city"], "properties": {
                "city": {"type": "string"}, "days": {"type": "integer", "maximum": 9},
                "options": {"type": "object"}, "hours": {"type": "array", "items": {"type": "integer"}}}}),
        )
        .with(
            "search",
            json!({"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}}}),
        )
        .with(
            "write_file",
            json!({"type": "object", "required": ["path", "content"], "properties": {
                "path": {"type": "string"}, "content": {"type": "string"}, "append": {"type": "boolean"}}}),
        )
        .with("now", json!({"type": "object", "properties": {}, "additionalProperties": false}))
}

fn scan(notations: Notations) -> TextScan {
    TextScan::AtEnd(notations, Arc::new(tools()))
}

fn notation(name: &str) -> Notation {
    Notation::named(name).unwrap_or_else(|| unreachable!("{name} is in the data"))
}

/// What a reply came to.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    /// `[notation, name, arguments]` of each call.
    calls: Vec<Value>,
    /// The same for each call that must not be run, with its position and the reason.
    refused: Vec<(Value, usize, String)>,
    text: String,
    source: String,
    reasoning: String,
    /// Names of calls that stay text.
    skipped: Vec<String>,
}

fn brief(call: &gateway_dialects::calls::ToolCall) -> Value {
    let arguments = match &call.arguments {
        Arguments::Json(value) => value.clone(),
        Arguments::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str())),
        Arguments::Missing => Value::Null,
    };
    json!([call.written.map(Notation::name), call.name, arguments])
}

/// Reads a whole reply.
fn whole(scan: &TextScan, text: &str) -> Outcome {
    let options = ReadOptions { text: scan.clone(), ..ReadOptions::default() };
    let reply = parse_reply(&json!({"role": "assistant", "content": text}), &options)
        .unwrap_or_else(|error| unreachable!("a message can be read: {error}"));
    Outcome {
        calls: reply.calls.iter().map(brief).collect(),
        refused: reply.refused.iter().map(|it| (brief(&it.call), it.position, it.refusal.clone())).collect(),
        text: reply.text,
        source: reply.source,
        reasoning: reply.reasoning,
        skipped: reply.skipped.into_iter().map(|skipped| skipped.name).collect(),
    }
}

fn options(scan: &TextScan) -> StreamOptions {
    let mut options = StreamOptions::default();
    options.text = scan.clone();
    options
}

fn outcome(events: impl IntoIterator<Item = StreamEvent>) -> Outcome {
    let mut outcome = Outcome::default();
    for event in events {
        match event {
            StreamEvent::Text(text) => outcome.text.push_str(&text),
            StreamEvent::Reasoning(text) => outcome.reasoning.push_str(&text),
            StreamEvent::Source(source) => outcome.source = source,
            StreamEvent::Call(StreamedCall { call, .. }) => outcome.calls.push(brief(&call)),
            StreamEvent::Refused(it) => outcome.refused.push((brief(&it.call), it.position, it.refusal)),
            StreamEvent::Skipped(skipped) => outcome.skipped.push(skipped.name),
            other => unreachable!("{other:?}"),
        }
    }
    outcome
}

/// Reads a reply that arrives in single characters.
fn split(scan: &TextScan, text: &str) -> Outcome {
    let mut assembler = Assembler::new(Protocol::Chat, options(scan));
    let mut events = Vec::new();
    for character in text.chars() {
        events.extend(assembler.push(&json!({"choices": [{"delta": {"content": character.to_string()}}]})));
    }
    events.extend(assembler.finish());
    outcome(events)
}

/// Reads a text that arrives in single characters.
fn split_text(scan: &TextScan, text: &str) -> Outcome {
    let mut stream = TextStream::new(options(scan));
    let mut events: Vec<StreamEvent> =
        text.chars().flat_map(|character| stream.push(character.encode_utf8(&mut [0; 4]))).collect();
    events.extend(stream.finish());
    outcome(events)
}

/// What a reply comes to, however it arrives.
#[track_caller]
fn read(scan: &TextScan, text: &str) -> Outcome {
    let whole = whole(scan, text);
    assert_eq!(split(scan, text), whole, "in single characters: {text}");
    assert_eq!(split_text(scan, text), whole, "as a text in single characters: {text}");
    whole
}

/// `text` is text, byte for byte.
#[track_caller]
fn check_text(scan: &TextScan, text: &str) {
    let outcome = read(scan, text);
    assert_eq!(
        (outcome.calls.as_slice(), outcome.refused.as_slice(), outcome.text.as_str()),
        ([].as_slice(), [].as_slice(), text)
    );
    assert_eq!(outcome.source, "");
}
