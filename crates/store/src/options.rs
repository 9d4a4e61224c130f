//! The settings of a log.

use std::time::Duration;

use crate::{
    redact::{Caps, Redaction},
    retention::Retention,
};

/// Settings of a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The most queued entries before callers are refused, at least one. It is also the most that `kill -9` can lose, besides the
    /// calls running at that moment (default: 900, so that with a hundred of those it stays within 1,000).
    pub queue_entries: usize,
    /// The most permits and entries together, which bounds concurrent calls (default: 16,384).
    pub max_outstanding: usize,
    /// The most queued bytes; permits issued before may exceed it (default: 64 MiB).
    pub queue_bytes: usize,
    /// The longest that an entry waits before it is written (default: 50 ms, half of the 100 ms that may be lost; the
    /// rest is for the write itself).
    pub commit_interval: Duration,
    /// The most entries per write, at least one (default: 250, which leaves room in the queue meanwhile).
    pub batch_entries: usize,
    /// Longer inputs are truncated (default: 64 KiB).
    pub max_input_bytes: usize,
    /// Longer results and error messages are truncated (default: 64 KiB).
    pub max_result_bytes: usize,
    /// How long a server may take for an operation, if the log is kept by one (default: 5 s).
    pub deadline: Duration,
    /// What is redacted before writing.
    pub redaction: Redaction,
    /// What is deleted later.
    pub retention: Retention,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            queue_entries: 900,
            max_outstanding: 16_384,
            queue_bytes: 64 << 20,
            commit_interval: Duration::from_millis(50),
            batch_entries: 250,
            max_input_bytes: 64 << 10,
            max_result_bytes: 64 << 10,
            deadline: Duration::from_secs(5),
            redaction: Redaction::default(),
            retention: Retention::default(),
        }
    }
}

impl Options {
    /// How much of a record is kept.
    pub(crate) fn caps(&self) -> Caps {
        Caps { input: self.max_input_bytes, result: self.max_result_bytes }
    }
}
