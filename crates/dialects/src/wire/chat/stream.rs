//! Chat Completions chunks, with the liberties that compatible servers take.

use serde_json::{Map, Value};

use crate::wire::Members as _;
use crate::wire::calls::carried_signature;
use crate::wire::stream::{Key, OpenCall, Outcome, State, StreamEvent, call_at, call_with_id};

pub(crate) fn push(state: &mut State, chunk: &Value, out: &mut Vec<StreamEvent>) {
    state.usage(chunk.get("usage"), "prompt_tokens", "completion_tokens");
    let choices = chunk.list("choices").iter();
    // Alternatives are not parallel calls.
    for choice in choices.filter(|choice| choice.get("index").is_none_or(|index| index == 0)) {
        if let Some(Value::Object(delta)) = choice.get("delta").or_else(|| choice.get("message")) {
            push_delta(state, delta, out);
        }
        if State::stop(choice.get("finish_reason"), out) {
            for call in &mut state.open {
                out.extend(call.give(Outcome::Complete, &mut state.ids));
            }
        }
    }
}

fn push_delta(state: &mut State, delta: &Map<String, Value>, out: &mut Vec<StreamEvent>) {
    push_speech(state, delta, out);
    for fragment in listed(delta.get("tool_calls")) {
        push_fragment(state, fragment, out);
    }
    if let Some(Value::Object(fragment)) = delta.get("function_call") {
        if call_at(&mut state.open, &Key::Only).is_none() {
            state.begin(Key::Only, None, None, out);
        }
        if let Some(call) = call_at(&mut state.open, &Key::Only) {
            add(call, None, fragment);
        }
    }
}

/// Entries of a list, or the one that stands for it.
pub(crate) fn listed(calls: Option<&Value>) -> impl Iterator<Item = &Map<String, Value>> {
    let list = calls.and_then(Value::as_array).into_iter().flatten();
    list.chain(calls.filter(|calls| calls.is_object())).filter_map(Value::as_object)
}

/// Text and reasoning of a message, or of a piece of one.
pub(crate) fn push_speech(state: &mut State, message: &Map<String, Value>, out: &mut Vec<StreamEvent>) {
    let thoughts = ["reasoning_content", "reasoning", "thinking"];
    if let Some(thought) = thoughts.iter().find_map(|key| message.get(*key)?.as_str()) {
        State::reasoning(thought, out);
    }
    match message.get("content") {
        Some(Value::String(text)) => state.text(text, out),
        Some(Value::Array(blocks)) => {
            for block in blocks {
                if let Some(text) = block.text("text").or_else(|| block.text("refusal")) {
                    state.text(text, out);
                }
                for thought in block.list("thinking").iter().filter_map(|part| part.text("text")) {
                    State::reasoning(thought, out);
                }
            }
        }
        _ => {}
    }
    // A model that refuses to answer says so instead of the answer.
    if let Some(refusal) = message.text("refusal") {
        state.text(refusal, out);
    }
}

fn push_fragment(state: &mut State, fragment: &Map<String, Value>, out: &mut Vec<StreamEvent>) {
    // Some servers send the function without its wrapper.
    let held = ["function", "custom"].iter().find_map(|key| fragment.get(*key)?.as_object());
    let function = held.unwrap_or(fragment);
    let index = fragment.get("index").and_then(Value::as_u64);
    let id = fragment.text("id").filter(|id| !id.is_empty());
    let name = function.text("name").filter(|name| !name.is_empty());
    if begins_call(state, index, id, name) {
        let key = index.map_or(Key::Unnumbered, Key::Index);
        if let Some(open) = state.begin(key, None, None, out) {
            add(open, id, function);
            keep_extras(open, fragment);
        }
        return;
    }
    let open = &mut state.open;
    let call = match (index, id) {
        (Some(index), _) => call_at(open, &Key::Index(index)),
        (None, Some(id)) if call_with_id(open, id).is_some() => call_with_id(open, id),
        (None, _) => open.last_mut(),
    };
    if let Some(call) = call.filter(|call| !call.given()) {
        add(call, id, function);
        keep_extras(call, fragment);
    }
}

/// Whether a fragment starts a call, by the best mark it has: index, then id, then name.
fn begins_call(state: &mut State, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> bool {
    let (call, by_index) = match (index, id) {
        (Some(index), _) => (call_at(&mut state.open, &Key::Index(index)), true),
        (None, Some(id)) if call_with_id(&mut state.open, id).is_some() => return false,
        // An id may also follow the name.
        (None, _) => (state.open.last_mut(), false),
    };
    let Some(call) = call else { return !state.overflown || by_index };
    let known = &call.call;
    let other_id = id.is_some_and(|id| known.id.as_deref().is_some_and(|known| known != id));
    match name {
        // One server numbers all parallel calls alike: then only the id differs.
        Some(_) if other_id => true,
        Some(_) if by_index => false,
        // A name alone is a new call, unless it is the last one's name again while its arguments still run.
        Some(name) => {
            call.given() || call.arguments.is_whole() || (!known.name.is_empty() && known.name != name)
        }
        None => other_id && !by_index,
    }
}

fn add(call: &mut OpenCall, id: Option<&str>, function: &Map<String, Value>) {
    if call.given() {
        return;
    }
    call.set_id(id);
    call.set_name(function.text("name"));
    // Custom tools take text, under a name of its own.
    call.arguments.add(function.get("arguments").or_else(|| function.get("input")));
}

/// Members beyond the usual ones, among them the signature that has to be replayed.
fn keep_extras(open: &mut OpenCall, fragment: &Map<String, Value>) {
    open.keep_others(fragment, &["id", "type", "index", "function", "custom", "name", "arguments"]);
    if let Some(custom) = fragment.get("type").filter(|kind| *kind == "custom") {
        open.call.extra.insert("type".to_owned(), custom.clone());
    }
    open.call.signature = carried_signature(fragment).or(open.call.signature.take());
}
