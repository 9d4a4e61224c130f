//! Reading regular expressions.

use std::iter::Peekable;
use std::str::CharIndices;

use crate::expression::{ANY_STATES, Assertion, Class, Direction, Expression, Order, PROPERTY_STATES};

/// Groups one inside the other.
const MAX_DEPTH: u32 = 64;

impl Expression {
    /// Reads an expression; `None` if it uses what is not known here.
    pub fn read(text: &str) -> Option<Self> {
        let mut reader = Reader {
            text,
            rest: text.char_indices().peekable(),
            names: vec![String::new()],
            flags: Flags::default(),
            depth: 0,
        };
        let expression = reader.any()?;
        reader.rest.peek().is_none().then_some(expression)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    /// `i`
    any_case: bool,
    /// `s`
    dot_takes_breaks: bool,
    /// `m`
    lines: bool,
}

struct Reader<'p> {
    text: &'p str,
    rest: Peekable<CharIndices<'p>>,
    /// Of the groups so far, the whole expression as the first; empty for those without one.
    names: Vec<String>,
    flags: Flags,
    depth: u32,
}

impl<'p> Reader<'p> {
    fn peek(&mut self) -> Option<char> {
        self.rest.peek().map(|(_, char)| *char)
    }

    fn next(&mut self) -> Option<char> {
        self.rest.next().map(|(_, char)| char)
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.rest.next_if(|(_, char)| *char == wanted).is_some()
    }

    /// Where the next character stands.
    fn position(&mut self) -> usize {
        self.rest.peek().map_or(self.text.len(), |(position, _)| *position)
    }

