//! Messages, before a model gets them.

use std::borrow::Cow;
use std::sync::Arc;

use gateway_dialects::history::{Content, Message};
use gateway_privacy::{Applied, Counts, Mode};
use serde_json::{Map, Value, json};

use super::results::withheld;
use super::texts::{Finding, look_through, masked_text};
use super::{Face, Part, Screen, search};
use crate::error::AgentError;
use crate::history::{History, Segment};

/// A message, in either form that a history has.
enum Said<'a> {
    Chat(&'a mut Value),
    Neutral(&'a mut Message),
}

impl Screen {
    /// Looks through a history before a model gets it. An error if a new message of the user must not be passed on.
    pub(crate) async fn history(self: &Arc<Self>, history: &mut History) -> Result<(), AgentError> {
        let bytes = history.given_mut().iter().map(weight_of_segment).sum();
        let (screen, mut given) = (Arc::clone(self), std::mem::take(history));
        let looked = search(bytes, move || {
            let mut all = Vec::new();
            for segment in given.given_mut() {
                match segment {
                    Segment::Chat(messages) => all.extend(messages.iter_mut().map(Said::Chat)),
                    Segment::Neutral(messages) => all.extend(messages.iter_mut().map(Said::Neutral)),
                }
            }
            screen.messages(all).map(|()| given)
        });
        *history = looked.await.unwrap_or_else(|| Err(unsearched()))?;
        Ok(())
    }

    /// The same for the messages of a chat request.
    pub(crate) async fn chat(self: &Arc<Self>, mut messages: Vec<Value>) -> Result<Vec<Value>, AgentError> {
        let (bytes, screen) = (messages.iter().map(weight).sum(), Arc::clone(self));
        let looked = search(bytes, move || {
            screen.messages(messages.iter_mut().map(Said::Chat).collect()).map(|()| messages)
        });
        looked.await.unwrap_or_else(|| Err(unsearched()))
    }

    /// A new message of the user as it may be kept: masked if the mode is `mask`, an error if it is `block`. What is only marked is
    /// reported when a model gets it.
    pub fn kept_text<'a>(&self, text: &'a str) -> Result<Cow<'a, str>, AgentError> {
        let Some(mode @ (Mode::Mask | Mode::Block)) = self.mode(Part::Messages) else {
            return Ok(Cow::Borrowed(text));
        };
        let mut counts = Counts::default();
        let applied = self.detector.apply(text, mode);
        counts.add_all(applied.report());
        self.report(Part::Messages, mode, counts);
        match applied {
            Applied::Passed { output, .. } => Ok(output),
            Applied::Blocked { .. } => Err(AgentError::PersonalData(counts.to_string())),
        }
    }

    /// The same for a message as the API of conversations has it.
    pub(crate) async fn kept_message(&self, message: &mut Map<String, Value>) -> Result<(), AgentError> {
        let Some(mode @ (Mode::Mask | Mode::Block)) = self.mode(Part::Messages) else { return Ok(()) };
        let (detector, mut value) = (self.detector.clone(), Value::Object(std::mem::take(message)));
        let looked = search(weight(&value), move || {
            let mut counts = Counts::default();
            look_through(&detector, &mut value, Finding::Masked, &mut counts);
            (value, counts)
        });
        let Some((Value::Object(masked), counts)) = looked.await else { return Err(unsearched()) };
        *message = masked;
        self.report(Part::Messages, mode, counts);
        let is_refused = mode == Mode::Block && !counts.is_empty();
        if is_refused { Err(AgentError::PersonalData(counts.to_string())) } else { Ok(()) }
    }

    fn messages(&self, mut all: Vec<Said<'_>>) -> Result<(), AgentError> {
        let last_reply = all.iter().rposition(|said| said.role() == "assistant");
        let mut found = [Counts::default(); 3];
        let [masked, results, refused] = &mut found;
        for (index, said) in all.iter_mut().enumerate() {
            let (part, counts) = match said.role() {
                "tool" | "function" => (Part::Results, &mut *results),
                _ => (Part::Messages, &mut *masked),
            };
            let Some(mode) = self.mode(part) else { continue };
            // What was said before cannot be taken back, and instructions are not the user's: there, nothing is refused. A new message
            // of a conversation was refused before it was stored; all that comes here is stored, and may wait for an answer for long.
            let is_new = self.face == Face::Completions
                && said.role() == "user"
                && last_reply.is_none_or(|last| index > last);
            match (mode, part) {
                (Mode::Mark, _) => self.look(said, Finding::Counted, counts),
                (Mode::Block, Part::Results) => {
                    let mut inside = Counts::default();
                    self.look(said, Finding::Counted, &mut inside);
                    if !inside.is_empty() {
                        said.withhold(inside);
                        counts.merge(inside);
                    }
                }
                (Mode::Block, _) if is_new => self.look(said, Finding::Counted, refused),
                (Mode::Mask | Mode::Block, _) if said.role() == "assistant" => {
                    self.look(said, Finding::MaskedUnlessSigned, counts);
                }
                (Mode::Mask | Mode::Block, _) => self.look(said, Finding::Masked, counts),
            }
        }
        let [masked, results, refused] = found;
        if let Some(mode) = self.modes.results {
            self.report(Part::Results, mode, results);
        }
        if !refused.is_empty() {
            self.report(Part::Messages, Mode::Block, refused);
            return Err(AgentError::PersonalData(refused.to_string()));
        }
        if let Some(mode) = self.modes.messages {
            self.report(Part::Messages, if mode == Mode::Block { Mode::Mask } else { mode }, masked);
        }
        Ok(())
    }

    fn look(&self, said: &mut Said<'_>, found: Finding, counts: &mut Counts) {
        match said {
            Said::Chat(message) => look_through(&self.detector, message, found, counts),
            Said::Neutral(message) => self.look_neutral(message, found, counts),
        }
    }

    fn look_neutral(&self, message: &mut Message, found: Finding, counts: &mut Counts) {
        if let Content::Text(text) = &mut message.content {
            if let Some(masked) = masked_text(&self.detector, text, counts)
                && found.is_masked()
            {
                *text = masked;
            }
            return;
        }
        let Ok(mut content) = serde_json::to_value(&message.content) else { return };
        look_through(&self.detector, &mut content, found, counts);
        if let (true, Ok(content)) = (found.is_masked(), serde_json::from_value(content)) {
            message.content = content;
        }
    }
}

