//! What was said, before and in the loop.

use gateway_dialects::Dialect;
use gateway_dialects::dialect::Protocol;
use gateway_dialects::history::{
    Block, Content, Conversation, HistoryOptions, Message, Role, TranslatedTools, from_dialect, to_dialect,
};
use gateway_dialects::results::IdMap;
use serde_json::{Value, json};

use crate::chat_dialect::chat_dialect;

/// The member of a message's `metadata` with calls that the model wrote as text, in the form of Chat Completions.
pub(crate) const WRITTEN_CALLS: &str = "tool_calls";

/// The member of a message's `metadata` with the results of such calls, as messages of Chat Completions without a role.
pub(crate) const WRITTEN_RESULTS: &str = "tool_results";

/// A conversation: what came before the loop, and what the loop added.
#[derive(Clone, Debug, Default)]
pub struct History {
    given: Vec<Segment>,
    /// What the loop added.
    pub added: Vec<Message>,
}

/// A part of what came before.
#[derive(Clone, Debug)]
pub(crate) enum Segment {
    /// Messages of a chat request, as they came.
    Chat(Vec<Value>),
    /// Neutral messages.
    Neutral(Vec<Message>),
}

impl History {
    /// Messages of a chat request. A model with the same API gets them as they came.
    pub fn of_chat(messages: Vec<Value>) -> Self {
        Self::of_segments(vec![Segment::Chat(messages)])
    }

    /// Neutral messages.
    pub fn of_messages(messages: Vec<Message>) -> Self {
        Self::of_segments(vec![Segment::Neutral(messages)])
    }

    pub(crate) fn of_segments(given: Vec<Segment>) -> Self {
        Self { given, added: Vec::new() }
    }

    /// What came before, to be looked through.
    pub(crate) fn given_mut(&mut self) -> &mut [Segment] {
        &mut self.given
    }

    /// The conversation in the messages of `dialect`; `codec` knows the tools as its models know them.
    pub fn render(&self, dialect: &Dialect, codec: &TranslatedTools, model: Option<&str>) -> Conversation {
        let mut options = HistoryOptions::default();
        options.results.model = model.map(str::to_owned);
        let mut ids = IdMap::new(dialect);
        let mut write = |messages: &[Message]| to_dialect(messages, dialect, codec, &mut ids, &options).0;
        if dialect.messages.protocol == Protocol::Chat {
            let mut all = Vec::new();
            for segment in &self.given {
                match segment {
                    Segment::Chat(messages) => all.extend(messages.iter().cloned()),
                    Segment::Neutral(messages) => all.extend(write(messages).messages),
                }
            }
            all.extend(write(&self.added).messages);
            return Conversation { system: None, messages: all };
        }
        let mut all = Vec::new();
        for segment in &self.given {
            match segment {
                Segment::Chat(messages) => {
                    let held = Conversation { system: None, messages: messages.clone() };
                    let none = TranslatedTools::default();
                    all.extend(from_dialect(&held, Protocol::Chat, &none, &IdMap::new(dialect)).0);
                }
                Segment::Neutral(messages) => all.extend(messages.iter().cloned()),
            }
        }
        all.extend(self.added.iter().cloned());
        write(&all)
    }

    /// The same with more for the model to answer: behind what the user said last, because many chat templates refuse two messages of the
    /// user in a row.
    pub(crate) fn nudged(&self, text: &str) -> Self {
        let mut nudged = self.clone();
        let is_done = match nudged.added.last_mut() {
            Some(last) => add_to_user(last, text),
            None => match nudged.given.iter_mut().rev().find(|segment| !segment.is_empty()) {
                Some(Segment::Chat(messages)) => {
                    messages.last_mut().is_some_and(|last| add_to_chat_user(last, text))
                }
                Some(Segment::Neutral(messages)) => {
                    messages.last_mut().is_some_and(|last| add_to_user(last, text))
                }
                None => false,
            },
        };
        if !is_done {
            nudged.added.push(Message::new(Role::User, Content::Text(text.to_owned())));
        }
        nudged
    }

