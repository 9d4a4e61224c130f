//! Tool calls out of streamed replies.
//!
//! An [`Assembler`] is fed with the parsed chunks of one reply and gives text, reasoning, whole calls and usage.
//! A call is given only when the provider says that it is over, never because its arguments look complete. Calls that the model
//! wrote as text are given at the end of the reply, if they were asked for and no native call came.

mod buffer;
mod open;
mod partial;
mod read;
mod thought;
mod waiting;

pub use crate::wire::text::TextStream;
pub use read::{parse_chunks, protocol_of};

pub(crate) use open::{Key, OpenCall, call_at, call_with_id};
pub(crate) use partial::Partial;
pub(crate) use read::{read_chunks, recognised_chunks};

use serde::Serialize;
use serde_json::{Value, json};

use crate::dialect::Protocol;
use crate::wire::calls::{
    Ids, RawCall, TextScan, ToolCall, read_call,
    text::{Found, RefusedCall, Scanner, SkippedCall, WrittenCall, WrittenTail},
};
use crate::wire::{Object, format};
use thought::Thought;
use waiting::WaitingText;

/// Arguments of one call, in bytes, before they are cut.
const ARGUMENT_LIMIT: usize = 256 * 1024;
/// Calls in one reply.
const CALL_LIMIT: usize = 1024;
/// How many times the argument limit may wait, from the first call in the text to the end of the reply.
const WAITING_LIMITS: usize = 16;

/// Bounds and choices of a stream.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamOptions {
    /// Bytes of one call's arguments, and of one tool use in text.
    pub argument_limit: usize,
    /// Calls in one reply; more are dropped, with an event.
    pub call_limit: usize,
    /// Whether, and whose, calls are taken out of the text. By default none are.
    pub text: TextScan,
    /// Generated ids count on from here.
    pub ids_after: u64,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self {
            argument_limit: ARGUMENT_LIMIT,
            call_limit: CALL_LIMIT,
            text: TextScan::default(),
            ids_after: 0,
        }
    }
}

/// One thing that a streamed reply brought.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// More of the answer.
    Text(String),
    /// More of the model's thoughts.
    Reasoning(String),
    /// A reasoning item as a whole, for providers that want it replayed unchanged.
    ReasoningItem(Value),
    /// A thought signature that belongs to no call.
    Signature(String),
    /// A call.
    Call(StreamedCall),
    /// Why the model stopped, in the provider's word.
    Stop(String),
    /// Tokens used, once, at the end.
    Usage(Usage),
    /// An error that the provider sent, or a call that cannot be understood.
    Error(Value),
    /// More calls than the limit; the rest is not given.
    TooManyCalls(usize),
    /// Tool use that was looked for in the text and stays text; the text has come before.
    Skipped(SkippedCall),
    /// What the model wrote for the calls that end its text, byte for byte; they come next. The message to keep is all text
    /// followed by this.
    Source(String),
    /// A call in the text that must not be run: the tool was offered, but does not take these arguments.
    Refused(RefusedCall),
}

impl StreamEvent {
    /// What was found in the text; a call is the text that it was written as.
    pub(crate) fn without_call(found: Found) -> Self {
        match found {
            Found::Text(text) => Self::Text(text),
            Found::Reasoning(text) => Self::Reasoning(text),
            Found::Skipped(skipped) => Self::Skipped(skipped),
            Found::Call(found) => Self::Text(found.source),
            Found::Tail(tail) => Self::Text(tail.source),
        }
    }
}

impl StreamEvent {
    pub(crate) fn refused(call: RawCall, position: usize, refusal: String, ids: &mut Ids) -> Self {
        if let Some(id) = &call.id {
            ids.note(id);
        }
        Self::Refused(RefusedCall { call: call.into_call(ids), position, refusal })
    }
}

/// A call and how its stream ended.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamedCall {
    /// The call.
    pub call: ToolCall,
    /// How it ended.
    pub outcome: Outcome,
}

/// How the stream of a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The provider said that it is over.
    Complete,
    /// The arguments passed the limit and were cut there; they must not be parsed.
    Limited,
    /// The stream ended before the call did.
    Unfinished,
}

/// Tokens used by one reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// How many of those read the provider had from earlier requests.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
}

/// Where APIs count tokens that they had from earlier requests.
const CACHED: [&str; 5] = [
    "/prompt_tokens_details/cached_tokens",
    "/input_tokens_details/cached_tokens",
    "/cache_read_input_tokens",
    "/cachedContentTokenCount",
    "/prompt_cache_hit_tokens",
];

