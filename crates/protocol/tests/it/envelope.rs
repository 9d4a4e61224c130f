//! Reading messages.

use gateway_protocol::{
    CallResultView, Incoming, ListKind, RawJson, RawObject, RequestId, ResultType, find_id, parse_list,
    parse_message,
};

fn parse(text: &str) -> Incoming {
    parse_message(text.to_owned().into()).unwrap()
}

#[test]
fn a_result_is_kept_as_it_came() {
    let result = r#"{"z":1,"a":123456789012345678901234567890,"x":1.10,"content":[{"type":"hologram","_meta":{"k":null}}]}"#;
    let Incoming::Response(response) = parse(&format!(r#"{{"result":{result},"id":3,"jsonrpc":"2.0"}}"#))
    else {
        panic!("not a response")
    };
    assert_eq!(response.id, RequestId::Number(3));
    assert_eq!(response.outcome.unwrap().as_str(), result);
}

#[test]
fn ids_come_in_many_forms() {
    for (id, number) in
        [("7", Some(7)), ("\"7\"", Some(7)), ("7.0", Some(7)), ("null", None), ("\"x\"", None)]
    {
        let Incoming::Response(response) = parse(&format!(r#"{{"id":{id},"result":{{}}}}"#)) else {
            panic!("{id} is not a response")
        };
        assert_eq!(response.id.number(), number, "{id}");
    }
}

#[test]
fn null_is_a_result_but_not_params() {
    let Incoming::Response(response) = parse(r#"{"id":1,"result":null}"#) else { panic!() };
    assert_eq!(response.outcome.unwrap().as_str(), "null");
    let Incoming::Notification(notification) = parse(r#"{"method":"m","params":null}"#) else { panic!() };
    assert_eq!(notification.params, None);
}

#[test]
fn errors_keep_what_the_other_side_said() {
    let Incoming::Response(response) =
        parse(r#"{"id":1,"error":{"code":-32602,"message":"no","data":{"n":1e400}}}"#)
    else {
        panic!()
    };
    let error = response.outcome.unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (-32602, "no"));
    assert_eq!(error.data.unwrap().as_str(), r#"{"n":1e400}"#);
    let Incoming::Response(response) = parse(r#"{"id":1,"error":"broken"}"#) else { panic!() };
    assert_eq!(response.outcome.unwrap_err().data.unwrap().as_str(), "\"broken\"");
}

#[test]
fn requests_of_the_server_keep_their_id() {
    let Incoming::Request(request) = parse(r#"{"id":"a-1","method":"ping"}"#) else { panic!() };
    assert_eq!((request.id.as_str(), request.method.as_str()), ("\"a-1\"", "ping"));
}

#[test]
fn what_is_no_message_is_refused() {
    for text in ["", "[]", "{}", "{\"id\":1}", "nonsense", "{\"id\":{},\"result\":1}", "{\"method\":1}"] {
        assert!(parse_message(text.to_owned().into()).is_err(), "{text}");
    }
}

#[test]
fn the_id_of_an_over_long_message_is_at_either_end() {
    let cases: &[(&str, &str, Option<u64>)] = &[
        (r#"{"jsonrpc":"2.0","id":12,"result":{"content":[{"#, "xxxx", Some(12)),
        (r#"{"result":{"content":[{"type":"text","id":99"#, r#"]},"jsonrpc":"2.0","id":7}"#, Some(7)),
        (r#"{"result":{"content":[{"#, r#"{"id":5}]}}"#, None),
        (r#"{"id" : "31", "result""#, "", Some(31)),
    ];
    for (head, tail, id) in cases {
        assert_eq!(find_id(head.as_bytes(), tail.as_bytes()), *id, "{head} … {tail}");
    }
}

#[test]
fn pages_keep_entries_and_hints() {
    let text =
        r#"{"tools":[{"name":"a","x":1.0},{"name":"b"}],"nextCursor":"","ttlMs":500,"cacheScope":"public"}"#;
    let page = parse_list(ListKind::Tools, &RawJson::parse(text).unwrap()).unwrap();
    let entries: Vec<&str> = page.entries.iter().map(RawJson::as_str).collect();
    assert_eq!(entries, [r#"{"name":"a","x":1.0}"#, r#"{"name":"b"}"#]);
    assert_eq!((page.next_cursor.as_deref(), page.ttl_ms), (Some(""), Some(500)));
    assert!(parse_list(ListKind::Prompts, &RawJson::parse(text).unwrap()).is_err());
}

#[test]
fn a_result_says_whether_it_is_over() {
    let view = |text: &'static str| CallResultView::of(&RawJson::parse(text).unwrap());
    assert_eq!(view(r#"{"content":[]}"#), CallResultView::default());
    assert!(view(r#"{"isError":true,"content":[]}"#).is_error);
    assert_eq!(view(r#"{"resultType":"input_required"}"#).result_type, ResultType::InputRequired);
    assert_eq!(view(r#"{"resultType":"task"}"#).result_type, ResultType::Other("task".to_owned()));
    // The words inside a text are no fields.
    assert!(!view(r#"{"content":[{"text":"\"isError\":true"}]}"#).is_error);
}

#[test]
fn objects_keep_order_and_numbers_when_a_member_is_set() {
    let text = RawJson::parse(r#"{"b":1e400,"_meta":{"x":1},"a":[1.10]}"#).unwrap();
    let mut object = RawObject::parse(&text).unwrap();
    object.set("_meta", &RawJson::parse("{}").unwrap()).unwrap();
    object.set("new", &RawJson::null()).unwrap();
    object.remove("a");
    assert_eq!(object.to_raw().unwrap().as_str(), r#"{"b":1e400,"_meta":{},"new":null}"#);
}
