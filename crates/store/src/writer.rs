//! The writer thread: the only one that modifies the log.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use gateway_privacy::Counts;

use crate::{
    backend::Backend,
    queue::{Queue, Queued, Stopping, Work},
    record::CallRecord,
    redact::{Cleaner, PersonalData},
    share::Shares,
    status::Shared,
};

/// Everything the writer thread owns.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) queue: Arc<Queue>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) cleaner: Cleaner,
    pub(crate) backend: Box<dyn Backend>,
}

/// The target of events for auditors.
pub const AUDIT: &str = "gateway_audit";

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl Writer {
    /// Writes until the queue is stopped.
    pub(crate) fn run(mut self) {
        let _guard = Guard { queue: Arc::clone(&self.queue), shared: Arc::clone(&self.shared) };
        loop {
            match self.queue.next(self.backend.sweep_due()) {
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
            let found = self.cleaner.clean(record, *shortened);
            if !found.is_empty() {
                self.report(record, found);
            }
        }
        let (_, bytes) = shares.total();
        let mut pause = FIRST_PAUSE;
        let mut last_try = Stopping::No;
        let last_id = loop {
            let start = Instant::now();
            let error = match self.backend.write(&batch) {
                Ok(last_id) => break last_id,
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
        };
        if self.shared.record_success() {
            tracing::info!("Call log is written again.");
        }
        self.shared.set_last_id(last_id);
        self.queue.written(&shares);
        self.shared.notify_listeners(last_id);
        self.backend.record_growth(bytes);
        Stopping::No
    }

    /// Reports personal data in a record: which kinds, never what.
    fn report(&self, record: &CallRecord, found: Counts) {
        let mode = self.cleaner.personal_data().map_or("mask", PersonalData::mode_name);
        for (kind, count) in found.iter() {
            tracing::warn!(
                target: AUDIT, face = "log", part = "calls", mode, kind = kind.name(), count, caller = record.caller.as_deref(),
                correlation_id = &*record.correlation_id, server = &*record.server, tool = &*record.tool,
                "Personal data found."
            );
        }
        self.shared.record_personal_data(found);
    }

    fn sweep(&mut self) {
        match self.backend.sweep() {
            Ok(None) => {}
            Ok(Some(swept)) => self.shared.record_sweep(swept.deleted, swept.bytes),
            Err(error) => tracing::warn!(%error, "Old entries of the call log could not be deleted."),
        }
    }

    fn close(mut self) {
        if let Err(error) = self.backend.close() {
            self.shared.record_failure(&error);
            tracing::warn!(%error, "Call log was not closed cleanly.");
        }
    }
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
