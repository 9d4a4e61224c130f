//! Model servers speak the other wires: Responses, Messages, Gemini, Ollama. Expected bytes are written after the providers' references.

use gateway_testkit::models::{Delivery, Finish, Quirk, Reply, Script, ServerOptions, Step, Usage, Wire};
use gateway_testkit::models::{ModelServer, Pieces};
use serde_json::{Value, json};

use crate::talk_models::{Client, ask, ask_with, get, question, start};

fn sum() -> Reply {
    Reply::new().reasoning("Two sums.").signature("c2ln").text("I add both: ü.").call(
        "call_a1",
        "add",
        json!({"a": 15, "b": 27}),
    )
}

fn spent() -> Usage {
    Usage { input: 50, cached: 20, output: 30, reasoning: 10 }
}

const MESSAGES: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":30,"cache_creation_input_tokens":0,"cache_read_input_tokens":20,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Two sums."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I add "}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"both: ü."}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"call_a1","name":"add","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"5,\"b\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"27}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":30}}

event: message_stop
data: {"type":"message_stop"}

"#;

#[tokio::test]
async fn anthropics_messages() {
    let server = start(Wire::Messages, Script::new().last(sum().usage(spent()))).await;
    let streamed = ask(&server, Wire::Messages, true).await;
    assert_eq!(streamed.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert_eq!(streamed.text(), MESSAGES);
    assert_eq!(streamed.header("request-id"), Some("req_1"));
    assert_eq!(
        ask(&server, Wire::Messages, false).await.json(),
        json!({
            "id": "msg_2", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
            "content": [
                {"type": "thinking", "thinking": "Two sums.", "signature": "c2ln"},
                {"type": "text", "text": "I add both: ü."},
                {"type": "tool_use", "id": "call_a1", "name": "add", "input": {"a": 15, "b": 27}},
            ],
            "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 30, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 20, "output_tokens": 30},
        })
    );
    assert_eq!(
        get(&server, "/v1/models").await.json(),
        json!({
            "data": [{"type": "model", "id": "claude-sonnet-4-5", "display_name": "claude-sonnet-4-5", "created_at": "2025-07-31T00:00:00Z"}],
            "has_more": false, "first_id": "claude-sonnet-4-5", "last_id": "claude-sonnet-4-5",
        })
    );
}

const GEMINI: [&str; 5] = [
    r#"data: {"candidates":[{"content":{"parts":[{"text":"Two sums.","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":50,"totalTokenCount":50},"modelVersion":"gemini-3-pro","responseId":"r1"}"#,
    r#"data: {"candidates":[{"content":{"parts":[{"text":"Adding."}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":50,"totalTokenCount":50},"modelVersion":"gemini-3-pro","responseId":"r1"}"#,
    r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"id":"c1","name":"add","args":{"a":15}},"thoughtSignature":"c2ln"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":50,"totalTokenCount":50},"modelVersion":"gemini-3-pro","responseId":"r1"}"#,
    r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"id":"c2","name":"now","args":{}}}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":50,"totalTokenCount":50},"modelVersion":"gemini-3-pro","responseId":"r1"}"#,
    r#"data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":20,"totalTokenCount":80,"cachedContentTokenCount":20,"thoughtsTokenCount":10},"modelVersion":"gemini-3-pro","responseId":"r1"}"#,
];

#[tokio::test]
async fn geminis_generate_content() {
    let reply = Reply::new()
        .reasoning("Two sums.")
        .text("Adding.")
        .call("c1", "add", json!({"a": 15}))
        .signature("c2ln")
        .call("c2", "now", json!({}))
        .usage(spent());
    let server = start(Wire::GenerateContent, Script::new().last(reply)).await;
    let streamed = ask(&server, Wire::GenerateContent, true).await;
    let expected = GEMINI.join("\r\n\r\n") + "\r\n\r\n";
    assert_eq!(streamed.text(), expected);
    let whole = ask(&server, Wire::GenerateContent, false).await.json();
    assert_eq!(
        whole["candidates"],
        json!([{
            "content": {"role": "model", "parts": [
                {"text": "Two sums.", "thought": true},
                {"text": "Adding."},
                {"functionCall": {"id": "c1", "name": "add", "args": {"a": 15}}, "thoughtSignature": "c2ln"},
                {"functionCall": {"id": "c2", "name": "now", "args": {}}},
            ]},
            "finishReason": "STOP", "index": 0,
        }])
    );
    // Without `alt=sse` the stream is a list.
    let (path, body) = question(Wire::GenerateContent, true);
    let line = format!("POST {}", path.trim_end_matches("?alt=sse"));
    let client = Client::send(server.address(), &line, &[], &body.to_string()).await.unwrap();
    let list = client.answer().await.unwrap();
    assert_eq!((list.json().as_array().unwrap().len(), list.chunks.len()), (5, 5));
    assert!(list.text().ends_with("\n]"), "google-api-core takes nothing after the list");
    assert_eq!(get(&server, "/v1beta/models").await.json()["models"][0]["name"], "models/gemini-3-pro");
}

