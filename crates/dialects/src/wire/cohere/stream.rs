//! Events of Cohere's chat, version 2.

use serde_json::Value;

use crate::wire::stream::{Key, OpenCall, Outcome, State, StreamEvent};

pub(super) fn push(state: &mut State, event: &Value, out: &mut Vec<StreamEvent>) {
    let message = event.pointer("/delta/message");
    let text_at =
        |path: &str| message.and_then(|message| message.pointer(path)?.as_str()).unwrap_or_default();
    let index = Key::Index(event.get("index").and_then(Value::as_u64).unwrap_or_default());
    match event.get("type").and_then(Value::as_str).unwrap_or_default() {
        "content-start" | "content-delta" => {
            State::reasoning(text_at("/content/thinking"), out);
            state.text(text_at("/content/text"), out);
        }
        "tool-plan-delta" => State::reasoning(text_at("/tool_plan"), out),
        "tool-call-start" if state.admit(out) => {
            let mut call = OpenCall::new(index, state.options.argument_limit);
            call.set_id(Some(text_at("/tool_calls/id")));
            call.set_name(Some(text_at("/tool_calls/function/name")));
            call.arguments.add(message.and_then(|message| message.pointer("/tool_calls/function/arguments")));
            state.open.push(call);
        }
        "tool-call-delta" => {
            if let Some(call) = state.open.get(&index).filter(|call| !call.given()) {
                call.arguments
                    .add(message.and_then(|message| message.pointer("/tool_calls/function/arguments")));
            }
        }
        "tool-call-end" => {
            if let Some(call) = state.open.get(&index) {
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
