//! Checkpoints: moving what is in the write-ahead log into the database file.
//!
//! A checkpoint waits for the disk, and while the writer waits, more entries would be lost if the process were
//! killed. So another thread runs it on its own connection, which does not block the writer. Only if the write-ahead
//! log is long does the writer finish the rest itself, which is little by then, so that the log can be reset.

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

/// Bytes written after which a checkpoint is worthwhile.
const CHECKPOINT_BYTES: usize = 4 << 20;
/// Frames (pages) of the write-ahead log after which the writer checkpoints too: 32 MiB.
const LONG_WAL_FRAMES: i64 = 8192;

/// The checkpointing thread, seen from the writer.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    request: Option<SyncSender<()>>,
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
        let (request, requests) = sync_channel::<()>(1);
        let frames = Arc::new(AtomicI64::new(0));
        let seen = Arc::clone(&frames);
        let work = move || {
            while requests.recv().is_ok() {
                match checkpoint(&connection, "PASSIVE") {
                    Ok(length) => seen.store(length, Ordering::Relaxed),
                    Err(error) => tracing::warn!(%error, "Checkpoint of the call log failed."),
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("call-log-disk".to_owned())
            .spawn(work)
            .map_err(|cause| StoreError::Directory { path: path.to_owned(), cause })?;
        Ok(Self { request: Some(request), frames, thread: Some(thread), growth: 0 })
    }

    /// Notes that a batch was written; requests a checkpoint now and then.
    pub(crate) fn record_growth(&mut self, bytes: usize, writer: &Connection) {
        self.growth += bytes;
        if self.growth < CHECKPOINT_BYTES {
            return;
        }
        self.growth = 0;
        if self.frames.swap(0, Ordering::Relaxed) > LONG_WAL_FRAMES {
            if let Err(error) = checkpoint(writer, "PASSIVE") {
                tracing::warn!(%error, "Checkpoint of the call log failed.");
            }
        } else if let Some(request) = &self.request {
            // A full channel means that a checkpoint is already requested.
            let _ = request.try_send(());
        }
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

/// Runs a checkpoint; returns the number of frames in the write-ahead log.
pub(crate) fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<i64> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| row.get(1))
}
