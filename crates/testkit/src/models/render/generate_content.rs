//! Gemini's `generateContent`.

use serde_json::{Map, Value, json};

use super::fragments::{FragmentStep, fragments};
use super::{Frame, FrameKind, Turn};
use crate::models::delivery::Quirk;
use crate::models::reply::{Call, Finish, Part, Reply, Usage};

pub(super) fn whole(reply: &Reply, turn: &Turn) -> Value {
    let parts = reply.parts.iter().enumerate().map(|(index, part)| match part {
        Part::Reasoning { text, .. } => json!({"text": text, "thought": true}),
        Part::Text(text) => signed(json!({"text": text}), signature(reply, index)),
        Part::Call(call) => signed(json!({"functionCall": function_call(call)}), signature(reply, index)),
    });
    let content = json!({"parts": parts.collect::<Value>(), "role": "model"});
    let finish = finish_reason(&reply.finish_reason());
    let candidate = json!({"content": content, "finishReason": finish, "index": 0});
    answer(&candidate, (!turn.has(Quirk::NoUsage)).then(|| usage(reply.usage)), turn)
}

/// Every chunk is a whole answer with some of the parts; calls are not cut.
pub(super) fn stream(reply: &Reply, turn: &Turn) -> Vec<Frame> {
    let mut frames = Vec::new();
    let so_far = json!({"promptTokenCount": reply.usage.input, "totalTokenCount": reply.usage.input});
    let mut push = |kind, part: Value| {
        let candidate = json!({"content": {"parts": [part], "role": "model"}, "index": 0});
        let usage = (!turn.has(Quirk::NoUsage)).then(|| so_far.clone());
        frames.push(Frame::new(kind, &answer(&candidate, usage, turn)));
    };
    for fragment in fragments(reply, &turn.delivery) {
        let Some(part) = reply.parts.get(fragment.part) else { continue };
        match (part, fragment.step) {
            (Part::Text(_), FragmentStep::Piece(text)) => push(FrameKind::Content, json!({"text": text})),
            (Part::Reasoning { .. }, FragmentStep::Piece(text)) => {
                push(FrameKind::Content, json!({"text": text, "thought": true}));
            }
            (Part::Call(call), FragmentStep::Start) => {
                let call = json!({"functionCall": function_call(call)});
                push(FrameKind::Arguments, signed(call, signature(reply, fragment.part)));
            }
            (Part::Text(_), FragmentStep::End) => {
                // The signature of a text follows it, in a part of its own.
                if let Some(text) = signature(reply, fragment.part) {
                    push(FrameKind::Content, signed(json!({"text": ""}), Some(text)));
                }
            }
            _ => {}
        }
    }
    let content = json!({"parts": [{"text": ""}], "role": "model"});
    let finish = finish_reason(&reply.finish_reason());
    let candidate = json!({"content": content, "finishReason": finish, "index": 0});
    let usage = (!turn.has(Quirk::NoUsage)).then(|| usage(reply.usage));
    frames.push(Frame::new(FrameKind::Finish, &answer(&candidate, usage, turn)));
    frames
}

/// The signature that a part carries: its own, or that of the thoughts right before it.
fn signature(reply: &Reply, part: usize) -> Option<&str> {
    let own = match reply.parts.get(part) {
        Some(Part::Call(call)) => call.signature.as_deref(),
        _ => None,
    };
    let before = || match reply.parts.get(part.checked_sub(1)?) {
        Some(Part::Reasoning { signature, .. }) => signature.as_deref(),
        _ => None,
    };
    own.or_else(before)
}

fn signed(mut part: Value, signature: Option<&str>) -> Value {
    if let Some(signature) = signature {
        part["thoughtSignature"] = signature.into();
    }
    part
}

fn function_call(call: &Call) -> Value {
    let mut object = Map::new();
    if let Some(id) = &call.id {
        object.insert("id".to_owned(), id.as_str().into());
    }
    object.insert("name".to_owned(), call.name.as_str().into());
    object.insert("args".to_owned(), call.arguments.json());
    object.into()
}

fn answer(candidate: &Value, usage: Option<Value>, turn: &Turn) -> Value {
    let mut answer = json!({"candidates": [candidate]});
    if let Some(usage) = usage {
        answer["usageMetadata"] = usage;
    }
    answer["modelVersion"] = turn.model.as_str().into();
    answer["responseId"] = format!("r{}", turn.number).into();
    answer
}

/// A turn with calls ends like any other.
fn finish_reason(finish: &Finish) -> String {
    match finish {
        Finish::Stop | Finish::Calls => "STOP".to_owned(),
        Finish::Length => "MAX_TOKENS".to_owned(),
        Finish::ContentFilter => "SAFETY".to_owned(),
        Finish::Other(word) => word.clone(),
    }
}

/// Thoughts are counted beside the candidates' tokens here, and only named if there are any.
fn usage(usage: Usage) -> Value {
    let mut object = json!({
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output.saturating_sub(usage.reasoning),
        "totalTokenCount": usage.total(),
    });
    if usage.cached > 0 {
        object["cachedContentTokenCount"] = usage.cached.into();
    }
    if usage.reasoning > 0 {
        object["thoughtsTokenCount"] = usage.reasoning.into();
    }
    object
}
