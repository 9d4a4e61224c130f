//! Connections to PostgreSQL: made when they are needed, a bounded number, and never used again after a fault.
//!
//! Not the pool of the library: that one spawns tasks of its own, and waits for connections that stalled.

use std::{
    fmt,
    str::FromStr as _,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Row as _,
    postgres::{PgConnectOptions, PgConnection},
};
use tokio::sync::Semaphore;

use crate::address::Address;

/// A server with its connections.
pub(crate) struct Postgres {
    options: PgConnectOptions,
    /// What the server itself allows a statement.
    deadline: Duration,
    permits: Semaphore,
    idle: Mutex<Vec<PgConnection>>,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Postgres").field("host", &self.options.get_host()).finish_non_exhaustive()
    }
}

/// What a transaction does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access {
    /// It only reads, all of it as of one moment.
    Read,
    Write,
}

/// Why the tables could not be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MigrateError {
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error("schema version {found} is newer than {known}")]
    Newer { found: i64, known: i64 },
}

/// Gateways that start at once set up the tables one after the other, under this lock.
const SETUP_LOCK: i64 = 0x6d63_7074_6f6f_6c67;

/// Parameters of an address that the library knows; the others it would log, with their values.
const PARAMETERS: [&str; 18] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

const UNREADABLE: &str = "a part of the address cannot be read; check its port and the values of its parameters, such as `sslmode`";

/// Refuses parameters that are not known, by their names.
fn check_parameters(address: &Address) -> Result<(), sqlx::Error> {
    let is_known = |name: &str| {
        PARAMETERS.contains(&name) || name.strip_prefix("options[").is_some_and(|rest| rest.ends_with(']'))
    };
    let mut names = address.url().query_pairs().map(|(name, _)| name);
    let Some(unknown) = names.find(|name| !is_known(name)) else { return Ok(()) };
    let shown: String = unknown.chars().take(64).collect();
    let text = format!("unknown parameter `{shown}` of the address; known are {}", PARAMETERS.join(", "));
    Err(sqlx::Error::Configuration(text.into()))
}

impl Postgres {
    pub(crate) fn new(
        address: &Address,
        connections: usize,
        deadline: Duration,
    ) -> Result<Self, sqlx::Error> {
        check_parameters(address)?;
        // The library's own words repeat the value, and somebody may have put a secret into the wrong place.
        let unreadable = |_| sqlx::Error::Configuration(UNREADABLE.into());
        let options = PgConnectOptions::from_str(address.url().as_str())
            .map_err(unreadable)?
            .application_name("mcp-tool-gateway")
            .disable_statement_logging();
        let permits = Semaphore::new(connections.clamp(1, Semaphore::MAX_PERMITS));
        Ok(Self { options, deadline, permits, idle: Mutex::default() })
    }

    /// Does some work in one transaction, and commits it if it succeeds. If the future is dropped, the connection is closed.
    pub(crate) async fn transaction<T, E: From<sqlx::Error>>(
        &self,
        access: Access,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, E>,
    ) -> Result<T, E> {
        let _permit = self.permits.acquire().await.map_err(|_| sqlx::Error::PoolClosed)?;
        let mut connection = self.begin(access).await?;
        let answer = work(&mut connection).await;
        let end = if answer.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = connection.execute(end).await;
        if ended.is_ok() {
            self.idle().push(connection);
        } else {
            self.clear();
        }
        let answer = answer?;
        ended?;
        Ok(answer)
    }

    /// Closes the connections that nobody uses.
    pub(crate) fn clear(&self) {
        self.idle().clear();
    }

    /// Brings the tables of a component up to date: each step migrates from the version of its index to the next one.
    pub(crate) async fn migrate(
        &self,
        component: &'static str,
        steps: &'static [&'static str],
    ) -> Result<(), MigrateError> {
        let known = i64::try_from(steps.len()).unwrap_or(i64::MAX);
        self.transaction(Access::Write, async |connection: &mut PgConnection| {
            sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(SETUP_LOCK).execute(&mut *connection).await?;
            let versions = "CREATE TABLE IF NOT EXISTS gateway_schema (component text PRIMARY KEY, version bigint NOT NULL)";
            connection.execute(versions).await?;
            let found = sqlx::query("SELECT version FROM gateway_schema WHERE component = $1")
                .bind(component)
                .fetch_optional(&mut *connection)
                .await?;
            let found: i64 = found.map(|row| row.try_get(0)).transpose()?.unwrap_or(0);
            let done = usize::try_from(found).ok().filter(|_| found <= known);
            let done = done.ok_or(MigrateError::Newer { found, known })?;
            for step in steps.iter().skip(done) {
                sqlx::raw_sql(*step).execute(&mut *connection).await?;
            }
            sqlx::query(
                "INSERT INTO gateway_schema (component, version) VALUES ($1, $2) \
                 ON CONFLICT (component) DO UPDATE SET version = excluded.version",
            )
            .bind(component)
            .bind(known)
            .execute(&mut *connection)
            .await?;
            Ok(())
        })
        .await
    }

    /// A connection with a transaction. Connections that were closed meanwhile are noticed by that, before anything is done.
    async fn begin(&self, access: Access) -> Result<PgConnection, sqlx::Error> {
        let begin = match access {
            Access::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
            Access::Write => "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE",
        };
        loop {
            let Some(mut connection) = self.idle().pop() else { break };
            if connection.execute(begin).await.is_ok() {
                return Ok(connection);
            }
        }
        let mut connection = PgConnection::connect_with(&self.options).await?;
        // So that a statement of somebody who has given up ends too.
        let timeout = format!("SET statement_timeout = {}", self.deadline.as_millis().max(1));
        connection.execute(AssertSqlSafe(timeout)).await?;
        connection.execute(begin).await?;
        Ok(connection)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<PgConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
