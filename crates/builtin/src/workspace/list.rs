//! `list_files`.

use rustix::fs::FileType;

use super::path::{RelativePath, Wanted};
use super::walk::{Next, Reach, walk};
use super::{Answer, Job};
use crate::arguments::Arguments;

/// Lists a directory, or everything beneath it: one path in a line, directories with a `/` behind them.
pub(super) fn list_files(job: &Job<'_>, arguments: Arguments<'_>) -> Answer {
    arguments.only(&["path", "recursive"])?;
    let start = RelativePath::parse(arguments.text("path")?, Wanted::Place)?;
    let reach = if arguments.flag("recursive")? { Reach::Everything } else { Reach::Here };
    let most = job.spec.max_results;
    let mut found = Vec::new();
    let is_whole = walk(job, start, reach, |entry| {
        if found.len() >= most {
            return Ok(Next::Stop);
        }
        let slash = if entry.kind == FileType::Directory { "/" } else { "" };
        found.push(format!("{}{slash}", entry.path.as_str()));
        Ok(Next::On)
    })?;
    found.sort_unstable();
    if found.is_empty() {
        return Ok("(the directory is empty)".to_owned());
    }
    if !is_whole {
        found.push(format!(
            "(not everything is listed: {} entries are; list a directory further down)",
            found.len()
        ));
    }
    Ok(found.join("\n"))
}
