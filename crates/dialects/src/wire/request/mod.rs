//! Requests to models: a conversation, tools and settings, as each API takes them.
//!
//! Settings have the names of Chat Completions, because that is what callers know; each format writes those that its API has
//! and reports the others. An API of that family gets all of them as they came.
//!
//! ```
//! use gateway_dialects::Dialects;
//! use gateway_dialects::history::Conversation;
//! use gateway_dialects::requests::{ModelRequest, render_request};
//! use serde_json::{Map, json};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let dialect = Dialects::builtin().get("anthropic")?;
//! let said = json!({"role": "user", "content": "Hello"});
//! let conversation = Conversation { system: None, messages: vec![said.clone()] };
//! let settings = Map::from_iter([("stop".to_owned(), json!("END"))]);
//! let request = ModelRequest { settings: &settings, ..ModelRequest::new("claude-sonnet-5", &conversation) };
//! let rendered = render_request(&dialect, &request)?;
//! let body: serde_json::Value = serde_json::from_slice(&rendered.body)?;
//! assert_eq!(body, json!({
//!     "model": "claude-sonnet-5", "max_tokens": 4096, "messages": [said], "stop_sequences": ["END"], "stream": false,
//! }));
//! # Ok(())
//! # }
//! ```

mod body;
mod choice;

pub use choice::ToolChoice;

pub(crate) use body::{AnswerFormat, RequestBody};

use std::sync::LazyLock;

use serde_json::value::RawValue;

use super::history::Conversation;
use super::{Object, format};
use crate::dialect::{Dialect, Protocol};

/// Most tokens of an answer where the API wants a number and nobody gave one.
pub(crate) const MAX_TOKENS: u64 = 4096;

/// One turn that a model is asked for.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The model, as the API calls it.
    pub model: &'a str,
    /// What was said, in the API's own messages.
    pub conversation: &'a Conversation,
    /// The dialect's list of tools; absent: none are offered.
    pub tools: Option<&'a RawValue>,
    /// Whether, and which, tools have to be called.
    pub tool_choice: &'a ToolChoice,
    /// Everything else that the caller set, in the words of Chat Completions.
    pub settings: &'a Object,
    /// Whether the answer is streamed.
    pub stream: bool,
}

impl<'a> ModelRequest<'a> {
    /// A request for an answer in one piece, without tools and settings.
    pub fn new(model: &'a str, conversation: &'a Conversation) -> Self {
        static NONE: LazyLock<Object> = LazyLock::new(Object::new);
        Self {
            model,
            conversation,
            tools: None,
            tool_choice: &ToolChoice::Auto,
            settings: &NONE,
            stream: false,
        }
    }
}

/// A request, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderedRequest {
    /// The body, as JSON.
    pub body: Vec<u8>,
    /// Settings that the API does not have, by their names.
    pub ignored: Vec<String>,
}

/// Why there is no request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("models cannot be asked in the format of dialect `{dialect}`; choose one of {known}")]
#[non_exhaustive]
pub struct NoRequests {
    /// The dialect.
    pub dialect: String,
    /// The formats in which they can.
    pub known: &'static str,
}

/// The formats that have requests.
const KNOWN: &str = "chat, functions, responses, messages, generate-content, ollama-chat";

/// Writes a request to a model of `dialect`.
pub fn render_request(dialect: &Dialect, request: &ModelRequest<'_>) -> Result<RenderedRequest, NoRequests> {
    let mut body = RequestBody::new(request.settings);
    if !format(dialect.messages.protocol).write_request(request, &mut body) {
        return Err(NoRequests { dialect: dialect.name.clone(), known: KNOWN });
    }
    let mut rendered = body.finish();
    let is_left_out = matches!(request.tool_choice, ToolChoice::Other(_)) && request.tools.is_some();
    if is_left_out && dialect.messages.protocol != Protocol::Chat {
        rendered.ignored.push("tool_choice".to_owned());
    }
    Ok(rendered)
}
