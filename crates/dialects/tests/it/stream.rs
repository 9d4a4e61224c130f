//! Streamed replies of every provider.

use gateway_dialects::{
    Protocol,
    calls::{Arguments, CallId, TextScan, ToolCall, text::Notation},
    stream::{Assembler, Outcome, StreamEvent, StreamOptions, StreamedCall, TextStream, Usage},
};
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

fn done(call: ToolCall) -> StreamEvent {
    StreamEvent::Call(StreamedCall { call, outcome: Outcome::Complete })
}

fn said(text: &str) -> StreamEvent {
    StreamEvent::Text(text.to_owned())
}

fn thought(text: &str) -> StreamEvent {
    StreamEvent::Reasoning(text.to_owned())
}

fn stop(reason: &str) -> StreamEvent {
    StreamEvent::Stop(reason.to_owned())
}

fn used(input_tokens: u64, output_tokens: u64) -> StreamEvent {
    StreamEvent::Usage(Usage { input_tokens, output_tokens, cached_tokens: 0 })
}

fn run(protocol: Protocol, chunks: &[Value]) -> Vec<StreamEvent> {
    run_with(StreamOptions::default(), protocol, chunks)
}

fn run_with(options: StreamOptions, protocol: Protocol, chunks: &[Value]) -> Vec<StreamEvent> {
    let mut assembler = Assembler::new(protocol, options);
    let mut events: Vec<StreamEvent> = chunks.iter().flat_map(|chunk| assembler.push(chunk)).collect();
    events.extend(assembler.finish());
    events
}

#[track_caller]
fn check(protocol: Protocol, chunks: &[Value], events: &[StreamEvent]) {
    check_with(StreamOptions::default(), protocol, chunks, events);
}

#[track_caller]
fn check_with(options: StreamOptions, protocol: Protocol, chunks: &[Value], events: &[StreamEvent]) {
    assert_eq!(run_with(options.clone(), protocol, chunks), events);
    // Once more with the same assembler gives the same, but for ids that count on.
    let mut assembler = Assembler::new(protocol, options);
    for chunk in chunks {
        assembler.push(chunk);
    }
    assembler.reset();
    let again: usize = chunks.iter().map(|chunk| assembler.push(chunk).len()).sum();
    assert_eq!(again + assembler.finish().len(), events.len());
}

/// A chat chunk with these tool call fragments.
#[expect(clippy::needless_pass_by_value, reason = "cases read better by value")]
fn delta(fragments: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": {"tool_calls": fragments}, "finish_reason": null}]})
}

fn end(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

#[test]
fn a_refusal_is_what_the_model_says() {
    check(
        Protocol::Chat,
        &[
            json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": null, "refusal": null}}]}),
            json!({"choices": [{"index": 0, "delta": {"refusal": "I cannot "}}]}),
            json!({"choices": [{"index": 0, "delta": {"refusal": "help."}}]}),
            end("stop"),
        ],
        &[said("I cannot "), said("help."), stop("stop")],
    );
}

#[test]
fn arguments_that_wait_are_counted() {
    let mut assembler = Assembler::new(Protocol::Chat, StreamOptions::default());
    let begun = |index: u64, piece: &str| {
        delta(
            json!([{"index": index, "id": format!("c{index}"), "function": {"name": "add", "arguments": piece}}]),
        )
    };
    assembler.push(&begun(0, "{\"a\":"));
    assembler.push(&begun(1, "{\"b\":1"));
    assert_eq!(assembler.waiting_bytes(), 11);
    assembler.push(&end("tool_calls"));
    assert_eq!(assembler.waiting_bytes(), 0);
}

#[test]
fn chat_as_documented() {
    check(
        Protocol::Chat,
        &[
            json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "I "}}]}),
            json!({"choices": [{"index": 0, "delta": {"content": "add."}}]}),
            delta(
                json!([{"index": 0, "id": "call_a", "type": "function", "function": {"name": "add", "arguments": ""}}]),
            ),
            delta(json!([{"index": 0, "function": {"arguments": "{\"a\""}}])),
            delta(json!([{"index": 0, "function": {"arguments": ":1}"}}])),
            delta(
                json!([{"index": 1, "id": "call_b", "type": "function", "function": {"name": "now", "arguments": ""}}]),
            ),
            end("tool_calls"),
            json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}),
        ],
        &[
            said("I "),
            said("add."),
            stop("tool_calls"),
            done(call(Some("call_a"), "add", text("{\"a\":1}"))),
            done(call(Some("call_b"), "now", text(""))),
            used(10, 5),
        ],
    );
}

