//! The writer thread: the only one that modifies the database.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::{
    block::Block,
    checkpoint::{Checkpointer, checkpoint},
    queue::{Queue, Queued, Stopping, Work},
    record::Outcome,
    redact::Cleaner,
    retention::Janitor,
    schema::{self, Lock},
    share::Shares,
    status::Shared,
};

/// Everything the writer thread owns.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) queue: Arc<Queue>,
    pub(crate) shared: Arc<Shared>,
    /// In memory mode readers use the same connection; otherwise nobody else takes this lock.
    pub(crate) connection: Arc<Mutex<Connection>>,
    pub(crate) block: Block,
    pub(crate) cleaner: Cleaner,
    pub(crate) janitor: Janitor,
    pub(crate) checkpointer: Option<Checkpointer>,
    pub(crate) lock: Option<Lock>,
}

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl Writer {
    /// Writes until the queue is stopped.
    pub(crate) fn run(mut self) {
        let _guard = Guard { queue: Arc::clone(&self.queue), shared: Arc::clone(&self.shared) };
        loop {
            match self.queue.next(self.janitor.due) {
                Work::Write(batch) => {
                    if self.write(batch) == Stopping::Yes {
                        return;
                    }
                    self.sweep();
                }
                Work::Idle => self.sweep(),
                Work::Stop => break,
            }
        }
        self.close();
    }

    /// Writes the batch, retrying until it succeeds. Gives up only if the queue is stopped.
    fn write(&mut self, mut batch: Vec<Queued>) -> Stopping {
        let mut shares = Shares::default();
        for Queued { record, shortened } in &mut batch {
            shares.add(&record.server, record.weight());
            self.cleaner.clean(record, *shortened);
        }
        let (_, bytes) = shares.total();
        let mut pause = FIRST_PAUSE;
        let mut last_try = Stopping::No;
        loop {
            let start = Instant::now();
            let error = match self.commit(&batch) {
                Ok(()) => break,
                Err(error) => error,
            };
            if self.shared.record_failure(&error) {
                tracing::error!(%error, "Call log cannot be written; entries are kept and retried.");
            }
            if last_try == Stopping::Yes {
                // Whoever closes the log reports how many entries are lost: there may be more than this batch.
                return Stopping::Yes;
            }
            last_try = self.queue.back_off(pause.saturating_sub(start.elapsed()));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        if self.shared.record_success() {
            tracing::info!("Call log is written again.");
        }
        self.shared.set_last_id(self.block.last);
        self.queue.written(&shares);
        self.shared.notify_listeners(self.block.last);
        self.janitor.record_growth(bytes);
        if let Some(checkpointer) = &mut self.checkpointer {
            checkpointer
                .record_growth(bytes, &self.connection.lock().unwrap_or_else(PoisonError::into_inner));
        }
        Stopping::No
    }

    fn commit(&mut self, batch: &[Queued]) -> rusqlite::Result<()> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
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

    fn sweep(&mut self) {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let swept = self.janitor.step(&connection).and_then(|swept| {
            if swept.is_some() {
                // The sweep may have changed the newest block too.
                self.block = Block::current(&connection)?;
            }
            Ok(swept)
        });
        match swept {
            Ok(None) => {}
            Ok(Some(swept)) => {
                self.shared.record_sweep(swept.deleted, swept.bytes);
                // What was deleted went through the write-ahead log too.
                if let Some(checkpointer) = self.checkpointer.as_mut().filter(|_| swept.more) {
                    checkpointer.record_growth(0, &connection);
                }
            }
            Err(error) => tracing::warn!(%error, "Old entries of the call log could not be deleted."),
        }
    }

    fn close(mut self) {
        drop(self.checkpointer.take());
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) =
            schema::mark_closed(&connection).and_then(|()| checkpoint(&connection, "TRUNCATE"))
        {
            self.shared.record_failure(&error);
            tracing::warn!(%error, "Call log was not closed cleanly.");
        }
        drop(self.lock.take());
    }
}

/// The cleaner's output is JSON, so it is always UTF-8.
fn text(json: &[u8]) -> &str {
    std::str::from_utf8(json).unwrap_or("null")
}

/// Refuses new entries once the writer has ended for any reason: nobody would write them.
struct Guard {
    queue: Arc<Queue>,
    shared: Arc<Shared>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.queue.stop();
        if std::thread::panicking() {
            self.shared.record_failure(&"the writer thread panicked");
        }
    }
}