#[tokio::test]
async fn a_signature_of_geminis_text_follows_it() {
    let reply = Reply::new().reasoning("Hm.").signature("c2ln").text("3.");
    let server = start(Wire::GenerateContent, Script::new().last(reply)).await;
    let parts: Vec<Value> = ask(&server, Wire::GenerateContent, true)
        .await
        .documents()
        .iter()
        .map(|chunk| chunk["candidates"][0]["content"]["parts"][0].clone())
        .collect();
    assert_eq!(
        parts,
        [
            json!({"text": "Hm.", "thought": true}),
            json!({"text": "3."}),
            json!({"text": "", "thoughtSignature": "c2ln"}),
            json!({"text": ""})
        ]
    );
}

const OLLAMA: &str = r#"{"model":"llama3.2","created_at":"2025-07-31T22:13:20Z","message":{"role":"assistant","content":"","thinking":"Two sums."},"done":false}
{"model":"llama3.2","created_at":"2025-07-31T22:13:20Z","message":{"role":"assistant","content":"I add "},"done":false}
{"model":"llama3.2","created_at":"2025-07-31T22:13:20Z","message":{"role":"assistant","content":"both: ü."},"done":false}
{"model":"llama3.2","created_at":"2025-07-31T22:13:20Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"add","arguments":{"a":15,"b":27}}}]},"done":false}
{"model":"llama3.2","created_at":"2025-07-31T22:13:20Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":4883583458,"load_duration":1334875,"prompt_eval_count":50,"prompt_eval_duration":342546000,"eval_count":30,"eval_duration":4535599000}
"#;

#[tokio::test]
async fn ollamas_own_api() {
    let step = Step::reply(sum()).delivered(Delivery::usual().with(Quirk::NoCallIds));
    let server = start(Wire::Ollama, Script::new().last(step)).await;
    let streamed = ask(&server, Wire::Ollama, true).await;
    assert_eq!((streamed.header("content-type"), streamed.text()), (Some("application/x-ndjson"), OLLAMA));
    let mut unsaid = question(Wire::Ollama, true).1;
    unsaid.as_object_mut().unwrap().remove("stream");
    assert_eq!(
        ask_with(&server, Wire::Ollama, true, &unsaid).await.lines().len(),
        5,
        "streams unless told otherwise"
    );
    let whole = ask(&server, Wire::Ollama, false).await.json();
    assert_eq!(
        (&whole["message"], &whole["done"], &whole["eval_count"]),
        (
            &json!({
                "role": "assistant", "content": "I add both: ü.", "thinking": "Two sums.",
                "tool_calls": [{"function": {"name": "add", "arguments": {"a": 15, "b": 27}}}],
            }),
            &json!(true),
            &json!(30)
        )
    );
    assert_eq!(get(&server, "/api/tags").await.json()["models"][0]["name"], "llama3.2");
    assert_eq!(get(&server, "/v1/models").await.json()["data"][0]["owned_by"], "library");
}

#[tokio::test]
async fn ollamas_chat_completions() {
    let server = start(Wire::Ollama, Script::new().last(sum())).await;
    let body = json!({"model": "llama3.2", "messages": [], "stream": true});
    let client =
        Client::send(server.address(), "POST /v1/chat/completions", &[], &body.to_string()).await.unwrap();
    let deltas: Vec<Value> = client
        .answer()
        .await
        .unwrap()
        .documents()
        .iter()
        .map(|chunk| chunk["choices"][0]["delta"].clone())
        .collect();
    assert_eq!(
        deltas,
        [
            json!({"role": "assistant", "content": ""}),
            json!({"reasoning": "Two sums."}),
            json!({"content": "I add "}),
            json!({"content": "both: ü."}),
            json!({"tool_calls": [{"index": 0, "id": "call_a1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":15,\"b\":27}"}}]}),
            json!({}),
        ]
    );
}

