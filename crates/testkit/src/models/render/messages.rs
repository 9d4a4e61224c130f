//! Anthropic Messages.

use serde_json::{Map, Value, json};

use super::fragments::{FragmentStep, fragments};
use super::{Frame, FrameKind, Turn};
use crate::models::delivery::Quirk;
use crate::models::reply::{Call, Finish, Part, Reply, Usage};

pub(super) fn whole(reply: &Reply, turn: &Turn) -> Value {
    let blocks = reply.parts.iter().map(|part| match part {
        Part::Reasoning { text, signature } => {
            json!({"type": "thinking", "thinking": text, "signature": signature.as_deref().unwrap_or_default()})
        }
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Call(call) => tool_use(call, &call.arguments.json()),
    });
    let content: Value = blocks.collect();
    let mut answer = json!({
        "id": format!("msg_{}", turn.number),
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": content,
        "stop_reason": stop_reason(&reply.finish_reason()),
        "stop_sequence": null,
    });
    if !turn.has(Quirk::NoUsage) {
        answer["usage"] = usage(reply.usage, reply.usage.output);
    }
    answer
}

pub(super) fn stream(reply: &Reply, turn: &Turn) -> Vec<Frame> {
    let mut opening = json!({
        "id": format!("msg_{}", turn.number),
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
    });
    if !turn.has(Quirk::NoUsage) {
        opening["usage"] = usage(reply.usage, 1);
    }
    let mut frames =
        vec![Frame::typed(FrameKind::Opening, &json!({"type": "message_start", "message": opening}))];
    for fragment in fragments(reply, &turn.delivery) {
        let index = fragment.part;
        let Some(part) = reply.parts.get(index) else { continue };
        let first = frames.len() == 1;
        block_frames(index, part, fragment.step, &mut frames);
        if first {
            frames.push(Frame::typed(FrameKind::Around, &json!({"type": "ping"})));
        }
    }
    let reason = stop_reason(&reply.finish_reason());
    let mut finish =
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}});
    if !turn.has(Quirk::NoUsage) {
        finish["usage"] = json!({"output_tokens": reply.usage.output});
    }
    frames.push(Frame::typed(FrameKind::Finish, &finish));
    frames.push(Frame::typed(FrameKind::Finish, &json!({"type": "message_stop"})));
    frames
}

fn block_frames(index: usize, part: &Part, step: FragmentStep, frames: &mut Vec<Frame>) {
    let mut push = |kind, value: Value| frames.push(Frame::typed(kind, &value));
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    match (part, step) {
        (_, FragmentStep::Start) => {
            let block = match part {
                Part::Reasoning { .. } => json!({"type": "thinking", "thinking": "", "signature": ""}),
                Part::Text(_) => json!({"type": "text", "text": ""}),
                Part::Call(call) => tool_use(call, &json!({})),
            };
            push(
                FrameKind::Around,
                json!({"type": "content_block_start", "index": index, "content_block": block}),
            );
            if matches!(part, Part::Call(_)) {
                // The first piece of every call is empty.
                push(FrameKind::Around, delta(json!({"type": "input_json_delta", "partial_json": ""})));
            }
        }
        (Part::Reasoning { .. }, FragmentStep::Piece(text)) => {
            push(FrameKind::Content, delta(json!({"type": "thinking_delta", "thinking": text})));
        }
        (Part::Text(_), FragmentStep::Piece(text)) => {
            push(FrameKind::Content, delta(json!({"type": "text_delta", "text": text})));
        }
        (Part::Call(_), FragmentStep::Piece(piece)) => {
            push(FrameKind::Arguments, delta(json!({"type": "input_json_delta", "partial_json": piece})));
        }
        (_, FragmentStep::End) => {
            if let Part::Reasoning { signature: Some(signature), .. } = part {
                push(FrameKind::Around, delta(json!({"type": "signature_delta", "signature": signature})));
            }
            push(FrameKind::Around, json!({"type": "content_block_stop", "index": index}));
        }
    }
}

fn tool_use(call: &Call, input: &Value) -> Value {
    let mut block = Map::new();
    block.insert("type".to_owned(), "tool_use".into());
    if let Some(id) = &call.id {
        block.insert("id".to_owned(), id.as_str().into());
    }
    block.insert("name".to_owned(), call.name.as_str().into());
    block.insert("input".to_owned(), input.clone());
    block.into()
}

fn stop_reason(finish: &Finish) -> String {
    match finish {
        Finish::Stop => "end_turn".to_owned(),
        Finish::Calls => "tool_use".to_owned(),
        Finish::Length => "max_tokens".to_owned(),
        Finish::ContentFilter => "refusal".to_owned(),
        Finish::Other(word) => word.clone(),
    }
}

/// Cached tokens are counted beside the others here, not among them.
fn usage(usage: Usage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input.saturating_sub(usage.cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": output,
    })
}
