//! Model servers speak Mistral's and Cohere's chat APIs, and refuse what these refuse.

use gateway_testkit::models::{Finish, Reply, Script, Usage, Wire};
use serde_json::{Value, json};

use crate::models_strict::{check, check_refusals, object, offer, refusal};
use crate::talk_models::{ask, ask_with, question, start, start_strict};

fn sum() -> Reply {
    let usage = Usage { input: 50, cached: 20, output: 30, reasoning: 10 };
    Reply::new().text("I add both: ü.").call("abcDEF123", "add", json!({"a": 15, "b": 27})).usage(usage)
}

const MISTRAL: &str = r#"data: {"id":"cmpl-1","object":"chat.completion.chunk","created":1754000000,"model":"mistral-large-latest","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {"id":"cmpl-1","object":"chat.completion.chunk","created":1754000000,"model":"mistral-large-latest","choices":[{"index":0,"delta":{"content":"I add "},"finish_reason":null}]}

data: {"id":"cmpl-1","object":"chat.completion.chunk","created":1754000000,"model":"mistral-large-latest","choices":[{"index":0,"delta":{"content":"both: ü."},"finish_reason":null}]}

data: {"id":"cmpl-1","object":"chat.completion.chunk","created":1754000000,"model":"mistral-large-latest","choices":[{"index":0,"delta":{"content":"","tool_calls":[{"id":"abcDEF123","function":{"name":"add","arguments":"{\"a\":15,\"b\":27}"},"index":0}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":50,"total_tokens":80,"completion_tokens":30,"prompt_tokens_details":{"cached_tokens":20}}}

data: [DONE]

"#;

#[tokio::test]
async fn mistrals_calls_come_whole_with_the_end() {
    let server = start(Wire::Mistral, Script::new().last(sum())).await;
    let streamed = ask(&server, Wire::Mistral, true).await;
    assert_eq!(streamed.text(), MISTRAL);
    let whole = ask(&server, Wire::Mistral, false).await.json();
    assert_eq!(
        whole["choices"],
        json!([{
            "index": 0, "finish_reason": "tool_calls",
            "message": {
                "role": "assistant", "content": "I add both: ü.",
                "tool_calls": [{"id": "abcDEF123", "function": {"name": "add", "arguments": "{\"a\":15,\"b\":27}"}, "index": 0}],
            },
        }])
    );
    let thinking = start(Wire::Mistral, Script::new().last(Reply::new().reasoning("Hm.").text("3."))).await;
    let message = &ask(&thinking, Wire::Mistral, false).await.json()["choices"][0]["message"];
    let thought = json!({"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]});
    assert_eq!(message["content"], json!([thought, {"type": "text", "text": "3."}]));
    assert_eq!(message["tool_calls"], Value::Null);
}

const COHERE: &str = r#"event: message-start
data: {"id":"c14c80c3-18eb-4519-9460-000000000001","type":"message-start","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}

event: tool-plan-delta
data: {"type":"tool-plan-delta","delta":{"message":{"tool_plan":"I add "}}}

event: tool-plan-delta
data: {"type":"tool-plan-delta","delta":{"message":{"tool_plan":"both: ü."}}}

event: tool-call-start
data: {"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"abcDEF123","type":"function","function":{"name":"add","arguments":""}}}}}

event: tool-call-delta
data: {"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{\"a\":1"}}}}}

event: tool-call-delta
data: {"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"5,\"b\":"}}}}}

event: tool-call-delta
data: {"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"27}"}}}}}

event: tool-call-end
data: {"type":"tool-call-end","index":0}

event: message-end
data: {"id":"c14c80c3-18eb-4519-9460-000000000001","type":"message-end","delta":{"finish_reason":"TOOL_CALL","usage":{"billed_units":{"input_tokens":50,"output_tokens":30},"tokens":{"input_tokens":50,"output_tokens":30},"cached_tokens":20}}}

data: [DONE]

"#;

#[tokio::test]
async fn cohere_says_its_plan_before_calls() {
    let server = start(Wire::Cohere, Script::new().last(sum())).await;
    assert_eq!(ask(&server, Wire::Cohere, true).await.text(), COHERE);
    let whole = ask(&server, Wire::Cohere, false).await.json();
    assert_eq!(
        (&whole["message"], &whole["finish_reason"]),
        (
            &json!({
                "role": "assistant", "tool_plan": "I add both: ü.",
                "tool_calls": [{"id": "abcDEF123", "type": "function", "function": {"name": "add", "arguments": "{\"a\":15,\"b\":27}"}}],
            }),
            &json!("TOOL_CALL")
        )
    );
    let text = Reply::new().reasoning("Hm.").text("3.").finish(Finish::Length);
    let server = start(Wire::Cohere, Script::new().last(text)).await;
    let kinds: Vec<String> =
        ask(&server, Wire::Cohere, true).await.events().into_iter().map(|(kind, _)| kind).collect();
    let block = ["content-start", "content-delta", "content-end"];
    let expected = [&["message-start"][..], &block, &block, &["message-end", "message"]].concat();
    assert_eq!(kinds, expected);
    let whole = ask(&server, Wire::Cohere, false).await.json();
    assert_eq!(
        (&whole["message"]["content"], &whole["finish_reason"]),
        (
            &json!([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "3."}]),
            &json!("MAX_TOKENS")
        )
    );
}

