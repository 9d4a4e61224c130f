//! One form as it arrives, byte by byte.
//!
//! A machine dies with the first byte that its form cannot have, so that text waits no longer than it must, and no byte is read twice.

use std::ops::Range;

use super::literal::{Fed, LiteralReader, Syntax};
use super::python::PythonReader;
use super::template::{Form, Kind, Step};
use crate::dialect::NotationRule;
use crate::wire::calls::text::element::CloseFinder;
use crate::wire::calls::text::{OfferedTools, is_reserved};

/// Bytes of a name, a key or an id.
const MAX_WORD: usize = 128;

/// A form that has begun.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) form: &'static Form,
    step: usize,
    /// The step within one parameter, while there is one.
    inner: Option<usize>,
    reading: Reading,
    pub(super) found: Captures,
}

/// What a form has brought, as positions in the text.
#[derive(Clone, Debug, Default)]
pub(super) struct Captures {
    pub(super) name: Range<usize>,
    pub(super) id: Range<usize>,
    /// Arguments, calls, lists of calls.
    pub(super) json: Vec<Range<usize>>,
    pub(super) parameters: Vec<(Range<usize>, Range<usize>)>,
    pub(super) python: Range<usize>,
    /// The content of an element.
    pub(super) content: Range<usize>,
}

/// What has been read of the current step.
#[derive(Clone, Debug)]
enum Reading {
    Nothing,
    /// So many bytes of a literal.
    Literal(usize),
    /// A word that began here.
    Word(usize),
    /// White space behind calls, of which more may follow.
    Gap,
    Json {
        start: usize,
        calls_at: usize,
        reader: LiteralReader,
    },
    /// So many bytes of what can still be a parameter, the end of all, or both.
    Choice {
        matched: usize,
        parameter: bool,
        end: bool,
    },
    Value(usize),
    Python {
        start: usize,
        reader: PythonReader,
    },
    /// The tag of an element, then its content.
    Tag {
        start: usize,
        is_empty: bool,
        named: bool,
    },
    Content(CloseFinder),
}

/// What a byte did to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    /// The form is whole with this byte.
    Done,
    Dead,
}

/// What a byte did to a step.
enum Took {
    /// It belongs to the step.
    Byte,
    /// It is the last of the step.
    Last,
    /// It belongs to the next step.
    Nothing,
    /// The step cannot have it.
    Dead,
}

impl Machine {
    pub(super) fn new(form: &'static Form) -> Self {
        Self { form, step: 0, inner: None, reading: Reading::Nothing, found: Captures::default() }
    }

    /// Takes `byte`, which stands in `text` at `at`.
    pub(super) fn feed(&mut self, text: &str, at: usize, byte: u8, tools: &dyn OfferedTools) -> Progress {
        loop {
            match self.take(text, at, byte, tools) {
                Took::Byte => return Progress::More,
                Took::Last => {
                    self.go_on();
                    return if self.current().is_none() { Progress::Done } else { Progress::More };
                }
                Took::Nothing => self.go_on(),
                Took::Dead => return Progress::Dead,
            }
        }
    }

