//! Conversations from one dialect to another.

use super::{Conversation, HistoryOptions, TranslatedTools, Warning, from_dialect, to_dialect};
use crate::dialect::Dialect;
use crate::wire::results::IdMap;
use crate::wire::text::to_text;

/// What becomes of calls and results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransferMode {
    /// They are written as the dialect has them.
    #[default]
    Native,
    /// Everything is text, calls and results too.
    Text,
    /// Everything is text, calls and results are left out with a warning.
    TextOnly,
}

impl TransferMode {
    /// All values by the words for them in requests.
    pub const WORDS: [(&'static str, Self); 3] =
        [("native", Self::Native), ("text", Self::Text), ("text-only", Self::TextOnly)];
}

/// Reads `conversation` as one of the first dialect and writes it as one of the second; the codecs know the tools as the models
/// of each know them.
///
/// ```
/// use gateway_dialects::Dialects;
/// use gateway_dialects::history::{Conversation, HistoryOptions, TransferMode, TranslatedTools, transfer};
/// use serde_json::json;
///
/// # fn main() -> Result<(), gateway_dialects::DialectError> {
/// let dialects = Dialects::builtin();
/// let (openai, gemini) = (dialects.get("openai-chat")?, dialects.get("gemini")?);
/// let held = Conversation { system: None, messages: vec![json!({"role": "user", "content": "Hello"})] };
/// let (tools, options) = (TranslatedTools::default(), HistoryOptions::default());
/// let sides = ((&openai, &tools), (&gemini, &tools));
/// let (moved, warnings) = transfer(&held, sides.0, sides.1, TransferMode::Native, &options);
/// assert_eq!(moved.messages, [json!({"role": "user", "parts": [{"text": "Hello"}]})]);
/// assert!(warnings.is_empty());
/// # Ok(())
/// # }
/// ```
pub fn transfer(
    conversation: &Conversation,
    (from, from_tools): (&Dialect, &TranslatedTools),
    (to, to_tools): (&Dialect, &TranslatedTools),
    mode: TransferMode,
    options: &HistoryOptions,
) -> (Conversation, Vec<Warning>) {
    let (mut messages, mut warnings) =
        from_dialect(conversation, from.messages.protocol, from_tools, &IdMap::new(from));
    if mode != TransferMode::Native {
        messages = to_text(&messages, mode == TransferMode::Text, &mut warnings);
    }
    let (written, lost) = to_dialect(&messages, to, to_tools, &mut IdMap::new(to), options);
    warnings.extend(lost);
    (written, warnings)
}
