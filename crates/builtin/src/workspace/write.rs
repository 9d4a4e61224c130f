//! `write_to_file`, and how every tool writes: beside the file, then over it.

use std::fs::File;
use std::io::Write as _;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fchmod, fsync, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::path::{RelativePath, Wanted, shown};
use super::read::read_whole;
use super::root::{Refusal, kind};
use super::text::{is_crlf, line_count, to_crlf};
use super::{Answer, Job};
use crate::arguments::Arguments;

/// Writes a whole file, and makes it and its directories where they are missing.
pub(super) fn write_to_file(job: &Job<'_>, arguments: Arguments<'_>) -> Answer {
    arguments.only(&["path", "content", "line_count"])?;
    let path = RelativePath::parse(arguments.text("path")?, Wanted::File)?;
    let content = arguments.text("content")?;
    let claimed = arguments.whole("line_count")?;
    let count = line_count(content);
    // Whoever splits at line ends counts an empty line after the last one.
    let also = if content.is_empty() || content.ends_with('\n') { count + 1 } else { count };
    if claimed != count && claimed != also {
        return Err(format!(
            "line_count is {claimed}, but content has {count} lines; nothing was written. \
             Check that the content is complete, and give its number of lines"
        ));
    }
    if content.contains('\0') {
        return Err(
            "content has a NUL character, and only text can be written here; nothing was written".to_owned()
        );
    }
    let _one_at_a_time = job.writing();
    // What is there is read first: a binary file is not overwritten, and line ends stay as they are.
    let before = match job.root.file(&path, super::root::Links::None) {
        Err(Refusal::Missing(_)) => None,
        Err(refusal) => return Err(refusal.into()),
        Ok(_) => Some(read_whole(job, &path)?),
    };
    let keeps_crlf = before.as_ref().is_some_and(|(text, _)| is_crlf(text));
    let text = if keeps_crlf { to_crlf(content) } else { content.to_owned() };
    let verb = if before.is_some() { "File written successfully" } else { "File created successfully" };
    save(job, &path, &text, before.as_ref().map(|(_, about)| about))?;
    Ok(format!("{verb}: {} ({count} lines)", path.as_str()))
}

/// Replaces a file by a text, whole or not at all. `before` is the file that was read, `None` for a new one.
pub(super) fn save(
    job: &Job<'_>,
    path: &RelativePath,
    text: &str,
    before: Option<&Stat>,
) -> Result<(), String> {
    let most = job.spec.max_file_bytes;
    if text.len() > most {
        return Err(format!(
            "path {}: the text has {} bytes, and {most} are the most here; nothing was written",
            shown(path.as_str()),
            text.len()
        ));
    }
    job.check()?;
    let Some((directory, name)) = path.split() else {
        return Err(Refusal::IsDirectory(path.clone()).text());
    };
    let directory = match before {
        Some(_) => job.root.directory(&directory, super::root::Links::None)?,
        None => job.root.directory_made(&directory)?,
    };
    let fault = |errno: Errno| Refusal::of(path, errno).text();
    let mode = match before {
        None => None,
        Some(about) => {
            // A file that may not be written is not replaced either.
            let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            openat(&directory, name, flags, Mode::empty()).map_err(fault)?;
            Some(Mode::from_raw_mode(about.st_mode) & Mode::from_raw_mode(0o777))
        }
    };
    let beside = Beside::make(&directory).map_err(fault)?;
    beside
        .fill(text, mode)
        .map_err(|error| format!("path {}: {error}; nothing was written", shown(path.as_str())))?;
    check_unchanged(&directory, name, path, before)?;
    beside.put(name).map_err(fault)?;
    // The file is there; that its name outlives a power cut is worth an attempt, not an error.
    let _ = fsync(&directory);
    Ok(())
}

