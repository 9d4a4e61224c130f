//! Repeated members of JSON objects.
//!
//! JSON allows `{"a":1,"a":2}`, and its parsers disagree about what that means: some take the first value, most the last.
//! If such text passed, a check could read one value and the program behind it the other. From callers it is rejected
//! ([`find_repeated`]); from servers the last value counts and the text is rewritten ([`without_repeats`]), so that every
//! later parser sees the same. Names are compared after unescaping.

mod name;
mod objects;
mod rewrite;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use gateway_notation::pointer;
use serde::de::IgnoredAny;

use self::name::unescaped;
use self::objects::first_repeated;
use self::rewrite::rewritten;
use crate::printable::printable;
use crate::raw::RawJson;

/// A member that occurs twice in one object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct Repeated {
    /// The name of the member.
    pub member: String,
    /// The JSON Pointer of the object.
    pub object: String,
    /// Where the second one begins, in bytes from the start of the text.
    pub offset: usize,
}

/// Longer names and pointers are truncated in messages.
const SHOWN: usize = 200;

impl fmt::Display for Repeated {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let member = printable(&shortened(&self.member)).into_owned();
        match self.object.as_str() {
            "" => write!(formatter, "the member \"{member}\" is repeated in the outermost object")?,
            object => {
                let object = shortened(object);
                write!(
                    formatter,
                    "the member \"{member}\" is repeated in the object at {}",
                    printable(&object)
                )?;
            }
        }
        formatter.write_str("; send each member once")
    }
}

fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
    }
}

/// The first object with a repeated member, in the order in which objects end; `None` if there is none.
///
/// A text that is not JSON has no members: its parser will report that.
pub fn find_repeated(text: &[u8]) -> Option<Repeated> {
    let (open, name) = first_repeated(text)?;
    report(text, open, name)
}

/// The text with every member once: in the position of the first one, with the value of the last one. The same text,
/// shared, if nothing is repeated.
#[must_use]
pub fn without_repeats(text: &RawJson) -> RawJson {
    match first_repeated(text.as_bytes()) {
        None => text.clone(),
        Some(_) => rewritten(text.as_bytes()),
    }
}

/// For each entry, the index of the last one of the same name if it is the first of that name, else `None`; `None`
/// altogether if all names differ.
pub(crate) fn last_of_each<E, N: Ord + ?Sized>(
    entries: &[E],
    name: impl Fn(&E) -> &N,
) -> Option<Vec<Option<usize>>> {
    if are_few_and_differ(entries, |one, other| name(one) == name(other)) {
        return None;
    }
    let mut order: Vec<(&N, usize)> =
        entries.iter().enumerate().map(|(index, entry)| (name(entry), index)).collect();
    order.sort_unstable();
    let mut last: Vec<Option<usize>> = vec![None; entries.len()];
    let mut distinct = 0;
    for equal in order.chunk_by(|(one, _), (other, _)| one == other) {
        if let [(_, first), ..] = equal
            && let Some(kept) = last.get_mut(*first)
        {
            distinct += 1;
            *kept = equal.last().map(|(_, last)| *last);
        }
    }
    (distinct < entries.len()).then_some(last)
}

/// Whether no two of a few names are the same. More than a few are sorted, which is never quadratic.
fn are_few_and_differ<T>(names: &[T], is_same: impl Fn(&T, &T) -> bool) -> bool {
    const FEW: usize = 12;
    let is_repeated = |(index, name): (usize, &T)| names.iter().take(index).any(|other| is_same(other, name));
    names.len() <= FEW && !names.iter().enumerate().any(is_repeated)
}

/// The closing quote of a string whose content begins at `start`.
#[inline]
fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(quote) = text.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
        let end = at + quote;
        // A quote behind an odd number of backslashes is part of the string.
        let before = text.get(start..end).unwrap_or_default();
        if before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0 {
            return end;
        }
        at = end + 1;
    }
    text.len()
}

#[inline]
fn skip_space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// The report of a repeated name; `None` if the text is not JSON, where braces and quotes mean nothing.
#[cold]
fn report(text: &[u8], open: usize, name: Range<usize>) -> Option<Repeated> {
    serde_json::from_slice::<IgnoredAny>(text).ok()?;
    let offset = name.start.saturating_sub(1);
    let member = String::from_utf8_lossy(&unescaped(text.get(name)?)).into_owned();
    Some(Repeated { member, object: pointer_to(text, open), offset })
}

/// The JSON Pointer of the value that begins at `target`.
fn pointer_to(text: &[u8], target: usize) -> String {
    enum Step<'a> {
        Member(&'a [u8]),
        Item(usize),
    }
    let mut path: Vec<Step<'_>> = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.get(at).filter(|_| at < target) {
        match byte {
            b'{' => path.push(Step::Member(b"")),
            b'[' => path.push(Step::Item(0)),
            b'}' | b']' => drop(path.pop()),
            b',' => {
                if let Some(Step::Item(index)) = path.last_mut() {
                    *index += 1;
                }
            }
            b'"' => {
                let end = string_end(text, at + 1);
                if let Some(Step::Member(name)) = path.last_mut()
                    && text.get(skip_space(text, end + 1)) == Some(&b':')
                {
                    *name = text.get(at + 1..end).unwrap_or_default();
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    let mut text = String::new();
    for step in path {
        match step {
            Step::Item(index) => pointer::push(&mut text, &index.to_string()),
            Step::Member(name) => pointer::push(&mut text, &String::from_utf8_lossy(&unescaped(name))),
        }
    }
    text
}
