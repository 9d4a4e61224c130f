//! The names of the wire formats.

use serde::{Deserialize, Serialize};

/// Declares [`Protocol`] from one line for each wire format.
macro_rules! protocols {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
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
        }
    };
}

// Shapes that say most about their origin come first.
protocols! {
    /// `tools/call` requests and results.
    Mcp = "mcp",
    /// `generateContent`: `functionCall` and `functionResponse` parts.
    GenerateContent = "generate-content",
    /// Chat Completions before tools: one `function_call`, `role: function` answers.
    Functions = "functions",
    /// Converse: `toolUse` and `toolResult` blocks.
    Converse = "converse",
    /// Chat Completions: `tool_calls` on an assistant message, `role: tool` answers.
    Chat = "chat",
    /// Responses: `function_call` and `function_call_output` items.
    Responses = "responses",
    /// Messages: `tool_use` and `tool_result` blocks.
    Messages = "messages",
    /// Chat v2 with `tool_plan` and document content.
    CohereChat = "cohere-chat",
    /// `/api/chat`: `tool_calls` with object arguments and no ids.
    OllamaChat = "ollama-chat",
}
