//! The neutral conversation format.
//!
//! ```json
//! [{"role": "user", "content": "Add 1 and 2"},
//!  {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "add", "input": {"a": 1, "b": 2}}]},
//!  {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "3"}]}]
//! ```
//!
//! Unknown members and unknown blocks are kept.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
    /// When it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<Value>,
    /// What the caller keeps with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// All other members.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Message {
    /// A message with nothing but a role and content.
    pub fn new(role: Role, content: Content) -> Self {
        Self { role, content, ts: None, metadata: None, extra: Map::new() }
    }
}

/// Who speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The instructions.
    System,
    /// The person or program that asks.
    User,
    /// The model.
    Assistant,
    /// Tools that answer the model.
    Tool,
    /// A role that the format does not know.
    #[serde(untagged)]
    Other(String),
}

impl Role {
    /// The name in the format.
    pub fn name(&self) -> &str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Other(name) => name,
        }
    }
}

/// What a message or a result says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// One text.
    Text(String),
    /// Blocks, in order.
    Blocks(Vec<Block>),
    /// Anything else, as it came.
    Other(Value),
}

impl Content {
    /// The same as blocks; no text is no block.
    pub fn blocks(&self) -> Vec<Block> {
        match self {
            Self::Text(text) if text.is_empty() => Vec::new(),
            Self::Text(text) => vec![Block::text(text)],
            Self::Blocks(blocks) => blocks.clone(),
            Self::Other(Value::Null) => Vec::new(),
            Self::Other(value) => vec![Block::text(&value.to_string())],
        }
    }

    /// One plain text as text, everything else as blocks.
    pub fn of(mut blocks: Vec<Block>) -> Self {
        match blocks.as_mut_slice() {
            [] => Self::Text(String::new()),
            [Block::Text(only)] if only.extra.is_empty() => Self::Text(std::mem::take(&mut only.text)),
            _ => Self::Blocks(blocks),
        }
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Text.
    Text(TextBlock),
    /// An image.
    Image(MediaBlock),
    /// Audio.
    Audio(MediaBlock),
    /// An embedded resource of MCP.
    Resource(ResourceBlock),
    /// The model's reasoning.
    Thinking(ThinkingBlock),
    /// A call.
    ToolUse(ToolUseBlock),
    /// The result of a call.
    ToolResult(ToolResultBlock),
    /// Something that only one API understands.
    Opaque(OpaqueBlock),
    /// A block that the format does not know, as it came.
    #[serde(untagged)]
    Other(Value),
}

impl Block {
    /// A block of plain text.
    pub fn text(text: &str) -> Self {
        Self::Text(TextBlock { text: text.to_owned(), extra: Map::new() })
    }

    /// A block of an embedded resource.
    pub(crate) fn resource(resource: Value) -> Self {
        Self::Resource(ResourceBlock { resource, extra: Map::new() })
    }
}

/// Text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextBlock {
    /// The text.
    pub text: String,
    /// All other members.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An image or audio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MediaBlock {
    /// Where the bytes are.
    pub source: Source,
    /// All other members.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl From<Source> for MediaBlock {
    fn from(source: Source) -> Self {
        Self { source, extra: Map::new() }
    }
}

/// Where the bytes of an image or of audio are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Source {
    /// Here.
    Base64 {
        /// Their type.
        media_type: String,
        /// The bytes.
        data: String,
    },
    /// At an address.
    #[serde(alias = "image_url")]
    Url {
        /// The address.
        url: String,
        /// Their type, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
    },
}

/// An embedded resource of MCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceBlock {
    /// `{uri, mimeType?, text | blob}`
    pub resource: Value,
    /// All other members.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The model's reasoning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThinkingBlock {
    /// What of it may be read.
    pub thinking: String,
    /// The provider's proof that it is unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The API that it came from, by its name in dialect files; absent: the one whose blocks look like this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The API's own item, to be sent back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// All other members.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolUseBlock {
    /// The call's id.
    pub id: String,
    /// The tool's name in MCP.
    pub name: String,
    /// The arguments that MCP gets.
    #[serde(default)]
    pub input: Value,
    /// The signature of the reasoning that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The API's own id of the item that held the call, where it has two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// All other members.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResultBlock {
    /// The call's id.
    pub tool_use_id: String,
    /// What it says.
    #[serde(default = "nothing")]
    pub content: Content,
    /// `success` or `error`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// `{message, details?}`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// MCP's `structuredContent`.
    #[serde(default, rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// All other members.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

fn nothing() -> Content {
    Content::Blocks(Vec::new())
}

/// Something that only one API understands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpaqueBlock {
    /// The API, by its name in dialect files.
    pub origin: String,
    /// The API's own item, to be sent back unchanged.
    pub payload: Value,
    /// All other members.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
