//! Calls that wait for answers of their callers.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::flight::Flight;
use super::state::secret_id;

/// Flights that were set aside. Those whose callers do not come back are dropped, which cancels them.
#[derive(Debug)]
pub(super) struct Parked {
    life: Duration,
    most: usize,
    flights: Mutex<HashMap<String, (Instant, Box<Flight>)>>,
}

impl Parked {
    pub(super) fn new(life: Duration, most: usize) -> Self {
        Self { life, most, flights: Mutex::default() }
    }

    /// Sets a flight aside and gives the name under which it waits; nothing where there is no room.
    pub(super) fn park(&self, flight: Box<Flight>) -> Option<String> {
        let id = secret_id()?;
        let now = Instant::now();
        let mut flights = self.lock();
        flights.retain(|_, (since, _)| now.duration_since(*since) < self.life);
        if flights.len() >= self.most {
            return None;
        }
        flights.insert(id.clone(), (now, flight));
        Some(id)
    }

    /// Takes a flight up again. Nobody else can.
    pub(super) fn take(&self, id: &str) -> Option<Box<Flight>> {
        let (since, flight) = self.lock().remove(id)?;
        (since.elapsed() < self.life).then_some(flight)
    }

    /// Drops what nobody came back for.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        self.lock().retain(|_, (since, _)| now.duration_since(*since) < self.life);
    }

    /// Drops them all. What they hold is dropped outside the lock.
    pub(super) fn clear(&self) {
        let flights = std::mem::take(&mut *self.lock());
        drop(flights);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Instant, Box<Flight>)>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
