//! Pages of conversations.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, Instant},
};

use super::{
    id::ConversationId,
    search::Needle,
    types::{ConversationSummary, Scope},
};

/// Which conversations to list.
#[derive(Clone, Debug)]
pub struct ConversationFilter {
    /// Whose.
    pub scope: Scope,
    /// Only those with this text in their title or in a text of their messages, ignoring case. Names of members do not count, and
    /// of one message the first 256 KiB of texts.
    pub text: Option<String>,
    /// The most conversations on a page, at most [`LARGEST_PAGE`].
    pub limit: usize,
    /// Where the page before ended.
    pub after: Option<Cursor>,
}

/// The most conversations on a page.
pub const LARGEST_PAGE: usize = 200;

impl ConversationFilter {
    /// The first page of all conversations of a scope.
    pub fn of(scope: Scope) -> Self {
        Self { scope, text: None, limit: 50, after: None }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit.clamp(1, LARGEST_PAGE)
    }

    pub(crate) fn needle(&self) -> Option<Needle> {
        self.text.as_deref().and_then(Needle::new)
    }
}

/// A page of conversations, last updated first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationPage {
    /// The conversations. A search that takes long ends a page early, even without any.
    pub conversations: Vec<ConversationSummary>,
    /// Where the next page begins; `None` if this is the last.
    pub next: Option<Cursor>,
}

/// A position between two pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The time of the last conversation's update, in microseconds.
    pub(crate) updated_at: i64,
    pub(crate) id: ConversationId,
}

/// A text that is not a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("that is not a position between pages; take it from the page before")]
pub struct InvalidCursor;

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.updated_at, self.id)
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (time, id) = text.split_once('.').ok_or(InvalidCursor)?;
        let updated_at = time.parse().map_err(|_| InvalidCursor)?;
        Ok(Self { updated_at, id: id.parse().map_err(|_| InvalidCursor)? })
    }
}

/// A page while it is filled.
#[derive(Debug)]
pub(crate) struct Filling {
    page: ConversationPage,
    limit: usize,
    last: Option<Cursor>,
    until: Instant,
}

impl Filling {
    /// An empty page. It may take half of the time of the whole operation, so that a long search ends with what it has.
    pub(crate) fn new(filter: &ConversationFilter, deadline: Duration) -> Self {
        let until = Instant::now() + deadline / 2;
        Self { page: ConversationPage::default(), limit: filter.limit(), last: filter.after, until }
    }

    /// Notes that everything up to this position was looked at.
    pub(crate) fn pass(&mut self, position: Cursor) {
        self.last = Some(position);
    }

    /// Adds a conversation.
    pub(crate) fn add(&mut self, summary: ConversationSummary) {
        self.page.conversations.push(summary);
    }

    /// Whether it has as many as it may have.
    pub(crate) fn is_full(&self) -> bool {
        self.page.conversations.len() >= self.limit
    }

    /// Whether nothing more should be looked at.
    pub(crate) fn is_over(&self) -> bool {
        self.is_full() || Instant::now() >= self.until
    }

    /// The page, if there is nothing after it.
    pub(crate) fn last(self) -> ConversationPage {
        self.page
    }

    /// The page, if there may be more after it.
    pub(crate) fn more(mut self) -> ConversationPage {
        self.page.next = self.last;
        self.page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back() {
        let text = "1762164000000001.6f1c2a9e-0b4d-4c8e-9a57-2f6d0f1b7c3d";
        assert_eq!(text.parse::<Cursor>().unwrap().to_string(), text);
        for wrong in ["", "1", "1.", ".6f1c2a9e-0b4d-4c8e-9a57-2f6d0f1b7c3d", "x.y", "99999999999999999999.a"]
        {
            assert_eq!(wrong.parse::<Cursor>(), Err(InvalidCursor), "{wrong}");
        }
    }
}
