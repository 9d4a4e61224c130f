//! Tool calls of every provider, in every wrapping.

use std::sync::Arc;

use gateway_dialects::{
    Dialects, Protocol,
    arguments::BadArguments,
    calls::{
        Arguments, CallError, CallId, ReadOptions, Reply, RouteFormat, TextScan, ToolCall, parse_reply,
        parse_route, render_route_error, render_route_result, route_format,
        text::{Notation, ToolSchemas},
    },
    stream::Usage,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn call(id: Option<&str>, name: &str, arguments: Arguments) -> ToolCall {
    ToolCall {
        id: id.map_or(CallId::Generated("generated_1".to_owned()), |id| CallId::Given(id.to_owned())),
        name: name.to_owned(),
        arguments,
        item_id: None,
        signature: None,
        extra: Map::new(),
        written: None,
    }
}

fn text(text: &str) -> Arguments {
    Arguments::Text(text.to_owned())
}

fn reply(protocol: Protocol, calls: Vec<ToolCall>) -> Reply {
    Reply { calls, protocol: Some(protocol), ..Reply::default() }
}

/// What was said, whatever was around it.
fn said(value: &Value, options: &ReadOptions<'_>) -> Result<Reply, CallError> {
    parse_reply(value, options).map(|reply| Reply { is_bare: false, ..reply })
}

#[track_caller]
fn check(value: &Value, expected: &Reply) {
    let detected = ReadOptions::default();
    assert_eq!(said(value, &detected).as_ref(), Ok(expected), "detected: {value}");
    let given = ReadOptions { protocol: expected.protocol, ..ReadOptions::default() };
    assert_eq!(said(value, &given).as_ref(), Ok(expected), "given: {value}");
    // The same as text, and as text of text.
    let once = Value::String(value.to_string());
    assert_eq!(said(&once, &detected).as_ref(), Ok(expected), "as text: {value}");
    let twice = Value::String(once.to_string());
    assert_eq!(said(&twice, &detected).as_ref(), Ok(expected), "as text of text: {value}");
}

#[test]
fn a_refusal_is_what_the_model_says() {
    let part = json!({"type": "refusal", "refusal": "I cannot help."});
    for message in [
        json!({"role": "assistant", "content": null, "refusal": "I cannot help."}),
        json!({"role": "assistant", "content": [part]}),
    ] {
        let response = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        let reply = parse_reply(&response, &ReadOptions::default()).unwrap();
        assert_eq!(reply.text, "I cannot help.", "{message}");
    }
    let output = json!([{"type": "message", "role": "assistant", "content": [part]}]);
    let details = json!({"reason": "content_filter"});
    let response = json!({"object": "response", "status": "incomplete", "incomplete_details": details, "output": output});
    let reply = parse_reply(&response, &ReadOptions::default()).unwrap();
    assert_eq!((reply.text.as_str(), reply.stop.as_deref()), ("I cannot help.", Some("content_filter")));
}

#[test]
fn only_a_call_with_nothing_around_it_is_bare() {
    let call = json!({"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}});
    let message = json!({"role": "assistant", "tool_calls": [call]});
    let is_bare = |value: &Value| parse_reply(value, &ReadOptions::default()).unwrap().is_bare;
    let block = json!({"type": "tool_use", "id": "t1", "name": "add", "input": {}});
    for bare in
        [&call, &block, &json!(call.to_string()), &json!({"functionCall": {"name": "add", "args": {}}})]
    {
        assert!(is_bare(bare), "{bare}");
    }
    for whole in [
        json!([call]),
        json!({"choices": [{"message": message}]}),
        json!({"response": call}),
        json!({"role": "assistant", "content": [block]}),
        json!({"role": "model", "parts": [{"functionCall": {"name": "add", "args": {}}}]}),
        json!({"role": "assistant", "content": "no call"}),
        message,
    ] {
        assert!(!is_bare(&whole), "{whole}");
    }
}

#[test]
fn a_call_without_a_name_stays_a_call_in_a_whole_reply() {
    let nameless = json!({"id": "c1", "type": "function", "function": {"arguments": "{}"}});
    let options = ReadOptions::default();
    assert!(matches!(parse_reply(&nameless, &options), Err(CallError::Name { .. })));
    let reply = parse_reply(&json!({"role": "assistant", "tool_calls": [nameless]}), &options).unwrap();
    assert_eq!(reply.calls, [call(Some("c1"), "", text("{}"))]);
    assert_eq!(reply.protocol, Some(Protocol::Chat));
}

#[test]
fn a_response_without_calls_has_its_provider_and_its_usage() {
    let cases = [
        (
            Protocol::Messages,
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "end_turn",
                "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Hello"}],
                "usage": {"input_tokens": 7, "output_tokens": 3}}),
        ),
        (
            Protocol::CohereChat,
            json!({"id": "1", "finish_reason": "COMPLETE", "usage": {"tokens": {"input_tokens": 7.0, "output_tokens": 3}},
                "message": {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]}}),
        ),
        (
            Protocol::Chat,
            json!({"choices": [{"index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": "Hello", "reasoning_content": "hm"}}],
                "usage": {"prompt_tokens": 7, "completion_tokens": 3}}),
        ),
        (
            Protocol::Responses,
            json!({"object": "response", "status": "completed", "usage": {"input_tokens": 7, "output_tokens": 3},
                "output": [{"type": "message", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": "Hello"}]}]}),
        ),
        (
            Protocol::GenerateContent,
            json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3}}),
        ),
        (
            Protocol::Converse,
            json!({"output": {"message": {"role": "assistant", "content": [{"text": "Hello"}]}}, "stopReason": "end_turn",
                "usage": {"inputTokens": 7, "outputTokens": 3}}),
        ),
        (
            Protocol::OllamaChat,
            json!({"model": "m", "done": true, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 3,
                "message": {"role": "assistant", "content": "<think>hm</think>Hello"}}),
        ),
    ];
    for (protocol, response) in cases {
        for value in [response.clone(), Value::String(response.to_string())] {
            let reply = parse_reply(&value, &ReadOptions::default()).unwrap();
            assert_eq!((reply.protocol, reply.text.as_str()), (Some(protocol), "Hello"), "{value}");
            let usage = reply.usage.map(|usage| (usage.input_tokens, usage.output_tokens));
            assert_eq!(usage, Some((7, 3)), "{value}");
        }
    }
    let choice =
        json!({"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"}});
    let reply = parse_reply(&choice, &ReadOptions::default()).unwrap();
    assert_eq!((reply.protocol, reply.usage), (None, None), "a choice by itself may be of several APIs");
}

