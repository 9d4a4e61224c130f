//! `insert_content` and `search_and_replace`: several operations on one file, all of them or none.

use std::borrow::Cow;

use regex::Regex;
use serde_json::{Map, Value};

use super::limits::{EDITS, REPLACEMENTS, replaced_bytes};
use super::path::{RelativePath, Wanted, shown};
use super::read::read_whole;
use super::search::{Case, compile};
use super::text::{FileText, shown_line, to_crlf};
use super::write::save;
use super::{Answer, Job};
use crate::arguments::Arguments;

/// Puts lines before others. All numbers are those of the file as it was.
pub(super) fn insert_content(job: &Job<'_>, arguments: Arguments<'_>) -> Answer {
    arguments.only(&["path", "operations"])?;
    let path = RelativePath::parse(arguments.text("path")?, Wanted::File)?;
    let operations = arguments.objects("operations", EDITS)?;
    let _one_at_a_time = job.writing();
    let (text, before) = read_whole(job, &path)?;
    let mut lines = FileText::of(&text);
    let mut insertions = Vec::with_capacity(operations.len());
    for (index, operation) in operations.iter().enumerate() {
        let insertion = insertion(operation, lines.lines.len());
        insertions.push(insertion.map_err(|why| of_operation(&path, index, &why))?);
    }
    // From the end, so that the numbers stay true; those before the same line stay in their order.
    insertions.sort_by_key(|(at, _)| *at);
    for (at, content) in insertions.iter().rev() {
        lines.replace(*at..*at, &FileText::of(content).lines);
    }
    save(job, &path, &lines.to_text(), Some(&before))?;
    let count = insertions.len();
    Ok(format!("Inserted into {}: {count} places, now {} lines", path.as_str(), lines.lines.len()))
}

/// The index of the line to insert before, and the text.
fn insertion(operation: &Map<String, Value>, lines: usize) -> Result<(usize, String), String> {
    let operation = Arguments(operation);
    operation.only(&["start_line", "content"])?;
    let line = operation.whole("start_line")?;
    let content = operation.text("content")?;
    if content.is_empty() {
        return Err("`content` is empty".to_owned());
    }
    if content.contains('\0') {
        return Err("`content` has a NUL character, and only text can be written here".to_owned());
    }
    match line {
        0 => Ok((lines, content.to_owned())),
        line if line <= lines + 1 => Ok((line - 1, content.to_owned())),
        line => Err(format!("there is no line {line}: the file has {lines} lines; 0 means the end")),
    }
}

/// Replaces texts, one operation after the other.
pub(super) fn search_and_replace(job: &Job<'_>, arguments: Arguments<'_>) -> Answer {
    arguments.only(&["path", "operations"])?;
    let path = RelativePath::parse(arguments.text("path")?, Wanted::File)?;
    let mut operations = Vec::new();
    // Before anybody has to wait for this call: expressions take long to compile.
    for (index, operation) in arguments.objects("operations", REPLACEMENTS)?.iter().enumerate() {
        job.check()?;
        operations.push(Replacement::read(operation).map_err(|why| of_operation(&path, index, &why))?);
    }
    let mut budget = replaced_bytes(job.spec.max_file_bytes);
    // Expressions take long to match, so nobody waits for that either: only what is still the same text is replaced.
    for _ in 0..ATTEMPTS {
        let (text, _) = read_whole(job, &path)?;
        let (changed, replaced) = replaced_in(job, &path, &operations, &text, &mut budget)?;
        let _one_at_a_time = job.writing();
        let (now, before) = read_whole(job, &path)?;
        if now != text {
            continue;
        }
        if changed != text {
            save(job, &path, &changed, Some(&before))?;
        }
        return Ok(format!("Replaced in {}: {replaced} places", path.as_str()));
    }
    Err(format!(
        "path {}: others change it all the time; nothing was changed, try again",
        shown(path.as_str())
    ))
}

/// How often a replacement begins anew because the file has changed meanwhile.
const ATTEMPTS: usize = 3;

/// The text after all operations, and how often something was replaced.
fn replaced_in(
    job: &Job<'_>,
    path: &RelativePath,
    operations: &[Replacement],
    text: &str,
    budget: &mut usize,
) -> Result<(String, usize), String> {
    let mut now = FileText::of(text);
    let mut replaced = 0;
    for (index, operation) in operations.iter().enumerate() {
        job.check()?;
        let fault = |why: String| of_operation(path, index, &why);
        replaced += operation.apply(job, &mut now, budget).map_err(fault)?;
    }
    Ok((now.to_text(), replaced))
}

struct Replacement {
    regex: Regex,
    /// What the message says if nothing was found.
    search: String,
    replace: String,
    /// Whether `$1` in `replace` stands for a group.
    expands: bool,
    first: Option<usize>,
    last: Option<usize>,
}

