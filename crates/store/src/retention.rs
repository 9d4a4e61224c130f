//! Retention: entries that are too old or too many are deleted in small steps between batches.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::clock::Clock;

/// How long and how much is kept.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Retention {
    /// Entries of calls that started longer ago are deleted (default: 30 days).
    pub max_age: Option<Duration>,
    /// When the database is larger, the oldest entries are deleted (default: 1 GiB).
    pub max_bytes: Option<u64>,
    /// How often to check (default: once a minute); the size is also checked as it grows.
    pub interval: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            max_age: Some(Duration::from_hours(30 * 24)),
            max_bytes: Some(1 << 30),
            interval: Duration::from_mins(1),
        }
    }
}

/// The outcome of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Swept {
    pub(crate) deleted: usize,
    /// Whether there is more to do.
    pub(crate) more: bool,
    /// The size of the database, without its free pages.
    pub(crate) bytes: u64,
}

/// Knows when to sweep.
#[derive(Debug)]
pub(crate) struct Janitor {
    policy: Retention,
    pub(crate) due: Instant,
    /// Bytes written since the last check.
    growth: u64,
    clock: Clock,
}

impl Janitor {
    pub(crate) fn new(policy: Retention) -> Self {
        let now = Instant::now();
        Self { policy, due: now, growth: 0, clock: Clock::new(now) }
    }

    /// Notes that the database has grown.
    pub(crate) fn record_growth(&mut self, bytes: usize) {
        self.growth = self.growth.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if self.policy.max_bytes.is_some_and(|max| self.growth > max / 64) {
            self.due = Instant::now();
        }
    }

    /// Runs one step if it is due.
    pub(crate) fn step(&mut self, connection: &Connection) -> rusqlite::Result<Option<Swept>> {
        self.step_at(connection, Timestamp::now(), Instant::now())
    }

    fn step_at(
        &mut self,
        connection: &Connection,
        clock: Timestamp,
        now: Instant,
    ) -> rusqlite::Result<Option<Swept>> {
        if now < self.due {
            return Ok(None);
        }
        // Set first, so that an error is not retried at once.
        self.due = now + self.policy.interval;
        self.growth = 0;
        let time = self.clock.time(connection, clock.as_microsecond(), now)?;
        let swept = sweep(connection, &self.policy, time)?;
        if swept.more {
            self.due = now;
        }
        Ok(Some(swept))
    }
}

/// Rows deleted, or pages freed, in one step: a few milliseconds.
const STEP: i64 = 512;
/// Free pages that are not worth a vacuum.
const SPARE_PAGES: i64 = 1024;

fn sweep(connection: &Connection, policy: &Retention, now: i64) -> rusqlite::Result<Swept> {
    let cutoff = policy.max_age.and_then(|age| {
        let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
        now.checked_sub(age)
    });
    if let Some(cutoff) = cutoff
        && let Some(deleted) = delete_older(connection, cutoff)?
    {
        return Ok(Swept { deleted, more: true, bytes: Pages::of(connection)?.live_bytes() });
    }
    let pages = Pages::of(connection)?;
    if policy.max_bytes.is_some_and(|max| pages.live_bytes() > max) {
        let deleted = delete_oldest(connection)?;
        // A database whose tables alone are over the limit has nothing more to delete.
        return Ok(Swept { deleted, more: deleted > 0, bytes: pages.live_bytes() });
    }
    let more = pages.free > SPARE_PAGES.max(pages.all / 8);
    if more {
        let mut vacuum = connection.prepare("PRAGMA incremental_vacuum(512)")?;
        let mut rows = vacuum.query([])?;
        while rows.next()?.is_some() {}
    }
    Ok(Swept { deleted: 0, more, bytes: pages.live_bytes() })
}

