//! Who answers for the calls in flight on one upstream.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::connection::{Asker, LINGER, Successors};

/// The owners of the calls in flight on one upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InFlight {
    /// Nothing is in flight: what the server says is of its own accord.
    Nothing,
    /// All calls are of one owner.
    Of(Arc<str>),
    /// Calls of several owners, or of callers who answer nothing.
    Several,
}

/// Everybody who answers for a call in flight.
#[derive(Debug, Default)]
pub(super) struct Askers {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    present: Vec<(u64, Asker)>,
    /// Calls of callers who answer nothing.
    silent: usize,
    /// Calls that are over, the latest last. What the server said of them may still be on its way.
    left: VecDeque<Left>,
}

#[derive(Debug)]
struct Left {
    since: Instant,
    /// Nobody where the caller answers nothing.
    owner: Option<Arc<str>>,
    answered: Answered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answered {
    Yes,
    /// The server may still be at work.
    No,
}

impl State {
    fn forget_old(&mut self) {
        while self.left.front().is_some_and(|left| left.since.elapsed() > LINGER) {
            self.left.pop_front();
        }
    }

    /// The askers that the server may mean. A call that was set aside waits for an answer and asks nothing else, so it counts
    /// only where nothing else is in flight: its caller may never come back, and must not stand in the way of the others.
    fn meant(&self) -> impl DoubleEndedIterator<Item = &Asker> {
        let all_aside = self.silent == 0 && self.present.iter().all(|(_, asker)| asker.is_aside());
        self.present.iter().map(|(_, asker)| asker).filter(move |asker| all_aside || !asker.is_aside())
    }

    /// The latest asker, where all calls that the server may be at work on are of one owner.
    fn only(&mut self) -> Option<&Asker> {
        self.forget_old();
        let last = self.meant().next_back()?;
        let owner = last.owner();
        let is_only = self.silent == 0
            && self.meant().all(|asker| asker.owner() == owner)
            && self
                .left
                .iter()
                .all(|left| left.answered == Answered::Yes || left.owner.as_ref() == Some(owner));
        is_only.then_some(last)
    }

    /// Whose the calls are that are in flight or ended just now. Notifications are looked at after the answer that came
    /// behind them, so a call that was answered counts as well.
    fn owners(&mut self) -> InFlight {
        self.forget_old();
        if self.silent > 0 {
            return InFlight::Several;
        }
        let present = self.meant().map(|asker| Some(asker.owner()));
        let mut all = present.chain(self.left.iter().map(|left| left.owner.as_ref()));
        match all.next() {
            None => InFlight::Nothing,
            Some(Some(owner)) if all.all(|other| other == Some(owner)) => InFlight::Of(Arc::clone(owner)),
            Some(_) => InFlight::Several,
        }
    }
}

impl Askers {
    /// Notes a call, until the guard is dropped.
    pub(super) fn enter(&self, asker: Option<&Asker>) -> Entered<'_> {
        let mut state = self.lock();
        let Some(asker) = asker else {
            state.silent += 1;
            return Entered { askers: self, id: None, answered: Answered::No };
        };
        let id = state.present.last().map_or(0, |(id, _)| id + 1);
        state.present.push((id, asker.clone()));
        Entered { askers: self, id: Some(id), answered: Answered::No }
    }

    /// Who answers: the latest call's asker, where all calls in flight are of one owner. A call that was given up counts
    /// for a while: what the server asks may be its.
    pub(super) fn only(&self) -> Option<Asker> {
        self.lock().only().cloned()
    }

