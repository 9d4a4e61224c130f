//! Model servers speak Chat Completions: with tools, with functions, at Azure's paths, in Argo's envelope.

use gateway_testkit::models::{Delivery, Finish, Quirk, Reply, Script, Step, Usage, Wire};
use serde_json::{Value, json};

use crate::talk_models::{Answer, ask, ask_with, get, question, start};

fn sum() -> Reply {
    Reply::new().text("I add both: ü.").call("call_a1", "add", json!({"a": 15, "b": 27})).call(
        "call_b2",
        "add",
        json!({"a": 1, "b": 2}),
    )
}

async fn streamed(wire: Wire, step: Step, change: &Value) -> Answer {
    let server = start(wire, Script::new().step(step)).await;
    let mut body = question(wire, true).1;
    body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    ask_with(&server, wire, true, &body).await
}

fn chunk(delta: &Value, finish: &Value) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_754_000_000, "model": "gpt-4o",
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
    })
}

#[tokio::test]
async fn a_whole_answer_is_a_chat_completion() {
    let usage = Usage { input: 50, cached: 20, output: 30, reasoning: 10 };
    let server = start(Wire::Chat, Script::new().reply(sum().usage(usage))).await;
    let answer = ask(&server, Wire::Chat, false).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "add", "arguments": arguments}});
    let message = json!({
        "role": "assistant",
        "content": "I add both: ü.",
        "refusal": null,
        "tool_calls": [call("call_a1", r#"{"a":15,"b":27}"#), call("call_b2", r#"{"a":1,"b":2}"#)],
    });
    assert_eq!(
        answer.json(),
        json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1_754_000_000, "model": "gpt-4o",
            "system_fingerprint": "fp_1",
            "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": "tool_calls"}],
            "usage": {
                "prompt_tokens": 50, "completion_tokens": 30, "total_tokens": 80,
                "prompt_tokens_details": {"cached_tokens": 20, "audio_tokens": 0},
                "completion_tokens_details": {
                    "reasoning_tokens": 10, "audio_tokens": 0,
                    "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
                },
            },
        })
    );
}

/// Written after the sample of the API's reference.
const STREAM: &str = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1754000000,"model":"gpt-4o","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"role":"assistant","content":null},"logprobs":null,"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1754000000,"model":"gpt-4o","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"add","arguments":""}}]},"logprobs":null,"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1754000000,"model":"gpt-4o","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1"}}]},"logprobs":null,"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1754000000,"model":"gpt-4o","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"logprobs":null,"finish_reason":null}]}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1754000000,"model":"gpt-4o","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}]}

data: [DONE]

"#;

#[tokio::test]
async fn a_streamed_answer_is_chunks_as_events() {
    let reply = Reply::new().call("call_1", "add", json!({"a": 1}));
    let server = start(Wire::Chat, Script::new().last(reply)).await;
    let answer = ask(&server, Wire::Chat, true).await;
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("text/event-stream; charset=utf-8"))
    );
    assert_eq!(answer.text(), STREAM);
    assert_eq!(answer.chunks.len(), 6, "an event is a write");
}

#[tokio::test]
async fn usage_is_streamed_only_if_asked_for() {
    let step = || Step::reply(Reply::new().text("3."));
    let without = streamed(Wire::Chat, step(), &json!({})).await;
    assert!(without.documents().iter().all(|chunk| chunk.get("usage").is_none()));
    let with =
        streamed(Wire::Chat, step(), &json!({"stream_options": {"include_usage": true}})).await.documents();
    let (last, others) = with.split_last().unwrap();
    assert!(others.iter().all(|chunk| chunk["usage"].is_null() && chunk.get("usage").is_some()));
    assert_eq!((&last["choices"], &last["usage"]["total_tokens"]), (&json!([]), &json!(80)));
}

/// The chunks' deltas of a reply with two calls, delivered with these habits.
async fn deltas(delivery: Delivery) -> Vec<Value> {
    let reply = Reply::new().call("call_1", "add", json!({"a": 15})).call("call_2", "now", json!({}));
    let answer = streamed(Wire::Chat, Step::reply(reply).delivered(delivery), &json!({})).await;
    answer.documents().iter().map(|chunk| chunk["choices"][0]["delta"].clone()).collect()
}

fn fragment(fragment: &Value) -> Value {
    json!({"tool_calls": [fragment]})
}

