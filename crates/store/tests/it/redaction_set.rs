//! The set of secrets and harmless texts in `conformance/redaction`.

use gateway_store::{CallLog, CallRecord, Filter, Options, Outcome};
use serde_json::Value;

use crate::{
    filter, record,
    redaction_documents::{Harmless, Secret, read},
    write,
};

/// One call with the document as its input and its result, and one with it as the text of an error.
fn calls(document: &Value) -> Vec<CallRecord> {
    let mut call = record(0);
    call.input = document.to_string().into();
    call.outcome = Outcome::Result(document.to_string().into());
    let mut calls = vec![call];
    if let Value::String(text) = document {
        let mut call = record(0);
        call.input = "{}".into();
        call.outcome = Outcome::error(text.as_str(), "TOOL_ERROR");
        calls.push(call);
    }
    calls
}

/// The entries as `/logs` gives them.
fn stored(calls: Vec<CallRecord>) -> Vec<gateway_store::StoredRecord> {
    let log = CallLog::in_memory(&Options::default()).unwrap();
    write(&log, calls);
    log.query(&filter(|f: &mut Filter| f.limit = 10)).unwrap().entries
}

#[test]
fn no_secret_of_the_set_is_stored_in_clear_text() {
    let mut leaks = Vec::new();
    let set: Vec<Secret> = read("secrets.json");
    for Secret { shape, document, secrets } in &set {
        for entry in stored(calls(document)) {
            let text = String::from_utf8(entry.to_json()).unwrap();
            for secret in secrets {
                let quoted = Value::from(secret.as_str()).to_string();
                let escaped = &quoted[1..quoted.len() - 1];
                if text.contains(secret.as_str()) || text.contains(escaped) {
                    leaks.push(format!("{shape}: {secret} in {text}"));
                }
            }
        }
    }
    assert!(leaks.is_empty(), "{} of {} leak:\n{}", leaks.len(), set.len(), leaks.join("\n"));
}

#[test]
fn harmless_texts_of_the_set_stay_as_they_are() {
    let set: Vec<Harmless> = read("harmless.json");
    let mut touched = Vec::new();
    for Harmless { document } in &set {
        for entry in stored(calls(document)) {
            let (kept, expected) = match entry.call.outcome {
                Outcome::Result(result) => {
                    (serde_json::from_slice::<Value>(&result).unwrap(), document.clone())
                }
                Outcome::Error { message, .. } => (Value::from(&*message), document.clone()),
            };
            if kept != expected {
                touched.push(format!("{document} became {kept}"));
                break;
            }
        }
    }
    assert!(
        touched.len() * 50 <= set.len(),
        "{} of {} touched:\n{}",
        touched.len(),
        set.len(),
        touched.join("\n")
    );
}
