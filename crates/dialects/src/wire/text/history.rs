//! Conversations as plain text, for models that know no tools.

use serde_json::{Value, json};

use crate::wire::Members as _;
use crate::wire::history::{Block, Content, Message, Role, Warning};

/// What becomes of calls and results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolTurns {
    /// They are left out, with a warning.
    #[default]
    Drop,
    /// They are described as text.
    Describe,
}

/// Writes `messages` as `{role, content}` with nothing but text.
pub fn to_text(messages: &[Message], tools: ToolTurns) -> (Vec<Value>, Vec<Warning>) {
    let mut warnings = Vec::new();
    let written = messages
        .iter()
        .enumerate()
        .map(|(index, message)| {
            let role = match &message.role {
                Role::System | Role::User | Role::Assistant => message.role.name(),
                Role::Tool => "user",
                Role::Other(name) => {
                    warnings.push(Warning {
                        message: index,
                        text: format!("unknown role `{name}` is sent as the user's"),
                    });
                    "user"
                }
            };
            let mut texts = Vec::new();
            for block in message.content.blocks() {
                match (&block, tools) {
                    (Block::Text(text), _) => texts.push(text.text.clone()),
                    (Block::ToolUse(call), ToolTurns::Describe) => {
                        texts.push(format!("Tool call `{}` ({}): {}", call.name, call.id, call.input));
                    }
                    (Block::ToolResult(result), ToolTurns::Describe) => {
                        let failed = result.status.as_deref() == Some("error") || result.error.is_some();
                        let what = if failed { "Tool error" } else { "Tool result" };
                        texts.push(format!("{what} ({}): {}", result.tool_use_id, plain(&result.content)));
                    }
                    (other, _) => warnings.push(Warning {
                        message: index,
                        text: format!("a block of type `{}` is left out", kind(other)),
                    }),
                }
            }
            json!({"role": role, "content": texts.join("\n\n")})
        })
        .collect();
    (written, warnings)
}

fn plain(content: &Content) -> String {
    let texts = content.blocks().into_iter().map(|block| match block {
        Block::Text(text) => text.text,
        other => format!("[{}]", kind(&other)),
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn kind(block: &Block) -> String {
    let value = serde_json::to_value(block).unwrap_or_default();
    value.text("type").unwrap_or("unknown").to_owned()
}
