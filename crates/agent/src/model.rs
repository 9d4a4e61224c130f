//! What the loop needs of a model.

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::future::BoxFuture;
use gateway_dialects::Dialect;
use gateway_dialects::calls::TextScan;
use gateway_dialects::calls::text::{Notations, OfferedTools};
use gateway_dialects::history::Conversation;
use gateway_dialects::requests::ToolChoice;
use gateway_dialects::stream::StreamEvent;
use serde_json::{Map, Value};

use crate::error::ModelError;

/// A model that can be asked.
///
/// Dropping the future or the events of an answer ends the request.
pub trait Model: Debug + Send + Sync {
    /// The name that callers know it by.
    fn name(&self) -> &str;

    /// The dialect of its conversations and tools.
    fn dialect(&self) -> &Arc<Dialect>;

    /// In which notations it writes calls as text.
    fn notations(&self) -> Notations {
        Notations::NONE
    }

    /// In which notations calls in its text are looked for to be reported, where nobody said whether it writes any.
    fn unread_notations(&self) -> Notations {
        Notations::NONE
    }

    /// The dialect for tools that the usual one did not write carefully enough for this API; `None` if there is none.
    fn careful_dialect(&self) -> Option<Arc<Dialect>> {
        None
    }

    /// Asks for the next turn. The future ends when the API begins to answer.
    fn ask<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Result<Answer, ModelError>>;
}

/// One turn that is asked for.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    /// What was said, in the model's own messages.
    pub conversation: &'a Conversation,
    /// The dialect's list of tools, as JSON; `None` if none are offered.
    pub tools: Option<&'a Bytes>,
    /// Whether, and which, tools have to be called.
    pub tool_choice: &'a ToolChoice,
    /// Settings in the words of Chat Completions.
    pub settings: &'a Map<String, Value>,
    /// Whether the answer is wanted piece by piece.
    pub stream: bool,
    /// Whether, and whose, calls are taken out of the text.
    pub text: TextScan,
    /// What is known of the tools beside their definitions.
    pub offered: Option<&'a dyn OfferedTools>,
    /// How many calls the conversation has: ids for calls without one count on from there, so that none stands twice.
    pub calls_so_far: u64,
}

/// What arrives of a reply.
pub type ReplyEvents = Pin<Box<dyn Stream<Item = Result<StreamEvent, ModelError>> + Send>>;

/// A reply that has begun.
pub struct Answer {
    /// What arrives.
    pub events: ReplyEvents,
    /// Settings that the API does not have.
    pub ignored: Vec<String>,
}

impl Debug for Answer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Answer").field("ignored", &self.ignored).finish_non_exhaustive()
    }
}
