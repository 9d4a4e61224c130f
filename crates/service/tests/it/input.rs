//! Servers that ask something while they work for a plain HTTP caller: who offers answers is asked and goes on.

use std::time::Duration;

use gateway_service::{Secret, ServiceConfig};
use gateway_upstream::CatalogueRules;
use serde_json::{Value, json};

use crate::client::{Answer, Service};
use crate::logs::eventually_logged;
use crate::mcp::wire::{Era, Front, Way, everything, upstream};

const KINDS: [(Era, Way); 5] = [
    (Era::Legacy, Way::Http),
    (Era::Legacy, Way::Stdio),
    (Era::Legacy, Way::Sse),
    (Era::Modern, Way::Http),
    (Era::Modern, Way::Stdio),
];

const ANN: &str = "x-api-key: ann-key\r\n";
const BOB: &str = "x-api-key: bob-key\r\n";
const ALL: [&str; 3] = ["elicitation", "sampling", "roots"];

async fn front(which: (Era, Way), change: impl FnOnce(&mut ServiceConfig)) -> Front {
    let up = upstream("up", which, everything).await;
    Front::of_specs(vec![up], CatalogueRules::default(), |config| {
        config.keys.insert("ann".to_owned(), Secret::new("ann-key"));
        config.keys.insert("bob".to_owned(), Secret::new("bob-key"));
        change(config);
    })
    .await
}

/// The two routes, by the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    CallTool,
    Execute,
}

const ROUTES: [Route; 2] = [Route::CallTool, Route::Execute];

impl Route {
    fn path(self) -> &'static str {
        match self {
            Self::CallTool => "/call_tool",
            Self::Execute => "/execute",
        }
    }

    /// A call of one tool.
    fn call(self, tool: &str, arguments: &Value) -> Value {
        match self {
            Self::CallTool => json!({"server": "up", "tool": tool, "arguments": arguments}),
            Self::Execute => {
                json!({"server": "up", "call": {"type": "tool_use", "id": "t1", "name": tool, "input": arguments}})
            }
        }
    }

    async fn send(self, service: &Service, key: &str, body: &Value) -> Answer {
        let headers = format!("content-type: application/json\r\n{key}");
        service.send("POST", self.path(), &headers, &body.to_string()).await
    }
}

/// The same with the offer to answer.
fn offering(mut body: Value, input: &[&str]) -> Value {
    body["input"] = json!(input);
    body
}

/// What is asked, by name, and the state.
#[track_caller]
fn asked(answer: &Answer) -> (Value, String) {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let value = answer.json();
    assert!(value.get("result").is_none() && value.get("messages").is_none(), "{value}");
    let input = &value["inputRequired"];
    assert!(input["expiresIn"].as_u64().is_some_and(|seconds| seconds <= 600), "{value}");
    (input["requests"].clone(), input["state"].as_str().unwrap_or_else(|| panic!("{value}")).to_owned())
}

fn going_on(state: &str, responses: &Value) -> Value {
    json!({"continue": state, "responses": responses})
}

/// An answer to anything that the fixture asks.
fn answer_to(request: &Value) -> Value {
    match request["method"].as_str().unwrap() {
        "elicitation/create" => json!({"action": "accept", "content": {
            "username": "ann", "email": "a@example.org", "name": "Ann", "color": "blue"
        }}),
        "sampling/createMessage" => {
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Paris"}})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///home"}]}),
        other => panic!("{other}"),
    }
}

/// Goes on until there is a result; gives it and the number of rounds.
async fn to_the_end(route: Route, service: &Service, body: &Value) -> (Value, usize) {
    let answer = route.send(service, ANN, body).await;
    answering(route, service, answer).await
}

