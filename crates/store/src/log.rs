//! The public interface of the log.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

#[cfg(test)]
use rusqlite::Connection;

use crate::{
    address::Address,
    backend::Backend,
    checkpoint::Checkpointer,
    error::StoreError,
    options::Options,
    postgres_log::PostgresWriter,
    query::{Filter, LogReader, Page},
    queue::{Permit, Queue},
    redact::Cleaner,
    retention::Janitor,
    schema::{self, Database, Opened},
    sqlite::SqliteLog,
    status::{Shared, Status, Subscription},
    writer::Writer,
};

/// The call log. Dropping it closes it.
#[derive(Debug)]
pub struct CallLog {
    queue: Arc<Queue>,
    shared: Arc<Shared>,
    reader: LogReader,
    opened: Opened,
    writer: Mutex<Option<JoinHandle<()>>>,
    #[cfg(test)]
    connection: Option<Arc<Mutex<Connection>>>,
}

/// What a log is made of, wherever it is kept.
struct Parts {
    reader: LogReader,
    opened: Opened,
    backend: Box<dyn Backend>,
    #[cfg(test)]
    connection: Option<Arc<Mutex<Connection>>>,
}

/// How long a dropped log tries to write queued entries.
const CLOSE_ON_DROP: Duration = Duration::from_secs(5);

impl CallLog {
    /// Opens the log in a data directory, creating both if needed. Only one process can have it open.
    pub fn open(directory: &Path, options: &Options) -> Result<Self, StoreError> {
        Self::start(Some(directory), options)
    }

    /// A log in memory, discarded when it is dropped.
    pub fn in_memory(options: &Options) -> Result<Self, StoreError> {
        Self::start(None, options)
    }

    /// Opens the log in a PostgreSQL database, creating its tables if needed. Several gateways can write it; [`CallLog::last_id`]
    /// and [`CallLog::on_write`] know the entries of this one. If the database cannot be reached later, entries wait in the queue.
    pub fn open_postgres(address: &Address, options: &Options) -> Result<Self, StoreError> {
        let cleaner = Cleaner::new(&options.redaction, options.caps())?;
        let (backend, opened) = PostgresWriter::open(address, options)?;
        let reader = LogReader::of_server(backend.log());
        let parts = Parts {
            reader,
            opened,
            backend: Box::new(backend),
            #[cfg(test)]
            connection: None,
        };
        Self::run(parts, cleaner, options)
    }

    fn start(directory: Option<&Path>, options: &Options) -> Result<Self, StoreError> {
        let cleaner = Cleaner::new(&options.redaction, options.caps())?;
        let Database { connection, block, opened, lock } = schema::open(directory)?;
        let wal_bytes = options.retention.wal_bytes();
        let checkpointer =
            opened.path.as_deref().map(|path| Checkpointer::start(path, wal_bytes)).transpose()?;
        let connection = Arc::new(Mutex::new(connection));
        let reader = match &opened.path {
            Some(path) => LogReader::of_file(path.clone()),
            None => LogReader::of_memory(Arc::clone(&connection)),
        };
        let backend = SqliteLog {
            connection: Arc::clone(&connection),
            block,
            janitor: Janitor::new(options.retention.clone()),
            checkpointer,
            lock,
        };
        let parts = Parts {
            reader,
            opened,
            backend: Box::new(backend),
            #[cfg(test)]
            connection: Some(connection),
        };
        Self::run(parts, cleaner, options)
    }

    /// Starts the writer thread.
    fn run(parts: Parts, cleaner: Cleaner, options: &Options) -> Result<Self, StoreError> {
        let queue = Arc::new(Queue::new(options.clone()));
        let shared = Arc::new(Shared::default());
        shared.set_last_id(parts.opened.last_id);
        let writer = Writer {
            queue: Arc::clone(&queue),
            shared: Arc::clone(&shared),
            cleaner,
            backend: parts.backend,
        };
        let path = parts.opened.path.clone().unwrap_or_default();
        let thread = std::thread::Builder::new()
            .name("call-log".to_owned())
            .spawn(move || writer.run())
            .map_err(|cause| StoreError::Directory { path, cause })?;
        Ok(Self {
            queue,
            shared,
            reader: parts.reader,
            opened: parts.opened,
            writer: Mutex::new(Some(thread)),
            #[cfg(test)]
            connection: parts.connection,
        })
    }

    /// What was found when the log was opened.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Reserves room for one record before the call, so that its entry cannot be lost; `None` if the queue is full or the
    /// log is closed. Every written batch frees room, so async code can wait for [`CallLog::on_write`] and retry before
    /// it rejects a caller.
    pub fn try_reserve(&self) -> Option<Permit> {
        self.queue.try_reserve()
    }

    /// Whether this server may make one more call: a server whose entries take as much of the queue as is free has to
    /// wait, so that the calls of others do not. Check it after reserving room, once the server is known.
    pub fn has_share(&self, server: &str) -> bool {
        self.queue.has_share(server)
    }

    /// Waits until everything recorded before is written.
    pub fn flush(&self, within: Duration) -> Result<(), StoreError> {
        self.unwritten(self.queue.flush(Instant::now() + within))
    }

    /// Accepts no more records, waits for outstanding permits, writes everything and closes the file.
    pub fn close(&self, within: Duration) -> Result<(), StoreError> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            self.queue.drain(Instant::now() + within);
            self.queue.stop();
            // A panic of the writer is already in the status.
            let _ = writer.join();
        }
        self.unwritten(self.queue.depth().outstanding)
    }

    /// Reads the matching entries. It blocks on the disk: in async code run it where blocking is allowed.
    pub fn query(&self, filter: &Filter) -> Result<Page, StoreError> {
        self.reader.query(filter)
    }

    /// The id of the newest readable entry.
    pub fn last_id(&self) -> i64 {
        self.shared.last_id()
    }

    /// Calls `listener` with the newest id after every batch, on the writer's thread: it must return quickly and only
    /// wake a task, which then reads with [`Filter::after`].
    pub fn on_write(&self, listener: impl Fn(i64) + Send + Sync + 'static) -> Subscription {
        self.shared.listen(Arc::new(listener))
    }

    /// The state of the log.
    pub fn status(&self) -> Status {
        let depth = self.queue.depth();
        Status {
            queued: depth.queued,
            written: depth.written,
            waiting: depth.unwritten,
            running: depth.outstanding.saturating_sub(depth.unwritten),
            waiting_bytes: depth.bytes,
            capacity: self.queue.options.queue_entries,
            ..self.shared.health()
        }
    }

    /// The connection of a log in SQLite.
    #[cfg(test)]
    pub(crate) fn connection(&self) -> std::sync::MutexGuard<'_, Connection> {
        self.connection.as_ref().unwrap().lock().unwrap()
    }

    fn unwritten(&self, entries: usize) -> Result<(), StoreError> {
        if entries == 0 {
            return Ok(());
        }
        let health = self.shared.health();
        Err(StoreError::Unwritten { entries, reason: health.last_error.filter(|_| health.failing) })
    }
}

impl Drop for CallLog {
    fn drop(&mut self) {
        if let Err(error) = self.close(CLOSE_ON_DROP) {
            tracing::error!(%error, "Call log was not closed cleanly.");
        }
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
