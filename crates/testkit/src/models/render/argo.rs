//! Argo's envelope: the answer's text and calls under `response`, the calls as the model's vendor writes them.

use serde_json::{Value, json};

use super::{Turn, chat};
use crate::models::reply::{Call, Reply};

pub(super) fn whole(reply: &Reply, turn: &Turn) -> Value {
    let text = reply.whole_text();
    let content = if text.is_empty() { Value::Null } else { text.into() };
    let calls: Vec<&Call> = reply.calls().collect();
    let model = turn.model.to_lowercase();
    let tool_calls: Value = if calls.is_empty() {
        // Gemini's have no list there.
        if model.contains("gemini") { Value::Null } else { json!([]) }
    } else if model.contains("claude") {
        calls.iter().map(|call| block(call)).collect()
    } else if model.contains("gemini") {
        // One call is an object by itself; its id is there and empty.
        match calls.as_slice() {
            [only] => function_call(only),
            several => several.iter().map(|call| function_call(call)).collect(),
        }
    } else {
        calls.iter().map(|call| chat::tool_call(call, turn)).collect()
    };
    json!({"response": {"content": content, "tool_calls": tool_calls}})
}

fn block(call: &Call) -> Value {
    json!({"id": call.id, "input": call.arguments.json(), "name": call.name, "type": "tool_use"})
}

fn function_call(call: &Call) -> Value {
    json!({"id": null, "args": call.arguments.json(), "name": call.name})
}
