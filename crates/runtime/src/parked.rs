//! Calls and turns that wait for answers of their callers.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::seal::secret_id;
use crate::lock::locked;

/// What waits for answers. Whoever sets it aside knows what it is when it is taken up.
#[derive(Debug)]
pub struct Waiting {
    /// The call, the turn or the request.
    pub what: Box<dyn Suspended>,
    /// How many calls it is.
    pub calls: usize,
    /// The names of the answers that it waits for.
    pub keys: Vec<String>,
}

/// Something that can be set aside.
pub trait Suspended: Any + std::fmt::Debug + Send {}

impl<T: Any + std::fmt::Debug + Send> Suspended for T {}

impl Waiting {
    /// What waits, if it is of this kind.
    pub fn downcast<T: Any>(self) -> Option<Box<T>> {
        let what: Box<dyn Any> = self.what;
        what.downcast().ok()
    }
}

/// Everything that was set aside. What nobody comes back for is dropped, which cancels it.
#[derive(Debug)]
pub struct Parked {
    most: usize,
    waiting: Mutex<HashMap<String, (Instant, Waiting)>>,
}

impl Parked {
    /// Room for so many calls.
    pub fn new(most: usize) -> Self {
        Self { most, waiting: Mutex::default() }
    }

    /// Sets something aside for a while and gives the name under which it waits; `None` if there is no room.
    pub fn park(&self, what: Waiting, life: Duration) -> Option<String> {
        self.sweep();
        let id = secret_id()?;
        let until = Instant::now().checked_add(life)?;
        let mut waiting = locked(&self.waiting);
        let taken: usize = waiting.values().map(|(_, what)| what.calls).sum();
        if taken + what.calls > self.most {
            return None;
        }
        waiting.insert(id.clone(), (until, what));
        Some(id)
    }

    /// Takes something up again, if `check` accepts its keys; otherwise it goes on waiting. Nobody else can take it.
    pub fn take_if<E>(
        &self,
        id: &str,
        check: impl FnOnce(&[String]) -> Result<(), E>,
    ) -> Option<Result<Waiting, E>> {
        let mut all = locked(&self.waiting);
        let (until, what) = all.get(id)?;
        if *until > Instant::now()
            && let Err(error) = check(&what.keys)
        {
            return Some(Err(error));
        }
        let (until, what) = all.remove(id)?;
        drop(all);
        (until > Instant::now()).then_some(Ok(what))
    }

    /// Drops what nobody came back for, outside the lock.
    pub fn sweep(&self) {
        let now = Instant::now();
        let over: Vec<_> = locked(&self.waiting).extract_if(|_, (until, _)| *until <= now).collect();
        drop(over);
    }

    /// Drops everything, outside the lock.
    pub fn clear(&self) {
        let all = std::mem::take(&mut *locked(&self.waiting));
        drop(all);
    }
}
