//! How many bytes of results are held for callers.
//!
//! A result lives from the moment in which it is read until its last reader has dropped it. Long ones are counted as long, over
//! all servers: the count travels with the bytes themselves, so that nobody can forget to give it back. Short ones are free.
//! What a server sent is counted for the server, the answer that is made of it for the caller.

mod ledger;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use gateway_config::RESULT_BYTES;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use self::ledger::{Claim, Ledger, Priority, Stage, Ticket};

/// Shorter results are not counted.
pub const FREE_BYTES: usize = 64 << 10;

/// A long message that is being read reserves room in steps of so many bytes.
const STEP: usize = 256 << 10;

/// How long a result waits for room in all, unless somebody says otherwise. Those before it have to be passed on meanwhile.
const PATIENCE: Duration = Duration::from_secs(10);

/// A message that goes beyond the bound keeps others from it for these parts of the patience: in all, and for each step.
const FIRST: u32 = 2;
const FIRST_STEP: u32 = 10;

/// An answer that its own caller leaves no room for waits one part of so many.
const OWN: u32 = 4;

/// What others keep becomes dispensable without a notice; whoever waits for room looks again so often.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The bytes that all results may take at once. Clones share them.
#[derive(Clone, Debug)]
pub struct ResultBudget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    patience: Duration,
    ledger: Mutex<Ledger>,
    reclaimers: Mutex<Vec<Weak<dyn Reclaim>>>,
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
    /// whatever its size. One result at a time that is there in part may go beyond both bounds, so that it can end.
    pub fn new(most: usize) -> Self {
        Self::with_patience(most, PATIENCE)
    }

    /// The same, where a result waits no longer than `patience` for room.
    pub fn with_patience(most: usize, patience: Duration) -> Self {
        let ledger = Mutex::new(Ledger::new(most));
        Self(Arc::new(Shared { patience, ledger, reclaimers: Mutex::default() }))
    }

    /// Bytes that all may use.
    pub fn limit(&self) -> usize {
        self.lock().most
    }

    /// Bytes that one holder may use.
    pub fn share(&self) -> usize {
        self.lock().share()
    }

    /// Bytes that are in use.
    pub fn used(&self) -> usize {
        self.lock().used
    }

    /// Nothing yet, for one holder.
    pub fn reservation(&self, holder: impl Into<Arc<str>>) -> Reservation {
        self.reservation_for(holder, Stage::Answer)
    }

    /// Nothing yet, for a message that arrives in pieces.
    pub fn arriving(&self, holder: impl Into<Arc<str>>) -> Reservation {
        self.reservation_for(holder, Stage::Arriving)
    }

    fn reservation_for(&self, holder: impl Into<Arc<str>>, stage: Stage) -> Reservation {
        let (budget, holder) = (self.clone(), holder.into());
        Reservation {
            budget,
            holder,
            stage,
            bytes: 0,
            queued: None,
            since: None,
            waited: Duration::ZERO,
            first_until: None,
        }
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

    /// Serves those who wait, for whom there may be room without a notice. Once is enough for all of them.
    fn look_again(&self) {
        let now = Instant::now();
        let mut ledger = self.lock();
        if ledger.looked.is_some_and(|looked| now < looked + LOOK_AGAIN / 2) {
            return;
        }
        ledger.looked = Some(now);
        drop(ledger);
        self.reclaim();
        self.lock().serve(now);
    }

    fn reclaimers(&self) -> MutexGuard<'_, Vec<Weak<dyn Reclaim>>> {
        self.0.reclaimers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that are in use until this is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: ResultBudget,
    holder: Arc<str>,
    stage: Stage,
    /// While it is in the queue, the ledger knows better.
    bytes: usize,
    queued: Option<(Ticket, Arc<Notify>)>,
    /// Since when it lacks room.
    since: Option<Instant>,
    /// How long it lacked room before.
    waited: Duration,
    /// Until when it may go before others.
    first_until: Option<Instant>,
}

