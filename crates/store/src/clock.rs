//! A clock for retention that a wrong time of the system does not mislead.
//!
//! A clock that jumps ahead would make everything look old. So the time that ages are counted from goes on with the time
//! that the gateway runs, and follows the system's clock where that is at most a day ahead. Where it is further ahead,
//! it is followed when the gateway has run for a day since: a machine that was off for a month deletes what is too old then.

use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _};

use crate::schema::{set_state, state};

/// How far the system's clock may be ahead, and how long it must stay ahead to be believed.
const PATIENCE: i64 = 24 * 60 * 60 * 1_000_000;
/// How often the time is kept on disk.
const KEPT: i64 = 10 * 60 * 1_000_000;

/// The time that ages are counted from, in microseconds.
#[derive(Debug)]
pub(crate) struct Clock {
    seen: Instant,
    /// Nothing until it is read from the database.
    trusted: Option<i64>,
    /// How long the system's clock has been too far ahead.
    ahead: i64,
    kept: i64,
}

impl Clock {
    pub(crate) fn new(start: Instant) -> Self {
        Self { seen: start, trusted: None, ahead: 0, kept: i64::MIN }
    }

    /// The time now, where the system's clock says `now`.
    pub(crate) fn time(
        &mut self,
        connection: &Connection,
        now: i64,
        instant: Instant,
    ) -> rusqlite::Result<i64> {
        let before = if let Some(trusted) = self.trusted {
            trusted
        } else {
            self.ahead = state(connection, "clock_ahead")?.unwrap_or(0);
            match state(connection, "clock")? {
                Some(kept) => kept,
                None => newest(connection)?.unwrap_or(now),
            }
        };
        let elapsed = micros(instant.saturating_duration_since(self.seen));
        self.seen = instant;
        let expected = before.saturating_add(elapsed);
        let is_ahead = now > expected.saturating_add(PATIENCE);
        let was_ahead = self.ahead > 0;
        self.ahead = if is_ahead { self.ahead.saturating_add(elapsed) } else { 0 };
        let trusted = if is_ahead && self.ahead < PATIENCE { expected } else { now };
        if trusted == now {
            self.ahead = 0;
        }
        self.trusted = Some(trusted);
        // How long it is ahead is kept at once: it adds up over starts that are close to each other.
        let is_due = trusted.saturating_sub(self.kept).saturating_abs() >= KEPT;
        if is_due || is_ahead || was_ahead {
            set_state(connection, "clock", trusted)?;
            set_state(connection, "clock_ahead", self.ahead)?;
            self.kept = trusted;
        }
        Ok(trusted)
    }
}

/// When the newest call started.
fn newest(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT newest FROM blocks WHERE entries > 0 ORDER BY first DESC LIMIT 1";
    connection.query_row(sql, [], |row| row.get(0)).optional()
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
