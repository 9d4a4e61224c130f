//! JSON: values, names, numbers and the bytes around them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::borrow::Cow;

use gateway_privacy::{Applied, Detector, Kind, Location, MAX_LISTED, Mode};
use serde_json::{Value, json};

/// Compares the masked document and the findings, both for the text and for the value.
#[track_caller]
fn check(text: &str, masked: &str, found: &[(&str, Location, Kind)]) {
    let detector = Detector::default();
    let Applied::Passed { output, report } = detector.apply_json_text(text, Mode::Mask).unwrap() else {
        panic!("blocked")
    };
    assert_eq!(output, masked);
    let list: Vec<_> = report
        .findings
        .iter()
        .map(|found| (found.pointer.as_str(), found.location, found.finding.kind))
        .collect();
    assert_eq!(list, found);
    let value: Value = serde_json::from_str(text).unwrap();
    let Applied::Passed { output, report: of_value } = detector.apply_json(&value, Mode::Mask) else {
        panic!("blocked")
    };
    assert_eq!(*output, serde_json::from_str::<Value>(masked).unwrap());
    assert_eq!(of_value, report);
}

#[test]
fn strings_names_and_numbers_are_masked() {
    check(
        r#"{"a": ["x", "mail a@example.com"], "b/c": {"card": 4242424242424242}}"#,
        r#"{"a": ["x", "mail [email]"], "b/c": {"card": "[card]"}}"#,
        &[("/a/1", Location::Value, Kind::Email), ("/b~1c/card", Location::Value, Kind::Card)],
    );
    check(
        r#"{"a@example.com": {"n": "b@example.com"}}"#,
        r#"{"[email]": {"n": "[email]"}}"#,
        &[("/[email]", Location::Name, Kind::Email), ("/[email]/n", Location::Value, Kind::Email)],
    );
    check("4242424242424242", "\"[card]\"", &[("", Location::Value, Kind::Card)]);
}

#[test]
fn names_stay_different() {
    check(
        r#"{"a@example.com":1,"[email]":2,"b@example.com":3,"[email]-3":4,"c@example.com":5}"#,
        r#"{"[email]-2":1,"[email]":2,"[email]-4":3,"[email]-3":4,"[email]-5":5}"#,
        &[
            ("/[email]-2", Location::Name, Kind::Email),
            ("/[email]-4", Location::Name, Kind::Email),
            ("/[email]-5", Location::Name, Kind::Email),
        ],
    );
}

#[test]
fn the_name_of_a_member_is_a_word_before_its_values() {
    check(
        r#"{"ssn":536904399,"phones":["4155552671",[4155552672]],"order":"4155552673"}"#,
        r#"{"ssn":"[ssn]","phones":["[phone]",["[phone]"]],"order":"4155552673"}"#,
        &[
            ("/ssn", Location::Value, Kind::Ssn),
            ("/phones/0", Location::Value, Kind::Phone),
            ("/phones/1/0", Location::Value, Kind::Phone),
        ],
    );
    let plain = r#"{"phone_id":4155552671,"at":1700000000000,"phone":{"id":4155552671},"x":-4242424242424242,"y":4242424242424242.5}"#;
    check(plain, plain, &[]);
}

#[test]
fn bytes_that_are_not_masked_stay() {
    let before = "{ \"a\\u0041\" :\t1.50e+3 , \"a\\u0041\": \"\\ud800\\/\" ,\n\"m\":\"";
    let text = format!("{before}x\\u0040example.com\" , \"z\":[ ]}}");
    let Applied::Passed { output, .. } = Detector::default().apply_json_text(&text, Mode::Mask).unwrap()
    else {
        panic!("blocked")
    };
    assert_eq!(output, format!("{before}[email]\" , \"z\":[ ]}}"));
    let untouched = Detector::default().apply_json_text("[1.0, \"x\"]", Mode::Mask).unwrap();
    assert!(matches!(untouched, Applied::Passed { output: Cow::Borrowed("[1.0, \"x\"]"), .. }));
}

#[test]
fn half_a_document_is_refused() {
    let error = Detector::default().apply_json_text("{\"a\":", Mode::Mask).unwrap_err();
    assert_eq!(error.to_string(), "searching a text of 5 bytes that is no JSON");
}

#[test]
fn modes_mark_and_block_documents() {
    let detector = Detector::default();
    let value = json!({"to": "a@example.com"});
    let report = detector.find_json(&value);
    assert_eq!(
        detector.apply_json(&value, Mode::Mark),
        Applied::Passed { output: Cow::Borrowed(&value), report: report.clone() }
    );
    assert_eq!(detector.apply_json(&value, Mode::Block), Applied::Blocked { report });
    let empty = json!({"to": "nobody"});
    assert!(matches!(
        detector.apply_json(&empty, Mode::Block),
        Applied::Passed { output: Cow::Borrowed(_), .. }
    ));
}

#[test]
fn reports_are_bounded_and_masking_is_not() {
    let name = "n".repeat(5000);
    let value = json!({ name: vec!["a@example.com"; MAX_LISTED + 7] });
    let Applied::Passed { output, report } = Detector::default().apply_json(&value, Mode::Mask) else {
        panic!("blocked")
    };
    assert_eq!((report.findings.len(), report.omitted), (MAX_LISTED, 7));
    assert_eq!(report.counts.iter().collect::<Vec<_>>(), [(Kind::Email, MAX_LISTED + 7)]);
    assert!(report.findings.iter().all(|found| found.pointer == "/…"));
    assert_eq!(output.to_string().matches("[email]").count(), MAX_LISTED + 7);
}

#[test]
fn deep_documents_are_searched_without_recursion() {
    let depth = 100_000;
    let text = format!("{}\"a@example.com\"{}", "[".repeat(depth), "]".repeat(depth));
    let Applied::Passed { output, report } = Detector::default().apply_json_text(&text, Mode::Mask).unwrap()
    else {
        panic!("blocked")
    };
    assert_eq!(output, text.replace("a@example.com", "[email]"));
    assert_eq!(report.findings.len(), 1);
}

#[test]
fn blocks_are_read_as_one_text() {
    let detector = Detector::default();
    let check =
        |text: &str, masked: &str| assert_eq!(detector.mask_blocks(text).unwrap().0, masked, "{text}");
    check(
        r#"{"content": [{"type":"text", "text": "card 4242 4242 "}, {"type":"image"}, {"text":"4242\u00204242 \ud800", "x":1}]}"#,
        r#"{"content": [{"type":"text", "text": "card [card]"}, {"type":"image"}, {"text":" �", "x":1}]}"#,
    );
    check(
        r#"[{"resource":{"uri":"u","text":"anna@exam"}},{"text":"ple.com"},[{"text":"a@b.co"}]]"#,
        r#"[{"resource":{"uri":"u","text":"[email]"}},{"text":""},[{"text":"[email]"}]]"#,
    );
    let apart =
        r#"{"text":"4242 4242 ","a":[{"title":"4242 4242 "},{"text":"4242 "}],"b":[{"text":"4242 "}]}"#;
    check(apart, apart);
    assert!(detector.mask_blocks("{").is_err());
}
