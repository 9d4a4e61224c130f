//! An MCP result taken apart into the pieces that dialects arrange differently.

use std::borrow::Cow;

use serde_json::Value;

use super::note;
use super::repetition::Repetition;
use crate::wire::Members as _;

/// Where the bytes of a medium are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source<'a> {
    /// Here, as base64.
    Data(Cow<'a, str>),
    /// At this address.
    Url(Cow<'a, str>),
}

/// An image, audio or file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Media<'a> {
    pub(crate) kind: MediaKind,
    pub(crate) mime: String,
    pub(crate) source: Source<'a>,
    /// The address of the resource that held it.
    pub(crate) uri: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaKind {
    Image,
    Audio,
    File,
}

impl MediaKind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::File => "file",
        }
    }

    fn of(mime: &str) -> Self {
        if mime.starts_with("image/") {
            Self::Image
        } else if mime.starts_with("audio/") {
            Self::Audio
        } else {
            Self::File
        }
    }
}

/// One block of a result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece<'a> {
    /// Text as it came.
    Text(Cow<'a, str>),
    /// The text of an embedded resource.
    Document { uri: &'a str, text: &'a str },
    /// An image, audio or file.
    Media(Media<'a>),
    /// A line of ours about a block that cannot be sent.
    Note(String),
}

/// A result taken apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer<'a> {
    /// The blocks, with their index in `content`.
    pub(crate) pieces: Vec<(usize, Piece<'a>)>,
    /// `structuredContent`.
    pub(crate) structured: Option<&'a Value>,
    /// Which text blocks say what `structuredContent` says too.
    pub(crate) repeated: Option<Repetition>,
    /// `isError`
    pub(crate) failed: bool,
}

impl<'a> Answer<'a> {
    /// Takes `result` apart. Anything is accepted: what is not a result is sent as JSON text.
    pub(crate) fn read(result: &'a Value) -> Self {
        let Some(object) = result.as_object() else {
            let text = result.as_str().map_or_else(|| note::json_text(result).into(), Cow::Borrowed);
            let pieces = if result.is_null() { Vec::new() } else { vec![(0, Piece::Text(text))] };
            return Self { pieces, ..Self::default() };
        };
        let structured = object.member("structuredContent").filter(|value| !value.is_null());
        let failed = object.member("isError").and_then(Value::as_bool).unwrap_or(false);
        let pieces = match object.member("content") {
            Some(Value::Array(blocks)) => {
                blocks.iter().enumerate().map(|(index, block)| (index, read_block(block))).collect()
            }
            Some(Value::String(text)) => vec![(0, Piece::Text(text.into()))],
            Some(Value::Null) | None if structured.is_some() || object.has("isError") => Vec::new(),
            Some(Value::Null) | None if object.is_empty() => Vec::new(),
            Some(Value::Null) | None => vec![(0, Piece::Text(note::json_text(result).into()))],
            Some(other) => vec![(0, Piece::Text(note::json_text(other).into()))],
        };
        let repeated = structured.and_then(|value| Repetition::find(&pieces, value));
        Self { pieces, structured, repeated, failed }
    }

    /// Whether the block at `index` of `content` is a text that says only a part of `structuredContent`.
    pub(crate) fn is_superfluous(&self, index: usize) -> bool {
        self.repeated.as_ref().is_some_and(|repeated| !repeated.is_whole && repeated.blocks.contains(&index))
    }

    /// `structuredContent`, if the texts do not say all of it.
    pub(crate) fn unrepeated(&self) -> Option<&'a Value> {
        self.structured.filter(|_| self.repeated.as_ref().is_none_or(|repeated| !repeated.is_whole))
    }
}

/// Reads a content block of MCP or of the neutral format.
pub(crate) fn read_block(block: &Value) -> Piece<'_> {
    if let Value::String(text) = block {
        return Piece::Text(text.into());
    }
    let piece = match block.text("type") {
        Some("text") => block.text("text").map(|text| Piece::Text(text.into())),
        Some("image") => read_media(block, MediaKind::Image),
        Some("audio") => read_media(block, MediaKind::Audio),
        Some("resource") => block.get("resource").and_then(read_resource),
        Some("resource_link") => block.text("uri").map(|uri| Piece::Text(note::link(block, uri).into())),
        Some(_) | None => None,
    };
    piece.unwrap_or_else(|| Piece::Note(note::unknown(block)))
}

/// MCP's `{data, mimeType}`, and the neutral format's `{source: {type, media_type, data | url}}`.
fn read_media(block: &Value, kind: MediaKind) -> Option<Piece<'_>> {
    let holder = block.get("source").unwrap_or(block);
    let text = |keys: [&str; 2]| keys.into_iter().find_map(|key| holder.get(key)).and_then(Value::as_str);
    let fallback = match kind {
        MediaKind::Image => "image/png",
        MediaKind::Audio => "audio/wav",
        MediaKind::File => "application/octet-stream",
    };
    let mime = text(["mimeType", "media_type"]);
    if let Some(data) = text(["data", "data"]) {
        let (inner, data) = split_data_url(data).map_or((None, data), |(inner, data)| (Some(inner), data));
        let mime = normal_mime(mime.or(inner).unwrap_or(fallback));
        if !is_base64(data) {
            return Some(Piece::Note(note::broken(kind, &mime, data.len())));
        }
        return Some(Piece::Media(Media { kind, mime, source: Source::Data(data.into()), uri: None }));
    }
    let url = text(["url", "url"])?;
    Some(match split_data_url(url) {
        Some((inner, data)) if is_base64(data) => {
            let mime = normal_mime(mime.unwrap_or(inner));
            Piece::Media(Media { kind, mime, source: Source::Data(data.into()), uri: None })
        }
        Some((inner, data)) => Piece::Note(note::broken(kind, inner, data.len())),
        None => {
            let mime = mime.map(normal_mime).unwrap_or_default();
            Piece::Media(Media { kind, mime, source: Source::Url(url.into()), uri: None })
        }
    })
}

fn read_resource(resource: &Value) -> Option<Piece<'_>> {
    let uri = resource.text("uri").unwrap_or_default();
    if let Some(content) = resource.text("text") {
        return Some(Piece::Document { uri, text: content });
    }
    let data = resource.text("blob")?;
    let mime = normal_mime(resource.text("mimeType").unwrap_or("application/octet-stream"));
    let kind = MediaKind::of(&mime);
    if !is_base64(data) {
        return Some(Piece::Note(note::broken(kind, &mime, data.len())));
    }
    Some(Piece::Media(Media { kind, mime, source: Source::Data(data.into()), uri: Some(uri) }))
}

/// The type and the base64 of a data URL.
pub(crate) fn split_data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some((head.strip_suffix(";base64")?, data))
}

/// Whether `data` is whole base64 of at least one byte, so that no provider can choke on it.
pub(crate) fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    !body.is_empty()
        && data.len().is_multiple_of(4)
        && data.len() - body.len() <= 2
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

/// Lower case, without parameters, and with the registered spelling.
fn normal_mime(mime: &str) -> String {
    let mime = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if mime == "image/jpg" { "image/jpeg".to_owned() } else { mime }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_whole() {
        for (data, good) in [("aGk=", true), ("aGk", false), ("", false), ("====", false), ("a b=", false)] {
            assert_eq!(is_base64(data), good, "{data}");
        }
    }
}
