//! What is known of images, audio and files.

use serde_json::{Value, json};

use super::piece::{Media, MediaKind, Source};

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

/// Where the bytes are, as Messages and the neutral format say it.
pub(crate) fn source(media: &Media<'_>) -> Value {
    match &media.source {
        Source::Data(data) => json!({"type": "base64", "media_type": media.mime, "data": data}),
        Source::Url(url) => json!({"type": "url", "url": url}),
    }
}

/// The neutral format's block.
pub(crate) fn neutral_part(media: &Media<'_>) -> Value {
    let source = source(media);
    match media.kind {
        MediaKind::Image | MediaKind::Audio => json!({"type": media.kind.name(), "source": source}),
        MediaKind::File => json!({"type": "resource", "resource": {
            "uri": media.uri.unwrap_or_default(), "mimeType": media.mime, "blob": data(media).unwrap_or_default(),
        }}),
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

/// The name of a file, by its address or its type.
pub(crate) fn file_name(media: &Media<'_>) -> String {
    let name = last_segment(media.uri.unwrap_or_default());
    if !name.is_empty() {
        return name.to_owned();
    }
    format!("file.{}", format_of(&media.mime).unwrap_or("bin"))
}

/// Letters, digits, single spaces, hyphens and brackets only, without the extension.
pub(crate) fn document_name(uri: Option<&str>, number: usize) -> String {
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
