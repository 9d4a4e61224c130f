//! The state that a modern caller brings back: its own, unchanged, in time, for the same request, and once.

use std::time::Duration;

use gateway_service::Secret;
use gateway_upstream::{CatalogueRules, ToolGroup};
use serde_json::{Value, json};

use super::wire::{Caller, Era, Front, PATIENCE, Way, everything, upstream};
use crate::logs::eventually_logged;

/// The two kinds of state: a call that waits here, and one that the upstream remembers.
const KINDS: [(Era, Way); 4] = [
    (Era::Legacy, Way::Http),
    (Era::Legacy, Way::Stdio),
    (Era::Modern, Way::Http),
    (Era::Modern, Way::Stdio),
];

const TOOL: &str = "test_elicitation";

fn call(message: &str) -> Value {
    json!({"name": TOOL, "arguments": {"message": message}})
}

/// A gateway with two keys, and a group that has the server's tools under their own names.
async fn front(which: (Era, Way), expiry: Duration) -> Front {
    let mut rules = CatalogueRules::default();
    let group = ToolGroup { tools: vec!["*".to_owned()], ..ToolGroup::default() };
    rules.groups.insert("same".to_owned(), group);
    let up = upstream("up", which, everything).await;
    Front::of_specs(vec![up], rules, |config| {
        config.keys.insert("ann".to_owned(), Secret::new("ann-key"));
        config.keys.insert("bob".to_owned(), Secret::new("bob-key"));
        config.mcp.input_expiry = expiry;
    })
    .await
}

const ANN: &str = "x-api-key: ann-key\r\n";
const BOB: &str = "x-api-key: bob-key\r\n";

