//! Waits for processes that became ours because their keeper was killed. Nobody else does, and they would stay as zombies.

use std::collections::HashSet;
use std::io;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, WaitOptions, waitpid};
use tokio::process::{Child, Command};

use super::table::zombies;

/// The keepers, whom their owners wait for. Everything else below us was adopted.
static KEEPERS: LazyLock<Mutex<HashSet<i32>>> = LazyLock::new(Mutex::default);

/// Starts a keeper. It is known as one before anybody can take it for something else.
pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    let mut keepers = keepers();
    let keeper = command.spawn()?;
    keepers.extend(keeper.id().and_then(|id| i32::try_from(id).ok()));
    Ok(keeper)
}

/// Forgets a keeper whose owner is gone.
pub(super) fn forget(keeper: Pid) {
    keepers().remove(&keeper.as_raw_pid());
}

/// Takes the status of all adopted processes that ended. Reads the whole process table.
pub(super) fn reap() {
    let ended = zombies();
    let keepers = keepers();
    for pid in ended.into_iter().filter(|pid| !keepers.contains(&pid.as_raw_pid())) {
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

fn keepers() -> MutexGuard<'static, HashSet<i32>> {
    KEEPERS.lock().unwrap_or_else(PoisonError::into_inner)
}