#[test]
fn interleaved_calls_in_single_characters() {
    let (first, second) = (r#"{"city":"Zürich","n":{}}"#, r#"{"q":"{}{}"}"#);
    let mut chunks = vec![
        delta(json!([{"index": 0, "id": "a", "function": {"name": "one"}}])),
        delta(json!([{"index": 1, "id": "b", "function": {"name": "two"}}])),
    ];
    let longest = first.chars().count().max(second.chars().count());
    for at in 0..longest {
        let piece = |index: usize, text: &str| {
            let piece = text.chars().nth(at)?.to_string();
            Some(json!({"index": index, "function": {"arguments": piece}}))
        };
        chunks.push(delta(Value::Array(piece(0, first).into_iter().chain(piece(1, second)).collect())));
    }
    chunks.push(end("tool_calls"));
    check(
        Protocol::Chat,
        &chunks,
        &[
            stop("tool_calls"),
            done(call(Some("a"), "one", text(first))),
            done(call(Some("b"), "two", text(second))),
        ],
    );
}

#[test]
fn chat_as_compatible_servers_send_it() {
    let add = |id| done(call(id, "add", text("{\"a\":1}")));
    let same: Vec<(&str, Vec<Value>)> = vec![
        (
            "id and name in every fragment",
            vec![
                delta(json!([{"index": 0, "id": "x", "function": {"name": "add", "arguments": "{\"a\""}}])),
                delta(json!([{"index": 0, "id": "x", "function": {"name": "add", "arguments": ":1}"}}])),
            ],
        ),
        (
            "no index",
            vec![
                delta(json!([{"id": "x", "function": {"name": "add", "arguments": "{\"a\""}}])),
                delta(json!([{"function": {"arguments": ":1}"}}])),
            ],
        ),
        (
            "no index, id repeated",
            vec![
                delta(json!([{"id": "x", "function": {"name": "add", "arguments": "{\"a\""}}])),
                delta(json!([{"id": "x", "function": {"arguments": ":1}"}}])),
            ],
        ),
        (
            "no index, name repeated",
            vec![
                delta(json!([{"id": "x", "function": {"name": "add", "arguments": "{\"a\""}}])),
                delta(json!([{"function": {"name": "add", "arguments": ":1}"}}])),
            ],
        ),
        (
            "empty id and name in continuations",
            vec![
                delta(json!([{"index": 0, "id": "x", "function": {"name": "add", "arguments": "{\"a\""}}])),
                delta(json!([{"index": 0, "id": "", "function": {"name": "", "arguments": ":1}"}}])),
            ],
        ),
        (
            "whole call at once",
            vec![delta(
                json!([{"index": 0, "id": "x", "function": {"name": "add", "arguments": "{\"a\":1}"}}]),
            )],
        ),
        (
            "whole call once more at the end",
            vec![
                delta(json!([{"index": 0, "id": "x", "function": {"name": "add", "arguments": "{\"a\""}}])),
                delta(json!([{"index": 0, "function": {"arguments": ":1}"}}])),
                delta(
                    json!([{"index": 0, "id": "x", "function": {"name": "add", "arguments": "{\"a\":1}"}}]),
                ),
            ],
        ),
        (
            "name in pieces",
            vec![
                delta(json!([{"index": 0, "id": "x", "function": {"name": "a"}}])),
                delta(json!([{"index": 0, "function": {"name": "dd", "arguments": "{\"a\":1}"}}])),
            ],
        ),
        (
            "an object in place of the list",
            vec![delta(
                json!({"index": 0, "id": "x", "function": {"name": "add", "arguments": "{\"a\":1}"}}),
            )],
        ),
        (
            "a message in place of the delta",
            vec![
                json!({"choices": [{"message": {"tool_calls": [{"id": "x", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1}"}}]}}]}),
            ],
        ),
    ];
    for (what, chunks) in same {
        let mut whole = chunks.clone();
        whole.push(end("tool_calls"));
        assert_eq!(run(Protocol::Chat, &whole), [stop("tool_calls"), add(Some("x"))], "{what}");
        // The end without a word: a whole object is complete all the same.
        assert_eq!(run(Protocol::Chat, &chunks), [add(Some("x"))], "{what}, no finish reason");
    }
    // Arguments as an object.
    check(
        Protocol::Chat,
        &[
            delta(json!([{"index": 0, "id": "x", "function": {"name": "add", "arguments": {"a": 1}}}])),
            end("stop"),
        ],
        &[stop("stop"), done(call(Some("x"), "add", Arguments::Json(json!({"a": 1}))))],
    );
    // Two whole calls without index and id; parallel calls all numbered zero.
    let two = [
        done(call(None, "add", text("{\"a\":1}"))),
        done(ToolCall {
            id: CallId::Generated("generated_2".into()),
            ..call(None, "add", text("{\"a\":2}"))
        }),
    ];
    check(
        Protocol::Chat,
        &[
            delta(json!([{"function": {"name": "add", "arguments": "{\"a\":1}"}}])),
            delta(json!([{"function": {"name": "add", "arguments": "{\"a\":2}"}}])),
        ],
        &two,
    );
    check(
        Protocol::Chat,
        &[
            delta(json!([{"index": 0, "id": "x", "function": {"name": "add", "arguments": "{}"}}])),
            delta(json!([{"index": 0, "id": "y", "function": {"name": "add", "arguments": "{}"}}])),
            end("stop"),
        ],
        &[stop("stop"), done(call(Some("x"), "add", text("{}"))), done(call(Some("y"), "add", text("{}")))],
    );
    // The signature that has to come back.
    let mut extra = Map::new();
    extra.insert("extra_content".into(), json!({"google": {"thought_signature": "c2ln"}}));
    let signed = ToolCall { signature: Some("c2ln".into()), extra, ..call(Some("x"), "add", text("{}")) };
    check(
        Protocol::Chat,
        &[
            delta(
                json!([{"index": 0, "id": "x", "function": {"name": "add", "arguments": "{}"}, "extra_content": {"google": {"thought_signature": "c2ln"}}}]),
            ),
            end("stop"),
        ],
        &[stop("stop"), done(signed)],
    );
}

#[test]
fn empty_object_prefix_is_no_end() {
    let mut assembler = Assembler::new(Protocol::Chat, StreamOptions::default());
    let open = assembler
        .push(&delta(json!([{"index": 0, "id": "x", "function": {"name": "add", "arguments": "{}"}}])));
    assert_eq!(open, []);
    assert_eq!(
        assembler.push(&end("tool_calls")),
        [stop("tool_calls"), done(call(Some("x"), "add", text("{}")))]
    );
    assert_eq!(assembler.push(&delta(json!([{"index": 0, "function": {"arguments": "late"}}]))), []);
    assert_eq!(assembler.finish(), []);
}

#[test]
fn legacy_function_call() {
    let piece = |call: Value| json!({"choices": [{"index": 0, "delta": {"function_call": call}}]});
    let chunks = [
        piece(json!({"name": "test_tool", "arguments": ""})),
        piece(json!({"arguments": "{\"pa"})),
        piece(json!({"arguments": "ram\":"})),
        piece(json!({"arguments": "\"test "})),
        piece(json!({"arguments": "value\""})),
        piece(json!({"arguments": "}"})),
    ];
    let expected = done(call(None, "test_tool", text("{\"param\":\"test value\"}")));
    check(Protocol::Functions, &chunks, std::slice::from_ref(&expected));
    // Seed 002's own stream: all in one chunk and no finish reason.
    let seed = [
        json!({"choices": [{"delta": {"function_call": {"name": "test_tool", "arguments": "{\"param\":\"test value\"}"}}}]}),
    ];
    check(Protocol::Functions, &seed, &[expected]);
}

#[test]
fn unfinished_and_limited_calls() {
    let cut = delta(json!([{"index": 0, "id": "x", "function": {"name": "add", "arguments": "{\"a\":"}}]));
    assert_eq!(
        run(Protocol::Chat, &[cut]),
        [StreamEvent::Call(StreamedCall {
            call: call(Some("x"), "add", text("{\"a\":")),
            outcome: Outcome::Unfinished
        })]
    );
    let mut options = StreamOptions::default();
    options.argument_limit = 7;
    let mut assembler = Assembler::new(Protocol::Chat, options);
    for piece in ["{\"a\":", "\"é", "é\"}", "more"] {
        assembler
            .push(&delta(json!([{"index": 0, "id": "x", "function": {"name": "add", "arguments": piece}}])));
    }
    assert_eq!(
        assembler.push(&end("tool_calls")),
        [
            stop("tool_calls"),
            StreamEvent::Call(StreamedCall {
                call: call(Some("x"), "add", text("{\"a\":\"")),
                outcome: Outcome::Limited
            })
        ]
    );
    // The default is 256 KiB, to the byte.
    for (length, outcome) in [(256 * 1024, Outcome::Complete), (256 * 1024 + 1, Outcome::Limited)] {
        let arguments = format!("{{\"a\":\"{}\"}}", "x".repeat(length - 8));
        let events = run(
            Protocol::Chat,
            &[delta(json!([{"index": 0, "function": {"name": "a", "arguments": arguments}}])), end("stop")],
        );
        let StreamEvent::Call(last) = events.last().unwrap() else { panic!("{events:?}") };
        assert_eq!(last.outcome, outcome, "{length}");
        assert!(matches!(&last.call.arguments, Arguments::Text(text) if text.len() == 256 * 1024));
    }
    let mut options = StreamOptions::default();
    options.call_limit = 1;
    let mut assembler = Assembler::new(Protocol::Chat, options);
    let mut events = Vec::new();
    for index in 0..3 {
        events.extend(assembler.push(&delta(
            json!([{"index": index, "id": index.to_string(), "function": {"name": "a", "arguments": "{}"}}]),
        )));
    }
    events.extend(assembler.push(&end("stop")));
    assert_eq!(events, [StreamEvent::TooManyCalls(1), stop("stop"), done(call(Some("0"), "a", text("{}")))]);
}

#[test]
fn responses() {
    let item = |arguments: &str, status: &str| json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": arguments, "status": status});
    let mut extra = Map::new();
    extra.insert("status".into(), json!("completed"));
    let expected =
        ToolCall { item_id: Some("fc_1".into()), extra, ..call(Some("call_1"), "add", text("{\"a\":1}")) };
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let mut chunks = vec![
        json!({"type": "response.created", "response": {"status": "in_progress"}}),
        json!({"type": "response.reasoning_summary_text.delta", "delta": "Hm."}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning}),
        json!({"type": "response.output_text.delta", "delta": "Hi"}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": item("", "in_progress")}),
    ];
    for piece in ["{", "\"a\"", ":1}"] {
        chunks.push(json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 1, "delta": piece}));
    }
    chunks.push(json!({"type": "response.function_call_arguments.done", "item_id": "fc_1", "output_index": 1, "arguments": "{\"a\":1}"}));
    chunks.push(json!({"type": "response.output_item.done", "output_index": 1, "item": item("{\"a\":1}", "completed")}));
    let last = json!({"type": "response.completed", "response": {"status": "completed", "output": [reasoning, item("{\"a\":1}", "completed")], "usage": {"input_tokens": 3, "output_tokens": 4}}});
    chunks.push(last.clone());
    let events = [
        thought("Hm."),
        StreamEvent::ReasoningItem(reasoning),
        said("Hi"),
        done(expected.clone()),
        stop("completed"),
        used(3, 4),
    ];
    check(Protocol::Responses, &chunks, &events);
    // Only the last event came through.
    check(Protocol::Responses, &[last], &[done(expected), stop("completed"), used(3, 4)]);
}

#[test]
fn messages() {
    let start = |index: u32, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let more =
        |index: u32, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let over = |index: u32| json!({"type": "content_block_stop", "index": index});
    check(
        Protocol::Messages,
        &[
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 25, "output_tokens": 1}}}),
            start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
            more(0, json!({"type": "thinking_delta", "thinking": "Hm"})),
            more(0, json!({"type": "thinking_delta", "thinking": "."})),
            more(0, json!({"type": "signature_delta", "signature": "sig"})),
            over(0),
            json!({"type": "ping"}),
            start(1, json!({"type": "text", "text": ""})),
            more(1, json!({"type": "text_delta", "text": "Ok"})),
            over(1),
            start(2, json!({"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}})),
            more(2, json!({"type": "input_json_delta", "partial_json": ""})),
            more(2, json!({"type": "input_json_delta", "partial_json": "{\"a\":"})),
            more(2, json!({"type": "input_json_delta", "partial_json": " 1}"})),
            over(2),
            start(3, json!({"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}})),
            over(3),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 15}}),
            json!({"type": "message_stop"}),
        ],
        &[
            thought("Hm"),
            thought("."),
            StreamEvent::ReasoningItem(json!({"type": "thinking", "thinking": "Hm.", "signature": "sig"})),
            said("Ok"),
            done(call(Some("toolu_1"), "add", text("{\"a\": 1}"))),
            done(call(Some("toolu_2"), "now", Arguments::Json(json!({})))),
            stop("tool_use"),
            used(25, 15),
        ],
    );
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert_eq!(
        run(Protocol::Messages, std::slice::from_ref(&overloaded)),
        [StreamEvent::Error(overloaded["error"].clone())]
    );
}

#[test]
fn generate_content() {
    let chunk = |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
    let args = || Arguments::Json(json!({"a": 1}));
    check(
        Protocol::GenerateContent,
        &[
            chunk(json!([{"text": "Hm.", "thought": true}])),
            chunk(json!([{"text": "Ok"}])),
            chunk(json!([{"functionCall": {"name": "add", "args": {"a": 1}}, "thoughtSignature": "c2ln"}])),
            chunk(json!([{"functionCall": {"id": "b", "name": "add", "args": {"a": 1}}}])),
            json!({"candidates": [{"content": {"parts": [{"text": "", "thoughtSignature": "ZW5k"}]}, "finishReason": "STOP"}],
                   "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 8}}),
        ],
        &[
            thought("Hm."),
            said("Ok"),
            done(ToolCall { signature: Some("c2ln".into()), ..call(None, "add", args()) }),
            done(call(Some("b"), "add", args())),
            StreamEvent::Signature("ZW5k".into()),
            stop("STOP"),
            used(7, 8),
        ],
    );
    // Arguments place by place.
    let partial = |path: &str, value: Value, more: bool| {
        let mut piece = json!({"jsonPath": path, "willContinue": more});
        piece.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        chunk(json!([{"functionCall": {"partialArgs": [piece], "willContinue": true}}]))
    };
    check(
        Protocol::GenerateContent,
        &[
            chunk(
                json!([{"functionCall": {"name": "book", "id": "p", "willContinue": true}, "thoughtSignature": "s"}]),
            ),
            partial("$.city", json!({"stringValue": "Zü"}), true),
            partial("$.city", json!({"stringValue": "rich"}), false),
            partial("$.rooms[0].beds", json!({"numberValue": 2}), false),
            partial("$.rooms[1].sea", json!({"boolValue": true}), false),
            partial("$.note", json!({"nullValue": "NULL_VALUE"}), false),
            chunk(json!([{"functionCall": {}}])),
        ],
        &[done(ToolCall {
            signature: Some("s".into()),
            ..call(
                Some("p"),
                "book",
                Arguments::Json(
                    json!({"city": "Zürich", "rooms": [{"beds": 2}, {"sea": true}], "note": null}),
                ),
            )
        })],
    );
}

#[test]
fn converse() {
    let more =
        |index: u32, delta: Value| json!({"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}});
    let over = |index: u32| json!({"contentBlockStop": {"contentBlockIndex": index}});
    check(
        Protocol::Converse,
        &[
            json!({"messageStart": {"role": "assistant"}}),
            more(0, json!({"reasoningContent": {"text": "Hm."}})),
            more(0, json!({"reasoningContent": {"signature": "s"}})),
            over(0),
            more(1, json!({"text": "Ok"})),
            over(1),
            json!({"contentBlockStart": {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t1", "name": "add"}}}}),
            more(2, json!({"toolUse": {"input": ""}})),
            more(2, json!({"toolUse": {"input": "{\"a\""}})),
            more(2, json!({"toolUse": {"input": ":1}"}})),
            over(2),
            json!({"contentBlockStart": {"contentBlockIndex": 3, "start": {"toolUse": {"toolUseId": "t2", "name": "now"}}}}),
            over(3),
            json!({"messageStop": {"stopReason": "tool_use"}}),
            json!({"metadata": {"usage": {"inputTokens": 1, "outputTokens": 2}}}),
        ],
        &[
            thought("Hm."),
            StreamEvent::ReasoningItem(
                json!({"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}}),
            ),
            said("Ok"),
            done(call(Some("t1"), "add", text("{\"a\":1}"))),
            done(call(Some("t2"), "now", Arguments::Json(json!({})))),
            stop("tool_use"),
            used(1, 2),
        ],
    );
}

#[test]
fn cohere() {
    let event = |kind: &str, index: u32, message: Value| json!({"type": kind, "index": index, "delta": {"message": message}});
    check(
        Protocol::CohereChat,
        &[
            json!({"type": "message-start", "id": "m", "delta": {"message": {"role": "assistant"}}}),
            event("tool-plan-delta", 0, json!({"tool_plan": "I will add."})),
            event(
                "tool-call-start",
                0,
                json!({"tool_calls": {"id": "add_1", "type": "function", "function": {"name": "add", "arguments": ""}}}),
            ),
            event("tool-call-delta", 0, json!({"tool_calls": {"function": {"arguments": "{\"a\""}}})),
            event("tool-call-delta", 0, json!({"tool_calls": {"function": {"arguments": ":1}"}}})),
            json!({"type": "tool-call-end", "index": 0}),
            event("content-delta", 0, json!({"content": {"text": "Ok"}})),
            json!({"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": {"tokens": {"input_tokens": 5.0, "output_tokens": 6}}}}),
        ],
        &[
            thought("I will add."),
            done(call(Some("add_1"), "add", text("{\"a\":1}"))),
            said("Ok"),
            stop("TOOL_CALL"),
            used(5, 6),
        ],
    );
}

#[test]
fn ollama() {
    check(
        Protocol::OllamaChat,
        &[
            json!({"message": {"role": "assistant", "content": "", "thinking": "Hm."}, "done": false}),
            json!({"message": {"role": "assistant", "content": "Ok"}, "done": false}),
            json!({"message": {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]}, "done": false}),
            json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 3}),
        ],
        &[
            thought("Hm."),
            said("Ok"),
            done(call(None, "add", Arguments::Json(json!({"a": 1})))),
            stop("stop"),
            used(9, 3),
        ],
    );
}

#[test]
fn usage_is_the_last_one_and_absent_counts_are_zero() {
    let chunk = |usage: Value| json!({"choices": [], "usage": usage});
    let chunks = [
        chunk(json!({"prompt_tokens": 1, "completion_tokens": 1})),
        chunk(json!(null)),
        chunk(json!({"prompt_tokens": 2, "completion_tokens": 3})),
    ];
    assert_eq!(run(Protocol::Chat, &chunks), [used(2, 3)]);
    assert_eq!(run(Protocol::Chat, &[chunk(json!({"prompt_tokens": 4}))]), [used(4, 0)]);
    assert_eq!(run(Protocol::Chat, &[]), []);
    let usage = serde_json::to_value(Usage { input_tokens: 1, output_tokens: 2, cached_tokens: 0 }).unwrap();
    assert_eq!(usage, json!({"inputTokens": 1, "outputTokens": 2}));
}

#[test]
fn reasoning_tags_and_tool_use_in_text_deltas() {
    let content = |text: &str| json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    let asking = || {
        let mut options = StreamOptions::default();
        options.text = crate::calls_text::anything();
        options
    };
    let written = |notation| ToolCall {
        written: Some(notation),
        ..call(None, "add", Arguments::Json(json!({"a": 1})))
    };
    check_with(
        asking(),
        Protocol::Chat,
        &[
            content("<th"),
            content("ink>Hm"),
            content(".</thi"),
            content("nk>Hi {\"type\": \"too"),
            content("l_use\", \"name\": \"add\", \"input\": {\"a\":"),
            content("1}} bye"),
        ],
        &[thought("Hm"), thought("."), said("Hi "), done(written(Notation::Json)), said(" bye")],
    );
    let mut stream = TextStream::new(asking());
    let mut events: Vec<StreamEvent> =
        ["a <ad", "d><a>1</", "a></add", "> b <x"].iter().flat_map(|text| stream.push(text)).collect();
    events.extend(stream.finish());
    assert_eq!(events, [said("a "), done(written(Notation::Xml)), said(" b "), said("<x")]);
    let mut options = StreamOptions::default();
    options.text = TextScan::Off;
    let mut stream = TextStream::new(options);
    assert_eq!(stream.push("<add><a>1</a></add>"), [said("<add><a>1</a></add>")]);
}

#[test]
fn long_tool_use_in_text_is_spilled_as_text() {
    let mut options = StreamOptions::default();
    options.argument_limit = 40;
    options.text = crate::calls_text::anything();
    let mut stream = TextStream::new(options);
    let long = format!("{{\"type\":\"tool_use\",\"name\":\"a\",\"input\":\"{}\"}} end", "x".repeat(60));
    let mut got = String::new();
    for character in long.chars() {
        for event in stream.push(&character.to_string()) {
            let StreamEvent::Text(text) = event else { panic!("{event:?}") };
            got.push_str(&text);
        }
    }
    assert_eq!(got, long);
}
