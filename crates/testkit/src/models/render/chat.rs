//! Chat Completions, with tools or with functions.

use serde_json::{Map, Value, json};

use super::fragments::{FragmentStep, arguments, call_index, fragments, is_whole};
use super::{CREATED, Frame, FrameKind, Turn};
use crate::models::delivery::{Delivery, Quirk};
use crate::models::reply::{Call, Finish, Part, Reply, Usage};
use crate::models::wire::{Form, Wire};

pub(super) fn whole(reply: &Reply, turn: &Turn) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    let empty = if turn.wire == Wire::Ollama { "".into() } else { Value::Null };
    put_content(&mut message, &reply.whole_text(), empty, turn);
    let reasoning = reply.whole_reasoning();
    if !reasoning.is_empty() {
        message.insert(reasoning_member(turn).to_owned(), reasoning.into());
    }
    if turn.wire != Wire::Ollama {
        message.insert("refusal".to_owned(), Value::Null);
    }
    if turn.form == Form::Functions {
        if let Some(call) = reply.calls().next() {
            message.insert("function_call".to_owned(), function(call, turn));
        }
    } else {
        let calls: Vec<Value> = reply.calls().map(|call| tool_call(call, turn)).collect();
        if !calls.is_empty() {
            message.insert("tool_calls".to_owned(), calls.into());
        }
    }
    let mut choice = json!({
        "index": 0,
        "message": message,
        "logprobs": null,
        "finish_reason": finish_word(&reply.finish_reason(), turn.form),
    });
    let mut answer = json!({
        "id": id(turn),
        "object": "chat.completion",
        "created": CREATED,
        "model": turn.model,
        "system_fingerprint": fingerprint(turn),
    });
    if turn.wire == Wire::Dial {
        choice["content_filter_results"] = json!({});
        answer["prompt_filter_results"] = json!([{"prompt_index": 0, "content_filter_results": {}}]);
    }
    answer["choices"] = json!([choice]);
    if !turn.has(Quirk::NoUsage) {
        answer["usage"] = usage(reply.usage);
    }
    answer
}

pub(super) fn stream(reply: &Reply, turn: &Turn) -> Vec<Frame> {
    let mut frames = Vec::new();
    if turn.wire == Wire::Dial {
        // Azure first says what its filters think of the prompt, in a chunk without choices.
        let filters = json!([{"prompt_index": 0, "content_filter_results": {}}]);
        let first = json!({"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": filters});
        frames.push(Frame::new(FrameKind::Opening, &first));
    }
    let mut opening = Map::new();
    opening.insert("role".to_owned(), "assistant".into());
    let says = !reply.whole_text().is_empty() || turn.wire == Wire::Ollama;
    put_content(&mut opening, "", if says { "".into() } else { Value::Null }, turn);
    frames.push(Frame::new(FrameKind::Opening, &chunk(&opening.into(), None, turn)));
    for (kind, delta) in deltas(reply, turn) {
        frames.push(Frame::new(kind, &chunk(&delta, None, turn)));
    }
    let reason = finish_word(&reply.finish_reason(), turn.form);
    let mut finish = chunk(&json!({}), Some(&reason), turn);
    let wanted = (turn.include_usage || turn.has(Quirk::UsageUnasked)) && !turn.has(Quirk::NoUsage);
    let with_finish = turn.has(Quirk::UsageWithFinish) && !turn.has(Quirk::NoUsage);
    if with_finish {
        finish["usage"] = usage(reply.usage);
    }
    frames.push(Frame::new(FrameKind::Finish, &finish));
    if wanted && !with_finish {
        let mut last = chunk(&Value::Null, None, turn);
        last["choices"] = json!([]);
        last["usage"] = usage(reply.usage);
        frames.push(Frame::new(FrameKind::Finish, &last));
    }
    frames.push(Frame { event: None, data: "[DONE]".to_owned(), kind: FrameKind::Done });
    frames
}

fn deltas(reply: &Reply, turn: &Turn) -> Vec<(FrameKind, Value)> {
    // Ollama parses a call from text that is complete by then.
    let delivery = if turn.wire == Wire::Ollama {
        &turn.delivery.clone().with(Quirk::WholeArguments)
    } else {
        &turn.delivery
    };
    let mut all = Vec::new();
    for fragment in fragments(reply, delivery) {
        let Some(part) = reply.parts.get(fragment.part) else { continue };
        let delta = match (part, fragment.step) {
            (Part::Text(_), FragmentStep::Piece(text)) => (FrameKind::Content, json!({"content": text})),
            (Part::Reasoning { .. }, FragmentStep::Piece(text)) => {
                (FrameKind::Content, json!({reasoning_member(turn): text}))
            }
            (Part::Call(call), FragmentStep::Start) => {
                let kind = if is_whole(delivery) { FrameKind::Arguments } else { FrameKind::Around };
                let Some(delta) = first_piece(reply, fragment.part, call, delivery, turn) else { continue };
                (kind, delta)
            }
            (Part::Call(call), FragmentStep::Piece(piece)) if !is_whole(delivery) => {
                let Some(delta) = later_piece(reply, fragment.part, call, &piece, turn) else { continue };
                (FrameKind::Arguments, delta)
            }
            _ => continue,
        };
        all.push(delta);
    }
    all
}