impl Reservation {
    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        let queued = self.queued.as_ref().and_then(|(ticket, _)| self.budget.lock().look(*ticket));
        queued.map_or(self.bytes, |(bytes, _)| bytes)
    }

    /// Uses `bytes` in all, whether or not there is room: they are there already, and no more will come.
    pub fn force(&mut self, bytes: usize) {
        self.withdraw();
        let mut ledger = self.budget.lock();
        ledger.set(&self.holder, self.bytes, bytes);
        self.bytes = bytes;
        ledger.serve(Instant::now());
    }

    /// Uses `bytes` in all as soon as there is room. `false` if there was none in time, which is one time for all that it ever
    /// waits. Cancel-safe: it keeps its position while it lives.
    pub async fn grow(&mut self, bytes: usize) -> bool {
        self.grow_beside(bytes, 0).await
    }

    /// The same. `beside` bytes of others are of the same result, which may be alone nevertheless.
    pub async fn grow_beside(&mut self, bytes: usize, beside: usize) -> bool {
        if self.request(bytes, beside) {
            return true;
        }
        let is_granted = self.granted().await && self.request(bytes, beside);
        if !is_granted {
            self.withdraw();
        }
        is_granted
    }

    /// Uses `bytes` in all if there is room, else joins the queue; [`Self::granted`] waits then. `beside` bytes of others are of
    /// the same result.
    pub(crate) fn request(&mut self, bytes: usize, beside: usize) -> bool {
        if self.take(bytes, beside) {
            return true;
        }
        self.budget.reclaim();
        if self.take(bytes, beside) {
            return true;
        }
        let (budget, now) = (self.budget.clone(), Instant::now());
        let mut ledger = budget.lock();
        if let Some((ticket, _)) = &self.queued {
            ledger.want(*ticket, bytes, beside);
        } else {
            let patience = budget.0.patience;
            // Once for the whole message, however often it joins.
            let until = *self.first_until.get_or_insert(now + patience / FIRST);
            let priority = Priority { each: patience / FIRST_STEP, until };
            self.queued = Some(ledger.join(self.claim(bytes, beside), self.stage, priority));
        }
        self.since.get_or_insert(now);
        ledger.serve(now);
        self.look(&mut ledger)
    }

    /// Waits until the queue gave what was requested. `false` if that took too long.
    pub(crate) async fn granted(&self) -> bool {
        let (Some((ticket, served)), Some(since)) = (&self.queued, self.since) else { return true };
        let whole = self.budget.0.patience;
        // An answer that waits for its own caller to read keeps the server's bytes from all others meanwhile.
        let is_own = self.stage == Stage::Answer && self.budget.lock().waits_for_own(*ticket);
        let patience = if is_own { whole / OWN } else { whole };
        let until = since + patience.saturating_sub(self.waited);
        loop {
            if self.budget.lock().look(*ticket).is_none_or(|(_, is_served)| is_served) {
                return true;
            }
            let now = Instant::now();
            if now >= until {
                return false;
            }
            if timeout_at(until.min(now + LOOK_AGAIN), served.notified()).await.is_err() {
                self.budget.look_again();
            }
        }
    }

    /// Takes over the bytes of another reservation of the same holder.
    pub fn absorb(&mut self, mut other: Self) {
        debug_assert_eq!(self.holder, other.holder, "bytes stay with their holder");
        other.withdraw();
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Gives the bytes back when `text` is dropped, with all that shares its memory.
    pub fn attach(mut self, text: Bytes) -> Bytes {
        self.withdraw();
        Bytes::from_owner(CountedText { text, _reservation: self })
    }

    fn claim(&self, bytes: usize, beside: usize) -> Claim {
        Claim { holder: Arc::clone(&self.holder), has: self.bytes, wants: bytes, beside }
    }

    fn take(&mut self, bytes: usize, beside: usize) -> bool {
        let budget = self.budget.clone();
        let mut ledger = budget.lock();
        self.look(&mut ledger);
        let (claim, ticket) = (self.claim(bytes, beside), self.queued.as_ref().map(|(ticket, _)| *ticket));
        if !ledger.take(&claim, self.stage, ticket) {
            return false;
        }
        let gives_back = bytes < self.bytes;
        self.bytes = bytes;
        self.look(&mut ledger);
        if gives_back {
            ledger.serve(Instant::now());
        }
        true
    }

    /// Learns what the queue gave. Whether it is all that was requested.
    fn look(&mut self, ledger: &mut Ledger) -> bool {
        let Some((ticket, _)) = &self.queued else { return false };
        let ticket = *ticket;
        let Some((bytes, is_served)) = ledger.look(ticket) else { return false };
        self.bytes = bytes;
        if is_served {
            let now = Instant::now();
            if let Some(since) = self.since.take() {
                self.waited += now.saturating_duration_since(since);
            }
            if !ledger.goes_first(ticket, now) {
                ledger.leave(ticket);
                self.queued = None;
                ledger.serve(now);
            }
        }
        is_served
    }

    /// Leaves the queue with what it has.
    fn withdraw(&mut self) {
        let Some((ticket, _)) = self.queued.take() else { return };
        let mut ledger = self.budget.lock();
        self.bytes = ledger.look(ticket).map_or(self.bytes, |(bytes, _)| bytes);
        if let Some(since) = self.since.take() {
            self.waited += since.elapsed();
        }
        ledger.leave(ticket);
        ledger.serve(Instant::now());
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.withdraw();
        if self.bytes > 0 {
            let mut ledger = self.budget.lock();
            ledger.set(&self.holder, self.bytes, 0);
            ledger.serve(Instant::now());
        }
    }
}

