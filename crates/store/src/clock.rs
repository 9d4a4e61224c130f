//! A clock for retention that tolerates a wrong system clock.
//!
//! A clock that jumps ahead would make everything look old. So the time that ages are counted from advances with
//! the gateway's uptime, and follows the system clock if that is at most a day ahead. A clock that is further ahead is
//! trusted once the gateway has run for a day since: a machine that was off for a month deletes old entries only then.

use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _};

use crate::schema::{set_state, state};

/// How far ahead the system clock may be, and how long it must stay ahead to be trusted.
const MAX_AHEAD: i64 = 24 * 60 * 60 * 1_000_000;
/// How often the time is persisted.
const PERSIST_INTERVAL: i64 = 10 * 60 * 1_000_000;

/// The time that ages are counted from, in microseconds.
#[derive(Debug)]
pub(crate) struct Clock {
    last_seen: Instant,
    /// `None` until it is read from the database.
    trusted: Option<i64>,
    /// How long the system clock has been too far ahead.
    ahead: i64,
    persisted: i64,
}

impl Clock {
    pub(crate) fn new(start: Instant) -> Self {
        Self { last_seen: start, trusted: None, ahead: 0, persisted: i64::MIN }
    }

    /// The current time if the system clock says `now`.
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
                Some(persisted) => persisted,
                None => newest(connection)?.unwrap_or(now),
            }
        };
        let elapsed = micros(instant.saturating_duration_since(self.last_seen));
        self.last_seen = instant;
        let expected = before.saturating_add(elapsed);
        let is_ahead = now > expected.saturating_add(MAX_AHEAD);
        let was_ahead = self.ahead > 0;
        self.ahead = if is_ahead { self.ahead.saturating_add(elapsed) } else { 0 };
        let trusted = if is_ahead && self.ahead < MAX_AHEAD { expected } else { now };
        if trusted == now {
            self.ahead = 0;
        }
        self.trusted = Some(trusted);
        // Persisted at once while it is ahead, so that the time adds up over several short runs.
        let is_due = trusted.saturating_sub(self.persisted).saturating_abs() >= PERSIST_INTERVAL;
        if is_due || is_ahead || was_ahead {
            set_state(connection, "clock", trusted)?;
            set_state(connection, "clock_ahead", self.ahead)?;
            self.persisted = trusted;
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