#[test]
fn chat() {
    let item =
        json!({"id": "call_a", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1}"}});
    let one = || call(Some("call_a"), "add", text("{\"a\":1}"));
    check(&item, &reply(Protocol::Chat, vec![one()]));
    check(&json!([item]), &reply(Protocol::Chat, vec![one()]));
    let second = json!({"id": "call_b", "type": "function", "function": {"name": "now", "arguments": ""}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [item, second]});
    let both = || vec![one(), call(Some("call_b"), "now", text(""))];
    check(&message, &reply(Protocol::Chat, both()));
    let response = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"},
                    {"index": 1, "message": {"role": "assistant", "content": "other"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    });
    let usage = Some(Usage { input_tokens: 1, output_tokens: 2, cached_tokens: 0 });
    check(&response, &Reply { stop: Some("tool_calls".into()), usage, ..reply(Protocol::Chat, both()) });
    // Bare, as seed 004 sends it.
    let bare = json!({"name": "add", "arguments": "{\"a\":1}"});
    check(&bare, &reply(Protocol::Chat, vec![call(None, "add", text("{\"a\":1}"))]));
    // Arguments as an object beside a type: one vendor of this shape does that.
    let object =
        json!({"id": "D681PevKs", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}});
    check(
        &object,
        &reply(Protocol::Chat, vec![call(Some("D681PevKs"), "add", Arguments::Json(json!({"a": 1})))]),
    );
    // Text and reasoning beside the call.
    let spoken =
        json!({"role": "assistant", "content": "Adding.", "reasoning_content": "Sum.", "tool_calls": [item]});
    let said =
        Reply { text: "Adding.".into(), reasoning: "Sum.".into(), ..reply(Protocol::Chat, vec![one()]) };
    check(&spoken, &said);
}

#[test]
fn legacy_function_call() {
    let inner = json!({"name": "add", "arguments": "{\"a\":1}"});
    let expected = reply(Protocol::Functions, vec![call(None, "add", text("{\"a\":1}"))]);
    check(&json!({"function_call": inner}), &expected);
    check(&json!({"role": "assistant", "content": null, "function_call": inner}), &expected);
    let response = json!({"choices": [{"message": {"role": "assistant", "content": null, "function_call": inner}, "finish_reason": "function_call"}]});
    check(&response, &Reply { stop: Some("function_call".into()), ..expected });
}

