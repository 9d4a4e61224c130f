//! Results in the notation of the call, and what the model wrote in the conversation.

use gateway_dialects::calls::text::Notation;
use gateway_dialects::history::{Conversation, HistoryOptions, TransferMode, TranslatedTools, transfer};
use gateway_dialects::results::{Outcome, ResultOptions, render_written_results};
use gateway_dialects::{Dialect, Dialects};
use serde_json::{Value, json};

use super::notation;

fn dialect(name: &str) -> Dialect {
    Dialects::builtin().get(name).unwrap_or_else(|error| unreachable!("{error}"))
}

#[track_caller]
fn check(name: &str, id: Option<&str>, expected: &str) {
    let dialect = dialect("openai-compatible");
    let result = json!({"content": [{"type": "text", "text": "2 < 3, \"ok\""}]});
    let outcome = Outcome { call_id: id, wire_name: "now", result: &result, kept: None };
    let rendered = render_written_results(&dialect, &[(notation(name), outcome)], &ResultOptions::default());
    assert_eq!(rendered.messages, [json!({"role": "user", "content": expected})], "{name}");
}

#[test]
fn results_are_written_in_the_notation_of_the_call() {
    check(
        "xml",
        None,
        "<tool_result name=\"now\" status=\"success\">\n2 &lt; 3, &quot;ok&quot;\n</tool_result>",
    );
    check("hermes", Some("c1"), "<tool_response>\n2 < 3, \"ok\"\n</tool_response>");
    check("glm-4.5", None, "<tool_response>\n2 < 3, \"ok\"\n</tool_response>");
    check(
        "mistral",
        Some("c1"),
        "[TOOL_RESULTS] {\"content\": \"2 < 3, \\\"ok\\\"\", \"call_id\": \"c1\"}[/TOOL_RESULTS]",
    );
    check("mistral-args", None, "[TOOL_RESULTS]2 < 3, \"ok\"[/TOOL_RESULTS]");
    check("deepseek-v3", None, "<｜tool▁output▁begin｜>2 < 3, \"ok\"<｜tool▁output▁end｜>");
    check("kimi-k2", Some("functions.now:0"), "## Return of functions.now:0\n2 < 3, \"ok\"");
    check("lfm2", None, "<|tool_response_start|>2 < 3, \"ok\"<|tool_response_end|>");
    check("tool-code", None, "```tool_output\n2 < 3, \"ok\"\n```");
    check("minimax-m2", None, "<response>2 < 3, \"ok\"</response>");
    check("bare-json", None, "{\"name\":\"now\",\"status\":\"success\",\"content\":\"2 < 3, \\\"ok\\\"\"}");
    check(
        "harmony",
        None,
        "<|start|>functions.now to=assistant<|channel|>commentary<|message|>2 < 3, \"ok\"<|end|>",
    );
}

#[test]
fn results_say_what_failed_and_hold_no_template() {
    let dialect = dialect("openai-compatible");
    let failed = json!({"content": [{"type": "text", "text": "no {name} {content:json}"}], "isError": true});
    for notation in Notation::all() {
        let outcome = Outcome { call_id: None, wire_name: "now", result: &failed, kept: None };
        let rendered = render_written_results(
            &dialect,
            &[(notation, outcome), (notation, outcome)],
            &ResultOptions::default(),
        );
        let [message] = rendered.messages.as_slice() else { unreachable!("one message") };
        let text = message["content"].as_str().unwrap();
        assert_eq!(text.matches("Error: no {name} {content:json}").count(), 2, "{}: {text}", notation.name());
    }
}

#[test]
fn what_the_model_wrote_stays_as_it_is() {
    let wrote = "<tool_call>\n{\"name\":  \"now\", \"arguments\": {}}\n</tool_call><|im_end|>";
    let messages = json!([
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": [
            {"type": "text", "text": "Let me see.\n"},
            {"type": "tool_use", "id": "a", "name": "now", "input": {}, "written": wrote},
            {"type": "tool_use", "id": "b", "name": "now", "input": {}, "written": ""}]},
        {"role": "tool", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "3", "written": "<tool_response>\n3\n</tool_response>"},
            {"type": "tool_result", "tool_use_id": "b", "content": "3", "written": "\n<tool_response>\n3\n</tool_response>"}]},
        {"role": "assistant", "content": [
            {"type": "text", "text": "Three."}, {"type": "tool_use", "id": "c", "name": "now", "input": {}}]},
    ]);
    let given = as_text(&dialect("openai-chat"), &messages);
    assert_eq!(
        given,
        [
            json!({"role": "user", "content": "When?"}),
            json!({"role": "assistant", "content": format!("Let me see.\n{wrote}")}),
            json!({"role": "user", "content": "<tool_response>\n3\n</tool_response>\n<tool_response>\n3\n</tool_response>"}),
            json!({"role": "assistant", "content": "Three.\n\nTool call `now` (c): {}"}),
        ]
    );
}

/// A neutral conversation as nothing but text.
fn as_text(chat: &Dialect, messages: &Value) -> Vec<Value> {
    let messages = messages.as_array().cloned().unwrap_or_default();
    let (tools, options) = (TranslatedTools::default(), HistoryOptions::default());
    let mcp = dialect("mcp");
    let held = Conversation { system: None, messages };
    let (written, warnings) = transfer(&held, (&mcp, &tools), (chat, &tools), TransferMode::Text, &options);
    assert_eq!(warnings, []);
    written.messages
}
