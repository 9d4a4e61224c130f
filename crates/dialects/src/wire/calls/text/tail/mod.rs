//! Calls at the end of a reply, in the notations of `data/notations.toml`.
//!
//! Text may quote calls. So what looks like a call is one only if nothing but calls follows it, up to the end of the reply. Text is given as soon as it
//! cannot become part of a call. From the first byte that could begin one everything waits, until a byte shows that it does not, or
//! the reply ends. Where the text was cut into pieces does not matter: every decision looks at the bytes alone.

mod calls;
mod lines;
mod literal;
mod machine;
mod python;
mod template;

use std::sync::Arc;

use super::prose::{Found, LIMIT, partial_suffix};
use super::{Notation, Notations, OfferedTools, SkippedCall};
use calls::read_calls;
use lines::Lines;
use machine::{Machine, Progress};
use template::{FORMS, Form, Kind};

pub(crate) use calls::WrittenCall;

/// How many times the limit of one call may wait in all.
const WAITING_LIMITS: usize = 16;
/// Bytes of a reply in which calls may begin; what begins behind them is text. Looking for calls costs a hundred times what passing text
/// on does, and no model writes a book before it calls a tool.
const SCANNED: usize = 1 << 20;
/// Thoughts, in the notation of every model that thinks aloud.
const THINK: (&str, &str) = ("<think>", "</think>");

/// The calls with which a reply ends, and what the model wrote for them.
#[derive(Clone, Debug)]
pub(crate) struct WrittenTail {
    pub(crate) source: String,
    pub(crate) calls: Vec<WrittenCall>,
}

/// Reads text piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct TailScanner {
    tools: Arc<dyn OfferedTools>,
    /// What is looked for.
    forms: Vec<&'static Form>,
    /// The ASCII characters with which any of it begins, as bits.
    starts: u128,
    reasoning: Vec<(&'static str, &'static str)>,
    limit: usize,
    held: String,
    /// Bytes of `held` that have been given already; taken off once per push.
    given: usize,
    /// Bytes of the reply that were taken off.
    passed: usize,
    state: State,
    lines: Lines,
    /// Whether anything but white space was given as text.
    spoke: bool,
    /// Whether calls with wrong arguments are reported as such where they are all that there is.
    refuses: bool,
}

#[derive(Clone, Debug)]
enum State {
    Text,
    /// Up to the marker that ends the thought.
    Thinking(&'static str),
    /// What waits is nothing but calls so far.
    Calls(Waiting),
}

/// What may be the calls at the end of a reply; positions count from its first byte.
#[derive(Clone, Debug, Default)]
struct Waiting {
    at: usize,
    /// Where the form that is being read began, and all that it can be.
    start: usize,
    machines: Vec<Machine>,
    calls: Vec<WrittenCall>,
    /// The marker that has to end the section that is open.
    section: Option<&'static str>,
}

/// How far what waits was understood.
enum Verdict {
    MoreText,
    /// So many bytes are text.
    Text(usize),
}

impl TailScanner {
    pub(crate) fn new(notations: Notations, tools: Arc<dyn OfferedTools>) -> Self {
        let is_read = |notation: Notation| notations.contains(notation);
        let rules = notations.iter().filter_map(Notation::rule);
        let reasoning = rules
            .flat_map(|rule| &rule.reasoning)
            .map(|(start, end)| (start.as_str(), end.as_str()))
            .chain(std::iter::once(THINK));
        let forms: Vec<&Form> =
            FORMS.iter().filter(|form| form.kind.notation().is_none_or(is_read)).collect();
        let begins = |byte: &u8| {
            *byte == b'<' || forms.iter().any(|form| form.kind.begins() && form.starts_with(*byte))
        };
        let starts = (0..128).filter(begins).fold(0, |starts, byte| starts | 1 << byte);
        Self {
            tools,
            forms,
            starts,
            reasoning: reasoning.collect(),
            limit: LIMIT,
            held: String::new(),
            given: 0,
            passed: 0,
            state: State::Text,
            lines: Lines::default(),
            spoke: false,
            refuses: true,
        }
    }

    /// For those who can answer no refused call: it stays text.
    pub(crate) fn without_refusals(self) -> Self {
        Self { refuses: false, ..self }
    }

    pub(crate) fn with_limit_below(self, limit: usize) -> Self {
        Self { limit: limit.min(LIMIT), ..self }
    }

    pub(crate) fn push(&mut self, text: &str) -> Vec<Found> {
        self.held.push_str(text);
        let mut out = Vec::new();
        while self.step(&mut out, false) {}
        self.held.drain(..self.given);
        self.passed = self.passed.saturating_add(self.given);
        self.given = 0;
        out
    }

