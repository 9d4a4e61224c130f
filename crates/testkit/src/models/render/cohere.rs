//! Cohere's chat API, version 2. What it says before calls is its plan.

use serde_json::{Map, Value, json};

use super::fragments::{FragmentStep, call_index, fragments};
use super::{Frame, FrameKind, Turn};
use crate::models::delivery::Quirk;
use crate::models::reply::{Call, Finish, Part, Reply, Usage};

pub(super) fn whole(reply: &Reply, turn: &Turn) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    let calls: Vec<Value> = reply.calls().map(|call| tool_call(call, &call.arguments.text())).collect();
    let blocks = reply.parts.iter().filter_map(|part| match part {
        Part::Reasoning { text, .. } => Some(json!({"type": "thinking", "thinking": text})),
        Part::Text(text) if !is_plan(reply) => Some(json!({"type": "text", "text": text})),
        Part::Text(_) | Part::Call(_) => None,
    });
    let content: Vec<Value> = blocks.collect();
    if !calls.is_empty() {
        if is_plan(reply) {
            message.insert("tool_plan".to_owned(), reply.whole_text().into());
        }
        message.insert("tool_calls".to_owned(), calls.into());
    }
    if !content.is_empty() {
        message.insert("content".to_owned(), content.into());
    }
    let mut answer =
        json!({"id": id(turn), "message": message, "finish_reason": finish_word(&reply.finish_reason())});
    if !turn.has(Quirk::NoUsage) {
        answer["usage"] = usage(reply.usage);
    }
    answer
}

pub(super) fn stream(reply: &Reply, turn: &Turn) -> Vec<Frame> {
    let empty =
        json!({"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []});
    let start = json!({"id": id(turn), "type": "message-start", "delta": {"message": empty}});
    let mut frames = vec![Frame::typed(FrameKind::Opening, &start)];
    for fragment in fragments(reply, &turn.delivery) {
        let Some(part) = reply.parts.get(fragment.part) else { continue };
        match part {
            Part::Call(call) => {
                call_frames(call_index(reply, fragment.part), call, fragment.step, &mut frames);
            }
            Part::Text(_) if is_plan(reply) => {
                if let FragmentStep::Piece(text) = fragment.step {
                    let delta = message(&json!({"tool_plan": text}));
                    let event = json!({"type": "tool-plan-delta", "delta": delta});
                    frames.push(Frame::typed(FrameKind::Content, &event));
                }
            }
            Part::Text(_) => {
                content_frames(content_index(reply, fragment.part), "text", fragment.step, &mut frames);
            }
            Part::Reasoning { .. } => {
                content_frames(content_index(reply, fragment.part), "thinking", fragment.step, &mut frames);
            }
        }
    }
    let mut delta = json!({"finish_reason": finish_word(&reply.finish_reason())});
    if !turn.has(Quirk::NoUsage) {
        delta["usage"] = usage(reply.usage);
    }
    frames.push(Frame::typed(
        FrameKind::Finish,
        &json!({"id": id(turn), "type": "message-end", "delta": delta}),
    ));
    frames.push(Frame { event: None, data: "[DONE]".to_owned(), kind: FrameKind::Done });
    frames
}

fn content_frames(index: usize, kind: &str, step: FragmentStep, frames: &mut Vec<Frame>) {
    let (frame, event) = match step {
        FragmentStep::Start => {
            let delta = message(&json!({"content": {"type": kind, kind: ""}}));
            (FrameKind::Around, json!({"type": "content-start", "index": index, "delta": delta}))
        }
        FragmentStep::Piece(text) => {
            let delta = message(&json!({"content": {kind: text}}));
            (FrameKind::Content, json!({"type": "content-delta", "index": index, "delta": delta}))
        }
        FragmentStep::End => (FrameKind::Around, json!({"type": "content-end", "index": index})),
    };
    frames.push(Frame::typed(frame, &event));
}

fn call_frames(index: usize, call: &Call, step: FragmentStep, frames: &mut Vec<Frame>) {
    let (frame, event) = match step {
        FragmentStep::Start => {
            let delta = message(&json!({"tool_calls": tool_call(call, "")}));
            (FrameKind::Around, json!({"type": "tool-call-start", "index": index, "delta": delta}))
        }
        FragmentStep::Piece(piece) => {
            let delta = message(&json!({"tool_calls": {"function": {"arguments": piece}}}));
            (FrameKind::Arguments, json!({"type": "tool-call-delta", "index": index, "delta": delta}))
        }
        FragmentStep::End => (FrameKind::Around, json!({"type": "tool-call-end", "index": index})),
    };
    frames.push(Frame::typed(frame, &event));
}

fn message(members: &Value) -> Value {
    json!({"message": members})
}

fn is_plan(reply: &Reply) -> bool {
    reply.calls().next().is_some() && !reply.whole_text().is_empty()
}

/// The position of a block among the blocks of the content.
fn content_index(reply: &Reply, part: usize) -> usize {
    let is_block = |part: &&Part| match part {
        Part::Reasoning { .. } => true,
        Part::Text(_) => !is_plan(reply),
        Part::Call(_) => false,
    };
    reply.parts.iter().take(part).filter(is_block).count()
}

fn tool_call(call: &Call, arguments: &str) -> Value {
    let mut object = Map::new();
    if let Some(id) = &call.id {
        object.insert("id".to_owned(), id.as_str().into());
    }
    object.insert("type".to_owned(), "function".into());
    object.insert("function".to_owned(), json!({"name": call.name, "arguments": arguments}));
    object.into()
}

fn id(turn: &Turn) -> String {
    format!("c14c80c3-18eb-4519-9460-{:012}", turn.number)
}

fn finish_word(finish: &Finish) -> String {
    match finish {
        Finish::Stop => "COMPLETE".to_owned(),
        Finish::Calls => "TOOL_CALL".to_owned(),
        Finish::Length => "MAX_TOKENS".to_owned(),
        Finish::ContentFilter => "ERROR".to_owned(),
        Finish::Other(word) => word.clone(),
    }
}

fn usage(usage: Usage) -> Value {
    let tokens = json!({"input_tokens": usage.input, "output_tokens": usage.output});
    json!({"billed_units": tokens, "tokens": tokens, "cached_tokens": usage.cached})
}
