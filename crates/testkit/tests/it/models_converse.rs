//! Model servers speak Converse of Amazon Bedrock: binary messages, signatures, the shapes of its service model.

use gateway_testkit::models::{Fault, ModelServer, Reply, Script, ServerOptions, Step, Usage, Wire};
use serde_json::{Value, json};

use crate::models_strict::{check, check_refusals, object, offer};
use crate::talk_models::{Client, ask, question, start, start_strict};

/// The messages of an event stream: the values of their headers, and their payloads.
fn messages(mut bytes: &[u8]) -> Vec<(Vec<String>, Value)> {
    let number = |bytes: &[u8]| usize::try_from(u32::from_be_bytes(bytes.try_into().unwrap())).unwrap();
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let (total, length) = (number(&bytes[..4]), number(&bytes[4..8]));
        let (mut headers, payload) = bytes[12..total - 4].split_at(length);
        let mut values = Vec::new();
        while !headers.is_empty() {
            let rest = &headers[1 + usize::from(headers[0])..];
            assert_eq!(rest[0], 7, "a header that is text");
            let length = usize::from(u16::from_be_bytes([rest[1], rest[2]]));
            values.push(String::from_utf8(rest[3..3 + length].to_vec()).unwrap());
            headers = &rest[3 + length..];
        }
        all.push((values, serde_json::from_slice(payload).unwrap()));
        bytes = &bytes[total..];
    }
    all
}

fn sum() -> Reply {
    let usage = Usage { input: 50, cached: 20, output: 30, reasoning: 10 };
    let thought = Reply::new().reasoning("Two sums.").signature("c2ln");
    thought.text("I add.").call("t1", "add", json!({"a": 15})).usage(usage)
}

#[tokio::test]
async fn converse_answers_in_messages_of_an_event_stream() {
    let server = start(Wire::Converse, Script::new().last(sum())).await;
    let streamed = ask(&server, Wire::Converse, true).await;
    assert_eq!(streamed.header("content-type"), Some("application/vnd.amazon.eventstream"));
    assert_eq!(streamed.header("x-amzn-requestid"), Some("req_1"));
    let events: Vec<(String, Value)> = messages(&streamed.body)
        .into_iter()
        .map(|(headers, mut payload)| {
            assert_eq!(headers[1..], ["application/json", "event"]);
            payload.as_object_mut().unwrap().remove("p").unwrap();
            (headers[0].clone(), payload)
        })
        .collect();
    let usage = json!({"cacheReadInputTokens": 20, "cacheWriteInputTokens": 0, "inputTokens": 30, "outputTokens": 30, "totalTokens": 80});
    let delta = |index: usize, delta: Value| {
        ("contentBlockDelta".to_owned(), json!({"delta": delta, "contentBlockIndex": index}))
    };
    let stop = |index: usize| ("contentBlockStop".to_owned(), json!({"contentBlockIndex": index}));
    let expected = [
        ("messageStart".to_owned(), json!({"role": "assistant"})),
        delta(0, json!({"reasoningContent": {"text": "Two sums."}})),
        delta(0, json!({"reasoningContent": {"signature": "c2ln"}})),
        stop(0),
        delta(1, json!({"text": "I add."})),
        stop(1),
        (
            "contentBlockStart".to_owned(),
            json!({"start": {"toolUse": {"toolUseId": "t1", "name": "add"}}, "contentBlockIndex": 2}),
        ),
        delta(2, json!({"toolUse": {"input": "{\"a\":1"}})),
        delta(2, json!({"toolUse": {"input": "5}"}})),
        stop(2),
        ("messageStop".to_owned(), json!({"stopReason": "tool_use"})),
        ("metadata".to_owned(), json!({"metrics": {"latencyMs": 700}, "usage": usage})),
    ];
    assert_eq!(events, expected);
    let whole = ask(&server, Wire::Converse, false).await.json();
    assert_eq!(
        (&whole["output"]["message"]["content"], &whole["stopReason"], &whole["usage"]),
        (
            &json!([
                {"reasoningContent": {"reasoningText": {"text": "Two sums.", "signature": "c2ln"}}},
                {"text": "I add."},
                {"toolUse": {"toolUseId": "t1", "name": "add", "input": {"a": 15}}},
            ]),
            &json!("tool_use"),
            &usage
        )
    );
    assert_eq!(server.requests()[0].model().as_deref(), Some(Wire::Converse.usual_model()));
}