    /// How many calls it has.
    pub(crate) fn count_calls(&self) -> u64 {
        let neutral = |messages: &[Message]| -> usize {
            let calls = |message: &Message| match &message.content {
                Content::Blocks(blocks) => {
                    blocks.iter().filter(|block| matches!(block, Block::ToolUse(_))).count()
                }
                // Calls that were written as text have ids too.
                Content::Text(_) | Content::Other(_) => {
                    let written = message.metadata.as_ref().and_then(|metadata| metadata.get(WRITTEN_CALLS));
                    written.and_then(Value::as_array).map_or(0, Vec::len)
                }
            };
            messages.iter().map(calls).sum()
        };
        let given = self.given.iter().map(|segment| match segment {
            Segment::Chat(messages) => messages
                .iter()
                .filter_map(|message| message.get("tool_calls").and_then(Value::as_array))
                .map(Vec::len)
                .sum(),
            Segment::Neutral(messages) => neutral(messages),
        });
        u64::try_from(given.sum::<usize>() + neutral(&self.added)).unwrap_or(u64::MAX)
    }

    /// The last text of the user before the loop.
    pub(crate) fn request(&self) -> Option<String> {
        let last = |segment: &Segment| match segment {
            Segment::Chat(messages) => {
                messages.iter().rfind(|message| message["role"] == "user").map(chat_text)
            }
            Segment::Neutral(messages) => messages.iter().rfind(|message| is_question(message)).map(text_of),
        };
        self.given.iter().rev().find_map(last)
    }

    /// What the conversation is about: the texts of the user, the oldest first. Of a long conversation the last ones, from an index that
    /// moves in strides, so that most questions only add to what was there before.
    pub fn questions(&self) -> Vec<String> {
        const STRIDE: usize = 16;
        let own = self.added.iter().rev().filter(|message| is_question(message)).map(text_of);
        let given = self.given.iter().rev().flat_map(|segment| -> Vec<String> {
            match segment {
                Segment::Chat(messages) => {
                    let users = messages.iter().rev().filter(|message| message["role"] == "user");
                    users.map(chat_text).collect()
                }
                Segment::Neutral(messages) => {
                    let users = messages.iter().rev().filter(|message| is_question(message));
                    users.map(text_of).collect()
                }
            }
        });
        let mut texts: Vec<String> = own.chain(given).collect();
        texts.reverse();
        texts.split_off((texts.len() / STRIDE).saturating_sub(1) * STRIDE)
    }
}

impl Segment {
    fn is_empty(&self) -> bool {
        match self {
            Self::Chat(messages) => messages.is_empty(),
            Self::Neutral(messages) => messages.is_empty(),
        }
    }
}

/// Whether a message is the user's own. Results of calls that were written as text are messages of the user too.
fn is_question(message: &Message) -> bool {
    let has_results = |metadata: &Value| metadata.get(WRITTEN_RESULTS).is_some();
    message.role == Role::User && !message.metadata.as_ref().is_some_and(has_results)
}

/// Adds a text to a message of the user; says whether it is one.
fn add_to_user(message: &mut Message, text: &str) -> bool {
    if message.role != Role::User {
        return false;
    }
    match &mut message.content {
        Content::Text(said) => said.extend(["\n\n", text]),
        Content::Blocks(blocks) => blocks.push(Block::text(text)),
        Content::Other(_) => return false,
    }
    true
}

/// The same for a message of a chat request.
fn add_to_chat_user(message: &mut Value, text: &str) -> bool {
    if message["role"] != "user" {
        return false;
    }
    match message.get_mut("content") {
        Some(Value::String(said)) => said.extend(["\n\n", text]),
        Some(Value::Array(parts)) => parts.push(json!({"type": "text", "text": text})),
        Some(_) | None => return false,
    }
    true
}

/// Neutral messages as those of Chat Completions.
pub fn to_chat(messages: &[Message]) -> Vec<Value> {
    let dialect = chat_dialect();
    let none = TranslatedTools::default();
    let mut ids = IdMap::new(dialect);
    to_dialect(messages, dialect, &none, &mut ids, &HistoryOptions::default()).0.messages
}

/// Messages of Chat Completions as neutral ones.
pub fn from_chat(messages: Vec<Value>) -> Vec<Message> {
    let said = Conversation { system: None, messages };
    from_dialect(&said, Protocol::Chat, &TranslatedTools::default(), &IdMap::new(chat_dialect())).0
}

fn text_of(message: &Message) -> String {
    match &message.content {
        Content::Text(text) => text.clone(),
        Content::Blocks(_) | Content::Other(_) => {
            let blocks = message.content.blocks();
            let texts = blocks.iter().filter_map(|block| match block {
                Block::Text(text) => Some(text.text.as_str()),
                _ => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

/// The text of a chat message: a string, or the texts among its parts.
pub(crate) fn chat_text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