#[tokio::test]
async fn openais_responses() {
    let server = start(Wire::Responses, Script::new().last(sum().usage(spent()))).await;
    let reasoning = json!({"id": "rs_1_0", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Two sums."}], "encrypted_content": "c2ln"});
    let part = json!({"type": "output_text", "text": "I add both: ü.", "annotations": [], "logprobs": []});
    let message = json!({"id": "msg_1_1", "type": "message", "status": "completed", "role": "assistant", "content": [part]});
    let arguments = "{\"a\":15,\"b\":27}";
    let call = json!({"id": "fc_1_0", "type": "function_call", "status": "completed", "call_id": "call_a1", "name": "add", "arguments": arguments});
    let whole = ask(&server, Wire::Responses, false).await.json();
    assert_eq!(whole["output"], json!([reasoning, message, call]));
    assert_eq!(
        (&whole["object"], &whole["status"], &whole["error"]),
        (&json!("response"), &json!("completed"), &Value::Null)
    );
    assert_eq!(
        whole["usage"],
        json!({
            "input_tokens": 50, "input_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 0},
            "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 10}, "total_tokens": 80,
        })
    );
    // A server of its own, so that the ids are the same: they count turns.
    let server = start(Wire::Responses, Script::new().last(sum().usage(spent()))).await;
    let answer = ask(&server, Wire::Responses, true).await;
    let events = answer.events();
    let mut documents = answer.documents();
    for (index, ((event, _), document)) in events.iter().zip(&mut documents).enumerate() {
        assert_eq!(
            (document["type"].as_str(), &document["sequence_number"]),
            (Some(event.as_str()), &json!(index))
        );
        document.as_object_mut().unwrap().remove("sequence_number");
    }
    assert_eq!(events.len(), documents.len());
    let begun = |item: Value| item;
    let expected = [
        json!({"type": "response.output_item.added", "output_index": 0, "item": begun(json!({"id": "rs_1_0", "type": "reasoning", "summary": [], "encrypted_content": "c2ln"}))}),
        json!({"type": "response.reasoning_summary_part.added", "item_id": "rs_1_0", "output_index": 0, "summary_index": 0, "part": {"type": "summary_text", "text": ""}}),
        json!({"type": "response.reasoning_summary_text.delta", "item_id": "rs_1_0", "output_index": 0, "summary_index": 0, "delta": "Two sums."}),
        json!({"type": "response.reasoning_summary_text.done", "item_id": "rs_1_0", "output_index": 0, "summary_index": 0, "text": "Two sums."}),
        json!({"type": "response.reasoning_summary_part.done", "item_id": "rs_1_0", "output_index": 0, "summary_index": 0, "part": {"type": "summary_text", "text": "Two sums."}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": {"id": "msg_1_1", "type": "message", "status": "in_progress", "role": "assistant", "content": []}}),
        json!({"type": "response.content_part.added", "item_id": "msg_1_1", "output_index": 1, "content_index": 0, "part": {"type": "output_text", "text": "", "annotations": [], "logprobs": []}}),
        json!({"type": "response.output_text.delta", "item_id": "msg_1_1", "output_index": 1, "content_index": 0, "delta": "I add ", "logprobs": []}),
        json!({"type": "response.output_text.delta", "item_id": "msg_1_1", "output_index": 1, "content_index": 0, "delta": "both: ü.", "logprobs": []}),
        json!({"type": "response.output_text.done", "item_id": "msg_1_1", "output_index": 1, "content_index": 0, "text": "I add both: ü.", "logprobs": []}),
        json!({"type": "response.content_part.done", "item_id": "msg_1_1", "output_index": 1, "content_index": 0, "part": part}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": message}),
        json!({"type": "response.output_item.added", "output_index": 2, "item": {"id": "fc_1_0", "type": "function_call", "status": "in_progress", "call_id": "call_a1", "name": "add", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1_0", "output_index": 2, "delta": "{\"a\":1"}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1_0", "output_index": 2, "delta": "5,\"b\":"}),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1_0", "output_index": 2, "delta": "27}"}),
        json!({"type": "response.function_call_arguments.done", "item_id": "fc_1_0", "output_index": 2, "arguments": arguments}),
        json!({"type": "response.output_item.done", "output_index": 2, "item": call}),
    ];
    assert_eq!(documents.get(2..documents.len() - 1).unwrap(), expected);
    assert_eq!(
        (&documents[0]["type"], &documents[1]["type"]),
        (&json!("response.created"), &json!("response.in_progress"))
    );
    assert_eq!(
        (&documents[0]["response"]["status"], &documents[0]["response"]["output"]),
        (&json!("in_progress"), &json!([]))
    );
    let last = documents.last().unwrap();
    assert_eq!(
        (&last["type"], &last["response"]["output"]),
        (&json!("response.completed"), &whole["output"])
    );
}

#[tokio::test]
async fn the_ends_have_the_words_of_each_api() {
    for (finish, responses, messages, gemini, ollama) in [
        (Finish::Stop, "completed", "end_turn", "STOP", "stop"),
        (Finish::Calls, "completed", "tool_use", "STOP", "stop"),
        (Finish::Length, "incomplete", "max_tokens", "MAX_TOKENS", "length"),
        (Finish::ContentFilter, "incomplete", "refusal", "SAFETY", "stop"),
    ] {
        for (wire, pointer, word) in [
            (Wire::Responses, "/status", responses),
            (Wire::Messages, "/stop_reason", messages),
            (Wire::GenerateContent, "/candidates/0/finishReason", gemini),
            (Wire::Ollama, "/done_reason", ollama),
        ] {
            let server =
                start(wire, Script::new().last(Reply::new().text("3.").finish(finish.clone()))).await;
            let answer = ask(&server, wire, false).await.json();
            assert_eq!(answer.pointer(pointer).unwrap(), word, "{} {finish:?}", wire.name());
        }
    }
}

#[tokio::test]
async fn every_habit_can_be_played_on_every_wire() {
    for wire in Wire::ALL.iter().copied() {
        for quirk in Quirk::ALL.iter().copied() {
            let delivery = Delivery::usual().with(quirk);
            let server = start(wire, Script::new().last(Step::reply(sum()).delivered(delivery))).await;
            for streamed in [true, false] {
                let answer = ask(&server, wire, streamed).await;
                assert!(answer.status == 200 && answer.complete, "{} {}", wire.name(), quirk.name());
                let text = String::from_utf8_lossy(&answer.body);
                assert!(text.contains("\"add\""), "{} {}", wire.name(), quirk.name());
            }
        }
    }
}

#[tokio::test]
async fn pieces_change_no_byte() {
    for wire in Wire::ALL.iter().copied() {
        for streamed in [true, false] {
            let mut bodies = Vec::new();
            for pieces in Pieces::ALL.iter().copied() {
                let delivery = Delivery { pieces, ..Delivery::usual() };
                let server = start(wire, Script::new().step(Step::reply(sum()).delivered(delivery))).await;
                bodies.push(ask(&server, wire, streamed).await.body);
            }
            let [usual, single, one] = bodies.as_slice() else { panic!("other pieces") };
            assert!(!usual.is_empty() && usual == single && usual == one, "{}", wire.name());
        }
    }
}

#[tokio::test]
async fn a_key_has_to_be_where_the_provider_wants_it() {
    for (wire, name, value) in [
        (Wire::Chat, "authorization", "Bearer k1"),
        (Wire::Dial, "api-key", "k1"),
        (Wire::Messages, "x-api-key", "k1"),
        (Wire::GenerateContent, "x-goog-api-key", "k1"),
        (Wire::Ollama, "authorization", "Bearer k1"),
        (Wire::Mistral, "authorization", "Bearer k1"),
        (Wire::Cohere, "authorization", "Bearer k1"),
    ] {
        let options = ServerOptions { key: Some("k1".to_owned()), ..ServerOptions::default() };
        let server = ModelServer::start_with(wire, Script::new().last(Reply::new().text("3.")), options)
            .await
            .unwrap();
        assert_eq!(ask(&server, wire, false).await.status, 401, "{}", wire.name());
        let (path, body) = question(wire, false);
        let client =
            Client::send(server.address(), &format!("POST {path}"), &[(name, value)], &body.to_string())
                .await
                .unwrap();
        assert_eq!(client.answer().await.unwrap().status, 200, "{}", wire.name());
    }
}

#[tokio::test]
async fn models_that_it_does_not_have_are_unknown() {
    let options = ServerOptions { models: vec!["a".to_owned(), "b".to_owned()], ..ServerOptions::default() };
    let server =
        ModelServer::start_with(Wire::Chat, Script::new().last(Reply::new()), options).await.unwrap();
    assert_eq!(ask(&server, Wire::Chat, false).await.json()["error"]["code"], "model_not_found");
    assert_eq!(server.url(), format!("http://{}/v1", server.address()));
    let list = get(&server, "/v1/models").await.json();
    assert_eq!(
        list,
        json!({"object": "list", "data": [
            {"id": "a", "object": "model", "created": 1_754_000_000, "owned_by": "system"},
            {"id": "b", "object": "model", "created": 1_754_000_000, "owned_by": "system"},
        ]})
    );
}
