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
const MOST_WORDS: usize = 4;
/// A row can be the head of a further table too; so many heads are kept, the first and the newest ones.
const MOST_HEADS: usize = 4;

type Heads = Vec<Option<Head>>;

/// What the head of a column says about the cells below it.
#[derive(Clone, Copy)]
struct Head {
    kind: Kind,
    /// Whether it says more after the noun, as `Password (initial)` does.
    goes_on: bool,
}

impl Head {
    fn of(name: &str) -> Option<Self> {
        if let Some(kind) = classify(name) {
            return Some(Self { kind, goes_on: false });
        }
        // Sentences say other things after a noun, but a head is an identifier.
        let is_divided = name.contains(|letter: char| !letter.is_alphanumeric());
        let kind = is_divided
            .then(|| classify(&name.replace(|letter: char| !letter.is_alphanumeric(), "_")))
            .flatten()
            .filter(|kind| matches!(kind, Kind::Password | Kind::Secret | Kind::Token))?;
        Some(Self { kind, goes_on: true })
    }
}

/// A line of the text.
struct Line {
    range: Range<usize>,
    /// Whether all its letters can be those of heads and dividers.
    may_be_head: bool,
}

/// Finds the cells below heads that name secrets.
pub(super) fn find(text: &str, secrets: &mut Secrets) {
    let lines = lines(text);
    let Some(first) = lines.iter().position(|line| line.may_be_head) else { return };
    for divider in DIVIDERS {
        let mut above: Vec<Heads> = Vec::new();
        for Line { range: row, may_be_head } in lines.iter().skip(first) {
            if above.is_empty() && !may_be_head {
                continue;
            }
            let content = text.get(row.clone()).unwrap_or_default();
            if is_rule(content) {
                continue;
            }
            let is_row = content.contains(divider);
            if above.is_empty() && !is_row {
                continue;
            }
            let cells = cells(text, row, divider);
            work::count(row.len() * (above.len() + 1));
            // The last row may have something after it: `| eva | x |" end`.
            let is_longer = |heads: &Heads| *divider == "|" && heads.len() + 1 == cells.len();
            above.retain(|heads| heads.len() == cells.len() || is_longer(heads));
            for heads in &above {
                let named = heads.iter().zip(&cells).filter_map(|(head, cell)| Some(((*head)?, cell)));
                let found = named.filter(|(head, cell)| is_secret_cell(*head, text, cell));
                secrets.ranges.extend(found.map(|(_, cell)| cell.clone()));
            }
            if let Some(heads) = heads(text, content, &cells).filter(|_| is_row && *may_be_head) {
                if above.len() == MOST_HEADS {
                    above.remove(1);
                }
                above.push(heads);
            }
        }
    }
}

fn lines(text: &str) -> Vec<Line> {
    let mut at = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let start = at;
            at += line.len();
            let content = line.trim_end_matches(['\n', '\r']);
            work::count(line.len());
            // Anything can stand before the first head: `out: id,password`, `<pre>id,password`.
            let tail = memchr::memchr3(b',', b';', b'|', content.as_bytes())
                .into_iter()
                .chain(memchr::memchr(b'\t', content.as_bytes()))
                .chain(content.find("  "))
                .min()
                .and_then(|first| content.as_bytes().get(first..));
            let may_be_head = tail.is_some_and(|tail| tail.iter().all(|byte| is_head_byte(*byte)));
            Line { range: start..start + content.len(), may_be_head }
        })
        .collect()
}

/// The signs of heads, of what divides them, and of what stands around them. A table, because every byte is looked at.
const IN_HEAD: [bool; 256] = {
    const SIGNS: &[u8] = b" _-.()/?#%+*,;\t|\"`\'[]";
    let mut table = [false; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = byte >= 0x80 || byte.is_ascii_alphanumeric();
        if byte == u8::MAX {
            break;
        }
        byte += 1;
    }
    let mut index = 0;
    while index < SIGNS.len() {
        table[SIGNS[index] as usize] = true;
        index += 1;
    }
    table
};

fn is_head_byte(byte: u8) -> bool {
    IN_HEAD.get(usize::from(byte)).copied().unwrap_or_default()
}

fn is_in_head(letter: char) -> bool {
    letter != '"' && u8::try_from(letter).map_or(true, is_head_byte)
}

fn is_secret_cell(Head { kind, goes_on }: Head, text: &str, cell: &Range<usize>) -> bool {
    let value = text.get(cell.clone()).unwrap_or_default();
    is_secret(kind, value, Setting::DELIMITED)
        && (is_odd(value)
            || is_random(value)
            || (!goes_on
                && matches!(kind, Kind::Password | Kind::Code)
                && value.len() >= 4
                && !value.contains(' ')))
}

/// What the cells of a line mean as heads of columns, if they can be that and one of them names a secret.
fn heads(text: &str, line: &str, cells: &[Range<usize>]) -> Option<Heads> {
    let mut names: Vec<&str> =
        cells.iter().map(|cell| text.get(Range::clone(cell)).unwrap_or_default()).collect();
    if let Some(first) = names.first_mut() {
        *first = first
            .rsplit(|letter: char| !is_in_head(letter) || letter == '+')
            .next()
            .unwrap_or(first)
            .trim_start();
    }
    let is_head = |name: &&str| {
        name.len() <= LONGEST_HEAD
            && name.split(' ').count() <= MOST_WORDS
            && name.starts_with(|letter: char| letter.is_alphabetic() || letter == '#')
    };
    // `name, email, password` with more words in it is a sentence.
    let is_prose = line.contains(", ") && names.iter().any(|name| name.contains(' '));
    if names.len() < 2 || is_prose || !names.iter().all(is_head) {
        return None;
    }
    let kinds: Heads = names.into_iter().map(Head::of).collect();
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
    // What stands before a row of Markdown is no cell of it.
    let is_framed = divider == "|" && row.trim_end().ends_with('|');
    let mut start = if is_framed { row.find('|').unwrap_or_default() } else { 0 };
    let mut quoted = false;
    for (at, letter) in row.char_indices() {
        // A quote inside of a cell begins nothing.
        if letter == '"' && (quoted || row.get(start..at).is_some_and(|before| before.trim().is_empty())) {
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
