//! One question with one call, in each wire format, whole and streamed.

use gateway_testkit::models::{Delivery, Quirk, Reply, Script, Step, Wire};
use serde_json::json;

use super::{adding, ask, chunks, joined, question, start, start_with};

#[tokio::test]
async fn every_wire_answers_after_a_call_whole_and_streamed() {
    for wire in Wire::ALL.iter().copied() {
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

#[tokio::test]
async fn odd_deliveries_give_the_same_answer() {
    let reply = || {
        Reply::new().reasoning("Two sums, ähm.").call("call_1", "add", json!({"a": 1, "b": 2})).call(
            "call_2",
            "multiply",
            json!({"a": 3, "b": 4}),
        )
    };
    for wire in Wire::ALL.iter().copied() {
        let mut deliveries = vec![Delivery::usual(), Delivery::single_bytes(), Delivery::one_chunk()];
        deliveries.extend(Quirk::ALL.iter().copied().map(|quirk| Delivery::usual().with(quirk)));
        for delivery in deliveries {
            // One format has one call a reply.
            if wire == Wire::Functions {
                continue;
            }
            let script = Script::new()
                .step(Step::reply(reply()).delivered(delivery.clone()))
                .step(Step::reply(Reply::new().text("3 and 12 – ⚙.")).delivered(delivery.clone()));
            let (server, service) = start_with(wire, script, |_| {}).await;
            let answer = ask(&service, &question("?", true)).await;
            assert_eq!(answer.status, 200, "{wire:?} {delivery:?}: {}", answer.body);
            let chunks = chunks(&answer);
            assert_eq!(joined(&chunks, "content"), "3 and 12 – ⚙.", "{wire:?} {delivery:?}");
            assert_eq!(server.requests().len(), 2, "{wire:?} {delivery:?}");
        }
    }
}
