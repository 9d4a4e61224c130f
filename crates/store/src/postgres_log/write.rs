//! Writing entries, and deleting old ones.

use sqlx::{Executor as _, Row as _, postgres::PgConnection};

use crate::{
    postgres::{Access, Postgres},
    queue::Queued,
    record::Outcome,
    retention::{Retention, Swept},
};

/// Each step migrates the schema from the version of its index to the next one. `gateway_log` has one row; who writes or deletes
/// locks it. `gateway_log_writers` has the last batch of each writer.
pub(super) const MIGRATIONS: &[&str] = &[r"
    CREATE TABLE gateway_calls (
        id bigint PRIMARY KEY,
        started bigint NOT NULL,
        duration bigint NOT NULL,
        failed boolean NOT NULL,
        server text NOT NULL,
        tool text NOT NULL,
        provider text,
        caller text,
        correlation text NOT NULL,
        transport text,
        code text,
        error text,
        input text NOT NULL,
        result text,
        ran_on text,
        bytes bigint NOT NULL
    );
    CREATE INDEX gateway_calls_by_start ON gateway_calls (started);
    CREATE INDEX gateway_calls_by_correlation ON gateway_calls USING hash (correlation);
    CREATE INDEX gateway_calls_by_caller ON gateway_calls (md5(caller), id);
    CREATE TABLE gateway_log (
        single boolean PRIMARY KEY DEFAULT true CHECK (single),
        last_id bigint NOT NULL,
        entries bigint NOT NULL,
        bytes bigint NOT NULL
    );
    INSERT INTO gateway_log (last_id, entries, bytes) VALUES (0, 0, 0);
    CREATE TABLE gateway_log_writers (writer text PRIMARY KEY, batch bigint NOT NULL, at timestamptz NOT NULL DEFAULT now());
"];

/// What the log holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) last_id: i64,
    pub(super) entries: i64,
}

pub(super) async fn state(server: &Postgres) -> Result<State, sqlx::Error> {
    let read = async |connection: &mut PgConnection| {
        let row = sqlx::query("SELECT last_id, entries FROM gateway_log").fetch_one(connection).await?;
        Ok(State { last_id: row.try_get(0)?, entries: row.try_get(1)? })
    };
    server.transaction(Access::Read, read).await
}

/// Entries of a batch, column by column.
#[derive(Debug, Default)]
pub(super) struct Rows {
    started: Vec<i64>,
    duration: Vec<i64>,
    failed: Vec<bool>,
    server: Vec<String>,
    tool: Vec<String>,
    provider: Vec<Option<String>>,
    caller: Vec<Option<String>>,
    correlation: Vec<String>,
    transport: Vec<Option<String>>,
    code: Vec<Option<String>>,
    error: Vec<Option<String>>,
    input: Vec<String>,
    result: Vec<Option<String>>,
    ran_on: Vec<Option<String>>,
    bytes: Vec<i64>,
}

/// What an entry takes beside its texts.
const ROW_BYTES: usize = 256;

impl Rows {
    pub(super) fn of(batch: &[Queued]) -> Self {
        let mut rows = Self::default();
        for Queued { record, .. } in batch {
            let (failed, code, error, result) = match &record.outcome {
                Outcome::Result(result) => (false, None, None, Some(result)),
                Outcome::Error { message, code, result } => {
                    (true, code.as_deref(), Some(&**message), result.as_ref())
                }
            };
            rows.started.push(record.timestamp.as_microsecond());
            rows.duration.push(i64::try_from(record.duration.as_micros()).unwrap_or(i64::MAX));
            rows.failed.push(failed);
            rows.server.push(plain(&record.server));
            rows.tool.push(plain(&record.tool));
            rows.provider.push(record.provider.as_deref().map(plain));
            rows.caller.push(record.caller.as_deref().map(plain));
            rows.correlation.push(plain(&record.correlation_id));
            rows.transport.push(record.transport.as_deref().map(plain));
            rows.code.push(code.map(plain));
            rows.error.push(error.map(plain));
            rows.input.push(json(&record.input));
            rows.result.push(result.map(|result| json(result)));
            rows.ran_on.push(record.ran_on.as_deref().map(plain));
            let names = record.server.len() + record.tool.len();
            rows.bytes.push(i64::try_from(ROW_BYTES + names + record.payload()).unwrap_or(i64::MAX));
        }
        rows
    }
}

