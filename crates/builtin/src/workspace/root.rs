//! The directory, as a handle: everything is opened relative to it, so that nothing outside can be reached, also while
//! somebody swaps directories for symbolic links.
//!
//! On Linux the kernel resolves a whole path beneath the handle (`openat2`). Elsewhere, and where that is not allowed, each
//! name is opened on its own and no symbolic link is followed at all.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, mkdirat, open, openat, statat};
use rustix::io::Errno;

#[cfg(target_os = "linux")]
use super::path::is_closed;
use super::path::{RelativePath, shown};

/// What becomes of symbolic links on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    /// They are followed as long as they stay beneath the root.
    Beneath,
    /// None is followed.
    None,
}

/// Who resolves paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolver {
    /// The kernel, the whole path at once.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has it"))]
    Kernel,
    /// We, name by name.
    Steps,
}

/// A workspace's directory.
#[derive(Debug)]
pub(super) struct Root {
    handle: OwnedFd,
    resolver: Resolver,
}

impl Root {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let handle = open(path, DIRECTORY, Mode::empty())?;
        let resolver = resolver(&handle);
        Ok(Self { handle, resolver })
    }

    /// The same directory on a system whose kernel cannot resolve beneath a handle.
    pub(super) fn by_steps(self) -> Self {
        Self { resolver: Resolver::Steps, ..self }
    }

    /// A directory.
    pub(super) fn directory(&self, path: &RelativePath, links: Links) -> Result<OwnedFd, Refusal> {
        self.resolve(path, DIRECTORY, links).map_err(|errno| Refusal::of(path, errno))
    }

    /// A regular file to read from, with what is known about it.
    pub(super) fn file(&self, path: &RelativePath, links: Links) -> Result<(File, Stat), Refusal> {
        // Without waiting: a pipe that nobody writes to would never open.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let handle = self.resolve(path, flags, links).map_err(|errno| Refusal::of(path, errno))?;
        let about = fstat(&handle).map_err(|errno| Refusal::of(path, errno))?;
        match kind(&about) {
            FileType::RegularFile => Ok((File::from(handle), about)),
            FileType::Directory => Err(Refusal::IsDirectory(path.clone())),
            _ => Err(Refusal::NotRegular(path.clone())),
        }
    }

    /// The directory of a file that is to be written, made where it is missing. No link is followed.
    pub(super) fn directory_made(&self, path: &RelativePath) -> Result<OwnedFd, Refusal> {
        match self.directory(path, Links::None) {
            Err(Refusal::Missing(_)) => {}
            outcome => return outcome,
        }
        let fault = |errno| Refusal::of(path, errno);
        let mut here =
            self.handle.as_fd().try_clone_to_owned().map_err(|error| Refusal::Other(path.clone(), error))?;
        for name in path.names() {
            match mkdirat(&here, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(fault(errno)),
            }
            here = openat(&here, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
                .map_err(|errno| link_or(&here, name, errno))
                .map_err(fault)?;
        }
        Ok(here)
    }

    fn resolve(&self, path: &RelativePath, flags: OFlags, links: Links) -> Result<OwnedFd, Errno> {
        match self.resolver {
            #[cfg(target_os = "linux")]
            Resolver::Kernel => match by_kernel(&self.handle, path, flags, Links::None) {
                // A link on the way. What is closed stays closed under another name.
                Err(Errno::LOOP) if links == Links::Beneath => {
                    let found = by_kernel(&self.handle, path, flags, links)?;
                    if leads_to_closed(&self.handle, &found) { Err(Errno::LOOP) } else { Ok(found) }
                }
                outcome => outcome,
            },
            #[cfg(not(target_os = "linux"))]
            Resolver::Kernel => {
                let _ = links;
                Err(Errno::NOSYS)
            }
            Resolver::Steps => self.step_by_step(path, flags),
        }
    }

    fn step_by_step(&self, path: &RelativePath, flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut here: Option<OwnedFd> = None;
        let mut names = path.names().peekable();
        while let Some(name) = names.next() {
            let flags = if names.peek().is_some() { DIRECTORY } else { flags };
            let parent = here.as_ref().unwrap_or(&self.handle);
            let next = openat(parent, name, flags | OFlags::NOFOLLOW, Mode::empty())
                .map_err(|errno| link_or(parent, name, errno))?;
            here = Some(next);
        }
        match here {
            Some(handle) => Ok(handle),
            None => openat(&self.handle, ".", flags, Mode::empty()),
        }
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Why something was not opened.
#[derive(Debug)]
pub(super) enum Refusal {
    Missing(RelativePath),
    IsDirectory(RelativePath),
    NotDirectory(RelativePath),
    NotRegular(RelativePath),
    /// A link that leads out, or that is not followed.
    Link(RelativePath),
    Other(RelativePath, io::Error),
}

impl Refusal {
    pub(super) fn of(path: &RelativePath, errno: Errno) -> Self {
        let path = path.clone();
        match errno {
            Errno::NOENT => Self::Missing(path),
            Errno::NOTDIR => Self::NotDirectory(path),
            Errno::ISDIR => Self::IsDirectory(path),
            // What the kernel says of a link that leads out, and of one that is not followed.
            Errno::XDEV | Errno::LOOP => Self::Link(path),
            // Opening a socket, or a device without a driver.
            Errno::NXIO | Errno::NODEV => Self::NotRegular(path),
            errno => Self::Other(path, errno.into()),
        }
    }

    pub(super) fn text(&self) -> String {
        let (path, why) = match self {
            Self::Missing(path) => (path, "does not exist"),
            Self::IsDirectory(path) => (path, "is a directory, not a file"),
            Self::NotDirectory(path) => (path, "has a file where a directory must be"),
            Self::NotRegular(path) => (path, "is neither a file nor a directory"),
            Self::Link(path) => (path, "is or goes through a symbolic link that is not followed here"),
            Self::Other(path, error) => return format!("path {}: {error}", shown(path.as_str())),
        };
        format!("path {}: {why}", shown(path.as_str()))
    }
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> Self {
        refusal.text()
    }
}

/// What an entry of a directory is.
pub(super) fn kind(about: &Stat) -> FileType {
    FileType::from_raw_mode(about.st_mode)
}

/// The entries of a directory that have names we can say, in order; at most `most` of them are looked at.
pub(super) fn entries(directory: &OwnedFd, most: usize) -> io::Result<(Vec<(String, FileType)>, bool)> {
    let (mut found, mut looked_at) = (Vec::new(), 0);
    let mut is_whole = true;
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name == "." || name == ".." {
            continue;
        }
        looked_at += 1;
        if looked_at > most {
            is_whole = false;
            break;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |about| kind(&about)),
            known => known,
        };
        found.push((name.to_owned(), kind));
    }
    found.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
    Ok((found, is_whole))
}

