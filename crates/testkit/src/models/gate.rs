//! Gates: what holds an answer back until a test lets it go.

use tokio_util::sync::CancellationToken;

/// Closed until somebody opens it, then open for good. Clones are the same gate.
#[derive(Clone, Debug, Default)]
pub struct Gate(CancellationToken);

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets everybody through, now and later.
    pub fn open(&self) {
        self.0.cancel();
    }

    /// Waits until it is open.
    pub async fn opened(&self) {
        self.0.cancelled().await;
    }
}

/// Where in an answer a gate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the status line.
    Headers,
    /// Before this event, line or body, counted from 0.
    Chunk(usize),
    /// After everything was written, before the end of the body.
    End,
}
