//! The names of the wire formats.

use serde::{Deserialize, Serialize};

/// Declares [`Protocol`] from one line for each wire format: its name, and the dialect by which callers know it.
macro_rules! protocols {
    ($($(#[$doc:meta])* $variant:ident = $name:literal of $dialect:literal,)*) => {
        /// Which API carries calls and results.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
        pub enum Protocol {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Protocol {
            /// All of them, in the order in which replies are compared with them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in dialect files, by which blocks of a conversation say where they came from.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The dialect that a caller names to choose this format.
            pub(crate) const fn dialect(self) -> &'static str {
                match self {
                    $(Self::$variant => $dialect,)*
                }
            }
        }
    };
}

// Shapes that say most about their origin come first.
protocols! {
    /// `tools/call` requests and results.
    Mcp = "mcp" of "mcp",
    /// `generateContent`: `functionCall` and `functionResponse` parts.
    GenerateContent = "generate-content" of "gemini",
    /// Chat Completions before tools: one `function_call`, `role: function` answers.
    Functions = "functions" of "openai-functions",
    /// Converse: `toolUse` and `toolResult` blocks.
    Converse = "converse" of "bedrock",
    /// Chat Completions: `tool_calls` on an assistant message, `role: tool` answers.
    Chat = "chat" of "openai-chat",
    /// Responses: `function_call` and `function_call_output` items.
    Responses = "responses" of "openai-responses",
    /// Messages: `tool_use` and `tool_result` blocks.
    Messages = "messages" of "anthropic",
    /// Chat v2 with `tool_plan` and document content.
    CohereChat = "cohere-chat" of "cohere",
    /// `/api/chat`: `tool_calls` with object arguments and no ids.
    OllamaChat = "ollama-chat" of "ollama",
}
