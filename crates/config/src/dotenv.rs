//! `.env` files.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::geteuid;

use crate::text_file::{open_unblocked, read_handle};

/// Reads the variables of a `.env` file. Lines that make no sense are passed over, as every reader of such files does.
///
/// `NAME=value`, with `export` before it or not. Values may stand in quotes and then go over several lines; in double
/// quotes `\n`, `\r`, `\t`, `\"`, `\\` and `\$` are escapes. `#` begins a comment at the start of a line or after a space.
/// Of two lines with one name the first counts.
pub fn parse(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = after;
        let Some((name, value)) = assignment(line) else { continue };
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => quoted(value, after, quote),
            _ => (unquoted(value).to_owned(), after),
        };
        rest = after;
        found.entry(name.to_owned()).or_insert(value);
    }
    found
}

/// The name and what stands after `=`, without spaces around it.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    let name = match name.strip_prefix("export") {
        Some(after) if after.starts_with(char::is_whitespace) => after.trim_start(),
        _ => name,
    };
    let mut letters = name.chars();
    let starts_well = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_');
    let goes_on_well = letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    (starts_well && goes_on_well).then(|| (name, value.trim_start()))
}

fn unquoted(value: &str) -> &str {
    let comment = value
        .char_indices()
        .zip(value.chars().skip(1))
        .find(|((_, before), letter)| *letter == '#' && before.is_whitespace());
    let value = comment.map_or(value, |((index, _), _)| value.get(..index).unwrap_or(value));
    if value.starts_with('#') { "" } else { value.trim_end() }
}

/// A value that begins with a quote, and what comes after its line.
fn quoted<'a>(value: &str, after: &'a str, quote: char) -> (String, &'a str) {
    let opened = value.get(quote.len_utf8()..).unwrap_or_default();
    if let Some((inside, _)) = until_quote(opened, quote) {
        return (inside, after);
    }
    // The line end that `split_once` took away belongs to the value.
    let joined = format!("{opened}\n{after}");
    match until_quote(&joined, quote) {
        Some((inside, used)) => {
            let used = used.saturating_sub(opened.len() + 1);
            let rest = after.get(used..).unwrap_or_default();
            (inside, rest.split_once('\n').map_or("", |(_, rest)| rest))
        }
        // Never closed: the quote is a part of the value.
        None => (value.to_owned(), after),
    }
}

/// The text up to the closing quote, and the index after it.
fn until_quote(text: &str, quote: char) -> Option<(String, usize)> {
    let mut inside = String::new();
    let mut letters = text.char_indices();
    while let Some((index, letter)) = letters.next() {
        match letter {
            letter if letter == quote => return Some((inside, index + quote.len_utf8())),
            '\r' => {}
            '\\' if quote == '"' => match letters.next()?.1 {
                'n' => inside.push('\n'),
                'r' => inside.push('\r'),
                't' => inside.push('\t'),
                same @ ('"' | '\\' | '$') => inside.push(same),
                other => inside.extend(['\\', other]),
            },
            letter => inside.push(letter),
        }
    }
    None
}

/// Reads a `.env` file that nobody named: only if nobody else can have put it there or can change it. Its owner must be our
/// user, root, or the owner of its directory, who could replace it anyway.
pub(crate) fn read_trusted(path: &Path) -> io::Result<String> {
    let file = open_unblocked(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let directory = std::fs::metadata(directory.unwrap_or(Path::new(".")))?;
    // A link is judged beside what it points to.
    for metadata in [&metadata, &std::fs::symlink_metadata(path)?] {
        if let Some(reason) = distrust(metadata, directory.uid()) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
    }
    read_handle(&file)
}

fn distrust(metadata: &Metadata, directory_owner: u32) -> Option<String> {
    let owner = metadata.uid();
    if ![geteuid().as_raw(), 0, directory_owner].contains(&owner) {
        return Some(format!("it belongs to another user ({owner}); take it over or remove it"));
    }
    let is_link = metadata.is_symlink();
    if !is_link && !metadata.is_file() {
        return Some("it is no regular file".to_owned());
    }
    // The permissions of links mean nothing.
    (!is_link && metadata.mode() & 0o002 != 0)
        .then(|| "everybody may write to it; take that right away (chmod o-w)".to_owned())
}
