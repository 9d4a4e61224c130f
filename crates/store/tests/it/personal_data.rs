//! Personal data in the log.

use gateway_privacy::{Kind, Mode};
use gateway_store::{CallLog, CallRecord, Filter, Options, Outcome, PersonalData};
use serde_json::json;

use crate::{record, write};

const CARD: &str = "4242 4242 4242 4242";
const MAIL: &str = "anna@example.com";

/// The call as the log stores it, and how much personal data was found in it, by kind.
fn stored(call: CallRecord, change: impl FnOnce(&mut Options)) -> (CallRecord, Vec<(Kind, usize)>) {
    let mut options = Options::default();
    change(&mut options);
    let log = CallLog::in_memory(&options).unwrap();
    write(&log, [call]);
    let found = log.status().personal_data.iter().collect();
    (log.query(&Filter::default()).unwrap().entries.remove(0).call, found)
}

fn looking(mode: Mode) -> impl FnOnce(&mut Options) {
    move |options| options.redaction.personal_data = Some(PersonalData::new(&Kind::ALL, mode))
}

fn call() -> CallRecord {
    let mut call = record(0);
    call.input =
        json!({"to": [{"ssn": 536_904_399, MAIL: "x"}], "order": 1_700_000_000_000_u64}).to_string().into();
    let text = format!("{{\"card\": \"{CARD}\"}}");
    call.outcome = Outcome::Error {
        message: format!("cannot write to {MAIL}").into(),
        code: None,
        result: Some(json!({"content": [{"type": "text", "text": text}]}).to_string().into()),
    };
    call
}

#[test]
fn it_stays_unless_it_is_looked_for() {
    assert_eq!(stored(call(), |_| {}), (call(), Vec::new()));
}

#[test]
fn it_is_masked_in_arguments_results_and_errors() {
    let mut expected = call();
    expected.input =
        json!({"to": [{"ssn": "[ssn]", "[email]": "x"}], "order": 1_700_000_000_000_u64}).to_string().into();
    expected.outcome = Outcome::Error {
        message: "cannot write to [email]".into(),
        code: None,
        result: Some(
            json!({"content": [{"type": "text", "text": "{\"card\": \"[card]\"}"}]}).to_string().into(),
        ),
    };
    let found = vec![(Kind::Email, 2), (Kind::Card, 1), (Kind::Ssn, 1)];
    assert_eq!(stored(call(), looking(Mode::Mask)), (expected, found.clone()));
    // Marked, it is only counted.
    assert_eq!(stored(call(), looking(Mode::Mark)), (call(), found));
}

#[test]
fn it_is_masked_over_the_blocks_of_a_result() {
    let result = |texts: [&str; 2]| Outcome::Error {
        message: "no".into(),
        code: None,
        result: Some(
            json!({"content": texts.map(|text| json!({"type": "text", "text": text}))}).to_string().into(),
        ),
    };
    let (mut call, mut expected) = (record(0), record(0));
    call.outcome = result(["card 4242 4242 ", "4242 4242."]);
    expected.outcome = result(["card [card]", "."]);
    assert_eq!(stored(call, looking(Mode::Mask)), (expected, vec![(Kind::Card, 1)]));
}

/// A tool that nobody has may be called by any name.
#[test]
fn it_is_masked_in_names_each_time() {
    let mut call = record(0);
    call.tool = MAIL.into();
    let mut options = Options::default();
    looking(Mode::Mask)(&mut options);
    let log = CallLog::in_memory(&options).unwrap();
    write(&log, [call.clone(), call]);
    let tools: Vec<_> =
        log.query(&Filter::default()).unwrap().entries.into_iter().map(|entry| entry.call.tool).collect();
    assert_eq!(tools.iter().map(|tool| &**tool).collect::<Vec<_>>(), ["[email]", "[email]"]);
}

/// A value that is cut is masked before, so that no half of a number stays.
#[test]
fn a_value_that_is_cut_holds_no_part_of_it() {
    for filler in 0..60 {
        let mut call = record(0);
        call.input =
            json!({"text": format!("{} {CARD} {MAIL} {}", "w".repeat(filler), "word ".repeat(2000))})
                .to_string()
                .into();
        let (kept, _) = stored(call, |options| {
            options.max_input_bytes = 80;
            looking(Mode::Mask)(options);
        });
        let text = String::from_utf8(kept.input.to_vec()).unwrap();
        assert!(text.contains("truncated") && !text.contains("4242") && !text.contains("anna@"), "{text}");
    }
}
