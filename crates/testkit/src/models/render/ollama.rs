//! Ollama's own chat API.

use serde_json::{Map, Value, json};

use super::fragments::{FragmentStep, fragments};
use super::{CREATED_TEXT, Frame, FrameKind, Turn};
use crate::models::delivery::Quirk;
use crate::models::reply::{Call, Finish, Part, Reply};

pub(super) fn whole(reply: &Reply, turn: &Turn) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    put_content(&mut message, &reply.whole_text(), turn);
    let thinking = reply.whole_reasoning();
    if !thinking.is_empty() {
        message.insert("thinking".to_owned(), thinking.into());
    }
    let calls: Vec<Value> = reply.calls().map(tool_call).collect();
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), calls.into());
    }
    last(&message.into(), reply, turn)
}

pub(super) fn stream(reply: &Reply, turn: &Turn) -> Vec<Frame> {
    let mut frames = Vec::new();
    for fragment in fragments(reply, &turn.delivery) {
        let Some(part) = reply.parts.get(fragment.part) else { continue };
        let (kind, message) = match (part, fragment.step) {
            (Part::Text(_), FragmentStep::Piece(text)) => {
                (FrameKind::Content, json!({"role": "assistant", "content": text}))
            }
            (Part::Reasoning { .. }, FragmentStep::Piece(text)) => {
                (FrameKind::Content, json!({"role": "assistant", "content": "", "thinking": text}))
            }
            (Part::Call(call), FragmentStep::Start) => {
                let mut message = Map::new();
                message.insert("role".to_owned(), "assistant".into());
                put_content(&mut message, "", turn);
                message.insert("tool_calls".to_owned(), json!([tool_call(call)]));
                (FrameKind::Arguments, message.into())
            }
            _ => continue,
        };
        let line =
            json!({"model": turn.model, "created_at": CREATED_TEXT, "message": message, "done": false});
        frames.push(Frame::new(kind, &line));
    }
    let empty = json!({"role": "assistant", "content": ""});
    frames.push(Frame::new(FrameKind::Finish, &last(&empty, reply, turn)));
    frames
}

fn put_content(message: &mut Map<String, Value>, text: &str, turn: &Turn) {
    if text.is_empty() && turn.has(Quirk::ContentAbsent) {
        return;
    }
    let null = text.is_empty() && turn.has(Quirk::ContentNull);
    message.insert("content".to_owned(), if null { Value::Null } else { text.into() });
}

fn tool_call(call: &Call) -> Value {
    let mut object = Map::new();
    if let Some(id) = &call.id {
        object.insert("id".to_owned(), id.as_str().into());
    }
    object.insert("function".to_owned(), json!({"name": call.name, "arguments": call.arguments.json()}));
    object.into()
}

/// The line with the figures, which is also the whole answer.
fn last(message: &Value, reply: &Reply, turn: &Turn) -> Value {
    let reason = match reply.finish_reason() {
        // A plain end, also with calls.
        Finish::Stop | Finish::Calls | Finish::ContentFilter => "stop".to_owned(),
        Finish::Length => "length".to_owned(),
        Finish::Other(word) => word,
    };
    let mut line = json!({
        "model": turn.model,
        "created_at": CREATED_TEXT,
        "message": message,
        "done": true,
        "done_reason": reason,
        "total_duration": 4_883_583_458_u64,
        "load_duration": 1_334_875_u64,
    });
    if !turn.has(Quirk::NoUsage) {
        line["prompt_eval_count"] = reply.usage.input.into();
        line["prompt_eval_duration"] = 342_546_000_u64.into();
        line["eval_count"] = reply.usage.output.into();
        line["eval_duration"] = 4_535_599_000_u64.into();
    }
    line
}