    fn since(&mut self, start: usize) -> &'p str {
        let end = self.position();
        self.text.get(start..end).unwrap_or_default()
    }

    /// Up to the end of the group; flags that are set inside end there too.
    fn any(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let flags = self.flags;
        let mut branches = vec![self.all()?];
        while self.eat('|') {
            branches.push(self.all()?);
        }
        self.flags = flags;
        self.depth -= 1;
        if branches.len() == 1 { branches.pop() } else { Some(Expression::Any(branches)) }
    }

    fn all(&mut self) -> Option<Expression> {
        let mut parts = Vec::new();
        while let Some(char) = self.peek() {
            if matches!(char, '|' | ')') {
                break;
            }
            let Some(part) = self.item()? else { continue };
            parts.push(self.repeated(part)?);
        }
        if parts.len() == 1 { parts.pop() } else { Some(Expression::All(parts)) }
    }

    /// Class item before its quantifiers; nothing for flags.
    #[expect(clippy::option_option, reason = "not known, nothing to match, or something to match")]
    fn item(&mut self) -> Option<Option<Expression>> {
        let start = self.position();
        let tree = match self.next()? {
            '\\' => self.escape(start)?,
            '[' => self.class(start)?,
            '(' => return self.group(),
            '^' if self.flags.lines => Expression::Assert(Assertion::LineStart),
            '^' => Expression::Assert(Assertion::Start),
            '$' if self.flags.lines => Expression::Assert(Assertion::LineEnd),
            '$' => Expression::Assert(Assertion::End),
            '.' => self.one(if self.flags.dot_takes_breaks { "(?s:.)" } else { "." }, ANY_STATES),
            '*' | '+' | '?' | '{' => return None,
            char => self.char(start, char),
        };
        Some(Some(tree))
    }

    fn one(&self, source: &str, states: u64) -> Expression {
        if self.flags.any_case {
            return Expression::Class(Class {
                source: format!("(?i:{source})"),
                char: None,
                states: 2 * states,
            });
        }
        Expression::Class(Class { source: source.to_owned(), char: None, states })
    }

    fn char(&mut self, start: usize, char: char) -> Expression {
        let source = self.since(start);
        match self.one(source, if char.is_ascii() { 1 } else { 4 }) {
            Expression::Class(one) if !self.flags.any_case => {
                Expression::Class(Class { char: Some(char), ..one })
            }
            other => other,
        }
    }

    /// After `\`.
    fn escape(&mut self, start: usize) -> Option<Expression> {
        Some(match self.next()? {
            'b' if self.peek() != Some('{') => Expression::Assert(Assertion::Boundary),
            'B' => Expression::Assert(Assertion::NoBoundary),
            'A' => Expression::Assert(Assertion::Start),
            'z' => Expression::Assert(Assertion::End),
            'Z' => Expression::Assert(Assertion::LooseEnd),
            // Comparing in any case is not known here.
            digit @ '1'..='9' if !self.flags.any_case => {
                let mut number = digit.to_digit(10)? as usize;
                while let Some(digit) = self.peek().and_then(|next| next.to_digit(10)) {
                    number = number.checked_mul(10)?.checked_add(digit as usize)?;
                    self.next();
                }
                Expression::BackReference(number)
            }
            'k' if !self.flags.any_case => {
                let name = self.eat('<').then(|| self.name())??;
                Expression::BackReference(self.names.iter().position(|known| *known == name)?)
            }
            'p' | 'P' => {
                self.braced_or_one()?;
                let source = self.since(start);
                self.one(source, PROPERTY_STATES)
            }
            'x' => {
                self.hexadecimal(2)?;
                let source = self.since(start);
                self.one(source, 4)
            }
            'u' => {
                self.hexadecimal(4)?;
                let source = self.since(start);
                self.one(source, 4)
            }
            'c' => {
                self.next()?;
                let source = self.since(start);
                self.one(source, 4)
            }
            's' | 'D' | 'S' | 'W' => {
                let source = self.since(start);
                self.one(source, 2 * ANY_STATES)
            }
            'd' | 'w' | 'n' | 'r' | 't' | 'f' | 'v' | '0' => {
                let source = self.since(start);
                self.one(source, 1)
            }
            char if char.is_alphanumeric() => return None,
            char => self.char(start, char),
        })
    }

    /// The name of a group, up to `>`.
    fn name(&mut self) -> Option<String> {
        let mut name = String::new();
        loop {
            match self.next()? {
                '>' => return (!name.is_empty()).then_some(name),
                '\\' => return None,
                char => name.push(char),
            }
        }
    }

    fn braced_or_one(&mut self) -> Option<()> {
        if self.next()? == '{' {
            while self.next()? != '}' {}
        }
        Some(())
    }

    fn hexadecimal(&mut self, digits: usize) -> Option<()> {
        if self.eat('{') {
            while self.next()? != '}' {}
            return Some(());
        }
        for _ in 0..digits {
            self.next().filter(char::is_ascii_hexdigit)?;
        }
        Some(())
    }

    /// After `[`. What stands in it is the library's to read.
    fn class(&mut self, start: usize) -> Option<Expression> {
        let negated = self.eat('^');
        let (mut wide, mut properties, mut members) = (negated, 0_u64, 0_u64);
        loop {
            members += 1;
            match self.next()? {
                ']' => break,
                '\\' => match self.next()? {
                    'p' | 'P' => {
                        properties += 1;
                        self.braced_or_one()?;
                    }
                    's' | 'D' | 'S' | 'W' | 'x' | 'u' => wide = true,
                    _ => {}
                },
                '[' => wide = true,
                char => wide |= !char.is_ascii(),
            }
        }
        let source = self.since(start);
        let wide = match source {
            "[\\s\\S]" | "[\\S\\s]" | "[\\d\\D]" | "[\\D\\d]" | "[\\w\\W]" | "[\\W\\w]" => ANY_STATES,
            _ if wide || self.flags.any_case => ANY_STATES + 4 * members,
            _ => 1,
        };
        Some(self.one(source, PROPERTY_STATES * properties + wide))
    }

    /// After `(`; nothing for flags that hold from here on.
    #[expect(clippy::option_option, reason = "not known, nothing to match, or something to match")]
    fn group(&mut self) -> Option<Option<Expression>> {
        if !self.eat('?') {
            return self.numbered(String::new()).map(Some);
        }
        let look =
            |direction, wanted| move |inner| Expression::Look { inner: Box::new(inner), direction, wanted };
        let tree = match self.next()? {
            ':' => self.closed()?,
            '=' => look(Direction::Ahead, true)(self.closed()?),
            '!' => look(Direction::Ahead, false)(self.closed()?),
            '>' => Expression::Atomic(Box::new(self.closed()?)),
            'P' if self.eat('<') => {
                let name = self.name()?;
                self.numbered(name)?
            }
            '<' if self.eat('=') => look(Direction::Behind, true)(self.closed()?),
            '<' if self.eat('!') => look(Direction::Behind, false)(self.closed()?),
            '<' => {
                let name = self.name()?;
                self.numbered(name)?
            }
            first => {
                let outer = self.flags;
                let inside = self.read_flags(first)?;
                if !inside {
                    return Some(None);
                }
                let tree = self.closed()?;
                self.flags = outer;
                tree
            }
        };
        Some(Some(tree))
    }

    /// Whether the flags hold for a group that begins here.
    fn read_flags(&mut self, first: char) -> Option<bool> {
        let (mut char, mut on) = (first, true);
        loop {
            match char {
                'i' => self.flags.any_case = on,
                's' => self.flags.dot_takes_breaks = on,
                'm' => self.flags.lines = on,
                '-' if on => on = false,
                ':' => return Some(true),
                ')' => return Some(false),
                _ => return None,
            }
            char = self.next()?;
        }
    }

    fn numbered(&mut self, name: String) -> Option<Expression> {
        let number = self.names.len();
        self.names.push(name);
        Some(Expression::Group(Box::new(self.closed()?), number))
    }

    fn closed(&mut self) -> Option<Expression> {
        let tree = self.any()?;
        self.eat(')').then_some(tree)
    }

    fn repeated(&mut self, item: Expression) -> Option<Expression> {
        let (least, most) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.next();
                let least = self.number()?;
                let most = if !self.eat(',') {
                    Some(least)
                } else if self.peek() == Some('}') {
                    None
                } else {
                    Some(self.number()?)
                };
                if self.peek() != Some('}') || most.is_some_and(|most| most < least) {
                    return None;
                }
                (least, most)
            }
            _ => return Some(item),
        };
        self.next();
        let order = if self.eat('?') { Order::Least } else { Order::Most };
        let repeat = Expression::Repeat { inner: Box::new(item), least, most, order };
        if order == Order::Most && self.eat('+') {
            return Some(Expression::Atomic(Box::new(repeat)));
        }
        // Two quantifiers in a row mean something else in every engine.
        (!matches!(self.peek(), Some('*' | '+' | '?' | '{'))).then_some(repeat)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number: Option<u64> = None;
        while let Some(digit) = self.peek().and_then(|next| next.to_digit(10)) {
            number = Some(number.unwrap_or(0).checked_mul(10)?.checked_add(u64::from(digit))?);
            self.next();
        }
        number
    }
}