    /// Ends the reply: calls that wait are calls, everything else is text.
    pub(crate) fn finish(&mut self) -> Vec<Found> {
        let mut out = Vec::new();
        while self.step(&mut out, true) {}
        if let State::Calls(waiting) = std::mem::replace(&mut self.state, State::Text) {
            self.decide(waiting, &mut out);
        }
        self.held.clear();
        (self.given, self.passed, self.lines, self.spoke) = (0, 0, Lines::default(), false);
        out
    }

    /// Looks for no more calls: what waits is text.
    pub(crate) fn stop(&mut self) -> Vec<Found> {
        self.forms.clear();
        self.starts = 1 << b'<';
        let mut out = Vec::new();
        if let State::Calls(_) = self.state {
            self.state = State::Text;
            self.emit_text(self.rest().len(), &mut out);
            self.held.clear();
            self.given = 0;
        }
        out
    }

    fn rest(&self) -> &str {
        self.held.get(self.given..).unwrap_or_default()
    }

    /// Whether there is something else to do with the text that is there.
    fn step(&mut self, out: &mut Vec<Found>, end: bool) -> bool {
        match &mut self.state {
            State::Text => self.step_text(out, end),
            State::Thinking(close) => {
                let close = *close;
                self.step_thinking(close, out, end)
            }
            State::Calls(waiting) => {
                let text = self.held.get(self.given..).unwrap_or_default();
                match waiting.read(text, &self.forms, self.limit, self.tools.as_ref()) {
                    Verdict::MoreText => false,
                    Verdict::Text(count) => {
                        self.state = State::Text;
                        self.emit_text(count, out);
                        true
                    }
                }
            }
        }
    }

    /// Gives text up to where a thought or a call may begin.
    fn step_text(&mut self, out: &mut Vec<Found>, end: bool) -> bool {
        let text = self.held.get(self.given..).unwrap_or_default();
        let (mut lines, mut spoke) = (self.lines.clone(), self.spoke);
        let room = SCANNED.saturating_sub(self.passed.saturating_add(self.given));
        let begins = text.bytes().enumerate().find_map(|(at, byte)| {
            let is_start = self.starts.checked_shr(byte.into()).is_some_and(|starts| starts & 1 == 1);
            let next = (is_start && !lines.in_fence())
                .then(|| self.begins(&lines, spoke, text.get(at..).unwrap_or_default(), end))
                .flatten()
                .filter(|next| at < room || !matches!(next, Next::Calls));
            lines.feed(byte);
            spoke |= !byte.is_ascii_whitespace();
            next.map(|next| (at, next))
        });
        let Some((at, next)) = begins else {
            self.emit_text(self.rest().len(), out);
            return false;
        };
        self.emit_text(at, out);
        match next {
            Next::Unclear => return false,
            Next::Thought((open, close)) => {
                self.given += open.len();
                self.state = State::Thinking(close);
            }
            Next::Calls => self.state = State::Calls(Waiting::default()),
        }
        true
    }

    /// What begins with `rest`, behind these lines.
    fn begins(&self, lines: &Lines, spoke: bool, rest: &str, end: bool) -> Option<Next> {
        if lines.at_start() {
            // Channels are a matter of whole replies; thoughts may come later too.
            for pair in self.reasoning.iter().filter(|pair| **pair == THINK || !spoke) {
                if rest.starts_with(pair.0) {
                    return Some(Next::Thought(*pair));
                }
                if !end && pair.0.starts_with(rest) {
                    return Some(Next::Unclear);
                }
            }
        }
        let byte = *rest.as_bytes().first()?;
        let may_begin = |form: &&&Form| {
            form.kind.begins()
                && form.starts_with(byte)
                && (!form.is_fenced() || lines.at_start())
                && (!byte.is_ascii_alphanumeric() || lines.between_words())
        };
        self.forms.iter().find(may_begin).map(|_| Next::Calls)
    }

    fn step_thinking(&mut self, close: &'static str, out: &mut Vec<Found>, end: bool) -> bool {
        let rest = self.rest();
        let (thought, closed) = match rest.find(close) {
            Some(at) => (at, true),
            None if end => (rest.len(), false),
            None => (rest.len() - partial_suffix(rest, close), false),
        };
        let text = rest.get(..thought).unwrap_or_default().to_owned();
        self.given += text.len();
        if let Some(Found::Reasoning(last)) = out.last_mut() {
            last.push_str(&text);
        } else if !text.is_empty() {
            out.push(Found::Reasoning(text));
        }
        if closed {
            self.given += close.len();
            self.state = State::Text;
        }
        closed
    }

