//! Histories of turns that broke off: each call gets a result, and none runs again.

use serde_json::{Map, Value, json};

use super::message::role_of;
use crate::history::{WRITTEN_CALLS, WRITTEN_RESULTS};

/// The result of a call whose turn broke off.
pub(super) const INTERRUPTED: &str =
    "interrupted: the turn broke off before there was a result. The call may have run.";

/// A message that a history lacks, and the index that it belongs at.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Missing {
    pub(super) index: usize,
    pub(super) message: Map<String, Value>,
}

/// The results that a history lacks, in order.
pub(super) fn missing_results(messages: &[Map<String, Value>]) -> Vec<Missing> {
    let mut missing = Vec::new();
    for (index, message) in messages.iter().enumerate().filter(|(_, message)| role_of(message) == "assistant")
    {
        let behind = messages.get(index + 1..).unwrap_or_default();
        let written = calls_in(message.get("metadata").and_then(|metadata| metadata.get(WRITTEN_CALLS)));
        if !written.is_empty() {
            let is_answered = behind.first().is_some_and(|next| written_results(next).is_some());
            if !is_answered {
                missing.push(Missing { index: index + 1, message: interrupted_text(&written) });
            }
            continue;
        }
        let mut open = calls_in(message.get("tool_calls"));
        let results = behind.iter().take_while(|message| role_of(message) == "tool");
        let mut end = index + 1;
        for result in results {
            end += 1;
            let id = result.get("tool_call_id").and_then(Value::as_str).unwrap_or_default();
            if let Some(position) = open.iter().position(|(open, _)| open == id) {
                open.remove(position);
            }
        }
        let results = open.iter().map(|(id, name)| Missing { index: end, message: interrupted(id, name) });
        missing.extend(results);
    }
    missing
}

/// A history with the messages that it lacks.
pub(super) fn repaired(messages: Vec<Map<String, Value>>, missing: Vec<Missing>) -> Vec<Map<String, Value>> {
    let mut whole = Vec::with_capacity(messages.len() + missing.len());
    let mut missing = missing.into_iter().peekable();
    for (index, message) in messages.into_iter().enumerate() {
        while let Some(found) = missing.next_if(|found| found.index == index) {
            whole.push(found.message);
        }
        whole.push(message);
    }
    whole.extend(missing.map(|found| found.message));
    whole
}

/// The results of written calls that a message of the user carries.
pub(super) fn written_results(message: &Map<String, Value>) -> Option<&Vec<Value>> {
    message.get("metadata")?.get(WRITTEN_RESULTS)?.as_array()
}

/// Ids and names of calls.
pub(super) fn calls_in(calls: Option<&Value>) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let calls = calls.and_then(Value::as_array).into_iter().flatten();
    calls.map(|call| (text(&call["id"]), text(&call["function"]["name"]))).collect()
}

fn interrupted(id: &str, name: &str) -> Map<String, Value> {
    members(json!({
        "role": "tool", "content": INTERRUPTED, "tool_call_id": id, "name": name, "status": "error", "interrupted": true,
    }))
}

/// The same for calls that were written as text: the model reads its results as text too.
fn interrupted_text(calls: &[(String, String)]) -> Map<String, Value> {
    let lines: Vec<String> = calls.iter().map(|(_, name)| format!("{name}: {INTERRUPTED}")).collect();
    let results: Vec<Value> = calls
        .iter()
        .map(
            |(id, name)| json!({"tool_call_id": id, "name": name, "content": INTERRUPTED, "status": "error"}),
        )
        .collect();
    members(json!({
        "role": "user", "content": lines.join("\n"), "metadata": {WRITTEN_RESULTS: results}, "interrupted": true,
    }))
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(value: Value) -> Vec<Map<String, Value>> {
        serde_json::from_value(value).unwrap()
    }

    fn call(id: &str) -> Value {
        json!({"id": id, "type": "function", "function": {"name": "add", "arguments": "{}"}})
    }

    fn result(id: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": "1"})
    }

    #[track_caller]
    fn check(history: Value, expected: &[(usize, &str)]) {
        let history = messages(history);
        let missing = missing_results(&history);
        let found: Vec<(usize, &str)> = missing
            .iter()
            .map(|missing| {
                (missing.index, missing.message.get("tool_call_id").and_then(Value::as_str).unwrap_or(""))
            })
            .collect();
        assert_eq!(found, expected, "{history:?}");
        assert_eq!(missing_results(&repaired(history, missing)), []);
    }

    #[test]
    fn each_call_without_a_result_gets_one_where_it_belongs() {
        let user = json!({"role": "user", "content": "?"});
        let two = json!({"role": "assistant", "tool_calls": [call("a"), call("b")]});
        check(json!([user, two, result("a"), result("b")]), &[]);
        check(json!([user, two, result("a")]), &[(3, "b")]);
        check(json!([user, two]), &[(2, "a"), (2, "b")]);
        check(json!([user, two, result("b"), user]), &[(3, "a")]);
        check(json!([user, two, user, two, result("a"), result("b")]), &[(2, "a"), (2, "b")]);
        // Models that count their calls from one in each reply use ids again.
        let one = json!({"role": "assistant", "tool_calls": [call("a")]});
        check(json!([user, one, result("a"), one]), &[(4, "a")]);
        let twice = json!({"role": "assistant", "tool_calls": [call("a"), call("a")]});
        check(json!([user, twice, result("a")]), &[(3, "a")]);
    }

    #[test]
    fn calls_that_were_written_as_text_are_answered_as_text() {
        let said =
            json!({"role": "assistant", "content": "<call>", "metadata": {WRITTEN_CALLS: [call("a")]}});
        let answered = json!({"role": "user", "content": "1", "metadata": {WRITTEN_RESULTS: []}});
        check(json!([said, answered]), &[]);
        check(json!([said]), &[(1, "")]);
        check(json!([said, {"role": "user", "content": "Hello?"}]), &[(1, "")]);
        let added = missing_results(&messages(json!([said]))).remove(0).message;
        assert_eq!(added["role"], "user");
        assert!(added["content"].as_str().unwrap().starts_with("add: interrupted"), "{added:?}");
    }
}
