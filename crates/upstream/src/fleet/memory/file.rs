//! The file that the memory is kept in.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, BufWriter, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{Kept, OfUpstream, Unaccepted, accepted_by};

/// Only the user of the gateway reads and writes it.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// How long another process may hold the lock. A change takes milliseconds.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// How often the lock is tried: it cannot be waited for with a deadline.
const LOCK_LOOK: Duration = Duration::from_millis(10);

/// Why a definition could not be accepted in the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptFileError {
    /// The file cannot be read or written.
    #[error("{}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// No tool of this server waits.
    #[error("no tool of server `{server}` waits for somebody to accept it")]
    Nothing {
        /// The server.
        server: String,
    },
    /// Tools wait, so that new ones cannot be taken as they are.
    #[error(
        "{waiting} of the tools of server `{server}` wait for somebody to accept them; accept them first"
    )]
    Waiting {
        /// The server.
        server: String,
        /// How many tools.
        waiting: usize,
    },
    /// No tool was accepted since what was remembered is lost, so that nobody can have looked at any.
    #[error(
        "no tool of server `{server}` was accepted since what was remembered of it was lost; let the gateway list its tools \
         and accept them first"
    )]
    Unseen {
        /// The server.
        server: String,
    },
    /// The fingerprint is not that of a definition that waits.
    #[error(
        "no definition of server `{server}` that waits has the fingerprint `{fingerprint}`; it may have changed since it was reviewed"
    )]
    Stale {
        /// The server.
        server: String,
        /// The fingerprint.
        fingerprint: String,
    },
}

/// The tools of a server that wait for somebody to accept them, as the file has them.
pub fn unaccepted_in_file(
    path: &Path,
    server: &str,
) -> Result<BTreeMap<String, Unaccepted>, AcceptFileError> {
    Ok(in_file(path, server)?.unaccepted)
}

/// What the file has of a server.
fn in_file(path: &Path, server: &str) -> Result<OfUpstream, AcceptFileError> {
    let kept = read(path).map_err(|cause| AcceptFileError::File { path: path.to_owned(), cause })?;
    Ok(kept.unwrap_or_default().upstreams.remove(server).map(Arc::unwrap_or_clone).unwrap_or_default())
}

/// Accepts unaccepted definitions in the file: the one with this fingerprint, or all where it stands for all. A gateway that
/// runs takes notice. Gives the names of the tools.
pub fn accept_in_file(path: &Path, server: &str, fingerprint: &str) -> Result<Vec<String>, AcceptFileError> {
    let failed = |cause| AcceptFileError::File { path: path.to_owned(), cause };
    let nothing = || AcceptFileError::Nothing { server: server.to_owned() };
    // A file that is not there is not made.
    read(path).map_err(failed)?.ok_or_else(nothing)?;
    change_readable(path, |kept| {
        let entry = kept.upstreams.get_mut(server).filter(|entry| !entry.unaccepted.is_empty());
        let Some(entry) = entry.map(Arc::make_mut) else { return Err(nothing()) };
        let unaccepted = entry.unaccepted.iter().map(|(tool, one)| (tool.into(), one.fingerprint.as_str()));
        let accepted = accepted_by(fingerprint, unaccepted);
        if accepted.is_empty() {
            let (server, fingerprint) = (server.to_owned(), fingerprint.to_owned());
            return Err(AcceptFileError::Stale { server, fingerprint });
        }
        let names = accepted.keys().cloned().collect();
        entry.unaccepted.retain(|tool, _| !accepted.contains_key(tool));
        entry.fingerprints.extend(accepted);
        Ok(names)
    })
    .map_err(failed)?
}

/// Whether the file says that new tools of a server are taken as they are. They are not after a loss of what was remembered
/// of it.
pub fn are_new_tools_taken_in_file(path: &Path, server: &str) -> Result<bool, AcceptFileError> {
    Ok(!in_file(path, server)?.unverified)
}

/// Ends in the file that new tools of a server have to be accepted after a loss of what was remembered of it. Refused while
/// tools wait, and before any was accepted: a server that was not listed yet has shown nothing. A gateway that runs takes
/// notice. Whether there was something to end.
pub fn take_new_tools_in_file(path: &Path, server: &str) -> Result<bool, AcceptFileError> {
    if are_new_tools_taken_in_file(path, server)? {
        return Ok(false);
    }
    change_readable(path, |kept| {
        let Some(entry) = kept.upstreams.get_mut(server).map(Arc::make_mut) else { return Ok(false) };
        match entry.unaccepted.len() {
            0 if entry.fingerprints.is_empty() => Err(AcceptFileError::Unseen { server: server.to_owned() }),
            0 => {
                entry.settle();
                Ok(true)
            }
            waiting => Err(AcceptFileError::Waiting { server: server.to_owned(), waiting }),
        }
    })
    .map_err(|cause| AcceptFileError::File { path: path.to_owned(), cause })?
}

