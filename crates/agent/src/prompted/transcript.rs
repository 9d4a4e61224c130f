//! A conversation as text: calls and results are written out, and tools stand in front.

use std::collections::{HashMap, HashSet};

use gateway_dialects::arguments::{Arguments, BadArguments, parse_arguments};
use serde_json::{Value, json};

use super::steps::ANSWER;
use super::tools::Tools;

/// What stands below the tools.
const HOW: &str = "A program runs these tools for you. It asks you which one to run, and writes the results into the conversation.";

/// A conversation of Chat Completions as text.
#[derive(Debug)]
pub(super) struct Transcript {
    /// Messages, the tools in the first of them.
    messages: Vec<Value>,
    /// Calls since the last message of the user, with their arguments.
    calls: Vec<(String, Value)>,
    /// Ids of all calls.
    ids: HashSet<String>,
    has_tools: bool,
}

impl Transcript {
    pub(super) fn of(conversation: &[Value], tools: &Tools) -> Self {
        let has_tools = !tools.is_empty();
        let mut transcript = Self { messages: Vec::new(), calls: Vec::new(), ids: HashSet::new(), has_tools };
        let mut rest = conversation;
        if has_tools {
            let context = format!("{}\n\n{HOW}", tools.context());
            let first = conversation.first().filter(|message| is_system(message));
            if let Some((system, further)) = first.and(conversation.split_first()) {
                let mut system = system.clone();
                append(&mut system, &context);
                transcript.messages.push(system);
                rest = further;
            } else {
                transcript.messages.push(json!({"role": "system", "content": context}));
            }
        }
        let mut names = HashMap::new();
        for message in rest {
            transcript.add(message, &mut names);
        }
        transcript
    }

    fn add<'a>(&mut self, message: &'a Value, names: &mut HashMap<&'a str, &'a str>) {
        match message["role"].as_str() {
            Some("tool") => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                let name = names.get(id).copied().unwrap_or("the tool");
                self.push_user(&format!("Result of {name}: {}", text_of(&message["content"])));
            }
            Some("assistant") => {
                let mut texts: Vec<String> = Vec::new();
                texts.extend(Some(text_of(&message["content"])).filter(|text| !text.trim().is_empty()));
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    let (id, function) = (call["id"].as_str().unwrap_or_default(), &call["function"]);
                    let name = function["name"].as_str().unwrap_or_default();
                    let arguments = function["arguments"].as_str().unwrap_or("{}");
                    names.insert(id, name);
                    self.ids.insert(id.to_owned());
                    self.calls.push((name.to_owned(), object_of(&Arguments::Text(arguments.to_owned()))));
                    texts.push(format!("Run the tool {name} with {arguments}"));
                }
                self.messages.push(json!({"role": "assistant", "content": texts.join("\n")}));
            }
            Some("user") => {
                self.calls.clear();
                self.messages.push(message.clone());
            }
            _ => self.messages.push(message.clone()),
        }
    }

    /// Adds text of the user. Many templates want the roles to take turns.
    fn push_user(&mut self, text: &str) {
        match self.messages.last_mut().filter(|last| last["role"] == "user") {
            Some(last) => append(last, text),
            None => self.messages.push(json!({"role": "user", "content": text})),
        }
    }

    /// The conversation with a question behind it.
    pub(super) fn with(&self, question: &str) -> Vec<Value> {
        let mut messages = self.messages.clone();
        match messages.last_mut().filter(|last| last["role"] == "user") {
            Some(last) => append(last, question),
            None => messages.push(json!({"role": "user", "content": question})),
        }
        messages
    }

    /// The conversation for an answer in words.
    pub(super) fn for_answer(&self) -> Vec<Value> {
        if self.has_tools && !self.calls.is_empty() { self.with(ANSWER) } else { self.messages.clone() }
    }

    /// Whether the same call was made since the last message of the user.
    pub(super) fn has_called(&self, name: &str, arguments: &Arguments) -> bool {
        let arguments = object_of(arguments);
        self.calls.iter().any(|(other, with)| other == name && *with == arguments)
    }

    /// An id that no call has.
    pub(super) fn next_id(&self) -> String {
        let mut number = self.ids.len();
        loop {
            number += 1;
            let id = format!("call_{number}");
            if !self.ids.contains(&id) {
                return id;
            }
        }
    }
}

fn is_system(message: &Value) -> bool {
    matches!(message["role"].as_str(), Some("system" | "developer"))
}

/// Arguments to compare with others.
fn object_of(arguments: &Arguments) -> Value {
    match parse_arguments(arguments, BadArguments::Repair) {
        Ok(parsed) => parsed.object.into(),
        Err(_) => arguments.to_text().into_owned().into(),
    }
}

/// Adds a paragraph to a message.
fn append(message: &mut Value, text: &str) {
    match &mut message["content"] {
        Value::String(content) => {
            content.push_str("\n\n");
            content.push_str(text);
        }
        Value::Array(parts) => parts.push(json!({"type": "text", "text": text})),
        other => *other = text.into(),
    }
}

/// The text of a message: a string, or the texts among its parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
