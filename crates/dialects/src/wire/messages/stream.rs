//! Events of the Messages API.

use serde_json::Value;

use crate::wire::Members as _;
use crate::wire::stream::{Key, State, StreamEvent, call_at};

pub(super) fn push(state: &mut State, event: &Value, out: &mut Vec<StreamEvent>) {
    let index = Key::Index(event.get("index").and_then(Value::as_u64).unwrap_or_default());
    match event.text("type").unwrap_or_default() {
        "message_start" => {
            state.usage(event.pointer("/message/usage"), "input_tokens", "output_tokens");
        }
        "content_block_start" => {
            if let Some(block) = event.get("content_block") {
                start(state, index, block, out);
            }
        }
        "content_block_delta" => {
            if let Some(delta) = event.get("delta") {
                continue_block(state, &index, delta, out);
            }
        }
        "content_block_stop" => stop(state, &index, out),
        "message_delta" => {
            state.usage(event.get("usage"), "input_tokens", "output_tokens");
            State::stop(event.pointer("/delta/stop_reason"), out);
        }
        "error" => out.push(StreamEvent::Error(event.clone())),
        _ => {}
    }
}

fn start(state: &mut State, index: Key, block: &Value, out: &mut Vec<StreamEvent>) {
    match block.text("type").unwrap_or_default() {
        "tool_use" => {
            let Some(open) = state.begin(index, block.text("id"), block.text("name"), out) else { return };
            // The input of a start is empty, except where the server does not stream it.
            if let Some(input) =
                block.get("input").filter(|input| input.as_object().is_some_and(|map| !map.is_empty()))
            {
                open.arguments.set(input);
            }
            if let Value::Object(members) = block {
                open.keep_others(members, &["type", "id", "name", "input"]);
            }
        }
        "text" => state.text(block.text("text").unwrap_or_default(), out),
        "thinking" => {
            State::reasoning(block.text("thinking").unwrap_or_default(), out);
            state.thought.begin(index, block.clone());
        }
        "redacted_thinking" => out.push(StreamEvent::ReasoningItem(block.clone())),
        _ => {}
    }
}

fn continue_block(state: &mut State, index: &Key, delta: &Value, out: &mut Vec<StreamEvent>) {
    let at = |key: &str| delta.text(key).unwrap_or_default();
    match at("type") {
        "text_delta" => state.text(at("text"), out),
        "input_json_delta" => {
            if let Some(call) = call_at(&mut state.open, index).filter(|call| !call.given()) {
                let piece = at("partial_json");
                if !piece.is_empty() {
                    call.arguments.push(piece);
                }
            }
        }
        "thinking_delta" => {
            State::reasoning(at("thinking"), out);
            state.thought.add("thinking", at("thinking"));
        }
        "signature_delta" => state.thought.add("signature", at("signature")),
        _ => {}
    }
}

fn stop(state: &mut State, index: &Key, out: &mut Vec<StreamEvent>) {
    if let Some(block) = state.thought.end(index) {
        out.push(StreamEvent::ReasoningItem(block));
    } else {
        state.end(index, out);
    }
}
