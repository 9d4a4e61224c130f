//! `search_files`.

use std::fs::File;
use std::io::Read as _;

use regex::{Regex, RegexBuilder};
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Mode, OFlags, fstat, openat};

use super::limits::{REGEX_BYTES, SCANNED_BYTES, SHOWN_CHARACTERS};
use super::path::{RelativePath, Wanted};
use super::root::{Links, Refusal, kind};
use super::text::read_text;
use super::walk::{Next, Reach, walk};
use super::{Answer, Job, glob};
use crate::arguments::Arguments;

/// Looks for a regular expression in every text file: `path:line:text` for each line that matches.
pub(super) fn search_files(job: &Job<'_>, arguments: Arguments<'_>) -> Answer {
    arguments.only(&["path", "regex", "file_pattern"])?;
    let start = RelativePath::parse(arguments.text("path")?, Wanted::Place)?;
    let regex = compile(arguments.text("regex")?, Case::Sensitive)?;
    let pattern = match arguments.get("file_pattern") {
        Some(_) => Some(glob::Pattern::parse(arguments.text("file_pattern")?)?),
        None => None,
    };
    let mut search = Search { job, regex, matches: Vec::new(), scanned: 0, too_big: 0 };
    let is_file = start.split().is_some()
        && matches!(job.root.directory(&start, Links::Beneath), Err(Refusal::NotDirectory(_)));
    let is_whole = if is_file {
        let (file, _) = job.root.file(&start, Links::Beneath)?;
        search.file(&start, file)? == Next::On
    } else {
        let prefix = start.as_str().len() + usize::from(!start.as_str().is_empty());
        walk(job, start, Reach::Everything, |entry| {
            let relative = entry.path.as_str().get(prefix..).unwrap_or_default();
            let fits = pattern.as_ref().is_none_or(|pattern| pattern.matches(relative, entry.name));
            if entry.kind != FileType::RegularFile || !fits {
                return Ok(Next::On);
            }
            match opened(entry.directory, entry.name) {
                Some(file) => search.file(&entry.path, file),
                // It went away meanwhile, or may not be read.
                None => Ok(Next::On),
            }
        })?
    };
    Ok(search.report(is_whole))
}

/// Whether capitals matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Sensitive,
    Ignored,
}

/// A regular expression of bounded size; matching takes time in proportion to the text, whatever the expression is.
pub(super) fn compile(text: &str, case: Case) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(text);
    builder.size_limit(REGEX_BYTES).dfa_size_limit(REGEX_BYTES).nest_limit(100);
    builder.case_insensitive(case == Case::Ignored).multi_line(true);
    builder.build().map_err(|error| format!("the regular expression cannot be used: {error}"))
}

struct Search<'a> {
    job: &'a Job<'a>,
    regex: Regex,
    matches: Vec<(String, usize, String)>,
    scanned: u64,
    too_big: usize,
}

impl Search<'_> {
    fn file(&mut self, path: &RelativePath, file: File) -> Result<Next, String> {
        self.job.check()?;
        let most = self.job.spec.max_file_bytes;
        let mut bytes = Vec::new();
        let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        if file.take(limit).read_to_end(&mut bytes).is_err() {
            return Ok(Next::On);
        }
        self.scanned += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if self.scanned > SCANNED_BYTES {
            return Ok(Next::Stop);
        }
        if bytes.len() > most {
            self.too_big += 1;
            return Ok(Next::On);
        }
        let Ok(text) = read_text(bytes) else { return Ok(Next::On) };
        for (index, line) in text.lines().enumerate() {
            if index % 1_024 == 0 {
                self.job.check()?;
            }
            if !self.regex.is_match(line) {
                continue;
            }
            if self.matches.len() >= self.job.spec.max_results {
                return Ok(Next::Stop);
            }
            self.matches.push((path.as_str().to_owned(), index + 1, shortened(line)));
        }
        Ok(Next::On)
    }

    fn report(mut self, is_whole: bool) -> String {
        self.matches.sort_by(|left, right| (&left.0, left.1).cmp(&(&right.0, right.1)));
        let mut lines: Vec<String> =
            self.matches.iter().map(|(path, line, text)| format!("{path}:{line}:{text}")).collect();
        if lines.is_empty() {
            lines.push("(nothing was found)".to_owned());
        }
        if self.too_big > 0 {
            let most = self.job.spec.max_file_bytes;
            lines.push(format!("({} files of more than {most} bytes were not searched)", self.too_big));
        }
        if !is_whole {
            lines.push(
                "(not everything was searched; narrow the path, the expression or file_pattern)".to_owned(),
            );
        }
        lines.join("\n")
    }
}

fn opened(directory: &OwnedFd, name: &str) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let handle = openat(directory, name, flags, Mode::empty()).ok()?;
    let about = fstat(&handle).ok()?;
    (kind(&about) == FileType::RegularFile).then(|| File::from(handle))
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
