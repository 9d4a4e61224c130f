//! Conversations as plain text, for models that know no tools.

use crate::wire::Members as _;
use crate::wire::history::{Block, Content, Message, Role, ToolResultBlock, ToolUseBlock, Warning};

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
        let mut texts = Texts::default();
        for block in message.content.blocks() {
            match block {
                Block::Text(text) => texts.push(&text.text),
                Block::ToolUse(ToolUseBlock { extra, .. })
                | Block::ToolResult(ToolResultBlock { extra, .. })
                    if describes_tools && extra.text(WRITTEN).is_some() =>
                {
                    texts.append(extra.text(WRITTEN).unwrap_or_default());
                }
                Block::ToolUse(call) if describes_tools => {
                    texts.push(&format!("Tool call `{}` ({}): {}", call.name, call.id, call.input));
                }
                Block::ToolResult(result) if describes_tools => {
                    let failed = result.status.as_deref() == Some("error") || result.error.is_some();
                    let what = if failed { "Tool error" } else { "Tool result" };
                    texts.push(&format!("{what} ({}): {}", result.tool_use_id, plain(&result.content)));
                }
                other => warn(format!("a block of type `{}` is left out", kind(&other))),
            }
        }
        Message::new(role, Content::Text(texts.text))
    };
    messages.iter().enumerate().map(text_of).collect()
}

/// The member of a call, or of a result, that says how it was written in the text of its message, byte for byte. Of several calls
/// that were written together the first has all of it, and the others an empty text.
const WRITTEN: &str = "written";

/// The text of one message.
#[derive(Default)]
struct Texts {
    text: String,
    has_any: bool,
}

impl Texts {
    /// Adds a paragraph.
    fn push(&mut self, text: &str) {
        if self.has_any {
            self.text.push_str("\n\n");
        }
        self.append(text);
    }

    /// Adds what stood directly behind the text before.
    fn append(&mut self, text: &str) {
        self.has_any = true;
        self.text.push_str(text);
    }
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
