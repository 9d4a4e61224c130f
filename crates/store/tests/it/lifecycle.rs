use std::time::Duration;

use gateway_store::{CallLog, FILE_NAME, Filter, LogReader, Options, PreviousRun, StoreError};

use crate::{LONG, ids, places::Place, record, reserve, write};

#[test]
fn a_closed_log_opens_with_everything_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/data");
    let log = CallLog::open(&path, &Options::default()).unwrap();
    assert_eq!((log.opened().previous, log.opened().entries, log.last_id()), (PreviousRun::None, 0, 0));
    for second in 0..2100 {
        reserve(&log).record(record(second));
    }
    log.close(LONG).unwrap();
    log.close(LONG).unwrap();
    assert!(log.try_reserve().is_none());
    assert_eq!(ids(&log, &Filter::default()).len(), 100, "a closed log can still be read");
    drop(log);

    let log = CallLog::open(&path, &Options::default()).unwrap();
    let opened = log.opened();
    assert_eq!((opened.previous, opened.entries, opened.last_id), (PreviousRun::Closed, 2100, 2100));
    assert!(opened.notices().is_empty());
    assert_eq!(opened.path.as_deref(), Some(&*path.join(FILE_NAME)));
    write(&log, [record(0)]);
    assert_eq!(log.last_id(), 2101);
}

pub(crate) fn dropping_the_log_writes_queued_entries(place: &Place) {
    let options = {
        let mut options = Options::default();
        options.commit_interval = Duration::from_hours(1);
        options
    };
    let log = place.open(&options);
    log.try_reserve().unwrap().record(record(1));
    drop(log);
    let reader = place.reader();
    assert_eq!(reader.query(&Filter::default()).unwrap().entries.len(), 1);
}

pub(crate) fn closing_waits_for_a_call_that_still_runs(place: &Place) {
    let log = place.open(&Options::default());
    let permit = log.try_reserve().unwrap();
    std::thread::scope(|scope| {
        let closing = scope.spawn(|| log.close(LONG));
        crate::wait_until("closing", || log.try_reserve().is_none());
        permit.record(record(1));
        closing.join().unwrap().unwrap();
    });
    assert_eq!(ids(&log, &Filter::default()), [1]);
}

#[test]
fn two_processes_cannot_write_one_log_but_others_can_read_it() {
    let directory = tempfile::tempdir().unwrap();
    assert!(LogReader::open(directory.path()).is_err(), "there is nothing to read yet");
    let log = CallLog::open(directory.path(), &Options::default()).unwrap();
    let error = CallLog::open(directory.path(), &Options::default()).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error:?}");
    let reader = LogReader::open(directory.path()).unwrap();
    for second in 0..3 {
        write(&log, [record(second)]);
        assert_eq!(reader.query(&Filter::default()).unwrap().last_id, second + 1);
    }
    drop(log);
    assert_eq!(reader.query(&Filter::default()).unwrap().entries.len(), 3);
    CallLog::open(directory.path(), &Options::default()).unwrap();
}

#[test]
fn a_directory_without_a_log_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = CallLog::open(&file, &Options::default()).unwrap_err();
    assert!(matches!(error, StoreError::Directory { .. }), "{error:?}");
}

pub(crate) fn the_status_counts(place: &Place) {
    let log = place.open(&Options::default());
    write(&log, (0..5).map(record));
    let permit = log.try_reserve();
    let status = log.status();
    assert_eq!((status.queued, status.written, status.waiting, status.waiting_bytes), (5, 5, 0, 0));
    assert_eq!(status.running, 1);
    assert_eq!((status.failures, status.failing, status.last_error, status.last_id), (0, false, None, 5));
    drop(permit);
    assert_eq!(log.status().running, 0);
}
