//! Streamed replies, run: in `call` as a list or a text, and as a body of their own.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::client::{Answer, Service, read_answer};

macro_rules! stream {
    ($name:literal, $ending:literal, $provider:literal) => {
        (
            $provider,
            if $ending.len() == 3 { "text/event-stream" } else { "application/x-ndjson" },
            include_str!(concat!("../../../dialects/tests/streams/", $name, ".", $ending)),
            include_str!(concat!("../../../dialects/tests/streams/", $name, ".json")),
        )
    };
}

const STREAMS: [(&str, &str, &str, &str); 8] = [
    stream!("chat", "sse", "openai"),
    stream!("functions", "sse", "openai-functions"),
    stream!("responses", "sse", "openai-responses"),
    stream!("messages", "sse", "anthropic"),
    stream!("generate_content", "sse", "gemini"),
    stream!("converse", "ndjson", "bedrock"),
    stream!("cohere", "sse", "cohere"),
    stream!("ollama", "ndjson", "ollama"),
];

async fn execute(service: &Service, body: Value) -> Answer {
    service.post("/execute", &body.to_string()).await
}

async fn stream(service: &Service, target: &str, media: &str, text: &str) -> Answer {
    service.send("POST", target, &format!("content-type: {media}\r\n"), text).await
}

/// Sends a body in pieces of one byte each.
async fn byte_by_byte(service: &Service, target: &str, media: &str, text: &str) -> Answer {
    let mut request = format!(
        "POST {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: {media}\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    for byte in text.bytes() {
        request.extend_from_slice(&[b'1', b'\r', b'\n', byte, b'\r', b'\n']);
    }
    request.extend_from_slice(b"0\r\n\r\n");
    let mut connection = service.connect().await;
    connection.write_all(&request).await.unwrap();
    read_answer(&mut connection).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_every_family_is_run_like_the_whole_reply() {
    let service = Service::start().await;
    for (provider, media, text, whole) in STREAMS {
        let whole: Value = serde_json::from_str(whole).unwrap();
        let expected = execute(&service, json!({"provider": provider, "call": whole})).await;
        assert_eq!(expected.status, 200, "{provider}: {}", expected.body);
        let expected = expected.json();
        assert!(expected["messages"].as_array().is_some_and(|messages| !messages.is_empty()), "{expected}");
        let chunks = gateway_dialects::stream::parse_chunks(text).unwrap();
        let named = format!("/execute?provider={provider}");
        for (form, answer) in [
            ("text", execute(&service, json!({"provider": provider, "call": text})).await),
            ("list", execute(&service, json!({"provider": provider, "call": chunks})).await),
            ("body", stream(&service, &named, media, text).await),
            ("single bytes", byte_by_byte(&service, &named, media, text).await),
        ] {
            assert_eq!((answer.status, answer.json()), (200, expected.clone()), "{provider} as {form}");
        }
        let detected = execute(&service, json!({"call": whole})).await.json();
        assert_eq!(stream(&service, "/execute", media, text).await.json(), detected, "{provider} detected");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reasoning_and_usage_of_a_reply_are_in_the_answer() {
    let service = Service::start().await;
    let text = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"so \"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"<thi\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"nk>what</think>Hello\"}}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n";
    let answer = stream(&service, "/execute", "text/event-stream", text).await.json();
    assert_eq!(
        (&answer["text"], &answer["reasoning"], &answer["usage"]),
        (&json!("Hello"), &json!("so what"), &json!({"inputTokens": 9, "outputTokens": 4})),
        "{answer}"
    );
    let silent = execute(&service, json!({"call": {"role": "assistant", "content": "Hello"}})).await.json();
    assert_eq!((silent.get("reasoning"), silent.get("usage")), (None, None), "{silent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_calls_gives_its_text() {
    let service = Service::start().await;
    let text = "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"lo\"}}]}\n\ndata: [DONE]\n\n";
    for answer in [
        stream(&service, "/execute", "text/event-stream; charset=utf-8", text).await,
        execute(&service, json!({"call": text})).await,
        execute(&service, json!({"provider": "openai", "call": text})).await,
    ] {
        assert_eq!((answer.status, &answer.json()["text"]), (200, &json!("Hello")), "{}", answer.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_cannot_be_read_is_refused() {
    let service = Service::start().await;
    let broken = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"add\",\"arguments\":\"{\\\"a\\\":1\"}}]}}]}\n\n";
    for (text, error) in [
        ("data: {\"choices\":\n\n", "line 1 holds no JSON document"),
        ("hello", "line 1 holds no JSON document"),
        ("data: {\"a\":1}\n\n", "no known API sends chunks with a"),
        ("data: [DONE]\n\n", "it has no chunk"),
        (broken, "it ends in the middle of the call of `add`"),
    ] {
        let answer = stream(&service, "/execute", "text/event-stream", text).await;
        assert_eq!((answer.status, answer.code()), (400, "VALIDATION_ERROR".to_owned()), "{text}");
        let message = answer.json()["error"].as_str().unwrap_or_default().to_owned();
        assert!(message.starts_with("the stream cannot be read: ") && message.contains(error), "{message}");
    }
    let answer = execute(&service, json!({"call": broken})).await;
    assert_eq!(answer.status, 400, "{}", answer.body);
    let answer = stream(&service, "/call_tool", "text/event-stream", "data: {}\n\n").await;
    assert_eq!(answer.status, 415, "only turns are streamed: {}", answer.body);
}

/// As in a whole reply: the model gets a message for each call, and the others run.
#[tokio::test]
async fn a_call_without_a_name_in_a_stream_gets_its_message() {
    let service = Service::start().await;
    let chunk = |call: Value| json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
    let good =
        json!({"index": 0, "id": "c1", "function": {"name": "get_value", "arguments": "{\"key\":\"hi\"}"}});
    let nameless = json!({"index": 1, "id": "c2", "function": {"arguments": "{}"}});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    let text = [chunk(good), chunk(nameless), end].map(|chunk| format!("data: {chunk}\n\n")).concat();
    let answer = stream(&service, "/execute", "text/event-stream", &text).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let messages = answer.json()["messages"].clone();
    let sent = |index: usize| (messages[index]["tool_call_id"].clone(), messages[index]["content"].clone());
    assert_eq!(sent(0).0, "c1");
    assert!(sent(0).1.as_str().unwrap().contains("hi"), "{messages}");
    let text = "Error: The call names no tool. Call one of the tools by its name.";
    assert_eq!(sent(1), (json!("c2"), json!(text)), "{messages}");
}
