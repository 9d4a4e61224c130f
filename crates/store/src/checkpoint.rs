//! Checkpoints: moving what is in the write-ahead log into the database file.
//!
//! A checkpoint waits for the disk, and while the writer waits, more entries would be lost if the process were
//! killed. So another thread does it with a connection of its own, which does not stop the writer. Only when the
//! write-ahead log is long does the writer do the rest itself, which is then little, so that the log can start anew.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use rusqlite::Connection;

use crate::error::StoreError;

/// Bytes handed to the database after which a checkpoint is worth while.
const WORTH_BYTES: usize = 4 << 20;
/// Frames (pages) of the write-ahead log after which the writer helps: 32 MiB.
const LONG_LOG: i64 = 8192;

/// The checkpointing thread, seen from the writer.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    ask: Option<SyncSender<()>>,
    frames: Arc<AtomicI64>,
    thread: Option<JoinHandle<()>>,
    growth: usize,
}

impl Checkpointer {
    pub(crate) fn start(path: &Path) -> Result<Self, StoreError> {
        let setup = StoreError::database("opening for checkpoints");
        let connection = Connection::open(path)
            .and_then(|connection| connection.busy_timeout(Duration::from_secs(5)).map(|()| connection))
            .map_err(setup)?;
        let (ask, asked) = sync_channel::<()>(1);
        let frames = Arc::new(AtomicI64::new(0));
        let seen = Arc::clone(&frames);
        let work = move || {
            while asked.recv().is_ok() {
                match checkpoint(&connection, "PASSIVE") {
                    Ok(length) => seen.store(length, Ordering::Relaxed),
                    Err(error) => tracing::warn!(%error, "Checkpoint of the call log did not succeed."),
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("call-log-disk".to_owned())
            .spawn(work)
            .map_err(|cause| StoreError::Directory { path: path.to_owned(), cause })?;
        Ok(Self { ask: Some(ask), frames, thread: Some(thread), growth: 0 })
    }

    /// Notes that a batch was written; asks for a checkpoint now and then.
    pub(crate) fn grew(&mut self, bytes: usize, writer: &Connection) {
        self.growth += bytes;
        if self.growth < WORTH_BYTES {
            return;
        }
        self.growth = 0;
        if self.frames.swap(0, Ordering::Relaxed) > LONG_LOG {
            if let Err(error) = checkpoint(writer, "PASSIVE") {
                tracing::warn!(%error, "Checkpoint of the call log did not succeed.");
            }
        } else if let Some(ask) = &self.ask {
            // When one is already asked for, that one will do.
            let _ = ask.try_send(());
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        drop(self.ask.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs a checkpoint; gives how many frames the write-ahead log had.
pub(crate) fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<i64> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| row.get(1))
}