fn call(id: &str, arguments: &Value) -> Value {
    let function = json!({"name": "add", "arguments": arguments});
    json!({"role": "assistant", "content": "", "tool_calls": [{"id": id, "function": function}]})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "name": "add", "content": "3"})
}

#[tokio::test]
async fn mistral_refuses() {
    let offer = |name: &str, schema: &Value| offer(Wire::Mistral, name, schema);
    let bare = json!({"tools": [{"type": "function", "function": {"name": "add"}}]});
    check_refusals(
        Wire::Mistral,
        &[
            (json!({"max_completion_tokens": 5}), "Extra inputs are not permitted"),
            (json!({"stream_options": {}}), "Extra inputs are not permitted"),
            (bare, "Field required"),
            (offer("a.b", &object(&json!({}))), "Function name was a.b but must be a-z, A-Z, 0-9"),
            (offer("add", &object(&json!({"a": {"exclusiveMinimum": true}}))), "Invalid tool schema: "),
            (
                json!({"messages": [{"role": "user", "name": "me", "content": "1"}]}),
                "Extra inputs are not permitted",
            ),
            (json!({"messages": [{"role": "developer", "content": "1"}]}), "Input tag 'developer' found"),
        ],
    )
    .await;
    // Items as a list are good in the draft that it asks.
    let older = object(&json!({"a": {"type": "array", "items": [{"type": "string"}]}}));
    assert_eq!(refusal(Wire::Mistral, &offer("add", &older)).await, None);
    let server = start_strict(Wire::Mistral, Script::new()).await;
    let mut body = question(Wire::Mistral, false).1;
    body["tools"] = json!([{"type": "function", "function": {"name": "add"}}]);
    let answer = ask_with(&server, Wire::Mistral, false, &body).await;
    assert_eq!(
        (answer.status, &answer.json()["message"]["detail"][0]["loc"]),
        (422, &json!(["body", "tools", 0, "function", "parameters"]))
    );
}

