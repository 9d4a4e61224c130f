//! The directory that one process keeps results in.
//!
//! Each process has one of its own with a file that it locks, so that several gateways may share a data directory. What a process
//! left that was killed is removed by the next one: files with names of ours in directories whose lock is free, and nothing else.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use gateway_runtime::context::random_uuid;

/// What the name of such a directory in a data directory begins with; an UUID follows.
const PREFIX: &str = "results-";

/// Locked by the process whose directory it is.
const LOCK: &str = "results.lock";

/// How often another name is tried.
const ATTEMPTS: usize = 5;

/// A directory of this process. It goes with it.
#[derive(Debug)]
pub(super) struct OwnDirectory {
    path: PathBuf,
    /// Locked as long as it is open.
    _lock: File,
}

impl OwnDirectory {
    /// A new directory below `data`, else among temporary files.
    pub(super) fn create(data: Option<&Path>) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let path = match data {
                Some(data) => data.join(format!("{PREFIX}{}", random_uuid())),
                None => std::env::temp_dir().join(format!("mcp-tool-gateway-{PREFIX}{}", random_uuid())),
            };
            let mut builder = DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&path)?;
            let file = path.join(LOCK);
            let lock = new_file(&file)?;
            // Another gateway that starts now may have found the file before it was locked. Then it has removed it, or does so.
            if lock.try_lock().is_ok() && file.exists() {
                return Ok(Self { path, _lock: lock });
            }
        }
        Err(io::Error::other("no directory for long results can be locked"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether nobody removed it.
    pub(super) fn is_there(&self) -> bool {
        self.path.join(LOCK).exists()
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        clear(&self.path);
    }
}

/// Writes a new file for its owner only.
pub(super) fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    new_file(path)?.write_all(text)
}

/// Removes what processes that ended left in a data directory.
pub(super) fn remove_abandoned(data: &Path) {
    let Ok(entries) = std::fs::read_dir(data) else { return };
    for entry in entries.flatten() {
        // A link is no directory here, wherever it leads to.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_ours(&entry.file_name().to_string_lossy())
        {
            let path = entry.path();
            let lock = OpenOptions::new().write(true).open(path.join(LOCK));
            if lock.is_ok_and(|lock| lock.try_lock().is_ok() && clear(&path)) {
                tracing::debug!(path = %path.display(), "Results of a gateway that ended were removed.");
            }
        }
    }
}

/// Whether a directory has a name as ours have.
fn is_ours(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .is_some_and(|id| id.len() == 36 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'))
}

/// Removes results, the lock, and the directory if nothing else is in it. Whether it is gone.
fn clear(directory: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(directory) else { return false };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_file())
            && entry.file_name().to_string_lossy().starts_with("res_")
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let _ = std::fs::remove_file(directory.join(LOCK));
    std::fs::remove_dir(directory).is_ok()
}

fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_files_of_ours_in_directories_of_nobody_are_removed() {
        let data = tempfile::tempdir().unwrap();
        for (directory, files) in [
            ("results", &["thesis.txt", "res_mine"][..]),
            ("results-2026", &["res_x", LOCK]),
            ("results-00000000-0000-4000-8000-000000000001", &["res_x", LOCK]),
            ("results-00000000-0000-4000-8000-000000000002", &["res_x", "thesis.txt", LOCK]),
            ("results-00000000-0000-4000-8000-000000000003", &["res_x"]),
        ] {
            std::fs::create_dir(data.path().join(directory)).unwrap();
            for file in files {
                std::fs::write(data.path().join(directory).join(file), "x").unwrap();
            }
        }
        let own = OwnDirectory::create(Some(data.path())).unwrap();
        write(&own.path().join("res_own"), b"x").unwrap();
        remove_abandoned(data.path());
        let left = |name: &str| names(&data.path().join(name));
        assert_eq!(left("results"), ["res_mine", "thesis.txt"]);
        assert_eq!(left("results-2026"), ["res_x", LOCK]);
        assert!(!data.path().join("results-00000000-0000-4000-8000-000000000001").exists());
        assert_eq!(left("results-00000000-0000-4000-8000-000000000002"), ["thesis.txt"]);
        assert_eq!(left("results-00000000-0000-4000-8000-000000000003"), ["res_x"]);
        assert_eq!(names(own.path()), ["res_own", LOCK]);
        let path = own.path().to_owned();
        drop(own);
        assert!(!path.exists());
    }
}
