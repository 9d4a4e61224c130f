//! Tool use in the prose of replies is prose: replies and streams of every protocol, read with the default options.

use gateway_dialects::Protocol;
use gateway_dialects::calls::{ReadOptions, Reply, parse_reply};
use gateway_dialects::stream::{Assembler, StreamEvent, StreamOptions, TextStream};
use serde_json::{Value, json};

pub(crate) const PROTOCOLS: [Protocol; 9] = [
    Protocol::Chat,
    Protocol::Functions,
    Protocol::Responses,
    Protocol::Messages,
    Protocol::GenerateContent,
    Protocol::Converse,
    Protocol::CohereChat,
    Protocol::OllamaChat,
    Protocol::Mcp,
];

pub(crate) const JSON_CALL: &str = r#"{"type":"tool_use","id":"t1","name":"add","input":{"a":1}}"#;
pub(crate) const XML_CALL: &str = "<add><a>1</a></add>";

/// Prose around one call.
pub(crate) fn prose() -> Vec<String> {
    let mut texts = Vec::new();
    for call in [JSON_CALL, XML_CALL] {
        texts.push(format!("A call looks like {call}. I made none."));
        texts.push(format!("Like this:\n```\n{call}\n```\n"));
        texts.push(call.to_owned());
    }
    texts
}

/// A whole reply that says `text`, and makes a native call of `now` where `native`.
pub(crate) fn whole(protocol: Protocol, text: &str, native: bool) -> Value {
    let list = |call: Value| if native { vec![call] } else { Vec::new() };
    let with = |first: Value, call: Value| std::iter::once(first).chain(list(call)).collect::<Value>();
    let function = json!({"id": "n1", "type": "function", "function": {"name": "now", "arguments": "{}"}});
    match protocol {
        Protocol::Chat => json!({"choices": [{"index": 0, "finish_reason": "stop", "message": {
            "role": "assistant", "content": text, "tool_calls": list(function)}}]}),
        Protocol::Functions => {
            let mut message = json!({"role": "assistant", "content": text});
            if native {
                message["function_call"] = json!({"name": "now", "arguments": "{}"});
            }
            json!({"choices": [{"index": 0, "finish_reason": "stop", "message": message}]})
        }
        Protocol::Responses => {
            let said = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
            let call = json!({"type": "function_call", "id": "fc", "call_id": "n1", "name": "now", "arguments": "{}"});
            json!({"object": "response", "status": "completed", "output": with(said, call)})
        }
        Protocol::Messages | Protocol::Mcp => {
            let call = json!({"type": "tool_use", "id": "n1", "name": "now", "input": {}});
            json!({"type": "message", "role": "assistant", "stop_reason": "end_turn",
                "content": with(json!({"type": "text", "text": text}), call)})
        }
        Protocol::GenerateContent => {
            let parts = with(json!({"text": text}), json!({"functionCall": {"name": "now", "args": {}}}));
            json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": parts}}]})
        }
        Protocol::Converse => {
            let call = json!({"toolUse": {"toolUseId": "n1", "name": "now", "input": {}}});
            json!({"stopReason": "end_turn", "output": {"message": {"role": "assistant",
                "content": with(json!({"text": text}), call)}}})
        }
        Protocol::CohereChat => json!({"finish_reason": "COMPLETE", "message": {"role": "assistant",
            "content": [{"type": "text", "text": text}], "tool_calls": list(function)}}),
        Protocol::OllamaChat => json!({"done": true, "done_reason": "stop", "message": {"role": "assistant",
            "content": text, "tool_calls": list(json!({"function": {"name": "now", "arguments": {}}}))}}),
    }
}

