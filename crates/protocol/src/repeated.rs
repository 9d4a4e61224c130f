//! Repeated members of JSON objects.
//!
//! JSON allows `{"a":1,"a":2}`, and its readers disagree about what that means: some take the first value, most the last.
//! Nothing of the kind may pass, or a check reads one value and the program behind it the other. What callers send is
//! refused ([`find_repeated`]); in what servers send the last value counts and the text is rewritten
//! ([`without_repeats`]), so that every later reader sees the same. Names are compared after unescaping.

use std::borrow::Cow;
use std::fmt;
use std::ops::{ControlFlow, Range};

use serde::de::IgnoredAny;

use crate::printable::printable;
use crate::raw::RawJson;

/// A member that stands twice in one object.
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

/// More of a name or a pointer helps nobody.
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
/// A text that is no JSON has no members: whoever reads it finds out.
pub fn find_repeated(text: &[u8]) -> Option<Repeated> {
    let (open, name) = each_object(text, |object| match object.first_repeat() {
        Some(name) => ControlFlow::Break((object.open, name)),
        None => ControlFlow::Continue(()),
    })?;
    report(text, open, name)
}

/// The text with every member once: in the position of the first one, with the value of the last one. The text itself,
/// shared, if it is so already.
#[must_use]
pub fn without_repeats(text: &RawJson) -> RawJson {
    let bytes = text.as_bytes();
    if each_object(bytes, |object| match object.first_repeat() {
        Some(_) => ControlFlow::Break(()),
        None => ControlFlow::Continue(()),
    })
    .is_none()
    {
        return text.clone();
    }
    rewritten(bytes)
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

/// So many names are compared with each other; more are sorted, which is never quadratic.
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
    /// Where its braces are.
    open: usize,
    close: usize,
    /// Whether names may have escapes.
    escaped: bool,
}

/// Visits every object with more than one member, inner ones first.
fn each_object<B>(text: &[u8], mut visit: impl FnMut(&Object<'_>) -> ControlFlow<B>) -> Option<B> {
    match scan(text, &mut [Name::default(); 24], &mut visit) {
        Scan::Over => None,
        Scan::Found(found) => Some(found),
        Scan::Full => each_of_many(text, visit),
    }
}

/// The same for texts with more names than most. Starting again costs little, as there is room for many more each time.
#[cold]
fn each_of_many<B>(text: &[u8], mut visit: impl FnMut(&Object<'_>) -> ControlFlow<B>) -> Option<B> {
    let mut room = 512;
    loop {
        match scan(text, &mut vec![Name::default(); room], &mut visit) {
            Scan::Over => return None,
            Scan::Found(found) => return Some(found),
            Scan::Full => room *= 8,
        }
    }
}

enum Scan<B> {
    Over,
    Found(B),
    /// More names stand in open objects than there is room for.
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
                // A brace that was never opened: no JSON.
                let Some([marker, own @ ..]) = names.get(first.wrapping_sub(1)..count) else {
                    return Scan::Over;
                };
                if own.len() > 1 {
                    let object =
                        Object { text, names: own, open: marker.start, close: at - 1, escaped: escapes != 0 };
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
    /// A name that stood there before.
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
        let names = self.unescaped();
        let mut order: Vec<(&[u8], usize)> =
            names.iter().enumerate().map(|(index, name)| (name.as_ref(), index)).collect();
        order.sort_unstable();
        let repeats = order.windows(2).filter_map(|pair| match pair {
            [(one, _), (other, index)] if one == other => Some(*index),
            _ => None,
        });
        self.names.get(repeats.min()?).copied()
    }

    fn raw(&self, name: Name) -> &'a [u8] {
        self.text.get(name.start..name.end).unwrap_or_default()
    }

    fn unescaped(&self) -> Vec<Cow<'a, [u8]>> {
        self.names.iter().map(|name| unescaped(self.raw(*name))).collect()
    }

    /// The member from the comma before it to the comma or the brace after it. Not for the first one, which has no comma.
    fn member(&self, index: usize) -> Range<usize> {
        self.comma_before(index)..self.comma_before(index + 1)
    }

    fn value(&self, index: usize) -> Range<usize> {
        let colon = self.names.get(index).map_or(self.close, |name| skip_space(self.text, name.end + 1));
        colon + 1..self.comma_before(index + 1)
    }

    /// The comma before a member, or the closing brace where there is no such member.
    fn comma_before(&self, index: usize) -> usize {
        let Some(name) = self.names.get(index) else { return self.close };
        let before = self.text.get(..name.start.saturating_sub(1)).unwrap_or_default();
        before.trim_ascii_end().len().saturating_sub(1)
    }
}