/// Refuses to overwrite what somebody else wrote since the file was read.
fn check_unchanged(
    directory: &OwnedFd,
    name: &str,
    path: &RelativePath,
    before: Option<&Stat>,
) -> Result<(), String> {
    let now = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(now) => Some(now),
        Err(Errno::NOENT) => None,
        Err(errno) => return Err(Refusal::of(path, errno).text()),
    };
    if now.as_ref().is_some_and(|now| kind(now) == FileType::Symlink) {
        return Err(Refusal::Link(path.clone()).text());
    }
    let is_same = match (before, &now) {
        (None, None) => true,
        (Some(before), Some(now)) => {
            before.st_dev == now.st_dev
                && before.st_ino == now.st_ino
                && before.st_size == now.st_size
                && before.st_mtime == now.st_mtime
                && before.st_mtime_nsec == now.st_mtime_nsec
        }
        (Some(_), None) | (None, Some(_)) => false,
    };
    if is_same {
        return Ok(());
    }
    Err(format!("path {}: changed meanwhile; nothing was written. Read it again", shown(path.as_str())))
}

/// A new file in the directory of the one that it will replace. Dropped before that, it is gone again.
struct Beside<'a> {
    directory: &'a OwnedFd,
    name: String,
    file: File,
    is_placed: bool,
}

impl<'a> Beside<'a> {
    fn make(directory: &'a OwnedFd) -> Result<Self, Errno> {
        let random = getrandom::u64().map_err(|_| Errno::IO)?;
        let name = format!(".gateway-{random:016x}.tmp");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(directory, &name, flags, Mode::from_raw_mode(0o666))?;
        Ok(Self { directory, name, file: File::from(handle), is_placed: false })
    }

    fn fill(&self, text: &str, mode: Option<Mode>) -> std::io::Result<()> {
        if let Some(mode) = mode {
            fchmod(&self.file, mode)?;
        }
        (&self.file).write_all(text.as_bytes())?;
        self.file.sync_all()
    }

    fn put(mut self, name: &str) -> Result<(), Errno> {
        renameat(self.directory, &self.name, self.directory, name)?;
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        if !self.is_placed {
            let _ = unlinkat(self.directory, &self.name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    use gateway_config::WorkspaceSpec;

    use super::super::Job;
    use super::super::root::{Links, Root};
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_does_not_get_its_place_is_gone_again() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("taken/by")).unwrap();
        let root = Root::open(folder.path()).unwrap();
        let directory = root.directory(&RelativePath::default(), Links::None).unwrap();
        let beside = Beside::make(&directory).unwrap();
        beside.fill("text", None).unwrap();
        assert_eq!(names(folder.path()).len(), 2);
        assert_eq!(beside.put("taken"), Err(Errno::ISDIR));
        assert_eq!(names(folder.path()), ["taken"]);
    }

    #[test]
    fn what_somebody_else_wrote_meanwhile_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.txt");
        let (root, spec) = (Root::open(folder.path()).unwrap(), WorkspaceSpec::new(folder.path()));
        let job = Job { root: &root, spec: &spec, lock: &Mutex::new(()), cancelled: &AtomicBool::new(false) };
        let path = RelativePath::parse("f.txt", Wanted::File).unwrap();
        let message = "path `f.txt`: changed meanwhile; nothing was written. Read it again";

        std::fs::write(&file, "read").unwrap();
        let (_, before) = read_whole(&job, &path).unwrap();
        std::fs::write(&file, "longer than before").unwrap();
        assert_eq!(save(&job, &path, "mine", Some(&before)).unwrap_err(), message);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "longer than before");

        // Also where it was not there when it was looked for.
        assert_eq!(save(&job, &path, "mine", None).unwrap_err(), message);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "longer than before");

        // And where it became a link.
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("elsewhere", &file).unwrap();
        let refused = save(&job, &path, "mine", None).unwrap_err();
        assert!(refused.contains("symbolic link"), "{refused}");
        assert_eq!(names(folder.path()), ["f.txt"]);
    }
}
