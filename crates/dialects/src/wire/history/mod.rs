//! Whole conversations, to and from every dialect.
//!
//! [`to_dialect`] writes a neutral conversation as the messages of an API, with names and arguments as that
//! dialect's models know them; [`from_dialect`] reads such messages back. What an API cannot carry is reported as a
//! [`Warning`].

mod codec;
mod neutral;
mod read;
mod reply;
mod transfer;
mod turns;
mod write;

pub use codec::TranslatedTools;
pub use neutral::{
    Block, Content, MediaBlock, Message, OpaqueBlock, ResourceBlock, Role, Source, TextBlock, ThinkingBlock,
    ToolResultBlock, ToolUseBlock,
};
pub use read::from_dialect;
pub use reply::reply_message;
pub use transfer::{TransferMode, transfer};
pub use write::to_dialect;

pub(crate) use read::{Reader, bytes, image, result};
pub(crate) use write::{PartList, Writer, Written};

use serde_json::Value;

use crate::wire::results::ResultOptions;

/// A conversation in the form of one API.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    /// The value of the request's own member for instructions, where the API keeps them apart.
    pub system: Option<Value>,
    /// The messages, contents or items.
    pub messages: Vec<Value>,
}

/// How a conversation is written.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct HistoryOptions {
    /// Limits of each result, and the model that reads the conversation.
    pub results: ResultOptions,
}

/// Something that the other side cannot carry, or that had to be repaired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The message, counted from zero.
    pub message: usize,
    /// What happened.
    pub text: String,
}
