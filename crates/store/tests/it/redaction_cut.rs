//! Secrets at the end of a truncated value: no part of them is stored.

use gateway_store::{CallLog, CallRecord, Filter, Options, Outcome};
use serde_json::{Value, json};

use crate::{filter, record, write};

/// No more than this many characters of it may be stored.
const SECRET: &str = "Zq7-kiwi-Hunter2-0451-Banana-Lampe";
const MOST: usize = 8;
/// The longest result that is stored.
const CAP: usize = 700;
/// What is kept beyond it until redaction.
const MARGIN: usize = 4096;

/// Ordinary text that triggers no search.
fn filler(length: usize) -> String {
    "lorem ipsum dolor amet ".repeat(length / 23 + 1)[..length].to_owned()
}

/// Ordinary rows of JSON, so that the cut falls on each of their characters.
fn rows() -> Value {
    (0..400).map(|number| json!({"n": number, "t": "blue, \"red\"", "x": [true, null]})).collect()
}

/// Documents as text, with a filler before the secret.
fn texts(before: &str) -> Vec<String> {
    vec![
        format!("{before} password: {SECRET} "),
        format!("{before} password = \"{SECRET}\" "),
        format!("{before} token={SECRET}&x=1 "),
        format!("{before} https://eva:{SECRET}@example.com/ "),
        format!("{before} <password>{SECRET}</password> "),
        format!("{before} curl -u eva:{SECRET} https://example.com/ "),
        format!("{before} mysql -u root -p{SECRET} app "),
        format!("{before} the password is {SECRET}. "),
        format!("{before} INSERT INTO t (a, password) VALUES (1, '{SECRET}') "),
        format!("{before} sk-{SECRET} "),
        format!("{before}\nname,password\neva,{SECRET}\n"),
        format!("{before} -----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY----- "),
        format!("{before} {} ", json!({"a": {"password": SECRET, "b": 1}})),
    ]
}

/// Documents whose secret only a JSON parser finds.
fn documents(before: &str, after: &Value) -> Vec<Value> {
    vec![
        json!({"a": before, "credentials": {"first": {"c": SECRET}}, "z": after}),
        json!({"a": before, "b": ["--password", SECRET, "x"], "z": after}),
        json!({"a": before, "b": {"name": "PASSWORD", "value": SECRET}, "z": after}),
        json!({"a": before, "b": {"columns": ["id", "password"], "rows": [[1, SECRET]]}, "z": after}),
        json!({"a": before, "b": {"kty": "oct", "k": SECRET}, "z": after}),
        json!([before, {"refresh_tokens": [SECRET], "passwords": [SECRET]}, after]),
    ]
}

fn result(value: &Value) -> CallRecord {
    let mut call = record(0);
    call.outcome = Outcome::Result(value.to_string().into());
    call
}

fn as_text(value: &Value) -> Value {
    json!({"content": [{"type": "text", "text": value.to_string()}]})
}

#[track_caller]
fn check(calls: Vec<CallRecord>) {
    let mut options = Options::default();
    options.max_result_bytes = CAP;
    let log = CallLog::in_memory(&options).unwrap();
    let count = calls.len();
    write(&log, calls);
    let entries = log.query(&filter(|f: &mut Filter| f.limit = count)).unwrap().entries;
    assert_eq!(entries.len(), count);
    let mut leaks = Vec::new();
    for entry in entries {
        let text = String::from_utf8(entry.to_json()).unwrap();
        let is_part = |start: usize| SECRET.get(start..=start + MOST).is_some_and(|part| text.contains(part));
        if (0..SECRET.len()).any(is_part) {
            leaks.push(text);
        }
    }
    assert!(leaks.is_empty(), "{} of {count} leak, such as {}", leaks.len(), leaks[0]);
}

#[test]
fn no_part_of_a_secret_is_stored_wherever_a_text_is_cut() {
    let mut calls = Vec::new();
    for cut in [CAP, CAP + MARGIN] {
        for offset in (0..120).step_by(3) {
            let before = filler(cut - offset);
            for text in texts(&before) {
                let whole = format!("{text}{}", filler(2 * MARGIN));
                calls.push(result(&json!({"content": [{"type": "text", "text": whole}]})));
            }
        }
    }
    check(calls);
}

#[test]
fn no_part_of_a_secret_is_stored_wherever_json_is_cut() {
    let mut calls = Vec::new();
    for offset in 0..60 {
        // The secret at the beginning, the cut in the rows after it.
        for document in documents(&filler(offset), &rows()) {
            calls.push(result(&document));
            calls.push(result(&as_text(&document)));
            calls.push(result(&as_text(&as_text(&document))));
        }
        // The cut in the secret.
        for document in documents(&filler(CAP + MARGIN - 2 * offset), &json!(filler(2 * MARGIN))) {
            calls.push(result(&as_text(&document)));
        }
    }
    check(calls);
}

#[test]
fn no_part_of_a_secret_is_stored_wherever_an_error_is_cut() {
    let mut calls = Vec::new();
    for offset in (0..120).step_by(7) {
        for text in texts(&filler(CAP + MARGIN - offset)) {
            let mut call = record(0);
            call.outcome = Outcome::error(format!("{text}{}", filler(2 * MARGIN)), "TOOL_ERROR");
            calls.push(call);
        }
        for document in documents(&filler(offset), &rows()) {
            let mut call = record(0);
            call.outcome = Outcome::error(document.to_string(), "TOOL_ERROR");
            calls.push(call);
        }
    }
    check(calls);
}
