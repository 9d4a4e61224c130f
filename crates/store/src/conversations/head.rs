//! A conversation without its messages, and the rules by which it changes. All stores apply these, each in its own transaction.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::value::RawValue;

use super::{
    error::ConversationError,
    id::ConversationId,
    options::{ConversationOptions, check},
    page::Cursor,
    types::{
        Conversation, ConversationSummary, Expected, NewConversation, Saved, TurnChange, TurnLease, Update,
    },
};

/// A conversation without its messages.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) id: ConversationId,
    pub(crate) owner: Option<Arc<str>>,
    pub(crate) title: String,
    /// In microseconds, like the next one.
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) version: u64,
    pub(crate) turn: Option<TurnLease>,
    pub(crate) metadata: Box<RawValue>,
    pub(crate) messages: Size,
}

/// How many messages there are, and how much they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) count: u64,
    pub(crate) bytes: usize,
}

/// What a message takes beside its text, so that empty ones are bounded too.
const FRAME: usize = 32;

impl Size {
    pub(crate) fn of<'a>(messages: impl IntoIterator<Item = &'a RawValue>) -> Self {
        messages.into_iter().fold(Self::default(), |size, message| Self {
            count: size.count + 1,
            bytes: size.bytes + FRAME + message.get().len(),
        })
    }

    fn and(self, more: Self) -> Self {
        Self { count: self.count + more.count, bytes: self.bytes.saturating_add(more.bytes) }
    }
}

impl Head {
    /// The head of a new conversation.
    pub(crate) fn of_new(
        new: &NewConversation,
        options: &ConversationOptions,
    ) -> Result<Self, ConversationError> {
        let now = options.micros();
        let head = Self {
            id: new.id,
            owner: new.owner.clone(),
            title: new.title.clone(),
            created_at: now,
            updated_at: now,
            version: 1,
            turn: new.turn.clone(),
            metadata: new.metadata.clone(),
            messages: Size::of(new.messages.iter().map(|message| &**message)),
        };
        check("the conversation", head.bytes(), options.max_bytes)?;
        Ok(head)
    }

    /// The head after an update, if it may be made.
    pub(crate) fn updated(
        &self,
        expected: &Expected,
        update: &Update,
        options: &ConversationOptions,
    ) -> Result<Self, ConversationError> {
        let is_expected = match expected {
            Expected::Anything => true,
            Expected::Version(version) => *version == self.version,
            Expected::Holder(holder) => self.turn.as_ref().is_some_and(|turn| turn.holder == *holder),
        };
        if !is_expected {
            return Err(ConversationError::Conflict { current: self.version });
        }
        let now = options.micros();
        let mut head = self.clone();
        match &update.turn {
            TurnChange::Keep => {}
            TurnChange::Release => head.turn = None,
            TurnChange::Take(lease) => {
                if let Some(turn) = &self.turn
                    && turn.holder != lease.holder
                    && turn.until.as_microsecond() > now
                {
                    return Err(ConversationError::Held { turn: turn.clone() });
                }
                head.turn = Some(lease.clone());
            }
        }
        if let Some(title) = &update.title {
            head.title.clone_from(title);
        }
        if let Some(metadata) = &update.metadata {
            head.metadata.clone_from(metadata);
        }
        if let Some(messages) = &update.replace {
            head.messages = Size::of(messages.iter().map(|message| &**message));
        }
        head.messages = head.messages.and(Size::of(update.append.iter().map(|message| &**message)));
        if head.bytes() > self.bytes() {
            check("the conversation", head.bytes(), options.max_bytes)?;
        }
        head.version = self.version.saturating_add(1);
        // Later than before also if the clock is not, so that the order of updates is the order of times.
        head.updated_at = now.max(self.updated_at.saturating_add(1));
        Ok(head)
    }

    fn bytes(&self) -> usize {
        self.messages.bytes.saturating_add(self.title.len()).saturating_add(self.metadata.get().len())
    }

    pub(crate) fn saved(&self) -> Saved {
        Saved { version: self.version, updated_at: time(self.updated_at) }
    }

    pub(crate) fn position(&self) -> Cursor {
        Cursor { updated_at: self.updated_at, id: self.id }
    }

    pub(crate) fn summary(self) -> ConversationSummary {
        ConversationSummary {
            id: self.id,
            owner: self.owner,
            title: self.title,
            created_at: time(self.created_at),
            updated_at: time(self.updated_at),
            version: self.version,
            message_count: self.messages.count,
        }
    }

    pub(crate) fn with(self, messages: Vec<Box<RawValue>>) -> Conversation {
        Conversation {
            id: self.id,
            owner: self.owner,
            title: self.title,
            created_at: time(self.created_at),
            updated_at: time(self.updated_at),
            version: self.version,
            messages,
            turn: self.turn,
            metadata: self.metadata,
        }
    }
}

/// The moment so many microseconds after 1970; that of a damaged value is 1970 itself.
pub(crate) fn time(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH)
}
