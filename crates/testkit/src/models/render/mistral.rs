//! Mistral's Chat Completions: calls come whole, in the last chunk.

use serde_json::{Map, Value, json};

use super::fragments::{FragmentStep, arguments, call_index, fragments};
use super::{CREATED, Frame, FrameKind, Turn};
use crate::models::delivery::Quirk;
use crate::models::reply::{Call, Finish, Part, Reply, Usage};

pub(super) fn whole(reply: &Reply, turn: &Turn) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    let calls = calls(reply, turn);
    message.insert("tool_calls".to_owned(), if calls.is_empty() { Value::Null } else { calls.into() });
    put_content(&mut message, content(reply), turn);
    let finish = finish_word(&reply.finish_reason());
    let mut answer = json!({
        "id": id(turn),
        "object": "chat.completion",
        "created": CREATED,
        "model": turn.model,
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
    });
    if !turn.has(Quirk::NoUsage) {
        answer["usage"] = usage(reply.usage);
    }
    answer
}

pub(super) fn stream(reply: &Reply, turn: &Turn) -> Vec<Frame> {
    let opening = json!({"role": "assistant", "content": ""});
    let mut frames = vec![Frame::new(FrameKind::Opening, &chunk(&opening, None, turn))];
    for fragment in fragments(reply, &turn.delivery) {
        let delta = match (reply.parts.get(fragment.part), fragment.step) {
            (Some(Part::Text(_)), FragmentStep::Piece(text)) => json!({"content": text}),
            (Some(Part::Reasoning { .. }), FragmentStep::Piece(text)) => {
                json!({"content": [thinking(&text)]})
            }
            _ => continue,
        };
        frames.push(Frame::new(FrameKind::Content, &chunk(&delta, None, turn)));
    }
    let calls = calls(reply, turn);
    let mut delta = Map::new();
    put_content(&mut delta, "".into(), turn);
    if !calls.is_empty() {
        delta.insert("tool_calls".to_owned(), calls.into());
    }
    let reason = finish_word(&reply.finish_reason());
    let mut last = chunk(&delta.into(), Some(&reason), turn);
    if !turn.has(Quirk::NoUsage) {
        last["usage"] = usage(reply.usage);
    }
    frames.push(Frame::new(FrameKind::Finish, &last));
    frames.push(Frame { event: None, data: "[DONE]".to_owned(), kind: FrameKind::Done });
    frames
}

fn calls(reply: &Reply, turn: &Turn) -> Vec<Value> {
    let part = |(index, part): (usize, &Part)| match part {
        Part::Call(call) => Some(tool_call(call, call_index(reply, index), turn)),
        Part::Text(_) | Part::Reasoning { .. } => None,
    };
    reply.parts.iter().enumerate().filter_map(part).collect()
}

fn tool_call(call: &Call, index: usize, turn: &Turn) -> Value {
    let mut object = Map::new();
    if let Some(id) = &call.id {
        object.insert("id".to_owned(), id.as_str().into());
    }
    let arguments = arguments(&call.arguments, &turn.delivery);
    object.insert("function".to_owned(), json!({"name": call.name, "arguments": arguments}));
    if !turn.has(Quirk::NoIndex) {
        object.insert("index".to_owned(), index.into());
    }
    object.into()
}

/// Text; chunks where there are thoughts too.
fn content(reply: &Reply) -> Value {
    let (text, thoughts) = (reply.whole_text(), reply.whole_reasoning());
    if thoughts.is_empty() {
        return text.into();
    }
    let mut chunks = vec![thinking(&thoughts)];
    if !text.is_empty() {
        chunks.push(json!({"type": "text", "text": text}));
    }
    chunks.into()
}

fn thinking(text: &str) -> Value {
    json!({"type": "thinking", "thinking": [{"type": "text", "text": text}]})
}

fn put_content(message: &mut Map<String, Value>, content: Value, turn: &Turn) {
    let empty = content == "";
    if !(empty && turn.has(Quirk::ContentAbsent)) {
        let null = empty && turn.has(Quirk::ContentNull);
        message.insert("content".to_owned(), if null { Value::Null } else { content });
    }
}

fn chunk(delta: &Value, finish: Option<&str>, turn: &Turn) -> Value {
    json!({
        "id": id(turn),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": turn.model,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    })
}

fn id(turn: &Turn) -> String {
    format!("cmpl-{}", turn.number)
}

fn finish_word(finish: &Finish) -> String {
    match finish {
        Finish::Stop => "stop".to_owned(),
        Finish::Calls => "tool_calls".to_owned(),
        Finish::Length => "length".to_owned(),
        // It has no word for its filters.
        Finish::ContentFilter => "error".to_owned(),
        Finish::Other(word) => word.clone(),
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "total_tokens": usage.total(),
        "completion_tokens": usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    })
}