#[test]
fn responses() {
    let item = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "{}", "status": "completed"});
    let mut extra = Map::new();
    extra.insert("status".into(), json!("completed"));
    let one = || ToolCall {
        item_id: Some("fc_1".into()),
        extra: extra.clone(),
        ..call(Some("call_1"), "add", text("{}"))
    };
    check(&item, &reply(Protocol::Responses, vec![one()]));
    check(&json!([item]), &reply(Protocol::Responses, vec![one()]));
    let thought = json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"});
    let response = json!({
        "object": "response", "status": "completed",
        "output": [
            thought,
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Hi", "annotations": []}]},
            item,
        ],
    });
    let expected = Reply {
        text: "Hi".into(),
        reasoning: "Hm.".into(),
        reasoning_items: vec![thought],
        stop: Some("completed".into()),
        ..reply(Protocol::Responses, vec![one()])
    };
    check(&response, &expected);
}

#[test]
fn messages() {
    let block = json!({"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}});
    let one = || call(Some("toolu_1"), "add", Arguments::Json(json!({"a": 1})));
    check(&block, &reply(Protocol::Messages, vec![one()]));
    let thought = json!({"type": "thinking", "thinking": "Hm.", "signature": "sig"});
    let blocks = json!([thought, {"type": "text", "text": "I add."}, block, block]);
    let all = || Reply {
        text: "I add.".into(),
        reasoning: "Hm.".into(),
        reasoning_items: vec![thought.clone()],
        ..reply(Protocol::Messages, vec![one(), one()])
    };
    check(&blocks, &all());
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "content": blocks, "stop_reason": "tool_use"});
    check(&message, &Reply { stop: Some("tool_use".into()), ..all() });
    // Without a type, as one tool's own handler sends it.
    check(
        &json!({"name": "add", "input": {"a": 1}}),
        &reply(Protocol::Messages, vec![call(None, "add", Arguments::Json(json!({"a": 1})))]),
    );
    check(
        &json!({"id": "x", "name": "add", "input": {}}),
        &reply(Protocol::Messages, vec![call(Some("x"), "add", Arguments::Json(json!({})))]),
    );
}

#[test]
fn generate_content() {
    let args = || Arguments::Json(json!({"query": "tasks"}));
    let expected = || reply(Protocol::GenerateContent, vec![call(None, "query_nodes", args())]);
    let inner = json!({"name": "query_nodes", "args": {"query": "tasks"}});
    check(&inner, &expected());
    check(&json!({"functionCall": inner}), &expected());
    check(&json!({"function_call": inner}), &expected());
    check(&json!({"role": "model", "parts": [{"functionCall": inner}]}), &expected());
    let signed = |id: &str, signature: Option<&str>| ToolCall {
        signature: signature.map(str::to_owned),
        ..call(Some(id), "query_nodes", args())
    };
    let part = |id: &str| json!({"id": id, "name": "query_nodes", "args": {"query": "tasks"}});
    let response = json!({
        "candidates": [{
            "content": {"role": "model", "parts": [
                {"text": "Let me see.", "thought": true},
                {"inlineData": {"mimeType": "image/png", "data": "AA=="}},
                {"text": "Looking."},
                {"functionCall": part("a"), "thoughtSignature": "c2ln"},
                {"functionCall": part("b")},
                {"text": "", "thoughtSignature": "bGF0ZQ=="},
            ]},
            "finishReason": "STOP",
        }],
        "usageMetadata": {},
    });
    let whole = Reply {
        text: "Looking.".into(),
        reasoning: "Let me see.".into(),
        signature: Some("bGF0ZQ==".into()),
        stop: Some("STOP".into()),
        ..reply(Protocol::GenerateContent, vec![signed("a", Some("c2ln")), signed("b", None)])
    };
    check(&response, &whole);
    let blocked = json!({"candidates": [{"finishReason": "SAFETY", "index": 0}]});
    check(&blocked, &Reply { stop: Some("SAFETY".into()), ..reply(Protocol::GenerateContent, vec![]) });
    // No arguments at all.
    check(
        &json!({"functionCall": {"name": "now"}}),
        &reply(Protocol::GenerateContent, vec![call(None, "now", Arguments::Missing)]),
    );
}