/// The smallest message there is, from AWS's own test vectors, says what the checksums are; ours have headers, so that both
/// checksums of a message are computed anew here, by division.
#[tokio::test]
async fn messages_have_checksums() {
    fn crc32(bytes: &[u8]) -> u32 {
        let mut remainder = u32::MAX;
        for byte in bytes {
            for bit in 0..8 {
                let first = (remainder ^ u32::from(byte >> bit)) & 1 == 1;
                remainder = (remainder >> 1) ^ if first { 0xEDB8_8320 } else { 0 };
            }
        }
        !remainder
    }
    assert_eq!(crc32(&[0, 0, 0, 16, 0, 0, 0, 0]), 0x05C2_48EB);
    let server = start(Wire::Converse, Script::new().last(Reply::new().text("3."))).await;
    let body = ask(&server, Wire::Converse, true).await.body;
    let total = usize::try_from(u32::from_be_bytes(body[..4].try_into().unwrap())).unwrap();
    assert_eq!(body[8..12], crc32(&body[..8]).to_be_bytes());
    assert_eq!(body[total - 4..total], crc32(&body[..total - 4]).to_be_bytes());
}

#[tokio::test]
async fn an_exception_takes_the_place_of_an_event() {
    let server = start(Wire::Converse, Script::new().step(Step::spoiled(Fault::ErrorEvent, sum()))).await;
    let all = messages(&ask(&server, Wire::Converse, true).await.body);
    let (headers, payload) = all.last().unwrap();
    assert_eq!(headers[..], ["internalServerException", "application/json", "exception"]);
    assert!(payload["message"].as_str().unwrap().contains("unexpected error"));
    assert!(all.iter().all(|(headers, _)| headers[0] != "messageStop"));
}

#[tokio::test]
async fn a_request_is_signed_for_bedrock_or_has_a_key() {
    let server = start_strict(Wire::Converse, Script::new().last(Reply::new().text("3."))).await;
    let (path, body) = question(Wire::Converse, false);
    let signature = |scope: &str| {
        format!(
            "AWS4-HMAC-SHA256 Credential=AKID/{scope}, SignedHeaders=host;x-amz-date, Signature={}",
            "0".repeat(64)
        )
    };
    let date = ("x-amz-date", "20251118T120000Z");
    let good = signature("20251118/us-east-1/bedrock/aws4_request");
    let other = signature("20251118/us-east-1/s3/aws4_request");
    for (headers, status) in [
        (vec![("authorization", good.as_str()), date], 200),
        (vec![("authorization", "Bearer bedrock-api-key-x")], 200),
        (vec![("authorization", other.as_str()), date], 403),
        (vec![("authorization", good.as_str())], 403),
        (vec![date], 403),
    ] {
        let line = format!("POST {path}");
        let client = Client::send(server.address(), &line, &headers, &body.to_string()).await.unwrap();
        let answer = client.answer().await.unwrap();
        assert_eq!(answer.status, status, "{headers:?}");
        let named = (status == 403).then_some("MissingAuthenticationTokenException");
        assert_eq!(answer.header("x-amzn-errortype"), named);
    }
    for (key, status) in [("AKID", 200), ("AKIE", 403)] {
        let options = ServerOptions { key: Some(key.to_owned()), ..ServerOptions::default() };
        let script = Script::new().last(Reply::new().text("3."));
        let server = ModelServer::start_with(Wire::Converse, script, options).await.unwrap();
        assert_eq!(ask(&server, Wire::Converse, false).await.status, status, "{key}");
    }
}

