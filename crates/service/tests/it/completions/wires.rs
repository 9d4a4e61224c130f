//! One question with one call, in each wire format, whole and streamed.

use gateway_testkit::models::{Delivery, Quirk, Reply, Script, Step, Wire};
use serde_json::json;

use super::{adding, ask, chunks, joined, question, start};

#[tokio::test]
async fn every_wire_answers_after_a_call_whole_and_streamed() {
    for wire in Wire::OF_AGENT.iter().copied() {
        for stream in [false, true] {
            let (server, service) = start(wire, adding()).await;
            let mut request = question("What is 15 plus 27?", stream);
            request["stream_options"] = json!({"include_usage": true});
            let answer = ask(&service, &request).await;
            assert_eq!(answer.status, 200, "{wire:?} {stream}: {}", answer.body);
            let (text, reason, gateway) = if stream {
                let chunks = chunks(&answer);
                let last = chunks.last().unwrap();
                let reason = chunks.iter().find_map(|chunk| chunk["choices"][0]["finish_reason"].as_str());
                (joined(&chunks, "content"), reason.map(str::to_owned), last["gateway"].clone())
            } else {
                let whole = answer.json();
                let choice = &whole["choices"][0];
                let text = choice["message"]["content"].as_str().unwrap_or_default().to_owned();
                (text, choice["finish_reason"].as_str().map(str::to_owned), whole["gateway"].clone())
            };
            let expected = "Let me add.\n\nThe sum is 42.";
            assert_eq!((text.as_str(), reason.as_deref()), (expected, Some("stop")), "{wire:?}");
            let call = &gateway["calls"][0];
            assert_eq!(
                (&call["tool_name"], &call["arguments"], &call["server"]),
                (&json!("add"), &json!({"a": 15, "b": 27}), &json!("demo")),
                "{wire:?} {gateway}"
            );
            assert!(call["result"].as_str().unwrap().contains("42"), "{call}");
            assert_eq!(gateway["rounds"].as_array().unwrap().len(), 2, "{wire:?}");
            // The second request has the call and its result in the provider's own messages.
            let requests = server.requests();
            assert_eq!(requests.len(), 2, "{wire:?}");
            let second = requests[1].body.to_string();
            assert!(second.contains("42") && second.contains("add"), "{wire:?}: {second}");
        }
    }
}

/// A round with thoughts, text and two calls, and one with thoughts and text. Some providers sign thoughts.
fn rounds(signature: Option<&str>) -> [Reply; 2] {
    let thoughts = |text: &str| match signature {
        Some(signature) => Reply::new().reasoning(text).signature(signature),
        None => Reply::new().reasoning(text),
    };
    let calls = thoughts("Two sums, ähm.").text("I add.").call("call00001", "add", json!({"a": 1, "b": 2}));
    [
        calls.call("call00002", "multiply", json!({"a": 3, "b": 4})),
        thoughts("That is it.").text("3 and 12 – ⚙."),
    ]
}

#[tokio::test]
async fn unusual_deliveries_give_the_same_text_whole_and_streamed() {
    let mut deliveries = vec![Delivery::usual(), Delivery::single_bytes(), Delivery::one_chunk()];
    deliveries.extend(Quirk::ALL.iter().copied().map(|quirk| Delivery::usual().with(quirk)));
    for wire in Wire::OF_AGENT.iter().copied() {
        let mut script = Script::new();
        let mut questions = Vec::new();
        for delivery in &deliveries {
            for (stream, signature) in
                [(true, None), (false, None), (true, Some("c2lnbmVk")), (false, Some("c2lnbmVk"))]
            {
                // One format has one call a reply, and one quirk is Argo's alone.
                let is_argos = delivery.quirks == [Quirk::ArgoEnvelope] && wire != Wire::Argo;
                if wire == Wire::Functions || is_argos {
                    continue;
                }
                let steps = rounds(signature).map(|reply| Step::reply(reply).delivered(delivery.clone()));
                script = steps.into_iter().fold(script, Script::step);
                questions.push((delivery, stream, signature));
            }
        }
        let (_server, service) = start(wire, script).await;
        for (delivery, stream, signature) in questions {
            let about = format!("{wire:?} {delivery:?}, streamed: {stream}, signed: {}", signature.is_some());
            let answer = ask(&service, &question("?", stream)).await;
            assert_eq!(answer.status, 200, "{about}: {}", answer.body);
            let text = if stream {
                joined(&chunks(&answer), "content")
            } else {
                answer.json()["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned()
            };
            assert_eq!(text, "I add.\n\n3 and 12 – ⚙.", "{about}");
        }
    }
}
