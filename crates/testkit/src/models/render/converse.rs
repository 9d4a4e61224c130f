//! Converse and `ConverseStream` of Amazon Bedrock.

use serde_json::{Map, Value, json};

use super::fragments::{FragmentStep, fragments};
use super::{Frame, FrameKind, Turn};
use crate::models::delivery::Quirk;
use crate::models::reply::{Call, Finish, Part, Reply, Usage};

pub(super) fn whole(reply: &Reply, turn: &Turn) -> Value {
    let blocks = reply.parts.iter().map(|part| match part {
        Part::Reasoning { text, signature } => {
            let mut thoughts = json!({"text": text});
            if let Some(signature) = signature {
                thoughts["signature"] = signature.as_str().into();
            }
            json!({"reasoningContent": {"reasoningText": thoughts}})
        }
        Part::Text(text) => json!({"text": text}),
        Part::Call(call) => {
            let mut block = tool_use(call);
            block.insert("input".to_owned(), call.arguments.json());
            json!({"toolUse": block})
        }
    });
    let content: Value = blocks.collect();
    let mut answer = json!({
        "metrics": {"latencyMs": 700},
        "output": {"message": {"content": content, "role": "assistant"}},
        "stopReason": stop_reason(&reply.finish_reason()),
    });
    if !turn.has(Quirk::NoUsage) {
        answer["usage"] = usage(reply.usage);
    }
    answer
}

pub(super) fn stream(reply: &Reply, turn: &Turn) -> Vec<Frame> {
    let start = json!({"p": "abcdef", "role": "assistant"});
    let mut frames = vec![Frame::named(FrameKind::Opening, "messageStart", &start)];
    for fragment in fragments(reply, &turn.delivery) {
        let Some(part) = reply.parts.get(fragment.part) else { continue };
        block_frames(fragment.part, part, fragment.step, &mut frames);
    }
    let stop = json!({"p": "abc", "stopReason": stop_reason(&reply.finish_reason())});
    frames.push(Frame::named(FrameKind::Finish, "messageStop", &stop));
    let mut metadata = json!({"metrics": {"latencyMs": 700}, "p": "abcdefgh"});
    if !turn.has(Quirk::NoUsage) {
        metadata["usage"] = usage(reply.usage);
    }
    frames.push(Frame::named(FrameKind::Finish, "metadata", &metadata));
    frames
}

fn block_frames(index: usize, part: &Part, step: FragmentStep, frames: &mut Vec<Frame>) {
    let mut push = |kind, event, mut members: Value| {
        members["contentBlockIndex"] = index.into();
        // Padding, so that the length of a message says nothing about its text.
        members["p"] = "abcd".into();
        frames.push(Frame::named(kind, event, &members));
    };
    let delta = |delta: Value| json!({"delta": delta});
    match (part, step) {
        // Only calls announce themselves.
        (Part::Call(call), FragmentStep::Start) => {
            push(FrameKind::Around, "contentBlockStart", json!({"start": {"toolUse": tool_use(call)}}));
        }
        (_, FragmentStep::Start) => {}
        (Part::Text(_), FragmentStep::Piece(text)) => {
            push(FrameKind::Content, "contentBlockDelta", delta(json!({"text": text})));
        }
        (Part::Reasoning { .. }, FragmentStep::Piece(text)) => {
            push(FrameKind::Content, "contentBlockDelta", delta(json!({"reasoningContent": {"text": text}})));
        }
        (Part::Call(_), FragmentStep::Piece(piece)) => {
            push(FrameKind::Arguments, "contentBlockDelta", delta(json!({"toolUse": {"input": piece}})));
        }
        (_, FragmentStep::End) => {
            if let Part::Reasoning { signature: Some(signature), .. } = part {
                let signed = delta(json!({"reasoningContent": {"signature": signature}}));
                push(FrameKind::Around, "contentBlockDelta", signed);
            }
            push(FrameKind::Around, "contentBlockStop", json!({}));
        }
    }
}

fn tool_use(call: &Call) -> Map<String, Value> {
    let mut block = Map::new();
    if let Some(id) = &call.id {
        block.insert("toolUseId".to_owned(), id.as_str().into());
    }
    block.insert("name".to_owned(), call.name.as_str().into());
    block
}

fn stop_reason(finish: &Finish) -> String {
    match finish {
        Finish::Stop => "end_turn".to_owned(),
        Finish::Calls => "tool_use".to_owned(),
        Finish::Length => "max_tokens".to_owned(),
        Finish::ContentFilter => "content_filtered".to_owned(),
        Finish::Other(word) => word.clone(),
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "cacheReadInputTokens": usage.cached,
        "cacheWriteInputTokens": 0,
        "inputTokens": usage.input.saturating_sub(usage.cached),
        "outputTokens": usage.output,
        "totalTokens": usage.total(),
    })
}
