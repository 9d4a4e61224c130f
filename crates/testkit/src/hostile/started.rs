//! The gateways that run, so that an interrupt can end them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::process::Signal;

use super::arena::signal;

static STARTED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

pub(crate) fn add(pid: u32) {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner).insert(pid);
}

pub(crate) fn remove(pid: u32) {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid);
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether nothing more is to be started.
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Kills everything that attacks have started. Attacks in progress then fail and clean up, and no other begins.
pub fn end_all() {
    INTERRUPTED.store(true, Ordering::Relaxed);
    for pid in STARTED.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        signal(*pid, Signal::TERM);
    }
}
