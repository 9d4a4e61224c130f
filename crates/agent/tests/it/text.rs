//! Streamed answers say what whole ones say.

use gateway_testkit::models::{Delivery, ModelServer, Pieces, Quirk, Reply, Script, Step, Wire};
use serde_json::{Value, json};

use crate::gateway::{Gateway, joined, question};

/// What a caller gets of an answer.
#[derive(Debug, PartialEq)]
struct Said {
    text: String,
    reasoning: String,
    finish_reason: Value,
    usage: Value,
    /// The calls that ran: tool, arguments, result.
    calls: Vec<[Value; 3]>,
}

fn calls(gateway: &Value) -> Vec<[Value; 3]> {
    let calls = gateway["calls"].as_array().unwrap();
    calls.iter().map(|call| ["tool", "arguments", "result"].map(|key| call[key].clone())).collect()
}

async fn said(wire: Wire, steps: &[Step], stream: bool) -> Said {
    let script = steps.iter().cloned().fold(Script::new(), Script::step);
    let server = ModelServer::start(wire, script).await.unwrap();
    let gateway = Gateway::over(wire, &server);
    if stream {
        let chunks = gateway.streamed(&question(true), None).await.unwrap();
        let reasons = chunks.iter().map(|chunk| &chunk["choices"][0]["finish_reason"]);
        let last = chunks.last().unwrap();
        return Said {
            text: joined(&chunks, "content"),
            reasoning: joined(&chunks, "reasoning_content"),
            finish_reason: reasons.filter(|reason| !reason.is_null()).cloned().collect(),
            usage: last["usage"].clone(),
            calls: calls(&last["gateway"]),
        };
    }
    let whole = gateway.whole(&question(false), None).await.unwrap();
    let choice = &whole["choices"][0];
    let text = |key: &str| choice["message"][key].as_str().unwrap_or_default().to_owned();
    Said {
        text: text("content"),
        reasoning: text("reasoning_content"),
        finish_reason: json!([choice["finish_reason"]]),
        usage: whole["usage"].clone(),
        calls: calls(&whole["gateway"]),
    }
}

/// Checks that both ways say `text` and `reasoning`, over these wires and in all pieces.
async fn check(wires: &[Wire], quirks: &[Quirk], replies: &[Reply], (text, reasoning): (&str, &str)) {
    for wire in wires.iter().copied() {
        let mut all = Vec::new();
        for pieces in Pieces::ALL.iter().copied() {
            for stream in [false, true] {
                let delivery = Delivery { pieces, quirks: quirks.to_vec() };
                let steps: Vec<Step> = replies
                    .iter()
                    .map(|reply| Step::reply(reply.clone()).delivered(delivery.clone()))
                    .collect();
                let said = said(wire, &steps, stream).await;
                assert_eq!(said.text, text, "{wire:?} {pieces:?}, streamed: {stream}");
                assert_eq!(said.reasoning, reasoning, "{wire:?} {pieces:?}, streamed: {stream}");
                all.push(said);
            }
        }
        for said in &all {
            assert_eq!(said, &all[0], "{wire:?}");
        }
    }
}

#[tokio::test]
async fn of_one_round() {
    let reply = Reply::new().text("It is 42.");
    check(Wire::OF_AGENT, &[], &[reply], ("It is 42.", "")).await;
}

#[tokio::test]
async fn of_several_rounds_with_an_empty_line_between() {
    let replies = [
        Reply::new().text("First I add.").call("call00001", "add", json!({"a": 15, "b": 27})),
        Reply::new().call("call00002", "multiply", json!({"a": 2, "b": 3})),
        Reply::new().text("It is 42,").text(" and 6."),
    ];
    check(Wire::OF_AGENT, &[], &replies, ("First I add.\n\nIt is 42, and 6.", "")).await;
}

#[tokio::test]
async fn of_characters_that_are_cut_in_the_middle() {
    let text = "Grüße, 数学 🧮: 15 + 27 = 42 — fertig\n\n\t\"so\" \\ \u{2028}ok";
    let call = Reply::new().text("Ä 🧮").call("call00001", "echo", json!({"message": text}));
    check(Wire::OF_AGENT, &[], &[call, Reply::new().text(text)], (&format!("Ä 🧮\n\n{text}"), "")).await;
}

