//! The gateways that run, so that an interrupt can end them.

use std::collections::BTreeSet;
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

/// Ends every gateway that an attack has started. Attacks in progress then fail and clean up.
pub fn end_all() {
    for pid in STARTED.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        signal(*pid, Signal::TERM);
    }
}
