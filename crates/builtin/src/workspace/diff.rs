//! The two forms of a diff: blocks that search and replace, and unified diffs. Both become the same edits.

use super::limits::EDITS;

/// Lines to look for, and what stands there afterwards.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edit {
    /// The lines that must be there; none for an insertion.
    pub(super) old: Vec<String>,
    pub(super) new: Vec<String>,
    /// The line, from 1, where the first of them should be; for an insertion, the line that it comes before.
    pub(super) at: Option<usize>,
    /// How messages name it, such as `block 2`.
    pub(super) name: String,
}

const SEARCH: &str = "<<<<<<< SEARCH";
const MIDDLE: &str = "=======";
const REPLACE: &str = ">>>>>>> REPLACE";

/// Reads a diff of either form.
pub(super) fn parse(diff: &str) -> Result<Vec<Edit>, String> {
    let lines: Vec<&str> = diff.lines().collect();
    let first = lines.iter().find(|line| !line.trim().is_empty() && !line.starts_with("```"));
    let edits = match first {
        Some(line) if line.trim_end().starts_with("<<<<<<<") => blocks(&lines)?,
        Some(_) if lines.iter().any(|line| line.starts_with("@@")) => unified(&lines)?,
        _ => {
            return Err(format!(
                "the diff has no form that is known here. Give blocks of `{SEARCH}`, the old lines, `{MIDDLE}`, the new lines, \
                 `{REPLACE}`; or a unified diff with `@@` lines"
            ));
        }
    };
    if edits.is_empty() || edits.len() > EDITS {
        return Err(format!("the diff must have 1 to {EDITS} changes, not {}", edits.len()));
    }
    Ok(edits)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Outside,
    Head,
    Old,
    New,
}

fn blocks(lines: &[&str]) -> Result<Vec<Edit>, String> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut part = Part::Outside;
    for (index, line) in lines.iter().enumerate() {
        let marker = line.trim_end();
        let wrong = |what: &str| format!("line {} of the diff: {what}", index + 1);
        match part {
            Part::Outside => match marker {
                SEARCH => {
                    let name = format!("block {}", edits.len() + 1);
                    edits.push(Edit { old: Vec::new(), new: Vec::new(), at: None, name });
                    part = Part::Head;
                }
                "" => {}
                fence if fence.starts_with("```") => {}
                _ => return Err(wrong(&format!("expected `{SEARCH}`"))),
            },
            Part::Head | Part::Old | Part::New if marker == SEARCH => {
                return Err(wrong(
                    "a block begins inside another; write `\\<<<<<<< SEARCH` if it is part of the file",
                ));
            }
            Part::Head | Part::Old => {
                let Some(edit) = edits.last_mut() else { continue };
                let number = || marker.rsplit(':').next().and_then(|text| text.trim().parse().ok());
                if part == Part::Head && marker.starts_with(":start_line:") {
                    let line: usize =
                        number().ok_or_else(|| wrong("expected a number after `:start_line:`"))?;
                    edit.at = Some(line.max(1));
                } else if part == Part::Head && marker.starts_with(":end_line:") {
                    // Follows from the lines themselves.
                } else if part == Part::Head && marker == "-------" {
                    part = Part::Old;
                } else if marker == MIDDLE {
                    part = Part::New;
                } else if marker == REPLACE {
                    return Err(wrong(&format!("expected `{MIDDLE}` before `{REPLACE}`")));
                } else {
                    edit.old.push(unescaped(line));
                    part = Part::Old;
                }
            }
            Part::New => {
                let Some(edit) = edits.last_mut() else { continue };
                if marker == REPLACE {
                    part = Part::Outside;
                } else if marker == MIDDLE {
                    return Err(wrong(
                        "there is a second `=======`; write `\\=======` if it is part of the file",
                    ));
                } else {
                    edit.new.push(unescaped(line));
                }
            }
        }
    }
    if part == Part::Outside { Ok(edits) } else { Err(format!("the last block has no `{REPLACE}`")) }
}

/// Lines that look like markers are written with a backslash before them.
fn unescaped(line: &str) -> String {
    match line.strip_prefix('\\') {
        Some(rest)
            if ["<<<<<<<", "=======", ">>>>>>>", "-------", ":start_line:", ":end_line:"]
                .iter()
                .any(|marker| rest.starts_with(marker)) =>
        {
            rest.to_owned()
        }
        _ => line.to_owned(),
    }
}

fn unified(lines: &[&str]) -> Result<Vec<Edit>, String> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut files = 0;
    let mut index = 0;
    while let Some(line) = lines.get(index) {
        let next = |steps: usize| lines.get(index + steps).copied().unwrap_or_default();
        if line.starts_with("--- ") && next(1).starts_with("+++ ") && next(2).starts_with("@@") {
            files += 1;
            if files > 1 {
                return Err(format!(
                    "line {} of the diff: it is about a second file; give one file at a time",
                    index + 1
                ));
            }
            index += 2;
            continue;
        }
        if line.starts_with("@@") {
            let name = format!("hunk {}", edits.len() + 1);
            edits.push(Edit { old: Vec::new(), new: Vec::new(), at: first_line(line), name });
        } else if let Some(edit) = edits.last_mut() {
            let rest = || line.get(1..).unwrap_or_default().to_owned();
            match line.chars().next() {
                Some(' ') => {
                    edit.old.push(rest());
                    edit.new.push(rest());
                }
                Some('-') => edit.old.push(rest()),
                Some('+') => edit.new.push(rest()),
                // Many editors take the space of an empty line away.
                None if lines.iter().skip(index).any(|line| !line.is_empty()) => {
                    edit.old.push(String::new());
                    edit.new.push(String::new());
                }
                // That the last line has no end: ends stay as they are in the file.
                None | Some('\\') => {}
                Some('`') if line.starts_with("```") => {}
                Some(_) => {
                    return Err(format!(
                        "line {} of the diff: expected a line that begins with a space, `-` or `+`",
                        index + 1
                    ));
                }
            }
        }
        index += 1;
    }
    if let Some(empty) = edits.iter().find(|edit| edit.old == edit.new) {
        return Err(format!("{} changes nothing", empty.name));
    }
    for edit in edits.iter_mut().filter(|edit| edit.old.is_empty()) {
        // Where a hunk has no old lines, its number is the line that the new ones come after.
        edit.at = edit.at.map(|line| line.saturating_add(1));
    }
    Ok(edits)
}

/// The first number of `@@ -12,3 +12,4 @@`.
fn first_line(line: &str) -> Option<usize> {
    let numbers = line.split_once('-')?.1;
    numbers.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}
