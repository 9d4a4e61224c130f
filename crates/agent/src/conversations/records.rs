//! The calls of a conversation, as records.

use serde_json::{Map, Value, json};

use super::message::{role_of, text_of};
use super::repair::written_results;
use crate::history::WRITTEN_CALLS;

/// The calls of a history in order, each as `{tool_name, arguments, result, id, correlation_id}`. The result of a call that still
/// runs is null; one that failed has a `status`.
pub(super) fn call_records(messages: &[Map<String, Value>]) -> Vec<Value> {
    let mut records = Vec::new();
    for (index, message) in messages.iter().enumerate().filter(|(_, message)| role_of(message) == "assistant")
    {
        let behind = messages.get(index + 1..).unwrap_or_default();
        let written = message.get("metadata").and_then(|metadata| metadata.get(WRITTEN_CALLS));
        let mut results: Vec<Map<String, Value>> = match behind.first().and_then(written_results) {
            Some(results) if written.is_some() => {
                results.iter().filter_map(|result| result.as_object().cloned()).collect()
            }
            _ => behind.iter().take_while(|message| role_of(message) == "tool").cloned().collect(),
        };
        let calls = written.or_else(|| message.get("tool_calls")).and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let id = call["id"].as_str().unwrap_or_default();
            let is_own =
                |result: &Map<String, Value>| result.get("tool_call_id").and_then(Value::as_str) == Some(id);
            let result = results.iter().position(is_own).map(|position| results.remove(position));
            records.push(record(call, id, result.as_ref(), message.get("correlation_id")));
        }
    }
    records
}

fn record(call: &Value, id: &str, result: Option<&Map<String, Value>>, correlation: Option<&Value>) -> Value {
    let text = call["function"]["arguments"].as_str().unwrap_or_default();
    let arguments = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let shown = result.map(|result| match text_of(result) {
        text if text.is_empty() => result.get("structuredContent").map(Value::to_string).unwrap_or_default(),
        text => text,
    });
    let mut record = json!({
        "tool_name": call["function"]["name"], "arguments": arguments, "result": shown, "id": id,
        "correlation_id": correlation,
    });
    if let (Some(status), Some(members)) =
        (result.and_then(|result| result.get("status")), record.as_object_mut())
    {
        members.insert("status".to_owned(), status.clone());
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_stand_in_the_order_of_calls_with_their_results() {
        let call = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{\"n\":1}"}});
        let messages: Vec<Map<String, Value>> = serde_json::from_value(json!([
            {"role": "user", "content": "?"},
            {"role": "assistant", "tool_calls": [call("a", "x"), call("b", "y")], "correlation_id": "c1"},
            {"role": "tool", "tool_call_id": "b", "content": "B", "status": "error"},
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "A"}]},
            {"role": "assistant", "tool_calls": [call("a", "x")]},
            {"role": "assistant", "content": "<call>", "metadata": {WRITTEN_CALLS: [call("w", "z")]}},
            {"role": "user", "content": "W", "metadata": {"tool_results": [{"tool_call_id": "w", "content": "W"}]}},
        ]))
        .unwrap();
        let n = json!({"n": 1});
        assert_eq!(
            call_records(&messages),
            [
                json!({"tool_name": "x", "arguments": n, "result": "A", "id": "a", "correlation_id": "c1"}),
                json!({"tool_name": "y", "arguments": n, "result": "B", "id": "b", "correlation_id": "c1", "status": "error"}),
                json!({"tool_name": "x", "arguments": n, "result": null, "id": "a", "correlation_id": null}),
                json!({"tool_name": "z", "arguments": n, "result": "W", "id": "w", "correlation_id": null}),
            ]
        );
    }
}