#[test]
fn signatures_on_compatible_routes() {
    for vendor in ["google", "vertex"] {
        let content = json!({vendor: {"thought_signature": "c2ln"}});
        let item = json!({"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}, "extra_content": content});
        let mut extra = Map::new();
        extra.insert("extra_content".into(), content);
        let signed = ToolCall { signature: Some("c2ln".into()), extra, ..call(Some("c"), "add", text("{}")) };
        check(&item, &reply(Protocol::Chat, vec![signed]));
    }
}

#[test]
fn converse() {
    let block = json!({"toolUse": {"toolUseId": "tooluse_1", "name": "add", "input": {"a": 1}}});
    let one = || call(Some("tooluse_1"), "add", Arguments::Json(json!({"a": 1})));
    check(&block, &reply(Protocol::Converse, vec![one()]));
    check(
        &json!({"toolUseId": "tooluse_1", "name": "add", "input": {"a": 1}}),
        &reply(Protocol::Converse, vec![one()]),
    );
    let thought = json!({"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}});
    let message = json!({"role": "assistant", "content": [thought, {"text": "I add."}, block]});
    let all = || Reply {
        text: "I add.".into(),
        reasoning: "Hm.".into(),
        reasoning_items: vec![thought.clone()],
        ..reply(Protocol::Converse, vec![one()])
    };
    check(&message, &all());
    let response =
        json!({"output": {"message": message}, "stopReason": "tool_use", "usage": {"inputTokens": 1}});
    let usage = Some(Usage { input_tokens: 1, output_tokens: 0, cached_tokens: 0 });
    check(&response, &Reply { stop: Some("tool_use".into()), usage, ..all() });
}

#[test]
fn cohere_ollama_and_mcp() {
    let message = json!({
        "role": "assistant", "tool_plan": "I will add.",
        "tool_calls": [{"id": "add_1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1}"}}],
    });
    let planned = Reply {
        reasoning: "I will add.".into(),
        ..reply(Protocol::CohereChat, vec![call(Some("add_1"), "add", text("{\"a\":1}"))])
    };
    check(&message, &planned);
    let response = json!({"id": "r", "finish_reason": "TOOL_CALL", "message": message, "usage": {}});
    check(&response, &Reply { stop: Some("TOOL_CALL".into()), ..planned });

    let message = json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]});
    let local = reply(Protocol::OllamaChat, vec![call(None, "add", Arguments::Json(json!({"a": 1})))]);
    check(&message, &local);
    let line = json!({"model": "llama3.1", "message": message, "done": true, "done_reason": "stop"});
    check(&line, &Reply { stop: Some("stop".into()), ..local });

    let request = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1}}});
    let mut extra = Map::new();
    extra.insert("id".into(), json!(7));
    let called = ToolCall { extra, ..call(Some("7"), "add", Arguments::Json(json!({"a": 1}))) };
    check(&request, &reply(Protocol::Mcp, vec![called]));
}

