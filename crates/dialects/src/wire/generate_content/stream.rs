//! Chunks of `streamGenerateContent`: each is a whole response, each call stands whole in it, except where partial
//! arguments were asked for.

use serde_json::{Map, Value};

use crate::wire::Members as _;
use crate::wire::calls::part_signature;
use crate::wire::stream::{Outcome, Partial, State, StreamEvent};

pub(super) fn push(state: &mut State, chunk: &Value, out: &mut Vec<StreamEvent>) {
    state.usage(chunk.get("usageMetadata"), "promptTokenCount", "candidatesTokenCount");
    // Alternatives are not parallel calls.
    let Some(candidate) = chunk.pointer("/candidates/0") else { return };
    let parts = candidate.pointer("/content/parts").and_then(Value::as_array).into_iter().flatten();
    for part in parts.filter_map(Value::as_object) {
        push_part(state, part, out);
    }
    if State::stop(candidate.get("finishReason"), out) {
        state.close_partial(Outcome::Complete, out);
    }
}

fn push_part(state: &mut State, part: &Map<String, Value>, out: &mut Vec<StreamEvent>) {
    let call = part.get("functionCall").or_else(|| part.get("function_call")).and_then(Value::as_object);
    if let Some(call) = call {
        let continued =
            call.contains_key("partialArgs") || call.get("willContinue") == Some(&Value::Bool(true));
        if continued || (state.partial.is_some() && !call.contains_key("name")) {
            push_partial(state, part, call, out);
            return;
        }
        state.read_whole(part, out);
        return;
    }
    let text = part.text("text").unwrap_or_default();
    if part.get("thought") == Some(&Value::Bool(true)) {
        State::reasoning(text, out);
    } else {
        state.text(text, out);
    }
    out.extend(part_signature(part).map(StreamEvent::Signature));
}

fn push_partial(
    state: &mut State,
    part: &Map<String, Value>,
    call: &Map<String, Value>,
    out: &mut Vec<StreamEvent>,
) {
    let name = call.text("name");
    if name.is_some_and(|name| state.partial.as_ref().is_some_and(|open| open.call.call.name != name)) {
        state.close_partial(Outcome::Complete, out);
    }
    state.native(out);
    let limit = state.options.argument_limit;
    let partial = state.partial.get_or_insert_with(|| Partial::new(limit));
    partial.call.set_id(call.text("id"));
    partial.call.set_name(name);
    let call_so_far = &mut partial.call.call;
    call_so_far.signature = part_signature(part).or(call_so_far.signature.take());
    for piece in call.list("partialArgs") {
        let Some(path) = piece.text("jsonPath") else { continue };
        let value = ["stringValue", "numberValue", "boolValue"].iter().find_map(|key| piece.get(*key));
        let continues = piece.get("willContinue") == Some(&Value::Bool(true));
        partial.add(path, value.cloned().unwrap_or_default(), continues, limit);
    }
    if call.get("willContinue") != Some(&Value::Bool(true)) {
        state.close_partial(Outcome::Complete, out);
    }
}
