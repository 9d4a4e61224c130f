use std::time::Duration;

use gateway_store::{CallLog, Filter, Options};

use crate::{filter, ids, record, wait_until, write};

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

#[test]
fn old_entries_are_deleted_at_the_start_and_new_ones_stay() {
    let directory = tempfile::tempdir().unwrap();
    let keep = options(|options| options.retention.max_age = None);
    let log = CallLog::open(directory.path(), &keep).unwrap();
    // Old ones fill two blocks and reach into the third.
    write(&log, (0..2600).map(old).chain((0..50).map(record)).chain((0..5).map(old)));
    assert_eq!(log.status().deleted, 0);
    drop(log);

    let log = CallLog::open(directory.path(), &Options::default()).unwrap();
    wait_until("deleting", || log.status().deleted == 2605);
    assert_eq!(ids(&log, &Filter::default()), (2601..=2650).collect::<Vec<_>>());
    assert_eq!(ids(&log, &filter(|f| f.correlation_id = Some("c-7".into()))), [2608]);
    write(&log, [record(1)]);
    assert_eq!(log.last_id(), 2656);
    drop(log);
    let log = CallLog::open(directory.path(), &Options::default()).unwrap();
    assert_eq!(log.opened().entries, 51);
}

#[test]
fn an_id_is_never_given_twice() {
    let directory = tempfile::tempdir().unwrap();
    let short = options(|options| options.retention.interval = Duration::from_millis(1));
    let log = CallLog::open(directory.path(), &short).unwrap();
    write(&log, (0..10).map(old));
    wait_until("deleting", || log.status().deleted == 10);
    drop(log);
    let log = CallLog::open(directory.path(), &short).unwrap();
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
