//! Walks messages and responses of every provider and gathers what is in them.

use serde_json::{Map, Value};

use super::{
    CallError, Ids, ReadOptions, Reply, TextScan,
    shape::{RawCall, part_signature, read_call},
    text::{Found, Notation, Scanner, SkippedCall, Wanted, calls_only},
};
use crate::dialect::Protocol;

/// Containers inside containers; no provider nests half as deep.
const MAX_DEPTH: u32 = 12;
/// Tool uses that stay text and are reported.
const MAX_SKIPPED: usize = 16;

type Object = Map<String, Value>;

/// Gathers calls, text and reasoning.
pub(super) struct Collector<'a> {
    options: &'a ReadOptions<'a>,
    calls: Vec<RawCall>,
    text: String,
    reasoning: String,
    reasoning_items: Vec<Value>,
    signature: Option<String>,
    stop: Option<String>,
    written: Option<Notation>,
    skipped: Vec<SkippedCall>,
    /// The protocol that an envelope around the calls speaks.
    envelope: Option<Protocol>,
    /// Whether the whole input was plain text.
    plain: bool,
    depth: u32,
}

impl<'a> Collector<'a> {
    pub(super) fn new(options: &'a ReadOptions<'a>) -> Self {
        Self {
            options,
            calls: Vec::new(),
            text: String::new(),
            reasoning: String::new(),
            reasoning_items: Vec::new(),
            signature: None,
            stop: None,
            written: None,
            skipped: Vec::new(),
            envelope: None,
            plain: false,
            depth: 0,
        }
    }

