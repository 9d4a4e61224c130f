//! Where the writer thread keeps entries.

use std::{error::Error, fmt, time::Instant};

use crate::{queue::Queued, retention::Swept};

/// Why entries could not be written or deleted.
pub(crate) type BackendError = Box<dyn Error + Send + Sync>;

/// A place for entries, used by the writer thread only. Every operation ends by itself, however the place behaves.
pub(crate) trait Backend: fmt::Debug + Send {
    /// Writes a batch of redacted entries, wholly or not at all; returns the id of the newest. A batch that failed is given again,
    /// unchanged, until it is written.
    fn write(&mut self, batch: &[Queued]) -> Result<i64, BackendError>;

    /// Notes that so many bytes of records were written.
    fn record_growth(&mut self, bytes: usize);

    /// When old entries should be looked for.
    fn sweep_due(&self) -> Instant;

    /// Deletes some of the entries that are too old or too many, if that is due.
    fn sweep(&mut self) -> Result<Option<Swept>, BackendError>;

    /// Closes the place. Nothing is written afterwards.
    fn close(&mut self) -> Result<(), BackendError>;
}