#[tokio::test]
async fn converse_refuses() {
    let offer = |name: &str, schema: &Value| offer(Wire::Converse, name, schema);
    let mut twice = offer("add", &object(&json!({})));
    let tool = twice["toolConfig"]["tools"][0].clone();
    twice["toolConfig"]["tools"].as_array_mut().unwrap().push(tool);
    check_refusals(
        Wire::Converse,
        &[
            (json!({"tools": []}), "1 validation error detected: Value at '' failed to satisfy constraint"),
            (
                json!({"toolConfig": {"tools": []}}),
                "Value at 'toolConfig.tools' failed to satisfy constraint",
            ),
            (offer("a.b", &object(&json!({}))), "Value at 'toolConfig.tools.1.member.toolSpec.name' failed"),
            (
                offer("add", &json!({})),
                "toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object.",
            ),
            (
                offer("add", &json!({"type": "object", "anyOf": [{}]})),
                "does not support oneOf, allOf, or anyOf at the top level",
            ),
            (
                offer("add", &object(&json!({"a": {"type": "strng"}}))),
                "It must match JSON Schema draft 2020-12",
            ),
            (twice, "contains the tool add more than once"),
            (
                json!({"messages": [{"role": "tool", "content": [{"text": "1"}]}]}),
                "Value at 'messages.1.member.role' failed",
            ),
            (
                json!({"messages": [{"role": "user", "content": [{"text": "1", "json": {}}]}]}),
                "Value at 'messages.1.member.content.1.member' failed",
            ),
            (
                json!({"messages": [{"role": "user", "content": []}]}),
                "The content field in the Message object at messages.0 is empty.",
            ),
            (json!({"inferenceConfig": {"temperature": 3}}), "Value at 'inferenceConfig.temperature' failed"),
        ],
    )
    .await;
}

#[test]
fn conversations_of_converse() {
    let user = json!({"role": "user", "content": [{"text": "1 + 2?"}]});
    let call = |id: &str, input: Value| json!({"toolUse": {"toolUseId": id, "name": "add", "input": input}});
    let said = |blocks: &[Value]| json!({"role": "assistant", "content": blocks});
    let told = |blocks: &[Value]| json!({"role": "user", "content": blocks});
    let result = |id: &str| json!({"toolResult": {"toolUseId": id, "content": [{"json": {"sum": 3}}]}});
    let body = |messages: &[&Value]| json!({"messages": messages, "toolConfig": {}});
    let refused = |messages: &[&Value], words: &str| check(Wire::Converse, &body(messages), words);
    let (one, answer) =
        (said(&[call("t1", json!({})), call("t2", json!({}))]), told(&[result("t1"), result("t2")]));
    assert_eq!(
        gateway_testkit::models::check_history(Wire::Converse, &body(&[&user, &one, &answer])),
        Ok(())
    );
    let half = told(&[result("t1")]);
    refused(
        &[&user, &one, &half],
        "Expected toolResult blocks at messages.2.content for the following Ids: t2",
    );
    refused(&[&user, &one], "Expected toolResult blocks at messages.2.content for the following Ids: t1, t2");
    refused(
        &[&half],
        "The number of toolResult blocks at messages.0.content exceeds the number of toolUse blocks",
    );
    refused(&[&one, &answer], "A conversation must start with a user message.");
    refused(&[&user, &user], "A conversation must alternate between user and assistant roles.");
    refused(
        &[&user, &said(&[call("t1", json!("{}"))]), &half],
        "messages.1.content.0.toolUse.input is invalid. Provide a json object",
    );
    refused(
        &[&told(&[json!({"text": " "})])],
        "The text field in the ContentBlock object at messages.0.content.0 is blank.",
    );
    let failed = told(&[json!({"toolResult": {"toolUseId": "t1", "status": "error", "content": []}})]);
    refused(
        &[&user, &said(&[call("t1", json!({}))]), &failed],
        "cannot be empty when status value is error.",
    );
    let list = told(&[json!({"toolResult": {"toolUseId": "t1", "content": [{"json": [3]}]}})]);
    refused(&[&user, &said(&[call("t1", json!({}))]), &list], "toolResult.content.0.json is invalid.");
    let bare = json!({"messages": [user, said(&[call("t1", json!({}))]), half]});
    check(
        Wire::Converse,
        &bare,
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
    );
}
