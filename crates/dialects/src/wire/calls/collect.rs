//! Walks messages and responses of every provider and gathers what is in them.

use serde_json::{Map, Value};

use super::{
    CallError, Ids, ReadOptions, Reply, TextScan,
    shape::{Malformed, RawCall, read_call},
    text::{Found, RefusedCall, Scanner, WrittenCall, WrittenTail, calls_only},
};
use crate::dialect::Protocol;
use crate::wire::{Members as _, Object, format, formats};

/// Containers inside containers; no provider nests half as deep.
const MAX_DEPTH: u32 = 12;

/// What a whole response holds.
pub(crate) enum Envelope<'a> {
    /// Alternatives, of which only the first is the reply.
    Alternatives(&'a [Value]),
    /// Items in a row; `stop` is the member that says why they end.
    Items { items: &'a [Value], stop: &'static str },
    /// A message, or an object around it.
    Message { message: &'a Object, stop: &'static str },
}

/// Gathers calls, text and reasoning.
pub(super) struct Collector<'a> {
    options: &'a ReadOptions<'a>,
    calls: Vec<RawCall>,
    /// Calls in the text that must not be run, with their position and the reason.
    refused: Vec<(RawCall, usize, String)>,
    /// Everything but the calls.
    reply: Reply,
    /// The protocol that an envelope around the calls speaks.
    envelope: Option<Protocol>,
    /// Whether the whole input was plain text.
    plain: bool,
    /// Whether what is being read is part of something larger than one call: a list, a message, a response.
    is_part: bool,
    depth: u32,
}

impl<'a> Collector<'a> {
    pub(super) fn new(options: &'a ReadOptions<'a>) -> Self {
        let reply = Reply::default();
        Self {
            options,
            calls: Vec::new(),
            refused: Vec::new(),
            reply,
            envelope: None,
            plain: false,
            is_part: false,
            depth: 0,
        }
    }

    pub(super) fn read(&mut self, value: &Value) -> Result<(), CallError> {
        self.deeper(|this| match value {
            Value::Object(map) => this.object(map),
            Value::Array(items) => {
                this.is_part = true;
                items.iter().try_for_each(|item| match item {
                    Value::Object(map) => this.object(map),
                    _ => Err(this.not_object()),
                })
            }
            Value::String(text) => match crate::json::from_str(text) {
                Ok(inner @ (Value::Object(_) | Value::Array(_) | Value::String(_))) => this.read(&inner),
                Err(error) if error.is_data() => Err(CallError::Json { cause: error.to_string() }),
                Ok(_) | Err(_) => this.plain_text(text),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) => Err(this.not_object()),
        })
    }

    /// The reply, with ids for all calls and one protocol.
    pub(super) fn finish(mut self) -> Result<Reply, CallError> {
        // Plain text has been looked at, and what it stays must not be looked at again.
        if !self.plain {
            self.scan_text();
        }
        self.reply.protocol = self.protocol()?;
        let mut ids = Ids::after(self.options.ids_after);
        let all = || self.calls.iter().chain(self.refused.iter().map(|(call, ..)| call));
        if all().any(|call| call.id.is_none()) {
            all().filter_map(|call| call.id.as_deref()).for_each(|id| ids.note(id));
        }
        self.reply.calls = self.calls.into_iter().map(|call| call.into_call(&mut ids)).collect();
        let refused = self.refused.into_iter().map(|(call, position, refusal)| RefusedCall {
            call: call.into_call(&mut ids),
            position,
            refusal,
        });
        self.reply.refused = refused.collect();
        Ok(self.reply)
    }

    fn deeper(&mut self, step: impl FnOnce(&mut Self) -> Result<(), CallError>) -> Result<(), CallError> {
        if self.depth >= MAX_DEPTH {
            return Err(CallError::TooDeep);
        }
        self.depth += 1;
        let done = step(self);
        self.depth -= 1;
        done
    }