/// The question, as `(key, state)`.
async fn asked(caller: &Caller<'_>) -> (String, String) {
    let outcome = caller.once("tools/call", call("Who?")).await;
    let result = outcome.result();
    assert_eq!(result["resultType"], "input_required", "{}", outcome.text);
    let key = result["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    (key, result["requestState"].as_str().unwrap().to_owned())
}

/// The same request with the answer and a state.
fn back(mut params: Value, key: &str, state: &str) -> Value {
    params["inputResponses"] =
        json!({key: {"action": "accept", "content": {"username": "eve", "email": "e@example.org"}}});
    params["requestState"] = json!(state);
    params
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_and_forged_states_are_refused_and_the_call_goes_on_for_its_owner() {
    for which in KINDS {
        let front = front(which, Duration::from_mins(1)).await;
        let ann = Caller::open(&front.service, Era::Modern, "/mcp", ANN).await;
        let bob = Caller::open(&front.service, Era::Modern, "/mcp", BOB).await;
        let elsewhere = Caller::open(&front.service, Era::Modern, "/mcp/same", ANN).await;
        let server = Caller::open(&front.service, Era::Modern, "/mcp/up", ANN).await;
        let (key, state) = asked(&ann).await;
        // While a call waits on a shared stream, nobody else can be asked there.
        let is_shared = which == (Era::Legacy, Way::Stdio);
        let other_state = if is_shared { format!("x.{}", "A".repeat(43)) } else { asked(&bob).await.1 };
        let flipped = |place: usize| {
            let mut bytes = state.clone().into_bytes();
            bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
            String::from_utf8(bytes).unwrap()
        };
        let (payload, mac) = state.split_once('.').unwrap();
        let other_mac = other_state.split_once('.').unwrap().1;
        let attempts: Vec<(&str, &Caller<'_>, Value)> = vec![
            ("another key", &bob, back(call("Who?"), &key, &state)),
            ("another group", &elsewhere, back(call("Who?"), &key, &state)),
            ("another face of the same server", &server, back(call("Who?"), &key, &state)),
            ("other arguments", &ann, back(call("Who else?"), &key, &state)),
            ("no arguments", &ann, back(json!({"name": TOOL}), &key, &state)),
            (
                "another tool",
                &ann,
                back(json!({"name": "test_sampling", "arguments": {"message": "Who?"}}), &key, &state),
            ),
            ("a changed payload", &ann, back(call("Who?"), &key, &flipped(3))),
            ("a changed signature", &ann, back(call("Who?"), &key, &flipped(payload.len() + 3))),
            ("another's signature", &ann, back(call("Who?"), &key, &format!("{payload}.{other_mac}"))),
            ("no signature", &ann, back(call("Who?"), &key, payload)),
            ("an empty signature", &ann, back(call("Who?"), &key, &format!("{payload}."))),
            ("only a signature", &ann, back(call("Who?"), &key, &format!(".{mac}"))),
            ("nothing", &ann, back(call("Who?"), &key, "")),
            ("nonsense", &ann, back(call("Who?"), &key, "confirm")),
        ];
        for (what, caller, params) in attempts {
            let (_, mut reply) = caller.send("tools/call", params).await;
            let status = reply.status;
            let answer = reply.next().await.unwrap();
            assert_eq!(answer.value["error"]["code"], -32602, "{which:?} {what}: {}", answer.text);
            assert_eq!(status, 400, "{which:?} {what}");
            assert!(!answer.text.contains("eve"), "{which:?} {what}: {}", answer.text);
        }
        // Another method is another request as well.
        let mut read = json!({"uri": "test://input-required"});
        read = back(read, &key, &state);
        assert_eq!(ann.once("resources/read", read).await.error().0, -32602, "{which:?}");
        // Nothing of it harmed the call.
        let mine = ann.once("tools/call", back(call("Who?"), &key, &state)).await;
        assert!(mine.said().starts_with("User response: action=accept"), "{which:?}: {}", mine.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_is_continued_once() {
    for which in [(Era::Legacy, Way::Http), (Era::Legacy, Way::Stdio)] {
        let front = front(which, Duration::from_mins(1)).await;
        let ann = Caller::open(&front.service, Era::Modern, "/mcp", ANN).await;
        let (key, state) = asked(&ann).await;
        let params = back(call("Who?"), &key, &state);
        let both =
            tokio::join!(ann.once("tools/call", params.clone()), ann.once("tools/call", params.clone()));
        let done = [&both.0, &both.1].into_iter().filter(|outcome| outcome.answer.get("result").is_some());
        assert_eq!(done.count(), 1, "{which:?}: {} {}", both.0.text, both.1.text);
        let again = ann.once("tools/call", params).await;
        assert_eq!(again.error().0, -32602, "{which:?}: {}", again.text);
        let logged = eventually_logged(&front.service, "/logs?tool=test_elicitation", ANN, 1).await;
        assert_eq!(logged.len(), 1, "{which:?}: one call, however often it was asked for");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn states_expire() {
    for which in KINDS {
        let front = front(which, Duration::from_millis(1)).await;
        let ann = Caller::open(&front.service, Era::Modern, "/mcp", ANN).await;
        let (key, state) = asked(&ann).await;
        // Without an answer, so that a state that still holds only leads to the same question.
        let mut params = back(call("Who?"), &key, &state);
        params["inputResponses"] = json!({});
        let refused = async {
            loop {
                let outcome = ann.once("tools/call", params.clone()).await;
                if outcome.answer.get("error").is_some() {
                    return outcome;
                }
            }
        };
        let outcome = tokio::time::timeout(PATIENCE, refused).await.expect("it expires");
        let (code, message) = outcome.error();
        assert_eq!(code, -32602, "{which:?}");
        assert!(message.contains("expired") || message.contains("is over"), "{which:?}: {message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_wait_are_bounded() {
    let up = upstream("up", (Era::Legacy, Way::Http), everything).await;
    let front =
        Front::of_specs(vec![up], CatalogueRules::default(), |config| config.mcp.parked_calls = 2).await;
    let caller = front.caller(Era::Modern).await;
    let (key, state) = asked(&caller).await;
    asked(&caller).await;
    let third = caller.once("tools/call", call("Who?")).await;
    assert_eq!(third.error().0, -32603, "{}", third.text);
    let first = caller.once("tools/call", back(call("Who?"), &key, &state)).await;
    assert!(first.said().starts_with("User response"), "{}", first.text);
    asked(&caller).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_may_take_longer_to_answer_than_the_server_may_to_work() {
    for way in [Way::Http, Way::Stdio, Way::Sse] {
        for era in [Era::Modern, Era::Legacy] {
            let (mut spec, fixture) = upstream("up", (Era::Legacy, way), everything).await;
            spec.timeouts.call = Duration::from_secs(1);
            let front = Front::of_specs(vec![(spec, fixture)], CatalogueRules::default(), |_| {}).await;
            let caller = front.caller(era).await;
            // Another call that takes its whole time shows that the time is over.
            let wait = || async {
                let slow = json!({"seconds": 60, "label": "x"});
                let late = front.caller(Era::Modern).await.call("slow_compute", slow).await;
                assert_eq!(late.error().0, -32603, "{}", late.text);
            };
            match era {
                Era::Modern => {
                    let (key, state) = asked(&caller).await;
                    wait().await;
                    let done = caller.once("tools/call", back(call("Who?"), &key, &state)).await;
                    assert!(done.said().starts_with("User response"), "{way:?}: {}", done.text);
                }
                Era::Legacy => {
                    let (id, mut reply) = caller.send("tools/call", call("Who?")).await;
                    let question = reply.next().await.unwrap();
                    assert_eq!(question.value["method"], "elicitation/create", "{}", question.text);
                    wait().await;
                    caller.respond(&question.value["id"], json!({"action": "decline"})).await;
                    let answer = reply.next().await.unwrap();
                    assert_eq!(answer.value["id"], id, "{way:?}: {}", answer.text);
                    assert!(answer.text.contains("action=decline"), "{way:?}: {}", answer.text);
                }
            }
        }
    }
}
