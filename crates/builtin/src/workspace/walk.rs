//! Going through a directory and those in it, level by level and in the order of names, so that a bound leaves out what is
//! deepest and gives the same answer each time.

use std::collections::VecDeque;

use rustix::fd::OwnedFd;
use rustix::fs::FileType;

use super::Job;
use super::limits::{DEPTH, VISITED};
use super::path::{RelativePath, is_closed, shown};
use super::root::{Links, entries};

/// One entry of a directory.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) path: RelativePath,
    pub(super) name: &'a str,
    pub(super) kind: FileType,
    /// The directory that it is in.
    pub(super) directory: &'a OwnedFd,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    On,
    Stop,
}

/// How deep to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Here,
    Everything,
}

/// Shows every entry beneath `start`. Links are shown, not followed; data of version control is not entered.
///
/// Gives whether everything was seen.
pub(super) fn walk(
    job: &Job<'_>,
    start: RelativePath,
    reach: Reach,
    mut see: impl FnMut(&Entry<'_>) -> Result<Next, String>,
) -> Result<bool, String> {
    let mut left = VISITED;
    let mut is_whole = true;
    let mut queue = VecDeque::from([start]);
    let mut is_first = true;
    while let Some(path) = queue.pop_front() {
        job.check()?;
        let directory = match job.root.directory(&path, Links::Beneath) {
            Ok(directory) => directory,
            Err(refusal) if is_first => return Err(refusal.into()),
            // It went away meanwhile, or may not be read.
            Err(_) => {
                is_whole = false;
                continue;
            }
        };
        let read = entries(&directory, left);
        let (found, is_all) = match read {
            Ok(found) => found,
            Err(error) if is_first => return Err(format!("path {}: {error}", shown(path.as_str()))),
            Err(_) => (Vec::new(), false),
        };
        is_first = false;
        is_whole &= is_all;
        left = left.saturating_sub(found.len());
        for (name, kind) in &found {
            let entry = Entry { path: path.entry(name), name, kind: *kind, directory: &directory };
            if see(&entry)? == Next::Stop {
                return Ok(false);
            }
            let enters = reach == Reach::Everything && *kind == FileType::Directory && !is_closed(name);
            if enters && entry.path.depth() < DEPTH {
                queue.push_back(entry.path);
            } else if enters {
                is_whole = false;
            }
        }
        if left == 0 && !queue.is_empty() {
            return Ok(false);
        }
    }
    Ok(is_whole)
}
