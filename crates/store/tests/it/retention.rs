use std::time::Duration;

use gateway_store::{CallLog, Filter, Options};

use crate::{filter, ids, places::Place, record, wait_until, write};

fn options(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::default();
    change(&mut options);
    options
}

fn old(number: i64) -> gateway_store::CallRecord {
    let mut call = record(number);
    call.timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
    call
}

pub(crate) fn old_entries_are_deleted_at_the_start_and_new_ones_stay(place: &Place) {
    let keep = options(|options| options.retention.max_age = None);
    let log = place.open(&keep);
    // Old ones fill two blocks and reach into the third.
    write(&log, (0..2600).map(old).chain((0..50).map(record)).chain((0..5).map(old)));
    assert_eq!(log.status().deleted, 0);
    drop(log);

    let log = place.open(&Options::default());
    wait_until("deleting", || log.status().deleted == 2605);
    assert_eq!(ids(&log, &Filter::default()), (2601..=2650).collect::<Vec<_>>());
    assert_eq!(ids(&log, &filter(|f| f.correlation_id = Some("c-7".into()))), [2608]);
    write(&log, [record(1)]);
    assert_eq!(log.last_id(), 2656);
    drop(log);
    let log = place.open(&Options::default());
    assert_eq!(log.opened().entries, 51);
}

pub(crate) fn an_id_is_never_given_twice(place: &Place) {
    let short = options(|options| options.retention.interval = Duration::from_millis(1));
    let log = place.open(&short);
    write(&log, (0..10).map(old));
    wait_until("deleting", || log.status().deleted == 10);
    drop(log);
    let log = place.open(&short);
    assert_eq!((log.opened().entries, log.opened().last_id), (0, 10));
    write(&log, [record(0)]);
    assert_eq!(ids(&log, &Filter::default()), [11]);
}

#[test]
fn the_size_is_bounded_and_the_newest_stay() {
    let directory = tempfile::tempdir().unwrap();
    let limit = 2 << 20;
    let small = options(|options| options.retention.max_bytes = Some(limit));
    let log = CallLog::open(directory.path(), &small).unwrap();
    let text = format!("\"{}\"", "x".repeat(1000));
    let total: i64 = 10_000;
    write(
        &log,
        (0..total).map(|number| {
            let mut call = record(number);
            call.input = text.clone().into();
            call
        }),
    );
    wait_until("deleting", || {
        let status = log.status();
        status.deleted > 7000 && status.database_bytes <= limit
    });
    let deleted = i64::try_from(log.status().deleted).unwrap();
    assert!(deleted < 9500, "{deleted} is more than needed");
    let kept = ids(&log, &filter(|f| f.limit = 20_000));
    assert_eq!(kept, (deleted + 1..=total).collect::<Vec<_>>());
    drop(log);
    let size = std::fs::metadata(directory.path().join(gateway_store::FILE_NAME)).unwrap().len();
    assert!(size < 4 * limit, "{size}: free pages are used again or given back");
}

pub(crate) fn only_the_newest_stay_within_a_size(place: &Place) {
    let limit = 2 << 20;
    let small = options(|options| {
        options.retention.max_bytes = Some(limit);
        options.retention.interval = Duration::from_millis(1);
    });
    let log = place.open(&small);
    let total: i64 = 5_000;
    let call = |number| {
        let mut call = record(number);
        call.input = format!("\"{}\"", "x".repeat(1000)).into();
        call
    };
    write(&log, (0..total).map(call));
    wait_until("deleting", || log.status().deleted > 2500 && log.status().database_bytes <= limit);
    let deleted = i64::try_from(log.status().deleted).unwrap();
    assert!(deleted < 4500, "{deleted} is more than needed");
    assert_eq!(ids(&log, &filter(|f| f.limit = 20_000)), (deleted + 1..=total).collect::<Vec<_>>());
    drop(log);
    assert_eq!(place.open(&small).opened().entries, total - deleted);
}

/// The bytes of all files of a log.
fn size_of(directory: &std::path::Path) -> u64 {
    let files = std::fs::read_dir(directory).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

/// Writes calls with texts of a size, a few at a time, and checks after every time that the log keeps as many as fit and takes no
/// more than it may.
#[track_caller]
fn check_bound(limit: u64, text_bytes: u64, calls: i64, at_once: i64) {
    let directory = tempfile::tempdir().unwrap();
    let bounded = options(|options| {
        options.retention.max_bytes = Some(limit);
        // Only growth makes it sweep.
        options.retention.interval = Duration::from_hours(1);
    });
    let log = CallLog::open(directory.path(), &bounded).unwrap();
    let text = format!("\"{}\"", "x".repeat(usize::try_from(text_bytes).unwrap()));
    let (mut fewest, mut largest) = (u64::MAX, 0);
    for first in (0..calls).step_by(usize::try_from(at_once).unwrap()) {
        let call = |number| {
            let mut call = record(number);
            call.input = text.clone().into();
            call
        };
        write(&log, (first..first + at_once).map(call));
        // The sweep that follows a write is over when the next write is.
        write(&log, [record(0)]);
        largest = largest.max(size_of(directory.path()));
        if log.status().deleted > 0 {
            let kept = ids(&log, &filter(|f| (f.limit, f.max_bytes) = (usize::MAX, usize::MAX)));
            let last = log.last_id();
            assert_eq!(kept.last(), Some(&last), "the newest stay");
            let large = kept.iter().filter(|id| **id % (at_once + 1) != 0).count();
            fewest = fewest.min(u64::try_from(large).unwrap());
        }
    }
    assert!(fewest < u64::MAX, "nothing was deleted: {largest} bytes");
    assert!(largest <= limit + limit / 4 + (256 << 10), "{largest} bytes of {limit}");
    // A quarter is for the write-ahead log, and pages are not filled to the last byte.
    assert!(
        fewest * text_bytes >= limit / 2,
        "only {fewest} entries of {text_bytes} bytes are left within {limit}"
    );
}

#[test]
fn few_large_entries_stay_near_the_limit() {
    check_bound(1 << 20, 20_000, 300, 1);
    check_bound(1 << 20, 20_000, 400, 20);
}

#[test]
fn entries_of_any_size_stay_near_the_limit() {
    check_bound(5 << 20, 8_000, 1_500, 10);
    check_bound(2 << 20, 60_000, 200, 5);
    check_bound(1 << 20, 200, 12_000, 200);
}
