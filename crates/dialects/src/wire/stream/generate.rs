//! Chunks of `streamGenerateContent`: each is a whole response, each call stands whole in it, except where partial
//! arguments were asked for.

use serde_json::{Map, Value};

use super::{
    Outcome, State, StreamEvent,
    open::{Key, OpenCall},
};
use crate::wire::calls::{part_signature, read_call};

/// Places in the arguments that partial values may name: keys and positions in a row.
const MAX_STEPS: usize = 64;
/// The highest position in a list that a partial value may name.
const MAX_POSITION: usize = 65_536;

pub(super) fn push(state: &mut State, chunk: &Value, out: &mut Vec<StreamEvent>) {
    state.usage(chunk.get("usageMetadata"), "promptTokenCount", "candidatesTokenCount");
    // Alternatives are not parallel calls.
    let Some(candidate) = chunk.pointer("/candidates/0") else { return };
    let parts = candidate.pointer("/content/parts").and_then(Value::as_array).into_iter().flatten();
    for part in parts.filter_map(Value::as_object) {
        push_part(state, part, out);
    }
    if State::stop(candidate.get("finishReason"), out) {
        close(state, Outcome::Complete, out);
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
        match read_call(part, None, "") {
            Ok(Some(call)) => state.whole(call, out),
            Ok(None) => {}
            Err(error) => state.unreadable(&error, out),
        }
        return;
    }
    let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
    if part.get("thought") == Some(&Value::Bool(true)) {
        State::reasoning(text, out);
    } else {
        state.text(text, out);
    }
    out.extend(part_signature(part).map(StreamEvent::Signature));
}

/// A call whose arguments arrive place by place.
#[derive(Clone, Debug)]
pub(super) struct Partial {
    call: OpenCall,
    arguments: Value,
    size: usize,
    /// The place whose string goes on in the next piece.
    growing: Option<String>,
}

fn push_partial(
    state: &mut State,
    part: &Map<String, Value>,
    call: &Map<String, Value>,
    out: &mut Vec<StreamEvent>,
) {
    let at = |key: &str| call.get(key).and_then(Value::as_str);
    if at("name").is_some_and(|name| state.partial.as_ref().is_some_and(|open| open.call.name != name)) {
        close(state, Outcome::Complete, out);
    }
    state.native(out);
    let limit = state.options.argument_limit;
    let partial = state.partial.get_or_insert_with(|| Partial {
        call: OpenCall::new(Key::Unnumbered, limit),
        arguments: Value::Object(Map::new()),
        size: 0,
        growing: None,
    });
    partial.call.set_id(at("id"));
    partial.call.set_name(at("name"));
    partial.call.signature = part_signature(part).or(partial.call.signature.take());
    for piece in call.get("partialArgs").and_then(Value::as_array).into_iter().flatten() {
        partial.add(piece, limit);
    }
    if call.get("willContinue") != Some(&Value::Bool(true)) {
        close(state, Outcome::Complete, out);
    }
}

/// Gives the call whose arguments were arriving place by place.
pub(super) fn close(state: &mut State, outcome: Outcome, out: &mut Vec<StreamEvent>) {
    let Some(mut partial) = state.partial.take() else { return };
    if !state.admit(out) {
        return;
    }
    if partial.size > state.options.argument_limit {
        // Cut by pieces, so the text below the limit is not all there is.
        partial.call.arguments.limit_reached(&partial.arguments.to_string());
    } else {
        partial.call.arguments.set(&partial.arguments);
    }
    out.extend(partial.call.give(outcome, &mut state.ids));
    state.open.push(partial.call);
}

impl Partial {
    fn add(&mut self, piece: &Value, limit: usize) {
        let Some(path) = piece.get("jsonPath").and_then(Value::as_str) else { return };
        let text = piece.get("stringValue").and_then(Value::as_str);
        self.size = self.size.saturating_add(path.len() + text.map_or(8, str::len));
        if self.size > limit {
            return;
        }
        let grows = self.growing.as_deref() == Some(path);
        let Some(place) = place(&mut self.arguments, path) else { return };
        match (text, place) {
            (Some(text), Value::String(before)) if grows => before.push_str(text),
            (Some(text), place) => *place = Value::String(text.to_owned()),
            (None, place) => {
                let plain = ["numberValue", "boolValue"].iter().find_map(|key| piece.get(*key));
                *place = plain.cloned().unwrap_or_default();
            }
        }
        let continues = piece.get("willContinue") == Some(&Value::Bool(true));
        self.growing = continues.then(|| path.to_owned());
    }
}

/// The place that a path such as `$.rooms[0].name` names, made where it does not exist yet.
fn place<'a>(root: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let mut here = root;
    let names = path.strip_prefix('$')?.split(['.', '[']).filter(|step| !step.is_empty());
    for step in names.take(MAX_STEPS) {
        let position = step.strip_suffix(']').map(|inside| inside.trim_matches(['\'', '"']));
        here = match position.map_or(Err(step), |inside| inside.parse::<usize>().map_err(|_| inside)) {
            Ok(at) => {
                if at > MAX_POSITION {
                    return None;
                }
                if !here.is_array() {
                    *here = Value::Array(Vec::new());
                }
                let items = here.as_array_mut()?;
                while items.len() <= at {
                    items.push(Value::Null);
                }
                items.get_mut(at)?
            }
            Err(name) => {
                if !here.is_object() {
                    *here = Value::Object(Map::new());
                }
                here.as_object_mut()?.entry(name).or_insert(Value::Null)
            }
        };
    }
    Some(here)
}
