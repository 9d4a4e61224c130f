//! Raw JSON text, kept verbatim.

use std::fmt;

use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

/// Reads `text` as `T`. UTF-8 is checked once for the whole text, which is cheaper than once per string.
pub fn read_json<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, serde_json::Error> {
    match std::str::from_utf8(text) {
        Ok(text) => serde_json::from_str(text),
        // An invalid string is an error only if something reads it, and then with its position.
        Err(_) => serde_json::from_slice(text),
    }
}

/// Appends a string. Nearly all that we write are plain, and copying them costs much less than looking at each letter.
pub(crate) fn write_text(out: &mut Vec<u8>, text: &str) {
    if text.bytes().any(|byte| matches!(byte, ..b' ' | b'"' | b'\\')) {
        // Writing into memory has no way to fail.
        let _ = serde_json::to_writer(out, text);
        return;
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// One JSON value as its original text, including key order, big numbers and unknown fields.
///
/// Cloning shares the text. The text is always one valid JSON value in UTF-8.
#[derive(Clone, PartialEq, Eq)]
pub struct RawJson(Bytes);

impl RawJson {
    /// Checks that `text` is one JSON value.
    pub fn parse(text: impl Into<Bytes>) -> Result<Self, serde_json::Error> {
        let text = text.into();
        let value: &RawValue = read_json(&text)?;
        let inner = text.slice_ref(value.get().as_bytes());
        Ok(Self(inner))
    }

    /// The text of `value`; shares the memory of `owner` if `value` was read from it.
    pub fn part_of(owner: &Bytes, value: &RawValue) -> Self {
        let (own, part) = (owner.as_ptr_range(), value.get().as_bytes().as_ptr_range());
        if own.start <= part.start && part.end <= own.end {
            return Self(owner.slice_ref(value.get().as_bytes()));
        }
        Self(Bytes::copy_from_slice(value.get().as_bytes()))
    }

    /// The text of `value`; shares the memory if `value` was read from this text.
    #[must_use]
    pub fn part(&self, value: &RawValue) -> Self {
        Self::part_of(&self.0, value)
    }

    /// Copies of the texts in one new allocation.
    pub fn copied(texts: &[Self]) -> impl Iterator<Item = Self> + use<'_> {
        let mut memory = BytesMut::with_capacity(texts.iter().map(Self::len).sum());
        for text in texts {
            memory.extend_from_slice(&text.0);
        }
        let mut memory = memory.freeze();
        texts.iter().map(move |text| Self(memory.split_to(text.len())))
    }

    /// A text that is known to be one JSON value in UTF-8, without white space around it.
    pub(crate) fn trusted(text: Bytes) -> Self {
        Self(text)
    }

    /// A string written as JSON.
    pub fn text(text: &str) -> Self {
        let mut out = Vec::with_capacity(text.len() + 2);
        write_text(&mut out, text);
        Self(out.into())
    }

    /// A value written as JSON.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        Ok(Self(serde_json::to_vec(value)?.into()))
    }

    /// The text `{}`.
    pub fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// The text `null`.
    pub fn null() -> Self {
        Self(Bytes::from_static(b"null"))
    }

    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text, shared.
    pub fn to_bytes(&self) -> Bytes {
        self.0.clone()
    }

    /// The text as a string slice.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Reads the value as `T`.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        read_json(&self.0)
    }

    /// How many bytes the text has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Always `false`: a JSON value has at least one byte.
    pub fn is_empty(&self) -> bool {
        false
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: &RawValue = self.read().map_err(serde::ser::Error::custom)?;
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self(Bytes::from(Box::<str>::from(value).into_string())))
    }
}
