//! Images, audio and files in the spelling of each API.

use serde_json::{Value, json};

use super::piece::{Media, MediaKind, Source};
use crate::dialect::Protocol;

/// Types of documents and the extension that names each.
const FILE_FORMATS: &[(&str, &str)] = &[
    ("application/pdf", "pdf"),
    ("text/csv", "csv"),
    ("application/msword", "doc"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
    ("application/vnd.ms-excel", "xls"),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
    ("text/html", "html"),
    ("text/plain", "txt"),
    ("text/markdown", "md"),
];

/// Longest name of a document.
const LONGEST_NAME: usize = 200;

/// `media` as a member of a content list; `number` tells documents of one message apart.
pub(crate) fn part(protocol: Protocol, media: &Media<'_>, number: usize) -> Value {
    match protocol {
        Protocol::Chat | Protocol::Functions | Protocol::CohereChat => chat_part(media),
        Protocol::Responses => responses_part(media),
        Protocol::Messages => messages_part(media),
        Protocol::Converse => converse_part(media, number),
        Protocol::GenerateContent => gemini_part(media),
        Protocol::OllamaChat => Value::String(url(media)),
        Protocol::Mcp => neutral_part(media),
    }
}

/// The address of `media`, or its bytes as a data URL.
pub(crate) fn url(media: &Media<'_>) -> String {
    match &media.source {
        Source::Url(url) => url.to_string(),
        Source::Data(data) => format!("data:{};base64,{data}", media.mime),
    }
}

/// The bytes, where they are here.
pub(crate) fn data<'m>(media: &'m Media<'_>) -> Option<&'m str> {
    match &media.source {
        Source::Data(data) => Some(data),
        Source::Url(_) => None,
    }
}

/// The neutral format's block.
pub(crate) fn neutral_part(media: &Media<'_>) -> Value {
    let source = match &media.source {
        Source::Data(data) => json!({"type": "base64", "media_type": media.mime, "data": data}),
        Source::Url(url) => json!({"type": "url", "url": url}),
    };
    match media.kind {
        MediaKind::Image | MediaKind::Audio => json!({"type": media.kind.name(), "source": source}),
        MediaKind::File => json!({"type": "resource", "resource": {
            "uri": media.uri.unwrap_or_default(), "mimeType": media.mime, "blob": data(media).unwrap_or_default(),
        }}),
    }
}

fn chat_part(media: &Media<'_>) -> Value {
    match media.kind {
        MediaKind::Image => json!({"type": "image_url", "image_url": {"url": url(media)}}),
        MediaKind::Audio => {
            let format = if matches!(subtype(&media.mime), "mpeg" | "mp3") { "mp3" } else { "wav" };
            json!({"type": "input_audio", "input_audio": {"data": data(media).unwrap_or_default(), "format": format}})
        }
        MediaKind::File => {
            json!({"type": "file", "file": {"filename": file_name(media), "file_data": url(media)}})
        }
    }
}

fn responses_part(media: &Media<'_>) -> Value {
    match media.kind {
        MediaKind::Image => json!({"type": "input_image", "image_url": url(media), "detail": "auto"}),
        MediaKind::Audio | MediaKind::File => {
            json!({"type": "input_file", "filename": file_name(media), "file_data": url(media)})
        }
    }
}

fn messages_part(media: &Media<'_>) -> Value {
    let source = match &media.source {
        Source::Data(data) => json!({"type": "base64", "media_type": media.mime, "data": data}),
        Source::Url(url) => json!({"type": "url", "url": url}),
    };
    match (media.kind, media.uri.filter(|uri| !uri.is_empty())) {
        (MediaKind::Image, _) => json!({"type": "image", "source": source}),
        (MediaKind::Audio | MediaKind::File, Some(uri)) => {
            json!({"type": "document", "source": source, "title": uri})
        }
        (MediaKind::Audio | MediaKind::File, None) => json!({"type": "document", "source": source}),
    }
}

fn converse_part(media: &Media<'_>, number: usize) -> Value {
    let source = json!({"bytes": data(media).unwrap_or_default()});
    match media.kind {
        MediaKind::Image => json!({"image": {"format": subtype(&media.mime), "source": source}}),
        MediaKind::Audio | MediaKind::File => {
            let format = format_of(&media.mime).unwrap_or("txt");
            json!({"document": {"format": format, "name": document_name(media.uri, number), "source": source}})
        }
    }
}

fn gemini_part(media: &Media<'_>) -> Value {
    match &media.source {
        Source::Data(data) => json!({"inlineData": {"mimeType": media.mime, "data": data}}),
        Source::Url(url) if media.mime.is_empty() => json!({"fileData": {"fileUri": url}}),
        Source::Url(url) => json!({"fileData": {"mimeType": media.mime, "fileUri": url}}),
    }
}

/// The part of a type after the slash.
pub(crate) fn subtype(mime: &str) -> &str {
    mime.split_once('/').map_or(mime, |(_, subtype)| subtype)
}

/// The extension that names a type of document.
pub(crate) fn format_of(mime: &str) -> Option<&'static str> {
    FILE_FORMATS.iter().find(|(known, _)| *known == mime).map(|(_, format)| *format)
}

/// The type of document that an extension names.
pub(crate) fn mime_of(format: &str) -> Option<&'static str> {
    FILE_FORMATS.iter().find(|(_, known)| *known == format).map(|(mime, _)| *mime)
}

fn file_name(media: &Media<'_>) -> String {
    let name = last_segment(media.uri.unwrap_or_default());
    if !name.is_empty() {
        return name.to_owned();
    }
    format!("file.{}", format_of(&media.mime).unwrap_or("bin"))
}

/// Letters, digits, single spaces, hyphens and brackets only, without the extension.
fn document_name(uri: Option<&str>, number: usize) -> String {
    let segment = last_segment(uri.unwrap_or_default());
    let stem = segment.rsplit_once('.').map_or(segment, |(stem, _)| stem);
    let legal = stem
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '(' | ')' | '[' | ']') { c } else { ' ' });
    let words: String = legal.collect();
    let name = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let name: String = name.chars().take(LONGEST_NAME - 10).collect();
    match (name.trim(), number) {
        ("", number) => format!("document {}", number + 1),
        (name, 0) => name.to_owned(),
        (name, number) => format!("{name} {}", number + 1),
    }
}

fn last_segment(uri: &str) -> &str {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default()
}
