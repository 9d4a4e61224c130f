//! Chat Completions from before there were tools: one `function_call` in a message, `role: function` answers it.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use super::calls::{ARGS, Layout, Malformed, inner, part_signature};
use super::chat;
use super::history::{Conversation, Message, Writer};
use super::request::{ModelRequest, RequestBody, ToolChoice};
use super::results::{Prepared, text_or_list};
use super::stream::{State, StreamEvent};
use super::{Members as _, Object, WireFormat};
use crate::dialect::{MessageRules, Protocol};

pub(crate) struct Functions;

impl WireFormat for Functions {
    fn call<'a>(&self, map: &'a Object) -> Result<Option<Layout<'a>>, Malformed> {
        let call = inner(map, "function_call")?;
        Ok(call.map(|inner| Layout { candidates: candidates(map, inner), ..part(inner) }))
    }

    fn is_chunk(&self, chunk: &Object) -> bool {
        let mut choices = chunk.list("choices").iter();
        choices.any(|choice| choice.pointer("/delta/function_call").is_some_and(Value::is_object))
    }

    fn push_chunk(&self, state: &mut State, chunk: &Value, out: &mut Vec<StreamEvent>) {
        chat::push(state, chunk, out);
    }

    fn write_result(&self, _rules: &MessageRules, result: &Prepared<'_>) -> Value {
        let content = text_or_list(self, &result.arranged);
        json!({"role": "function", "name": result.outcome.wire_name, "content": content})
    }

    fn write_history(&self, writer: &mut Writer<'_>, messages: &[Message]) -> Conversation {
        let mut written = writer.message_list(messages, |writer, at, blocks| {
            chat::assistant(writer, at, blocks, "content").map_or_else(Vec::new, one_call_each)
        });
        written.messages = answer_in_turn(written.messages);
        written
    }

    fn write_request(&self, request: &ModelRequest<'_>, body: &mut RequestBody<'_>) -> bool {
        if let Some(functions) = request.tools {
            body.set_tools("functions", functions, ("", ""));
            let choice = match request.tool_choice {
                // There is no word for any of them.
                ToolChoice::Auto | ToolChoice::Required | ToolChoice::Other(_) => json!("auto"),
                ToolChoice::None => json!("none"),
                ToolChoice::Named(name) => json!({"name": name}),
            };
            body.set("function_call", choice);
        }
        body.settings.take("parallel_tool_calls");
        chat::write_common(request, body);
        true
    }
}

/// A part that holds a call.
pub(crate) fn part(inner: &Object) -> Layout<'_> {
    let read = &["functionCall", "function_call", "thoughtSignature", "thought_signature", "role", "content"];
    Layout::of(Protocol::GenerateContent, inner, read, ARGS)
}

/// `function_call` is a message's member in one API and a part's in another, which spells it `functionCall` as a rule.
fn candidates(outer: &Object, inner: &Object) -> Vec<Protocol> {
    let legacy =
        inner.contains_key("arguments") || outer.contains_key("role") || outer.contains_key("content");
    let part = inner.contains_key("args") || part_signature(outer).is_some();
    match (legacy, part) {
        (_, false) => vec![Protocol::Functions],
        (false, true) => vec![Protocol::GenerateContent],
        (true, true) => vec![Protocol::Functions, Protocol::GenerateContent],
    }
}

/// One message for each call; the text stands in the first.
fn one_call_each(said: chat::Said<'_>) -> Vec<Value> {
    let mut first = Some(said.message);
    let mut messages: Vec<Value> = Vec::new();
    for call in said.calls {
        let mut next = first.take().unwrap_or_else(|| {
            Map::from_iter([("role".to_owned(), "assistant".into()), ("content".to_owned(), Value::Null)])
        });
        let arguments = call.input.to_string();
        next.insert("function_call".into(), json!({"name": call.name, "arguments": arguments}));
        messages.push(next.into());
    }
    messages.extend(first.map(Value::Object));
    messages
}

/// Lets each call wait for the result of the one before it.
fn answer_in_turn(messages: Vec<Value>) -> Vec<Value> {
    let mut ordered = Vec::with_capacity(messages.len());
    let mut waiting: VecDeque<Value> = VecDeque::new();
    let mut is_open = false;
    for message in messages {
        let is_result = message.get("role").is_some_and(|role| role == "function");
        let is_call = message.get("function_call").is_some();
        if is_call && is_open {
            waiting.push_back(message);
            continue;
        }
        is_open |= is_call;
        ordered.push(message);
        if is_result {
            let next = waiting.pop_front();
            is_open = next.is_some();
            ordered.extend(next);
        }
    }
    ordered.extend(waiting);
    ordered
}