    pub(super) fn read(&mut self, value: &Value) -> Result<(), CallError> {
        self.deeper(|this| match value {
            Value::Object(map) => this.object(map),
            Value::Array(items) => items.iter().try_for_each(|item| match item {
                Value::Object(map) => this.object(map),
                _ => Err(this.not_object()),
            }),
            Value::String(text) => match crate::unrepeated::from_str(text) {
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
        let protocol = self.protocol()?;
        let mut ids = Ids::after(self.options.ids_after);
        self.calls.iter().filter_map(|call| call.id.as_deref()).for_each(|id| ids.note(id));
        Ok(Reply {
            calls: self.calls.into_iter().map(|call| call.into_call(&mut ids)).collect(),
            text: self.text,
            reasoning: self.reasoning,
            reasoning_items: self.reasoning_items,
            signature: self.signature,
            protocol,
            written: self.written,
            stop: self.stop,
            skipped: self.skipped,
        })
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
        if let Some(Value::Array(choices)) = map.get("choices") {
            self.envelope = Some(Protocol::Chat);
            return self.first(choices);
        }
        if let Some(Value::Array(candidates)) = map.get("candidates") {
            self.envelope = Some(Protocol::GenerateContent);
            return self.first(candidates);
        }
        match map.get("output") {
            Some(Value::Array(items)) => {
                self.envelope = Some(Protocol::Responses);
                self.stop_at(map, "status");
                return items.iter().filter_map(Value::as_object).try_for_each(|item| self.item(item));
            }
            Some(Value::Object(output)) if output.contains_key("message") => {
                self.envelope = Some(Protocol::Converse);
                self.stop_at(map, "stopReason");
                return self.object(output);
            }
            _ => {}
        }
        match map.get("response") {
            Some(Value::Object(inner)) if !map.contains_key("name") => return self.object(inner),
            Some(Value::String(text)) if !map.contains_key("name") => {
                self.text.push_str(text);
                return Ok(());
            }
            _ => {}
        }
        for key in ["finish_reason", "finishReason", "done_reason", "stop_reason", "stopReason"] {
            self.stop_at(map, key);
        }
        if let Some(Value::Object(message)) = map.get("message") {
            if map.contains_key("done") {
                self.envelope = Some(Protocol::OllamaChat);
            }
            return self.object(message);
        }
        match map.get("content") {
            Some(Value::Object(content)) if content.contains_key("parts") => return self.object(content),
            _ => {}
        }
        if let Some(Value::Array(parts)) = map.get("parts") {
            return parts.iter().filter_map(Value::as_object).try_for_each(|part| self.item(part));
        }
        if self.message(map)? || self.block(map) {
            return Ok(());
        }
        match read_call(map, self.options.protocol, self.options.label)? {
            Some(call) => self.calls.push(call),
            // With a provider named, the object can only have been meant as a call.
            None if self.options.protocol.is_some() => {
                return Err(CallError::Name { label: self.options.label.to_owned() });
            }
            None => {
                let keys = map.keys().take(12).map(String::as_str).collect::<Vec<_>>().join(", ");
                let keys = if keys.is_empty() { "no members".to_owned() } else { keys };
                return Err(CallError::Unknown { label: self.options.label.to_owned(), keys });
            }
        }
        Ok(())
    }

    /// Alternatives are not parallel calls: only the first is the reply.
    fn first(&mut self, alternatives: &[Value]) -> Result<(), CallError> {
        match alternatives.first() {
            Some(Value::Object(first)) if first.values().any(Value::is_object) => self.object(first),
            Some(Value::Object(first)) => {
                // An answer that was blocked has a reason and no content.
                self.stop_at(first, "finishReason");
                self.stop_at(first, "finish_reason");
                Ok(())
            }
            Some(_) => Err(self.not_object()),
            None => Ok(()),
        }
    }

    fn stop_at(&mut self, map: &Object, key: &str) {
        if let Some(reason) = map.get(key).and_then(Value::as_str) {
            self.stop = Some(reason.to_owned());
        }
    }

    /// Reads `map` as a message; says whether it is one.
    fn message(&mut self, map: &Object) -> Result<bool, CallError> {
        let calls = map.get("tool_calls").filter(|calls| !calls.is_null());
        let legacy =
            map.get("function_call").filter(|_| map.contains_key("role") || map.contains_key("content"));
        let is_call = map.contains_key("name") && calls.is_none() && !map.contains_key("role");
        let is_message = calls.is_some()
            || legacy.is_some_and(Value::is_object)
            || ["role", "content", "tool_plan"].iter().any(|key| map.contains_key(*key));
        let kind = map.get("type").and_then(Value::as_str);
        if is_call || !is_message || kind.is_some_and(|kind| kind != "message" && kind != "assistant") {
            return Ok(false);
        }
        if map.contains_key("tool_plan") {
            self.envelope.get_or_insert(Protocol::CohereChat);
        }
        self.reasoning_of(map);
        match map.get("content") {
            Some(Value::String(text)) => self.text.push_str(text),
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    match block {
                        Value::String(text) => self.text.push_str(text),
                        Value::Object(block) => self.item(block)?,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        match calls {
            Some(Value::Array(calls)) => calls.iter().try_for_each(|call| self.listed_call(call))?,
            Some(call) => self.listed_call(call)?,
            None => {}
        }
        if let Some(legacy @ Value::Object(_)) = legacy {
            let mut only = Map::new();
            only.insert("function_call".to_owned(), legacy.clone());
            only.extend(map.get("role").map(|role| ("role".to_owned(), role.clone())));
            self.block_call(&only)?;
        }
        Ok(true)
    }

    fn reasoning_of(&mut self, map: &Object) {
        for key in ["reasoning_content", "reasoning", "thinking", "tool_plan"] {
            if let Some(text) = map.get(key).and_then(Value::as_str) {
                self.reasoning.push_str(text);
                return;
            }
        }
    }

    /// A call in a `tool_calls` list: there a shape that could be several is a chat call.
    fn listed_call(&mut self, call: &Value) -> Result<(), CallError> {
        let Value::Object(map) = call else { return Err(self.not_object()) };
        let mut call = read_call(map, self.options.protocol, self.options.label)?
            .ok_or_else(|| CallError::Name { label: self.options.label.to_owned() })?;
        if call.candidates.len() > 1 && call.candidates.contains(&Protocol::Chat) {
            call.candidates = vec![Protocol::Chat];
        }
        self.calls.push(call);
        Ok(())
    }

    /// One entry of a content list or an output list.
    fn item(&mut self, map: &Object) -> Result<(), CallError> {
        self.deeper(|this| if this.block(map) || this.message(map)? { Ok(()) } else { this.block_call(map) })
    }

    /// A block that is a call, or something that is not ours to understand, such as an image.
    fn block_call(&mut self, block: &Object) -> Result<(), CallError> {
        let kind = block.get("type").and_then(Value::as_str);
        let wrapped = ["functionCall", "function_call", "toolUse"].iter().any(|key| block.contains_key(*key));
        if wrapped || matches!(kind, Some("tool_use" | "function_call" | "function")) {
            self.calls.extend(read_call(block, self.options.protocol, self.options.label)?);
        }
        Ok(())
    }

    /// Reads text and reasoning blocks of every provider; says whether `map` was one.
    fn block(&mut self, map: &Object) -> bool {
        let text_at = |key: &str| map.get(key).and_then(Value::as_str);
        match text_at("type") {
            Some("text" | "output_text" | "input_text") => {
                self.text.push_str(text_at("text").unwrap_or_default());
            }
            Some("thinking") => {
                let thought = text_at("thinking").or_else(|| text_at("content")).unwrap_or_default();
                self.reasoning.push_str(thought);
                self.keep(map);
            }
            Some("redacted_thinking") => self.keep(map),
            Some("reasoning") => {
                for list in ["summary", "content"] {
                    let parts = map.get(list).and_then(Value::as_array).into_iter().flatten();
                    for text in parts.filter_map(|part| part.get("text")?.as_str()) {
                        self.reasoning.push_str(text);
                    }
                }
                self.keep(map);
            }
            Some(_) => return false,
            None => return self.untyped_block(map),
        }
        true
    }

    /// Parts that are told apart by their only member.
    fn untyped_block(&mut self, map: &Object) -> bool {
        if map.contains_key("functionCall")
            || map.contains_key("function_call")
            || map.contains_key("toolUse")
        {
            return false;
        }
        if let Some(thought) = map.get("reasoningContent") {
            let text = thought.pointer("/reasoningText/text").and_then(Value::as_str).unwrap_or_default();
            self.reasoning.push_str(text);
            self.keep(map);
            return true;
        }
        let signature = part_signature(map);
        let text = map.get("text").and_then(Value::as_str);
        if map.contains_key("name") || (text.is_none() && signature.is_none()) {
            return false;
        }
        if map.get("thought") == Some(&Value::Bool(true)) {
            self.reasoning.push_str(text.unwrap_or_default());
        } else {
            self.text.push_str(text.unwrap_or_default());
        }
        self.signature = signature.or(self.signature.take());
        true
    }

    fn keep(&mut self, map: &Object) {
        self.reasoning_items.push(Value::Object(map.clone()));
    }

    fn plain_text(&mut self, text: &str) -> Result<(), CallError> {
        self.plain = true;
        if let TextScan::Whole(tools) = &self.options.text
            && let Some(calls) = calls_only(text, tools)
        {
            self.written = calls.first().and_then(|call| call.written);
            self.calls = calls;
            return Ok(());
        }
        self.text.push_str(text);
        self.scan_text();
        match self.options.text {
            TextScan::Off | TextScan::Whole(_) if self.options.protocol.is_some() => Err(self.not_object()),
            // The text of a model that may write calls is a reply, with calls or without.
            TextScan::Off | TextScan::Whole(_) | TextScan::Offered(..) => Ok(()),
        }
    }

    /// Takes reasoning, and tool use where it is wanted, out of the text.
    fn scan_text(&mut self) {
        if self.text.is_empty() {
            return;
        }
        // A model that makes native calls does not write others into its text.
        let wanted = if self.calls.is_empty() { Wanted::in_prose(&self.options.text) } else { Wanted::None };
        let mut scanner = Scanner::new(wanted);
        let mut found = scanner.push(&self.text);
        found.extend(scanner.finish());
        self.text.clear();
        for piece in found {
            match piece {
                Found::Text(text) => self.text.push_str(&text),
                Found::Reasoning(text) => self.reasoning.push_str(&text),
                Found::Call(found) => {
                    self.written = self.written.or(found.call.written);
                    self.calls.push(found.call);
                }
                Found::Skipped(skipped) if self.skipped.len() < MAX_SKIPPED => self.skipped.push(skipped),
                Found::Skipped(_) => {}
            }
        }
    }

    fn protocol(&self) -> Result<Option<Protocol>, CallError> {
        if let Some(protocol) = self.options.protocol {
            return Ok(Some(protocol));
        }
        if let Some(envelope) = self.envelope {
            // The same envelope carries the calls from before there were tools.
            let legacy = !self.calls.is_empty()
                && self.calls.iter().all(|call| call.candidates == [Protocol::Functions]);
            let older = legacy && envelope == Protocol::Chat;
            return Ok(Some(if older { Protocol::Functions } else { envelope }));
        }
        if self.written.is_some() {
            return Ok(None);
        }
        let mut calls = self.calls.iter().map(|call| &call.candidates);
        let Some(first) = calls.next() else { return Ok(None) };
        let mut common = first.clone();
        let mut all = first.clone();
        for candidates in calls {
            common.retain(|protocol| candidates.contains(protocol));
            all.extend(candidates.iter().filter(|protocol| !first.contains(protocol)));
        }
        match common.as_slice() {
            [one] => Ok(Some(*one)),
            [] => {
                let mut unique = Vec::new();
                for protocol in all {
                    if !unique.contains(&protocol) {
                        unique.push(protocol);
                    }
                }
                Err(CallError::Ambiguous { candidates: unique })
            }
            _ => Err(CallError::Ambiguous { candidates: common }),
        }
    }
}
