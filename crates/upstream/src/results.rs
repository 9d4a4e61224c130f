//! How many bytes of results are held for callers.
//!
//! A result lives from the moment in which it is read until its last reader has dropped it. Long ones are counted as long, over
//! all servers: the count travels with the bytes themselves, so that nobody can forget to give it back. Short ones are free.
//! What a server sent is counted for the server, the answer that is made of it for the caller.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::timeout;

/// What results may take at once, unless somebody says otherwise.
pub const RESULT_BYTES: usize = 128 << 20;

/// Shorter results are not counted.
pub const FREE_BYTES: usize = 64 << 10;

/// A long message that is being read reserves room in steps of so many bytes.
const STEP: usize = 256 << 10;

/// How long a result waits for room, unless somebody says otherwise.
const PATIENCE: Duration = Duration::from_secs(3);

/// The bytes that all results may take at once. Clones share them.
#[derive(Clone, Debug)]
pub struct ResultBudget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    patience: Duration,
    state: Mutex<State>,
    freed: Notify,
    reclaimers: Mutex<Vec<Weak<dyn Reclaim>>>,
}

/// What others keep becomes dispensable without a notice; whoever waits for room looks again so often.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
struct State {
    used: usize,
    by_holder: HashMap<Arc<str>, usize>,
}

/// Keeps bytes of the budget that it can do without.
pub trait Reclaim: Send + Sync + std::fmt::Debug {
    /// Somebody needs room: gives back what nobody waits for.
    fn reclaim(&self);
}

impl Default for ResultBudget {
    fn default() -> Self {
        Self::new(RESULT_BYTES)
    }
}

impl ResultBudget {
    /// A budget of `most` bytes. One holder, which is a server or a caller, may use half of it. A result that is alone is taken
    /// whatever its size.
    pub fn new(most: usize) -> Self {
        Self::with_patience(most, PATIENCE)
    }

    /// The same, where a result waits no longer than `patience` for room.
    pub fn with_patience(most: usize, patience: Duration) -> Self {
        Self(Arc::new(Shared {
            most,
            patience,
            state: Mutex::default(),
            freed: Notify::new(),
            reclaimers: Mutex::default(),
        }))
    }

    /// Bytes that all may use.
    pub fn limit(&self) -> usize {
        self.0.most
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

    /// Asks `reclaimer` for room whenever there is none, for as long as it lives.
    pub fn reclaim_from<R: Reclaim + 'static>(&self, reclaimer: &Arc<R>) {
        let weak = Arc::downgrade(reclaimer);
        self.reclaimers().push(weak);
    }

    fn reclaim(&self) {
        let mut present = Vec::new();
        self.reclaimers().retain(|reclaimer| {
            let found = reclaimer.upgrade();
            let is_there = found.is_some();
            present.extend(found);
            is_there
        });
        for reclaimer in present {
            reclaimer.reclaim();
        }
    }

    fn reclaimers(&self) -> MutexGuard<'_, Vec<Weak<dyn Reclaim>>> {
        self.0.reclaimers.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Uses `bytes` in all, if there is room.
    pub fn try_grow(&mut self, bytes: usize) -> bool {
        self.try_grow_beside(bytes, 0)
    }

    fn try_grow_beside(&mut self, bytes: usize, beside: usize) -> bool {
        if self.set(bytes, Room::IfFree { beside }) {
            return true;
        }
        self.budget.reclaim();
        self.set(bytes, Room::IfFree { beside })
    }

    /// Uses `bytes` in all, whether or not there is room: they are there already.
    pub fn force(&mut self, bytes: usize) {
        self.set(bytes, Room::Anyway);
    }

    /// Uses `bytes` in all as soon as there is room. `false` if there was none in time. Cancel-safe.
    pub async fn grow(&mut self, bytes: usize) -> bool {
        self.grow_beside(bytes, 0).await
    }

    /// The same. `beside` bytes of others are of the same result, which may be alone nevertheless.
    pub async fn grow_beside(&mut self, bytes: usize, beside: usize) -> bool {
        let budget = self.budget.clone();
        let growing = async {
            loop {
                let freed = budget.0.freed.notified();
                if self.try_grow_beside(bytes, beside) {
                    return;
                }
                let _ = timeout(LOOK_AGAIN, freed).await;
            }
        };
        timeout(budget.0.patience, growing).await.is_ok()
    }

    /// Waits until there may be room for `bytes` in all.
    pub(crate) async fn room_for(&self, bytes: usize) {
        // Made before the look, so that what is given back in between is noticed.
        let freed = self.budget.0.freed.notified();
        if !self.fits(&self.budget.lock(), bytes, 0) {
            let _ = timeout(LOOK_AGAIN, freed).await;
        }
    }