/// A text without NUL, which PostgreSQL cannot keep. One entry with it would hold up all others for ever.
pub(super) fn plain(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// The cleaner's output is JSON, so it is always UTF-8, and has no NUL.
fn json(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
}

/// Writes a batch unless it is there already; returns the id of the newest entry of the log.
pub(super) async fn commit(
    server: &Postgres,
    writer: &str,
    number: i64,
    rows: Rows,
) -> Result<i64, sqlx::Error> {
    let write = async |connection: &mut PgConnection| {
        let count = i64::try_from(rows.started.len()).unwrap_or(i64::MAX);
        // Locks the only row until the end, so that ids become visible in their order.
        let last: i64 = sqlx::query("SELECT last_id FROM gateway_log FOR UPDATE")
            .fetch_one(&mut *connection)
            .await?
            .try_get(0)?;
        let is_new = sqlx::query(
            "INSERT INTO gateway_log_writers AS old (writer, batch) VALUES ($1, $2) ON CONFLICT (writer) DO UPDATE \
             SET batch = excluded.batch, at = now() WHERE old.batch < excluded.batch",
        )
        .bind(writer)
        .bind(number)
        .execute(&mut *connection)
        .await?
        .rows_affected()
            == 1;
        if !is_new {
            return Ok(last);
        }
        let bytes: i64 = rows.bytes.iter().fold(0, |sum: i64, bytes| sum.saturating_add(*bytes));
        insert(connection, last, rows).await?;
        sqlx::query(
            "UPDATE gateway_log SET last_id = last_id + $1, entries = entries + $1, bytes = bytes + $2",
        )
        .bind(count)
        .bind(bytes)
        .execute(&mut *connection)
        .await?;
        Ok(last + count)
    };
    server.transaction(Access::Write, write).await
}

async fn insert(connection: &mut PgConnection, last: i64, rows: Rows) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO gateway_calls (id, started, duration, failed, server, tool, provider, caller, correlation, transport, code, \
         error, input, result, ran_on, bytes) SELECT $1 + nth, started, duration, failed, server, tool, provider, caller, correlation, \
         transport, code, error, input, result, ran_on, bytes FROM unnest($2::bigint[], $3::bigint[], $4::boolean[], $5::text[], \
         $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], \
         $16::bigint[]) WITH ORDINALITY AS new (started, duration, failed, server, tool, provider, caller, correlation, transport, \
         code, error, input, result, ran_on, bytes, nth)",
    )
    .bind(last)
    .bind(rows.started)
    .bind(rows.duration)
    .bind(rows.failed)
    .bind(rows.server)
    .bind(rows.tool)
    .bind(rows.provider)
    .bind(rows.caller)
    .bind(rows.correlation)
    .bind(rows.transport)
    .bind(rows.code)
    .bind(rows.error)
    .bind(rows.input)
    .bind(rows.result)
    .bind(rows.ran_on)
    .bind(rows.bytes)
    .execute(connection)
    .await?;
    Ok(())
}

/// Entries deleted in one step.
const STEP: i64 = 512;
/// The part of the limit by which the size may vary.
const SLACK: u64 = 64;

/// One step of retention. Ages are counted by the server's clock, which all gateways share.
pub(super) async fn sweep(server: &Postgres, retention: &Retention) -> Result<Swept, sqlx::Error> {
    let work = async |connection: &mut PgConnection| {
        let row = sqlx::query(
            "SELECT bytes, (extract(epoch FROM now()) * 1000000)::bigint FROM gateway_log FOR UPDATE",
        )
        .fetch_one(&mut *connection)
        .await?;
        let (bytes, now): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        connection.execute("DELETE FROM gateway_log_writers WHERE at < now() - interval '7 days'").await?;
        let age = retention.max_age.map(|age| i64::try_from(age.as_micros()).unwrap_or(i64::MAX));
        if let Some(cutoff) = age.and_then(|age| now.checked_sub(age)) {
            let old = "SELECT id FROM gateway_calls WHERE started < $1 ORDER BY started LIMIT $2";
            let swept = delete(connection, old, cutoff, bytes).await?;
            if swept.deleted > 0 {
                return Ok(swept);
            }
        }
        let max = retention.max_bytes.unwrap_or(u64::MAX);
        let excess = u64::try_from(bytes).unwrap_or(0).saturating_sub(max);
        if excess == 0 {
            return Ok(Swept { deleted: 0, more: false, bytes: u64::try_from(bytes).unwrap_or(0) });
        }
        let excess = i64::try_from(excess + max / SLACK).unwrap_or(i64::MAX);
        let oldest = "SELECT id FROM (SELECT id, sum(bytes) OVER (ORDER BY id) - bytes AS before FROM \
                      (SELECT id, bytes FROM gateway_calls ORDER BY id LIMIT $2) AS first) AS summed WHERE before < $1";
        delete(connection, oldest, excess, bytes).await
    };
    server.transaction(Access::Write, work).await
}

/// Deletes the entries that a statement of ours selects with a bound and a number.
async fn delete(
    connection: &mut PgConnection,
    selected: &'static str,
    bound: i64,
    before: i64,
) -> Result<Swept, sqlx::Error> {
    let sql = format!(
        "WITH gone AS (DELETE FROM gateway_calls WHERE id IN ({selected}) RETURNING bytes) \
         SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM gone"
    );
    let row =
        sqlx::query(sqlx::AssertSqlSafe(sql)).bind(bound).bind(STEP).fetch_one(&mut *connection).await?;
    let (deleted, bytes): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    sqlx::query("UPDATE gateway_log SET entries = entries - $1, bytes = bytes - $2")
        .bind(deleted)
        .bind(bytes)
        .execute(connection)
        .await?;
    let left = u64::try_from(before.saturating_sub(bytes)).unwrap_or(0);
    Ok(Swept { deleted: usize::try_from(deleted).unwrap_or(0), more: deleted > 0, bytes: left })
}

/// Removes the name of a writer that has ended.
pub(super) async fn forget(server: &Postgres, writer: &str) -> Result<(), sqlx::Error> {
    let forget = async |connection: &mut PgConnection| {
        let sql = "DELETE FROM gateway_log_writers WHERE writer = $1";
        sqlx::query(sql).bind(writer).execute(connection).await?;
        Ok(())
    };
    server.transaction(Access::Write, forget).await
}