/// The fragment that begins a call; `None` for a second call of a form that has one.
fn first_piece(reply: &Reply, part: usize, call: &Call, delivery: &Delivery, turn: &Turn) -> Option<Value> {
    let index = call_index(reply, part);
    let mut function = json!({"name": call.name});
    if is_whole(delivery) {
        function["arguments"] = arguments(&call.arguments, delivery);
    } else if !turn.has(Quirk::NameOnlyInFirst) {
        function["arguments"] = "".into();
    }
    if turn.form == Form::Functions {
        return (index == 0).then(|| json!({"function_call": function}));
    }
    let mut fragment = indexed(index, turn);
    if let Some(id) = &call.id {
        fragment.insert("id".to_owned(), id.as_str().into());
    }
    fragment.insert("type".to_owned(), "function".into());
    fragment.insert("function".to_owned(), function);
    put_signature(&mut fragment, call);
    Some(json!({"tool_calls": [fragment]}))
}

fn later_piece(reply: &Reply, part: usize, call: &Call, piece: &str, turn: &Turn) -> Option<Value> {
    let index = call_index(reply, part);
    let mut function = Map::new();
    if turn.has(Quirk::NameRepeated) {
        function.insert("name".to_owned(), call.name.as_str().into());
    }
    function.insert("arguments".to_owned(), piece.into());
    if turn.form == Form::Functions {
        return (index == 0).then(|| json!({"function_call": function}));
    }
    let mut fragment = indexed(index, turn);
    if let Some(id) = call.id.as_ref().filter(|_| turn.has(Quirk::IdRepeated)) {
        fragment.insert("id".to_owned(), id.as_str().into());
    }
    fragment.insert("function".to_owned(), function.into());
    Some(json!({"tool_calls": [fragment]}))
}

fn indexed(index: usize, turn: &Turn) -> Map<String, Value> {
    let mut fragment = Map::new();
    if !turn.has(Quirk::NoIndex) {
        fragment.insert("index".to_owned(), index.into());
    }
    fragment
}

/// Where Gemini's compatible route has the signature of a call.
fn put_signature(call: &mut Map<String, Value>, of: &Call) {
    if let Some(signature) = &of.signature {
        call.insert("extra_content".to_owned(), json!({"google": {"thought_signature": signature}}));
    }
}

pub(super) fn tool_call(call: &Call, turn: &Turn) -> Value {
    let mut object = Map::new();
    if let Some(id) = &call.id {
        object.insert("id".to_owned(), id.as_str().into());
    }
    object.insert("type".to_owned(), "function".into());
    object.insert("function".to_owned(), function(call, turn));
    put_signature(&mut object, call);
    object.into()
}

fn function(call: &Call, turn: &Turn) -> Value {
    json!({"name": call.name, "arguments": arguments(&call.arguments, &turn.delivery)})
}

/// Content of a message that may have none: then it is what `OpenAI` sends, unless a habit says otherwise.
fn put_content(message: &mut Map<String, Value>, text: &str, empty: Value, turn: &Turn) {
    if !text.is_empty() {
        message.insert("content".to_owned(), text.into());
    } else if !turn.has(Quirk::ContentAbsent) {
        let value = if turn.has(Quirk::ContentNull) { Value::Null } else { empty };
        message.insert("content".to_owned(), value);
    }
}

/// Where thoughts are. There is no standard: `DeepSeek` began with one name, others have the other.
fn reasoning_member(turn: &Turn) -> &'static str {
    let plain = turn.wire == Wire::Ollama || turn.has(Quirk::Reasoning);
    if plain && !turn.has(Quirk::ReasoningContent) { "reasoning" } else { "reasoning_content" }
}

fn chunk(delta: &Value, finish: Option<&str>, turn: &Turn) -> Value {
    let mut chunk = json!({
        "id": id(turn),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": turn.model,
        "system_fingerprint": fingerprint(turn),
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
    });
    // With usage asked for, every chunk but the last has none.
    if turn.include_usage && !turn.has(Quirk::NoUsage) {
        chunk["usage"] = Value::Null;
    }
    chunk
}

fn id(turn: &Turn) -> String {
    format!("chatcmpl-{}", turn.number)
}

fn fingerprint(turn: &Turn) -> &'static str {
    if turn.wire == Wire::Ollama { "fp_ollama" } else { "fp_1" }
}

fn finish_word(finish: &Finish, form: Form) -> String {
    match finish {
        Finish::Stop => "stop".to_owned(),
        Finish::Calls if form == Form::Functions => "function_call".to_owned(),
        Finish::Calls => "tool_calls".to_owned(),
        Finish::Length => "length".to_owned(),
        Finish::ContentFilter => "content_filter".to_owned(),
        Finish::Other(word) => word.clone(),
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}
