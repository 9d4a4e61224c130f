//! Writing messages.

use gateway_protocol::{
    Era, Implementation, LATEST_LEGACY, MODERN, RawJson, RpcError, initialize_params, is_modern, modern_meta,
    negotiate_legacy, write_error, write_notification, write_request, write_response,
};

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn requests_hold_params_and_meta_as_they_are() {
    let mut out = Vec::new();
    write_request(
        &mut out,
        5,
        "tools/call",
        &[("name", b"\"a\""), ("arguments", b"{\n\"x\":1e400}")],
        &[("progressToken", b"5")],
    );
    assert_eq!(
        text(out),
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a","arguments":{"x":1e400},"_meta":{"progressToken":5}}}"#
    );
    let mut out = Vec::new();
    write_notification(&mut out, "notifications/initialized", &[], &[]);
    assert_eq!(text(out), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
}

#[test]
fn answers_repeat_the_id() {
    let id = RawJson::parse("\"x\"").unwrap();
    let mut out = Vec::new();
    write_response(&mut out, &id, &RawJson::empty_object());
    out.push(b'\n');
    write_error(&mut out, &id, &RpcError::new(-32601, "no such method"));
    assert_eq!(
        text(out),
        "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n\
         {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32601,\"message\":\"no such method\"}}"
    );
}

#[test]
fn eras_begin_in_their_own_way() {
    let client = Implementation { name: "gateway".to_owned(), version: "1".to_owned(), title: None };
    let params = initialize_params(&client, &RawJson::empty_object());
    assert_eq!(params.first(), Some(&("protocolVersion", format!("\"{LATEST_LEGACY}\"").into_bytes())));
    let meta = modern_meta(MODERN, &client, &RawJson::empty_object());
    assert_eq!(meta.len(), 3);
    assert_eq!(negotiate_legacy("2025-06-18"), "2025-06-18");
    assert_eq!(negotiate_legacy("1999-01-01"), LATEST_LEGACY);
    assert!(is_modern(MODERN) && !is_modern(LATEST_LEGACY));
    assert_eq!(Era::Modern { version: MODERN.to_owned() }.name(), "modern");
}
