//! The behaviour of the call log and of the stores of conversations, from outside.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are not marked as tests"
)]

mod conversations;
mod crash;
mod files;
mod filters;
mod follow;
mod lifecycle;
mod lines;
mod log_in_postgres;
mod personal_data;
mod places;
mod redaction;
mod redaction_cut;
mod redaction_documents;
mod redaction_set;
mod redaction_texts;
mod retention;
mod safety;
mod services;
mod tls;

use std::sync::mpsc;
use std::time::{Duration, Instant};

use gateway_store::{CallLog, CallRecord, Filter, Outcome, Permit};

/// Long enough for a slow machine; nothing waits for it unless something is wrong.
const LONG: Duration = Duration::from_secs(30);

/// A small record of a call that many seconds into the year 2100, so that retention keeps it.
fn record(second: i64) -> CallRecord {
    CallRecord {
        timestamp: jiff::Timestamp::from_second(4_102_444_800 + second).unwrap(),
        caller: None,
        server: "demo".into(),
        tool: "add".into(),
        provider: None,
        input: format!("{{\"n\":{second}}}").into(),
        outcome: Outcome::Result("{}".into()),
        duration: Duration::from_millis(1),
        correlation_id: format!("c-{second}").into(),
        transport: Some("http".into()),
        ran_on: None,
    }
}

/// Room for a record, once it is free.
fn reserve(log: &CallLog) -> Permit {
    if let Some(permit) = log.try_reserve() {
        return permit;
    }
    let (wake, written) = mpsc::channel();
    let _listening = log.on_write(move |_| {
        let _ = wake.send(());
    });
    loop {
        if let Some(permit) = log.try_reserve() {
            return permit;
        }
        written.recv_timeout(LONG).expect("there is room soon");
    }
}

fn write(log: &CallLog, records: impl IntoIterator<Item = CallRecord>) {
    for record in records {
        reserve(log).record(record);
    }
    log.flush(LONG).unwrap();
}

fn filter(change: impl FnOnce(&mut Filter)) -> Filter {
    let mut filter = Filter::default();
    change(&mut filter);
    filter
}

fn ids(log: &CallLog, filter: &Filter) -> Vec<i64> {
    log.query(filter).unwrap().entries.iter().map(|entry| entry.id).collect()
}

/// Waits for a condition that another thread fulfils.
#[track_caller]
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not happen within {LONG:?}");
        // It is for the other thread to use the processor.
        std::thread::sleep(Duration::from_millis(1));
    }
}
