//! Secrets in text tables: CSV, Markdown, and command output, where the header of a column names them.

use std::ops::Range;

use super::{
    secret_names::{Kind, classify},
    secrets::{Secrets, work},
    value::{Setting, is_random, is_secret, looks_like_password},
};
use crate::word_list::word_bytes;

/// Separators of cells.
const DIVIDERS: &[&str] = &[",", ";", "\t", "|", "  "];
/// A longer cell is not a column header.
const LONGEST_HEADER: usize = 40;
const MOST_WORDS: usize = 4;
/// A row can be the header of another table too; this many headers are kept, the first and the newest ones.
const MOST_HEADERS: usize = 4;

type Headers = Vec<Option<Header>>;

/// What the header of a column says about the cells below it.
#[derive(Clone, Copy)]
struct Header {
    kind: Kind,
    /// Whether more words follow the noun, as in `Password (initial)`.
    goes_on: bool,
}

impl Header {
    fn of(name: &str) -> Option<Self> {
        if let Some(kind) = classify(name) {
            return Some(Self { kind, goes_on: false });
        }
        // In a sentence other words follow a noun, but a header is an identifier.
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
    /// Whether it has only characters of headers and dividers.
    may_be_header: bool,
}

/// Finds the cells below headers that name secrets.
pub(super) fn find(text: &str, secrets: &mut Secrets) {
    let lines = lines(text);
    let Some(first) = lines.iter().position(|line| line.may_be_header) else { return };
    for divider in DIVIDERS {
        let mut above: Vec<Headers> = Vec::new();
        for Line { range: row, may_be_header } in lines.iter().skip(first) {
            if above.is_empty() && !may_be_header {
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
            let is_longer = |headers: &Headers| *divider == "|" && headers.len() + 1 == cells.len();
            above.retain(|headers| headers.len() == cells.len() || is_longer(headers));
            for headers in &above {
                let named = headers.iter().zip(&cells).filter_map(|(header, cell)| Some(((*header)?, cell)));
                let found = named.filter(|(header, cell)| is_secret_cell(*header, text, cell));
                secrets.ranges.extend(found.map(|(_, cell)| cell.clone()));
            }
            if let Some(headers) = headers(text, content, &cells).filter(|_| is_row && *may_be_header) {
                if above.len() == MOST_HEADERS {
                    // The first one stays: it is most likely the real header.
                    above.remove(1);
                }
                above.push(headers);
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
            // Anything can precede the first header: `out: id,password`, `<pre>id,password`.
            let tail = memchr::memchr3(b',', b';', b'|', content.as_bytes())
                .into_iter()
                .chain(memchr::memchr(b'\t', content.as_bytes()))
                .chain(content.find("  "))
                .min()
                .and_then(|first| content.as_bytes().get(first..));
            let may_be_header = tail.is_some_and(|tail| tail.iter().all(|byte| is_header_byte(*byte)));
            Line { range: start..start + content.len(), may_be_header }
        })
        .collect()
}

/// The characters of headers, dividers and quotes. A lookup table, because every byte is checked.
const IN_HEADER: [bool; 256] = word_bytes(b" _-.()/?#%+*,;\t|\"`'[]");

/// Bytes outside ASCII are letters of other languages.
fn is_header_byte(byte: u8) -> bool {
    !byte.is_ascii() || IN_HEADER.get(usize::from(byte)).copied().unwrap_or_default()
}

fn is_in_header(letter: char) -> bool {
    letter != '"' && u8::try_from(letter).map_or(true, is_header_byte)
}

fn is_secret_cell(Header { kind, goes_on }: Header, text: &str, cell: &Range<usize>) -> bool {
    let value = text.get(cell.clone()).unwrap_or_default();
    is_secret(kind, value, Setting::DELIMITED)
        && (looks_like_password(value)
            || is_random(value)
            || (!goes_on
                && matches!(kind, Kind::Password | Kind::Code)
                && value.len() >= 4
                && !value.contains(' ')))
}

/// The meaning of the cells of a line as column headers, if they can be headers and one of them names a secret.
fn headers(text: &str, line: &str, cells: &[Range<usize>]) -> Option<Headers> {
    let mut names: Vec<&str> =
        cells.iter().map(|cell| text.get(Range::clone(cell)).unwrap_or_default()).collect();
    if let Some(first) = names.first_mut() {
        *first = first
            .rsplit(|letter: char| !is_in_header(letter) || letter == '+')
            .next()
            .unwrap_or(first)
            .trim_start();
    }
    let is_header = |name: &&str| {
        name.len() <= LONGEST_HEADER
            && name.split(' ').count() <= MOST_WORDS
            && name.starts_with(|letter: char| letter.is_alphabetic() || letter == '#')
    };
    // `name, email, password` with more words in it is a sentence.
    let is_prose = line.contains(", ") && names.iter().any(|name| name.contains(' '));
    if names.len() < 2 || is_prose || !names.iter().all(is_header) {
        return None;
    }
    let kinds: Headers = names.into_iter().map(Header::of).collect();
    kinds.iter().any(Option::is_some).then_some(kinds)
}

/// Whether this is the line between the header and the rows of a table.
fn is_rule(line: &str) -> bool {
    line.contains("--") && line.bytes().all(|byte| matches!(byte, b'-' | b'+' | b'|' | b':' | b' ' | b'='))
}

/// The cells of a line without the spaces and quotes around them.
fn cells(text: &str, line: &Range<usize>, divider: &str) -> Vec<Range<usize>> {
    let row = text.get(line.clone()).unwrap_or_default();
    let mut cells = Vec::new();
    // Text before a Markdown row is not a cell.
    let is_framed = divider == "|" && row.trim_end().ends_with('|');
    let mut start = if is_framed { row.find('|').unwrap_or_default() } else { 0 };
    let mut quoted = false;
    for (at, letter) in row.char_indices() {
        // Only a quote at the start of a cell opens a quoted one.
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
    // Markdown rows begin and end with a divider, and several spaces count as one.
    let keeps_empty = !matches!(divider, "|" | "  ");
    trimmed.filter(|cell| keeps_empty || !cell.is_empty()).collect()
}
