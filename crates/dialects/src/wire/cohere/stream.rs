//! Events of Cohere's chat, version 2.

use serde_json::Value;

use crate::wire::Members as _;
use crate::wire::stream::{Key, Outcome, State, StreamEvent, call_at};

pub(super) fn push(state: &mut State, event: &Value, out: &mut Vec<StreamEvent>) {
    let at = |path: &str| event.pointer("/delta/message")?.pointer(path);
    let text_at = |path: &str| at(path).and_then(Value::as_str).unwrap_or_default();
    let index = Key::Index(event.get("index").and_then(Value::as_u64).unwrap_or_default());
    match event.text("type").unwrap_or_default() {
        "content-start" | "content-delta" => {
            State::reasoning(text_at("/content/thinking"), out);
            state.text(text_at("/content/text"), out);
        }
        "tool-plan-delta" => State::reasoning(text_at("/tool_plan"), out),
        "tool-call-start" => {
            let (id, name) = (text_at("/tool_calls/id"), text_at("/tool_calls/function/name"));
            if let Some(open) = state.begin(index, Some(id), Some(name), out) {
                open.arguments.add(at("/tool_calls/function/arguments"));
            }
        }
        "tool-call-delta" => {
            if let Some(open) = call_at(&mut state.open, &index).filter(|open| !open.given()) {
                open.arguments.add(at("/tool_calls/function/arguments"));
            }
        }
        "tool-call-end" => {
            if let Some(call) = call_at(&mut state.open, &index) {
                out.extend(call.give(Outcome::Complete, &mut state.ids));
            }
        }
        "message-end" => {
            State::stop(event.pointer("/delta/finish_reason"), out);
            state.usage(event.pointer("/delta/usage/tokens"), "input_tokens", "output_tokens");
        }
        _ => {}
    }
}
