//! The objects of a text, in four bytes for each name that is open.
//!
//! A message of many megabytes may be nothing but names. Here a name is the position of its opening quote, and all open
//! objects share one list, so that the list is never longer than the message by more than a factor of two.

use std::cmp::Ordering;
use std::ops::{ControlFlow, Range};

use super::name::compare;
use super::{are_few_and_differ, skip_space, string_end};

/// A position in a text: four bytes where that is enough.
pub(super) trait Position: Copy + Ord {
    /// Absent if the text is too long for this type.
    fn new(at: usize) -> Option<Self>;
    fn at(self) -> usize;
}

impl Position for u32 {
    fn new(at: usize) -> Option<Self> {
        Self::try_from(at).ok()
    }

    fn at(self) -> usize {
        usize::try_from(self).unwrap_or(usize::MAX)
    }
}

impl Position for usize {
    fn new(at: usize) -> Option<Self> {
        Some(at)
    }

    fn at(self) -> usize {
        self
    }
}

/// Whether four bytes are enough for every position in a text.
pub(super) fn is_short(text: &[u8]) -> bool {
    u32::try_from(text.len()).is_ok()
}

/// An object that ends.
pub(super) struct Members<'a, P> {
    pub(super) text: &'a [u8],
    /// The opening quotes of its names, in the order of the text.
    pub(super) names: &'a mut [P],
    /// Where its braces are.
    open: usize,
    close: usize,
}

/// The first object with a repeated member, in the order in which objects end: its opening brace and the name.
pub(super) fn first_repeated(text: &[u8]) -> Option<(usize, Range<usize>)> {
    if is_short(text) {
        each_object::<u32, _>(text, first_repeat)
    } else {
        each_object::<usize, _>(text, first_repeat)
    }
}

fn first_repeat<P: Position>(members: &mut Members<'_, P>) -> ControlFlow<(usize, Range<usize>)> {
    if are_few_and_differ(members.names, |one, other| members.compare(*one, *other) == Ordering::Equal) {
        return ControlFlow::Continue(());
    }
    members.sort_by_name();
    let repeats = members.names.windows(2).filter_map(|pair| match pair {
        [one, other] if members.compare(*one, *other) == Ordering::Equal => Some(*other),
        _ => None,
    });
    let Some(first) = repeats.min() else { return ControlFlow::Continue(()) };
    let start = first.at() + 1;
    ControlFlow::Break((members.open, start..string_end(members.text, start)))
}

/// Visits every object with more than one member, inner ones first. A visitor may reorder the names: they are not
/// used again.
pub(super) fn each_object<P: Position, B>(
    text: &[u8],
    mut visit: impl FnMut(&mut Members<'_, P>) -> ControlFlow<B>,
) -> Option<B> {
    let mut open: Vec<P> = room(text);
    for (token, at) in Tokens::of(text) {
        if token != Token::Close {
            open.push(P::new(at)?);
            continue;
        }
        // The names of the innermost object are behind its brace. An unmatched brace: not JSON.
        let brace = open.iter().rposition(|position| text.get(position.at()) == Some(&b'{'))?;
        let (outer, names) = open.split_at_mut(brace + 1);
        if names.len() > 1
            && let Some(start) = outer.last()
            && let ControlFlow::Break(found) =
                visit(&mut Members { text, names, open: start.at(), close: at })
        {
            return Some(found);
        }
        open.truncate(brace);
    }
    None
}

/// Texts of so many bytes have room for all their names from the start: counting them costs less than growing.
const LONG: usize = 256 << 10;

/// Positions that most messages have at once, at most.
const USUAL: usize = 16;

/// Room for as many positions as a long text can have at once.
fn room<P: Position>(text: &[u8]) -> Vec<P> {
    if text.len() < LONG {
        return Vec::with_capacity(USUAL);
    }
    Vec::with_capacity(Tokens::of(text).filter(|(token, _)| *token != Token::Close).count())
}

impl<P: Position> Members<'_, P> {
    /// Brings equal names together, each in the order of the text.
    pub(super) fn sort_by_name(&mut self) {
        let text = self.text;
        self.names.sort_unstable_by(|one, other| compare_at(text, *one, *other).then(one.cmp(other)));
    }

    pub(super) fn sort_by_position(&mut self) {
        self.names.sort_unstable();
    }

    pub(super) fn compare(&self, one: P, other: P) -> Ordering {
        compare_at(self.text, one, other)
    }

    /// Where the member of a name ends: at the comma before the next one, or at the closing brace. Names have to be in the
    /// order of the text.
    pub(super) fn end_of(&self, name: P) -> usize {
        let next = self.names.partition_point(|other| *other <= name);
        self.names.get(next).map_or(self.close, |next| comma_before(self.text, next.at()))
    }
}

