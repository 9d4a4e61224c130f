//! Requests to models, as the reference of each API has them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use gateway_dialects::Dialects;
use gateway_dialects::calls::{ReadOptions, parse_reply};
use gateway_dialects::history::{
    Conversation, HistoryOptions, Message, TranslatedTools, reply_message, to_dialect,
};
use gateway_dialects::requests::{ModelRequest, ToolChoice, render_request};
use gateway_dialects::results::IdMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

fn settings(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} is no object"),
    }
}

/// The body, and what was ignored, of a request with one tool to the model `m`.
#[track_caller]
fn check(dialect: &str, given: Value, choice: &ToolChoice, stream: bool, expected: Value, ignored: &[&str]) {
    let dialect = Dialects::builtin().get(dialect).unwrap();
    let said: Vec<Message> = serde_json::from_value(json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
    ]))
    .unwrap();
    let mut ids = IdMap::new(&dialect);
    let none = TranslatedTools::default();
    let (conversation, _) = to_dialect(&said, &dialect, &none, &mut ids, &HistoryOptions::default());
    let tools = RawValue::from_string(r#"[{"name": "add"}]"#.to_owned()).unwrap();
    let settings = settings(given);
    let request = ModelRequest {
        tools: Some(&tools),
        tool_choice: choice,
        settings: &settings,
        stream,
        ..ModelRequest::new("m", &conversation)
    };
    let rendered = render_request(&dialect, &request).unwrap();
    let body: Value = serde_json::from_slice(&rendered.body).unwrap();
    assert_eq!((body, rendered.ignored), (expected, ignored.iter().map(|name| (*name).to_owned()).collect()));
}

#[test]
fn chat_takes_every_setting_as_it_came() {
    let messages = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]);
    check(
        "openai-chat",
        json!({"temperature": 0.5, "unknown_field": {"a": [1]}, "stop": "END", "stream_options": {"x": 1}}),
        &ToolChoice::Auto,
        false,
        json!({
            "tools": [{"name": "add"}], "model": "m", "messages": messages, "stream": false,
            "temperature": 0.5, "unknown_field": {"a": [1]}, "stop": "END",
        }),
        &[],
    );
    check(
        "openai-chat",
        json!({"parallel_tool_calls": false}),
        &ToolChoice::Named("add".to_owned()),
        true,
        json!({
            "tools": [{"name": "add"}], "tool_choice": {"type": "function", "function": {"name": "add"}},
            "model": "m", "messages": messages, "stream": true, "stream_options": {"include_usage": true},
            "parallel_tool_calls": false,
        }),
        &[],
    );
}

#[test]
fn settings_never_replace_what_the_request_itself_has() {
    let messages = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]);
    check(
        "openai-chat",
        json!({
            "stream_options": {"include_usage": false, "chunk": 1}, "model": "other", "messages": [], "tools": [],
            "stream": false, "seed": 7,
        }),
        &ToolChoice::Auto,
        true,
        json!({
            "tools": [{"name": "add"}], "model": "m", "messages": messages, "stream": true,
            "stream_options": {"include_usage": true, "chunk": 1}, "seed": 7,
        }),
        &["model", "messages", "tools", "stream"],
    );
}

#[test]
fn functions_are_always_sent_with_a_choice() {
    check(
        "openai-functions",
        json!({"temperature": 0, "parallel_tool_calls": true}),
        &ToolChoice::Auto,
        true,
        json!({
            "functions": [{"name": "add"}], "function_call": "auto", "model": "m",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
            "stream": true, "stream_options": {"include_usage": true}, "temperature": 0,
        }),
        &[],
    );
}

#[test]
fn messages_have_their_own_names() {
    check(
        "anthropic",
        json!({
            "max_completion_tokens": 100, "stop": ["A", "B"], "top_p": 0.9, "user": "u", "parallel_tool_calls": false,
            "logit_bias": {"1": 2}, "seed": null,
        }),
        &ToolChoice::Required,
        true,
        json!({
            "tools": [{"name": "add"}], "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
            "model": "m", "max_tokens": 100, "system": "Be brief.",
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
            "stop_sequences": ["A", "B"], "metadata": {"user_id": "u"}, "top_p": 0.9, "stream": true,
        }),
        &["logit_bias"],
    );
}

