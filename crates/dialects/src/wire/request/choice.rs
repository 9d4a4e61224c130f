//! Whether, and which, tools have to be called.

use serde_json::{Value, json};

use crate::wire::Members as _;

/// Whether, and which, tools have to be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// None may be called.
    None,
    /// One at least.
    Required,
    /// The one of this name.
    Named(String),
}

impl ToolChoice {
    /// Reads `tool_choice` or `function_call` of a chat request; `None` if it is neither a known word nor names a tool.
    pub fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(Self::Auto),
            Value::String(word) => match word.as_str() {
                "auto" => Some(Self::Auto),
                "none" => Some(Self::None),
                "required" | "any" => Some(Self::Required),
                _ => None,
            },
            other => {
                let named = other.get("function").unwrap_or(other);
                named.text("name").map(|name| Self::Named(name.to_owned()))
            }
        }
    }

    /// Whether a call is forced.
    pub fn is_forced(&self) -> bool {
        matches!(self, Self::Required | Self::Named(_))
    }

    /// As Chat Completions has it; `None` for what it does anyhow.
    pub(crate) fn chat(&self) -> Option<Value> {
        match self {
            Self::Auto => None,
            Self::None => Some("none".into()),
            Self::Required => Some("required".into()),
            Self::Named(name) => Some(json!({"type": "function", "function": {"name": name}})),
        }
    }
}
