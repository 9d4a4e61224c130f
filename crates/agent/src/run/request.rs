//! What the loop is asked for.

use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use gateway_dialects::history::{Content, Message, Role};
use gateway_dialects::requests::ToolChoice;
use serde_json::{Map, Value};

use crate::history::History;

/// A message to answer.
#[derive(Clone, Debug, Default)]
pub struct AgentRequest {
    /// The conversation; the message is its end.
    pub history: History,
    /// Settings in the words of Chat Completions.
    pub settings: Map<String, Value>,
    /// Whether, and which, tools have to be called in the first round.
    pub tool_choice: ToolChoice,
    /// Whether replies are wanted piece by piece.
    pub stream: bool,
    /// Whose long results are kept.
    pub owner: Option<String>,
    /// Who writes down what is said before it counts.
    pub journal: Option<Arc<dyn Journal>>,
}

impl AgentRequest {
    /// A conversation that begins with this message of the user.
    pub fn of_user(text: &str) -> Self {
        let message = Message::new(Role::User, Content::Text(text.to_owned()));
        Self { history: History::of_messages(vec![message]), ..Self::default() }
    }
}

/// Writes down what is said, message by message. A call is written before it is sent.
pub trait Journal: Debug + Send + Sync {
    /// Writes a message. An error ends the loop before anything follows from the message.
    fn write<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), String>>;

    /// Hears text of a reply that is not complete yet, before it is passed on.
    fn hear(&self, _text: &str) {}
}