#[test]
fn generate_content_has_a_configuration() {
    check(
        "gemini",
        json!({
            "temperature": 0.1, "max_tokens": 7, "stop": "S", "seed": 3, "stream_options": {},
            "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
            "store": true,
        }),
        &ToolChoice::Named("add".to_owned()),
        true,
        json!({
            "tools": [{"functionDeclarations": [{"name": "add"}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["add"]}},
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
            "generationConfig": {
                "temperature": 0.1, "seed": 3, "maxOutputTokens": 7, "stopSequences": ["S"],
                "responseMimeType": "application/json", "responseJsonSchema": {"type": "object"},
            },
        }),
        &["store"],
    );
}

#[test]
fn responses_keep_nothing_and_carry_reasoning() {
    let item = |role: &str, text: &str| json!({"type": "message", "role": role, "content": text});
    check(
        "openai-responses",
        json!({
            "max_tokens": 9, "reasoning_effort": "low", "verbosity": "low", "n": 2,
            "response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": {}}},
        }),
        &ToolChoice::Required,
        false,
        json!({
            "tools": [{"name": "add"}], "tool_choice": "required", "model": "m",
            "input": [item("system", "Be brief."), item("user", "Hello")],
            "store": false, "include": ["reasoning.encrypted_content"], "max_output_tokens": 9,
            "reasoning": {"effort": "low"},
            "text": {"format": {"type": "json_schema", "name": "n", "strict": true, "schema": {}}, "verbosity": "low"},
            "stream": false,
        }),
        &["n"],
    );
}

#[test]
fn ollama_has_options() {
    check(
        "ollama",
        json!({"temperature": 0, "max_tokens": 5, "stop": "S", "options": {"num_ctx": 8192}, "top_logprobs": 1}),
        &ToolChoice::Auto,
        true,
        json!({
            "tools": [{"name": "add"}], "model": "m",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
            "stream": true, "options": {"num_ctx": 8192, "temperature": 0, "num_predict": 5, "stop": ["S"]},
        }),
        &["top_logprobs"],
    );
}

#[test]
fn formats_without_requests_say_which_ones_have_them() {
    let dialect = Dialects::builtin().get("bedrock").unwrap();
    let conversation = Conversation::default();
    let error = render_request(&dialect, &ModelRequest::new("m", &conversation)).unwrap_err();
    assert!(error.to_string().contains("`bedrock`") && error.to_string().contains("messages"), "{error}");
}

/// A whole reply, read and written again for the same API, with its result behind it.
#[track_caller]
fn replayed(dialect: &str, reply: &Value, expected: &Value) {
    let dialect = Dialects::builtin().get(dialect).unwrap();
    let options = ReadOptions { protocol: Some(dialect.messages.protocol), ..ReadOptions::default() };
    let reply = parse_reply(reply, &options).unwrap();
    let none = TranslatedTools::default();
    let said = reply_message(&reply, &dialect, &none);
    let answered: Message = serde_json::from_value(json!({"role": "tool", "content": reply.calls.iter().map(|call|
        json!({"type": "tool_result", "tool_use_id": call.id.as_str(), "content": "3"})).collect::<Vec<_>>()}))
    .unwrap();
    let mut ids = IdMap::new(&dialect);
    let (written, warnings) =
        to_dialect(&[said, answered], &dialect, &none, &mut ids, &HistoryOptions::default());
    assert_eq!(warnings, []);
    assert_eq!(&Value::from(written.messages), expected);
}

#[test]
fn replies_are_replayed_as_their_api_wants_them() {
    replayed(
        "anthropic",
        &json!({"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
            {"type": "redacted_thinking", "data": "xyz"},
            {"type": "text", "text": "I add."},
            {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}}]}),
        &json!([
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                {"type": "redacted_thinking", "data": "xyz"},
                {"type": "text", "text": "I add."},
                {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "3"}]},
        ]),
    );
    replayed(
        "openai-responses",
        &json!({"status": "completed", "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "add", "arguments": "{\"a\":1}"}]}),
        &json!([
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"},
            {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{\"a\":1}", "id": "fc_1"},
            {"type": "function_call_output", "call_id": "c1", "output": "3"},
        ]),
    );
    replayed(
        "gemini",
        &json!({"candidates": [{"content": {"role": "model", "parts": [
            {"functionCall": {"name": "add", "args": {"a": 1}}, "thoughtSignature": "sig"},
            {"functionCall": {"name": "add", "args": {"a": 2}}}]}, "finishReason": "STOP"}]}),
        &json!([
            {"role": "model", "parts": [
                {"functionCall": {"id": "generated_1", "name": "add", "args": {"a": 1}}, "thoughtSignature": "sig"},
                {"functionCall": {"id": "generated_2", "name": "add", "args": {"a": 2}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "generated_1", "name": "add", "response": {"output": "3"}}},
                {"functionResponse": {"id": "generated_2", "name": "add", "response": {"output": "3"}}}]},
        ]),
    );
    replayed(
        "openai-chat",
        &json!({"choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "content": null,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1"}}]}}]}),
        &json!([
            {"role": "assistant", "content": null,
                "tool_calls": [{"id": "c1", "type": "function",
                    "function": {"name": "add", "arguments": "{\"raw\":\"{\\\"a\\\": 1\"}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "3"},
        ]),
    );
}
