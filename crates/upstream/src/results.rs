//! How many bytes of results are held for callers.
//!
//! A result lives from the moment in which it is read until its last reader has dropped it. Long ones are counted as long, over
//! all servers: the count travels with the bytes themselves, so that nobody can forget to give it back. Short ones are free.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::timeout;

/// What results may take at once, unless somebody says otherwise.
pub const RESULT_BYTES: usize = 128 << 20;

/// Shorter results are not counted.
pub const FREE_BYTES: usize = 64 << 10;

/// What is read is held as the server sent it, and once more as the caller gets it.
const COPIES: usize = 2;

/// How long a result waits for room.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// The bytes that all results may take at once. Clones share them.
#[derive(Clone, Debug)]
pub struct ResultBudget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    by_holder: HashMap<Arc<str>, usize>,
}

impl Default for ResultBudget {
    fn default() -> Self {
        Self::new(RESULT_BYTES)
    }
}

impl ResultBudget {
    /// A budget of `most` bytes. One holder, which is a server or a caller, may use half of it.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Shared { most, state: Mutex::default(), freed: Notify::new() }))
    }

    /// Bytes that one holder may use.
    pub fn share(&self) -> usize {
        self.0.most / 2
    }

    /// Bytes that are in use.
    pub fn used(&self) -> usize {
        self.lock().used
    }

    /// Nothing yet, for one holder.
    pub fn reservation(&self, holder: impl Into<Arc<str>>) -> Reservation {
        Reservation { budget: self.clone(), holder: holder.into(), bytes: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that are in use until this is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: ResultBudget,
    holder: Arc<str>,
    bytes: usize,
}

impl Reservation {
    /// Uses `bytes` in all, if there is room.
    pub fn try_grow(&mut self, bytes: usize) -> bool {
        self.set(bytes, Room::IfFree)
    }

    /// Uses `bytes` in all, whether or not there is room: they are there already.
    pub fn force(&mut self, bytes: usize) {
        self.set(bytes, Room::Anyway);
    }

    /// Uses `bytes` in all as soon as there is room; tells whether there was in time. Cancel-safe.
    pub async fn grow(&mut self, bytes: usize) -> bool {
        if bytes > self.budget.share() {
            return false;
        }
        let budget = self.budget.clone();
        let growing = async {
            loop {
                let freed = budget.0.freed.notified();
                if self.try_grow(bytes) {
                    return;
                }
                freed.await;
            }
        };
        timeout(PATIENCE, growing).await.is_ok()
    }

    /// Waits until there may be room for `bytes` in all.
    pub(crate) async fn room_for(&self, bytes: usize) {
        // Made before the look, so that what is given back in between is noticed.
        let freed = self.budget.0.freed.notified();
        if !self.fits(&self.budget.lock(), bytes) {
            freed.await;
        }
    }

    /// Gives the bytes back when `text` is dropped, with all that shares its memory.
    pub fn attach(self, text: Bytes) -> Bytes {
        Bytes::from_owner(Counted { text, _reservation: self })
    }

    fn fits(&self, state: &State, bytes: usize) -> bool {
        let (used, own) = self.after(state, bytes);
        bytes <= self.bytes || (used <= self.budget.0.most && own <= self.budget.share())
    }

    /// What would be in use in all, and by this holder.
    fn after(&self, state: &State, bytes: usize) -> (usize, usize) {
        let own = state.by_holder.get(&self.holder).copied().unwrap_or_default();
        (state.used.saturating_sub(self.bytes) + bytes, own.saturating_sub(self.bytes) + bytes)
    }

    fn set(&mut self, bytes: usize, room: Room) -> bool {
        let mut state = self.budget.lock();
        if room == Room::IfFree && !self.fits(&state, bytes) {
            return false;
        }
        let (used, own) = self.after(&state, bytes);
        state.used = used;
        if own == 0 {
            state.by_holder.remove(&self.holder);
        } else {
            state.by_holder.insert(Arc::clone(&self.holder), own);
        }
        drop(state);
        let shrinks = bytes < self.bytes;
        self.bytes = bytes;
        if shrinks {
            self.budget.0.freed.notify_waiters();
        }
        true
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.set(0, Room::Anyway);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    IfFree,
    Anyway,
}

/// A text that is counted as long as it lives.
struct Counted {
    text: Bytes,
    _reservation: Reservation,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

/// The side of one server: what it sends is counted for it.
#[derive(Clone, Debug)]
pub(crate) struct ServerResults {
    budget: ResultBudget,
    holder: Arc<str>,
}

impl ServerResults {
    pub(crate) fn new(budget: ResultBudget, server: &str) -> Self {
        Self { budget, holder: format!("server {server}").into() }
    }

    /// Nothing yet.
    pub(crate) fn reservation(&self) -> Reservation {
        self.budget.reservation(Arc::clone(&self.holder))
    }

    /// The bound that a result breaks for which there is no room.
    pub(crate) fn limit(&self) -> usize {
        self.budget.0.most
    }

    /// Counts a whole text, whose room was reserved while it was read.
    pub(crate) fn count(&self, text: Bytes, reserved: Option<Reservation>) -> Bytes {
        if text.len() <= FREE_BYTES {
            return text;
        }
        let mut reservation = reserved.unwrap_or_else(|| self.reservation());
        reservation.force(text.len().saturating_mul(COPIES));
        reservation.attach(text)
    }
}

/// What has to be reserved before a message is read on of which `held` bytes are there; `None` where it is short. The buffer
/// doubles, so the room does.
pub(crate) fn needed(held: usize, limit: usize) -> Option<usize> {
    (held > FREE_BYTES)
        .then(|| held.saturating_add(1).next_power_of_two().min(limit.max(held)).saturating_mul(COPIES))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn bytes_are_given_back_with_the_last_part_of_a_text() {
        let budget = ResultBudget::new(1 << 20);
        let results = ServerResults::new(budget.clone(), "a");
        let text = results.count(vec![b'x'; 100_000].into(), None);
        assert_eq!(budget.used(), 200_000);
        let part = text.slice(10..20);
        drop(text);
        assert_eq!(budget.used(), 200_000, "a part holds all of it");
        drop(part);
        assert_eq!((budget.used(), budget.lock().by_holder.len()), (0, 0));
        let short = results.count(vec![b'x'; 1_000].into(), None);
        assert_eq!((budget.used(), short.len()), (0, 1_000), "short ones are free");
    }

    #[test]
    fn one_holder_gets_half() {
        let budget = ResultBudget::new(1_000);
        let (mut greedy, mut other) = (budget.reservation("a"), budget.reservation("b"));
        assert!(greedy.try_grow(500) && !greedy.try_grow(501));
        let mut again = budget.reservation("a");
        assert!(!again.try_grow(1), "all of one holder share");
        assert!(other.try_grow(500) && !budget.reservation("c").try_grow(1));
        drop(greedy);
        assert!(again.try_grow(500));
    }

    #[tokio::test(start_paused = true)]
    async fn a_result_waits_for_room_but_not_for_ever() {
        let budget = ResultBudget::new(1_000);
        let (mut first, mut second) = (budget.reservation("a"), budget.reservation("a"));
        assert!(first.grow(500).await);
        {
            let mut waiting = Box::pin(second.grow(300));
            assert!((&mut waiting).now_or_never().is_none());
            first.force(100);
            assert!(waiting.await, "there is room now");
        }
        assert!(!second.grow(450).await, "nothing is given back in time");
        assert!(!second.grow(501).await, "there can never be room");
        assert_eq!(budget.used(), 400, "a failure takes nothing");
    }
}