/// The content; `None` if there is no file.
pub(super) fn read(path: &Path) -> io::Result<Option<Kept>> {
    match std::fs::read(path) {
        // As a list, too, the members would be read.
        Ok(text) if !text.trim_ascii_start().starts_with(b"{") => {
            Err(io::Error::new(ErrorKind::InvalidData, "it is not a JSON object"))
        }
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the folder of the file, and keeps others from reading a file that is there already.
pub(super) fn prepare(path: &Path) -> io::Result<()> {
    make_folder(path)?;
    match std::fs::metadata(path) {
        Ok(file) if file.is_file() && file.permissions().mode() & 0o777 != FILE_MODE => {
            std::fs::set_permissions(path, Permissions::from_mode(FILE_MODE))
        }
        _ => Ok(()),
    }
}

fn make_folder(path: &Path) -> io::Result<&Path> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
    Ok(folder)
}

/// Moves a file aside that cannot be read, and says so.
pub(super) fn set_aside(path: &Path, error: &io::Error) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".corrupt-{}", since.as_millis()));
    let aside = PathBuf::from(name);
    let what = format!("{} cannot be read: {error}", path.display());
    match std::fs::rename(path, &aside) {
        Ok(()) => format!("{what}; it is kept as {}", aside.display()),
        Err(error) => format!("{what}; it cannot be moved aside either: {error}"),
    }
}

/// Changes the content under the lock that all processes share.
pub(super) fn change<T>(path: &Path, change: impl FnOnce(&mut Kept) -> T) -> io::Result<T> {
    // What cannot be read any more is replaced by what this process knows.
    let change = |kept: io::Result<Kept>| {
        let mut kept = kept.unwrap_or_default();
        let outcome = change(&mut kept);
        Ok((outcome, Some(kept)))
    };
    change_within(path, LOCK_PATIENCE, change)
}

/// The same for who knows nothing but what is in the file: one that cannot be read is an error, and a refusal writes nothing.
fn change_readable<T, E>(
    path: &Path,
    change: impl FnOnce(&mut Kept) -> Result<T, E>,
) -> io::Result<Result<T, E>> {
    let change = |kept: io::Result<Kept>| {
        let mut kept = kept?;
        let outcome = change(&mut kept);
        let written = outcome.is_ok().then_some(kept);
        Ok((outcome, written))
    };
    change_within(path, LOCK_PATIENCE, change)
}

fn change_within<T>(
    path: &Path,
    patience: Duration,
    change: impl FnOnce(io::Result<Kept>) -> io::Result<(T, Option<Kept>)>,
) -> io::Result<T> {
    let folder = make_folder(path)?;
    // Unlocked when it is dropped.
    let _lock = lock(&path.with_extension("lock"), patience)?;
    let (outcome, kept) = change(read(path).map(Option::unwrap_or_default))?;
    let Some(kept) = kept else { return Ok(outcome) };
    let draft = path.with_extension("new");
    // Piece by piece: the text of many names is as large as the names.
    let mut file = BufWriter::new(create(&draft, OpenOptions::new().write(true).truncate(true))?);
    serde_json::to_writer_pretty(&mut file, &kept)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    // Without this a power cut can leave an empty file under the new name.
    file.sync_all()?;
    std::fs::rename(&draft, path)?;
    File::open(folder)?.sync_all()?;
    Ok(outcome)
}

fn lock(path: &Path, patience: Duration) -> io::Result<File> {
    let file = create(path, OpenOptions::new().write(true).truncate(false))?;
    let until = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(LOCK_LOOK),
            Err(TryLockError::WouldBlock) => {
                let path = path.display();
                let what = format!(
                    "another process has held the lock `{path}` for {patience:?}; end that process, or try again"
                );
                return Err(io::Error::new(ErrorKind::TimedOut, what));
            }
        }
    }
}

/// Opens a file that only its owner may read, also where it is there with other permissions.
fn create(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options.create(true).mode(FILE_MODE).open(path)?;
    if file.metadata()?.permissions().mode() & 0o777 != FILE_MODE {
        file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unchanged(kept: io::Result<Kept>) -> io::Result<((), Option<Kept>)> {
        Ok(((), Some(kept?)))
    }

    #[test]
    fn who_knows_only_the_file_replaces_none_that_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("servers.json");
        for (text, is_readable) in [("{", false), ("[]", false), ("{}", true)] {
            std::fs::write(&path, text).unwrap();
            let outcome = change_readable(&path, |_| Err::<(), _>("refused"));
            assert_eq!(outcome.is_ok(), is_readable, "{text}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "nothing is written");
        }
    }

    #[test]
    fn a_lock_that_another_process_keeps_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("servers.json");
        let held = lock(&path.with_extension("lock"), Duration::ZERO).unwrap();
        let error = change_within(&path, Duration::ZERO, unchanged).unwrap_err();
        let expected = format!(
            "another process has held the lock `{}` for 0ns; end that process, or try again",
            path.with_extension("lock").display()
        );
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::TimedOut, expected));
        drop(held);
        change_within(&path, Duration::ZERO, unchanged).unwrap();
    }
}