/// The closing quote of a string whose content begins at `at`. `escapes` is another number than 0 after a backslash, and
/// may be without one.
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

/// A name without escapes. Halves of pairs that stand alone have no UTF-8; they get the bytes that it would have for them,
/// so that equal names are equal.
fn unescaped(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.contains(&b'\\') {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        let [letter, after @ ..] = rest else { break };
        rest = after;
        match letter {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => {
                let Some((unit, after)) = code_unit(rest) else { continue };
                rest = after;
                let low = match rest {
                    [b'\\', b'u', after @ ..] if (0xD800..0xDC00).contains(&unit) => {
                        code_unit(after).filter(|(low, _)| (0xDC00..0xE000).contains(low))
                    }
                    _ => None,
                };
                let code = match low {
                    Some((low, after)) => {
                        rest = after;
                        0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
                    }
                    None => unit,
                };
                push_code(&mut out, code);
            }
            other => out.push(*other),
        }
    }
    Cow::Owned(out)
}

fn code_unit(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let unit = digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))?;
    Some((unit, rest))
}

fn push_code(out: &mut Vec<u8>, code: u32) {
    match char::from_u32(code) {
        Some(letter) => out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        // A lone surrogate: three bytes, as for its neighbours.
        None => out.extend(
            [0xE0 | (code >> 12), 0x80 | ((code >> 6) & 0x3F), 0x80 | (code & 0x3F)]
                .into_iter()
                .filter_map(|byte| u8::try_from(byte).ok()),
        ),
    }
}

/// What is reported of a repeated name; nothing if the text is no JSON, where braces and quotes mean nothing.
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
    let mut pointer = String::new();
    for step in path {
        pointer.push('/');
        match step {
            Step::Item(index) => pointer.push_str(&index.to_string()),
            Step::Member(name) => {
                let name = unescaped(name);
                pointer.push_str(&String::from_utf8_lossy(&name).replace('~', "~0").replace('/', "~1"));
            }
        }
    }
    pointer
}

/// A part of the text, and the part that takes its place.
struct Edit {
    from: Range<usize>,
    to: Range<usize>,
}

#[cold]
fn rewritten(text: &[u8]) -> RawJson {
    let mut edits: Vec<Edit> = Vec::new();
    let mut room = 512;
    loop {
        let names = &mut vec![Name::default(); room];
        let scanned = scan(text, names, &mut |object| {
            note_edits(object, &mut edits);
            ControlFlow::Continue(())
        });
        match scanned {
            Scan::Over | Scan::Found(()) => break,
            Scan::Full => {
                room *= 8;
                edits.clear();
            }
        }
    }
    edits.sort_unstable_by_key(|edit| edit.from.start);
    let mut out = Vec::with_capacity(text.len());
    // Parts that are still to be written, the next one last. What an edit takes away is passed over with all edits in it, and
    // what it puts there stands in a part that another edit takes away, so nothing is written twice.
    let mut parts = vec![0..text.len()];
    while let Some(part) = parts.pop() {
        let next = edits.partition_point(|edit| edit.from.start < part.start);
        match edits.get(next).filter(|edit| edit.from.start < part.end) {
            None => out.extend_from_slice(text.get(part).unwrap_or_default()),
            Some(edit) => {
                out.extend_from_slice(text.get(part.start..edit.from.start).unwrap_or_default());
                parts.push(edit.from.end..part.end);
                parts.push(edit.to.clone());
            }
        }
    }
    RawJson::trusted(out.into())
}

/// Adds what makes every member of an object stand once.
fn note_edits(object: &Object<'_>, edits: &mut Vec<Edit>) {
    let Some(last) = last_of_each(&object.unescaped(), |name| name) else { return };
    for (index, last) in last.into_iter().enumerate() {
        match last {
            Some(last) if last == index => {}
            Some(last) => edits.push(Edit { from: object.value(index), to: object.value(last) }),
            None => {
                let gone = object.member(index);
                match edits.last_mut() {
                    // A long row of repeats is one edit.
                    Some(edit) if edit.to.is_empty() && edit.from.end == gone.start => {
                        edit.from.end = gone.end;
                    }
                    _ => edits.push(Edit { from: gone, to: 0..0 }),
                }
            }
        }
    }
}
