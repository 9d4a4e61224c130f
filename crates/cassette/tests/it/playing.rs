//! What a player answers.

use serde_json::{Value, json};

use crate::{Client, On, Played, Server, Session, call, error, notification, request, result};

#[test]
fn ids_and_tokens_are_those_of_the_client() {
    let mut recorded = call(7, "slow", json!({"a": 1}));
    recorded["params"]["_meta"] = json!({"progressToken": 3});
    let progress =
        |token: Value| notification("notifications/progress", json!({"progress": 1, "progressToken": token}));
    let mut played = Played::of(&[
        Client(recorded),
        Server(progress(json!(3))),
        Server(notification("notifications/message", json!({"data": "x"}))),
        Server(result(7, json!({"content": []}))),
    ]);
    let log = notification("notifications/message", json!({"data": "x"}));
    let mut asked = call("abc", "slow", json!({"a": 1.0}));
    asked["params"]["_meta"] = json!({"progressToken": "own"});
    let answer = result("abc", json!({"content": []}));
    assert_eq!(played.send(&asked), [progress(json!("own")), log.clone(), answer]);
    // Who asks for no progress gets none.
    assert_eq!(played.send(&call(1, "slow", json!({"a": 1}))), [log, result(1, json!({"content": []}))]);
    // In the modern era the same holds for log messages.
    asked["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    assert_eq!(played.send(&asked), [result("abc", json!({"content": []}))]);
}

#[test]
fn repeated_calls_get_the_answers_in_order_and_then_the_last() {
    let mut steps = Vec::new();
    for at in 1..4 {
        steps.push(Client(call(at, "count", json!({}))));
        steps.push(Server(result(at, json!({"at": at}))));
    }
    let mut played = Played::of(&steps);
    let answers: Vec<Value> =
        (0..5).map(|id| played.send(&call(id, "count", Value::Null))[0]["result"]["at"].clone()).collect();
    assert_eq!(answers, [1, 2, 3, 3, 3]);
}

#[test]
fn an_unrecorded_call_names_the_nearest_and_what_differs() {
    let mut played = Played::of(&[
        Client(request(1, "initialize", json!({"protocolVersion": "2025-11-25"}))),
        Server(result(1, json!({"protocolVersion": "2025-11-25"}))),
        Client(call(2, "get-sum", json!({"a": 1, "b": 2}))),
        Server(result(2, json!({}))),
    ]);
    let refused = played.send(&call(5, "get-sum", json!({"a": 1, "b": 3, "c": null})));
    let message = "no `tools/call` like this was recorded; the nearest is entry 2 of the cassette: \
                   /arguments/b is 3, recorded 2; /arguments/c is null, not recorded";
    let expected = json!([{"jsonrpc": "2.0", "id": 5, "error": {"code": -32602, "message": message, "data": {
        "nearest": {
            "entry": 2,
            "method": "tools/call",
            "params": {"name": "get-sum", "arguments": {"a": 1, "b": 2}},
        },
        "differences": [
            {"pointer": "/arguments/b", "given": 3, "recorded": 2},
            {"pointer": "/arguments/c", "given": null},
        ],
    }}}]);
    assert_eq!(json!(refused), expected);
    let unknown = played.send(&request(6, "prompts/list", Value::Null));
    assert_eq!(unknown, [error(6, -32601, "no `prompts/list` was recorded, only initialize, tools/call")]);
    assert_eq!(played.send(&request(7, "ping", Value::Null)), [result(7, json!({}))]);
    // The next call is answered as if nothing had been.
    assert_eq!(played.send(&call(8, "get-sum", json!({"a": 1, "b": 2}))), [result(8, json!({}))]);
}

#[test]
fn a_server_asks_and_goes_on_with_the_recorded_answer() {
    let asks = |id: u64| request(id, "elicitation/create", json!({"message": "Who?"}));
    let greeting = |id: u64, name: &str| {
        [
            Client(call(id, "greet", json!({}))),
            Server(asks(40 + id)),
            Client(result(
                40 + id,
                json!({"action": "accept", "content": {"name": name}, "_meta": {"x": 1}}),
            )),
            Server(result(id, json!({"hello": name}))),
        ]
    };
    let steps = [greeting(1, "Ada"), greeting(2, "Bob")].concat();
    let mut played = Played::of(&steps);
    let accept = |id: u64, name: &str| result(id, json!({"content": {"name": name}, "action": "accept"}));
    assert_eq!(played.send(&call(1, "greet", json!({}))), [asks(1)]);
    assert_eq!(played.send(&accept(1, "Ada")), [result(1, json!({"hello": "Ada"}))]);
    assert_eq!(played.send(&call(2, "greet", json!({}))), [asks(2)]);
    let refused = played.send(&accept(2, "Eve"));
    assert_eq!(refused[0]["id"], 2);
    let message = "the client answered the server's `elicitation/create` otherwise than recorded: \
                   /result/content/name is \"Eve\", recorded \"Bob\"; answer as recorded, or record it again";
    assert_eq!(refused[0]["error"]["message"], message);
    assert_eq!(played.send(&accept(2, "Bob")), Vec::<Value>::new());
}

#[test]
fn roots_are_asked_for_and_not_compared() {
    let steps = [
        Client(notification("notifications/initialized", Value::Null)),
        Server(request(1, "roots/list", Value::Null)),
        Client(call(1, "x", json!({}))),
        Client(result(1, json!({"roots": []}))),
        Server(request(2, "roots/list", Value::Null)),
        Client(result(2, json!({"roots": []}))),
        Server(result(1, json!({"x": 1}))),
    ];
    let mut played = Played::of(&steps);
    let roots = |id: u64| request(id, "roots/list", Value::Null);
    let opened = played.send(&notification("notifications/initialized", Value::Null));
    assert_eq!(opened, [json!({"session": roots(1)})]);
    assert_eq!(played.send(&call(1, "x", json!({}))), [roots(2), result(1, json!({"x": 1}))]);
    assert_eq!(played.send(&result(1, json!({"roots": [{"uri": "file:///other"}]}))), Vec::<Value>::new());
}

#[test]
fn subscriptions_get_what_later_calls_cause_under_their_own_id() {
    let notification = |id: Value, method: &str| {
        notification(method, json!({"_meta": {"io.modelcontextprotocol/subscriptionId": id}}))
    };
    let listen =
        |id: Value| request(id, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let changed = "notifications/tools/list_changed";
    let acknowledged = "notifications/subscriptions/acknowledged";
    let mut played = Played::of(&[
        Client(listen(json!(1))),
        On(1, notification(json!(1), acknowledged)),
        Client(call(2, "change", json!({}))),
        Server(result(2, json!({}))),
        On(1, notification(json!(1), changed)),
    ]);
    assert_eq!(played.send(&call(1, "change", json!({}))), [result(1, json!({}))], "nobody listens yet");
    assert_eq!(played.send(&listen(json!("mine"))), [notification(json!("mine"), acknowledged)]);
    let heard = json!({"exchange": 2, "message": notification(json!("mine"), changed)});
    assert_eq!(played.send(&call(3, "change", json!({}))), [result(3, json!({})), heard]);
    played.player.abandon(2);
    assert_eq!(played.send(&call(4, "change", json!({}))), [result(4, json!({}))]);
}

#[test]
fn what_came_beside_all_answers_comes_so_again() {
    let log = |data: &str| notification("notifications/message", json!({"data": data}));
    let mut played = Played::of(&[
        Client(call(1, "x", json!({}))),
        Session(log("during")),
        Server(result(1, json!({}))),
        Session(log("after")),
    ]);
    let session = |data: &str| json!({"session": log(data)});
    assert_eq!(
        played.send(&call(1, "x", json!({}))),
        [session("during"), result(1, json!({})), session("after")]
    );
}

#[test]
fn an_unanswered_call_stays_unanswered_and_a_cancelled_one_is_forgotten() {
    let cancelled = |id: u64| notification("notifications/cancelled", json!({"requestId": id}));
    let mut played = Played::of(&[
        Client(call(1, "held", json!({}))),
        Client(cancelled(1)),
        Server(notification("notifications/message", json!({"data": "gone"}))),
    ]);
    assert_eq!(played.send(&call(9, "held", json!({}))), Vec::<Value>::new());
    let gone = notification("notifications/message", json!({"data": "gone"}));
    assert_eq!(played.send(&cancelled(9)), [json!({"session": gone})]);
}

#[test]
fn each_era_is_opened_as_it_was_recorded() {
    let initialize = |version: &str| {
        request(1, "initialize", json!({"protocolVersion": version, "clientInfo": {"name": version}}))
    };
    let opened = |version: &str| result(1, json!({"protocolVersion": version, "capabilities": {}, "z": 1}));
    let mut legacy = Played::of(&[Client(initialize("2025-11-25")), Server(opened("2025-11-25"))]);
    assert_eq!(legacy.send(&initialize("2025-06-18")), [opened("2025-06-18")]);
    assert_eq!(legacy.send(&initialize("1999-01-01")), [opened("2025-11-25")]);
    let discover = request(2, "server/discover", Value::Null);
    assert_eq!(legacy.send(&discover)[0]["error"]["code"], -32601);

    let mut modern =
        Played::of(&[Client(discover.clone()), Server(result(2, json!({"supportedVersions": []})))]);
    assert_eq!(modern.send(&discover)[0]["result"], json!({"supportedVersions": []}));
    let refused = &modern.send(&initialize("2025-11-25"))[0]["error"];
    let data = json!({"supported": ["2026-07-28"], "requested": "2025-11-25"});
    assert_eq!((&refused["code"], &refused["data"]), (&json!(-32022), &data));
}

#[test]
fn a_server_gives_up_the_question_that_it_gave_up_when_recorded() {
    let asks = |id: u64, text: &str| request(id, "elicitation/create", json!({"message": text}));
    let gives_up =
        |id: u64| notification("notifications/cancelled", json!({"requestId": id, "reason": "late"}));
    let steps = [
        Client(call(1, "ask", json!({}))),
        Server(asks(70, "first")),
        Server(asks(71, "second")),
        Server(gives_up(70)),
        Server(gives_up(71)),
        Server(result(1, json!({}))),
    ];
    let mut played = Played::of(&steps);
    for first in [1, 3] {
        let expected = [
            asks(first, "first"),
            asks(first + 1, "second"),
            gives_up(first),
            gives_up(first + 1),
            result(1, json!({})),
        ];
        assert_eq!(played.send(&call(1, "ask", json!({}))), expected);
    }
}
