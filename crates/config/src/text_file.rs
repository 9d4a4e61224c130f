//! Files of text that somebody named, read up to a bound.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Longer files hold no configuration, and a device such as `/dev/zero` never ends.
const LONGEST: usize = 16 << 20;

/// The text of a file that somebody named. What a shell hands over, such as `/dev/stdin` and `<(command)`, may be a pipe; another
/// pipe would hold up every reload.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    if path.starts_with("/dev") || path.starts_with("/proc") {
        return read_handle(&File::open(path)?);
    }
    read_regular_file(path)
}

/// The text of a regular file. For files that are read again whenever they change: a pipe would block, or be empty by then.
pub fn read_regular_file(path: &Path) -> io::Result<String> {
    let file = open_unblocked(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    read_handle(&file)
}

/// Opens a file that may turn out to be a pipe, which must not hold us up.
pub(crate) fn open_unblocked(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// The rest of an open file.
pub(crate) fn read_handle(file: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(LONGEST).unwrap_or(u64::MAX);
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > LONGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 16 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_not_read() {
        let refused = read(Path::new("/dev/zero")).map_err(|error| error.to_string());
        assert_eq!(refused, Err("it is longer than 16 MiB".to_owned()));
        let refused = read_regular_file(Path::new("/dev/zero")).map_err(|error| error.to_string());
        assert_eq!(refused, Err("it is not a regular file".to_owned()));
    }

    #[test]
    fn a_pipe_in_a_folder_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let refused = read(&pipe).map_err(|error| error.to_string());
        assert_eq!(refused, Err("it is not a regular file".to_owned()));
    }

    #[test]
    fn the_bound_is_in_bytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (length, is_read) in [(LONGEST, true), (LONGEST + 2, false)] {
            std::fs::write(file.path(), "ü".repeat(length / 2)).unwrap();
            assert_eq!(read_regular_file(file.path()).is_ok(), is_read, "{length}");
        }
    }
}