    /// Takes over the bytes of another reservation of the same holder.
    pub fn absorb(&mut self, mut other: Self) {
        debug_assert_eq!(self.holder, other.holder, "bytes stay with their holder");
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Gives the bytes back when `text` is dropped, with all that shares its memory.
    pub fn attach(self, text: Bytes) -> Bytes {
        Bytes::from_owner(Counted { text, _reservation: self })
    }

    fn fits(&self, state: &State, bytes: usize, beside: usize) -> bool {
        let (used, own) = self.after(state, bytes);
        let is_alone = state.used.saturating_sub(self.bytes) <= beside;
        bytes <= self.bytes || is_alone || (used <= self.budget.0.most && own <= self.budget.share())
    }

    /// What would be in use in all, and by this holder.
    fn after(&self, state: &State, bytes: usize) -> (usize, usize) {
        let own = state.by_holder.get(&self.holder).copied().unwrap_or_default();
        (state.used.saturating_sub(self.bytes) + bytes, own.saturating_sub(self.bytes) + bytes)
    }

    fn set(&mut self, bytes: usize, room: Room) -> bool {
        let mut state = self.budget.lock();
        if let Room::IfFree { beside } = room
            && !self.fits(&state, bytes, beside)
        {
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
    IfFree { beside: usize },
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
        self.budget.limit()
    }

    /// How long a result waits for room.
    pub(crate) fn patience(&self) -> Duration {
        self.budget.0.patience
    }

    /// Counts a whole text, whose room was reserved while it was read.
    pub(crate) fn count(&self, text: Bytes, reserved: Option<Reservation>) -> Bytes {
        if text.len() <= FREE_BYTES {
            return text;
        }
        let mut reservation = reserved.unwrap_or_else(|| self.reservation());
        reservation.force(text.len());
        reservation.attach(text)
    }
}

/// What has to be reserved before a message is read on of which `held` bytes are there; `None` where it is short. What the
/// caller gets is counted for the caller.
pub(crate) fn needed(held: usize, limit: usize) -> Option<usize> {
    let step = held.saturating_add(1).next_multiple_of(STEP);
    (held > FREE_BYTES).then(|| step.min(limit.max(held)))
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
        assert_eq!(budget.used(), 100_000);
        let part = text.slice(10..20);
        drop(text);
        assert_eq!(budget.used(), 100_000, "a part holds all of it");
        drop(part);
        assert_eq!((budget.used(), budget.lock().by_holder.len()), (0, 0));
        let short = results.count(vec![b'x'; 1_000].into(), None);
        assert_eq!((budget.used(), short.len()), (0, 1_000), "short ones are free");
    }

    #[test]
    fn one_holder_gets_half() {
        let budget = ResultBudget::new(1_000);
        let (mut greedy, mut other) = (budget.reservation("a"), budget.reservation("b"));
        assert!(greedy.try_grow(500) && other.try_grow(1) && !greedy.try_grow(501));
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
        assert!(!second.grow(501).await, "it is more than half");
        assert_eq!(budget.used(), 400, "a failure takes nothing");
    }

    #[tokio::test]
    async fn a_result_that_is_alone_fits_whatever_its_size() {
        let budget = ResultBudget::new(1_000);
        let mut server = budget.reservation("server");
        assert!(server.try_grow(5_000), "nothing else is held");
        assert!(!budget.reservation("other").try_grow(1), "but nobody else is let in beside it");
        let mut caller = budget.reservation("caller");
        assert!(!caller.try_grow(5_000));
        assert!(caller.grow_beside(5_000, 5_000).await, "it is the same result");
        drop((server, caller));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_message_reserves_what_it_needs() {
        let limit = 32 << 20;
        assert_eq!(needed(FREE_BYTES, limit), None);
        assert_eq!(needed(FREE_BYTES + 1, limit), Some(256 << 10));
        assert_eq!(needed((16 << 20) - 1, limit), Some(16 << 20), "not twice, and no power of two");
        assert_eq!(needed(16 << 20, limit), Some((16 << 20) + (256 << 10)));
        assert_eq!(needed(limit, limit), Some(limit), "no more than may come");
    }

    #[derive(Debug, Default)]
    struct Keeper(Mutex<Option<Bytes>>);

    impl Reclaim for Keeper {
        fn reclaim(&self) {
            self.0.lock().unwrap().take();
        }
    }

    #[test]
    fn what_is_kept_without_need_makes_room() {
        let budget = ResultBudget::new(1_000);
        let keeper = Arc::new(Keeper::default());
        budget.reclaim_from(&keeper);
        let mut kept = budget.reservation("a");
        assert!(kept.try_grow(400));
        *keeper.0.lock().unwrap() = Some(kept.attach(Bytes::from_static(b"kept")));
        let (mut first, mut second) = (budget.reservation("a"), budget.reservation("b"));
        assert!(first.try_grow(100) && budget.used() == 500, "there is room beside it");
        assert!(second.try_grow(500) && budget.used() == 1_000);
        assert!(first.try_grow(101), "it makes room");
        assert_eq!(budget.used(), 601);
        drop(keeper);
        assert!(!first.try_grow(501));
    }
}