/// The same from an answer on.
async fn answering(route: Route, service: &Service, mut answer: Answer) -> (Value, usize) {
    for rounds in 0..8 {
        if answer.json().get("inputRequired").is_none() {
            assert_eq!(answer.status, 200, "{}", answer.body);
            return (answer.json(), rounds);
        }
        let (requests, state) = asked(&answer);
        let responses: Value = requests
            .as_object()
            .unwrap()
            .iter()
            .map(|(key, request)| (key.clone(), answer_to(request)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        answer = route.send(service, ANN, &going_on(&state, &responses)).await;
    }
    panic!("it asks for ever");
}

fn said(value: &Value) -> &str {
    value["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{value}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn who_offers_answers_is_asked_and_goes_on() {
    let flows = [
        ("test_elicitation", json!({"message": "Who?"}), "User response: action=accept", 1),
        ("test_sampling", json!({"prompt": "Capital?"}), "LLM response: Paris", 1),
        ("test_input_required_result_list_roots", json!({}), "Roots: [{\"uri\":\"file:///home\"}]", 1),
        ("test_input_required_result_multi_round", json!({}), "Ann likes blue", 2),
    ];
    for which in KINDS {
        let front = front(which, |_| {}).await;
        for route in ROUTES {
            for (tool, arguments, expected, rounds) in &flows {
                let body = offering(route.call(tool, arguments), &ALL);
                let (value, gone) = to_the_end(route, &front.service, &body).await;
                assert!(said(&value).starts_with(expected), "{which:?} {route:?} {tool}: {value}");
                assert_eq!(gone, *rounds, "{which:?} {route:?} {tool}");
                if route == Route::Execute {
                    let message = &value["messages"][0]["content"][0];
                    assert_eq!(message["tool_use_id"], "t1", "{which:?} {tool}: {value}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_in_the_log_once_for_each_time_that_it_reached_the_server() {
    for (which, expected) in [((Era::Legacy, Way::Http), 1), ((Era::Modern, Way::Http), 2)] {
        let front = front(which, |_| {}).await;
        for (route, provider) in [(Route::CallTool, Value::Null), (Route::Execute, json!("anthropic"))] {
            let body = offering(route.call("test_elicitation", &json!({"message": "Who?"})), &ALL);
            to_the_end(route, &front.service, &body).await;
            let all = eventually_logged(&front.service, "/logs?tool=test_elicitation", ANN, expected).await;
            let of_route: Vec<&Value> = all
                .iter()
                .filter(|entry| entry.get("provider").cloned().unwrap_or_default() == provider)
                .collect();
            assert_eq!(of_route.len(), expected, "{which:?} {route:?}: {all:?}");
            assert!(of_route.iter().all(|entry| entry["caller"] == "ann"), "{all:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_answered_as_a_whole_once_everything_is_known() {
    for which in KINDS {
        let front = front(which, |_| {}).await;
        let call = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
        let calls = json!([
            call("t1", "test_simple_text", json!({})),
            call("t2", "test_elicitation", json!({"message": "Who?"})),
            call("t3", "test_input_required_result_multi_round", json!({})),
            call("t4", "no_such_tool", json!({})),
        ]);
        let body = json!({"server": "up", "call": calls, "input": ["elicitation"]});
        let first = Route::Execute.send(&front.service, ANN, &body).await;
        let (requests, _) = asked(&first);
        let keys: Vec<&String> = requests.as_object().unwrap().keys().collect();
        let value = first.json();
        let results = value["results"].as_array().unwrap();
        assert_eq!(results.len(), 4, "{value}");
        assert_eq!(results[0]["result"]["content"][0]["type"], "text", "{value}");
        assert_eq!(results[1]["inputRequired"], json!(keys), "{which:?}: {value}");
        assert_eq!((&results[1]["tool"], &results[1]["id"]), (&json!("test_elicitation"), &json!("t2")));
        assert!(results[1].get("result").is_none() && results[2].get("result").is_none(), "{value}");
        assert_eq!(results[3]["code"], "TOOL_NOT_FOUND", "{value}");
        let (value, rounds) = answering(Route::Execute, &front.service, first).await;
        assert_eq!(rounds, 3, "{which:?}: one after another");
        let texts: Vec<&str> = (0..3)
            .map(|place| value["results"][place]["result"]["content"][0]["text"].as_str().unwrap())
            .collect();
        assert!(texts[1].starts_with("User response: action=accept"), "{which:?}: {value}");
        assert_eq!(texts[2], "Ann likes blue", "{which:?}");
        let blocks = value["messages"][0]["content"].as_array().unwrap();
        let ids: Vec<&str> = blocks.iter().map(|block| block["tool_use_id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["t1", "t2", "t3", "t4"], "{which:?}: {value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_offered_is_declined() {
    for which in KINDS {
        let front = front(which, |_| {}).await;
        for input in [&[] as &[&str], &["roots"]] {
            for route in ROUTES {
                let mut body = route.call("test_elicitation", &json!({"message": "Who?"}));
                if !input.is_empty() {
                    body = offering(body, input);
                }
                let answer = route.send(&front.service, ANN, &body).await;
                let value = answer.json();
                assert!(value.get("inputRequired").is_none(), "{which:?} {route:?} {input:?}: {value}");
                assert!(!answer.body.contains("input_required"), "{which:?} {route:?} {input:?}: {value}");
                let is_failure = answer.status >= 400 || value["result"]["isError"] == true;
                assert!(is_failure, "{which:?} {route:?} {input:?}: {value}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_foreign_used_and_wrong_states_are_refused() {
    for which in KINDS {
        let front = front(which, |_| {}).await;
        for (route, other) in [(Route::CallTool, Route::Execute), (Route::Execute, Route::CallTool)] {
            let service = &front.service;
            let body = offering(route.call("test_elicitation", &json!({"message": "Who?"})), &ALL);
            let (requests, state) = asked(&route.send(service, ANN, &body).await);
            let (key, request) = requests.as_object().unwrap().iter().next().unwrap();
            let sound = json!({key: answer_to(request)});
            let mut flipped = state.clone().into_bytes();
            flipped[3] = if flipped[3] == b'A' { b'B' } else { b'A' };
            let flipped = String::from_utf8(flipped).unwrap();
            let mut beside = going_on(&state, &sound);
            beside["arguments"] = json!({"message": "Other?"});
            let attempts = [
                ("changed", route, ANN, going_on(&flipped, &sound), 400, "VALIDATION_ERROR"),
                ("nonsense", route, ANN, going_on("x", &sound), 400, "VALIDATION_ERROR"),
                ("no text", route, ANN, json!({"continue": 1}), 400, "VALIDATION_ERROR"),
                ("another caller", route, BOB, going_on(&state, &sound), 403, "FORBIDDEN"),
                ("another route", other, ANN, going_on(&state, &sound), 403, "FORBIDDEN"),
                ("a wrong name", route, ANN, going_on(&state, &json!({"x": {}})), 400, "VALIDATION_ERROR"),
                ("no object", route, ANN, going_on(&state, &json!({key: 1})), 400, "VALIDATION_ERROR"),
                ("other arguments", route, ANN, beside, 400, "VALIDATION_ERROR"),
            ];
            for (what, route, who, body, status, code) in attempts {
                let answer = route.send(service, who, &body).await;
                assert_eq!(
                    (answer.status, answer.code().as_str()),
                    (status, code),
                    "{which:?} {what}: {}",
                    answer.body
                );
            }
            // Nothing of it harmed the call.
            let done = route.send(service, ANN, &going_on(&state, &sound)).await;
            assert!(
                said(&done.json()).starts_with("User response: action=accept"),
                "{which:?}: {}",
                done.body
            );
            let again = route.send(service, ANN, &going_on(&state, &sound)).await;
            assert_eq!(
                (again.status, again.code().as_str()),
                (410, "INPUT_EXPIRED"),
                "{which:?}: {}",
                again.body
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_is_used_once_even_at_the_same_time() {
    for which in [(Era::Legacy, Way::Http), (Era::Modern, Way::Http)] {
        let front = front(which, |_| {}).await;
        let route = Route::CallTool;
        let body = offering(route.call("test_elicitation", &json!({"message": "Who?"})), &ALL);
        let (requests, state) = asked(&route.send(&front.service, ANN, &body).await);
        let (key, request) = requests.as_object().unwrap().iter().next().unwrap();
        let body = going_on(&state, &json!({key: answer_to(request)}));
        let (one, two) =
            tokio::join!(route.send(&front.service, ANN, &body), route.send(&front.service, ANN, &body));
        let mut statuses = [one.status, two.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 410], "{which:?}: {} {}", one.body, two.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_come_back_in_time_is_told_and_the_call_ends() {
    for which in KINDS {
        let front = front(which, |config| config.mcp.input_expiry = Duration::ZERO).await;
        let route = Route::CallTool;
        let body = offering(route.call("test_elicitation", &json!({"message": "Who?"})), &ALL);
        let (_, state) = asked(&route.send(&front.service, ANN, &body).await);
        let answer = route.send(&front.service, ANN, &going_on(&state, &json!({}))).await;
        assert_eq!((answer.status, answer.code().as_str()), (410, "INPUT_EXPIRED"), "{which:?}");
        if which.0 == Era::Legacy {
            let logged = eventually_logged(&front.service, "/logs?tool=test_elicitation", ANN, 1).await;
            assert_eq!(logged[0]["code"], "CANCELLED", "{which:?}: {logged:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_left_out_is_a_refusal() {
    for which in [(Era::Legacy, Way::Http), (Era::Legacy, Way::Stdio)] {
        let front = front(which, |_| {}).await;
        let route = Route::CallTool;
        let body = offering(route.call("test_elicitation", &json!({"message": "Who?"})), &ALL);
        let (_, state) = asked(&route.send(&front.service, ANN, &body).await);
        let done = route.send(&front.service, ANN, &json!({"continue": state})).await;
        assert_eq!(done.json()["result"]["isError"], true, "{which:?}: {}", done.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_gives_the_same_question_and_the_same_end() {
    let front = front((Era::Legacy, Way::Http), |_| {}).await;
    let route = Route::Execute;
    let body = offering(route.call("test_elicitation", &json!({"message": "Who?"})), &ALL);
    let key = |name: &str| format!("{ANN}idempotency-key: {name}\r\n");
    let first = route.send(&front.service, &key("first"), &body).await;
    let replayed = route.send(&front.service, &key("first"), &body).await;
    assert_eq!(first.body, replayed.body);
    assert_eq!(replayed.header("idempotent-replayed"), Some("true"));
    let (requests, state) = asked(&first);
    let (name, request) = requests.as_object().unwrap().iter().next().unwrap();
    let on = going_on(&state, &json!({name: answer_to(request)}));
    let other = route.send(&front.service, &key("first"), &on).await;
    assert_eq!(other.status, 422, "{}", other.body);
    let done = route.send(&front.service, &key("second"), &on).await;
    assert!(said(&done.json()).starts_with("User response"), "{}", done.body);
    assert_eq!(route.send(&front.service, &key("second"), &on).await.body, done.body);
    assert_eq!(eventually_logged(&front.service, "/logs?tool=test_elicitation", ANN, 1).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_wait_are_bounded() {
    for which in [(Era::Legacy, Way::Http), (Era::Modern, Way::Http)] {
        let front = front(which, |config| config.mcp.parked_calls = 1).await;
        let route = Route::CallTool;
        let body = offering(route.call("test_elicitation", &json!({"message": "Who?"})), &ALL);
        let first = route.send(&front.service, ANN, &body).await;
        let second = route.send(&front.service, ANN, &body).await;
        assert_eq!(
            (second.status, second.code().as_str()),
            (503, "OVERLOADED"),
            "{which:?}: {}",
            second.body
        );
        answering(route, &front.service, first).await;
        asked(&route.send(&front.service, ANN, &body).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_the_question() {
    let front = front((Era::Modern, Way::Http), |_| {}).await;
    let route = Route::CallTool;
    let body = offering(route.call("test_elicitation", &json!({"message": "Who?"})), &ALL);
    let answer = route.send(&front.service, &format!("{ANN}accept: text/event-stream\r\n"), &body).await;
    assert!(answer.body.contains("event: result\ndata: {\"inputRequired\":"), "{}", answer.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_words_are_refused() {
    let front = front((Era::Modern, Way::Http), |_| {}).await;
    for (route, input) in [
        (Route::CallTool, json!(["everything"])),
        (Route::Execute, json!(["everything"])),
        (Route::CallTool, json!("elicitation")),
    ] {
        let mut body = route.call("test_simple_text", &json!({}));
        body["input"] = input.clone();
        let answer = route.send(&front.service, ANN, &body).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "VALIDATION_ERROR"), "{route:?} {input}");
    }
}
