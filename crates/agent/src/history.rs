//! What was said, before and in the loop.

use gateway_dialects::Dialect;
use gateway_dialects::dialect::Protocol;
use gateway_dialects::history::{
    Content, Conversation, HistoryOptions, Message, Role, TranslatedTools, from_dialect, to_dialect,
};
use gateway_dialects::results::IdMap;
use serde_json::Value;

/// A conversation: what came before the loop, and what the loop added.
#[derive(Clone, Debug, Default)]
pub struct History {
    given: Given,
    /// What the loop added.
    pub added: Vec<Message>,
}

/// What came before.
#[derive(Clone, Debug)]
enum Given {
    /// Messages of a chat request, as they came.
    Chat(Vec<Value>),
    /// Neutral messages.
    Neutral(Vec<Message>),
}

impl Default for Given {
    fn default() -> Self {
        Self::Neutral(Vec::new())
    }
}

impl History {
    /// Messages of a chat request. A model with the same API gets them as they came.
    pub fn of_chat(messages: Vec<Value>) -> Self {
        Self { given: Given::Chat(messages), added: Vec::new() }
    }

    /// Neutral messages.
    pub fn of_messages(messages: Vec<Message>) -> Self {
        Self { given: Given::Neutral(messages), added: Vec::new() }
    }

    /// The conversation in the messages of `dialect`; `codec` knows the tools as its models know them.
    pub fn render(&self, dialect: &Dialect, codec: &TranslatedTools, model: Option<&str>) -> Conversation {
        let mut options = HistoryOptions::default();
        options.results.model = model.map(str::to_owned);
        let mut ids = IdMap::new(dialect);
        match &self.given {
            Given::Chat(messages) if dialect.messages.protocol == Protocol::Chat => {
                let (added, _) = to_dialect(&self.added, dialect, codec, &mut ids, &options);
                let messages = messages.iter().cloned().chain(added.messages).collect();
                Conversation { system: None, messages }
            }
            Given::Chat(messages) => {
                let held = Conversation { system: None, messages: messages.clone() };
                let (mut all, _) =
                    from_dialect(&held, Protocol::Chat, &TranslatedTools::default(), &IdMap::new(dialect));
                all.extend(self.added.iter().cloned());
                to_dialect(&all, dialect, codec, &mut ids, &options).0
            }
            Given::Neutral(messages) => {
                let all: Vec<Message> = messages.iter().chain(&self.added).cloned().collect();
                to_dialect(&all, dialect, codec, &mut ids, &options).0
            }
        }
    }

    /// What the conversation is about: the last texts of the user, the newest first.
    pub fn question(&self) -> String {
        const TEXTS: usize = 3;
        let added = self.added.iter().rev().filter(|message| message.role == Role::User).map(text_of);
        let texts: Vec<String> = match &self.given {
            Given::Chat(messages) => {
                let users = messages.iter().rev().filter(|message| message["role"] == "user");
                added.chain(users.map(chat_text)).take(TEXTS).collect()
            }
            Given::Neutral(messages) => {
                let users = messages.iter().rev().filter(|message| message.role == Role::User);
                added.chain(users.map(text_of)).take(TEXTS).collect()
            }
        };
        texts.join("\n")
    }
}

fn text_of(message: &Message) -> String {
    match &message.content {
        Content::Text(text) => text.clone(),
        Content::Blocks(_) | Content::Other(_) => {
            let blocks = message.content.blocks();
            let texts = blocks.iter().filter_map(|block| match block {
                gateway_dialects::history::Block::Text(text) => Some(text.text.as_str()),
                _ => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

/// The text of a chat message: a string, or the texts among its parts.
fn chat_text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
