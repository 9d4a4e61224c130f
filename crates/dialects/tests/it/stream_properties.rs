//! Streams: what comes out does not depend on where the pieces were cut.

use gateway_dialects::{
    Protocol,
    stream::{Assembler, StreamEvent, StreamOptions, StreamedCall, TextStream},
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Joins neighbouring text and reasoning, whose cuts are no content.
fn joined(events: Vec<StreamEvent>) -> Vec<StreamEvent> {
    let mut out: Vec<StreamEvent> = Vec::new();
    for event in events {
        let more = match (out.last_mut(), &event) {
            (Some(StreamEvent::Text(last)), StreamEvent::Text(more))
            | (Some(StreamEvent::Reasoning(last)), StreamEvent::Reasoning(more)) => Some((last, more)),
            _ => None,
        };
        match more {
            Some((last, more)) => last.push_str(more),
            None => out.push(event),
        }
    }
    out
}

fn pieces<'a>(text: &'a str, cuts: &[usize]) -> Vec<&'a str> {
    let mut ends: Vec<usize> =
        cuts.iter().map(|cut| text.floor_char_boundary(cut % (text.len() + 1))).collect();
    ends.push(text.len());
    ends.sort_unstable();
    let mut start = 0;
    ends.into_iter()
        .map(|end| {
            let piece = &text[start..end];
            start = end;
            piece
        })
        .collect()
}

fn read_text(pieces: &[&str]) -> Vec<StreamEvent> {
    let mut options = StreamOptions::default();
    options.text = crate::calls_text::anything();
    let mut stream = TextStream::new(options);
    let mut events: Vec<StreamEvent> = pieces.iter().flat_map(|piece| stream.push(piece)).collect();
    events.extend(stream.finish());
    joined(events)
}

/// Chunks of one protocol that carry one call with these pieces of argument text.
fn chunks(protocol: Protocol, pieces: &[&str]) -> Vec<Value> {
    let (first, middle, last): (Value, fn(&str) -> Value, Value) = match protocol {
        Protocol::Chat => (
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "x", "function": {"name": "a", "arguments": ""}}]}}]}),
            |piece| json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
        ),
        Protocol::Responses => (
            json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "id": "f", "call_id": "x", "name": "a", "arguments": ""}}),
            |piece| json!({"type": "response.function_call_arguments.delta", "item_id": "f", "delta": piece}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": {"type": "function_call", "id": "f", "call_id": "x", "name": "a"}}),
        ),
        Protocol::Messages => (
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "x", "name": "a", "input": {}}}),
            |piece| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}),
            json!({"type": "content_block_stop", "index": 0}),
        ),
        Protocol::Converse => (
            json!({"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "x", "name": "a"}}}}),
            |piece| json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": piece}}}}),
            json!({"contentBlockStop": {"contentBlockIndex": 0}}),
        ),
        other => unreachable!("{other:?} does not stream argument text here"),
    };
    std::iter::once(first).chain(pieces.iter().map(|piece| middle(piece))).chain([last]).collect()
}

fn calls(protocol: Protocol, pieces: &[&str]) -> Vec<StreamedCall> {
    let mut assembler = Assembler::new(protocol, StreamOptions::default());
    let mut events: Vec<StreamEvent> =
        chunks(protocol, pieces).iter().flat_map(|chunk| assembler.push(chunk)).collect();
    events.extend(assembler.finish());
    events
        .into_iter()
        .filter_map(|event| match event {
            StreamEvent::Call(call) => Some(call),
            _ => None,
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn argument_text_may_be_cut_anywhere(text in r#"\{("[a-zé😀\\"]{0,4}":[0-9{}]{1,3},?){0,6}\}"#, cuts in prop::collection::vec(any::<usize>(), 0..8)) {
        for protocol in [Protocol::Chat, Protocol::Responses, Protocol::Messages, Protocol::Converse] {
            let whole = calls(protocol, &[&text]);
            prop_assert_eq!(whole.len(), 1);
            prop_assert_eq!(calls(protocol, &pieces(&text, &cuts)), whole);
        }
    }

    #[test]
    fn plain_text_may_be_cut_anywhere(
        parts in prop::collection::vec(prop::sample::select(vec![
            "<think>", "</think>", "<add>", "</add>", "<a>", "</a>", "1", " é ", "<![CDATA[", "]]>", "<", ">", "{", "}",
            "{\"type\":\"tool_use\",\"name\":\"t\",\"input\":{}}", "{\"type\":\"thinking\",\"content\":\"h\"}",
            "{\"type\":", "\"", "\\", "<add><a>2</a></add>", "&lt;", "<add ", "/>", "{\"name\"", "<tool_use>", "</tool_use>",
        ]), 0..14),
        cuts in prop::collection::vec(any::<usize>(), 0..10),
    ) {
        let text = parts.concat();
        let whole = read_text(&[&text]);
        prop_assert_eq!(read_text(&pieces(&text, &cuts)), whole.clone(), "{}", text);
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
        prop_assert_eq!(read_text(&characters), whole);
    }

    #[test]
    fn text_without_tool_use_comes_out_as_it_was(text in "[a-z é.,!?\n]{0,60}", cuts in prop::collection::vec(any::<usize>(), 0..6)) {
        let expected = if text.is_empty() { vec![] } else { vec![StreamEvent::Text(text.clone())] };
        prop_assert_eq!(read_text(&pieces(&text, &cuts)), expected);
    }

    #[test]
    fn no_chunk_panics(chunk in any_chunk()) {
        for protocol in [
            Protocol::Chat, Protocol::Responses, Protocol::Functions, Protocol::Messages, Protocol::GenerateContent,
            Protocol::Converse, Protocol::CohereChat, Protocol::OllamaChat, Protocol::Mcp,
        ] {
            let mut assembler = Assembler::new(protocol, StreamOptions::default());
            assembler.push(&chunk);
            assembler.push(&chunk);
            assembler.finish();
        }
    }
}

fn any_chunk() -> impl Strategy<Value = Value> {
    let words = vec![
        "choices",
        "delta",
        "message",
        "tool_calls",
        "function",
        "function_call",
        "index",
        "id",
        "name",
        "arguments",
        "type",
        "item",
        "candidates",
        "content",
        "parts",
        "functionCall",
        "partialArgs",
        "jsonPath",
        "content_block",
        "contentBlockStart",
        "start",
        "toolUse",
        "contentBlockIndex",
        "usage",
        "response",
        "output",
    ];
    let kinds = vec![
        "",
        "a",
        "{",
        "$.a[99999999999]",
        "$.a[3].b",
        "tool_use",
        "function_call",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
        "tool-call-start",
        "tool-call-delta",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        (0..3u64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(kinds).prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 4, move |inner| {
        let key = prop::sample::select(words.clone()).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}