#[tokio::test]
async fn habits_change_how_calls_are_cut() {
    let first = json!({"role": "assistant", "content": null});
    let begin = |index: usize, id: &str, name: &str| {
        fragment(
            &json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}),
        )
    };
    let piece =
        |index: usize, text: &str| fragment(&json!({"index": index, "function": {"arguments": text}}));
    assert_eq!(
        deltas(Delivery::usual().with(Quirk::Interleaved)).await,
        [
            first.clone(),
            begin(0, "call_1", "add"),
            begin(1, "call_2", "now"),
            piece(0, "{\"a\":1"),
            piece(1, "{}"),
            piece(0, "5}"),
            json!({}),
        ]
    );
    let whole = |index: usize, id: &str, name: &str, arguments: Value| {
        fragment(
            &json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}),
        )
    };
    assert_eq!(
        deltas(Delivery::usual().with(Quirk::WholeArguments).with(Quirk::EmptyArguments)).await,
        [
            first.clone(),
            whole(0, "call_1", "add", json!("{\"a\":15}")),
            whole(1, "call_2", "now", json!("")),
            json!({})
        ]
    );
    assert_eq!(
        deltas(Delivery::usual().with(Quirk::ArgumentsAsObject).with(Quirk::ContentAbsent)).await,
        [
            json!({"role": "assistant"}),
            whole(0, "call_1", "add", json!({"a": 15})),
            whole(1, "call_2", "now", json!({})),
            json!({})
        ]
    );
    let odd = Delivery::usual()
        .with(Quirk::NameOnlyInFirst)
        .with(Quirk::NameRepeated)
        .with(Quirk::IdRepeated)
        .with(Quirk::NoIndex);
    assert_eq!(
        deltas(odd).await,
        [
            first.clone(),
            fragment(&json!({"id": "call_1", "type": "function", "function": {"name": "add"}})),
            fragment(&json!({"id": "call_1", "function": {"name": "add", "arguments": "{\"a\":1"}})),
            fragment(&json!({"id": "call_1", "function": {"name": "add", "arguments": "5}"}})),
            fragment(&json!({"id": "call_2", "type": "function", "function": {"name": "now"}})),
            fragment(&json!({"id": "call_2", "function": {"name": "now", "arguments": "{}"}})),
            json!({}),
        ]
    );
    let nameless = deltas(Delivery::usual().with(Quirk::NoCallIds).with(Quirk::WholeArguments)).await;
    assert_eq!(
        nameless[1],
        fragment(
            &json!({"index": 0, "type": "function", "function": {"name": "add", "arguments": "{\"a\":15}"}})
        )
    );
}

#[tokio::test]
async fn habits_change_the_lines() {
    let reply = Reply::new().reasoning("Hm.").text("3.");
    let plain = streamed(Wire::Chat, Step::reply(reply.clone()), &json!({})).await;
    let said = plain.documents();
    assert_eq!(said[1], chunk(&json!({"reasoning_content": "Hm."}), &Value::Null));
    for quirk in [Quirk::Crlf, Quirk::Comments, Quirk::MultilineData, Quirk::EventLines] {
        let step = Step::reply(reply.clone()).delivered(Delivery::usual().with(quirk));
        let answer = streamed(Wire::Chat, step, &json!({})).await;
        assert_eq!(answer.documents(), said, "{}", quirk.name());
        let mark = match quirk {
            Quirk::Crlf => "}\r\n\r\n",
            Quirk::Comments => ": keep-alive\n\ndata: ",
            Quirk::MultilineData => "\ndata:   \"id\"",
            _ => "event: message\ndata: ",
        };
        assert!(answer.text().contains(mark) && !plain.text().contains(mark), "{}", quirk.name());
    }
    let step = Step::reply(reply.clone()).delivered(Delivery::usual().with(Quirk::NoDone));
    assert!(!streamed(Wire::Chat, step, &json!({})).await.text().contains("[DONE]"));
    let step = Step::reply(reply.clone()).delivered(Delivery::usual().with(Quirk::Reasoning));
    let other = streamed(Wire::Chat, step, &json!({})).await.documents();
    assert_eq!(other[1], chunk(&json!({"reasoning": "Hm."}), &Value::Null));
    let step = Step::reply(reply).delivered(Delivery::usual().with(Quirk::ThinkTags));
    let tagged = streamed(Wire::Chat, step, &json!({})).await.documents();
    let text: String =
        tagged.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "<think>Hm.</think>\n\n3.");
}