#[tokio::test]
async fn of_thoughts_of_several_rounds() {
    let replies = [
        Reply::new().reasoning("Two numbers.").signature("c2lnbmF0dXJl").text("I add.").call(
            "call00001",
            "add",
            json!({"a": 15, "b": 27}),
        ),
        Reply::new().reasoning("That is the sum.").signature("c2lnbmF0dXJl").text("42."),
    ];
    check(Wire::OF_AGENT, &[], &replies, ("I add.\n\n42.", "Two numbers.\n\nThat is the sum.")).await;
}

#[tokio::test]
async fn of_thoughts_between_tags() {
    let replies = [
        Reply::new().reasoning("Two numbers.").text("I add.").call(
            "call00001",
            "add",
            json!({"a": 15, "b": 27}),
        ),
        Reply::new().reasoning("Über-Summe 🧮.").text("42."),
    ];
    let wires = [Wire::Chat, Wire::Dial, Wire::Argo, Wire::Ollama];
    let expected = ("I add.\n\n42.", "Two numbers.\n\nÜber-Summe 🧮.");
    check(&wires, &[Quirk::ThinkTags], &replies, expected).await;
}

#[tokio::test]
async fn of_thoughts_under_another_name() {
    let reply = Reply::new().reasoning("Two numbers.").text("42.");
    check(&[Wire::Chat], &[Quirk::Reasoning], &[reply], ("42.", "Two numbers.")).await;
}

#[tokio::test]
async fn of_an_answer_that_was_cut_off() {
    let reply = Reply::new().text("It is forty").finish(gateway_testkit::models::Finish::Length);
    for wire in Wire::OF_AGENT.iter().copied() {
        for stream in [false, true] {
            let said = said(wire, &[Step::reply(reply.clone())], stream).await;
            assert_eq!(said.finish_reason, json!(["length"]), "{wire:?}, streamed: {stream}");
        }
    }
}

#[tokio::test]
async fn whatever_habits_a_server_has() {
    let replies = [
        Reply::new().text("I add.").call("call00001", "add", json!({"a": 15, "b": 27})).call(
            "call00002",
            "multiply",
            json!({"a": 2, "b": 3}),
        ),
        Reply::new().text("42 and 6."),
    ];
    for wire in Wire::OF_AGENT.iter().copied() {
        for quirk in Quirk::ALL.iter().copied() {
            // An envelope of its own, which only Argo has.
            if quirk == Quirk::ArgoEnvelope && wire != Wire::Argo {
                continue;
            }
            for stream in [false, true] {
                let delivered =
                    |reply: &Reply| Step::reply(reply.clone()).delivered(Delivery::usual().with(quirk));
                let said = said(wire, &replies.each_ref().map(delivered), stream).await;
                let about = format!("{wire:?} {quirk:?}, streamed: {stream}: {said:?}");
                assert_eq!(said.text, "I add.\n\n42 and 6.", "{about}");
                let tools: Vec<&Value> = said.calls.iter().map(|[tool, ..]| tool).collect();
                // The API from before tools has one call in a reply.
                let expected = if wire == Wire::Functions { &["add"][..] } else { &["add", "multiply"] };
                assert_eq!(tools, expected, "{about}");
            }
        }
    }
}

#[tokio::test]
async fn of_a_server_that_does_not_stream_when_it_is_asked_to() {
    let body = json!({"id": "x", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "It is 42.", "reasoning_content": "A sum."}}]});
    let step = Step::raw(200, "application/json", body.to_string());
    let said = said(Wire::Chat, &[step], true).await;
    assert_eq!((said.text.as_str(), said.reasoning.as_str()), ("It is 42.", "A sum."));
}

#[tokio::test]
async fn of_a_stream_that_ends_without_a_reason() {
    let ollama = "{\"message\":{\"role\":\"assistant\",\"content\":\"It is 42.\"},\"done\":false}\n\
                  {\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true}\n";
    let one_line = r#"{"message":{"role":"assistant","content":"It is 42."},"done":true}"#;
    let chat =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"It is 42.\"}}]}\n\ndata: [DONE]\n\n";
    for (wire, content_type, body) in [
        (Wire::Ollama, "application/x-ndjson", ollama),
        // Some servers call lines of JSON that.
        (Wire::Ollama, "application/json", ollama),
        (Wire::Ollama, "application/json; charset=utf-8", one_line),
        (Wire::Chat, "text/event-stream", chat),
    ] {
        let said = said(wire, &[Step::raw(200, content_type, body)], true).await;
        assert_eq!((said.text.as_str(), said.finish_reason), ("It is 42.", json!(["stop"])), "{wire:?}");
    }
}