    fn not_object(&self) -> CallError {
        CallError::NotObject { label: self.options.label.to_owned() }
    }

    fn object(&mut self, map: &Object) -> Result<(), CallError> {
        self.deeper(|this| this.object_at(map))
    }

    fn object_at(&mut self, map: &Object) -> Result<(), CallError> {
        let was_part = std::mem::replace(&mut self.is_part, true);
        for protocol in Protocol::ALL {
            if let Some(envelope) = format(*protocol).envelope(map) {
                self.envelope = Some(*protocol);
                self.usage_of(map, *protocol);
                return self.envelope_at(map, &envelope);
            }
        }
        match map.member("response") {
            Some(Value::Object(inner)) if !map.has("name") => return self.object(inner),
            Some(Value::String(text)) if !map.has("name") => {
                self.reply.text.push_str(text);
                return Ok(());
            }
            _ => {}
        }
        if let Some(Value::Object(message)) = map.member("message") {
            self.stops_at(map);
            return self.object(message);
        }
        if let Some(Value::Object(content)) = map.member("content")
            && content.has("parts")
        {
            self.stops_at(map);
            return self.object(content);
        }
        if let Some(Value::Array(parts)) = map.member("parts") {
            self.stops_at(map);
            return self.items(parts);
        }
        if self.message(map)? || self.block(map) {
            self.stops_at(map);
            return Ok(());
        }
        self.is_part = was_part;
        match self.call_in(map)? {
            Some(call) => {
                self.reply.is_bare = !was_part;
                self.calls.push(call);
            }
            // With a provider named, the object can only have been meant as a call.
            None if self.options.protocol.is_some() => {
                return Err(Malformed::NoName.error(self.options.label));
            }
            None => {
                let label = self.options.label.to_owned();
                return Err(CallError::Unknown { label, keys: listed_keys(map) });
            }
        }
        Ok(())
    }

    fn envelope_at(&mut self, map: &Object, envelope: &Envelope<'_>) -> Result<(), CallError> {
        match envelope {
            Envelope::Alternatives(alternatives) => self.first(alternatives),
            Envelope::Items { items, stop } => {
                self.stop_at(map, stop);
                if let Some(Value::Object(details)) = map.member("incomplete_details") {
                    self.stop_at(details, "reason");
                }
                self.items(items)
            }
            Envelope::Message { message, stop } => {
                self.stop_at(map, stop);
                self.object(message)
            }
        }
    }

    /// Alternatives are not parallel calls: only the first is the reply.
    fn first(&mut self, alternatives: &[Value]) -> Result<(), CallError> {
        match alternatives.first() {
            Some(Value::Object(first)) if first.values().any(Value::is_object) => self.object(first),
            Some(Value::Object(first)) => {
                // An answer that was blocked has a reason and no content.
                self.stops_at(first);
                Ok(())
            }
            Some(_) => Err(self.not_object()),
            None => Ok(()),
        }
    }

    /// Why the model stopped, in the words of any API.
    fn stops_at(&mut self, map: &Object) {
        for key in ["finish_reason", "finishReason", "done_reason", "stop_reason", "stopReason"] {
            self.stop_at(map, key);
        }
    }

    fn stop_at(&mut self, map: &Object, key: &str) {
        if let Some(reason) = map.text(key) {
            self.reply.stop = Some(reason.to_owned());
        }
    }