#[test]
fn mistrals_conversations() {
    let user = json!({"role": "user", "content": "1 + 2?"});
    let body = |messages: &[Value]| json!({"model": "mistral-large-latest", "messages": messages});
    let refused = |messages: &[Value], words: &str| check(Wire::Mistral, &body(messages), words);
    let (one, other) = ("abcDEF123", "abcDEF124");
    let good =
        [user.clone(), call(one, &json!({"a": 1})), result(one), call(other, &json!("{}")), result(other)];
    assert_eq!(gateway_testkit::models::check_history(Wire::Mistral, &body(&good)), Ok(()));
    refused(
        &[user.clone(), call("call_1", &json!("{}")), result("call_1")],
        "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
    );
    refused(&[user.clone(), call(one, &json!("{}"))], "Not the same number of function calls and responses");
    refused(&[user.clone(), result(one)], "Unexpected role 'tool' after role 'user'");
    refused(&[user.clone(), call(one, &json!("{}")), result(other)], "Unexpected tool call id abcDEF124");
    refused(
        &[user.clone(), call(one, &json!("{}")), result(one), result(one)],
        "Duplicate tool call id abcDEF123 in tool results",
    );
    refused(
        &[user.clone(), call(one, &json!("{}")), result(one), json!({"role": "system", "content": "s"})],
        "Unexpected role 'system' after role 'tool'",
    );
    refused(&[user.clone(), json!({"role": "assistant", "content": ""})], "either content or tool_calls");
    refused(&[user, json!({"role": "assistant", "content": "3"})], "Expected last role User or Tool");
    refused(&[], "Conversation must have at least one message");
}

#[tokio::test]
async fn cohere_refuses() {
    let offer = |schema: &Value| offer(Wire::Cohere, "add", schema);
    let mut strict = offer(&object(&json!({})));
    strict["tools"][0]["function"]["strict"] = json!(true);
    let fields: serde_json::Map<String, Value> =
        (0..201).map(|index| (format!("p{index}"), json!({}))).collect();
    let mut many = offer(&object(&fields.into()));
    many["strict_tools"] = json!(true);
    check_refusals(
        Wire::Cohere,
        &[
            (strict, "unknown field: parameter 'strict' is not a valid field."),
            (json!({"parallel_tool_calls": true}), "unknown field: parameter 'parallel_tool_calls'"),
            (many, "strict_tools takes at most 200 fields over all tools, got 201"),
            (offer(&json!({})), "must be a JSON schema of type object"),
            (offer(&object(&json!({"a": {"type": "strng"}}))), "are no JSON schema: "),
            (json!({"tool_choice": "auto"}), "tool_choice must be one of REQUIRED or NONE"),
            (json!({"model": null}), "model is required"),
        ],
    )
    .await;
    let server = start_strict(Wire::Cohere, Script::new()).await;
    let mut body = question(Wire::Cohere, false).1;
    body["n"] = json!(1);
    assert_eq!(ask_with(&server, Wire::Cohere, false, &body).await.status, 422);
}

#[test]
fn coheres_conversations() {
    let user = json!({"role": "user", "content": "1 + 2?"});
    let function = json!({"name": "add", "arguments": "{\"a\":1}"});
    let call = json!({"role": "assistant", "tool_plan": "I add.", "tool_calls": [{"id": "add_1", "type": "function", "function": function}]});
    let document = json!([{"type": "document", "document": {"data": {"sum": 3}}}]);
    let result = json!({"role": "tool", "tool_call_id": "add_1", "content": document});
    let body = |messages: &[&Value]| json!({"messages": messages});
    let refused = |messages: &[&Value], words: &str| check(Wire::Cohere, &body(messages), words);
    assert_eq!(gateway_testkit::models::check_history(Wire::Cohere, &body(&[&user, &call, &result])), Ok(()));
    refused(&[&user, &call], "tool call id add_1 has no tool result");
    refused(&[&user, &result], "not found in previous tool calls");
    refused(
        &[&user, &call, &result, &json!({"role": "assistant", "content": "3"})],
        "the last message must be from",
    );
    let mut object = call.clone();
    object["tool_calls"][0]["function"]["arguments"] = json!({"a": 1});
    refused(&[&user, &object, &result], "arguments that are a JSON object as text");
    let image = json!({"role": "tool", "tool_call_id": "add_1", "content": [{"type": "image_url"}]});
    refused(&[&user, &call, &image], "must not have content of the type 'image_url'");
    let named = json!({"role": "tool", "tool_call_id": "add_1", "name": "add", "content": "3"});
    refused(&[&user, &call, &named], "unknown field: parameter 'name'");
}
