//! Finds tool use anywhere in text that arrives in pieces, and reasoning.
//!
//! What comes out does not depend on where the pieces were cut: text is held back for as long as it could still
//! become something else, and every decision looks only at the text itself.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Notation, OfferedTools, SkippedCall, TextCalls, TextScan,
    element::{CloseFinder, element_arguments, opening_tag},
    tail::WrittenTail,
};
use crate::arguments::{BadArguments, parse_arguments};
use crate::wire::calls::{
    Arguments,
    shape::{RawCall, read_call},
};

/// Bytes of one tool use that are held back before it is given up as text.
pub(super) const LIMIT: usize = 256 * 1024;
/// Unfinished tool uses that are looked into again at the end.
const MAX_RETRIES: u32 = 64;
/// Bytes within which a tag has to end.
const MAX_TAG: usize = 512;
const THINK: &str = "<think>";
const THINK_END: &str = "</think>";
/// Tags that are never tools.
const RESERVED: [&str; 3] = ["think", "tool_result", "tool_use"];
/// First members of an object that can become tool use or a thought.
const FIRST_KEYS: [&str; 6] = ["type", "id", "name", "input", "content", "thinking"];

/// Whether no tool can be written as an element of this name.
pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

impl TextScan {
    /// The same for text that is not the whole input.
    pub(crate) fn in_prose(&self) -> Self {
        match self {
            Self::Off | Self::Whole(_) | Self::Offered(TextCalls::Off, _) => Self::Off,
            Self::Offered(..) | Self::AtEnd(..) => self.clone(),
        }
    }

    fn reads(&self, notation: Notation) -> bool {
        match self {
            Self::Off | Self::AtEnd(..) => false,
            Self::Whole(_) => true,
            Self::Offered(wanted, _) => wanted.reads(notation),
        }
    }
}

/// A piece of what was in the text.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    Text(String),
    Reasoning(String),
    Call(Box<FoundCall>),
    /// Something that looks like a call and stays text, which comes before it.
    Skipped(SkippedCall),
    /// The calls with which the reply ends.
    Tail(Box<WrittenTail>),
}

/// A call, and the text that it was written as.
#[derive(Clone, Debug)]
pub(crate) struct FoundCall {
    pub(crate) call: RawCall,
    pub(crate) source: String,
}

/// The calls in `text`, if it is nothing but tool use and white space.
pub(crate) fn calls_only(text: &str, tools: &Arc<dyn OfferedTools>) -> Option<Vec<RawCall>> {
    if !text.trim_start().starts_with(['<', '{']) {
        return None;
    }
    let found = ProseScanner::new(TextScan::Whole(Arc::clone(tools))).read(text);
    let mut calls = Vec::new();
    for piece in found {
        match piece {
            Found::Call(found) => calls.push(found.call),
            Found::Text(text) if text.trim().is_empty() => {}
            Found::Text(_) | Found::Reasoning(_) | Found::Skipped(_) | Found::Tail(_) => return None,
        }
    }
    (!calls.is_empty()).then_some(calls)
}

/// Reads text piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct ProseScanner {
    /// Which calls are looked for; reasoning is looked for always.
    wanted: TextScan,
    limit: usize,
    held: String,
    /// Bytes of `held` that have been given already; taken off once per push, not once per piece.
    given: usize,
    state: State,
    retries: u32,
}

#[derive(Clone, Debug)]
enum State {
    /// Plain text.
    Text,
    /// After `<think>`, which is gone already.
    Thinking,
    /// `held` starts with an object.
    Object { at: usize, depth: u32, string: bool, escape: bool },
    /// `held` starts with an element whose opening tag ends at `body`.
    Element { name: String, body: usize, finder: CloseFinder },
}

/// What a step needs to go on.
#[derive(PartialEq, Eq)]
enum Step {
    Again,
    MoreText,
}

impl ProseScanner {
    pub(crate) fn new(wanted: TextScan) -> Self {
        Self { wanted, limit: LIMIT, held: String::new(), given: 0, state: State::Text, retries: 0 }
    }

    /// Holds back at most `limit` bytes, and no more than it does without one.
    pub(crate) fn with_limit_below(self, limit: usize) -> Self {
        Self { limit: limit.min(LIMIT), ..self }
    }

    /// All of a text.
    pub(crate) fn read(mut self, text: &str) -> Vec<Found> {
        let mut found = self.push(text);
        found.extend(self.finish());
        found
    }

    pub(crate) fn push(&mut self, text: &str) -> Vec<Found> {
        self.held.push_str(text);
        let mut out = Vec::new();
        while self.step(&mut out, false) == Step::Again {}
        self.held.drain(..self.given);
        self.given = 0;
        out
    }