/// Deletes entries of one block that started before `cutoff`; `None` if no block has any.
fn delete_older(connection: &Connection, cutoff: i64) -> rusqlite::Result<Option<usize>> {
    let sql = "SELECT first, last FROM blocks WHERE oldest < ? ORDER BY first LIMIT 1";
    let block: Option<(i64, i64)> =
        connection.query_row(sql, [cutoff], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((first, last)) = block else { return Ok(None) };
    let transaction = connection.unchecked_transaction()?;
    let deleted = transaction.execute(
        "DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE id BETWEEN ? AND ? AND started < ? LIMIT ?)",
        params![first, last, cutoff, STEP],
    )?;
    // The real minimum, not the cutoff: the cutoff advances, and the block would be due again at once.
    transaction.execute(
        "UPDATE blocks SET entries = max(0, entries - ?1), oldest = \
         (SELECT coalesce(min(started), ?2) FROM calls WHERE id BETWEEN ?3 AND ?4) WHERE first = ?3",
        params![i64::try_from(deleted).unwrap_or(i64::MAX), i64::MAX, first, last],
    )?;
    drop_empty_blocks(&transaction)?;
    transaction.commit()?;
    Ok(Some(deleted))
}

/// Deletes the entries with the smallest ids.
fn delete_oldest(connection: &Connection) -> rusqlite::Result<usize> {
    let transaction = connection.unchecked_transaction()?;
    let first: Option<i64> = transaction.query_row("SELECT min(id) FROM calls", [], |row| row.get(0))?;
    let Some(first) = first else { return Ok(0) };
    let end = first + STEP;
    let deleted = transaction.execute("DELETE FROM calls WHERE id < ?", [end])?;
    transaction.execute(
        "UPDATE blocks SET entries = (SELECT count(*) FROM calls WHERE id BETWEEN blocks.first AND blocks.last) WHERE first < ?",
        [end],
    )?;
    drop_empty_blocks(&transaction)?;
    transaction.commit()?;
    Ok(deleted)
}

/// The newest block stays even if it is empty, because the next id is taken from it.
fn drop_empty_blocks(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .execute("DELETE FROM blocks WHERE entries = 0 AND first < (SELECT max(first) FROM blocks)", [])?;
    Ok(())
}

struct Pages {
    all: i64,
    free: i64,
    size: i64,
}

impl Pages {
    fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let read = |name| connection.pragma_query_value(None, name, |row| row.get(0));
        Ok(Self { all: read("page_count")?, free: read("freelist_count")?, size: read("page_size")? })
    }

    fn live_bytes(&self) -> u64 {
        u64::try_from((self.all - self.free) * self.size).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallLog, Filter, Options, testing::record};

    const DAY: Duration = Duration::from_hours(24);

    /// A log of calls that began on the third of November, and what is left of it after each step.
    #[track_caller]
    fn check(steps: &[(&str, u32, usize)]) {
        let mut options = Options::default();
        options.retention.max_age = None;
        let log = CallLog::in_memory(&options).unwrap();
        for _ in 0..20 {
            log.try_reserve().unwrap().record(record("demo", "add"));
        }
        log.flush(DAY).unwrap();
        // The log's own sweep runs first, with the clock of this machine.
        while log.status().database_bytes == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let began = record("demo", "add").timestamp.as_microsecond();
        crate::schema::set_state(&log.connection.lock().unwrap(), "clock", began).unwrap();
        let mut janitor = Janitor::new(Retention::default());
        let start = Instant::now();
        for (clock, hours, left) in steps {
            let connection = log.connection.lock().unwrap();
            let now = start + Duration::from_hours(u64::from(*hours));
            while janitor
                .step_at(&connection, clock.parse().unwrap(), now)
                .unwrap()
                .is_some_and(|swept| swept.more)
            {}
            drop(connection);
            assert_eq!(
                log.query(&Filter::default()).unwrap().entries.len(),
                *left,
                "{clock} after {hours} h"
            );
        }
    }

    #[test]
    fn a_clock_that_is_ahead_at_the_start_deletes_nothing() {
        check(&[
            ("2026-12-13T10:00:00Z", 0, 20),
            ("2026-12-13T15:00:00Z", 5, 20),
            ("2026-11-03T16:00:00Z", 6, 20),
        ]);
    }

    #[test]
    fn a_clock_that_jumps_ahead_while_running_deletes_nothing() {
        check(&[
            ("2026-11-03T11:00:00Z", 1, 20),
            ("2027-11-03T11:00:00Z", 2, 20),
            ("2027-11-03T20:00:00Z", 11, 20),
        ]);
    }

    #[test]
    fn a_clock_that_stays_ahead_for_a_day_is_believed() {
        check(&[
            ("2026-12-13T10:00:00Z", 0, 20),
            ("2026-12-14T09:00:00Z", 23, 20),
            ("2026-12-14T11:00:00Z", 25, 0),
        ]);
    }

    #[test]
    fn time_that_passes_deletes() {
        check(&[
            ("2026-11-04T10:00:00Z", 24, 20),
            ("2026-12-02T10:00:00Z", 29 * 24, 20),
            ("2026-12-04T10:00:00Z", 31 * 24, 0),
        ]);
    }

    #[test]
    fn a_new_start_does_not_believe_a_wrong_clock() {
        let connection = schema_of_memory();
        let start = Instant::now();
        let hour = Duration::from_hours(1);
        crate::schema::set_state(&connection, "clock", 0).unwrap();
        let mut first = Clock::new(start);
        assert_eq!(first.time(&connection, 0, start).unwrap(), 0);
        let far = 40 * 24 * 3600 * 1_000_000;
        assert_eq!(first.time(&connection, far, start + hour).unwrap(), 3_600_000_000);
        let mut second = Clock::new(start + hour);
        assert_eq!(second.time(&connection, far, start + hour).unwrap(), 3_600_000_000);
    }

    #[test]
    fn a_clock_that_is_ahead_is_remembered_at_once() {
        let connection = schema_of_memory();
        let start = Instant::now();
        let minutes = |count: u64| Duration::from_mins(count);
        let far = 40 * 24 * 3600 * 1_000_000;
        let kept = || {
            let state = |name| crate::schema::state(&connection, name).unwrap();
            (state("clock"), state("clock_ahead"))
        };
        crate::schema::set_state(&connection, "clock", 0).unwrap();
        let mut first = Clock::new(start);
        first.time(&connection, 0, start).unwrap();
        first.time(&connection, far, start + minutes(1)).unwrap();
        first.time(&connection, far, start + minutes(4)).unwrap();
        assert_eq!(kept(), (Some(240_000_000), Some(240_000_000)));
        // The next run continues counting, and resets it when the clock is right again.
        let mut second = Clock::new(start);
        second.time(&connection, far, start + minutes(2)).unwrap();
        assert_eq!(kept(), (Some(360_000_000), Some(360_000_000)));
        second.time(&connection, 400_000_000, start + minutes(3)).unwrap();
        assert_eq!(kept(), (Some(400_000_000), Some(0)));
    }

    fn schema_of_memory() -> Connection {
        crate::schema::open(None).unwrap().connection
    }
}