    /// Takes `count` bytes off the front as text.
    fn emit_text(&mut self, count: usize, out: &mut Vec<Found>) {
        let rest = self.held.get(self.given..).unwrap_or_default();
        let text = rest.get(..rest.floor_char_boundary(count)).unwrap_or_default();
        text.bytes().for_each(|byte| self.lines.feed(byte));
        self.spoke |= text.bytes().any(|byte| !byte.is_ascii_whitespace());
        self.given += text.len();
        if let Some(Found::Text(last)) = out.last_mut() {
            last.push_str(text);
        } else if !text.is_empty() {
            out.push(Found::Text(text.to_owned()));
        }
    }

    /// The reply has ended, and this is what waited.
    fn decide(&mut self, waiting: Waiting, out: &mut Vec<Found>) {
        let is_whole = waiting.machines.is_empty() && waiting.section.is_none() && !waiting.calls.is_empty();
        let is_refused = waiting.calls.iter().any(|written| written.refusal.is_some());
        // Only a reply that is nothing but calls was certainly meant as calls, so that the model is told what is wrong with one.
        if is_whole && (!is_refused || (self.refuses && !self.spoke)) {
            let source = self.rest().to_owned();
            out.push(Found::Tail(Box::new(WrittenTail { source, calls: waiting.calls })));
            return;
        }
        self.emit_text(self.rest().len(), out);
        if is_whole {
            let skipped = waiting.calls.into_iter().filter_map(|WrittenCall { call, refusal }| {
                Some(SkippedCall { name: call.name, notation: call.written?, reason: refusal? })
            });
            out.extend(skipped.map(Found::Skipped));
        }
    }
}

/// What begins in the text.
enum Next {
    Thought((&'static str, &'static str)),
    Calls,
    /// Perhaps a thought: more text will say.
    Unclear,
}

impl Waiting {
    /// Reads on in `text`, of which `self.at` bytes are read.
    fn read(
        &mut self,
        text: &str,
        forms: &[&'static Form],
        limit: usize,
        tools: &dyn OfferedTools,
    ) -> Verdict {
        let bytes = text.as_bytes();
        while let Some(byte) = bytes.get(self.at).copied() {
            let at = self.at;
            if at >= limit.saturating_mul(WAITING_LIMITS) {
                return Verdict::Text(at);
            }
            if self.machines.is_empty() {
                if byte.is_ascii_whitespace() {
                    self.at += 1;
                    continue;
                }
                self.begin(byte, forms);
            }
            if self.machines.is_empty() {
                return Verdict::Text(at.max(1));
            }
            if at - self.start >= limit {
                return Verdict::Text(self.text_end(text, at));
            }
            self.at += 1;
            let mut done = Vec::new();
            self.machines.retain_mut(|machine| match machine.feed(text, at, byte, tools) {
                Progress::More => true,
                Progress::Done => {
                    done.push(machine.clone());
                    false
                }
                Progress::Dead => false,
            });
            if done.iter().any(|machine| self.take(machine, text, tools)) {
                self.machines.clear();
            } else if self.machines.is_empty() {
                let read = if done.is_empty() { at } else { at + 1 };
                return Verdict::Text(self.text_end(text, read));
            }
        }
        Verdict::MoreText
    }

    /// Where text ends that was taken for a call up to `at`. Behind other calls it is looked at once more, as the first of its kind.
    fn text_end(&self, text: &str, at: usize) -> usize {
        if self.start > 0 { self.start } else { text.floor_char_boundary(at).max(1) }
    }

    fn begin(&mut self, byte: u8, forms: &[&'static Form]) {
        let fits = |form: &&&'static Form| {
            form.starts_with(byte)
                && match form.kind {
                    Kind::Call(_, rule) => self.section.is_none_or(|due| rule.ends_section(due)),
                    Kind::SectionStart(..) => self.section.is_none(),
                    Kind::SectionEnd(_, end) => self.section == Some(end),
                    Kind::After(_) | Kind::EndOfTurn => !self.calls.is_empty(),
                }
        };
        self.machines = forms.iter().filter(fits).map(|form| Machine::new(form)).collect();
        self.start = self.at;
    }

    /// Takes a form that is whole; says whether it means something.
    fn take(&mut self, machine: &Machine, text: &str, tools: &dyn OfferedTools) -> bool {
        match machine.form.kind {
            Kind::Call(..) => match read_calls(machine, text, tools) {
                Some(calls) => self.calls.extend(calls),
                None => return false,
            },
            Kind::SectionStart(_, end) => self.section = Some(end),
            Kind::SectionEnd(..) => self.section = None,
            Kind::After(_) | Kind::EndOfTurn => {}
        }
        true
    }
}
