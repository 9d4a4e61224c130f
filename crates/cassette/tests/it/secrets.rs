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

#[test]
fn a_secret_behind_an_escape_goes_too() {
    let secret = "Zx9Kqw77Lm";
    let login = |id: u64| Client(call(id, "login", json!({"key": secret})));
    let check = |answer: &str| {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"text":{answer}}}}}"#);
        let mut recorder = Recorder::new(Box::new(redact));
        record_into(&mut recorder, &[login(1)]);
        let message = gateway_protocol::parse_message(line.into_bytes().into()).unwrap();
        recorder.server(0, &gateway_cassette::Channel::Shared, &message);
        let cassette = recorder.cassette("test", "stdio");
        let text = cassette.to_text().unwrap();
        let result: Value = cassette.entries[0].result.as_ref().unwrap().read().unwrap();
        let said = result["text"].as_str().unwrap();
        assert!(!text.contains(secret) && said.contains("[redacted]"), "{answer} became {text}");
        assert!(!serde_json::from_str::<Value>(said).is_ok_and(|inner| inner.to_string().contains(secret)));
    };
    let nested = |value: Value| Value::from(value.to_string()).to_string();
    for text in [
        "hello\nZx9Kqw77Lm",
        "tab\tZx9Kqw77Lm\r\n",
        "\u{e9}Zx9Kqw77Lm\u{e9}",
        "a\u{8}Zx9Kqw77Lm",
        "密码Zx9Kqw77Lm",
    ] {
        check(&json!(text).to_string());
        check(&nested(json!({"line": text})));
        check(&json!(nested(json!([text]))).to_string());
    }
    check(r#""\u00e9Zx9Kqw77Lm""#);
    check(r#""{\"a\":\"\\u00e9Zx9Kqw77Lm\"}""#);
    check(r#""/login?key%3DZx9Kqw77Lm&x""#);
    // An escape instead of a letter of the secret.
    check(r#""\u005ax9Kqw77L\u006d""#);
}

#[test]
fn a_secret_goes_in_every_spelling() {
    let secret = "Pä\"ss\\W0rd!";
    let inner = json!({"again": secret}).to_string();
    let (text, _) = recorded(&[
        Client(call(1, "login", json!({"key": secret}))),
        Server(result(1, json!({"plain": secret, "inner": inner, "twice": json!([inner]).to_string()}))),
        Client(call(2, "ascii", json!({}))),
        Server(result(2, json!({"python": "{\"a\": \"P\\u00e4\\\"ss\\\\W0rd!\"}"}))),
    ]);
    assert!(!text.contains("W0rd") && text.contains("\"redacted\": 5"), "{text}");
}

#[test]
fn short_values_of_the_command_line_go_as_words() {
    let mut recorder = Recorder::new(Box::new(redact));
    for secret in ["ab12", "4711", "name", "abc", "true"] {
        recorder.hide(secret);
    }
    record_into(
        &mut recorder,
        &[
            Client(call(
                1,
                "pin",
                json!({"pin": "ab12", "number": 4711, "is": true, "other": "xab12 14711 abc"}),
            )),
            Server(result(1, json!({"said": "pin ab12, name x"}))),
        ],
    );
    let text = recorder.cassette("test", "http").to_text().unwrap();
    assert!(
        text.contains(
            r#""pin": "[redacted]", "number": "[redacted]", "is": true, "other": "xab12 14711 abc""#
        ),
        "{text}"
    );
    assert!(text.contains(r#""name": "pin""#) && text.contains("pin [redacted], [redacted] x"), "{text}");
}

#[test]
fn a_draft_that_grows_is_the_cassette() {
    let login = |id: u64, key: &str| Client(call(id, "login", json!({"key": key})));
    let steps = [
        Client(call(1, "early", json!({"line": "of S3cret-Of-Ada and S3cret-Of-Ada-2"}))),
        login(2, "S3cret-Of-Ada"),
        Server(result(2, json!({"said": "key=S3cret-Of-Bob"}))),
        Server(result(1, json!({"late": "S3cret-Of-Bob"}))),
        login(3, "S3cret-Of-Ada-2"),
    ];
    let mut recorder = Recorder::new(Box::new(redact));
    let mut draft = gateway_cassette::Draft::default();
    assert!(recorder.changes().is_empty());
    for step in &steps {
        record_into(&mut recorder, std::slice::from_ref(step));
        let changes = recorder.changes();
        assert!(!changes.is_empty());
        draft.update(changes);
        assert_eq!(draft.cassette("test", "stdio"), recorder.cassette("test", "stdio"));
    }
    assert!(recorder.changes().is_empty());
    let text = draft.cassette("test", "stdio").to_text().unwrap();
    assert!(!text.contains("S3cret") && text.contains("of [redacted] and [redacted]"), "{text}");
}
