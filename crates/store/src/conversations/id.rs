//! Ids of conversations.

use std::{fmt, str::FromStr};

use uuid::Uuid;

/// The id of a conversation: a UUID, written in lower case with hyphens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationId(Uuid);

/// A text that is not the id of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a conversation is a UUID such as 6f1c2a9e-0b4d-4c8e-9a57-2f6d0f1b7c3d")]
pub struct InvalidId;

impl ConversationId {
    /// A new id that nobody can guess; `None` if the system has no random numbers.
    pub fn random() -> Option<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        Some(Self(uuid::Builder::from_random_bytes(bytes).into_uuid()))
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(formatter)
    }
}

impl FromStr for ConversationId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        // Only the usual form: the parser also knows braces and URNs, and one conversation should have one address.
        let usual = text.len() == uuid::fmt::Hyphenated::LENGTH;
        Uuid::try_parse(text).ok().filter(|_| usual).map(Self).ok_or(InvalidId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_form() {
        let text = "6f1c2a9e-0b4d-4c8e-9a57-2f6d0f1b7c3d";
        assert_eq!(text.parse::<ConversationId>().unwrap().to_string(), text);
        assert_eq!(text.to_uppercase().parse::<ConversationId>().unwrap().to_string(), text);
        for wrong in ["", "1", "6f1c2a9e0b4d4c8e9a572f6d0f1b7c3d", "{6f1c2a9e-0b4d-4c8e-9a57-2f6d0f1b7c3d}"] {
            assert_eq!(wrong.parse::<ConversationId>(), Err(InvalidId), "{wrong}");
        }
        assert_ne!(ConversationId::random(), ConversationId::random());
    }
}
