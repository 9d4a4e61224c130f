//! What holds for every text. `PROPERTY_FACTOR=20 cargo test properties` runs twenty times the usual number of cases.

#![expect(clippy::panic, reason = "a helper of tests")]

use gateway_privacy::{Applied, Detector, Kind, Mode, StreamMask};
use proptest::prelude::*;
use serde_json::{Map, Value};

fn config() -> ProptestConfig {
    let factor = std::env::var("PROPERTY_FACTOR").ok().and_then(|text| text.parse().ok()).unwrap_or(1_u32);
    ProptestConfig { cases: 1500 * factor, failure_persistence: None, ..ProptestConfig::default() }
}

/// Pieces of findings, of what stands around them, and of what only looks like them.
const FRAGMENTS: &[&str] = &[
    "4242424242424242",
    "4242",
    "4242 4242 4242 4242",
    "3782 822463 10005",
    "DE89 3704 0044 0532 0130 00",
    "DE89370400440532013000",
    "GB82",
    "WEST",
    "536-90-4399",
    "536 90 4399",
    "536904399",
    "+14155552671",
    "+49 170 1234567",
    "415-555-2671",
    "(415) 555-2671",
    "415",
    "555",
    "2671",
    "030 1234567",
    "06 12 34 56 78",
    "0412 345 678",
    "0049",
    "12",
    "7",
    "2024-01-01",
    "01.02.2024",
    "1700000000000",
    "a@example.com",
    "anna",
    "b",
    "@",
    "example.com",
    ".com",
    "git",
    "png",
    "ssn",
    "SSN",
    "phone",
    "tel",
    "call me",
    "my number",
    "id",
    "card",
    "[card]",
    "[phone]",
    "[ssn]",
    "[email]",
    "[iban]",
    "[",
    "]",
    " ",
    " ",
    " ",
    "  ",
    "-",
    "-",
    ".",
    ".",
    ",",
    ":",
    "/",
    "//",
    "(",
    ")",
    "+",
    "_",
    "%",
    "%40",
    "%2B",
    "#",
    "$",
    "€",
    "\n",
    "\t",
    "\"",
    "'",
    "=",
    "&",
    "~",
    "\u{A0}",
    "\u{2013}",
    "\u{200B}",
    "\u{34F}\u{FE0F}",
    "४२",
    "４２",
    "是",
    "é",
    "х",
    "电话",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::collection::vec(prop::sample::select(FRAGMENTS), 0..14).prop_map(|parts| parts.concat()),
        1 => "[-0-9 .+()/a@%]{0,60}",
        1 => any::<String>(),
    ]
}

fn detector() -> impl Strategy<Value = Detector> {
    prop_oneof![
        3 => Just(Detector::default()),
        1 => prop::sample::subsequence(Kind::ALL.to_vec(), 0..=5).prop_map(Detector::new),
    ]
}

fn masked(detector: &Detector, text: &str) -> String {
    match detector.apply(text, Mode::Mask) {
        Applied::Passed { output, .. } => output.into_owned(),
        Applied::Blocked { .. } => panic!("masking blocks nothing"),
    }
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (4_000_000_000_000_000_u64..4_100_000_000_000_000).prop_map(Value::from),
        Just(Value::from(4_242_424_242_424_242_u64)),
        Just(Value::Null),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// How many values of each type there are at every depth: what masking must not change, but for numbers that become strings.
fn shape(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(members) => members.values().map(shape).collect(),
        Value::Number(_) | Value::String(_) => Value::from("scalar"),
        Value::Null | Value::Bool(_) => value.clone(),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn findings_are_sorted_whole_and_apart(text in text(), detector in detector()) {
        let mut end = 0;
        for finding in detector.find(&text) {
            prop_assert!(detector.finds(finding.kind));
            prop_assert!(finding.range.start >= end && finding.range.start < finding.range.end);
            prop_assert!(text.get(finding.range.clone()).is_some());
            end = finding.range.end;
        }
    }

    #[test]
    fn masked_text_has_no_findings(text in text(), detector in detector()) {
        let masked = masked(&detector, &text);
        prop_assert_eq!(detector.find(&masked), vec![], "{:?} became {:?}", text, masked);
    }

    #[test]
    fn a_stream_gives_what_the_whole_text_gives(
        texts in prop::collection::vec(text(), 1..12),
        detector in detector(),
        cuts in prop::collection::vec(1_usize..40, 1..8),
    ) {
        let text = texts.concat();
        let mut stream = StreamMask::new(detector.clone());
        let mut given = String::new();
        let mut findings = Vec::new();
        let mut rest = text.as_str();
        for cut in cuts.iter().cycle() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary((*cut).max(4)));
            let masked = stream.push(piece);
            prop_assert!(stream.held() <= StreamMask::MAX_HELD);
            given.push_str(&masked.text);
            findings.extend(masked.findings);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        let last = stream.finish();
        given.push_str(&last.text);
        findings.extend(last.findings);
        prop_assert_eq!(given, masked(&detector, &text));
        prop_assert_eq!(findings, detector.find(&text));
    }

    #[test]
    fn masked_documents_are_documents_without_findings(document in document(), detector in detector()) {
        let text = document.to_string();
        let Applied::Passed { output, report } = detector.apply_json_text(&text, Mode::Mask).unwrap() else {
            panic!("masking blocks nothing")
        };
        let masked: Value = serde_json::from_str(&output).unwrap();
        prop_assert_eq!(shape(&masked), shape(&document));
        prop_assert_eq!(output == text, report.is_empty());
        let Applied::Passed { output: of_value, report: same } = detector.apply_json(&document, Mode::Mask) else {
            panic!("masking blocks nothing")
        };
        prop_assert_eq!(&*of_value, &masked);
        prop_assert_eq!(same, report);
        prop_assert!(detector.find_json(&masked).is_empty(), "{} became {}", text, output);
    }
}
