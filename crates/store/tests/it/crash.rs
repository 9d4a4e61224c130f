//! `kill -9` under load.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use gateway_store::{CallLog, Options, PreviousRun};

use crate::{LONG, filter, record};

const DIRECTORY: &str = "GATEWAY_STORE_CRASH_DIRECTORY";
const MAY_BE_LOST: Duration = Duration::from_millis(100);

/// Not a test by itself: the process that is killed.
#[test]
fn child_that_records_until_it_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let log = CallLog::open(Path::new(&directory), &Options::default()).unwrap();
    let mut out = std::io::stdout();
    for number in log.last_id().. {
        crate::reserve(&log).record(record(number));
        writeln!(out, "recorded {number}").unwrap();
    }
}

/// Runs the child until it has recorded enough, kills it, and returns the time of each of its records.
fn run_and_kill(directory: &Path) -> (Vec<(i64, Instant)>, Instant) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["crash::child_that_records_until_it_is_killed", "--exact", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut known = Vec::new();
    for line in lines.by_ref() {
        let line = line.unwrap();
        let Some(number) = line.strip_prefix("recorded ") else { continue };
        known.push((number.parse().unwrap(), Instant::now()));
        let first = known.first().map(|(_, at)| *at).unwrap();
        if known.len() >= 3000 && first.elapsed() >= 3 * MAY_BE_LOST {
            break;
        }
    }
    // On Unix this is SIGKILL. The pipe stays open until then, so that the child does not exit by itself.
    let killed = Instant::now();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(lines);
    (known, killed)
}

#[test]
fn a_killed_process_loses_at_most_the_last_moment() {
    let directory = tempfile::tempdir().unwrap();
    let mut total = 0;
    for round in 0..5 {
        let (known, killed) = run_and_kill(directory.path());
        let log = CallLog::open(directory.path(), &Options::default()).unwrap();
        assert_eq!(log.opened().previous, PreviousRun::Unclean, "round {round}");
        assert!(log.opened().notices().iter().any(|notice| notice.contains("may be missing")));
        let page = log
            .query(&filter(|f| (f.after, f.limit, f.max_bytes) = (Some(total), usize::MAX, usize::MAX)))
            .unwrap();
        let numbers: Vec<String> =
            page.entries.iter().map(|entry| entry.call.correlation_id.to_string()).collect();
        let expected: Vec<String> = (total..log.last_id()).map(|number| format!("c-{number}")).collect();
        assert_eq!(numbers, expected, "round {round}: entries are whole, in order, without a gap");
        let missing: Vec<_> = known.iter().filter(|(number, _)| *number >= log.last_id()).collect();
        let old = missing.iter().filter(|(_, at)| killed - *at > MAY_BE_LOST).count();
        assert!(
            missing.len() <= 1000 || old == 0,
            "round {round}: {} of {} missing, {old} of them older than {MAY_BE_LOST:?}",
            missing.len(),
            known.len()
        );
        assert!(log.last_id() > total, "round {round}: something was written");
        total = log.last_id();
        log.close(LONG).unwrap();
    }
}
