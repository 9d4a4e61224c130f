//! Tool results as models read them.
//!
//! A result of MCP is taken apart into pieces, the pieces are arranged by the dialect's data, and the API's own
//! message is written from what was arranged. [`render_results`] does it for one turn of a conversation.
//!
//! ```
//! use gateway_dialects::Dialects;
//! use gateway_dialects::results::{Outcome, ResultOptions, render_results};
//! use serde_json::json;
//!
//! # fn main() -> Result<(), gateway_dialects::DialectError> {
//! let dialect = Dialects::builtin().get("openai-chat")?;
//! let result = json!({"content": [{"type": "text", "text": "42"}]});
//! let outcome = Outcome { call_id: Some("call_1"), wire_name: "add", result: &result, kept: None };
//! let rendered = render_results(&dialect, &[outcome], &ResultOptions::default());
//! assert_eq!(rendered.messages, [json!({"role": "tool", "tool_call_id": "call_1", "content": "42"})]);
//! # Ok(())
//! # }
//! ```

pub(crate) mod arrange;
mod ids;
mod limit;
pub(crate) mod media;
mod mode;
mod neutral;
pub(crate) mod note;
pub(crate) mod piece;
mod plain;
mod read;
mod repetition;
mod write;

pub use crate::wire::text::{escape_xml, render_written_results, render_xml_result};
pub(crate) use arrange::Part;
pub use ids::{IdMap, numbered_id};
pub use mode::{ResultMode, UnknownMode, first_text, render_mode};
pub(crate) use mode::{joined, piece_text};
pub use neutral::neutral_result;
pub(crate) use piece::{Media, MediaKind, Source, split_data_url};
pub use plain::PlainResult;
pub use read::{ReadResult, Substitution, read_result};
pub(crate) use write::{content_list, text_or_list};

use std::borrow::Cow;

use serde_json::Value;

use crate::dialect::Dialect;
use crate::wire::format;
use arrange::Arranged;
use piece::Answer;

/// What came of one call.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// The id that the model gave the call.
    pub call_id: Option<&'a str>,
    /// The tool's name as the model knows it.
    pub wire_name: &'a str,
    /// The `CallToolResult` as it came.
    pub result: &'a Value,
    /// Where the whole result is kept, for the text that stands for what the model cannot be shown.
    pub kept: Option<&'a str>,
}

/// How results are rendered.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ResultOptions {
    /// Most characters of text in one result; absent: no limit.
    pub max_characters: Option<usize>,
    /// The model that reads them, where media depend on it.
    pub model: Option<String>,
    /// The ids of results whose calls have none, by the index of the call, for dialects whose results must have one. Absent:
    /// `call_` and the index.
    pub ids: Vec<String>,
}

impl ResultOptions {
    /// With at most `characters` of text in one result.
    #[must_use]
    pub fn limited_to(mut self, characters: usize) -> Self {
        self.max_characters = Some(characters);
        self
    }

    /// For this model.
    #[must_use]
    pub fn for_model(mut self, model: &str) -> Self {
        self.model = Some(model.to_owned());
        self
    }
}

/// Messages to append, and what is other in them than in the results.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RenderedResults {
    /// The messages, contents or items.
    pub messages: Vec<Value>,
    /// What was moved, described, dropped or cut.
    pub changes: Vec<ResultChange>,
}

/// One difference between a result and what the model reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultChange {
    /// Which result.
    pub result: usize,
    /// JSON Pointer into it.
    pub path: String,
    /// What happened.
    pub fate: ResultFate,
    /// Why.
    pub reason: String,
}

/// What happened to a part of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResultFate {
    /// It stands in another message.
    Moved,
    /// A line of text says what it was.
    Described,
    /// It is said elsewhere in the result.
    Dropped,
    /// Its middle is gone.
    Cut,
    /// It was put in where the provider needs something.
    Added,
}

/// Renders the results of one turn, in order, as messages to append to the conversation.
pub fn render_results(
    dialect: &Dialect,
    outcomes: &[Outcome<'_>],
    options: &ResultOptions,
) -> RenderedResults {
    let answers: Vec<Answer<'_>> = outcomes.iter().map(|outcome| Answer::read(outcome.result)).collect();
    render_answers(dialect, outcomes, &answers, options)
}

/// The same for results that are plain text: `results` instead of those of the outcomes. A dialect that sends results as they
/// came has no use for it.
pub fn render_plain_results(
    dialect: &Dialect,
    outcomes: &[Outcome<'_>],
    results: &[PlainResult<'_>],
    options: &ResultOptions,
) -> RenderedResults {
    let answers: Vec<Answer<'_>> = results.iter().map(PlainResult::answer).collect();
    render_answers(dialect, outcomes, &answers, options)
}

fn render_answers(
    dialect: &Dialect,
    outcomes: &[Outcome<'_>],
    answers: &[Answer<'_>],
    options: &ResultOptions,
) -> RenderedResults {
    let mut changes = Vec::new();
    let prepared: Vec<Prepared<'_>> = outcomes
        .iter()
        .zip(answers)
        .enumerate()
        .map(|(index, (outcome, answer))| {
            let report =
                |path, fate, reason| changes.push(ResultChange { result: index, path, fate, reason });
            let arranged = arrange::arrange(&dialect.messages, answer, options, report, outcome.kept);
            let id = match (outcome.call_id, options.ids.get(index)) {
                (Some(id), _) => Cow::Borrowed(id),
                (None, Some(id)) => Cow::Borrowed(id.as_str()),
                (None, None) => Cow::Owned(format!("call_{index}")),
            };
            Prepared { outcome: *outcome, id, arranged }
        })
        .collect();
    if format(dialect.messages.protocol).replaces_absent_ids(&dialect.messages) {
        for (index, result) in prepared.iter().enumerate().filter(|(_, one)| one.outcome.call_id.is_none()) {
            changes.push(ResultChange {
                result: index,
                path: String::new(),
                fate: ResultFate::Added,
                reason: format!("the call has no id; its result is sent as `{}`", result.id),
            });
        }
    }
    let mut messages = write::write(&dialect.messages, &prepared);
    if dialect.messages.snake_case {
        for message in &mut messages {
            format(dialect.messages.protocol).to_snake_case(message);
        }
    }
    RenderedResults { messages, changes }
}

/// A result ready to be written.
pub(crate) struct Prepared<'a> {
    pub(crate) outcome: Outcome<'a>,
    /// The id of its call, or one of ours.
    pub(crate) id: Cow<'a, str>,
    pub(crate) arranged: Arranged<'a>,
}