    pub(crate) fn finish(&mut self) -> Vec<Found> {
        let mut out = Vec::new();
        loop {
            while self.step(&mut out, true) == Step::Again {}
            if self.rest().is_empty() {
                break;
            }
            // What never ended was text, but something whole may stand inside it.
            self.retries += 1;
            let all = self.retries > MAX_RETRIES;
            self.emit_text(if all { self.rest().len() } else { 1 }, &mut out);
            self.state = State::Text;
        }
        self.held.clear();
        self.given = 0;
        self.state = State::Text;
        self.retries = 0;
        out
    }

    /// What is still held back.
    fn rest(&self) -> &str {
        self.held.get(self.given..).unwrap_or_default()
    }

    fn step(&mut self, out: &mut Vec<Found>, end: bool) -> Step {
        match &self.state {
            State::Text => self.step_text(out, end),
            State::Thinking => self.step_thinking(out, end),
            State::Object { .. } => self.step_object(out),
            State::Element { .. } => self.step_element(out),
        }
    }

    /// Takes `count` bytes off the front as text.
    fn emit_text(&mut self, count: usize, out: &mut Vec<Found>) {
        let text = self.take(count);
        if let Some(Found::Text(last)) = out.last_mut() {
            last.push_str(&text);
        } else if !text.is_empty() {
            out.push(Found::Text(text));
        }
    }

    fn take(&mut self, count: usize) -> String {
        let rest = self.rest();
        let text = rest.get(..rest.floor_char_boundary(count)).unwrap_or_default().to_owned();
        self.given += text.len();
        text
    }

    fn step_text(&mut self, out: &mut Vec<Found>, end: bool) -> Step {
        let Some(start) = self.rest().find(['<', '{']) else {
            self.emit_text(self.rest().len(), out);
            return Step::MoreText;
        };
        self.emit_text(start, out);
        let verdict =
            if self.rest().starts_with('<') { self.begins_tag() } else { begins_object(self.rest()) };
        match verdict {
            Verdict::Yes(State::Thinking) => {
                self.take(THINK.len());
                self.state = State::Thinking;
                Step::Again
            }
            Verdict::Yes(state) => {
                self.state = state;
                Step::Again
            }
            Verdict::Perhaps if !end => Step::MoreText,
            Verdict::Perhaps | Verdict::No => {
                self.emit_text(1, out);
                Step::Again
            }
        }
    }

    fn begins_tag(&self) -> Verdict<State> {
        if self.rest().starts_with(THINK) {
            return Verdict::Yes(State::Thinking);
        }
        if THINK.starts_with(self.rest()) {
            return Verdict::Perhaps;
        }
        if !self.wanted.reads(Notation::Xml) {
            return Verdict::No;
        }
        let (name, body) = match opening_tag(self.rest(), MAX_TAG) {
            Verdict::Yes(tag) => tag,
            Verdict::Perhaps => return Verdict::Perhaps,
            Verdict::No => return Verdict::No,
        };
        let tool = match &self.wanted {
            TextScan::Off | TextScan::AtEnd(..) => false,
            TextScan::Whole(_) => true,
            TextScan::Offered(_, tools) => tools.is_offered(name),
        };
        if tool || is_reserved(name) {
            let finder = CloseFinder::new(name, body);
            return Verdict::Yes(State::Element { name: name.to_owned(), body, finder });
        }
        Verdict::No
    }

    fn step_thinking(&mut self, out: &mut Vec<Found>, end: bool) -> Step {
        let (thought, closed) = match self.rest().find(THINK_END) {
            Some(at) => (at, true),
            None if end => (self.rest().len(), false),
            None => (self.rest().len() - partial_suffix(self.rest(), THINK_END), false),
        };
        let text = self.take(thought);
        if let Some(Found::Reasoning(last)) = out.last_mut() {
            last.push_str(&text);
        } else if !text.is_empty() {
            out.push(Found::Reasoning(text));
        }
        if closed {
            self.take(THINK_END.len());
            self.state = State::Text;
            return Step::Again;
        }
        Step::MoreText
    }

    fn step_object(&mut self, out: &mut Vec<Found>) -> Step {
        let State::Object { at, depth, string, escape } = &mut self.state else { return Step::MoreText };
        let bytes = self.held.as_bytes().get(self.given..).unwrap_or_default();
        let mut whole = false;
        while let Some(byte) = bytes.get(*at).filter(|_| *at < self.limit) {
            *at += 1;
            match byte {
                _ if *escape => *escape = false,
                b'\\' if *string => *escape = true,
                b'"' => *string = !*string,
                _ if *string => {}
                b'{' => *depth += 1,
                b'}' => {
                    *depth -= 1;
                    if *depth == 0 {
                        whole = true;
                        break;
                    }
                }
                _ => {}
            }
        }
        let at = *at;
        if !whole && at < self.limit {
            return Step::MoreText;
        }
        self.state = State::Text;
        let text = self.rest().get(..at).filter(|_| whole);
        match text.and_then(|text| read_object(text, &self.wanted)) {
            Some(Object::Thought(thought)) => {
                self.take(at);
                out.push(Found::Reasoning(thought));
            }
            Some(Object::Call(call)) => self.emit_call(*call, Notation::Json, at, out),
            None => self.emit_text(at, out),
        }
        Step::Again
    }

