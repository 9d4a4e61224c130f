//! Ends and waits for processes that became ours because their keeper was killed. Nobody else does.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use tokio::process::{Child, Command};

use crate::table;

/// The keepers, whom their owners wait for. Every other child of ours was adopted, whatever it says that it is. Each has a
/// number of its own, because the system gives process ids again.
static KEEPERS: LazyLock<Mutex<Keepers>> = LazyLock::new(Mutex::default);

/// Whether a thread goes on with what [`sweep`] did not finish.
static IS_GOING_ON: AtomicBool = AtomicBool::new(false);

/// How long killed processes are given to end before they are looked at again. One that starts others is not waited for.
const PAUSE: Duration = Duration::from_millis(1);

/// The longest pause between two looks at the same processes.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// How long to wait before what cannot be ended is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Instead of a keeper's number, for children that were there before all keepers.
const SPARED: u64 = 0;

#[derive(Debug, Default)]
struct Keepers {
    by_pid: HashMap<i32, u64>,
    last: u64,
}

/// A keeper in the table of keepers, until it is forgotten.
#[derive(Debug)]
pub(crate) struct Registration {
    pid: i32,
    number: u64,
}

impl Registration {
    /// Forgets a keeper. To be called as soon as somebody has waited for it: its process id is free then, and whoever gets
    /// it is not a keeper.
    pub(crate) fn forget(&self) {
        let mut keepers = keepers();
        if keepers.by_pid.get(&self.pid) == Some(&self.number) {
            keepers.by_pid.remove(&self.pid);
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.forget();
    }
}

/// Starts a keeper. It is known as one before anybody can take it for something else.
pub(crate) fn spawn(command: &mut Command) -> io::Result<(Child, Registration)> {
    let mut keepers = keepers();
    let keeper = command.spawn()?;
    let pid = keeper.id().and_then(|id| i32::try_from(id).ok());
    let pid = pid.ok_or_else(|| io::Error::other("its keeper has no process id"))?;
    keepers.last += 1;
    let number = keepers.last;
    keepers.by_pid.insert(pid, number);
    Ok((keeper, Registration { pid, number }))
}

/// Spares the children that this process has already. Nobody waits for them, so their process ids are not given again.
pub(crate) fn spare_children() {
    let children = table::children().into_iter().map(|pid| (pid.as_raw_pid(), SPARED));
    keepers().by_pid.extend(children);
}

/// The living processes that we adopted, with all their descendants.
pub(crate) fn adopted() -> Vec<Pid> {
    let keepers = keepers();
    table::below_children(|pid| !keepers.by_pid.contains_key(&pid))
}

/// Kills all adopted processes and takes their status, again until nothing is left of them: whatever is killed leaves its own
/// children to us. If that takes longer than `patience`, a thread goes on with it. Blocks.
pub(crate) fn sweep(patience: Duration) {
    if !sweep_within(patience) && !IS_GOING_ON.swap(true, Ordering::Relaxed) {
        let go_on = move || {
            while !sweep_within(patience) {
                std::thread::sleep(RETRY);
            }
            IS_GOING_ON.store(false, Ordering::Relaxed);
        };
        if std::thread::Builder::new().spawn(go_on).is_err() {
            IS_GOING_ON.store(false, Ordering::Relaxed);
        }
    }
}

fn sweep_within(patience: Duration) -> bool {
    let until = Instant::now() + patience;
    let (mut before, mut pause) = (Vec::new(), PAUSE);
    loop {
        // A process that forks and ends is gone when the whole process table is read, so the kernel's lists come first. They
        // can be incomplete while children end.
        let mut now = end_adopted(table::listed_children);
        if now.is_empty() {
            now = end_adopted(|| Some(table::children()));
        }
        if now.is_empty() {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        if now == before {
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        } else {
            pause = PAUSE;
        }
        before = now;
    }
}

/// Kills those of our children that we adopted, and takes the status of those that ended. Gives all of them.
fn end_adopted(children: impl FnOnce() -> Option<Vec<Pid>>) -> Vec<Pid> {
    // Held meanwhile: no keeper may end and be forgotten, which would make its process id that of something else.
    let keepers = keepers();
    let mut adopted = children().unwrap_or_default();
    adopted.retain(|pid| !keepers.by_pid.contains_key(&pid.as_raw_pid()));
    for pid in &adopted {
        let _ = kill_process(*pid, Signal::KILL);
    }
    for pid in &adopted {
        let _ = waitpid(Some(*pid), WaitOptions::NOHANG);
    }
    adopted
}

fn keepers() -> MutexGuard<'static, Keepers> {
    KEEPERS.lock().unwrap_or_else(PoisonError::into_inner)
}
