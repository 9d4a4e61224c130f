//! Where each message stands in a cassette.

use gateway_cassette::{Channel, Recorder};
use gateway_protocol::RequestId;
use serde_json::{Value, json};

use crate::{Client, On, Server, Session, call, entries, error, message, notification, request, result};

#[test]
fn an_entry_has_the_request_and_what_the_server_did_about_it() {
    let asks = |id: u64| request(id, "elicitation/create", json!({"message": "Who?"}));
    let progress =
        |token: &str| notification("notifications/progress", json!({"progressToken": token, "progress": 1}));
    let mut slow = call(7, "slow", json!({}));
    slow["params"]["_meta"] = json!({"progressToken": "t", "traceparent": "00-1"});
    let found = entries(&[
        Client(slow),
        Server(progress("t")),
        Server(asks(1)),
        Client(result(1, json!({"action": "decline"}))),
        Server(asks(2)),
        Client(error(2, -1, "no")),
        Server(result(7, json!({"content": []}))),
        Server(notification("notifications/tools/list_changed", Value::Null)),
        Server(asks(3)),
        Client(call("seven", "bad", json!({"a": 1}))),
        Server(error("seven", -32602, "unknown tool")),
    ]);
    let asked = json!({"method": "elicitation/create", "params": {"message": "Who?"}});
    let expected = json!([
        {
            "request": {"method": "tools/call", "params": {"name": "slow", "arguments": {}}},
            "before": [
                {"notification": {"method": "notifications/progress", "params": {"progress": 1}}},
                {"request": asked, "response": {"result": {"action": "decline"}}},
                {"request": asked, "response": {"error": {"code": -1, "message": "no"}}},
            ],
            "result": {"content": []},
            "after": [{"notification": {"method": "notifications/tools/list_changed"}}, {"request": asked}],
        },
        {
            "request": {"method": "tools/call", "params": {"name": "bad", "arguments": {"a": 1}}},
            "error": {"code": -32602, "message": "unknown tool"},
        },
    ]);
    assert_eq!(found, expected);
}

#[test]
fn calls_at_once_keep_their_own_progress() {
    let with_token = |id: u64, token: u64| {
        let mut call = call(id, &format!("tool-{id}"), json!({}));
        call["params"]["_meta"] = json!({"progressToken": token});
        call
    };
    let progress = |token: u64| {
        notification("notifications/progress", json!({"progressToken": token, "progress": token}))
    };
    let found = entries(&[
        Client(with_token(1, 10)),
        Client(with_token(2, 20)),
        Server(progress(10)),
        Server(progress(20)),
        Server(notification("notifications/message", json!({"data": "newest"}))),
        Server(result(2, json!({"second": true}))),
        Server(result(1, json!({"first": true}))),
        Server(progress(20)),
    ]);
    let said = |entry: usize, part: &str| {
        let list = found[entry][part].as_array().cloned().unwrap_or_default();
        list.iter().map(|one| one["notification"]["params"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(said(0, "before"), [json!({"progress": 10})]);
    assert_eq!(said(1, "before"), [json!({"progress": 20}), json!({"data": "newest"})]);
    assert_eq!(said(1, "after"), [json!({"progress": 20})]);
    assert_eq!(
        (&found[0]["result"], &found[1]["result"]),
        (&json!({"first": true}), &json!({"second": true}))
    );
}

#[test]
fn what_was_given_up_or_never_answered_has_no_answer() {
    let found = entries(&[
        Client(call(1, "held", json!({}))),
        Client(notification("notifications/cancelled", json!({"requestId": 1, "reason": "enough"}))),
        Server(result(1, json!({"too": "late"}))),
        Client(call(2, "lost", json!({}))),
    ]);
    let held = |name: &str| json!({"request": {"method": "tools/call", "params": {"name": name, "arguments": {}}}, "unanswered": true});
    let given_up =
        json!({"notification": {"method": "notifications/cancelled", "params": {"reason": "enough"}}});
    assert_eq!(found, json!([held("held"), given_up, held("lost")]));
}

#[test]
fn what_comes_on_a_subscription_stands_where_it_was_caused() {
    let listen = request("sub", "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let notification = |method: &str| {
        notification(method, json!({"_meta": {"io.modelcontextprotocol/subscriptionId": "sub"}}))
    };
    let found = entries(&[
        Client(listen),
        Server(notification("notifications/subscriptions/acknowledged")),
        Client(call(2, "change", json!({}))),
        Server(notification("notifications/tools/list_changed")),
        Server(result(2, json!({}))),
        Server(notification("notifications/tools/list_changed")),
    ]);
    let changed =
        json!({"notification": {"method": "notifications/tools/list_changed"}, "stream": "listen-1"});
    assert_eq!(found[0]["stream"], "listen-1");
    let acknowledged = json!([{"notification": {"method": "notifications/subscriptions/acknowledged"}}]);
    assert_eq!((&found[0]["before"], &found[0]["unanswered"]), (&acknowledged, &json!(true)));
    assert_eq!((&found[1]["before"], &found[1]["after"]), (&json!([changed]), &json!([changed])));
}

#[test]
fn over_http_the_stream_says_what_a_message_belongs_to() {
    let log = |data: &str| notification("notifications/message", json!({"data": data}));
    let found = entries(&[
        Client(call(1, "one", json!({}))),
        Client(call(2, "two", json!({}))),
        On(1, log("one")),
        Session(log("all")),
        On(1, error(Value::Null, -32600, "who are you?")),
        On(2, result(2, json!({}))),
    ]);
    let said =
        |data: &str| json!({"notification": {"method": "notifications/message", "params": {"data": data}}});
    let mut beside = said("all");
    beside["stream"] = json!("session");
    assert_eq!((&found[0]["before"], &found[1]["before"]), (&json!([said("one")]), &json!([beside])));
    assert_eq!(found[0]["error"]["message"], "who are you?");
}

#[test]
fn a_client_without_a_session_answers_in_a_request_of_its_own() {
    let mut recorder = Recorder::new(Box::new(|_| None));
    let on = |id: u64| Channel::AnswerTo(RequestId::Number(id));
    let asks = request(1, "elicitation/create", json!({"message": "Who?"}));
    recorder.client(1, &message(&call(5, "first", json!({}))));
    recorder.server(1, &on(5), &message(&asks));
    recorder.client(2, &message(&call(6, "second", json!({}))));
    recorder.server(2, &on(6), &message(&asks));
    // Who asked last is answered, and nobody twice.
    for (peer, name) in [(3, "Bob"), (4, "Ada"), (5, "Eve")] {
        recorder.client(peer, &message(&result(1, json!({"name": name}))));
    }
    recorder.server(2, &on(6), &message(&result(6, json!({}))));
    recorder.server(1, &on(5), &message(&result(5, json!({}))));
    let found = serde_json::to_value(recorder.cassette("test", "http")).unwrap();
    let answered = |entry: usize| found["entries"][entry]["before"][0]["response"]["result"]["name"].clone();
    assert_eq!((answered(0), answered(1)), (json!("Ada"), json!("Bob")));
}