fn compare_at<P: Position>(text: &[u8], one: P, other: P) -> Ordering {
    let name = |position: P| text.get(position.at() + 1..).unwrap_or_default();
    compare(name(one), name(other))
}

/// The comma before a name that is not the first of its object.
pub(super) fn comma_before(text: &[u8], quote: usize) -> usize {
    text.get(..quote).unwrap_or_default().trim_ascii_end().len().saturating_sub(1)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Open,
    Close,
    Name,
}

/// Braces and names, each with its position; up to where the text is certainly not JSON.
struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    fn of(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }
}

impl Iterator for Tokens<'_> {
    type Item = (Token, usize);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let at = self.at;
            self.at += 1;
            match self.text.get(at)? {
                b'"' => {
                    let end = string_end(self.text, at + 1);
                    self.at = skip_space(self.text, end + 1);
                    if self.text.get(self.at) == Some(&b':') {
                        self.at += 1;
                        return Some((Token::Name, at));
                    }
                }
                b'{' => {
                    // Otherwise a text of nothing but braces would take four times its length.
                    let next = self.text.get(skip_space(self.text, self.at));
                    return matches!(next, Some(b'"' | b'}')).then_some((Token::Open, at));
                }
                b'}' => return Some((Token::Close, at)),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rewrite::edits;
    use super::*;

    /// Bytes of the list for a text, and of its longest possible content.
    #[track_caller]
    fn check(text: &str, most: usize) {
        let bytes = room::<u32>(text.as_bytes()).capacity() * size_of::<u32>();
        assert!(bytes <= most, "{bytes} bytes for a text of {}", text.len());
    }

    fn object(members: impl Iterator<Item = String>) -> String {
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }

    #[test]
    fn names_are_compared_after_unescaping() {
        let names = [
            "a",
            "b",
            "\\u0061",
            "A",
            "",
            "\\ud83d\\ude00",
            "😀",
            "\\ud83d",
            "\\n",
            "\\\\n",
            "aa",
            "\\u0061a",
            "\\\"",
        ];
        let mut repeats = 0;
        for one in names {
            for other in names {
                let text = format!(r#"{{"x":[{{"{one}" : {{}},"y":"{{","{other}":1}}]}}"#);
                let found = first_repeated(text.as_bytes());
                let second = text.len() - 6 - other.len();
                assert!(
                    found.as_ref().is_none_or(|found| *found == (6, second..second + other.len())),
                    "{text}"
                );
                repeats += usize::from(found.is_some());
            }
        }
        // Thirteen with themselves, and three pairs with two spellings.
        assert_eq!(repeats, names.len() + 2 * 3);
    }

    #[test]
    fn positions_take_at_most_twice_the_text() {
        let wide = object((0..270_000).map(|number| format!("\"{number:06}\":1")));
        check(&wide, wide.len() / 2);
        let empty = object((0..100_000).map(|_| "\"\":0".to_owned()));
        check(&empty, empty.len());
        let deep = format!("{}0{}", "{\"\":".repeat(100_000), "}".repeat(100_000));
        check(&deep, deep.len() * 2);
        let small = format!("[{}0]", "{},".repeat(100_000));
        check(&small, small.len() * 2);
        for no_json in ["{", "{\"", "{\"\"", "{\"a\":", "[{", "\"\":"] {
            let text = no_json.repeat(100_000);
            check(&text, text.len() * 2);
        }
    }

    #[test]
    fn the_edits_of_a_rewrite_take_at_most_twice_the_text() {
        let pairs = object((0..270_000).map(|number| format!("\"{:06}\":1", number / 2)));
        let list = edits::<u32>(pairs.as_bytes());
        assert_eq!(list.len(), 270_000);
        let bytes = list.capacity() * size_of_val(list.first().unwrap());
        assert!(bytes <= pairs.len() * 2, "{bytes} bytes for a text of {}", pairs.len());
    }
}