#[tokio::test]
async fn bytes_can_come_one_by_one_or_all_at_once() {
    let usual = streamed(Wire::Chat, Step::reply(sum()), &json!({})).await;
    let single =
        streamed(Wire::Chat, Step::reply(sum()).delivered(Delivery::single_bytes()), &json!({})).await;
    assert_eq!(single.text(), usual.text());
    assert_eq!(single.chunks, vec![1; usual.body.len()]);
    let one = streamed(Wire::Chat, Step::reply(sum()).delivered(Delivery::one_chunk()), &json!({})).await;
    assert_eq!((one.text(), &one.chunks), (usual.text(), &vec![usual.body.len()]));
}

#[tokio::test]
async fn the_end_has_the_words_of_the_api() {
    let calls = Step::reply(sum()).delivered(Delivery::usual().with(Quirk::FinishStop));
    for (step, word) in [
        (Step::reply(Reply::new().text("3.")), "stop"),
        (Step::reply(sum()), "tool_calls"),
        (calls, "stop"),
        (Step::reply(sum().finish(Finish::Length)), "length"),
        (Step::reply(sum().finish(Finish::ContentFilter)), "content_filter"),
        (Step::reply(sum().finish(Finish::Other("eos".to_owned()))), "eos"),
    ] {
        let server = start(Wire::Chat, Script::new().step(step)).await;
        assert_eq!(ask(&server, Wire::Chat, false).await.json()["choices"][0]["finish_reason"], word);
    }
}

#[tokio::test]
async fn functions_are_the_older_form() {
    let server = start(Wire::Functions, Script::new().last(sum())).await;
    let whole = ask(&server, Wire::Functions, false).await.json();
    let choice = &whole["choices"][0];
    assert_eq!(
        (&choice["message"], &choice["finish_reason"]),
        (
            &json!({
                "role": "assistant", "content": "I add both: ü.", "refusal": null,
                "function_call": {"name": "add", "arguments": "{\"a\":15,\"b\":27}"},
            }),
            &json!("function_call")
        )
    );
    let deltas: Vec<Value> = ask(&server, Wire::Functions, true)
        .await
        .documents()
        .iter()
        .map(|chunk| chunk["choices"][0]["delta"].clone())
        .collect();
    assert_eq!(
        deltas,
        [
            json!({"role": "assistant", "content": ""}),
            json!({"content": "I add "}),
            json!({"content": "both: ü."}),
            json!({"function_call": {"name": "add", "arguments": ""}}),
            json!({"function_call": {"arguments": "{\"a\":1"}}),
            json!({"function_call": {"arguments": "5,\"b\":"}}),
            json!({"function_call": {"arguments": "27}"}}),
            json!({}),
        ]
    );
}

#[tokio::test]
async fn azure_begins_with_a_chunk_without_choices() {
    let server = start(Wire::Dial, Script::new().last(Reply::new().text("3."))).await;
    let chunks = ask(&server, Wire::Dial, true).await.documents();
    assert_eq!((&chunks[0]["choices"], &chunks[0]["model"]), (&json!([]), &json!("")));
    assert_eq!(chunks[2]["choices"][0]["delta"], json!({"content": "3."}));
    let request = &server.requests()[0];
    assert_eq!(
        (request.path.as_str(), request.query.as_str()),
        ("/openai/deployments/gpt-4o/chat/completions", "api-version=2024-10-21")
    );
    assert_eq!(get(&server, "/openai/deployments").await.json()["data"][0]["id"], "gpt-4o");
}

#[tokio::test]
async fn argos_envelope_has_calls_in_the_vendors_shape() {
    let reply = Reply::new().call("call_1", "add", json!({"a": 1}));
    let step = || Step::reply(reply.clone()).delivered(Delivery::usual().with(Quirk::ArgoEnvelope));
    for (model, calls) in [
        (
            "argo:gpt-4o",
            json!([{"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1}"}}]),
        ),
        (
            "argo:claude-opus-4",
            json!([{"id": "call_1", "input": {"a": 1}, "name": "add", "type": "tool_use"}]),
        ),
        ("argo:gemini-2.5-pro", json!({"id": null, "args": {"a": 1}, "name": "add"})),
    ] {
        let server = start(Wire::Argo, Script::new().step(step())).await;
        let body = json!({"model": model, "messages": [{"role": "user", "content": "1"}]});
        let answer = ask_with(&server, Wire::Argo, false, &body).await.json();
        assert_eq!(answer, json!({"response": {"content": null, "tool_calls": calls}}), "{model}");
    }
    let server = start(Wire::Argo, Script::new().step(step())).await;
    let chunks = ask(&server, Wire::Argo, true).await.documents();
    assert_eq!(chunks[0]["object"], "chat.completion.chunk", "streams have no envelope");
}
