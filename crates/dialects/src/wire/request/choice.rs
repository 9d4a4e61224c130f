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
    /// Something else, as it came: a list of allowed tools, a custom tool. Only Chat Completions has a place for it.
    Other(Value),
}

impl ToolChoice {
    /// Reads `tool_choice` or `function_call` of a chat request.
    pub fn read(value: &Value) -> Self {
        match value {
            Value::Null => Self::Auto,
            Value::String(word) => match word.as_str() {
                "auto" => Self::Auto,
                "none" => Self::None,
                "required" | "any" => Self::Required,
                _ => Self::Other(value.clone()),
            },
            other => {
                let is_named = matches!(other.text("type"), None | Some("function" | "tool"));
                let named = other.get("function").unwrap_or(other);
                match named.text("name").filter(|_| is_named) {
                    Some(name) => Self::Named(name.to_owned()),
                    None => Self::Other(other.clone()),
                }
            }
        }
    }

    /// Whether a call is forced.
    pub fn is_forced(&self) -> bool {
        match self {
            Self::Auto | Self::None => false,
            Self::Required | Self::Named(_) => true,
            // A list of allowed tools says itself whether one of them has to be called; all else names a tool.
            Self::Other(other) => {
                let list = other.get("allowed_tools").unwrap_or(other);
                other.text("type") != Some("allowed_tools") || list.text("mode") == Some("required")
            }
        }
    }

    /// As Chat Completions has it; `None` for what it does anyhow.
    pub(crate) fn chat(&self) -> Option<Value> {
        match self {
            Self::Auto => None,
            Self::None => Some("none".into()),
            Self::Required => Some("required".into()),
            Self::Named(name) => Some(json!({"type": "function", "function": {"name": name}})),
            Self::Other(other) => Some(other.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_that_only_one_api_has_are_kept_as_they_came() {
        let named = |name: &str| ToolChoice::Named(name.to_owned());
        let allowed = |mode: &str| json!({"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [{"type": "function"}]}});
        for (given, expected, is_forced) in [
            (json!(null), ToolChoice::Auto, false),
            (json!("any"), ToolChoice::Required, true),
            (json!({"type": "function", "function": {"name": "add"}}), named("add"), true),
            (json!({"name": "add"}), named("add"), true),
            (json!({"type": "tool", "name": "add"}), named("add"), true),
            (allowed("auto"), ToolChoice::Other(allowed("auto")), false),
            (allowed("required"), ToolChoice::Other(allowed("required")), true),
            (
                json!({"type": "custom", "custom": {"name": "sql"}}),
                ToolChoice::Other(json!({"type": "custom", "custom": {"name": "sql"}})),
                true,
            ),
            (json!("perhaps"), ToolChoice::Other(json!("perhaps")), true),
        ] {
            let read = ToolChoice::read(&given);
            assert_eq!((&read, read.is_forced()), (&expected, is_forced), "{given}");
        }
    }
}