impl Usage {
    /// Takes the counts that are there under these names; what is missing stays as it was.
    pub(crate) fn take(&mut self, counts: &Object, input: &str, output: &str) {
        let cached = CACHED.iter().find_map(|path| {
            let mut steps = path.split('/').skip(1);
            steps.next().and_then(|first| steps.try_fold(counts.get(first)?, |value, step| value.get(step)))
        });
        if let Some(cached) = cached.and_then(count) {
            self.cached_tokens = cached;
        }
        if let Some(count) = counts.get(input).and_then(count) {
            self.input_tokens = count;
        }
        if let Some(count) = counts.get(output).and_then(count) {
            self.output_tokens = count;
        }
    }
}

/// Assembles one streamed reply.
#[derive(Clone, Debug)]
pub struct Assembler {
    protocol: Protocol,
    state: State,
}

/// What is known of a reply while it arrives.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) options: StreamOptions,
    /// The calls, in the order in which they began.
    pub(crate) open: Vec<OpenCall>,
    pub(crate) ids: Ids,
    text: Scanner,
    waiting: WaitingText,
    /// Whether a native call has come, so that text is text.
    is_native: bool,
    usage: Option<Usage>,
    pub(crate) overflown: bool,
    pub(crate) partial: Option<Partial>,
    pub(crate) thought: Thought,
}

impl Assembler {
    /// For a reply in `protocol`.
    pub fn new(protocol: Protocol, options: StreamOptions) -> Self {
        Self { protocol, state: State::new(options) }
    }

    /// Takes one parsed chunk.
    pub fn push(&mut self, chunk: &Value) -> Vec<StreamEvent> {
        let mut out = Vec::new();
        if let Some(error) = provider_error(chunk) {
            out.push(StreamEvent::Error(error.clone()));
            return out;
        }
        format(self.protocol).push_chunk(&mut self.state, chunk, &mut out);
        out
    }

    /// Ends the reply: held text, calls that never ended, usage.
    pub fn finish(&mut self) -> Vec<StreamEvent> {
        let mut out = Vec::new();
        self.state.finish(&mut out);
        out
    }

    /// Bytes of arguments that have come of calls which are not over.
    pub fn waiting_bytes(&self) -> usize {
        let open = self.state.open.iter().map(|call| call.arguments.size());
        open.fold(self.state.partial.as_ref().map_or(0, Partial::size), usize::saturating_add)
    }

    /// Forgets everything, ready for the next reply. Generated ids count on.
    pub fn reset(&mut self) {
        let ids = self.state.ids.clone();
        self.state = State::new(self.state.options.clone());
        self.state.ids = ids;
    }
}

/// An error in place of a chunk.
fn provider_error(chunk: &Value) -> Option<&Value> {
    let error = chunk.get("error").filter(|error| !error.is_null());
    error.filter(|_| chunk.get("choices").is_none() && chunk.get("message").is_none())
}

impl State {
    fn new(options: StreamOptions) -> Self {
        Self {
            open: Vec::new(),
            ids: Ids::after(options.ids_after),
            text: options.scanner(),
            waiting: WaitingText::default(),
            is_native: false,
            usage: None,
            overflown: false,
            partial: None,
            thought: Thought::default(),
            options,
        }
    }

    pub(crate) fn text(&mut self, text: &str, out: &mut Vec<StreamEvent>) {
        let found = self.text.push(text);
        self.found(found, out);
    }

    fn found(&mut self, found: Vec<Found>, out: &mut Vec<StreamEvent>) {
        for piece in found {
            if self.is_native || !self.waiting.takes(&piece) {
                out.push(StreamEvent::without_call(piece));
                continue;
            }
            let limit = self.options.argument_limit.saturating_mul(WAITING_LIMITS);
            if self.waiting.push(piece, limit) {
                self.give_up_text_calls(out);
            }
        }
    }

    /// A native call has come: what waited as calls in the text is text.
    pub(crate) fn native(&mut self, out: &mut Vec<StreamEvent>) {
        if !std::mem::replace(&mut self.is_native, true) {
            let found = self.text.stop();
            self.found(found, out);
        }
        self.give_up_text_calls(out);
    }

    /// Gives everything that waits, calls as text.
    fn give_up_text_calls(&mut self, out: &mut Vec<StreamEvent>) {
        out.extend(self.waiting.take().into_iter().map(StreamEvent::without_call));
    }

