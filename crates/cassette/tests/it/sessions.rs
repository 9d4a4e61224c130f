//! Whatever was said in whatever order: each client gets again what it got.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{Client, Played, Server, Step, call, error, notification, result};

/// One call of a session.
#[derive(Clone, Debug)]
struct Made {
    tool: u8,
    arguments: Value,
    logs: u8,
    answer: Value,
    fails: bool,
}

fn arguments() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        (0..3i64).prop_map(|a| json!({"a": a})),
        ("[xy]", 0..2i64).prop_map(|(text, b)| json!({"text": text, "list": [b, {"c": null}]})),
    ]
}

fn made() -> impl Strategy<Value = Made> {
    let parts = (0..3u8, arguments(), 0..3u8, 0..1000i64, any::<bool>());
    parts.prop_map(|(tool, arguments, logs, answer, fails)| Made {
        tool,
        arguments,
        logs,
        answer: json!({"answer": answer}),
        fails,
    })
}

/// What a client sees of each call: its log messages and its answer.
fn seen(calls: &[Made]) -> Vec<Vec<Value>> {
    let log = |call: &Made, at: u8| notification("notifications/message", json!({"data": [call.answer, at]}));
    let answer = |id: usize, call: &Made| {
        if call.fails {
            error(id, call.answer["answer"].as_i64().unwrap(), "failed")
        } else {
            result(id, call.answer.clone())
        }
    };
    let all = |(id, call): (usize, &Made)| {
        (0..call.logs).map(|at| log(call, at)).chain([answer(id, call)]).collect()
    };
    calls.iter().enumerate().map(all).collect()
}

fn sent(id: impl Into<Value>, made: &Made) -> Value {
    call(id, &format!("tool-{}", made.tool), made.arguments.clone())
}

proptest! {
    #[test]
    fn a_session_is_played_as_it_was(calls in prop::collection::vec(made(), 1..12)) {
        let seen = seen(&calls);
        let mut steps: Vec<Step> = Vec::new();
        for (id, call) in calls.iter().enumerate() {
            steps.push(Client(sent(id, call)));
            steps.extend(seen[id].iter().cloned().map(Server));
        }
        let mut played = Played::of(&steps);
        for (id, call) in calls.iter().enumerate() {
            // Under other ids.
            let mut expected = seen[id].clone();
            let own = json!(format!("own-{id}"));
            expected.last_mut().unwrap()["id"] = own.clone();
            prop_assert_eq!(played.send(&sent(own, call)), expected);
        }
    }

    #[test]
    fn calls_at_once_get_their_own_answers_in_any_order(
        (calls, answered, asked) in prop::collection::vec(made(), 1..8).prop_flat_map(|calls| {
            let order: Vec<usize> = (0..calls.len()).collect();
            (Just(calls), Just(order.clone()).prop_shuffle(), Just(order).prop_shuffle())
        })
    ) {
        let seen = seen(&calls);
        let mut steps: Vec<Step> = calls.iter().enumerate().map(|(id, call)| Client(sent(id, call))).collect();
        steps.extend(answered.iter().map(|id| Server(seen[*id].last().unwrap().clone())));
        let mut played = Played::of(&steps);
        // Calls that are the same get their answers in the order in which they were asked.
        let mut same: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (id, call) in calls.iter().enumerate() {
            let mut answer = seen[id].last().unwrap().clone();
            answer.as_object_mut().unwrap().remove("id");
            same.entry(sent(0, call).to_string()).or_default().push(answer);
        }
        for id in asked {
            let mut answer = played.send(&sent(id, &calls[id])).remove(0);
            prop_assert_eq!(answer.as_object_mut().unwrap().remove("id"), Some(json!(id)));
            let expected = same.get_mut(&sent(0, &calls[id]).to_string()).unwrap().remove(0);
            prop_assert_eq!(answer, expected);
        }
    }
}