/// A text that is counted as long as it lives.
struct CountedText {
    text: Bytes,
    _reservation: Reservation,
}

impl AsRef<[u8]> for CountedText {
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
        self.budget.arriving(Arc::clone(&self.holder))
    }

    /// The bound that a result breaks for which there is no room.
    pub(crate) fn limit(&self) -> usize {
        self.budget.limit()
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
pub fn needed(held: usize, limit: usize) -> Option<usize> {
    let step = held.saturating_add(1).next_multiple_of(STEP);
    (held > FREE_BYTES).then(|| step.min(limit.max(held)))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    impl Reservation {
        /// Uses `bytes` in all, if there is room at once.
        fn try_grow(&mut self, bytes: usize) -> bool {
            let is_granted = self.request(bytes, 0);
            if !is_granted {
                self.withdraw();
            }
            is_granted
        }
    }

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
        assert_eq!((budget.used(), budget.lock().holders_and_queued()), (0, (0, 0)));
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
        assert!(!second.grow(501).await, "it is more than half");
        let mut third = budget.reservation("a");
        assert!(!third.grow(101).await, "nothing is given back in time");
        assert_eq!(budget.used(), 400, "a failure takes nothing");
    }

    /// A result on its way: it comes in steps for its server, and then at once for its caller, who reads promptly.
    async fn pass_on(budget: ResultBudget, server: String, bytes: usize) -> bool {
        let mut read = budget.arriving(server);
        for arrived in 1..=10 {
            if !read.grow(arrived * bytes / 10).await {
                return false;
            }
            tokio::task::yield_now().await;
        }
        let mut answer = budget.reservation("callers");
        if !answer.grow_beside(bytes, bytes).await {
            return false;
        }
        drop(read);
        tokio::task::yield_now().await;
        true
    }

    #[tokio::test(start_paused = true)]
    async fn results_that_come_at_once_do_not_wait_for_each_other_in_vain() {
        for (case, servers) in [("a server for each", 8), ("one server", 1)] {
            let budget = ResultBudget::new(1_280);
            let name = |number: usize| format!("server {}", number % servers);
            let results = (0..8).map(|number| pass_on(budget.clone(), name(number), 300));
            assert_eq!(futures_util::future::join_all(results).await, [true; 8], "{case}");
            assert_eq!((budget.used(), budget.lock().holders_and_queued()), (0, (0, 0)), "{case}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn all_steps_of_a_message_share_one_time_to_wait() {
        let budget = ResultBudget::with_patience(1_000, Duration::from_secs(10));
        let mut blocking = budget.reservation("other");
        blocking.force(1_001);
        let mut message = budget.arriving("server");
        let began = Instant::now();
        // Each step gets room after 4 s, and the next one finds none again.
        for (step, expected) in [(100, true), (200, true), (300, false)] {
            let (is_granted, ()) = tokio::join!(message.grow(step), async {
                tokio::time::sleep(Duration::from_secs(4)).await;
                blocking.force(0);
                tokio::task::yield_now().await;
                blocking.force(2_000);
            });
            assert_eq!(is_granted, expected, "step {step}");
        }
        assert_eq!((began.elapsed().as_secs(), message.bytes()), (12, 200));
    }

    #[tokio::test]
    async fn one_result_at_a_time_goes_beyond_the_bound() {
        let budget = ResultBudget::new(1_000);
        let names = ["a", "b", "c", "d"];
        let mut messages = names.map(|name| budget.arriving(name));
        assert!(messages.iter_mut().all(|message| message.try_grow(250)) && budget.used() == 1_000);
        let [a, b, c, d] = &mut messages;
        assert!(
            a.request(300, 0) && !b.request(300, 0) && !c.request(300, 0),
            "the first one who waits goes on"
        );
        assert!(a.request(400, 0) && budget.used() == 1_150);
        assert!(!budget.reservation("e").try_grow(1), "the others hold still");
        let mut answer = budget.reservation("caller");
        a.force(400);
        assert_eq!((b.bytes(), c.bytes()), (300, 250), "it has arrived, and the next one goes on");
        assert!(answer.grow_beside(400, 400).await, "it belongs to the same result");
        assert_eq!((budget.used(), c.bytes()), (1_600, 250));
        drop(answer);
        a.force(0);
        assert_eq!((b.bytes(), c.bytes()), (300, 300), "there is room again");
        assert!(d.try_grow(300) && budget.used() == 900);
    }

    #[test]
    fn messages_that_wait_for_the_share_of_their_server_hold_up_nobody_else() {
        let budget = ResultBudget::new(1_000);
        let mut slow = [(); 4].map(|()| budget.arriving("slow"));
        assert!(slow.iter_mut().all(|message| message.try_grow(125)), "its share is taken");
        let granted = slow.each_mut().map(|message| message.request(200, 0));
        assert_eq!((granted, budget.used()), ([true, true, false, false], 650), "one may go beyond it");
        assert!(budget.arriving("other").try_grow(300), "there is room for others");
    }

    #[test]
    fn what_one_holder_uses_beyond_its_share_takes_nothing_from_others() {
        let budget = ResultBudget::new(1_000);
        let mut slow = [100, 300, 100].map(|bytes| {
            let mut message = budget.arriving("slow");
            assert!(message.try_grow(bytes));
            message
        });
        assert!(slow[2].request(500, 0) && budget.used() == 900, "one message goes beyond the share");
        assert!(!slow[0].request(200, 0), "and no other");
        let mut other = budget.arriving("other");
        assert!(other.try_grow(450), "half is for others");
        assert!(!other.try_grow(550));
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_stands_still_keeps_others_waiting_only_for_a_while() {
        let budget = ResultBudget::new(1_000);
        let mut messages = ["a", "b", "c", "d"].map(|name| budget.arriving(name));
        assert!(messages.iter_mut().all(|message| message.try_grow(250)));
        let [still, other, ..] = &mut messages;
        assert!(still.request(300, 0), "it goes on, and then nothing comes");
        assert!(!other.request(300, 0));
        assert!(other.granted().await);
        assert_eq!((still.bytes(), other.bytes()), (300, 300));
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
