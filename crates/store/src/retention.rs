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
    /// What the files of the log may take, the write-ahead log included; the oldest entries make room (default: 1 GiB).
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

impl Retention {
    /// What the write-ahead log may take of it: a quarter, within what is worthwhile.
    pub(crate) fn wal_bytes(&self) -> u64 {
        let quarter = self.max_bytes.map_or(LARGEST_WAL, |max| max / 4);
        quarter.clamp(SMALLEST_WAL, LARGEST_WAL)
    }

    /// What is left of it for the database.
    fn database_bytes(&self) -> Option<u64> {
        Some(self.max_bytes?.saturating_sub(self.wal_bytes()))
    }

    /// The most bytes of records in one write, so that a single batch does not exceed the rest by far.
    pub(crate) fn batch_bytes(&self) -> usize {
        usize::try_from(self.wal_bytes() / 4).unwrap_or(usize::MAX)
    }
}

const SMALLEST_WAL: u64 = 256 << 10;
const LARGEST_WAL: u64 = 32 << 20;

/// The outcome of one step of deleting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Swept {
    pub(crate) deleted: usize,
    /// Whether there is more to do.
    pub(crate) more: bool,
    /// What the entries that are left take.
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
        if self.policy.database_bytes().is_some_and(|max| self.growth > max / SLACK) {
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
/// Bytes deleted in one step; more than a batch brings, so that deleting keeps up.
const STEP_BYTES: u64 = 32 << 20;
/// Free pages that are not worth a vacuum.
const SPARE_PAGES: i64 = 1024;
/// The part of the limit by which the size may vary: room is made for so much at once, and looked for again after it.
const SLACK: u64 = 64;

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
    if let Some(max) = policy.database_bytes()
        && pages.live_bytes() > max
    {
        let excess = pages.live_bytes() - max + max / SLACK;
        let deleted = delete_oldest(connection, excess.min(STEP_BYTES))?;
        let bytes = Pages::of(connection)?.live_bytes();
        // A database whose tables alone are over the limit has nothing more to delete.
        return Ok(Swept { deleted, more: deleted > 0, bytes });
    }
    let more = pages.free > pages.spare(policy.database_bytes());
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

/// Deletes the entries with the smallest ids until they make up so many bytes.
fn delete_oldest(connection: &Connection, bytes: u64) -> rusqlite::Result<usize> {
    let transaction = connection.unchecked_transaction()?;
    let Some(end) = end_of_oldest(&transaction, bytes)? else { return Ok(0) };
    let deleted = transaction.execute("DELETE FROM calls WHERE id <= ?", [end])?;
    transaction.execute(
        "UPDATE blocks SET entries = (SELECT count(*) FROM calls WHERE id BETWEEN blocks.first AND blocks.last) WHERE first <= ?",
        [end],
    )?;
    drop_empty_blocks(&transaction)?;
    transaction.commit()?;
    Ok(deleted)
}

/// The last of the oldest entries that make up so many bytes; `None` if there is no entry.
fn end_of_oldest(connection: &Connection, bytes: u64) -> rusqlite::Result<Option<i64>> {
    // The length of a value is known without reading it, which counts with long ones.
    let mut select = connection.prepare(
        "SELECT id, octet_length(input) + coalesce(octet_length(result), 0) + coalesce(octet_length(error), 0) FROM calls \
         ORDER BY id LIMIT ?",
    )?;
    let mut rows = select.query([STEP])?;
    let mut end = None;
    let mut sum = 0;
    while sum < bytes
        && let Some(row) = rows.next()?
    {
        end = Some(row.get(0)?);
        sum += ROW_BYTES + u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default();
    }
    Ok(end)
}

/// What an entry takes beside its texts, estimated low: a step that deletes too little is followed by another.
const ROW_BYTES: u64 = 96;

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

    /// Free pages that are kept for the next entries: few where the limit is low, because they count too.
    fn spare(&self, max: Option<u64>) -> i64 {
        let usual = SPARE_PAGES.max(self.all / 8);
        let allowed = max.and_then(|max| i64::try_from(max / 16).ok()).map(|bytes| bytes / self.size.max(1));
        allowed.map_or(usual, |allowed| usual.min(allowed))
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
        crate::schema::set_state(&log.connection(), "clock", began).unwrap();
        let mut janitor = Janitor::new(Retention::default());
        let start = Instant::now();
        for (clock, hours, left) in steps {
            let connection = log.connection();
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
