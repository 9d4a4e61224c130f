//! The call log in PostgreSQL: what only a server can do to it.

use std::time::Duration;

use gateway_store::{Address, CallLog, Filter, LogReader, Options, StoreError};

use crate::services::{Server, execute, new_database};
use crate::{LONG, filter, ids, record, wait_until, write};

fn address() -> Address {
    Address::postgres(&new_database()).unwrap()
}

#[test]
#[ignore = "needs scripts/services"]
fn a_server_that_stalls_or_stops_costs_nothing_but_time() {
    let mut server = Server::start("postgres");
    let mut options = Options::default();
    options.queue_entries = 10;
    options.deadline = Duration::from_millis(500);
    let address = Address::postgres(&server.url).unwrap();
    // Its deadline is short, and this machine may be slow.
    let log = (0..100).find_map(|_| CallLog::open_postgres(&address, &options).ok()).unwrap();
    write(&log, [record(0)]);
    let mut accepted = 1;
    for (order, end) in [("pause", "resume"), ("stop", "start")] {
        server.order(order);
        // It takes what the queue can hold, and then refuses.
        while let Some(permit) = log.try_reserve() {
            permit.record(record(accepted));
            accepted += 1;
        }
        wait_until("failing", || log.status().failing);
        assert!(log.try_reserve().is_none());
        let error = log.query(&Filter::default()).unwrap_err();
        assert!(matches!(error, StoreError::Server { .. }), "{error:?}");
        let unwritten = log.flush(Duration::from_millis(1)).unwrap_err();
        assert!(matches!(unwritten, StoreError::Unwritten { entries: 10, reason: Some(_) }), "{unwritten:?}");
        let told = format!("{error} {error:?} {unwritten} {:?} {log:?}", log.status());
        assert!(!told.contains("secret"), "{told}");
        server.order(end);
        log.flush(LONG).unwrap();
        assert!(!log.status().failing);
    }
    assert_eq!(accepted, 21);
    // Every entry is there once, in order: what may have been committed before an error is not written again.
    let page = log.query(&filter(|f| f.after = Some(0))).unwrap();
    let found: Vec<_> = page.entries.iter().map(|entry| (entry.id, &*entry.call.correlation_id)).collect();
    let expected: Vec<_> = (0..21).map(|number| (number + 1, format!("c-{number}"))).collect();
    assert_eq!(found, expected.iter().map(|(id, text)| (*id, &**text)).collect::<Vec<_>>());
    log.close(LONG).unwrap();
}

#[test]
#[ignore = "needs scripts/services"]
fn several_gateways_write_one_log_and_a_follower_misses_nothing() {
    let address = address();
    let logs: Vec<CallLog> =
        (0..3).map(|_| CallLog::open_postgres(&address, &Options::default()).unwrap()).collect();
    let reader = LogReader::open_postgres(&address).unwrap();
    let mut found = Vec::new();
    std::thread::scope(|scope| {
        for log in &logs {
            scope.spawn(|| write(log, (0..1000).map(record)));
        }
        let mut request = filter(|f| (f.after, f.limit) = (Some(0), 500));
        while found.len() < 3000 {
            let page = reader.query(&request).unwrap();
            found.extend(page.entries.iter().map(|entry| entry.id));
            request.after = Some(page.next_after(&request));
        }
    });
    assert_eq!(found, (1..=3000).collect::<Vec<_>>());
    let again = CallLog::open_postgres(&address, &Options::default()).unwrap();
    assert_eq!((again.opened().entries, again.opened().last_id, again.last_id()), (3000, 3000, 3000));
}

#[tokio::test]
#[ignore = "needs scripts/services"]
async fn it_can_be_used_and_dropped_inside_a_runtime() {
    let log = CallLog::open_postgres(&address(), &Options::default()).unwrap();
    write(&log, [record(1)]);
    assert_eq!(ids(&log, &Filter::default()), [1]);
    drop(log);
}

#[test]
#[ignore = "needs scripts/services"]
fn a_log_that_is_not_there_or_newer_is_refused() {
    let url = new_database();
    let address = Address::postgres(&url).unwrap();
    let error = LogReader::open_postgres(&address).unwrap_err();
    assert!(matches!(error, StoreError::Server { attempt: "opening for reading", .. }), "{error:?}");
    drop(CallLog::open_postgres(&address, &Options::default()).unwrap());
    execute(&url, "UPDATE gateway_schema SET version = 99 WHERE component = 'calls'");
    let error = CallLog::open_postgres(&address, &Options::default()).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, known: 1, .. }), "{error:?}");
    let wrong = Address::postgres(&url.replace("pg%40s%2Fsecret", "hunter2")).unwrap();
    let error = CallLog::open_postgres(&wrong, &Options::default()).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
}

#[test]
fn a_server_that_is_not_there_is_an_error_at_the_start() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = Address::postgres(&format!("postgres://me:hunter2@127.0.0.1:{port}/x")).unwrap();
    let error = CallLog::open_postgres(&address, &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), format!("call log in `postgres://127.0.0.1:{port}/x`, setting up"));
}
