//! `calls`

use serde_json::{Value, json};

use super::run;

const MESSAGES: &str = include_str!("../../../dialects/tests/streams/messages.sse");
const MESSAGES_WHOLE: &str = include_str!("../../../dialects/tests/streams/messages.json");
const OLLAMA: &str = include_str!("../../../dialects/tests/streams/ollama.ndjson");

fn call(id: &str, a: u64, b: u64) -> Value {
    json!({"type": "tool_use", "id": id, "name": "add", "input": {"a": a, "b": b}})
}

#[test]
fn a_reply_and_its_stream_give_the_same_neutral_calls() {
    for (arguments, input) in [
        (vec!["calls"], MESSAGES),
        (vec!["calls", "--from", "anthropic"], MESSAGES),
        (vec!["calls", "-"], MESSAGES_WHOLE),
    ] {
        let run = run(&arguments, input);
        assert_eq!(run.status, 0, "{}", run.stderr);
        assert_eq!(run.lines(), [call("toolu_01A", 15, 27), call("toolu_01B", 1, 2)], "{arguments:?}");
    }
    let lines = run(&["calls"], OLLAMA).lines();
    assert_eq!(lines, [call("generated_1", 15, 27), call("generated_2", 1, 2)]);
}

#[test]
fn arguments_that_cannot_be_read_are_findings() {
    let reply = json!({"id": "c", "type": "function", "function": {"name": "add", "arguments": "{\"a\":"}});
    let run = run(&["calls"], &reply.to_string());
    assert_eq!(run.status, 1);
    let [row] = run.lines().try_into().unwrap();
    assert_eq!((&row["name"], row["error"]["message"].is_string()), (&json!("add"), true), "{row}");
}

#[test]
fn all_of_a_reply_is_written_on_request() {
    let reply = json!({
        "choices": [{"message": {"role": "assistant", "content": "I add.", "reasoning_content": "1 + 2", "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1,\"b\":2}"}}]}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 4}});
    let run = run(&["calls", "--all"], &reply.to_string());
    assert_eq!(
        run.lines(),
        [
            json!({"type": "reasoning", "text": "1 + 2"}),
            json!({"type": "text", "text": "I add."}),
            json!({"type": "usage", "inputTokens": 9, "outputTokens": 4}),
            call("c", 1, 2),
        ]
    );
}

#[test]
fn a_reply_without_calls_says_so() {
    let run = run(&["calls"], r#"{"role": "assistant", "content": "Hello"}"#);
    assert_eq!((run.status, run.stdout.as_str()), (1, ""));
    assert_eq!(run.stderr, "no tool call in the reply; it says: Hello\n");
}

#[test]
fn what_is_no_reply_is_refused() {
    for (input, error) in [
        (
            "hello",
            "error: the reply is no JSON (expected value at line 1 column 1), and the stream cannot be read: \
             line 1 holds no JSON document: expected value at line 1 column 1\n",
        ),
        (
            "",
            "error: the reply is no JSON (EOF while parsing a value at line 1 column 0), and the stream cannot be read: \
             it has no chunk\n",
        ),
    ] {
        let run = run(&["calls"], input);
        assert_eq!((run.status, run.stderr.as_str()), (2, error), "{input}");
    }
    let run = run(&["calls", "--from", "antropic"], MESSAGES);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("did you mean `anthropic`?"), "{}", run.stderr);
}
