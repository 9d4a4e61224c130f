//! `apply_diff`: exact matches only. For what is not there, the message names the nearest match.

use std::ops::Range;

use super::diff::{self, Edit};
use super::path::{RelativePath, Wanted, shown};
use super::read::read_whole;
use super::text::{FileText, shown_line};
use super::write::save;
use super::{Answer, Job};
use crate::arguments::Arguments;

/// Comparisons of lines that the search for the nearest match may take.
const COMPARISONS: usize = 2_000_000;

/// Changes the lines that a diff names.
pub(super) fn apply_diff(job: &Job<'_>, arguments: Arguments<'_>) -> Answer {
    arguments.only(&["path", "diff"])?;
    let path = RelativePath::parse(arguments.text("path")?, Wanted::File)?;
    let edits = diff::parse(arguments.text("diff")?)?;
    let _one_at_a_time = job.writing();
    let (text, before) = read_whole(job, &path)?;
    let mut lines = FileText::of(&text);
    let fault = |why: String| format!("path {}: {why}; nothing was changed", shown(path.as_str()));
    let placed = locate(job, &lines.lines, &edits).map_err(fault)?;
    for (range, edit) in placed.iter().rev() {
        lines.replace(range.clone(), &edit.new);
    }
    let changed = lines.to_text();
    if changed == text {
        return Err(fault("the diff changes nothing".to_owned()));
    }
    save(job, &path, &changed, Some(&before))?;
    let from: Vec<String> = placed.iter().map(|(range, _)| (range.start + 1).to_string()).collect();
    Ok(format!("Changed {}: {} places, from lines {}", path.as_str(), placed.len(), from.join(", ")))
}

/// Finds the lines of every edit in the file as it is, in the order of the file.
fn locate<'a>(
    job: &Job<'_>,
    lines: &[String],
    edits: &'a [Edit],
) -> Result<Vec<(Range<usize>, &'a Edit)>, String> {
    let mut placed = Vec::with_capacity(edits.len());
    for edit in edits {
        job.check()?;
        placed.push((find(lines, edit)?, edit));
    }
    placed.sort_by_key(|(range, _)| (range.start, range.end));
    for (one, other) in placed.iter().zip(placed.iter().skip(1)) {
        if one.0.end > other.0.start
            || (one.0.start == other.0.start && one.0.is_empty() && other.0.is_empty())
        {
            return Err(format!(
                "{} and {} are about the same lines; put them together",
                one.1.name, other.1.name
            ));
        }
    }
    Ok(placed)
}

fn find(lines: &[String], edit: &Edit) -> Result<Range<usize>, String> {
    let count = edit.old.len();
    if count == 0 {
        return match edit.at {
            Some(at) if at <= lines.len() + 1 => {
                let index = at.saturating_sub(1);
                Ok(index..index)
            }
            Some(at) => {
                Err(format!("{} inserts at line {at}, but the file has {} lines", edit.name, lines.len()))
            }
            None if lines.is_empty() => Ok(0..0),
            None => {
                Err(format!("{} has nothing to search for and no `:start_line:` to insert at", edit.name))
            }
        };
    }
    let fits = |start: usize| {
        let window = lines.get(start..start.saturating_add(count));
        window.is_some_and(|window| window.iter().zip(&edit.old).all(|(line, old)| same(line, old)))
    };
    let wanted = edit.at.map(|at| at.saturating_sub(1));
    if let Some(start) = wanted.filter(|start| fits(*start)) {
        return Ok(start..start + count);
    }
    let mut starts = (0..lines.len()).filter(|start| fits(*start));
    match (starts.next(), starts.next()) {
        (Some(only), None) => Ok(only..only + count),
        (Some(first), Some(second)) => {
            let more = starts.next().map_or("", |_| " and more");
            Err(format!(
                "{} fits at lines {}, {}{more}; give more lines around it, or the line where it begins",
                edit.name,
                first + 1,
                second + 1
            ))
        }
        (None, _) => Err(format!("{} is not in the file{}", edit.name, nearest(lines, edit))),
    }
}

/// Whether two lines are the same but for a carriage return at their ends.
fn same(line: &str, old: &str) -> bool {
    line.trim_end_matches('\r') == old.trim_end_matches('\r')
}

/// Where most of the lines are, and the first that differs there.
fn nearest(lines: &[String], edit: &Edit) -> String {
    let count = edit.old.len();
    let alike = |line: &str, old: &str| -> usize {
        if same(line, old) { 3 } else { usize::from(!old.trim().is_empty() && line.trim() == old.trim()) * 2 }
    };
    let starts = (COMPARISONS / count).max(1).min(lines.len());
    let score = |start: usize| -> usize {
        lines.iter().skip(start).zip(&edit.old).map(|(line, old)| alike(line, old)).sum()
    };
    let Some(best) = (0..starts)
        .map(|start| (score(start), start))
        .filter(|(score, _)| *score > 0)
        .max_by_key(|(score, start)| (*score, usize::MAX - start))
    else {
        return ", and nothing like it".to_owned();
    };
    let start = best.1;
    let differing = (0..count).find(|index| {
        let line = lines.get(start + index);
        line.zip(edit.old.get(*index)).is_none_or(|(line, old)| !same(line, old))
    });
    let Some(index) = differing else { return String::new() };
    let found = lines.get(start + index).map_or_else(|| "nothing".to_owned(), |line| shown_line(line));
    let wanted = edit.old.get(index).map(|line| shown_line(line)).unwrap_or_default();
    format!(
        ". The nearest place begins at line {}; there line {} is {found}, not {wanted}",
        start + 1,
        start + index + 1
    )
}
