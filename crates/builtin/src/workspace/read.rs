//! `read_file`, and reading for the tools that edit.

use std::fs::File;
use std::io::{self, Read as _};

use rustix::fs::Stat;

use super::limits::SCANNED_BYTES;
use super::path::{RelativePath, Wanted, shown};
use super::root::Links;
use super::text::read_text;
use super::{Answer, Job};
use crate::arguments::Arguments;

/// Gives the text of a file, or of a range of its lines, as it is.
pub(super) fn read_file(job: &Job<'_>, arguments: Arguments<'_>) -> Answer {
    arguments.only(&["path", "start_line", "end_line"])?;
    let path = RelativePath::parse(arguments.text("path")?, Wanted::File)?;
    let (first, last) = arguments.lines()?;
    let (mut file, about) = job.root.file(&path, Links::Beneath)?;
    if (first, last) == (None, None) {
        check_size(job, &path, &about)?;
    }
    let range = Range { first: first.unwrap_or(1), last: last.unwrap_or(usize::MAX) };
    let bytes = range.read(job, &path, &mut file)?;
    read_text(bytes).map_err(|why| format!("path {}: {why}", shown(path.as_str())))
}

/// The whole text of a file that is to be edited. No symbolic link is followed.
pub(super) fn read_whole(job: &Job<'_>, path: &RelativePath) -> Result<(String, Stat), String> {
    let (mut file, about) = job.root.file(path, Links::None)?;
    check_size(job, path, &about)?;
    let all = Range { first: 1, last: usize::MAX };
    let bytes = all.read(job, path, &mut file)?;
    let text = read_text(bytes).map_err(|why| format!("path {}: {why}", shown(path.as_str())))?;
    Ok((text, about))
}

fn check_size(job: &Job<'_>, path: &RelativePath, about: &Stat) -> Result<(), String> {
    let size = u64::try_from(about.st_size).unwrap_or(u64::MAX);
    let most = job.spec.max_file_bytes;
    if usize::try_from(size).is_ok_and(|size| size <= most) {
        return Ok(());
    }
    Err(format!(
        "path {}: has {size} bytes, and {most} are the most here; read a part of it with start_line and end_line",
        shown(path.as_str())
    ))
}

/// Lines from `first` to `last`, both counted from 1 and included.
struct Range {
    first: usize,
    last: usize,
}

impl Range {
    /// Reads the bytes of these lines. What stands before them is passed over, so that a part of a big file can be read.
    fn read(&self, job: &Job<'_>, path: &RelativePath, file: &mut File) -> Result<Vec<u8>, String> {
        let refuse = |why: String| Err(format!("path {}: {why}", shown(path.as_str())));
        let most = job.spec.max_file_bytes;
        let (mut found, mut line, mut scanned) = (Vec::new(), 1_usize, 0_u64);
        let mut chunk = vec![0; 64 << 10];
        // Whether the line that is being read has a byte yet.
        let mut has_begun = false;
        while line <= self.last {
            job.check()?;
            let count = match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return refuse(error.to_string()),
            };
            scanned += u64::try_from(count).unwrap_or(u64::MAX);
            let read = chunk.get(..count).unwrap_or_default();
            if read.contains(&0) {
                return refuse("is a binary file, and only text can be read and edited here".to_owned());
            }
            for part in read.split_inclusive(|byte| *byte == b'\n') {
                if line > self.last {
                    break;
                }
                if line >= self.first {
                    found.extend_from_slice(part);
                }
                has_begun = !part.ends_with(b"\n");
                line += usize::from(!has_begun);
            }
            if found.len() > most {
                return refuse(format!("these lines have more than {most} bytes; read fewer of them"));
            }
            if scanned > SCANNED_BYTES {
                return refuse(format!("these lines begin after more than {SCANNED_BYTES} bytes"));
            }
        }
        let lines = if has_begun { line } else { line - 1 };
        if self.first > lines.max(1) {
            return refuse(format!("has {lines} lines, so there is no line {}", self.first));
        }
        Ok(found)
    }
}
