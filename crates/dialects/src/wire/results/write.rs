//! Arranged results as messages.

use serde_json::Value;

use super::arrange::{Arranged, Part};
use super::piece::{Media, MediaKind};
use super::{Outcome, Prepared};
use crate::dialect::MessageRules;
use crate::wire::{WireFormat, format};

/// Writes the results of one turn, and the media that results cannot hold.
pub(super) fn write(rules: &MessageRules, results: &[Prepared<'_>]) -> Vec<Value> {
    if results.is_empty() {
        return Vec::new();
    }
    let format = format(rules.protocol);
    let mut written: Vec<Value> = results.iter().map(|result| format.write_result(rules, result)).collect();
    let media: Vec<&Media<'_>> = results.iter().flat_map(|result| &result.arranged.after).collect();
    if format.gathers_results() {
        let media = media.into_iter().enumerate();
        written.extend(media.map(|(number, media)| format.media_part(media, number)));
        return vec![format.message("user", written.into())];
    }
    if !media.is_empty() {
        written.push(format.user_message(&heading(results), &media));
    }
    written
}

/// Says which tools the media come from, in their order.
fn heading(results: &[Prepared<'_>]) -> String {
    let tools = results.iter().filter(|result| !result.arranged.after.is_empty()).map(|result| {
        let count = result.arranged.after.len();
        let times = if count == 1 { String::new() } else { format!(" ({count})") };
        let Outcome { wire_name, .. } = result.outcome;
        format!("`{wire_name}`{times}")
    });
    format!("Media from the tool results above, in order: {}", tools.collect::<Vec<_>>().join(", "))
}

/// The parts of a result as a content list.
pub(crate) fn content_list(format: &dyn WireFormat, arranged: &Arranged<'_>) -> Vec<Value> {
    let mut files = 0;
    let written = |part: &Part<'_>| match part {
        Part::Text(text) => format.text_part(text),
        Part::Document { uri, text } => format.document_part(uri, text),
        Part::Data(value) => format.data_part(value),
        Part::Media(media) => {
            let number = files;
            files += usize::from(media.kind == MediaKind::File);
            format.media_part(media, number)
        }
    };
    arranged.parts.iter().map(written).collect()
}

/// One text where all parts are text, otherwise a list.
pub(crate) fn text_or_list(format: &dyn WireFormat, arranged: &Arranged<'_>) -> Value {
    if arranged.is_only_text() {
        return Value::String(arranged.text());
    }
    Value::Array(content_list(format, arranged))
}
