//! What a regular expression uses, so that a dialect can say which ones it takes.

use std::iter::Peekable;
use std::str::Chars;

use serde::{Deserialize, Serialize};

/// Which regular expressions are taken, each style fewer than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PatternStyle {
    /// Any.
    #[default]
    Any,
    /// Those that Python's `re` compiles.
    Python,
    /// Those of Python's that a finite automaton matches: without look-around, back-references, borders of words and anchors in
    /// the middle.
    NoLookaround,
    /// Those of the last that need no flags and no line ends in classes.
    Simple,
}

/// Whether a dialect takes `pattern`.
pub(crate) fn takes(style: PatternStyle, pattern: &str) -> bool {
    if style == PatternStyle::Any {
        return true;
    }
    let found = features(pattern);
    found.python
        && (style < PatternStyle::NoLookaround || found.regular)
        && (style < PatternStyle::Simple || found.plain)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Features {
    /// Python's `re` compiles it.
    python: bool,
    /// A finite automaton matches it, and what compiles it for grammars reads it as Python does: nothing that looks around
    /// or back, no anchor in the middle, no literal braces, no classes within classes.
    regular: bool,
    /// Nothing that some of those compilers lack: flags, line ends inside a class, a class that begins with `]`.
    plain: bool,
}

fn features(pattern: &str) -> Features {
    let mut reader = Reader {
        rest: pattern.chars().peekable(),
        open: Vec::new(),
        groups: 0,
        begun: false,
        reach: Reach::default(),
        found: Features { python: true, regular: true, plain: true },
    };
    if reader.read().is_none() || !reader.open.is_empty() {
        reader.found.python = false;
    }
    reader.found
}

#[derive(Default)]
struct Group {
    number: Option<usize>,
    lookbehind: bool,
    /// Whether some part of it can repeat a varying number of times.
    varying: bool,
    /// How far things were where it opened.
    outer: Reach,
    /// Whether it holds an anchor so far, and whether one of its alternatives ends in `$`.
    anchored: bool,
    ended: bool,
}

struct Reader<'p> {
    rest: Peekable<Chars<'p>>,
    open: Vec<Group>,
    groups: usize,
    /// Whether anything was read.
    begun: bool,
    reach: Reach,
    found: Features,
}

/// How far an alternative is.
#[derive(Clone, Copy, Default)]
struct Reach {
    /// Something may have been matched, so `^` would stand in the middle.
    matched: bool,
    /// A `$` stands before, so nothing may follow.
    ended: bool,
    /// What stands directly before holds an anchor, so it may not be repeated.
    anchored: bool,
}

/// What stands before a quantifier.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Item,
    Quantifier,
}

