//! What a regular expression uses, so that a dialect can say which ones it takes.

use std::iter::Peekable;
use std::str::Chars;

use crate::dialect::PatternStyle;

/// Whether a dialect takes `pattern`.
pub(crate) fn takes(style: PatternStyle, pattern: &str) -> bool {
    match style {
        PatternStyle::Any => true,
        PatternStyle::Python => features(pattern).python,
        PatternStyle::NoLookaround => {
            let found = features(pattern);
            found.python && !found.lookaround
        }
        PatternStyle::Simple => {
            let found = features(pattern);
            found.python && !found.lookaround && !found.backreference && !found.boundary
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Features {
    /// Python's `re` compiles it.
    python: bool,
    lookaround: bool,
    backreference: bool,
    boundary: bool,
}

fn features(pattern: &str) -> Features {
    let mut reader = Reader {
        rest: pattern.chars().peekable(),
        open: Vec::new(),
        groups: 0,
        found: Features { python: true, lookaround: false, backreference: false, boundary: false },
    };
    if reader.read().is_none() || !reader.open.is_empty() {
        reader.found.python = false;
    }
    reader.found
}

struct Group {
    number: Option<usize>,
    lookbehind: bool,
    /// Whether some part of it can repeat a varying number of times.
    varying: bool,
}

struct Reader<'p> {
    rest: Peekable<Chars<'p>>,
    open: Vec<Group>,
    groups: usize,
    found: Features,
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
                    Before::Item
                }
                '(' => self.group()?,
                ')' => {
                    let group = self.open.pop()?;
                    if group.lookbehind && group.varying {
                        return None;
                    }
                    if let Some(outer) = self.open.last_mut() {
                        outer.varying |= group.varying;
                    }
                    Before::Item
                }
                '|' | '^' | '$' => Before::Nothing,
                '*' | '+' | '?' => {
                    if before == Before::Nothing {
                        return None;
                    }
                    if before == Before::Quantifier {
                        // Lazy and possessive forms; `**` is refused.
                        if char == '*' {
                            return None;
                        }
                        Before::Item
                    } else {
                        self.varies();
                        Before::Quantifier
                    }
                }
                '{' => match self.counted()? {
                    None => Before::Item,
                    Some(fixed) => {
                        if before != Before::Item {
                            return None;
                        }
                        if !fixed {
                            self.varies();
                        }
                        Before::Quantifier
                    }
                },
                _ => Before::Item,
            };
        }
        Some(())
    }

    fn varies(&mut self) {
        if let Some(group) = self.open.last_mut() {
            group.varying = true;
        }
    }

    /// After `\` outside a class.
    fn escape(&mut self) -> Option<Before> {
        let char = self.rest.next()?;
        match char {
            'b' | 'B' => {
                self.found.boundary = true;
                return Some(Before::Nothing);
            }
            'A' | 'Z' => return Some(Before::Nothing),
            '1'..='9' => {
                self.found.backreference = true;
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
        Some(Before::Item)
    }

    /// Escapes that mean one character or one class of characters.
    fn literal_escape(&mut self, char: char) -> Option<()> {
        match char {
            'x' => self.hexadecimal(2),
            'u' => self.hexadecimal(4),
            'U' => self.hexadecimal(8),
            'd' | 'D' | 's' | 'S' | 'w' | 'W' | 'a' | 'f' | 'n' | 'r' | 't' | 'v' | '0'..='9' => Some(()),
            _ if char.is_ascii_alphabetic() => None,
            _ => Some(()),
        }
    }

    fn hexadecimal(&mut self, digits: usize) -> Option<()> {
        for _ in 0..digits {
            self.rest.next().filter(char::is_ascii_hexdigit)?;
        }
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
            'b' => Some(Some('\u{8}')),
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
        let mut group = Group { number: None, lookbehind: false, varying: false };
        if self.rest.next_if_eq(&'?').is_none() {
            self.groups += 1;
            group.number = Some(self.groups);
            self.open.push(group);
            return Some(Before::Nothing);
        }
        match self.rest.next()? {
            ':' | '>' => {}
            '=' | '!' => self.found.lookaround = true,
            '<' => {
                if !matches!(self.rest.next()?, '=' | '!') {
                    return None;
                }
                self.found.lookaround = true;
                group.lookbehind = true;
            }
            'P' => match self.rest.next()? {
                '<' => {
                    self.name('>')?;
                    self.groups += 1;
                    group.number = Some(self.groups);
                }
                '=' => {
                    self.found.backreference = true;
                    self.name(')')?;
                    return Some(Before::Item);
                }
                _ => return None,
            },
            '#' => {
                self.rest.find(|char| *char == ')')?;
                return Some(Before::Nothing);
            }
            flag if flag.is_ascii_alphabetic() || flag == '-' => loop {
                match self.rest.next()? {
                    ':' => break,
                    ')' => return Some(Before::Nothing),
                    char if char.is_ascii_alphabetic() || char == '-' => {}
                    _ => return None,
                }
            },
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
        let bound =
            |digits: &str, open: u32| if digits.is_empty() { Some(open) } else { digits.parse().ok() };
        let (low, high) = (bound(low, 0)?, bound(high, u32::MAX)?);
        (low <= high).then_some(Some(low == high))
    }
}

#[cfg(test)]
mod tests {
    use super::takes;
    use crate::dialect::PatternStyle::{NoLookaround, Python, Simple};

    /// Verdicts of Python 3.11's `re.compile`.
    #[test]
    fn python_is_told_apart() {
        for good in [
            "",
            "^[a-z]+$",
            "a{2,3}",
            "a{,3}",
            "x{",
            "[]a]",
            "[a-]",
            "[\\w.-]",
            "(?P<n>a)(?P=n)",
            "(a)\\1",
            "a+?",
            "a++",
            "(?i:a)",
            "\\/",
            "[\\]]",
            "^\\d{4}-\\d{2}$",
            "(?<=a)b",
            "(?=a)",
            "a|b",
            "\\x41",
            "\\u0041",
            "[^\\n]",
            "(?>a)",
            "a{1",
        ] {
            assert!(takes(Python, good), "{good}");
        }
        for bad in [
            "(", ")", "[", "*a", "a**", "(?<n>a)", "\\p{L}", "\\u{41}", "[\\w-.]", "[z-a]", "\\1", "(\\1)",
            "\\k<n>", "[^]", "[]", "a{3,2}", "(?<=a+)b", "\\", "+", "a|*", "(?Pa)", "\\c", "\\x4", "^*",
            "(?",
        ] {
            assert!(!takes(Python, bad), "{bad}");
        }
    }

    #[test]
    fn look_around_and_references_are_seen() {
        assert!(!takes(NoLookaround, "^(?!a)b"));
        assert!(takes(NoLookaround, "\\bword\\b"));
        assert!(!takes(Simple, "\\bword\\b"));
        assert!(!takes(Simple, "(a)\\1"));
        assert!(takes(Simple, "^(?:a|b)+$"));
    }
}
