//! Each server's share of the queue.

use std::sync::Arc;

/// The queued entries of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) entries: usize,
    pub(crate) bytes: usize,
}

/// The servers with queued entries. They are few, so a linear search is enough.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares(Vec<(Arc<str>, Share)>);

impl Shares {
    pub(crate) fn of(&self, server: &str) -> Share {
        self.0.iter().find(|(name, _)| **name == *server).map(|(_, share)| *share).unwrap_or_default()
    }

    pub(crate) fn add(&mut self, server: &Arc<str>, bytes: usize) {
        if let Some((_, share)) = self.0.iter_mut().find(|(name, _)| name == server) {
            share.entries += 1;
            share.bytes += bytes;
        } else {
            self.0.push((Arc::clone(server), Share { entries: 1, bytes }));
        }
    }

    /// Subtracts what was written. Servers with nothing left are removed, because callers can invent names.
    pub(crate) fn subtract(&mut self, written: &Self) {
        self.0.retain_mut(|(name, share)| {
            let written = written.of(name);
            share.entries = share.entries.saturating_sub(written.entries);
            share.bytes = share.bytes.saturating_sub(written.bytes);
            share.entries > 0
        });
    }

    /// Total entries and bytes.
    pub(crate) fn total(&self) -> (usize, usize) {
        self.0
            .iter()
            .fold((0, 0), |(entries, bytes), (_, share)| (entries + share.entries, bytes + share.bytes))
    }
}
