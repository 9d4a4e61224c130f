//! Who uses how many bytes, and in which order those are served who wait for more. No tasks and no clock of its own.
//!
//! A message reserves room while it arrives. Several of them can take all room together, and then each of them lacks the rest:
//! none could ever end. So whoever finds no room joins a queue. The others hold still, and one at a time may go beyond the bound
//! until it has arrived. As each of them goes beyond a sum without itself, the excess is never more than one result, which is
//! counted for its server and for its caller. In the same way the messages of one holder go beyond its share; that keeps nobody
//! else waiting.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// What room is needed for, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// An answer whose result is there as a whole: its room makes room, because the result is given back.
    Answer,
    /// A message that arrives in pieces.
    Arriving,
}

/// A position in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket {
    stage: Stage,
    number: u64,
}

/// What one reservation has and wants.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) holder: Arc<str>,
    pub(super) has: usize,
    /// In all.
    pub(super) wants: usize,
    /// Bytes of other reservations that belong to the same result.
    pub(super) beside: usize,
}

/// How long a claim that goes beyond the bound keeps others from it. Its server may be slow, or want others to wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Priority {
    /// From each time on that it was served.
    pub(super) each: Duration,
    /// At most.
    pub(super) until: Instant,
}

/// A claim in the queue.
#[derive(Debug)]
struct Queued {
    claim: Claim,
    priority: Priority,
    /// Until when nobody else goes beyond the bound, because this one does.
    first_until: Option<Instant>,
    served: Arc<Notify>,
}

impl Queued {
    fn is_served(&self) -> bool {
        self.claim.has >= self.claim.wants
    }
}

#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) most: usize,
    pub(super) used: usize,
    /// What holders use beyond their shares. Nobody else has to do without it.
    excess: usize,
    by_holder: HashMap<Arc<str>, usize>,
    queue: BTreeMap<Ticket, Queued>,
    next: u64,
    /// When everybody in the queue was last looked at because time had passed.
    pub(super) looked: Option<Instant>,
}

