//! The gateways that run, so that an interrupt can end them.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;

use super::arena::signal;
use crate::lock::lock;

static STARTED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

pub(crate) fn add(pid: u32) {
    lock(&STARTED).insert(pid);
}

pub(crate) fn remove(pid: u32) {
    lock(&STARTED).remove(&pid);
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether nothing more is to be started.
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Kills everything that attacks have started. Attacks in progress then fail and clean up, and no other begins.
pub fn end_all() {
    INTERRUPTED.store(true, Ordering::Relaxed);
    for pid in lock(&STARTED).iter() {
        signal(*pid, Signal::TERM);
    }
}