    fn current(&self) -> Option<&'static Step> {
        let form = self.form;
        match self.inner {
            Some(inner) => form.parameter.get(inner),
            None => form.steps.get(self.step),
        }
    }

    /// To the next step; behind a parameter there may be another.
    fn go_on(&mut self) {
        self.reading = Reading::Nothing;
        match &mut self.inner {
            Some(inner) if *inner + 1 < self.form.parameter.len() => *inner += 1,
            Some(_) => self.inner = None,
            None => self.step += 1,
        }
    }

    fn is_last(&self) -> bool {
        self.step + 1 == self.form.steps.len()
    }

    fn take(&mut self, text: &str, at: usize, byte: u8, tools: &dyn OfferedTools) -> Took {
        match self.current() {
            None => Took::Dead,
            Some(Step::Space) if byte.is_ascii_whitespace() => Took::Byte,
            Some(Step::Space) => Took::Nothing,
            Some(Step::Literal(literal)) => self.take_literal(literal, byte),
            Some(step @ (Step::Name | Step::Id | Step::Key)) => self.take_word(step, text, at, byte, tools),
            Some(step @ (Step::Arguments | Step::Call | Step::Calls)) => self.take_json(step, text, at, byte),
            Some(Step::Parameters) => self.take_choice(byte),
            Some(Step::Value) => self.take_value(text, at, byte),
            Some(Step::Python) => self.take_python(text, at, byte, tools),
            Some(Step::Element) => self.take_element(text, at, byte, tools),
        }
    }

    fn take_literal(&mut self, literal: &[u8], byte: u8) -> Took {
        let matched = if let Reading::Literal(matched) = self.reading { matched } else { 0 };
        self.reading = Reading::Literal(matched + 1);
        match literal.get(matched) {
            Some(expected) if *expected != byte => Took::Dead,
            Some(_) if matched + 1 == literal.len() => Took::Last,
            Some(_) => Took::Byte,
            None => Took::Dead,
        }
    }

    fn take_word(&mut self, step: &Step, text: &str, at: usize, byte: u8, tools: &dyn OfferedTools) -> Took {
        let start = if let Reading::Word(start) = self.reading { start } else { at };
        self.reading = Reading::Word(start);
        if is_name_byte(byte) {
            return if at - start < MAX_WORD { Took::Byte } else { Took::Dead };
        }
        let (word, text) = (start..at, text.get(start..at).unwrap_or_default());
        if text.is_empty() || (*step == Step::Name && !tools.is_offered(text)) {
            return Took::Dead;
        }
        if *step == Step::Name {
            self.found.name = word;
        } else if *step == Step::Id {
            self.found.id = word;
        } else {
            self.found.parameters.push((word, 0..0));
        }
        Took::Nothing
    }

    fn take_json(&mut self, step: &Step, text: &str, at: usize, byte: u8) -> Took {
        if let Reading::Gap = self.reading
            && byte != b'{'
        {
            return if byte.is_ascii_whitespace() { Took::Byte } else { Took::Nothing };
        }
        if !matches!(self.reading, Reading::Json { .. }) {
            let is_list = byte == b'[';
            if byte != b'{' && !(is_list && *step == Step::Calls && self.found.json.is_empty()) {
                return Took::Dead;
            }
            let (calls_at, reader) = (if is_list { 2 } else { 1 }, LiteralReader::new(Syntax::Json));
            self.reading = Reading::Json { start: at, calls_at, reader };
        }
        let Reading::Json { start, calls_at, reader } = &mut self.reading else { return Took::Dead };
        let is_item = reader.depth() + 1 == *calls_at && *calls_at == 2 && reader.expects_value();
        if is_item && !byte.is_ascii_whitespace() && byte != b'{' {
            return Took::Dead;
        }
        match reader.feed(byte, at) {
            Fed::Key(key) if *step != Step::Arguments && reader.depth() == *calls_at => {
                let key = text.get(key..at).unwrap_or_default();
                let allowed = self.form.rule().is_some_and(|rule| rule.keys.allows(key));
                if allowed { Took::Byte } else { Took::Dead }
            }
            Fed::More | Fed::Key(_) => Took::Byte,
            Fed::Done => {
                let (start, is_list) = (*start, *calls_at == 2);
                self.found.json.push(start..at + 1);
                if *step == Step::Calls && !is_list && !self.is_last() {
                    self.reading = Reading::Gap;
                    return Took::Byte;
                }
                Took::Last
            }
            Fed::Before | Fed::Dead => Took::Dead,
        }
    }

    /// Between parameters: the literal that begins one, or the one behind all of them.
    fn take_choice(&mut self, byte: u8) -> Took {
        let (matched, parameter, end) = if let Reading::Choice { matched, parameter, end } = self.reading {
            (matched, parameter, end)
        } else if byte.is_ascii_whitespace() {
            return Took::Byte;
        } else {
            (0, true, true)
        };
        let form = self.form;
        let behind = form.steps.get(self.step + 1..).unwrap_or_default();
        let (Some(Step::Literal(first)), Some((skipped, Step::Literal(last)))) =
            (form.parameter.first(), behind.iter().enumerate().find(|(_, step)| **step != Step::Space))
        else {
            return Took::Dead;
        };
        let parameter = parameter && first.get(matched) == Some(&byte);
        let end = end && last.get(matched) == Some(&byte);
        let matched = matched + 1;
        if parameter && matched == first.len() {
            self.inner = Some(0);
            return Took::Last;
        }
        if end && matched == last.len() {
            self.step += skipped + 1;
            return Took::Last;
        }
        self.reading = Reading::Choice { matched, parameter, end };
        if parameter || end { Took::Byte } else { Took::Dead }
    }

    fn take_value(&mut self, text: &str, at: usize, byte: u8) -> Took {
        let start = if let Reading::Value(start) = self.reading { start } else { at };
        self.reading = Reading::Value(start);
        let inner = self.inner.unwrap_or_default();
        let Some(Step::Literal(close)) = self.form.parameter.get(inner + 1) else { return Took::Dead };
        let value = text.as_bytes().get(start..=at).unwrap_or_default();
        if close.last() != Some(&byte) || !value.ends_with(close) {
            return Took::Byte;
        }
        if let Some((_, value)) = self.found.parameters.last_mut() {
            *value = start..at + 1 - close.len();
        }
        // The literal behind the value has been read with it.
        self.inner = Some(inner + 1);
        Took::Last
    }

    fn take_python(&mut self, text: &str, at: usize, byte: u8, tools: &dyn OfferedTools) -> Took {
        if !matches!(self.reading, Reading::Python { .. }) {
            self.reading = Reading::Python { start: at, reader: PythonReader::default() };
        }
        let (is_last, suffix) = (self.is_last(), self.form.rule().map_or("", |rule| &rule.suffix));
        let Reading::Python { start, reader } = &mut self.reading else { return Took::Dead };
        match reader.feed(text, at, byte, &|name| tools.is_offered(name.strip_suffix(suffix).unwrap_or(name)))
        {
            Fed::Done if is_last => {
                self.found.python = *start..at + 1;
                Took::Last
            }
            Fed::More | Fed::Key(_) | Fed::Done => Took::Byte,
            Fed::Before => {
                self.found.python = *start..at;
                Took::Nothing
            }
            Fed::Dead => Took::Dead,
        }
    }

    /// A tag without attributes, and all up to the tag that closes it.
    fn take_element(&mut self, text: &str, at: usize, byte: u8, tools: &dyn OfferedTools) -> Took {
        if let Reading::Content(finder) = &mut self.reading {
            // Only the end of a tag can be the end of the element.
            let found = (byte == b'>').then(|| finder.find(text.get(..=at)?)).flatten();
            let Some((end, _)) = found else { return Took::Byte };
            self.found.content.end = end;
            return Took::Last;
        }
        let Reading::Tag { start, is_empty, named } = &mut self.reading else {
            self.reading = Reading::Tag { start: at + 1, is_empty: false, named: false };
            return if byte == b'<' { Took::Byte } else { Took::Dead };
        };
        if !*named && is_name_byte(byte) && byte != b'/' {
            return if at - *start < MAX_WORD { Took::Byte } else { Took::Dead };
        }
        if !*named {
            self.found.name = *start..at;
            *named = true;
            let name = text.get(*start..at).unwrap_or_default();
            if name.is_empty() || is_reserved(name) || !tools.is_offered(name) {
                return Took::Dead;
            }
        }
        match byte {
            b'/' if !*is_empty => *is_empty = true,
            b'>' if *is_empty => return Took::Last,
            b'>' => {
                let name = text.get(self.found.name.clone()).unwrap_or_default();
                self.found.content = at + 1..at + 1;
                self.reading = Reading::Content(CloseFinder::new(name, at + 1));
            }
            _ if byte.is_ascii_whitespace() && !*is_empty => {}
            _ => return Took::Dead,
        }
        Took::Byte
    }
}

impl Form {
    fn rule(&self) -> Option<&'static NotationRule> {
        if let Kind::Call(_, rule) = self.kind { Some(rule) } else { None }
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/')
}