/// A link that is not followed is reported as such: with `O_DIRECTORY` the system says only that it is no directory.
fn link_or(parent: &OwnedFd, name: &str, errno: Errno) -> Errno {
    let is_link = || {
        statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|about| kind(&about) == FileType::Symlink)
    };
    if matches!(errno, Errno::NOTDIR | Errno::MLINK) && is_link() { Errno::LOOP } else { errno }
}

#[cfg(target_os = "linux")]
fn resolver(handle: &OwnedFd) -> Resolver {
    // Old kernels do not know the call, and some sandboxes forbid it.
    match by_kernel(handle, &RelativePath::default(), DIRECTORY, Links::None) {
        Ok(_) => Resolver::Kernel,
        Err(_) => Resolver::Steps,
    }
}

#[cfg(not(target_os = "linux"))]
fn resolver(_: &OwnedFd) -> Resolver {
    Resolver::Steps
}

/// Whether what was opened lies in a directory that is closed to all tools; also where that is unknown.
#[cfg(target_os = "linux")]
fn leads_to_closed(root: &OwnedFd, found: &OwnedFd) -> bool {
    use rustix::fd::AsRawFd as _;
    let path_of = |handle: &OwnedFd| std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd()));
    let (Ok(root), Ok(found)) = (path_of(root), path_of(found)) else { return true };
    found
        .strip_prefix(&root)
        .map_or(true, |inside| inside.iter().any(|name| name.to_str().is_none_or(is_closed)))
}

#[cfg(target_os = "linux")]
fn by_kernel(handle: &OwnedFd, path: &RelativePath, flags: OFlags, links: Links) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    /// The kernel asks to try again when something was renamed meanwhile; a renamer must not keep us for ever.
    const ATTEMPTS: usize = 64;
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    if links == Links::None {
        resolve |= ResolveFlags::NO_SYMLINKS;
    }
    let text = if path.as_str().is_empty() { "." } else { path.as_str() };
    let mut outcome = Err(Errno::AGAIN);
    for _ in 0..ATTEMPTS {
        outcome = openat2(handle, text, flags, Mode::empty(), resolve);
        if !matches!(outcome, Err(Errno::AGAIN | Errno::INTR)) {
            break;
        }
    }
    outcome
}
