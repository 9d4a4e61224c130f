//! Secrets in tables of text: CSV, Markdown, and the output of commands, where the head of a column names them.

use std::ops::Range;

use super::{
    secrets::{Secrets, work},
    value::{Setting, is_odd, is_random, is_secret},
    words::{Kind, classify},
};

/// What divides the cells of a row.
const DIVIDERS: &[&str] = &[",", ";", "\t", "|", "  "];
/// A longer cell is no head of a column.
const LONGEST_HEAD: usize = 40;
/// A row can be the head of a further table too; so many heads are kept, the first and the newest ones.
const MOST_HEADS: usize = 4;

type Heads = Vec<Option<Kind>>;

/// Finds the cells below heads that name secrets.
pub(super) fn find(text: &str, secrets: &mut Secrets) {
    for divider in DIVIDERS {
        let mut above: Vec<Heads> = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let row = at..at + line.trim_end_matches(['\n', '\r']).len();
            at += line.len();
            let content = text.get(row.clone()).unwrap_or_default();
            if is_rule(content) {
                continue;
            }
            let is_row = content.contains(divider);
            if above.is_empty() && !is_row {
                continue;
            }
            let cells = cells(text, &row, divider);
            work::count(row.len() * (above.len() + 1));
            above.retain(|heads| heads.len() == cells.len());
            for heads in &above {
                let named = heads.iter().zip(&cells).filter_map(|(kind, cell)| Some(((*kind)?, cell)));
                let found = named.filter(|(kind, cell)| is_secret_cell(*kind, text, cell));
                secrets.ranges.extend(found.map(|(_, cell)| cell.clone()));
            }
            if let Some(heads) = heads(text, content, &cells).filter(|_| is_row) {
                if above.len() == MOST_HEADS {
                    above.remove(1);
                }
                above.push(heads);
            }
        }
    }
}

fn is_secret_cell(kind: Kind, text: &str, cell: &Range<usize>) -> bool {
    let value = text.get(cell.clone()).unwrap_or_default();
    let setting = Setting { quoted: true, is_line: true, is_variable: false, rest: "" };
    is_secret(kind, value, setting)
        && (is_odd(value)
            || is_random(value)
            || (matches!(kind, Kind::Password | Kind::Code) && value.len() >= 4 && !value.contains(' ')))
}

/// What the cells of a line mean as heads of columns, if they can be that and one of them names a secret.
fn heads(text: &str, line: &str, cells: &[Range<usize>]) -> Option<Heads> {
    let names: Vec<&str> =
        cells.iter().map(|cell| text.get(Range::clone(cell)).unwrap_or_default()).collect();
    let is_head = |name: &&str| {
        name.len() <= LONGEST_HEAD
            && name.split(' ').count() <= 3
            && name.starts_with(char::is_alphabetic)
            && name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '_' | '-' | '.'))
    };
    // `name, email, password` with more words in it is a sentence.
    let is_prose = line.contains(", ") && names.iter().any(|name| name.contains(' '));
    if names.len() < 2 || is_prose || !names.iter().all(is_head) {
        return None;
    }
    let kinds: Heads = names.into_iter().map(classify).collect();
    kinds.iter().any(Option::is_some).then_some(kinds)
}

/// The line between the head and the rows of a table.
fn is_rule(line: &str) -> bool {
    line.contains("--") && line.bytes().all(|byte| matches!(byte, b'-' | b'+' | b'|' | b':' | b' ' | b'='))
}

/// The cells of a line without the spaces and quotes around them.
fn cells(text: &str, line: &Range<usize>, divider: &str) -> Vec<Range<usize>> {
    let row = text.get(line.clone()).unwrap_or_default();
    let mut cells = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    for (at, letter) in row.char_indices() {
        if letter == '"' {
            quoted = !quoted;
        }
        if !quoted && at >= start && row.get(at..).is_some_and(|rest| rest.starts_with(divider)) {
            cells.push(start..at);
            start = at + divider.len();
        }
    }
    cells.push(start..row.len());
    let is_edge = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '`' | '*');
    let trimmed = cells.into_iter().map(|cell| {
        let content = row.get(cell.clone()).unwrap_or_default();
        let from = cell.start + (content.len() - content.trim_start_matches(is_edge).len());
        let length = content.trim_matches(is_edge).len();
        line.start + from..line.start + from + length
    });
    // Lines of Markdown begin and end with a divider, and several spaces are one.
    let keeps_empty = !matches!(divider, "|" | "  ");
    trimmed.filter(|cell| keeps_empty || !cell.is_empty()).collect()
}
