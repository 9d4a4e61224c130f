//! What was taken out of a cassette, and calls that have it.

use gateway_cassette::{Recorder, Redacted};
use serde_json::{Value, json};

use crate::{Client, Played, Server, Step, call, record_into, request, result};

/// Takes out what follows `key=` or stands under `key`, as the rules of the call log would.
fn redact(text: &str) -> Option<Redacted> {
    let mut value: Value = serde_json::from_str(text).unwrap();
    let mut removed = Vec::new();
    walk(&mut value, &mut removed);
    (!removed.is_empty()).then(|| Redacted { text: value.to_string(), removed })
}

fn walk(value: &mut Value, removed: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if name == "key" && !value.is_object() {
                    removed.push(value.to_string().trim_matches('"').to_owned());
                    *value = json!("[redacted]");
                }
                walk(value, removed);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, removed)),
        Value::String(text) => {
            if let Some((head, secret)) = text.split_once("key=") {
                removed.push(secret.to_owned());
                *text = format!("{head}key=[redacted]");
            }
        }
        _ => {}
    }
}

fn recorded(steps: &[Step]) -> (String, Played) {
    let mut recorder = Recorder::new(Box::new(redact));
    recorder.hide("of-the-command-line");
    record_into(&mut recorder, steps);
    let cassette = recorder.cassette("test", "stdio");
    (cassette.to_text().unwrap(), Played::from(cassette))
}

#[test]
fn a_call_with_a_secret_is_answered_again() {
    let login = |id: u64, key: Value| call(id, "login", json!({"user": "ada", "key": key}));
    let (text, mut played) = recorded(&[
        Client(login(1, json!("S3cret-Of-Ada"))),
        Server(result(1, json!({"said": "key=S3cret-Of-Ada"}))),
        Client(call(2, "header", json!({"line": "x: of-the-command-line;"}))),
        Server(result(2, json!({"text": "S3cret-Of-Ada again, not XS3cret-Of-Ada"}))),
    ]);
    assert!(!text.contains("\"S3cret") && !text.contains("of-the-command-line"), "{text}");
    assert!(text.contains("[redacted] again, not XS3cret-Of-Ada"), "{text}");
    assert!(text.contains("\"redacted\": 4"), "{text}");
    assert_eq!(played.send(&login(5, json!("another")))[0]["result"]["said"], "key=[redacted]");
    assert_eq!(played.send(&login(6, json!(["of", "any", "kind"])))[0]["result"]["said"], "key=[redacted]");
    let header = call(7, "header", json!({"line": "x: whatever;"}));
    assert_eq!(played.send(&header)[0]["result"]["text"], "[redacted] again, not XS3cret-Of-Ada");
    let other = call(8, "login", json!({"user": "bob", "key": "S3cret-Of-Ada"}));
    let message = played.send(&other)[0]["error"]["message"].as_str().unwrap().to_owned();
    assert!(
        message.ends_with("entry 1 of the cassette: /arguments/user is \"bob\", recorded \"ada\""),
        "{message}"
    );
}

#[test]
fn a_cursor_that_was_taken_out_still_leads_to_the_next_page() {
    let page = |id: u64, cursor: Value| request(id, "tools/list", json!({"cursor": cursor}));
    let (_, mut played) = recorded(&[
        Client(request(1, "tools/list", Value::Null)),
        Server(result(1, json!({"tools": [1], "nextCursor": "key=Page-Number-2"}))),
        Client(page(2, json!("key=Page-Number-2"))),
        Server(result(2, json!({"tools": [2], "nextCursor": "key=Page-Number-3"}))),
        Client(page(3, json!("key=Page-Number-3"))),
        Server(result(3, json!({"tools": [3]}))),
    ]);
    let mut pages = Vec::new();
    let mut answer = played.send(&request(1, "tools/list", Value::Null)).remove(0);
    while pages.len() < 9 {
        pages.push(answer["result"]["tools"][0].clone());
        let cursor = answer["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
        answer = played.send(&page(9, cursor)).remove(0);
    }
    assert_eq!(pages, [1, 2, 3]);
}

#[test]
fn words_and_numbers_are_no_secrets_elsewhere() {
    let (text, _) = recorded(&[
        Client(call(1, "a", json!({"key": 12_345_678}))),
        Server(result(1, json!({"number": 12_345_678, "word": "correcthorse"}))),
        Client(call(2, "correcthorse", json!({"key": "correcthorse"}))),
        Server(result(2, json!({}))),
    ]);
    assert!(text.contains("\"number\": 12345678") && text.contains("\"name\": \"correcthorse\""), "{text}");
}
