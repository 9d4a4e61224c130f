//! The call log in PostgreSQL.
//!
//! Several gateways can write one log: ids are given under a lock on one row, in the order in which batches are committed, so that a
//! reader that follows by id misses nothing. A batch whose commit was not answered is written again only if it is not there.

mod read;
mod write;

use std::{
    fmt,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use crate::{
    address::Address,
    backend::{Backend, BackendError},
    error::StoreError,
    options::Options,
    postgres::{MigrateError, Postgres},
    query::{Filter, LogReader, Page, ReadLog},
    queue::Queued,
    retention::{Retention, Swept},
    schema::{Opened, PreviousRun},
};

/// A log in PostgreSQL, for readers.
pub(crate) struct PostgresLog {
    place: String,
    server: Arc<Postgres>,
    deadline: Duration,
    /// The log is not async: its callers wait while a thread of this runtime works. `None` when it is dropped.
    runtime: Option<tokio::runtime::Runtime>,
}

impl fmt::Debug for PostgresLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PostgresLog").field("place", &self.place).finish_non_exhaustive()
    }
}

/// A log in PostgreSQL, for the writer thread.
#[derive(Debug)]
pub(crate) struct PostgresWriter {
    log: Arc<PostgresLog>,
    retention: Retention,
    sweep_due: Instant,
    /// Names this writer among all that write the same log.
    writer: String,
    /// The number of the batch that is written next.
    batch: i64,
}

/// Connections of one gateway: its writer, and a few readers.
const CONNECTIONS: usize = 4;

/// No answer in time.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {0:?}")]
struct NoAnswer(Duration);

impl PostgresLog {
    /// A log that exists, for reading.
    pub(crate) fn connect(address: &Address, deadline: Duration) -> Result<Self, StoreError> {
        let place = address.to_string();
        let unusable =
            |cause: BackendError| StoreError::Server { address: place.clone(), attempt: "connecting", cause };
        let server = Postgres::new(address, CONNECTIONS, deadline).map_err(|cause| unusable(cause.into()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("call-log-server")
            .enable_all()
            .build()
            .map_err(|cause| unusable(cause.into()))?;
        Ok(Self { place, server: Arc::new(server), deadline, runtime: Some(runtime) })
    }

    /// Runs something on the runtime's thread and waits for it, wherever it is called.
    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, BackendError>> + Send + 'static,
    ) -> Result<T, BackendError> {
        let within = self.deadline;
        let (reply, answer) = mpsc::sync_channel(1);
        let runtime = self.runtime.as_ref().ok_or("the log is closed")?;
        let server = Arc::clone(&self.server);
        runtime.spawn(async move {
            let done = tokio::time::timeout(within, work).await;
            let done = done.unwrap_or_else(|_| {
                server.clear();
                Err(NoAnswer(within).into())
            });
            let _ = reply.send(done);
        });
        answer.recv()?
    }

    fn failed(&self, attempt: &'static str) -> impl FnOnce(BackendError) -> StoreError {
        let address = self.place.clone();
        move |cause| StoreError::Server { address, attempt, cause }
    }
}

impl ReadLog for PostgresLog {
    fn query(&self, filter: &Filter) -> Result<Page, StoreError> {
        let (server, filter) = (Arc::clone(&self.server), filter.clone());
        let read = async move { Ok(read::page(&server, &filter).await?) };
        self.wait(read).map_err(self.failed("reading entries"))
    }
}

impl LogReader {
    /// Opens the existing log of a PostgreSQL database for reading only.
    pub fn open_postgres(address: &Address) -> Result<Self, StoreError> {
        let log = PostgresLog::connect(address, Options::default().deadline)?;
        let server = Arc::clone(&log.server);
        log.wait(async move { Ok(write::state(&server).await?) })
            .map_err(log.failed("opening for reading"))?;
        Ok(Self::of_server(Arc::new(log)))
    }
}

impl Drop for PostgresLog {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Dropping it would wait, which is not allowed everywhere. Nothing is under way any more.
            runtime.shutdown_background();
        }
    }
}

impl PostgresWriter {
    /// Connects to a database, and creates the tables if there are none.
    pub(crate) fn open(address: &Address, options: &Options) -> Result<(Self, Opened), StoreError> {
        let log = PostgresLog::connect(address, options.deadline)?;
        let server = Arc::clone(&log.server);
        let set_up = async move {
            server.migrate("calls", write::MIGRATIONS).await?;
            Ok(write::state(&server).await?)
        };
        let state = log.wait(set_up).map_err(|cause| match cause.downcast_ref() {
            Some(MigrateError::Newer { found, known }) => {
                StoreError::Newer { path: log.place.clone().into(), found: *found, known: *known }
            }
            _ => log.failed("setting up")(cause),
        })?;
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|cause| log.failed("setting up")(cause.to_string().into()))?;
        let opened = Opened {
            path: None,
            // Others may be running: who did not close it cannot be known.
            previous: if state.last_id == 0 { PreviousRun::None } else { PreviousRun::Closed },
            entries: state.entries,
            last_id: state.last_id,
            moved_aside: None,
            warnings: Vec::new(),
        };
        let writer = uuid::Builder::from_random_bytes(random).into_uuid().to_string();
        let retention = options.retention.clone();
        Ok((Self { log: Arc::new(log), retention, sweep_due: Instant::now(), writer, batch: 1 }, opened))
    }

    pub(crate) fn log(&self) -> Arc<PostgresLog> {
        Arc::clone(&self.log)
    }
}

impl Backend for PostgresWriter {
    fn write(&mut self, batch: &[Queued]) -> Result<i64, BackendError> {
        let rows = write::Rows::of(batch);
        let (server, writer, number) = (Arc::clone(&self.log.server), self.writer.clone(), self.batch);
        let write = async move { Ok(write::commit(&server, &writer, number, rows).await?) };
        let last_id = self.log.wait(write)?;
        self.batch += 1;
        Ok(last_id)
    }

    fn record_growth(&mut self, _bytes: usize) {}

    fn sweep_due(&self) -> Instant {
        self.sweep_due
    }

    fn sweep(&mut self) -> Result<Option<Swept>, BackendError> {
        let now = Instant::now();
        if now < self.sweep_due {
            return Ok(None);
        }
        // Set first, so that an error is not retried at once.
        self.sweep_due = now + self.retention.interval;
        let (server, retention) = (Arc::clone(&self.log.server), self.retention.clone());
        let swept = self.log.wait(async move { Ok(write::sweep(&server, &retention).await?) })?;
        if swept.more {
            self.sweep_due = now;
        }
        Ok(Some(swept))
    }

    fn close(&mut self) -> Result<(), BackendError> {
        // Readers may go on; there is nothing of the writer left at the server but its name.
        let (server, writer) = (Arc::clone(&self.log.server), self.writer.clone());
        self.log.wait(async move { Ok(write::forget(&server, &writer).await?) })
    }
}
