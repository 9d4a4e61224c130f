//! Results for programs rather than models: as they came, as one text, as one value.

use serde_json::{Value, json};

use super::media;
use super::note;
use super::piece::{Answer, Piece};
use super::{Outcome, ResultOptions, render_results};
use crate::dialect::Dialect;

/// What a caller wants of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResultMode {
    /// The result as it came.
    #[default]
    Raw,
    /// The first text, read as JSON if it is JSON.
    Parsed,
    /// The first block if it is text, otherwise the content list.
    FirstText,
    /// All texts, one below the other.
    Joined,
    /// `{text, attachments, isError}`
    Rich,
    /// Messages that the provider takes.
    Provider,
}

/// No result mode has this name.
#[derive(Debug, thiserror::Error)]
#[error("unknown result mode `{name}`; known: raw, parsed, first-text, joined, rich, provider")]
#[non_exhaustive]
pub struct UnknownMode {
    /// The name that was asked for.
    pub name: String,
}

impl std::str::FromStr for ResultMode {
    type Err = UnknownMode;

    fn from_str(name: &str) -> Result<Self, UnknownMode> {
        Ok(match name {
            "raw" => Self::Raw,
            "parsed" => Self::Parsed,
            "first-text" => Self::FirstText,
            "joined" => Self::Joined,
            "rich" => Self::Rich,
            "provider" => Self::Provider,
            _ => return Err(UnknownMode { name: name.to_owned() }),
        })
    }
}

/// Renders one result; `origin` is `server/tool`, which mode `rich` names as the source of attachments.
pub fn render_mode(
    mode: ResultMode,
    dialect: &Dialect,
    outcome: &Outcome<'_>,
    origin: &str,
    options: &ResultOptions,
) -> Value {
    match mode {
        ResultMode::Raw => outcome.result.clone(),
        ResultMode::Parsed => parsed(outcome.result),
        ResultMode::FirstText => first_text(outcome.result),
        ResultMode::Joined => Value::String(joined(outcome.result)),
        ResultMode::Rich => rich(outcome.result, origin),
        ResultMode::Provider => {
            let mut messages = render_results(dialect, std::slice::from_ref(outcome), options).messages;
            if messages.len() == 1 { messages.swap_remove(0) } else { Value::Array(messages) }
        }
    }
}

fn parsed(result: &Value) -> Value {
    let answer = Answer::read(result);
    let text = answer.pieces.iter().find_map(|(_, piece)| match piece {
        Piece::Text(text) => Some(text),
        Piece::Document { .. } | Piece::Media(_) | Piece::Note(_) => None,
    });
    match (text, answer.structured) {
        (Some(text), _) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_string())),
        (None, Some(structured)) => structured.clone(),
        (None, None) => result.get("content").cloned().unwrap_or(Value::Null),
    }
}

/// The first block of a result if it is text, else its list of content.
pub fn first_text(result: &Value) -> Value {
    let content = result.get("content");
    let first = content.and_then(|content| content.get(0));
    let text = first.filter(|block| block.get("type").is_some_and(|kind| kind == "text"));
    match text.and_then(|block| block.get("text")) {
        Some(text) => text.clone(),
        None => content.cloned().unwrap_or_else(|| json!([])),
    }
}

/// Texts one below the other, notes for media, and `structuredContent` where no text says it.
pub(crate) fn joined(result: &Value) -> String {
    let answer = Answer::read(result);
    let pieces = answer.pieces.iter().filter(|(index, _)| !answer.is_superfluous(*index));
    let mut lines: Vec<String> = pieces.map(|(_, piece)| piece_text(piece)).collect();
    lines.extend(answer.unrepeated().map(note::json_text));
    lines.join("\n")
}

/// A piece as text, with a note for what is none.
pub(crate) fn piece_text(piece: &Piece<'_>) -> String {
    match piece {
        Piece::Text(text) => text.to_string(),
        Piece::Document { uri, text } => note::document(uri, text),
        Piece::Media(medium) => note::media(medium, None),
        Piece::Note(line) => line.clone(),
    }
}

fn rich(result: &Value, origin: &str) -> Value {
    if !result.get("content").is_some_and(Value::is_array) {
        return json!({"error": "Invalid tool result: missing content array"});
    }
    let answer = Answer::read(result);
    let mut text = String::new();
    let mut attachments = Vec::new();
    for (_, piece) in &answer.pieces {
        match piece {
            Piece::Text(part) => text.push_str(part),
            Piece::Document { uri, text: part } => {
                text.push_str("\n\n");
                text.push_str(&note::document(uri, part));
            }
            Piece::Media(medium) => match medium.uri {
                Some(uri) => text.extend(["\n\nResource (", uri, "): [Binary data]"]),
                None => attachments.push(json!({
                    "contentType": medium.mime, "url": media::url(medium), "source": origin,
                })),
            },
            Piece::Note(line) => {
                text.push('\n');
                text.push_str(line);
            }
        }
    }
    let mut rich = json!({"text": text, "attachments": attachments, "isError": answer.failed});
    if let (Some(structured), Some(object)) = (answer.structured, rich.as_object_mut()) {
        object.insert("structuredContent".into(), structured.clone());
    }
    rich
}
