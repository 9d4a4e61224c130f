//! Events of the Responses API.

use serde_json::Value;

use crate::wire::Members as _;
use crate::wire::stream::{Key, OpenCall, Outcome, State, StreamEvent, call_at};

pub(super) fn push(state: &mut State, event: &Value, out: &mut Vec<StreamEvent>) {
    let delta = event.text("delta").unwrap_or_default();
    match event.text("type").unwrap_or_default() {
        "response.output_text.delta" | "response.refusal.delta" => state.text(delta, out),
        "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
            State::reasoning(delta, out);
        }
        "response.output_item.added" => {
            if let Some(item) = event.get("item").filter(|item| is_call(item)) {
                open(state, event, item, out);
            }
        }
        "response.function_call_arguments.delta" => {
            if let Some(call) = find(&mut state.open, event, None).filter(|call| !call.given()) {
                call.arguments.push(delta);
            }
        }
        "response.function_call_arguments.done" => {
            let arguments = event.text("arguments");
            if let Some((call, text)) =
                find(&mut state.open, event, None).filter(|call| !call.given()).zip(arguments)
            {
                call.arguments.replace(text);
            }
        }
        "response.output_item.done" => {
            if let Some(item) = event.get("item") {
                item_done(state, event, item, out);
            }
        }
        "response.completed" | "response.incomplete" | "response.failed" => finish(state, event, out),
        "error" => out.push(StreamEvent::Error(event.clone())),
        _ => {}
    }
}

fn is_call(item: &Value) -> bool {
    item.text("type") == Some("function_call")
}

/// The call that an event speaks of: by item id, else by index.
fn find<'a>(calls: &'a mut [OpenCall], event: &Value, item: Option<&Value>) -> Option<&'a mut OpenCall> {
    let id = item.and_then(|item| item.get("id")).or_else(|| event.get("item_id")).and_then(Value::as_str);
    let index = event.get("output_index").and_then(Value::as_u64);
    let id = id.filter(|id| !id.is_empty());
    match calls.iter().position(|open| id.is_some() && open.call.item_id.as_deref() == id) {
        Some(position) => calls.get_mut(position),
        None => call_at(calls, &Key::Index(index?)),
    }
}

fn open(state: &mut State, event: &Value, item: &Value, out: &mut Vec<StreamEvent>) {
    if find(&mut state.open, event, Some(item)).is_some() {
        return;
    }
    let index = event.get("output_index").and_then(Value::as_u64);
    if let Some(open) = state.begin(index.map_or(Key::Unnumbered, Key::Index), None, None, out) {
        describe(open, item);
        open.arguments.add(item.get("arguments"));
    }
}

/// Takes names and ids from an item.
fn describe(open: &mut OpenCall, item: &Value) {
    let at = |key: &str| item.text(key).filter(|text| !text.is_empty());
    open.set_id(at("call_id"));
    open.set_name(at("name"));
    if let Some(id) = at("id") {
        open.call.item_id = Some(id.to_owned());
    }
    if let Value::Object(members) = item {
        open.keep_others(members, &["type", "id", "call_id", "name", "arguments"]);
    }
}

fn item_done(state: &mut State, event: &Value, item: &Value, out: &mut Vec<StreamEvent>) {
    if !is_call(item) {
        if item.text("type") == Some("reasoning") {
            out.push(StreamEvent::ReasoningItem(item.clone()));
        }
        return;
    }
    open(state, event, item, out);
    let arguments = item.text("arguments");
    if let Some(call) = find(&mut state.open, event, Some(item)).filter(|call| !call.given()) {
        describe(call, item);
        if let Some(text) = arguments.filter(|text| !text.is_empty()) {
            call.arguments.replace(text);
        }
        // Items of a response that was cut say so.
        let cut = item.text("status") == Some("incomplete");
        let outcome = if cut { Outcome::Unfinished } else { Outcome::Complete };
        out.extend(call.give(outcome, &mut state.ids));
    }
}

fn finish(state: &mut State, event: &Value, out: &mut Vec<StreamEvent>) {
    let Some(response) = event.get("response") else { return };
    state.usage(response.get("usage"), "input_tokens", "output_tokens");
    let items = response.list("output").iter();
    for (index, item) in items.enumerate() {
        let event = serde_json::json!({"output_index": index});
        if is_call(item) && find(&mut state.open, &event, Some(item)).is_none_or(|call| !call.given()) {
            item_done(state, &event, item, out);
        }
    }
    let reason = response.pointer("/incomplete_details/reason").filter(|reason| reason.is_string());
    State::stop(reason.or_else(|| response.get("status")), out);
    if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
        out.push(StreamEvent::Error(error.clone()));
    }
}
