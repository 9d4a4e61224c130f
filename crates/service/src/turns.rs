//! Whose turn it is to translate what a request brought.

use std::sync::Arc;

use http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::errors::ApiError;

/// Requests at once that translate what they bring; each has a thread of its own.
const AT_ONCE: u32 = 2;

/// A longer body has all threads to itself: what the work on it holds grows with it, to over 100 MB.
const LONG: usize = 128 << 10;

/// Requests that wait for their turn, with their bodies.
const WAITING: usize = 64;

/// Whose turn it is.
#[derive(Debug)]
pub(crate) struct Turns {
    room: Arc<Semaphore>,
    waiting: Semaphore,
}

impl Default for Turns {
    fn default() -> Self {
        Self { room: Arc::new(Semaphore::new(AT_ONCE as usize)), waiting: Semaphore::new(WAITING) }
    }
}

impl Turns {
    /// Waits for a turn for a body of so many bytes, unless too many wait already.
    pub(crate) async fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, ApiError> {
        let busy = || {
            let message = "too many requests that translate tools wait already";
            ApiError::overloaded(StatusCode::SERVICE_UNAVAILABLE, message, 1)
        };
        let _waiting = self.waiting.try_acquire().map_err(|_| busy())?;
        let threads = if bytes > LONG { AT_ONCE } else { 1 };
        Arc::clone(&self.room).acquire_many_owned(threads).await.map_err(|_| busy())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::{LONG, Turns};

    #[tokio::test]
    async fn a_long_body_has_all_threads_to_itself() {
        let turns = Turns::default();
        let short = turns.take(LONG).await.unwrap();
        let second = turns.take(1).now_or_never().expect("two short bodies at once").unwrap();
        assert!(turns.take(1).now_or_never().is_none());
        drop(second);
        assert!(turns.take(LONG + 1).now_or_never().is_none(), "beside a short one");
        drop(short);
        let long = turns.take(LONG + 1).now_or_never().expect("nothing else is at work").unwrap();
        assert!(turns.take(1).now_or_never().is_none(), "beside a long one");
        drop(long);
        assert!(turns.take(1).now_or_never().is_some());
    }
}
