//! Checkpoints: moving what is in the write-ahead log into the database file.
//!
//! A checkpoint waits for the disk, and while the writer waits, more entries would be lost if the process were
//! killed. So another thread runs it on its own connection, which does not block the writer. Only if the write-ahead
//! log is long does the writer finish the rest itself, which is little by then, and cuts the file.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use rusqlite::{Connection, ErrorCode};

use crate::{error::StoreError, files, schema::BUSY_TIMEOUT};

/// Bytes of records after which a checkpoint is worthwhile.
const CHECKPOINT_BYTES: u64 = 4 << 20;

/// The checkpointing thread, seen from the writer.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    request: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Held during a checkpoint: SQLite refuses a second one instead of waiting.
    running: Arc<Mutex<()>>,
    wal: PathBuf,
    /// What the write-ahead log may take.
    most: u64,
    growth: u64,
}

impl Checkpointer {
    pub(crate) fn start(path: &Path, most: u64) -> Result<Self, StoreError> {
        let setup = StoreError::database("opening for checkpoints");
        let connection = Connection::open(path)
            .and_then(|connection| connection.busy_timeout(BUSY_TIMEOUT).map(|()| connection))
            .map_err(setup)?;
        let (request, requests) = sync_channel::<()>(1);
        let running = Arc::new(Mutex::new(()));
        let in_thread = Arc::clone(&running);
        let work = move || {
            while requests.recv().is_ok() {
                let _running = in_thread.lock().unwrap_or_else(PoisonError::into_inner);
                if let Err(error) = checkpoint(&connection, "PASSIVE") {
                    tracing::warn!(%error, "Checkpoint of the call log failed.");
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("call-log-disk".to_owned())
            .spawn(work)
            .map_err(|cause| StoreError::Directory { path: path.to_owned(), cause })?;
        let wal = files::with_suffix(path, "-wal");
        Ok(Self { request: Some(request), thread: Some(thread), running, wal, most, growth: 0 })
    }

    /// Notes that a batch was written or entries were deleted; checkpoints now and then.
    pub(crate) fn record_growth(&mut self, bytes: usize, writer: &Connection) {
        self.growth = self.growth.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if std::fs::metadata(&self.wal).is_ok_and(|file| file.len() > self.most) {
            self.growth = 0;
            let _running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = truncate(writer) {
                tracing::warn!(%error, "Checkpoint of the call log failed.");
            }
        } else if self.growth >= CHECKPOINT_BYTES.min(self.most / 4)
            && let Some(request) = &self.request
        {
            self.growth = 0;
            // A full channel means that a checkpoint is already requested.
            let _ = request.try_send(());
        }
    }
}

/// How long the writer waits for readers before it cuts the write-ahead log.
const PATIENCE: Duration = Duration::from_millis(50);

/// Checkpoints everything and cuts the write-ahead log, unless somebody reads: the next batch tries again then.
fn truncate(writer: &Connection) -> rusqlite::Result<()> {
    writer.busy_timeout(PATIENCE)?;
    let done = checkpoint(writer, "TRUNCATE");
    writer.busy_timeout(BUSY_TIMEOUT)?;
    match done {
        Err(error) if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        drop(self.request.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs a checkpoint.
pub(crate) fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<()> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()))
}
