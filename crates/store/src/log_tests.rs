//! A disk that is full, by a bound on the pages of the database.

use std::time::Duration;

use super::*;
use crate::record::CallRecord;
use crate::{schema::PreviousRun, testing::record};

const LONG: Duration = Duration::from_secs(20);

impl CallLog {
    /// Allows the database to grow by this many pages.
    fn allow_pages(&self, more: i64) {
        let connection = self.connection();
        let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        connection.pragma_update_and_check(None, "max_page_count", pages + more, |_| Ok(())).unwrap();
    }

    /// Waits until the writer has met the full disk.
    fn await_failure(&self) {
        let begin = std::time::Instant::now();
        while !self.status().failing {
            assert!(begin.elapsed() < LONG, "writing does not fail: {:?}", self.status());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

fn big_record(number: usize) -> CallRecord {
    let mut record = record("demo", "add");
    record.correlation_id = number.to_string().into();
    record.input = format!("\"{}\"", "x".repeat(20_000)).into();
    record
}

fn small_queue() -> Options {
    Options { queue_entries: 10, commit_interval: Duration::ZERO, ..Options::default() }
}

#[test]
fn a_full_disk_loses_nothing_and_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let log = CallLog::open(directory.path(), &small_queue()).unwrap();
    log.try_reserve().unwrap().record(big_record(0));
    log.flush(LONG).unwrap();
    log.allow_pages(0);

    let mut accepted = 1;
    while let Some(permit) = log.try_reserve() {
        permit.record(big_record(accepted));
        accepted += 1;
    }
    assert_eq!(accepted, 11, "the queue takes what it can hold and then refuses");
    log.await_failure();
    let error = log.flush(Duration::from_millis(1)).unwrap_err();
    assert_eq!(error.to_string(), "10 entries of the call log are not written yet: database or disk is full");
    let status = log.status();
    assert!(status.failing && status.failures > 0);
    assert_eq!((status.queued, status.written, status.waiting, status.last_id), (11, 1, 10, 1));
    assert!(log.try_reserve().is_none());

    log.allow_pages(10_000);
    log.flush(LONG).unwrap();
    let status = log.status();
    assert!(!status.failing);
    assert_eq!((status.waiting, status.waiting_bytes, status.written), (0, 0, 11));
    assert_eq!(status.last_error.as_deref(), Some("database or disk is full"));
    let page = log.query(&Filter::default()).unwrap();
    let ids: Vec<_> =
        page.entries.iter().map(|entry| (entry.id, entry.call.correlation_id.to_string())).collect();
    assert_eq!(ids, (0..11).map(|number| (number + 1, number.to_string())).collect::<Vec<_>>());
}

#[test]
fn closing_on_a_full_disk_says_what_is_lost_and_the_next_run_knows() {
    let directory = tempfile::tempdir().unwrap();
    let log = CallLog::open(directory.path(), &small_queue()).unwrap();
    log.try_reserve().unwrap().record(big_record(0));
    log.flush(LONG).unwrap();
    log.allow_pages(0);
    log.try_reserve().unwrap().record(big_record(1));
    log.await_failure();
    let error = log.close(Duration::from_millis(1)).unwrap_err();
    assert!(matches!(error, StoreError::Unwritten { entries: 1, reason: Some(_) }), "{error:?}");
    drop(log);

    let log = CallLog::open(directory.path(), &small_queue()).unwrap();
    assert_eq!((log.opened().previous, log.opened().entries), (PreviousRun::Unclean, 1));
}
