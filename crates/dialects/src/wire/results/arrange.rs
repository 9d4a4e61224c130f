//! Which piece of a result goes where, by the dialect's data.

use serde_json::Value;

use super::piece::{Answer, Media, MediaKind, Piece, Source};
use super::{ResultFate, ResultOptions, limit, note};
use crate::dialect::{EmptyStyle, MessageRules, Placement, Placements, ResourceStyle, StructuredStyle};
use crate::wire::format;

/// What a result says, in forms that the dialect takes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arranged<'a> {
    /// Inside the result.
    pub(crate) parts: Vec<Part<'a>>,
    /// In user content after all results.
    pub(crate) after: Vec<Media<'a>>,
    /// Whether the call failed.
    pub(crate) failed: bool,
}

/// A part of a result.
#[derive(Clone, Debug)]
pub(crate) enum Part<'a> {
    Text(String),
    Document { uri: &'a str, text: String },
    Data(&'a Value),
    Media(Media<'a>),
}

impl Arranged<'_> {
    /// All texts in one; what is not text is not there.
    pub(crate) fn text(&self) -> String {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                Part::Document { .. } | Part::Data(_) | Part::Media(_) => None,
            })
            .collect();
        texts.join("\n")
    }

    pub(crate) fn is_only_text(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(_)))
    }
}

/// Arranges `answer`; `report` gets every difference.
pub(crate) fn arrange<'a>(
    rules: &MessageRules,
    answer: &Answer<'a>,
    options: &ResultOptions,
    mut report: impl FnMut(String, ResultFate, String),
    kept: Option<&str>,
) -> Arranged<'a> {
    let placements = rules.placements(options.model.as_deref());
    let mut arranged = Arranged { failed: answer.failed, ..Arranged::default() };
    let mut structured = structured_part(rules, answer, options);
    let repeats = answer.repeated.as_ref().filter(|_| structured.is_some());
    if structured.is_none() && answer.structured.is_some() {
        report("/structuredContent".to_owned(), ResultFate::Dropped, "the text repeats it".to_owned());
    }
    for (index, piece) in &answer.pieces {
        let path = || format!("/content/{index}");
        match piece {
            Piece::Text(_) if repeats.is_some_and(|repeats| repeats.blocks.contains(index)) => {
                report(path(), ResultFate::Dropped, "repeats structuredContent".to_owned());
                arranged.parts.extend(structured.take());
            }
            Piece::Text(text) => arranged.parts.push(Part::Text(text.to_string())),
            Piece::Note(line) => {
                report(path(), ResultFate::Described, "a block of a kind that cannot be sent".to_owned());
                arranged.parts.push(Part::Text(line.clone()));
            }
            Piece::Document { uri, text } => arranged.parts.push(match rules.resources {
                ResourceStyle::Text => Part::Text(note::document(uri, text)),
                ResourceStyle::Document => Part::Document { uri, text: (*text).to_owned() },
            }),
            Piece::Media(media) => match placement(rules, placements, media) {
                Ok(Placement::Result) => arranged.parts.push(Part::Media(media.clone())),
                Ok(Placement::UserMessage | Placement::Note) => {
                    let reason = "results take no media; they follow in user content";
                    report(path(), ResultFate::Moved, reason.to_owned());
                    arranged.parts.push(Part::Text(note::moved(media)));
                    arranged.after.push(media.clone());
                }
                Err(reason) => {
                    report(path(), ResultFate::Described, reason);
                    arranged.parts.push(Part::Text(note::media(media, kept)));
                }
            },
        }
    }
    arranged.parts.extend(structured);
    arranged.parts.retain(|part| !matches!(part, Part::Text(text) if text.trim().is_empty()));
    if let Some(most) = options.max_characters
        && let Some(cut) = limit::cut(&mut arranged.parts, most)
    {
        report("/content".to_owned(), ResultFate::Cut, format!("{cut} characters over the limit of {most}"));
    }
    mark_failure(rules, &mut arranged);
    fill_empty(rules, &mut arranged);
    arranged
}

/// Where `media` goes, or why only a note can stand for it.
pub(crate) fn placement(
    rules: &MessageRules,
    placements: Placements,
    media: &Media<'_>,
) -> Result<Placement, String> {
    let (placement, types) = match media.kind {
        MediaKind::Image => (placements.images, &rules.image_types),
        MediaKind::Audio => (placements.audio, &Vec::new()),
        MediaKind::File => (placements.files, &rules.file_types),
    };
    if placement == Placement::Note {
        return Err(format!("no place for {}", media.kind.name()));
    }
    match &media.source {
        Source::Url(_) if media.kind != MediaKind::Image || !rules.image_urls => {
            Err(format!("an address is not taken for {}", media.kind.name()))
        }
        Source::Url(_) => Ok(placement),
        Source::Data(_) if types.is_empty() || types.contains(&media.mime) => Ok(placement),
        Source::Data(_) => Err(format!("type {} is not taken", media.mime)),
    }
}

/// What is sent of `structuredContent`: the value itself, if the dialect takes it so and it is short enough, or its JSON text;
/// `None` if the texts say all of it.
fn structured_part<'a>(
    rules: &MessageRules,
    answer: &Answer<'a>,
    options: &ResultOptions,
) -> Option<Part<'a>> {
    let value = answer.structured?;
    let fits = || options.max_characters.is_none_or(|most| note::json_text(value).chars().count() <= most);
    if value.is_object() && rules.structured != StructuredStyle::Text && fits() {
        return Some(Part::Data(value));
    }
    answer.unrepeated().map(|value| Part::Text(note::json_text(value)))
}

/// Says in the text that the call failed, unless the API has, and the dialect uses, a member for it.
fn mark_failure(rules: &MessageRules, arranged: &mut Arranged<'_>) {
    if !arranged.failed || format(rules.protocol).marks_failure(rules.errors) {
        return;
    }
    let first = arranged.parts.iter_mut().find_map(|part| match part {
        Part::Text(text) => Some(text),
        Part::Document { .. } | Part::Data(_) | Part::Media(_) => None,
    });
    match first {
        Some(text) if text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error")) => {}
        Some(text) => text.insert_str(0, "Error: "),
        None => arranged.parts.insert(0, Part::Text(format!("Error: {}", note::EMPTY_ERROR))),
    }
}

fn fill_empty(rules: &MessageRules, arranged: &mut Arranged<'_>) {
    if !arranged.parts.is_empty() {
        return;
    }
    let text = match (arranged.failed, rules.empty) {
        (true, _) => note::EMPTY_ERROR,
        (false, EmptyStyle::Marker) => note::EMPTY,
        (false, EmptyStyle::Omit | EmptyStyle::Text) => return,
    };
    arranged.parts.push(Part::Text(text.to_owned()));
}
