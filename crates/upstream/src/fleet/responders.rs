//! Who answers for the calls in flight on one upstream.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::connection::{LINGER, Responder, Successors};

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
pub(super) struct Responders {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    present: Vec<(u64, Responder)>,
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

    /// The responders that the server may mean. A call that was set aside waits for an answer and asks nothing else, so it counts
    /// only where nothing else is in flight: its caller may never come back, and must not stand in the way of the others.
    fn meant(&self) -> impl DoubleEndedIterator<Item = &Responder> {
        let all_aside = self.silent == 0 && self.present.iter().all(|(_, responder)| responder.is_aside());
        self.present
            .iter()
            .map(|(_, responder)| responder)
            .filter(move |responder| all_aside || !responder.is_aside())
    }

    /// The latest responder, where all calls that the server may be at work on are of one owner.
    fn only(&mut self) -> Option<&Responder> {
        self.forget_old();
        let last = self.meant().next_back()?;
        let owner = last.owner();
        let is_only = self.silent == 0
            && self.meant().all(|responder| responder.owner() == owner)
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
        let present = self.meant().map(|responder| Some(responder.owner()));
        let mut all = present.chain(self.left.iter().map(|left| left.owner.as_ref()));
        match all.next() {
            None => InFlight::Nothing,
            Some(Some(owner)) if all.all(|other| other == Some(owner)) => InFlight::Of(Arc::clone(owner)),
            Some(_) => InFlight::Several,
        }
    }
}

impl Responders {
    /// Notes a call, until the guard is dropped.
    pub(super) fn enter(&self, responder: Option<&Responder>) -> Entered<'_> {
        let mut state = self.lock();
        let Some(responder) = responder else {
            state.silent += 1;
            return Entered { responders: self, id: None, answered: Answered::No };
        };
        let id = state.present.last().map_or(0, |(id, _)| id + 1);
        state.present.push((id, responder.clone()));
        Entered { responders: self, id: Some(id), answered: Answered::No }
    }

    /// Who answers: the latest call's responder, where all calls in flight are of one owner. A call that was given up counts
    /// for a while: what the server asks may be its.
    pub(super) fn only(&self) -> Option<Responder> {
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

impl Successors for Responders {
    fn successor(&self, of: &Responder) -> Option<Responder> {
        let state = self.lock();
        let successor = state
            .present
            .iter()
            .rev()
            .find(|(_, responder)| responder.owner() == of.owner() && !responder.is(of));
        successor.map(|(_, responder)| responder.clone())
    }
}

/// A call in flight.
pub(super) struct Entered<'a> {
    responders: &'a Responders,
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
        let mut state = self.responders.lock();
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
        let responders = Responders::default();
        let responder = |owner: &str| Responder::new(owner.into()).0;
        let (one, other) = (responder("one"), responder("other"));
        assert_eq!(responders.in_flight(), InFlight::Nothing);
        let first = responders.enter(Some(&one));
        let second = responders.enter(Some(&one));
        assert_eq!(responders.in_flight(), InFlight::Of("one".into()));
        let third = responders.enter(Some(&other));
        assert!(responders.only().is_none());
        assert_eq!(responders.in_flight(), InFlight::Several);
        first.answered();
        second.answered();
        assert_eq!(
            responders.only().map(|responder| responder.owner().to_string()).as_deref(),
            Some("other")
        );
        let silent = responders.enter(None);
        assert_eq!(responders.in_flight(), InFlight::Several);
        third.answered();
        assert_eq!(responders.in_flight(), InFlight::Several);
        silent.answered();
        assert_eq!(responders.in_flight(), InFlight::Several, "late words may be of any of them");
    }

    #[test]
    fn a_call_that_was_given_up_counts_for_a_while() {
        let responders = Responders::default();
        let responder = |owner: &str| Responder::new(owner.into()).0;
        let (one, other) = (responder("one"), responder("other"));
        drop(responders.enter(Some(&one)));
        assert_eq!(responders.in_flight(), InFlight::Of("one".into()), "its last words");
        let next = responders.enter(Some(&other));
        assert!(responders.only().is_none(), "the question may be the first one's");
        let answered = Responders::default();
        answered.enter(Some(&one)).answered();
        let _later = answered.enter(Some(&other));
        assert!(answered.only().is_some(), "who was answered asks no more");
        assert_eq!(answered.in_flight(), InFlight::Several, "but may have said something before");
        let same = Responders::default();
        drop(same.enter(Some(&one)));
        let _again = same.enter(Some(&one));
        assert!(same.only().is_some());
        drop(next);
    }

    #[test]
    fn a_call_that_was_set_aside_is_in_nobodys_way() {
        let responders = Responders::default();
        let responder = |owner: &str| Responder::new(owner.into()).0;
        let (one, other) = (responder("one"), responder("other"));
        let owner =
            |responders: &Responders| responders.only().map(|responder| responder.owner().to_string());
        let _waits = responders.enter(Some(&one));
        one.set_aside();
        let _works = responders.enter(Some(&other));
        assert_eq!(owner(&responders), None, "what was asked at the same time may be on its way");
        let earlier = tokio::time::Instant::now().checked_sub(LINGER * 2).unwrap();
        one.set_aside_at(earlier);
        assert_eq!(owner(&responders).as_deref(), Some("other"));
        assert_eq!(responders.in_flight(), InFlight::Of("other".into()));
        one.take_up();
        assert_eq!(owner(&responders), None, "it is at work again");
        one.set_aside_at(earlier);
        other.set_aside_at(earlier);
        assert_eq!(owner(&responders), None, "either may be meant where both wait");
    }

    #[test]
    fn a_question_outlives_the_call_that_it_was_given_to() {
        let responders = Arc::new(Responders::default());
        let asking = |owner: &str| Responder::new(owner.into());
        let ((first, mut firsts), (second, mut seconds), (other, mut others)) =
            (asking("one"), asking("one"), asking("other"));
        let _waits = responders.enter(Some(&first));
        let over = responders.enter(Some(&second));
        let (answer, receiver) = tokio::sync::oneshot::channel();
        let request = gateway_protocol::Request {
            id: gateway_protocol::RawJson::null(),
            method: "elicitation/create".to_owned(),
            params: None,
        };
        let successors: std::sync::Weak<dyn Successors> =
            Arc::downgrade(&(Arc::clone(&responders) as Arc<dyn Successors>));
        responders.only().unwrap().ask(request, answer, Some(successors));
        let question = seconds.try_recv().unwrap();
        drop(over);
        let _stranger = responders.enter(Some(&other));
        drop(question);
        firsts.try_recv().unwrap().answer(Ok(gateway_protocol::RawJson::empty_object()));
        assert!(receiver.blocking_recv().unwrap().is_ok());
        assert!(others.try_recv().is_err(), "never another owner's");
        drop(second);
    }
}