    /// Reads `map` as a message; says whether it is one.
    fn message(&mut self, map: &Object) -> Result<bool, CallError> {
        let calls = map.member("tool_calls").filter(|calls| !calls.is_null());
        let legacy = map.member("function_call").filter(|_| map.has("role") || map.has("content"));
        let is_call = map.has("name") && calls.is_none() && !map.has("role");
        let is_message = calls.is_some()
            || legacy.is_some_and(Value::is_object)
            || ["role", "content", "tool_plan"].iter().any(|key| map.has(key));
        let kind = map.text("type");
        if is_call || !is_message || kind.is_some_and(|kind| kind != "message" && kind != "assistant") {
            return Ok(false);
        }
        if self.envelope.is_none() {
            self.envelope =
                Protocol::ALL.iter().copied().find(|protocol| format(*protocol).owns_message(map));
            if let Some(protocol) = self.envelope {
                self.usage_of(map, protocol);
            }
        }
        self.reasoning_of(map);
        match map.member("content") {
            Some(Value::String(text)) => self.reply.text.push_str(text),
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    match block {
                        Value::String(text) => self.reply.text.push_str(text),
                        Value::Object(block) => self.item(block)?,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        // A model that refuses to answer says so instead of the answer.
        self.reply.text.push_str(map.text("refusal").unwrap_or_default());
        match calls {
            Some(Value::Array(calls)) => calls.iter().try_for_each(|call| self.listed_call(call))?,
            Some(call) => self.listed_call(call)?,
            None => {}
        }
        if let Some(legacy @ Value::Object(_)) = legacy {
            let mut only = Map::new();
            only.insert("function_call".to_owned(), legacy.clone());
            only.extend(map.member("role").map(|role| ("role".to_owned(), role.clone())));
            self.block_call(&only)?;
        }
        Ok(true)
    }

    fn usage_of(&mut self, response: &Object, protocol: Protocol) {
        let (path, input, output) = format(protocol).usage();
        let counts = path.iter().try_fold(response, |inside, key| inside.member(key)?.as_object());
        if let Some(counts) = counts.filter(|counts| counts.has(input) || counts.has(output)) {
            self.reply.usage.get_or_insert_default().take(counts, input, output);
        }
    }

    fn reasoning_of(&mut self, map: &Object) {
        for key in ["reasoning_content", "reasoning", "thinking", "tool_plan"] {
            if let Some(text) = map.text(key) {
                self.reply.reasoning.push_str(text);
                return;
            }
        }
    }

    /// The call in `map`, if it is one. What names no tool is refused where it is all that there is; in a whole reply the model gets
    /// an answer to it, as to every other call.
    fn call_in(&self, map: &Object) -> Result<Option<RawCall>, CallError> {
        match read_call(map, self.options.protocol) {
            Ok(call) => Ok(call),
            Err(nameless) if self.is_part => Ok(Some(nameless.call)),
            Err(nameless) => Err(nameless.malformed.error(self.options.label)),
        }
    }

    /// A call in a `tool_calls` list: there a shape that could be several is a chat call.
    fn listed_call(&mut self, call: &Value) -> Result<(), CallError> {
        let nothing = Object::new();
        let map = call.as_object().unwrap_or(&nothing);
        let mut call = self.call_in(map)?.unwrap_or_else(|| RawCall::nameless(map, Protocol::Chat));
        if call.candidates.len() > 1 && call.candidates.contains(&Protocol::Chat) {
            call.candidates = vec![Protocol::Chat];
        }
        self.calls.push(call);
        Ok(())
    }

    fn items(&mut self, items: &[Value]) -> Result<(), CallError> {
        items.iter().filter_map(Value::as_object).try_for_each(|item| self.item(item))
    }

    /// One entry of a content list or an output list.
    fn item(&mut self, map: &Object) -> Result<(), CallError> {
        self.deeper(|this| if this.block(map) || this.message(map)? { Ok(()) } else { this.block_call(map) })
    }

    /// A block that is a call, or something that is not ours to understand, such as an image.
    fn block_call(&mut self, block: &Object) -> Result<(), CallError> {
        let kind = block.text("type");
        let wrapped = ["functionCall", "function_call", "toolUse"].iter().any(|key| block.has(key));
        if wrapped || matches!(kind, Some("tool_use" | "function_call" | "function")) {
            let call = self.call_in(block)?;
            self.calls.extend(call);
        }
        Ok(())
    }

    /// Reads a block of text or reasoning; says whether `map` was one.
    fn block(&mut self, map: &Object) -> bool {
        let kind = map.text("type");
        if let Some("text" | "output_text" | "input_text") = kind {
            self.reply.text.push_str(map.text("text").unwrap_or_default());
            return true;
        }
        if kind == Some("refusal") {
            self.reply.text.push_str(map.text("refusal").unwrap_or_default());
            return true;
        }
        formats().any(|format| format.read_block(kind, map, &mut self.reply))
    }

    fn plain_text(&mut self, text: &str) -> Result<(), CallError> {
        self.plain = true;
        if let TextScan::Whole(tools) = &self.options.text
            && let Some(calls) = calls_only(text, tools)
        {
            self.reply.written = calls.first().and_then(|call| call.written);
            self.calls = calls;
            return Ok(());
        }
        self.reply.text.push_str(text);
        self.scan_text();
        match self.options.text {
            TextScan::Off | TextScan::Whole(_) if self.options.protocol.is_some() => Err(self.not_object()),
            // The text of a model that may write calls is a reply, with calls or without.
            TextScan::Off | TextScan::Whole(_) | TextScan::Offered(..) | TextScan::AtEnd(..) => Ok(()),
        }
    }

    /// Takes reasoning, and tool use where it is wanted, out of the text.
    fn scan_text(&mut self) {
        if self.reply.text.is_empty() {
            return;
        }
        // A model that makes native calls does not write others into its text.
        let wanted = if self.calls.is_empty() { self.options.text.in_prose() } else { TextScan::Off };
        let text = std::mem::take(&mut self.reply.text);
        for piece in Scanner::new(wanted).read(&text) {
            match piece {
                Found::Text(text) => self.reply.text.push_str(&text),
                Found::Reasoning(text) => self.reply.reasoning.push_str(&text),
                Found::Call(found) => {
                    self.reply.written = self.reply.written.or(found.call.written);
                    self.calls.push(found.call);
                }
                Found::Skipped(skipped) => self.reply.skip(skipped),
                Found::Tail(tail) => self.tail(*tail),
            }
        }
    }

    /// Takes the calls with which the text ends.
    fn tail(&mut self, tail: WrittenTail) {
        self.reply.source = tail.source;
        for (position, WrittenCall { call, refusal }) in tail.calls.into_iter().enumerate() {
            self.reply.written = self.reply.written.or(call.written);
            match refusal {
                None => self.calls.push(call),
                Some(refusal) => self.refused.push((call, position, refusal)),
            }
        }
    }

    fn protocol(&self) -> Result<Option<Protocol>, CallError> {
        if let Some(protocol) = self.options.protocol {
            return Ok(Some(protocol));
        }
        if let Some(envelope) = self.envelope {
            // One envelope may carry the calls of two formats, an older and a newer one.
            let older = format(envelope).older_calls().filter(|older| {
                !self.calls.is_empty() && self.calls.iter().all(|call| call.candidates == [*older])
            });
            return Ok(Some(older.unwrap_or(envelope)));
        }
        if self.reply.written.is_some() {
            return Ok(None);
        }
        let mut all: Vec<Protocol> = Vec::new();
        for protocol in self.calls.iter().flat_map(|call| &call.candidates) {
            if !all.contains(protocol) {
                all.push(*protocol);
            }
        }
        let mut common = all.clone();
        common.retain(|protocol| self.calls.iter().all(|call| call.candidates.contains(protocol)));
        match common.as_slice() {
            _ if self.calls.is_empty() => Ok(None),
            [one] => Ok(Some(*one)),
            [] => Err(CallError::Ambiguous { candidates: all }),
            _ => Err(CallError::Ambiguous { candidates: common }),
        }
    }
}

/// The first keys of an object that is of no known shape.
pub(crate) fn listed_keys(map: &Object) -> String {
    let keys = map.keys().take(12).map(String::as_str).collect::<Vec<_>>().join(", ");
    if keys.is_empty() { "no members".to_owned() } else { keys }
}
