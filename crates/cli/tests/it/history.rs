//! `history`

use serde_json::json;

use super::{Scratch, run};

#[test]
fn a_conversation_goes_from_one_dialect_to_another() {
    let request = json!({"system": "Be brief.", "messages": [
        {"role": "user", "content": "Add 1 and 2"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"}]},
    ]});
    let run = run(&["history", "--from", "anthropic", "--to", "openai"], &request.to_string());
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(
        run.json(),
        json!({"messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Add 1 and 2"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "toolu_1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1}"}}]},
            {"role": "tool", "tool_call_id": "toolu_1", "content": "3"},
        ], "warnings": []})
    );
}

#[test]
fn the_neutral_format_is_one_of_them() {
    let messages = json!([{"role": "user", "parts": [{"text": "Hello"}]}]);
    let run = run(&["history", "--from", "gemini", "--to", "neutral"], &messages.to_string());
    assert_eq!(run.json(), json!({"messages": [{"role": "user", "content": "Hello"}], "warnings": []}));
}

#[test]
fn calls_become_text_and_tools_give_names() {
    let tools = Scratch::new("history-tools.json", &json!([{"name": "set.tags"}]).to_string());
    let messages = json!([{"role": "user", "content": "go"}, {"role": "assistant", "content": [
        {"type": "tool_use", "id": "a", "name": "set.tags", "input": {}}]}]);
    let native = run(
        &["history", "--from", "neutral", "--to", "openai", "--tools", tools.path()],
        &messages.to_string(),
    );
    assert_eq!(
        native.json()["messages"][1]["tool_calls"][0]["function"]["name"],
        "set_tags",
        "{}",
        native.stdout
    );
    let text =
        run(&["history", "--from", "neutral", "--to", "openai", "--mode", "text"], &messages.to_string());
    assert_eq!(
        text.json()["messages"][1],
        json!({"role": "assistant", "content": "Tool call `set.tags` (a): {}"})
    );
}

#[test]
fn what_is_no_conversation_is_refused() {
    for (input, error) in [
        ("7", "error: the conversation is neither a list of messages nor a request that holds one\n"),
        ("{}", "error: the request holds no list under messages, contents, input\n"),
    ] {
        let run = run(&["history", "--from", "openai", "--to", "gemini"], input);
        assert_eq!((run.status, run.stderr.as_str()), (2, error), "{input}");
    }
}