    /// Takes `count` bytes off the front as a call, or as text if the call is not one that is wanted.
    fn emit_call(&mut self, mut call: RawCall, notation: Notation, count: usize, out: &mut Vec<Found>) {
        let refused = match &self.wanted {
            TextScan::Off | TextScan::AtEnd(..) => Some("calls are not taken out of text".to_owned()),
            TextScan::Whole(_) => None,
            TextScan::Offered(_, tools) if !tools.is_offered(&call.name) => {
                Some("no tool of this name was offered".to_owned())
            }
            TextScan::Offered(_, tools) => match parse_arguments(&call.arguments, BadArguments::Error) {
                Ok(parsed) => tools.check(&call.name, &parsed.object).err(),
                Err(error) => Some(error.to_string()),
            },
        };
        match refused {
            None => {
                call.written = Some(notation);
                let source = self.take(count);
                out.push(Found::Call(Box::new(FoundCall { call, source })));
            }
            Some(reason) => {
                self.emit_text(count, out);
                out.push(Found::Skipped(SkippedCall { name: call.name, notation, reason }));
            }
        }
    }

    fn step_element(&mut self, out: &mut Vec<Found>) -> Step {
        let State::Element { name, body, finder } = &mut self.state else { return Step::MoreText };
        let body = *body;
        // An empty element is over where its opening tag is.
        let closed_at_once =
            self.held.get(self.given..self.given + body).is_some_and(|tag| tag.ends_with("/>"));
        let (inner_end, end) = if closed_at_once {
            (body, body)
        } else {
            match finder
                .find(self.held.get(self.given..).unwrap_or_default())
                .filter(|(_, end)| *end <= self.limit)
            {
                Some(found) => found,
                None if self.held.len() - self.given > self.limit => {
                    self.state = State::Text;
                    self.emit_text(self.limit, out);
                    return Step::Again;
                }
                None => return Step::MoreText,
            }
        };
        let name = std::mem::take(name);
        self.state = State::Text;
        let inner = self.rest().get(body..inner_end).unwrap_or_default();
        let arguments = match &self.wanted {
            _ if is_reserved(&name) => None,
            TextScan::Off | TextScan::AtEnd(..) => None,
            // An empty element that is not called like a tool is markup.
            TextScan::Whole(tools) if closed_at_once && !tools.is_offered(&name) => None,
            TextScan::Whole(tools) | TextScan::Offered(_, tools) => {
                element_arguments(inner, Some(&tools.schema(&name)))
            }
        };
        match arguments {
            Some(arguments) => {
                let arguments = Arguments::Json(Value::Object(arguments));
                self.emit_call(RawCall { name, arguments, ..RawCall::default() }, Notation::Xml, end, out);
            }
            None => self.emit_text(end, out),
        }
        Step::Again
    }
}

/// Whether something begins here.
pub(super) enum Verdict<T> {
    Yes(T),
    /// The text so far does not show it.
    Perhaps,
    No,
}

/// Whether `text`, which starts with a brace, may be tool use: the first key shows it.
fn begins_object(text: &str) -> Verdict<State> {
    let rest = text.get(1..).unwrap_or_default();
    let key = rest.trim_start();
    if rest.len() - key.len() > MAX_TAG {
        return Verdict::No;
    }
    if key.is_empty() {
        return Verdict::Perhaps;
    }
    let Some(key) = key.strip_prefix('"') else { return Verdict::No };
    match key.split_once('"') {
        Some((key, _)) if FIRST_KEYS.contains(&key) => {
            Verdict::Yes(State::Object { at: 0, depth: 0, string: false, escape: false })
        }
        None if FIRST_KEYS.iter().any(|known| known.starts_with(key)) => Verdict::Perhaps,
        Some(_) | None => Verdict::No,
    }
}

/// An object in the text that means something.
enum Object {
    Thought(String),
    Call(Box<RawCall>),
}

fn read_object(text: &str, wanted: &TextScan) -> Option<Object> {
    let Ok(Value::Object(map)) = crate::json::from_str(text) else { return None };
    match map.get("type")?.as_str()? {
        "thinking" => {
            let thought = map.get("content").or_else(|| map.get("thinking"))?.as_str()?;
            Some(Object::Thought(thought.to_owned()))
        }
        "tool_use" => {
            let call = read_call(&map, None).ok().flatten().filter(|_| wanted.reads(Notation::Json));
            call.map(|call| Object::Call(Box::new(call)))
        }
        _ => None,
    }
}

/// The length of the longest end of `text` with which `word` begins.
pub(super) fn partial_suffix(text: &str, word: &str) -> usize {
    (1..word.len())
        .rev()
        .find(|length| word.get(..*length).is_some_and(|start| text.ends_with(start)))
        .unwrap_or(0)
}
