use gateway_store::{CallLog, Filter, Options, Outcome, REDACTED};

use crate::{filter, places::Place, record, write};

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

pub(crate) fn entries_are_redacted(place: &Place) {
    let log = place.open(&Options::default());
    let mut call = record(0);
    call.input = r#"{"password":"hunter2"}"#.into();
    call.outcome = Outcome::error("token=hunter2hunter2", "UPSTREAM");
    write(&log, [call]);
    let entry = log.query(&Filter::default()).unwrap().entries.remove(0);
    let json = String::from_utf8(entry.to_json()).unwrap();
    assert!(json.contains(REDACTED) && !json.contains("hunter2"), "{json}");
}

/// Not every database can keep a NUL in a text; no entry is lost for it, and none holds up others.
pub(crate) fn names_can_be_any_text(place: &Place) {
    let log = place.open(&Options::default());
    let mut call = record(0);
    call.tool = "a\0b".into();
    call.caller = Some("\u{10ffff}'\\%".into());
    call.correlation_id = "\0".into();
    call.outcome = Outcome::error("no\0", "NO");
    call.input = r#"{"x":"\u0000 \ud800"}"#.into();
    write(&log, [call, record(1)]);
    let find = |change: fn(&mut Filter)| log.query(&filter(change)).unwrap().entries.len();
    assert_eq!(find(|f| f.tool = Some("a\0b".into())), 1);
    assert_eq!(find(|f| f.correlation_id = Some("\0".into())), 1);
    assert_eq!(find(|f| f.caller = Some("\u{10ffff}'\\%".into())), 1);
    assert_eq!(find(|f| f.caller = Some("*'\\*".into())), 1);
    let entry = log.query(&Filter::default()).unwrap().entries.remove(0);
    assert_eq!(entry.call.input, r#"{"x":"\u0000 \ud800"}"#);
}

pub(crate) fn a_truncated_value_keeps_its_beginning_and_says_so(place: &Place) {
    let log = place.open(&Options::default());
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

pub(crate) fn invalid_json_is_stored_as_text(place: &Place) {
    let log = place.open(&Options::default());
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

pub(crate) fn a_picture_is_kept_as_a_note(place: &Place) {
    let log = place.open(&Options::default());
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
