//! The fields of a result that a gateway reads.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Deserialize;

use crate::raw::RawJson;
use crate::repeated::without_repeats;

/// The fields of a result that decide what happens next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallResultView {
    /// Whether the tool reported a failure.
    pub is_error: bool,
    /// Whether the call is complete.
    pub result_type: ResultType,
}

/// Whether a call is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ResultType {
    /// It is complete.
    #[default]
    Complete,
    /// The server wants more input first.
    InputRequired,
    /// A value of an extension.
    Other(String),
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(default, rename = "isError")]
    is_error: Option<bool>,
    #[serde(borrow, default, rename = "resultType")]
    result_type: Option<Cow<'a, str>>,
}

impl CallResultView {
    /// Reads a result. One that is not an object, or has these fields with other types, counts as complete.
    pub fn of(result: &RawJson) -> Self {
        // Only these two names matter; a text without them needs no reading.
        let text = result.as_bytes();
        if NAMES.iter().all(|name| name.find(text).is_none()) {
            return Self::default();
        }
        let rewritten;
        let fields = if let Ok(fields) = result.read::<Fields<'_>>() {
            fields
        } else {
            // serde rejects repeated members; the result itself stays unchanged.
            rewritten = without_repeats(result);
            let Ok(fields) = rewritten.read::<Fields<'_>>() else { return Self::default() };
            fields
        };
        let result_type = match fields.result_type.as_deref() {
            None | Some("complete") => ResultType::Complete,
            Some("input_required") => ResultType::InputRequired,
            Some(other) => ResultType::Other(other.to_owned()),
        };
        Self { is_error: fields.is_error.unwrap_or_default(), result_type }
    }
}

/// Finds the names of the two members.
static NAMES: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| [Finder::new("\"isError\""), Finder::new("\"resultType\"")]);
