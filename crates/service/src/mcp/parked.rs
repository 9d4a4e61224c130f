//! Calls that wait for answers of their callers.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::flight::Flight;
use super::plain::PausedCall;
use super::state::secret_id;
use crate::runtime::turn::Unfinished;

/// What waits for answers.
#[derive(Debug)]
pub(crate) enum Waiting {
    /// A request of a modern caller over MCP.
    Flight(Box<Flight>),
    /// A call of a plain HTTP caller.
    Call(Box<PausedCall>),
    /// A whole turn of a plain HTTP caller.
    Turn(Box<Unfinished>),
}

impl Waiting {
    /// How many calls it is.
    fn calls(&self) -> usize {
        match self {
            Self::Flight(_) | Self::Call(_) => 1,
            Self::Turn(turn) => turn.waiting().count(),
        }
    }
}

/// Everything that was set aside. What nobody comes back for is dropped, which cancels it.
#[derive(Debug)]
pub(crate) struct Parked {
    most: usize,
    waiting: Mutex<HashMap<String, (Instant, Waiting)>>,
}

impl Parked {
    pub(super) fn new(most: usize) -> Self {
        Self { most, waiting: Mutex::default() }
    }

    /// Sets something aside for a while and gives the name under which it waits; nothing where there is no room.
    pub(crate) fn park(&self, what: Waiting, life: Duration) -> Option<String> {
        self.sweep();
        let id = secret_id()?;
        let until = Instant::now().checked_add(life)?;
        let mut waiting = self.lock();
        let taken: usize = waiting.values().map(|(_, what)| what.calls()).sum();
        if taken + what.calls() > self.most {
            return None;
        }
        waiting.insert(id.clone(), (until, what));
        Some(id)
    }

    /// Takes something up again. Nobody else can.
    pub(crate) fn take(&self, id: &str) -> Option<Waiting> {
        self.take_if(id, |_| Ok::<_, std::convert::Infallible>(())).and_then(Result::ok)
    }

    /// The same where `check` has nothing against it; otherwise it goes on waiting.
    pub(crate) fn take_if<E>(
        &self,
        id: &str,
        check: impl FnOnce(&Waiting) -> Result<(), E>,
    ) -> Option<Result<Waiting, E>> {
        let mut all = self.lock();
        let (until, what) = all.get(id)?;
        if *until > Instant::now()
            && let Err(error) = check(what)
        {
            return Some(Err(error));
        }
        let (until, what) = all.remove(id)?;
        drop(all);
        (until > Instant::now()).then_some(Ok(what))
    }

    /// Drops what nobody came back for, outside the lock.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let over: Vec<_> = self.lock().extract_if(|_, (until, _)| *until <= now).collect();
        drop(over);
    }

    /// Drops everything, outside the lock.
    pub(super) fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        drop(all);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Instant, Waiting)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