    /// Whose calls are in flight, or were just now.
    pub(super) fn in_flight(&self) -> InFlight {
        self.lock().owners()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Successors for Askers {
    fn successor(&self, of: &Asker) -> Option<Asker> {
        let state = self.lock();
        let successor =
            state.present.iter().rev().find(|(_, asker)| asker.owner() == of.owner() && !asker.is(of));
        successor.map(|(_, asker)| asker.clone())
    }
}

/// A call in flight.
pub(super) struct Entered<'a> {
    askers: &'a Askers,
    id: Option<u64>,
    answered: Answered,
}

impl Entered<'_> {
    /// The server answered: it is not at work on this call any more.
    pub(super) fn answered(mut self) {
        self.answered = Answered::Yes;
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut state = self.askers.lock();
        let owner = if let Some(id) = self.id {
            let found = state.present.iter().position(|(present, _)| *present == id);
            found.map(|found| Arc::clone(state.present.remove(found).1.owner()))
        } else {
            state.silent = state.silent.saturating_sub(1);
            None
        };
        state.forget_old();
        state.left.push_back(Left { since: Instant::now(), owner, answered: self.answered });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_go_to_the_only_owner_and_to_nobody_else() {
        let askers = Askers::default();
        let asker = |owner: &str| Asker::new(owner.into()).0;
        let (one, other) = (asker("one"), asker("other"));
        assert_eq!(askers.in_flight(), InFlight::Nothing);
        let first = askers.enter(Some(&one));
        let second = askers.enter(Some(&one));
        assert_eq!(askers.in_flight(), InFlight::Of("one".into()));
        let third = askers.enter(Some(&other));
        assert!(askers.only().is_none());
        assert_eq!(askers.in_flight(), InFlight::Several);
        first.answered();
        second.answered();
        assert_eq!(askers.only().map(|asker| asker.owner().to_string()).as_deref(), Some("other"));
        let silent = askers.enter(None);
        assert_eq!(askers.in_flight(), InFlight::Several);
        third.answered();
        assert_eq!(askers.in_flight(), InFlight::Several);
        silent.answered();
        assert_eq!(askers.in_flight(), InFlight::Several, "late words may be of any of them");
    }

    #[test]
    fn a_call_that_was_given_up_counts_for_a_while() {
        let askers = Askers::default();
        let asker = |owner: &str| Asker::new(owner.into()).0;
        let (one, other) = (asker("one"), asker("other"));
        drop(askers.enter(Some(&one)));
        assert_eq!(askers.in_flight(), InFlight::Of("one".into()), "its last words");
        let next = askers.enter(Some(&other));
        assert!(askers.only().is_none(), "the question may be the first one's");
        let answered = Askers::default();
        answered.enter(Some(&one)).answered();
        let _later = answered.enter(Some(&other));
        assert!(answered.only().is_some(), "who was answered asks no more");
        assert_eq!(answered.in_flight(), InFlight::Several, "but may have said something before");
        let same = Askers::default();
        drop(same.enter(Some(&one)));
        let _again = same.enter(Some(&one));
        assert!(same.only().is_some());
        drop(next);
    }

    #[test]
    fn a_call_that_was_set_aside_is_in_nobodys_way() {
        let askers = Askers::default();
        let asker = |owner: &str| Asker::new(owner.into()).0;
        let (one, other) = (asker("one"), asker("other"));
        let owner = |askers: &Askers| askers.only().map(|asker| asker.owner().to_string());
        let _waits = askers.enter(Some(&one));
        one.set_aside();
        let _works = askers.enter(Some(&other));
        assert_eq!(owner(&askers), None, "what was asked at the same time may be on its way");
        let earlier = tokio::time::Instant::now().checked_sub(LINGER * 2).unwrap();
        one.set_aside_at(earlier);
        assert_eq!(owner(&askers).as_deref(), Some("other"));
        assert_eq!(askers.in_flight(), InFlight::Of("other".into()));
        one.take_up();
        assert_eq!(owner(&askers), None, "it is at work again");
        one.set_aside_at(earlier);
        other.set_aside_at(earlier);
        assert_eq!(owner(&askers), None, "either may be meant where both wait");
    }

    #[test]
    fn a_question_outlives_the_call_that_it_was_given_to() {
        let askers = Arc::new(Askers::default());
        let asking = |owner: &str| Asker::new(owner.into());
        let ((first, mut firsts), (second, mut seconds), (other, mut others)) =
            (asking("one"), asking("one"), asking("other"));
        let _waits = askers.enter(Some(&first));
        let over = askers.enter(Some(&second));
        let (answer, receiver) = tokio::sync::oneshot::channel();
        let request = gateway_protocol::Request {
            id: gateway_protocol::RawJson::null(),
            method: "elicitation/create".to_owned(),
            params: None,
        };
        let successors: std::sync::Weak<dyn Successors> =
            Arc::downgrade(&(Arc::clone(&askers) as Arc<dyn Successors>));
        askers.only().unwrap().ask(request, answer, Some(successors));
        let question = seconds.try_recv().unwrap();
        drop(over);
        let _stranger = askers.enter(Some(&other));
        drop(question);
        firsts.try_recv().unwrap().answer(Ok(gateway_protocol::RawJson::empty_object()));
        assert!(receiver.blocking_recv().unwrap().is_ok());
        assert!(others.try_recv().is_err(), "never another owner's");
        drop(second);
    }
}
