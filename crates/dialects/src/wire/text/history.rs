//! Conversations as plain text, for models that know no tools.

use crate::wire::Members as _;
use crate::wire::history::{Block, Content, Message, Role, Warning};

/// `messages` with nothing but text. Calls and results are described as text if `describes_tools`, else left out with a warning.
pub(crate) fn to_text(
    messages: &[Message],
    describes_tools: bool,
    warnings: &mut Vec<Warning>,
) -> Vec<Message> {
    let text_of = |(index, message): (usize, &Message)| {
        let mut warn = |text| warnings.push(Warning { message: index, text });
        let role = match &message.role {
            Role::System | Role::User | Role::Assistant => message.role.clone(),
            Role::Tool => Role::User,
            Role::Other(name) => {
                warn(format!("unknown role `{name}` is sent as the user's"));
                Role::User
            }
        };
        let mut texts = Vec::new();
        for block in message.content.blocks() {
            match block {
                Block::Text(text) => texts.push(text.text),
                Block::ToolUse(call) if describes_tools => {
                    texts.push(format!("Tool call `{}` ({}): {}", call.name, call.id, call.input));
                }
                Block::ToolResult(result) if describes_tools => {
                    let failed = result.status.as_deref() == Some("error") || result.error.is_some();
                    let what = if failed { "Tool error" } else { "Tool result" };
                    texts.push(format!("{what} ({}): {}", result.tool_use_id, plain(&result.content)));
                }
                other => warn(format!("a block of type `{}` is left out", kind(&other))),
            }
        }
        Message::new(role, Content::Text(texts.join("\n\n")))
    };
    messages.iter().enumerate().map(text_of).collect()
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
