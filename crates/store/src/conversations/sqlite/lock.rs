//! Who has the conversations of a data directory.

use std::{
    fs::{File, TryLockError},
    path::Path,
    sync::Arc,
};

use super::super::error::ConversationError;
use crate::files;

/// Locked by the process that has the conversations of the directory.
const LOCK_NAME: &str = "conversations.lock";

/// The conversations of a data directory for one process alone, until it is dropped. A process that has it knows that a turn which it
/// does not run itself is one that nobody runs.
#[derive(Debug)]
pub struct DirectoryLock(File);

impl DirectoryLock {
    /// Locks a directory, which is created if needed; [`ConversationError::InUse`] if another process has it.
    pub fn take(directory: &Path) -> Result<Self, ConversationError> {
        let path = directory.join(LOCK_NAME);
        let place = || Arc::from(format!("`{}`", path.display()));
        let unavailable = |cause: std::io::Error| ConversationError::Unavailable {
            place: place(),
            attempt: "locking the data directory",
            cause: cause.into(),
        };
        files::make_directory(directory).map_err(unavailable)?;
        let file = files::make_file(&path).map_err(unavailable)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(ConversationError::InUse { place: place() }),
            Err(TryLockError::Error(cause)) => Err(unavailable(cause)),
        }
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child between fork and exec still shares it.
        let _ = self.0.unlock();
    }
}
