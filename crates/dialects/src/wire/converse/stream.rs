//! Events of `ConverseStream`.

use serde_json::{Value, json};

use crate::wire::Members as _;
use crate::wire::stream::{Key, State, StreamEvent, call_at};

pub(super) fn push(state: &mut State, event: &Value, out: &mut Vec<StreamEvent>) {
    let index =
        |body: &Value| Key::Index(body.get("contentBlockIndex").and_then(Value::as_u64).unwrap_or_default());
    if let Some(start) = event.get("contentBlockStart")
        && let Some(tool) = start.pointer("/start/toolUse")
    {
        state.begin(index(start), tool.text("toolUseId"), tool.text("name"), out);
    }
    if let Some(body) = event.get("contentBlockDelta") {
        let key = index(body);
        if let Some(delta) = body.get("delta") {
            continue_block(state, key, delta, out);
        }
    }
    if let Some(stop) = event.get("contentBlockStop") {
        let key = index(stop);
        if let Some(block) = state.thought.end(&key) {
            out.push(StreamEvent::ReasoningItem(json!({"reasoningContent": {"reasoningText": block}})));
        } else {
            state.end(&key, out);
        }
    }
    if let Some(stop) = event.get("messageStop") {
        State::stop(stop.get("stopReason"), out);
    }
    state.usage(event.pointer("/metadata/usage"), "inputTokens", "outputTokens");
}

fn continue_block(state: &mut State, key: Key, delta: &Value, out: &mut Vec<StreamEvent>) {
    if let Some(text) = delta.text("text") {
        state.text(text, out);
    }
    if let Some(piece) = delta.pointer("/toolUse/input")
        && let Some(call) = call_at(&mut state.open, &key).filter(|call| !call.given())
    {
        call.arguments.add(Some(piece).filter(|piece| *piece != ""));
    }
    if let Some(thought) = delta.get("reasoningContent") {
        if !state.thought.is_open() {
            state.thought.begin(key, json!({}));
        }
        let at = |name: &str| thought.text(name).unwrap_or_default();
        State::reasoning(at("text"), out);
        state.thought.add("text", at("text"));
        state.thought.add("signature", at("signature"));
    }
}