impl Reader<'_> {
    /// Reads to the end; `None` where Python would refuse.
    fn read(&mut self) -> Option<()> {
        let mut before = Before::Nothing;
        while let Some(char) = self.rest.next() {
            before = match char {
                '\\' => self.escape()?,
                '[' => {
                    self.class()?;
                    self.item()
                }
                '(' => self.group()?,
                ')' => self.close()?,
                '|' => {
                    self.branch();
                    Before::Nothing
                }
                '^' => {
                    self.found.regular &= !self.reach.matched && !self.reach.ended;
                    self.anchor();
                    Before::Nothing
                }
                '$' => {
                    self.reach.ended = true;
                    self.anchor();
                    Before::Nothing
                }
                '*' | '+' | '?' => {
                    if before == Before::Nothing {
                        return None;
                    }
                    if before == Before::Quantifier {
                        // Lazy and possessive forms; `**` is refused.
                        if char == '*' {
                            return None;
                        }
                        self.found.regular &= char == '?';
                        Before::Item
                    } else {
                        self.repeated();
                        Before::Quantifier
                    }
                }
                '{' => match self.counted()? {
                    None => {
                        self.found.regular = false;
                        self.item()
                    }
                    Some(fixed) => {
                        if before != Before::Item {
                            return None;
                        }
                        if fixed {
                            self.found.regular &= !self.reach.anchored;
                        } else {
                            self.repeated();
                        }
                        Before::Quantifier
                    }
                },
                _ => self.item(),
            };
            self.begun = true;
        }
        Some(())
    }

    /// Something that matches stands here.
    fn item(&mut self) -> Before {
        self.found.regular &= !self.reach.ended;
        self.reach.matched = true;
        self.reach.anchored = false;
        Before::Item
    }

    /// An anchor stands here: neither it nor a group that holds it may be repeated.
    fn anchor(&mut self) {
        self.reach.anchored = true;
        if let Some(group) = self.open.last_mut() {
            group.anchored = true;
        }
    }

    /// After a quantifier that admits several counts.
    fn repeated(&mut self) {
        self.found.regular &= !self.reach.anchored;
        if let Some(group) = self.open.last_mut() {
            group.varying = true;
        }
    }

    /// After `|`.
    fn branch(&mut self) {
        let start = match self.open.last_mut() {
            None => Reach::default(),
            Some(group) => {
                group.ended |= self.reach.ended;
                group.outer
            }
        };
        self.reach = start;
    }

    /// After `)`.
    fn close(&mut self) -> Option<Before> {
        let group = self.open.pop()?;
        if group.lookbehind && group.varying {
            return None;
        }
        if let Some(outer) = self.open.last_mut() {
            outer.varying |= group.varying;
            outer.anchored |= group.anchored;
        }
        self.reach =
            Reach { matched: true, ended: group.ended || self.reach.ended, anchored: group.anchored };
        Some(Before::Item)
    }

    /// After `\` outside a class.
    fn escape(&mut self) -> Option<Before> {
        let char = self.rest.next()?;
        match char {
            'b' | 'B' | 'A' | 'Z' => {
                self.found.regular = false;
                return Some(Before::Nothing);
            }
            '1'..='9' => {
                self.found.regular = false;
                let mut number = char.to_digit(10)? as usize;
                if let Some(digit) = self.rest.peek().and_then(|next| next.to_digit(10)) {
                    number = number * 10 + digit as usize;
                    self.rest.next();
                }
                let is_open = self.open.iter().any(|group| group.number == Some(number));
                if number > self.groups || is_open {
                    return None;
                }
            }
            _ => self.literal_escape(char)?,
        }
        Some(self.item())
    }

    /// Escapes that mean one character or one class of characters.
    fn literal_escape(&mut self, char: char) -> Option<()> {
        match char {
            'x' => self.hexadecimal(2),
            'u' => self.hexadecimal(4),
            'U' => self.hexadecimal(8),
            'd' | 'D' | 's' | 'S' | 'w' | 'W' | 'f' | 'n' | 'r' | 't' | 'v' => Some(()),
            'a' | '0'..='9' | '<' | '>' => {
                // A bell, an octal number; borders of words elsewhere.
                self.found.regular = false;
                Some(())
            }
            _ if char.is_ascii_alphabetic() => None,
            _ => {
                self.found.regular &= char.is_ascii();
                Some(())
            }
        }
    }

    fn hexadecimal(&mut self, digits: usize) -> Option<()> {
        let mut number = 0;
        for _ in 0..digits {
            number = number * 16 + self.rest.next()?.to_digit(16)?;
        }
        self.found.regular &= char::from_u32(number).is_some();
        Some(())
    }

    /// After `[`.
    fn class(&mut self) -> Option<()> {
        self.rest.next_if_eq(&'^');
        let mut first = true;
        loop {
            let char = self.rest.next()?;
            if char == ']' && !first {
                return Some(());
            }
            self.found.plain &= !matches!(char, ']' | '\n' | '\r');
            // Elsewhere a class within the class, and operations on classes.
            self.found.regular &= char != '['
                && !(matches!(char, '&' | '-' | '~') && self.rest.peek().is_some_and(|next| *next == char));
            first = false;
            let low = self.class_member(char)?;
            if self.rest.peek() == Some(&'-') {
                let mut ahead = self.rest.clone();
                ahead.next();
                match ahead.peek() {
                    None => return None,
                    Some(']') => {}
                    Some(_) => {
                        self.rest.next();
                        let char = self.rest.next()?;
                        let high = self.class_member(char)?;
                        if low? > high? {
                            return None;
                        }
                    }
                }
            }
        }
    }

    /// One member of a class: `Some(Some(char))`, or `Some(None)` for a class such as `\d`.
    #[expect(clippy::option_option, reason = "refused, a set of characters, or one character")]
    fn class_member(&mut self, char: char) -> Option<Option<char>> {
        if char != '\\' {
            return Some(Some(char));
        }
        let escaped = self.rest.next()?;
        match escaped {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => Some(None),
            'b' => {
                self.found.regular = false;
                Some(Some('\u{8}'))
            }
            _ => {
                self.literal_escape(escaped)?;
                Some(Some(match escaped {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'x' | 'u' | 'U' => '\u{0}',
                    other => other,
                }))
            }
        }
    }

    /// After `(`.
    fn group(&mut self) -> Option<Before> {
        let mut group = Group { outer: self.reach, ..Group::default() };
        self.reach.anchored = false;
        if self.rest.next_if_eq(&'?').is_none() {
            self.groups += 1;
            group.number = Some(self.groups);
            self.open.push(group);
            return Some(Before::Nothing);
        }
        match self.rest.next()? {
            ':' => {}
            '>' | '=' | '!' => self.found.regular = false,
            '<' => {
                if !matches!(self.rest.next()?, '=' | '!') {
                    return None;
                }
                self.found.regular = false;
                group.lookbehind = true;
            }
            'P' => match self.rest.next()? {
                '<' => {
                    self.name('>')?;
                    self.groups += 1;
                    group.number = Some(self.groups);
                }
                '=' => {
                    self.found.regular = false;
                    self.name(')')?;
                    return Some(Before::Item);
                }
                _ => return None,
            },
            '#' => {
                self.found.regular = false;
                self.rest.find(|char| *char == ')')?;
                return Some(Before::Nothing);
            }
            flag if flag.is_ascii_alphabetic() || flag == '-' => {
                self.found.plain = false;
                // Anchors at lines instead of the text.
                self.found.regular &= flag != 'm';
                loop {
                    match self.rest.next()? {
                        'm' => self.found.regular = false,
                        ':' => break,
                        // Flags for the whole may stand at the start only.
                        ')' => return (!self.begun).then_some(Before::Nothing),
                        char if char.is_ascii_alphabetic() || char == '-' => {}
                        _ => return None,
                    }
                }
            }
            _ => return None,
        }
        self.open.push(group);
        Some(Before::Nothing)
    }

    fn name(&mut self, end: char) -> Option<()> {
        let mut length = 0;
        loop {
            let char = self.rest.next()?;
            if char == end {
                return (length > 0).then_some(());
            }
            if !(char.is_alphanumeric() || char == '_') || (length == 0 && char.is_numeric()) {
                return None;
            }
            length += 1;
        }
    }

    /// After `{`: `Some(None)` where it is a literal brace, else whether the count is fixed.
    #[expect(clippy::option_option, reason = "refused, a literal brace, or a count")]
    fn counted(&mut self) -> Option<Option<bool>> {
        let mut ahead = self.rest.clone();
        let mut text = String::new();
        loop {
            match ahead.next() {
                Some('}') => break,
                Some(char) if char.is_ascii_digit() || char == ',' => text.push(char),
                _ => return Some(None),
            }
        }
        let (low, high) = match text.split_once(',') {
            None if text.is_empty() => return Some(None),
            None => (text.as_str(), text.as_str()),
            Some((_, high)) if high.contains(',') => return Some(None),
            Some(pair) => pair,
        };
        self.rest = ahead;
        // Without a least number it is refused elsewhere, or means the very letters.
        self.found.regular &= !low.is_empty();
        let bound =
            |digits: &str, open: u32| if digits.is_empty() { Some(open) } else { digits.parse().ok() };
        let (low, high) = (bound(low, 0)?, bound(high, u32::MAX)?);
        (low <= high).then_some(Some(low == high))
    }
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