impl Ledger {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            used: 0,
            excess: 0,
            by_holder: HashMap::new(),
            queue: BTreeMap::new(),
            next: 0,
            looked: None,
        }
    }

    pub(super) fn share(&self) -> usize {
        self.most / 2
    }

    /// How many use or want anything.
    #[cfg(test)]
    pub(super) fn holders_and_queued(&self) -> (usize, usize) {
        (self.by_holder.len(), self.queue.len())
    }

    /// Counts what a holder has from now on, whether or not there is room.
    pub(super) fn set(&mut self, holder: &Arc<str>, from: usize, to: usize) {
        self.used = self.used.saturating_sub(from) + to;
        let own = self.of(holder).saturating_sub(from) + to;
        self.excess = self.excess_after(holder, own);
        if own == 0 {
            self.by_holder.remove(holder);
        } else {
            self.by_holder.insert(Arc::clone(holder), own);
        }
    }

    /// Gives a claim what it wants if there is room, and nobody before it waits for the same room.
    pub(super) fn take(&mut self, claim: &Claim, stage: Stage, ticket: Option<Ticket>) -> bool {
        let is_first = self.queue.is_empty() || {
            let ticket = ticket.unwrap_or(Ticket { stage, number: self.next });
            !self.queue.range(..ticket).any(|(_, other)| !other.is_served() && self.lacks_room(&other.claim))
        };
        let is_taken = claim.wants <= claim.has || (is_first && self.fits(claim));
        if is_taken {
            self.set(&claim.holder, claim.has, claim.wants);
            if let Some(queued) = ticket.and_then(|ticket| self.queue.get_mut(&ticket)) {
                queued.claim.has = claim.wants;
                queued.claim.wants = claim.wants;
            }
        }
        is_taken
    }

    /// Puts a claim at the end of the queue.
    pub(super) fn join(&mut self, claim: Claim, stage: Stage, priority: Priority) -> (Ticket, Arc<Notify>) {
        let ticket = Ticket { stage, number: self.next };
        self.next += 1;
        let served = Arc::new(Notify::new());
        self.queue.insert(ticket, Queued { claim, priority, first_until: None, served: Arc::clone(&served) });
        (ticket, served)
    }

    /// Changes what a claim in the queue wants.
    pub(super) fn want(&mut self, ticket: Ticket, wants: usize, beside: usize) {
        if let Some(queued) = self.queue.get_mut(&ticket) {
            queued.claim.wants = wants;
            queued.claim.beside = beside;
        }
    }

    /// What a claim in the queue has by now, and whether that is all it wants.
    pub(super) fn look(&self, ticket: Ticket) -> Option<(usize, bool)> {
        self.queue.get(&ticket).map(|queued| (queued.claim.has, queued.is_served()))
    }

    /// Whether a claim in the queue goes beyond the bound and keeps others from it.
    pub(super) fn goes_first(&self, ticket: Ticket, now: Instant) -> bool {
        let first_until = self.queue.get(&ticket).and_then(|queued| queued.first_until);
        first_until.is_some_and(|until| now < until)
    }

    /// Whether a claim in the queue waits for what its own holder gives back.
    pub(super) fn waits_for_own(&self, ticket: Ticket) -> bool {
        self.queue.get(&ticket).is_some_and(|queued| self.is_beyond_share(&queued.claim))
    }

    pub(super) fn leave(&mut self, ticket: Ticket) {
        self.queue.remove(&ticket);
    }

    /// Serves those in the queue for whom there is room, in their order, and the first one who may go beyond the bound. Where
    /// nobody waits, that costs nothing.
    pub(super) fn serve(&mut self, now: Instant) {
        let tickets: Vec<Ticket> = self.queue.keys().copied().collect();
        let (mut is_room_wanted, mut may_one_exceed) = (false, true);
        for ticket in tickets {
            let Some(queued) = self.queue.get(&ticket) else { continue };
            let claim = &queued.claim;
            if queued.is_served() {
                // It will want more, and then it goes on.
                may_one_exceed &= !self.goes_first(ticket, now);
                continue;
            }
            let is_beyond_share = self.is_beyond_share(claim);
            let has_room =
                !is_room_wanted && (self.fits(claim) || !(is_beyond_share || self.lacks_room(claim)));
            if !has_room && is_beyond_share {
                // Only what its own holder gives back helps it.
                continue;
            }
            let exceeds = !has_room && may_one_exceed && self.may_exceed(claim);
            if !(has_room || exceeds) {
                is_room_wanted |= self.lacks_room(claim);
                continue;
            }
            // An answer comes in one piece, and wants no more.
            let goes_first = exceeds && ticket.stage == Stage::Arriving;
            may_one_exceed &= !goes_first;
            let (holder, has, wants) = (Arc::clone(&claim.holder), claim.has, claim.wants);
            self.set(&holder, has, wants);
            if let Some(queued) = self.queue.get_mut(&ticket) {
                queued.claim.has = wants;
                let Priority { each, until } = queued.priority;
                queued.first_until = goes_first.then(|| until.min(now + each));
                queued.served.notify_one();
            }
        }
    }

    /// Whether there is room for all that a claim wants. What is alone fits whatever its size.
    fn fits(&self, claim: &Claim) -> bool {
        let others = self.used.saturating_sub(claim.has);
        others <= claim.beside
            || (self.counted_after(claim) <= self.most && self.others_of(claim) + claim.wants <= self.share())
    }

    /// Whether a claim waits for room that others take.
    fn lacks_room(&self, claim: &Claim) -> bool {
        self.counted_after(claim) > self.most && !self.is_beyond_share(claim)
    }

    /// What would be in use if a claim got what it wants, without what goes beyond shares.
    fn counted_after(&self, claim: &Claim) -> usize {
        let used = self.used.saturating_sub(claim.has) + claim.wants;
        used.saturating_sub(self.excess_after(&claim.holder, self.others_of(claim) + claim.wants))
    }

    /// What goes beyond shares if a holder uses `own`.
    fn excess_after(&self, holder: &str, own: usize) -> usize {
        self.excess.saturating_sub(self.beyond_share(self.of(holder))) + self.beyond_share(own)
    }

    /// What of `own` goes beyond the share of a holder. More than two shares is a result that was taken because it was alone.
    fn beyond_share(&self, own: usize) -> usize {
        if own > 2 * self.share() { 0 } else { own.saturating_sub(self.share()) }
    }

    /// Whether a claim has to wait for its own holder, however much room there is. One holder at a time goes beyond its share,
    /// with one message.
    fn is_beyond_share(&self, claim: &Claim) -> bool {
        let others = self.others_of(claim);
        let is_only_one = self.excess_after(&claim.holder, 0) == 0;
        let grows_on = claim.has > 0 && claim.wants <= self.share() && others <= self.share() && is_only_one;
        others + claim.wants > self.share() && !grows_on
    }

    /// Whether a claim may go beyond the bound: what it holds already is lost for others until it gets the rest.
    fn may_exceed(&self, claim: &Claim) -> bool {
        let of_result = claim.has + claim.beside;
        let others = self.used.saturating_sub(self.excess).saturating_sub(of_result);
        of_result > 0 && claim.wants <= self.share() && others <= self.most
    }

    /// What the holder of a claim has beside it.
    fn others_of(&self, claim: &Claim) -> usize {
        self.of(&claim.holder).saturating_sub(claim.has)
    }

    fn of(&self, holder: &str) -> usize {
        self.by_holder.get(holder).copied().unwrap_or_default()
    }
}