#[test]
fn argo_envelopes() {
    let envelope = |calls: Value| json!({"response": {"content": "ok", "tool_calls": calls}});
    let with_text = |protocol, calls| Reply { text: "ok".into(), ..reply(protocol, calls) };
    check(
        &envelope(json!([{"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}])),
        &with_text(Protocol::Chat, vec![call(Some("c"), "add", text("{}"))]),
    );
    check(
        &envelope(json!([{"id": "t", "input": {"a": 1}, "name": "add", "type": "tool_use"}])),
        &with_text(Protocol::Messages, vec![call(Some("t"), "add", Arguments::Json(json!({"a": 1})))]),
    );
    check(
        &envelope(json!({"id": null, "args": {"a": 1}, "name": "add"})),
        &with_text(Protocol::GenerateContent, vec![call(None, "add", Arguments::Json(json!({"a": 1})))]),
    );
    check(
        &json!({"response": {"content": "ok", "tool_calls": null}}),
        &Reply { text: "ok".into(), ..Reply::default() },
    );
}

#[test]
fn generated_ids_count_and_avoid_given_ones() {
    let list = json!([
        {"functionCall": {"name": "a", "args": {}}},
        {"functionCall": {"id": "generated_1", "name": "b", "args": {}}},
        {"functionCall": {"name": "c", "args": {}}},
    ]);
    let ids = |after| {
        let options = ReadOptions { ids_after: after, ..ReadOptions::default() };
        parse_reply(&list, &options).unwrap().calls.into_iter().map(|call| call.id).collect::<Vec<_>>()
    };
    let generated = |id: &str| CallId::Generated(id.to_owned());
    let given = CallId::Given("generated_1".to_owned());
    assert_eq!(ids(0), [generated("generated_2"), given.clone(), generated("generated_3")]);
    assert_eq!(ids(10), [generated("generated_11"), given, generated("generated_12")]);
}

#[test]
fn ambiguous_shapes_name_their_candidates() {
    let cases = [
        (json!({"name": "add", "arguments": {"a": 1}}), "openai-chat or ollama or mcp"),
        (json!({"name": "add"}), "openai-chat or gemini or anthropic or mcp"),
        (json!({"name": "add", "args": {}, "arguments": "{}"}), "gemini or openai-chat"),
        (
            json!({"function_call": {"name": "add", "args": {}, "arguments": "{}"}}),
            "openai-functions or gemini",
        ),
        (
            json!([{"type": "tool_use", "id": "1", "name": "a", "input": {}}, {"name": "b", "args": {}}]),
            "anthropic or gemini",
        ),
    ];
    for (value, candidates) in cases {
        let error = parse_reply(&value, &ReadOptions::default()).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("ambiguous tool call: it could be {candidates}; name the provider"),
            "{value}"
        );
        for candidate in candidates.split(" or ") {
            assert!(Dialects::builtin().get(candidate).is_ok(), "{candidate} can be named");
        }
    }
    let plain = said(&json!({"function_call": {"name": "add"}}), &ReadOptions::default()).unwrap();
    assert_eq!(plain, reply(Protocol::Functions, vec![call(None, "add", Arguments::Missing)]));
    // A provider settles it.
    for protocol in [Protocol::Chat, Protocol::Mcp, Protocol::OllamaChat, Protocol::Responses] {
        let options = ReadOptions { protocol: Some(protocol), ..ReadOptions::default() };
        let got = said(&json!({"name": "add", "arguments": {"a": 1}}), &options).unwrap();
        assert_eq!(got, reply(protocol, vec![call(None, "add", Arguments::Json(json!({"a": 1})))]));
    }
}

#[test]
fn error_texts_carry_the_label() {
    let gemini =
        ReadOptions { protocol: Some(Protocol::GenerateContent), label: "Gemini", ..ReadOptions::default() };
    let object = "Invalid Gemini function call: must be an object";
    let name = "Invalid Gemini function call: missing or invalid \"name\" field";
    let cases = [
        (json!(null), object),
        (json!(5), object),
        (json!("call me"), object),
        (json!(["x"]), object),
        (json!({"functionCall": "x"}), object),
        (json!({}), name),
        (json!({"args": {}}), name),
        (json!({"name": 5, "args": {}}), name),
        (json!({"name": "", "args": {}}), name),
        (json!({"functionCall": {"args": {}}}), name),
    ];
    for (value, text) in cases {
        assert_eq!(parse_reply(&value, &gemini).unwrap_err().to_string(), text, "{value}");
    }
    let chat = ReadOptions { protocol: Some(Protocol::Chat), label: "OpenAI", ..ReadOptions::default() };
    let error =
        parse_reply(&json!({"type": "function", "function": {"arguments": "{}"}}), &chat).unwrap_err();
    assert_eq!(error.to_string(), "Invalid OpenAI function call: missing or invalid \"name\" field");
    assert_eq!(
        parse_reply(&json!({"foo": 1}), &ReadOptions::default()).unwrap_err().to_string(),
        "Invalid function call: no tool call and no message in an object with foo"
    );
}

#[test]
fn route_formats() {
    let cases = [
        (json!("<add><a>1</a></add>"), RouteFormat::Xml),
        (json!("just text"), RouteFormat::Xml),
        (json!({"function_call": {"name": "a"}}), RouteFormat::OpenAi),
        (json!({"tool_calls": []}), RouteFormat::OpenAi),
        (json!("{\"tool_calls\":[]}"), RouteFormat::OpenAi),
        (json!({"type": "tool_use", "name": "a"}), RouteFormat::Neutral),
        (json!("{\"name\":\"a\",\"input\":{\"x\":\"a<b>c\"}}"), RouteFormat::Json),
        (json!({"name": "a", "input": {}}), RouteFormat::Json),
    ];
    for (request, format) in cases {
        assert_eq!(route_format(&request), format, "{request}");
    }
}

#[test]
fn routes_answer_in_kind() {
    let input = || Arguments::Json(json!({"x": "a<b>c"}));
    let request = json!("{\"name\":\"a\",\"input\":{\"x\":\"a<b>c\"}}");
    let got = parse_route(&request, RouteFormat::Json, TextScan::default()).unwrap();
    assert_eq!(got.calls, [call(None, "a", input())]);
    let error =
        parse_route(&json!({"id": "1", "input": {}}), RouteFormat::Json, TextScan::default()).unwrap_err();
    assert!(error.to_string().starts_with("Failed to convert JSON to MCP format: "), "{error}");
    let tools = Arc::new(ToolSchemas::default());
    let xml =
        parse_route(&json!("<a><x>a&lt;b&gt;c</x></a>"), RouteFormat::Xml, TextScan::Whole(tools)).unwrap();
    let written = ToolCall { written: Some(Notation::Xml), ..call(None, "a", input()) };
    assert_eq!((xml.calls, xml.written), (vec![written], Some(Notation::Xml)));

    let result = json!({"tool_use_id": "t1", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "2 < 3"}], "status": "success"});
    let mut neutral = json!({"type": "tool_result"});
    neutral.as_object_mut().unwrap().extend(result.as_object().unwrap().clone());
    assert_eq!(render_route_result(&result, RouteFormat::Neutral), neutral);
    assert_eq!(render_route_result(&result, RouteFormat::Json), neutral);
    assert_eq!(
        render_route_result(&result, RouteFormat::OpenAi),
        json!({"role": "tool", "tool_call_id": "t1", "content": "one\n2 < 3"})
    );
    assert_eq!(
        render_route_result(&result, RouteFormat::Xml),
        json!("<tool_result tool_use_id=\"t1\" status=\"success\">\none\n2 &lt; 3\n</tool_result>")
    );
    assert_eq!(
        render_route_error("no <such> tool", RouteFormat::OpenAi),
        json!({"role": "tool", "tool_call_id": "error", "content": "Error routing tool use: no <such> tool"})
    );
    assert_eq!(
        render_route_error("bad", RouteFormat::Xml),
        json!(
            "<tool_result tool_use_id=\"error\" status=\"error\">\nError routing tool use: bad\n<error message=\"bad\" />\n</tool_result>"
        )
    );
}

#[test]
fn endless_wrapping_is_refused() {
    let mut value = json!({"name": "a", "args": {}});
    for _ in 0..40 {
        value = json!({"response": value});
    }
    assert_eq!(parse_reply(&value, &ReadOptions::default()), Err(CallError::TooDeep));
}

fn any_reply() -> impl Strategy<Value = Value> {
    let words = vec![
        "type",
        "name",
        "id",
        "args",
        "arguments",
        "input",
        "function",
        "functionCall",
        "function_call",
        "tool_calls",
        "choices",
        "message",
        "content",
        "parts",
        "candidates",
        "output",
        "response",
        "role",
        "toolUse",
        "text",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::from),
        prop::sample::select(vec!["tool_use", "function", "function_call", "text", "a", "{}", "<a>", ""])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 4, move |inner| {
        let key = prop::sample::select(words.clone()).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn reading_never_panics_and_is_deterministic(value in any_reply(), words in "[<>{}a-c/\":, ]{0,40}") {
        let first = parse_reply(&value, &ReadOptions::default());
        prop_assert_eq!(parse_reply(&value, &ReadOptions::default()), first);
        let _ = parse_reply(&Value::String(words), &ReadOptions::default());
    }
}

#[test]
fn bad_arguments_are_told_in_the_name_of_the_provider() {
    let dialects = gateway_dialects::Dialects::builtin();
    for (dialect, label) in
        [("openai", "OpenAI"), ("xai", "xAI"), ("gemini", "Gemini"), ("anthropic", "Anthropic")]
    {
        assert_eq!(dialects.get(dialect).unwrap().label, label);
    }
    let value = json!({"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{a:"}});
    let reply = parse_reply(&value, &ReadOptions::default()).unwrap();
    let told =
        |label: &str| reply.calls[0].arguments_object(label, BadArguments::Error).unwrap_err().to_string();
    assert!(
        told("xAI").starts_with("Invalid xAI function call: arguments field is not valid JSON: "),
        "{}",
        told("xAI")
    );
    assert!(
        told("").starts_with("Invalid function call: arguments field is not valid JSON: "),
        "{}",
        told("")
    );
}
