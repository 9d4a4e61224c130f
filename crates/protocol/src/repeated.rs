//! Repeated members of JSON objects.
//!
//! JSON allows `{"a":1,"a":2}`, and its parsers disagree about what that means: some take the first value, most the last.
//! If such text passed, a check could read one value and the program behind it the other. From callers it is rejected
//! ([`find_repeated`]); from servers the last value counts and the text is rewritten ([`without_repeats`]), so that every
//! later parser sees the same. Names are compared after unescaping.

mod name;
mod rewrite;
mod wide;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::ControlFlow;

use gateway_notation::pointer;
use serde::de::IgnoredAny;

use self::name::{compare, unescaped};
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
    let is_repeated = |(index, entry): (usize, &E)| {
        let earlier = entries.get(..index).unwrap_or_default();
        earlier.iter().any(|other| name(other) == name(entry))
    };
    if entries.len() <= FEW && !entries.iter().enumerate().any(is_repeated) {
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

/// Up to this many names are compared with each other; more are sorted, which is never quadratic.
const FEW: usize = 12;

/// A name between its quotes; or, before the names of an object, its opening brace and where the names of the object
/// around it begin. So one list serves all objects that are open.
#[derive(Clone, Copy, Default)]
struct Name {
    start: usize,
    end: usize,
}

/// An object that ends.
struct Object<'a> {
    text: &'a [u8],
    names: &'a [Name],
    /// Where its opening brace is.
    open: usize,
    /// Whether names may have escapes.
    escaped: bool,
}

/// The first object with a repeated member, in the order in which objects end: its opening brace and the name.
fn first_repeated(text: &[u8]) -> Option<(usize, Name)> {
    match scan(text, &mut [Name::default(); 24], &mut first_repeat) {
        Scan::Over => None,
        Scan::Found(found) => Some(found),
        Scan::Full => first_repeated_of_more(text),
    }
}

/// The same for texts with more names than most. Starting over is cheap, as there is room for many more each time.
#[cold]
fn first_repeated_of_more(text: &[u8]) -> Option<(usize, Name)> {
    match scan(text, &mut vec![Name::default(); 512], &mut first_repeat) {
        Scan::Over => None,
        Scan::Found(found) => Some(found),
        Scan::Full => wide::first_repeated(text),
    }
}

#[inline]
fn first_repeat(object: &Object<'_>) -> ControlFlow<(usize, Name)> {
    match object.first_repeat() {
        Some(name) => ControlFlow::Break((object.open, name)),
        None => ControlFlow::Continue(()),
    }
}

enum Scan<B> {
    Over,
    Found(B),
    /// Open objects have more names than there is room for.
    Full,
}

/// Arrays need no attention: a string before a colon is a name, and any other is not.
#[inline]
fn scan<B>(
    text: &[u8],
    names: &mut [Name],
    visit: &mut impl FnMut(&Object<'_>) -> ControlFlow<B>,
) -> Scan<B> {
    // How many names there are, and where those of the innermost object begin.
    let (mut count, mut first) = (0, 0);
    let mut escapes = 0;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let start = at;
                let end = string_end(text, start, &mut escapes);
                at = skip_space(text, end + 1);
                if text.get(at) == Some(&b':') {
                    let Some(name) = names.get_mut(count) else { return Scan::Full };
                    *name = Name { start, end };
                    count += 1;
                    at += 1;
                }
            }
            b'{' => {
                let Some(name) = names.get_mut(count) else { return Scan::Full };
                *name = Name { start: at - 1, end: first };
                count += 1;
                first = count;
            }
            b'}' => {
                // An unmatched brace: not JSON.
                let Some([marker, own @ ..]) = names.get(first.wrapping_sub(1)..count) else {
                    return Scan::Over;
                };
                if own.len() > 1 {
                    let object = Object { text, names: own, open: marker.start, escaped: escapes != 0 };
                    if let ControlFlow::Break(found) = visit(&object) {
                        return Scan::Found(found);
                    }
                }
                count = first - 1;
                first = marker.end;
            }
            _ => {}
        }
    }
    Scan::Over
}

impl<'a> Object<'a> {
    /// The first name that occurred before.
    #[inline]
    fn first_repeat(&self) -> Option<Name> {
        if self.names.len() > FEW
            || (self.escaped && self.names.iter().any(|name| self.raw(*name).contains(&b'\\')))
        {
            return self.first_repeat_of_many();
        }
        let mut rest = self.names;
        while let [earlier @ .., name] = rest {
            let length = name.end - name.start;
            for other in earlier {
                if other.end - other.start == length && self.raw(*other) == self.raw(*name) {
                    return Some(*name);
                }
            }
            rest = earlier;
        }
        None
    }

    #[cold]
    fn first_repeat_of_many(&self) -> Option<Name> {
        let mut order = self.names.to_vec();
        let by_name = |one: &Name, other: &Name| compare(self.raw(*one), self.raw(*other));
        order.sort_unstable_by(|one, other| by_name(one, other).then(one.start.cmp(&other.start)));
        let repeats = order.windows(2).filter_map(|pair| match pair {
            [one, other] if by_name(one, other) == Ordering::Equal => Some(*other),
            _ => None,
        });
        repeats.min_by_key(|name| name.start)
    }

    fn raw(&self, name: Name) -> &'a [u8] {
        self.text.get(name.start..name.end).unwrap_or_default()
    }
}

/// The closing quote of a string whose content begins at `at`. `escapes` is not 0 after a backslash, and may be
/// so without one.
#[inline]
fn string_end(text: &[u8], mut at: usize, escapes: &mut u64) -> usize {
    // The high bit of each byte of a word that is zero; bytes after the first such one may be marked in error.
    let zeros =
        |word: u64| word.wrapping_sub(u64::from_ne_bytes([0x01; 8])) & !word & u64::from_ne_bytes([0x80; 8]);
    let start = at;
    // Eight bytes at once, as most strings are ordinary text.
    while let Some(eight) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*eight);
        *escapes |= zeros(word ^ u64::from_ne_bytes([b'\\'; 8]));
        let quotes = zeros(word ^ u64::from_ne_bytes([b'"'; 8]));
        if quotes != 0 {
            at += usize::try_from(quotes.trailing_zeros() / 8).unwrap_or(0);
            // Only a quote after a backslash may be part of the string.
            if text.get(at.wrapping_sub(1)) != Some(&b'\\') {
                return at;
            }
            break;
        }
        at += 8;
    }
    string_end_bytewise(text, start, escapes)
}

fn string_end_bytewise(text: &[u8], mut at: usize, escapes: &mut u64) -> usize {
    loop {
        match text.get(at) {
            None => return text.len(),
            Some(b'"') => return at,
            Some(b'\\') => {
                *escapes = 1;
                at += 2;
            }
            Some(_) => at += 1,
        }
    }
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
fn report(text: &[u8], open: usize, name: Name) -> Option<Repeated> {
    serde_json::from_slice::<IgnoredAny>(text).ok()?;
    let member = unescaped(text.get(name.start..name.end)?);
    Some(Repeated {
        member: String::from_utf8_lossy(&member).into_owned(),
        object: pointer_to(text, open),
        offset: name.start.saturating_sub(1),
    })
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
                let end = string_end(text, at + 1, &mut 0);
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
