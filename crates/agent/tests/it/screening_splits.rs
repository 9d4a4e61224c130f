//! Personal data that is split over parts, in blocks of unknown types, or in results that are hard to read.

use gateway_dialects::stream::StreamEvent;
use gateway_privacy::Mode;
use gateway_protocol::RawJson;
use gateway_testkit::models::{Reply, Script};
use serde_json::{Value, json};

use crate::gateway::joined;
use crate::screening::{answered, found, gateway, model, modes, request, run_raw, sent, user};
use crate::tools::{called, said};

fn thought(text: &str) -> StreamEvent {
    StreamEvent::Reasoning(text.to_owned())
}

/// Every reader takes such results for JSON, and not all make a value of them.
#[tokio::test]
async fn results_that_are_hard_to_read_are_screened() {
    let deep = format!("{}\"card 4242 4242 4242 4242\"{}", "[".repeat(200), "]".repeat(200));
    let long = format!("4242 4242 4242 4242 \\ud800 {}", "word ".repeat(80_000));
    for raw in [
        r#"{"content":[{"type":"text","text":"card 4242 4242 4242 4242 \ud800"}]}"#.to_owned(),
        r#"{"content":[{"type":"text","text":"card 4242 4242 4242 4242"}],"_meta":{"a":1e999}}"#.to_owned(),
        format!(r#"{{"content":[{{"type":"text","text":"x"}}],"structuredContent":{deep}}}"#),
        format!(r#"{{"content":[{{"type":"text","text":"{long}"}}]}}"#),
    ] {
        for mode in [Mode::Mask, Mode::Block] {
            let replies = vec![vec![called("c1", "find", &json!({}))], vec![said("Done.")]];
            let result = RawJson::parse(raw.clone()).unwrap();
            let (finished, _) = run_raw(replies, result, modes(None, Some(mode), None), user("Pay")).await;
            let finished = finished.unwrap();
            let added = serde_json::to_string(&finished.added).unwrap();
            assert!(!added.contains("4242"), "{added:.300}");
            let kinds = json!({"card": 1});
            assert_eq!(found(&finished), json!([{"part": "results", "mode": mode.name(), "kinds": kinds}]));
        }
    }
}

#[tokio::test]
async fn an_answer_between_thoughts_is_one_text() {
    for between in [thought("x"), StreamEvent::Signature("s".to_owned())] {
        let reply = vec![said("card 4242 4242 "), between, said("4242 4242, "), thought("y"), said("ok")];
        for (mode, expected) in [
            (Mode::Mask, "card [card], ok".to_owned()),
            (
                Mode::Block,
                "card [The rest of the answer was withheld: it contains personal data (card).]".to_owned(),
            ),
        ] {
            let nothing = RawJson::of(&json!({})).unwrap();
            let modes = modes(None, None, Some(mode));
            let (finished, _) = run_raw(vec![reply.clone()], nothing, modes, user("Pay")).await;
            assert_eq!(finished.unwrap().text, expected);
        }
    }
}

/// Longer than what is searched at once.
#[tokio::test]
async fn a_long_answer_is_masked_wherever_it_is_cut() {
    let text = "4242 4242 4242 4242, ".repeat(5_000);
    let server = model(Script::new().last(Reply::new().text(text.clone()))).await;
    let gateway = gateway(&server, modes(None, None, Some(Mode::Mask)));
    let (masked, _) = answered(&gateway, &request("Cards?", false)).await.unwrap();
    assert_eq!(masked, text.replace("4242 4242 4242 4242", "[card]"));
}

#[tokio::test]
async fn parts_of_a_message_are_read_as_one() {
    let parts = json!([{"type": "text", "text": "card 4242 4242 "}, {"type": "image_url", "image_url": {"url": "u"}},
        {"type": "text", "text": "4242 4242 ok"}]);
    for (mode, expected) in [
        (Mode::Mark, parts.clone()),
        (
            Mode::Mask,
            json!([{"type": "text", "text": "card [card]"}, {"type": "image_url", "image_url": {"url": "u"}},
                {"type": "text", "text": " ok"}]),
        ),
    ] {
        let server = model(Script::new().last(Reply::new().text("Done."))).await;
        let gateway = gateway(&server, modes(Some(mode), None, None));
        let mut body = request("", false);
        body["messages"][0]["content"] = parts.clone();
        let (_, beside) = answered(&gateway, &body).await.unwrap();
        assert_eq!(sent(&server)[0][0]["content"], expected);
        assert_eq!(beside["personalData"][0]["kinds"], json!({"card": 1}));
    }
}

#[tokio::test]
async fn blocks_of_a_result_are_read_as_one() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let resource = json!({"type": "resource", "resource": {"uri": "a:b", "text": "4242 4242", "blob": "anna@example.com"}});
    let result = RawJson::of(&json!({"content": [text("card 4242 4242 "), resource]})).unwrap();
    let replies = vec![vec![called("c1", "find", &json!({}))], vec![said("Done.")]];
    let (finished, _) = run_raw(replies, result, modes(None, Some(Mode::Mask), None), user("Pay")).await;
    let finished = finished.unwrap();
    assert_eq!(finished.calls[0].result, "card [card]\n");
    assert_eq!(found(&finished), json!([{"part": "results", "mode": "mask", "kinds": {"card": 1}}]));
    assert!(!serde_json::to_string(&finished.added).unwrap().contains("4242"));
}

/// Only media and ids of types that are known are left alone.
#[tokio::test]
async fn blocks_of_unknown_types_are_data() {
    let server = model(Script::new().last(Reply::new().text("Done."))).await;
    let gateway = gateway(&server, modes(Some(Mode::Mask), None, None));
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk+4155552671"}});
    for (block, expected) in [
        (
            json!({"type": "weird", "data": "card 4242 4242 4242 4242", "ssn": 536_904_399, "a@b.co": 1}),
            json!({"type": "weird", "data": "card [card]", "ssn": "[ssn]", "[email]": 1}),
        ),
        (
            json!({"type": "document", "source": {"type": "text", "data": "SSN 536-90-4399"}}),
            json!({"type": "document", "source": {"type": "text", "data": "SSN [ssn]"}}),
        ),
        (
            json!({"type": "text", "text": "x", "source": "a@b.co", "id": "c@d.co", "signature": "e@f.co"}),
            json!({"type": "text", "text": "x", "source": "[email]", "id": "[email]", "signature": "[email]"}),
        ),
        (image.clone(), image),
    ] {
        let mut body = request("", false);
        body["messages"][0]["content"] = json!([block]);
        answered(&gateway, &body).await.unwrap();
        assert_eq!(sent(&server).pop().unwrap()[0]["content"][0], expected);
    }
}

/// A tool gets the arguments as the model wrote them; whoever watches sees what the mode allows.
#[tokio::test]
async fn arguments_of_calls_are_reported_and_masked_where_they_are_shown() {
    let arguments = json!({"key": "k", "value": "anna@example.com"});
    for (mode, shown) in [
        (Mode::Mark, arguments.clone()),
        (Mode::Mask, json!({"key": "k", "value": "[email]"})),
        (Mode::Block, json!({"key": "k", "value": "[email]"})),
    ] {
        let script = Script::new()
            .reply(Reply::new().call("c1", "store_value", arguments.clone()))
            .last(Reply::new().text("Done."));
        let server = model(script).await;
        let gateway = gateway(&server, modes(None, None, Some(mode)));
        let mut body = request("Store it.", true);
        body["gateway"] = json!({"events": "calls"});
        let chunks = gateway.streamed(&body, None).await.unwrap();
        assert_eq!(joined(&chunks, "content"), "Done.");
        let events: Vec<&Value> = ["tool_call", "tool_result"]
            .iter()
            .map(|kind| chunks.iter().find_map(|chunk| chunk["gateway"].get(kind)).unwrap())
            .map(|event| &event["arguments"])
            .collect();
        assert_eq!(events, [&shown, &shown]);
        let beside = &chunks.last().unwrap()["gateway"];
        assert_eq!(beside["calls"][0]["arguments"], shown);
        assert_eq!(
            beside["personalData"],
            json!([{"part": "answers", "mode": "mark", "kinds": {"email": 1}}])
        );
        assert_eq!(gateway.calls(), 1);
        let page = gateway.runtime.log().query(&gateway_store::Filter::default()).unwrap();
        assert_eq!(&*page.entries[0].call.input, arguments.to_string().as_bytes());
    }
}
