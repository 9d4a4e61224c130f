use gateway_store::{CallLog, Filter, Options, Outcome, REDACTED};

use crate::{record, write};

/// Everything under the directory, as bytes.
fn files(directory: &std::path::Path) -> Vec<u8> {
    std::fs::read_dir(directory)
        .unwrap()
        .flat_map(|file| std::fs::read(file.unwrap().path()).unwrap())
        .collect()
}

#[test]
fn no_secret_reaches_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.redaction.keys.push("*_code".to_owned());
    options.redaction.paths.push("demo/a*:/account/*/iban".to_owned());
    let log = CallLog::open(directory.path(), &options).unwrap();
    let secret = "hunter2hunter2hunter2";
    let mut calls = Vec::new();
    for input in [
        format!(r#"{{"Password":"{secret}"}}"#),
        format!(r#"{{"headers":{{"x":"Bearer {secret}"}}}}"#),
        format!(r#"{{"door_code":"{secret}"}}"#),
        format!(r#"{{"account":[{{"iban":"{secret}"}}]}}"#),
        format!(r#"{{"text":"{{\"token\":\"{secret}\"}}"}}"#),
        format!("token={secret}"),
    ] {
        let mut call = record(0);
        call.input = input.clone().into();
        call.outcome = Outcome::Result(input.into());
        calls.push(call);
    }
    let mut failed = record(0);
    failed.outcome = Outcome::error(format!("GET https://x.test/?api_key={secret} gave 500"), "UPSTREAM");
    calls.push(failed);
    write(&log, calls);

    let entries = log.query(&Filter::default()).unwrap().entries;
    assert_eq!(entries.len(), 7);
    for entry in &entries {
        let json = String::from_utf8(entry.to_json()).unwrap();
        assert!(json.contains(REDACTED) && !json.contains("hunter2"), "{json}");
        serde_json::from_str::<serde_json::Value>(&json).unwrap();
    }
    let contains = |bytes: &[u8]| bytes.windows(7).any(|window| window == b"hunter2");
    assert!(!contains(&files(directory.path())), "before closing");
    drop(log);
    assert!(!contains(&files(directory.path())), "after closing");
}

#[test]
fn a_truncated_value_keeps_its_beginning_and_says_so() {
    let log = CallLog::in_memory(&Options::default()).unwrap();
    let mut call = record(0);
    let text = format!(r#"{{"text":"{}","end":1}}"#, "ü".repeat(100_000));
    call.input = text.clone().into();
    call.outcome = Outcome::Result(text.clone().into());
    call.tool = "t".repeat(10_000).into();
    write(&log, [call]);
    let entry = log.query(&Filter::default()).unwrap().entries.remove(0);
    assert!(entry.call.input.len() <= 64 << 10);
    assert!(entry.call.input.len() > 60 << 10);
    let input: serde_json::Value = serde_json::from_slice(&entry.call.input).unwrap();
    assert_eq!(input["truncated"], true);
    assert_eq!(input["bytes"], text.len());
    assert!(text.starts_with(input["head"].as_str().unwrap()));
    assert_eq!(input.as_object().unwrap().len(), 3);
    assert_eq!(entry.call.outcome, Outcome::Result(entry.call.input.clone()));
    assert!(entry.call.tool.len() <= 512);
}

#[test]
fn invalid_json_is_stored_as_text() {
    let log = CallLog::in_memory(&Options::default()).unwrap();
    let mut calls = Vec::new();
    for (input, expected) in [
        (&b"oops \"x\""[..], r#""oops \"x\"""#),
        (b"", "null"),
        (b"{\"a\":1} x", r#""{\"a\":1} x""#),
        (b"\xff\xfe", "\"\u{fffd}\u{fffd}\""),
        (b" [1, 2] ", " [1, 2] "),
    ] {
        let mut call = record(0);
        call.input = input.into();
        calls.push((call, expected));
    }
    write(&log, calls.iter().map(|(call, _)| call.clone()));
    let entries = log.query(&Filter::default()).unwrap().entries;
    for (entry, (_, expected)) in entries.iter().zip(&calls) {
        assert_eq!(entry.call.input, *expected);
        serde_json::from_slice::<serde_json::Value>(&entry.to_json()).unwrap();
    }
}

#[test]
fn a_picture_is_kept_as_a_note() {
    let log = CallLog::in_memory(&Options::default()).unwrap();
    let mut call = record(0);
    let blob = "QUJD".repeat(100_000);
    call.outcome = Outcome::Result(
        format!(r#"{{"content":[{{"type":"image","data":"{blob}","mimeType":"image/png"}}]}}"#).into(),
    );
    write(&log, [call]);
    let entry = log.query(&Filter::default()).unwrap().entries.remove(0);
    let note = r#"{"content":[{"type":"image","data":"[300000 bytes of base64]","mimeType":"image/png"}]}"#;
    assert_eq!(entry.call.outcome, Outcome::Result(note.into()));
}
