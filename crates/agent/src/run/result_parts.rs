//! A long result in parts, without a tree of what may be long.

use std::borrow::Cow;

use gateway_dialects::results::read_result;
use gateway_protocol::{CallResultView, RawJson};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Bytes of all media of one result that a model is sent. APIs take images of some megabytes.
const MEDIA_BYTES: usize = 8 << 20;

/// Bytes of a block of which a tree is made, whatever it is.
const TREE_BYTES: usize = 256 << 10;

/// What a result says.
pub(super) struct ResultParts<'a> {
    parts: Vec<Part<'a>>,
    /// `structuredContent`, unless the texts say the same.
    data: Option<&'a RawValue>,
    is_error: bool,
}

/// A block of a result.
enum Part<'a> {
    /// A text, and the block that it stands in.
    Text(Cow<'a, str>, Option<&'a RawValue>),
    /// Media, or what is no text for another reason.
    Other(Value),
}

/// The members of a result that a model is shown.
#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
}

/// The members of a block that say what it is.
#[derive(Default, Deserialize)]
struct BlockMembers<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "mimeType")]
    mime: Option<Cow<'a, str>>,
    /// The data of images and audio.
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    /// That of a resource.
    #[serde(borrow, default)]
    blob: Option<&'a RawValue>,
}

impl<'a> ResultParts<'a> {
    pub(super) fn read(result: &'a RawJson) -> Self {
        let is_error = CallResultView::of(result).is_error;
        let Ok(Members { content, structured }) = result.read::<Members<'a>>() else {
            // Whatever it is, all of it is there to read.
            return Self { parts: vec![Part::Text(result.as_str().into(), None)], data: None, is_error };
        };
        let mut room = MEDIA_BYTES;
        let parts: Vec<Part<'a>> = content.into_iter().map(|block| Part::read(block, &mut room)).collect();
        let texts: Vec<&str> = parts.iter().filter_map(Part::text).collect();
        let data = structured.filter(|data| data.get() != "null" && !repeats(&texts, data));
        Self { parts, data, is_error }
    }

    /// All that is text, one below the other.
    pub(super) fn whole_text(&self) -> String {
        let texts = self.parts.iter().filter_map(Part::text);
        texts.chain(self.data.map(RawValue::get)).collect::<Vec<_>>().join("\n")
    }

    /// The result, where it is short enough.
    pub(super) fn value(self) -> Value {
        let mut value = with_content(self.parts, self.is_error);
        if let Some(data) = self.data {
            value["structuredContent"] = read_result(data.get()).value;
        }
        value
    }

    /// What stays beside the text that is cut.
    pub(super) fn without_text(self) -> Value {
        let others = self.parts.into_iter().filter(|part| part.text().is_none());
        with_content(others, self.is_error)
    }
}

fn with_content<'a>(parts: impl IntoIterator<Item = Part<'a>>, is_error: bool) -> Value {
    let content: Vec<Value> = parts.into_iter().map(Part::into_block).collect();
    if is_error { json!({"content": content, "isError": true}) } else { json!({"content": content}) }
}

impl<'a> Part<'a> {
    /// Reads a block. Media take from the `room` that is left for them.
    fn read(block: &'a RawValue, room: &mut usize) -> Self {
        #[derive(Deserialize)]
        struct Embedding<'a> {
            #[serde(borrow)]
            resource: &'a RawValue,
        }
        let inner = serde_json::from_str::<Embedding<'a>>(block.get()).map_or(block, |held| held.resource);
        let known = serde_json::from_str::<BlockMembers<'a>>(inner.get()).unwrap_or_default();
        if let Some(text) = known.text {
            return Self::Text(text, Some(block));
        }
        if let Some(data) = known.data.or(known.blob) {
            return match room.checked_sub(data.get().len()) {
                Some(left) => {
                    *room = left;
                    Self::Other(read_result(block.get()).value)
                }
                None => Self::Text(too_large(known.mime.as_deref(), data).into(), None),
            };
        }
        if block.get().len() > TREE_BYTES {
            return Self::Text(block.get().into(), None);
        }
        let value = read_result(block.get()).value;
        match value.get("resource").unwrap_or(&value).get("text").and_then(Value::as_str) {
            Some(text) => Self::Text(text.to_owned().into(), Some(block)),
            None => Self::Other(value),
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text, _) => Some(text),
            Self::Other(_) => None,
        }
    }

    fn into_block(self) -> Value {
        match self {
            Self::Text(_, Some(block)) if block.get().len() <= TREE_BYTES => read_result(block.get()).value,
            Self::Text(text, _) => json!({"type": "text", "text": text}),
            Self::Other(block) => block,
        }
    }
}

/// What stands for media that are too large.
fn too_large(mime: Option<&str>, data: &RawValue) -> String {
    // Four letters of base64 are three bytes.
    let bytes = data.get().len().saturating_sub(2) / 4 * 3;
    let mime: String = mime.unwrap_or("data").chars().take(100).collect();
    format!("[{mime} of {bytes} bytes: too large to be sent to a model]")
}

/// Whether data say what texts say: as JSON in another layout, as one text, or as a list of the texts. Servers send both for clients that do
/// not know the data. Data that say the same in another spelling count as something else, and are shown too.
fn repeats(texts: &[&str], data: &RawValue) -> bool {
    /// An object around what is none.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wrapper<'a> {
        #[serde(borrow, alias = "content", alias = "text", alias = "output")]
        result: &'a RawValue,
    }
    let wrapped = serde_json::from_str::<Wrapper<'_>>(data.get()).ok().map(|wrapper| wrapper.result);
    [Some(data), wrapped].into_iter().flatten().any(|value| {
        let items = || serde_json::from_str::<Vec<&RawValue>>(value.get()).unwrap_or_default();
        let say_items = |items: &[&RawValue]| {
            items.len() == texts.len() && texts.iter().zip(items).all(|(text, item)| says(text, item))
        };
        !texts.is_empty() && (texts.iter().any(|text| says(text, value)) || say_items(&items()))
    })
}

/// Whether a text is a value: the same string, or the same JSON but for white space.
fn says(text: &str, value: &RawValue) -> bool {
    match serde_json::from_str::<Cow<'_, str>>(value.get()) {
        Ok(string) => string == text,
        Err(_) => compact(text).eq(compact(value.get())),
    }
}

/// The bytes of JSON without the white space between them.
fn compact(json: &str) -> impl Iterator<Item = u8> + '_ {
    let (mut in_string, mut is_escaped) = (false, false);
    json.bytes().filter(move |byte| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ => {}
        }
        in_string || !byte.is_ascii_whitespace()
    })
}