impl Replacement {
    fn read(operation: &Map<String, Value>) -> Result<Self, String> {
        let operation = Arguments(operation);
        operation.only(&[
            "search",
            "replace",
            "start_line",
            "end_line",
            "use_regex",
            "ignore_case",
            "regex_flags",
        ])?;
        let search = operation.text("search")?;
        let replace = operation.text("replace")?;
        if search.is_empty() {
            return Err("`search` is empty".to_owned());
        }
        if replace.contains('\0') {
            return Err("`replace` has a NUL character, and only text can be written here".to_owned());
        }
        let expands = operation.flag("use_regex")?;
        let flags = operation.text_or("regex_flags", "")?;
        if let Some(unknown) = flags.chars().find(|flag| !"gimsu".contains(*flag)) {
            return Err(format!("`regex_flags` has `{unknown}`; g, i, m, s and u are known"));
        }
        let case = if operation.flag("ignore_case")? || flags.contains('i') {
            Case::Ignored
        } else {
            Case::Sensitive
        };
        let pattern = match (expands, flags.contains('s')) {
            (false, _) => literal(&search.replace("\r\n", "\n")),
            (true, false) => search.to_owned(),
            (true, true) => format!("(?s:{search})"),
        };
        let (first, last) = operation.lines()?;
        Ok(Self {
            regex: compile(&pattern, case)?,
            search: search.to_owned(),
            replace: replace.replace("\r\n", "\n"),
            expands,
            first,
            last,
        })
    }

    /// Replaces in the lines of its range, and gives how often. What it reads is taken from the budget.
    fn apply(&self, job: &Job<'_>, lines: &mut FileText, budget: &mut usize) -> Result<usize, String> {
        let count = lines.lines.len();
        let start = self.first.map_or(0, |line| line - 1);
        let end = self.last.map_or(count, |line| line.min(count));
        if start > 0 && start >= count {
            return Err(format!("there is no line {}: the file has {count} lines", start + 1));
        }
        let whole = self.first.is_none() && self.last.is_none();
        // The end of the last line belongs to the text only where all of it is meant.
        let text = if whole {
            lines.to_plain_text()
        } else {
            lines.lines.get(start..end).unwrap_or_default().join("\n")
        };
        *budget = budget
            .checked_sub(text.len())
            .ok_or("there are too many operations for a file of this size; make several calls")?;
        let (changed, replaced) = self.replaced(job, &text)?;
        if replaced == 0 {
            return Err(format!("{} was not found", shown_line(&self.search)));
        }
        if whole {
            *lines = FileText::split(&changed, lines.are_crlf);
        } else {
            let new: Vec<String> = changed.split('\n').map(str::to_owned).collect();
            // A range that lost all its text is gone, with its line ends.
            let new = if changed.is_empty() { Vec::new() } else { new };
            lines.lines.splice(start..end, new);
        }
        Ok(replaced)
    }

    fn replaced(&self, job: &Job<'_>, text: &str) -> Result<(String, usize), String> {
        let most = job.spec.max_file_bytes;
        let mut changed = String::new();
        let (mut done, mut replaced) = (0, 0);
        let mut ends = LineEnds::of(text);
        for captures in self.regex.captures_iter(text) {
            let Some(found) = captures.get(0) else { continue };
            changed.push_str(text.get(done..found.start()).unwrap_or_default());
            // Short texts can become very long ones, already at one match.
            let groups = if self.expands { self.replace.matches('$').count() } else { 0 };
            let longest = groups.saturating_mul(found.len()).saturating_add(self.replace.len());
            if changed.len() > most || longest > most.saturating_mul(4) {
                return Err(format!("the text would have more than {most} bytes"));
            }
            let replace = ends.fitted(&self.replace, found.start());
            if self.expands {
                captures.expand(&replace, &mut changed);
            } else {
                changed.push_str(&replace);
            }
            done = found.end();
            replaced += 1;
            if replaced % 1_024 == 0 {
                job.check()?;
            }
        }
        changed.push_str(text.get(done..).unwrap_or_default());
        Ok((changed, replaced))
    }
}

/// The expression for a text. Ends of lines in it fit any end; one at its begin leaves a carriage return to the line before.
fn literal(search: &str) -> String {
    let (first, rest) = search.split_at(usize::from(search.starts_with('\n')));
    let lines: Vec<String> = rest.split('\n').map(regex::escape).collect();
    format!("{first}{}", lines.join("\r?\n"))
}

/// How the lines of a text end, from its begin to its end.
struct LineEnds<'a> {
    text: &'a str,
    /// Where the line ends that was asked for last. Kept, so that a long line is not searched again and again.
    end: Option<usize>,
}

impl<'a> LineEnds<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, end: None }
    }

    /// What is put in at the position `at`, with the ends that the line there has. Positions come in order.
    fn fitted<'r>(&mut self, replace: &'r str, at: usize) -> Cow<'r, str> {
        if !replace.contains('\n') || !self.has_return(at) {
            return Cow::Borrowed(replace);
        }
        // The carriage return before the end of a line is still there.
        let is_at_end = self.text.get(at..).is_some_and(|rest| rest.starts_with('\n'));
        let kept = usize::from(is_at_end && replace.starts_with('\n'));
        let (first, rest) = replace.split_at(kept);
        Cow::Owned(format!("{first}{}", to_crlf(rest)))
    }

    fn has_return(&mut self, at: usize) -> bool {
        let end = self.end.filter(|end| *end >= at).unwrap_or_else(|| {
            let rest = self.text.get(at..).unwrap_or_default();
            at + rest.find('\n').unwrap_or(rest.len())
        });
        self.end = Some(end);
        self.text.get(..end).is_some_and(|line| line.ends_with('\r'))
    }
}

fn of_operation(path: &RelativePath, index: usize, why: &str) -> String {
    format!("path {}, operation {}: {why}; nothing was changed", shown(path.as_str()), index + 1)
}