/// The same as a stream: the text in two pieces, then the native call, then the end.
pub(crate) fn streamed(protocol: Protocol, text: &str, native: bool) -> Vec<Value> {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    let pieces = [first, second];
    let delta =
        |delta: Value, stop: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": stop}]});
    let (mut chunks, calls, end): (Vec<Value>, Vec<Value>, Vec<Value>) = match protocol {
        Protocol::Chat => (
            pieces.map(|text| delta(json!({"content": text}), json!(null))).into(),
            vec![delta(
                json!({"tool_calls": [{"index": 0, "id": "n1", "function": {"name": "now", "arguments": "{}"}}]}),
                json!(null),
            )],
            vec![delta(json!({}), json!("stop"))],
        ),
        Protocol::Functions => (
            pieces.map(|text| delta(json!({"content": text}), json!(null))).into(),
            vec![delta(json!({"function_call": {"name": "now", "arguments": "{}"}}), json!(null))],
            vec![delta(json!({}), json!("stop"))],
        ),
        Protocol::Responses => (
            pieces.map(|text| json!({"type": "response.output_text.delta", "delta": text})).into(),
            vec![json!({"type": "response.output_item.done", "output_index": 1, "item": {
                "type": "function_call", "id": "fc", "call_id": "n1", "name": "now", "arguments": "{}"}})],
            vec![json!({"type": "response.completed", "response": {"status": "completed", "output": []}})],
        ),
        Protocol::Messages | Protocol::Mcp => (
            pieces
                .map(|text| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}))
                .into(),
            vec![
                json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "n1", "name": "now", "input": {}}}),
                json!({"type": "content_block_stop", "index": 1}),
            ],
            vec![json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})],
        ),
        Protocol::GenerateContent => {
            let chunk = |part: Value| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]});
            (
                pieces.map(|text| chunk(json!({"text": text}))).into(),
                vec![chunk(json!({"functionCall": {"name": "now", "args": {}}}))],
                vec![json!({"candidates": [{"finishReason": "STOP"}]})],
            )
        }
        Protocol::Converse => (
            pieces
                .map(|text| json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}}}))
                .into(),
            vec![
                json!({"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "n1", "name": "now"}}}}),
                json!({"contentBlockStop": {"contentBlockIndex": 1}}),
            ],
            vec![json!({"messageStop": {"stopReason": "end_turn"}})],
        ),
        Protocol::CohereChat => (
            pieces
                .map(|text| json!({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": text}}}}))
                .into(),
            vec![
                json!({"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": {"id": "n1", "function": {"name": "now", "arguments": "{}"}}}}}),
                json!({"type": "tool-call-end", "index": 0}),
            ],
            vec![json!({"type": "message-end", "delta": {"finish_reason": "COMPLETE"}})],
        ),
        Protocol::OllamaChat => (
            pieces.map(|text| json!({"message": {"role": "assistant", "content": text}})).into(),
            vec![json!({"message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "now", "arguments": {}}}]}})],
            vec![json!({"done": true, "done_reason": "stop"})],
        ),
    };
    chunks.extend(calls.into_iter().filter(|_| native));
    chunks.extend(end);
    chunks
}

/// What a reply holds: names of calls, and the text.
pub(crate) fn content(reply: &Reply) -> (Vec<&str>, &str) {
    (reply.calls.iter().map(|call| call.name.as_str()).collect(), &reply.text)
}

pub(crate) fn streamed_content(events: &[StreamEvent]) -> (Vec<&str>, String) {
    let mut names = Vec::new();
    let mut text = String::new();
    for event in events {
        match event {
            StreamEvent::Call(call) => names.push(call.call.name.as_str()),
            StreamEvent::Text(more) => text.push_str(more),
            _ => {}
        }
    }
    (names, text)
}

pub(crate) fn run(protocol: Protocol, options: StreamOptions, chunks: &[Value]) -> Vec<StreamEvent> {
    let mut assembler = Assembler::new(protocol, options);
    let mut events: Vec<StreamEvent> = chunks.iter().flat_map(|chunk| assembler.push(chunk)).collect();
    events.extend(assembler.finish());
    events
}

#[test]
fn tool_use_in_the_text_of_a_reply_is_text_by_default() {
    for protocol in PROTOCOLS {
        for text in prose() {
            for given in [None, Some(protocol)] {
                let options = ReadOptions { protocol: given, ..ReadOptions::default() };
                for (native, calls) in [(false, vec![]), (true, vec!["now"])] {
                    let reply = parse_reply(&whole(protocol, &text, native), &options).unwrap();
                    assert_eq!(content(&reply), (calls, text.as_str()), "{protocol:?}, given {given:?}");
                }
            }
        }
    }
}

#[test]
fn tool_use_in_the_text_of_a_stream_is_text_by_default() {
    for protocol in PROTOCOLS {
        for text in prose() {
            for (native, calls) in [(false, vec![]), (true, vec!["now"])] {
                let events = run(protocol, StreamOptions::default(), &streamed(protocol, &text, native));
                assert_eq!(streamed_content(&events), (calls, text.clone()), "{protocol:?}");
            }
        }
    }
    for text in prose() {
        let mut stream = TextStream::new(StreamOptions::default());
        let mut events = stream.push(&text);
        events.extend(stream.finish());
        assert_eq!(streamed_content(&events), (vec![], text));
    }
}

#[test]
fn tool_use_in_a_plain_text_is_text_by_default() {
    for text in prose().into_iter().filter(|text| text != JSON_CALL) {
        let reply = parse_reply(&Value::String(text.clone()), &ReadOptions::default()).unwrap();
        assert_eq!(content(&reply), (vec![], text.as_str()));
    }
}