impl Said<'_> {
    fn role(&self) -> &str {
        match self {
            Self::Chat(message) => message["role"].as_str().unwrap_or_default(),
            Self::Neutral(message) => message.role.name(),
        }
    }

    /// Replaces the result that this message brings.
    fn withhold(&mut self, counts: Counts) {
        let text = withheld(counts);
        match self {
            Self::Chat(message) => message["content"] = text.into(),
            Self::Neutral(message) => {
                let Ok(mut blocks) = serde_json::to_value(message.content.blocks()) else { return };
                for block in blocks.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
                    block.insert("content".to_owned(), json!([{"type": "text", "text": text}]));
                    block.remove("structuredContent");
                }
                if let Ok(content) = serde_json::from_value(blocks) {
                    message.content = content;
                }
            }
        }
    }
}

/// The error for messages whose search broke off.
fn unsearched() -> AgentError {
    AgentError::PersonalData("the search for it broke off".to_owned())
}

fn weight_of_segment(segment: &Segment) -> usize {
    match segment {
        Segment::Chat(messages) => messages.iter().map(weight).sum(),
        Segment::Neutral(messages) => messages.iter().map(weight_of_message).sum(),
    }
}

fn weight_of_message(message: &Message) -> usize {
    match &message.content {
        Content::Text(text) => text.len(),
        // Blocks are made a value to be searched, which is the work that is estimated here.
        Content::Blocks(_) | Content::Other(_) => {
            serde_json::to_value(&message.content).map_or(0, |content| weight(&content))
        }
    }
}

/// About how many bytes of text a value has.
fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => members.iter().map(|(name, member)| name.len() + weight(member)).sum(),
    }
}