    /// Gives everything that waits at the end of a reply without native calls.
    fn give_text_calls(&mut self, out: &mut Vec<StreamEvent>) {
        for piece in self.waiting.take() {
            match piece {
                Found::Call(found) if self.has_room(out) => self.give_whole(found.call, out),
                Found::Call(_) => {}
                Found::Tail(tail) => self.give_tail(*tail, out),
                other => out.push(StreamEvent::without_call(other)),
            }
        }
    }

    /// The calls with which the text ends.
    fn give_tail(&mut self, tail: WrittenTail, out: &mut Vec<StreamEvent>) {
        out.push(StreamEvent::Source(tail.source));
        for (position, WrittenCall { call, refusal }) in tail.calls.into_iter().enumerate() {
            match refusal {
                _ if !self.has_room(out) => {}
                None => self.give_whole(call, out),
                Some(refusal) => out.push(StreamEvent::refused(call, position, refusal, &mut self.ids)),
            }
        }
    }

    pub(crate) fn reasoning(text: &str, out: &mut Vec<StreamEvent>) {
        if !text.is_empty() {
            out.push(StreamEvent::Reasoning(text.to_owned()));
        }
    }

    pub(crate) fn stop(reason: Option<&Value>, out: &mut Vec<StreamEvent>) -> bool {
        let Some(reason) = reason.and_then(Value::as_str) else { return false };
        out.push(StreamEvent::Stop(reason.to_owned()));
        true
    }

    /// Takes the counts that `usage` has under these names; what it lacks stays as it was.
    pub(crate) fn usage(&mut self, usage: Option<&Value>, input: &str, output: &str) {
        let Some(Value::Object(usage)) = usage else { return };
        self.usage.get_or_insert_default().take(usage, input, output);
    }

    /// Room for one more native call.
    pub(crate) fn admit(&mut self, out: &mut Vec<StreamEvent>) -> bool {
        self.native(out);
        self.has_room(out)
    }

    /// Room for one more call; says so once when there is none.
    fn has_room(&mut self, out: &mut Vec<StreamEvent>) -> bool {
        let full = self.open.len() >= self.options.call_limit;
        if full && !self.overflown {
            self.overflown = true;
            out.push(StreamEvent::TooManyCalls(self.options.call_limit));
        }
        !full
    }

    /// A native call that came in one piece and is still to be read.
    pub(crate) fn read_whole(&mut self, map: &Object, out: &mut Vec<StreamEvent>) {
        match read_call(map, None) {
            Ok(Some(call)) => {
                if self.admit(out) {
                    self.give_whole(call, out);
                }
            }
            Ok(None) => {}
            // As in a whole reply, which is answered call by call.
            Err(nameless) => {
                if self.admit(out) {
                    self.give_whole(nameless.call, out);
                }
            }
        }
    }

    fn give_whole(&mut self, call: RawCall, out: &mut Vec<StreamEvent>) {
        let mut open = OpenCall::from_call(call, self.options.argument_limit);
        let event = open.give(Outcome::Complete, &mut self.ids);
        self.open.push(open);
        out.extend(event);
    }

    /// Begins a native call, if there is room for one.
    pub(crate) fn begin(
        &mut self,
        key: Key,
        id: Option<&str>,
        name: Option<&str>,
        out: &mut Vec<StreamEvent>,
    ) -> Option<&mut OpenCall> {
        if !self.admit(out) {
            return None;
        }
        let mut open = OpenCall::new(key, self.options.argument_limit);
        open.set_id(id);
        open.set_name(name);
        self.open.push(open);
        self.open.last_mut()
    }

    /// Ends the call under `key`; without arguments it has none.
    pub(crate) fn end(&mut self, key: &Key, out: &mut Vec<StreamEvent>) {
        if let Some(open) = call_at(&mut self.open, key) {
            if open.arguments.is_empty() {
                open.arguments.set(&json!({}));
            }
            out.extend(open.give(Outcome::Complete, &mut self.ids));
        }
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        self.close_partial(Outcome::Unfinished, out);
        let found = self.text.finish();
        self.found(found, out);
        self.give_text_calls(out);
        for call in &mut self.open {
            // Without a word from the provider only a whole object is surely all there is.
            let outcome = if call.arguments.is_whole() { Outcome::Complete } else { Outcome::Unfinished };
            out.extend(call.give(outcome, &mut self.ids));
        }
        out.extend(self.usage.take().map(StreamEvent::Usage));
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A count, also where it was written as a float.
fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| format!("{:.0}", value.as_f64()?).parse().ok())
}
