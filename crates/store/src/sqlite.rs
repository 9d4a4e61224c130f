//! Entries in SQLite.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::{
    backend::{Backend, BackendError},
    block::Block,
    checkpoint::{Checkpointer, checkpoint},
    queue::Queued,
    record::Outcome,
    retention::{Janitor, Swept},
    schema::{self, Lock},
};

/// A log in an SQLite database.
#[derive(Debug)]
pub(crate) struct SqliteLog {
    /// In memory mode readers use the same connection; otherwise nobody else takes this lock.
    pub(crate) connection: Arc<Mutex<Connection>>,
    pub(crate) block: Block,
    pub(crate) janitor: Janitor,
    pub(crate) checkpointer: Option<Checkpointer>,
    pub(crate) lock: Option<Lock>,
}

impl SqliteLog {
    fn commit(&mut self, batch: &[Queued]) -> rusqlite::Result<()> {
        let connection = lock(&self.connection);
        // A copy: a failed transaction must not use up ids.
        let mut block = self.block.clone();
        let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)?;
        let mut insert = transaction.prepare(
            "INSERT INTO calls (id, started, duration, failed, server, tool, provider, caller, correlation, transport, \
             code, error, input, result, ran_on) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?;
        for Queued { record, .. } in batch {
            if let Some(next) = block.successor() {
                block.save(&transaction)?;
                block = next;
            }
            let (failed, code, error, result) = match &record.outcome {
                Outcome::Result(result) => (0, None, None, Some(result)),
                Outcome::Error { message, code, result } => {
                    (1, code.as_deref(), Some(message), result.as_ref())
                }
            };
            insert.execute(params![
                block.add(record),
                record.timestamp.as_microsecond(),
                i64::try_from(record.duration.as_micros()).unwrap_or(i64::MAX),
                failed,
                &*record.server,
                &*record.tool,
                record.provider.as_deref(),
                record.caller.as_deref(),
                &*record.correlation_id,
                record.transport.as_deref(),
                code,
                error.map(|message| &**message),
                text(&record.input),
                result.map(|result| text(result)),
                record.ran_on.as_deref(),
            ])?;
        }
        drop(insert);
        block.save(&transaction)?;
        transaction.commit()?;
        self.block = block;
        Ok(())
    }
}

impl Backend for SqliteLog {
    fn write(&mut self, batch: &[Queued]) -> Result<i64, BackendError> {
        self.commit(batch)?;
        Ok(self.block.last)
    }

    fn record_growth(&mut self, bytes: usize) {
        self.janitor.record_growth(bytes);
        if let Some(checkpointer) = &mut self.checkpointer {
            checkpointer.record_growth(bytes, &lock(&self.connection));
        }
    }

    fn sweep_due(&self) -> Instant {
        self.janitor.due
    }

    fn sweep(&mut self) -> Result<Option<Swept>, BackendError> {
        let connection = lock(&self.connection);
        let swept = self.janitor.step(&connection)?;
        if let Some(swept) = swept {
            // The sweep may have changed the newest block too.
            self.block = Block::current(&connection)?;
            // What was deleted went through the write-ahead log too.
            if let Some(checkpointer) = self.checkpointer.as_mut().filter(|_| swept.more) {
                checkpointer.record_growth(0, &connection);
            }
        }
        Ok(swept)
    }

    fn close(&mut self) -> Result<(), BackendError> {
        drop(self.checkpointer.take());
        let connection = lock(&self.connection);
        let closed = schema::mark_closed(&connection).and_then(|()| checkpoint(&connection, "TRUNCATE"));
        drop(self.lock.take());
        Ok(closed?)
    }
}

fn lock(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cleaner's output is JSON, so it is always UTF-8.
fn text(json: &[u8]) -> &str {
    std::str::from_utf8(json).unwrap_or("null")
}
