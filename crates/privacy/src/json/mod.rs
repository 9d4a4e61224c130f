//! Personal data in JSON: in strings, in names of members, and in numbers.
//!
//! The name of the nearest member counts as a word before the value: `{"ssn": 536904399}`.

mod blocks;
mod names;
mod text;
mod value;

use std::borrow::Cow;

use gateway_notation::pointer;
use serde_json::Value;

use crate::counts::Counts;
use crate::detector::Detector;
use crate::kind::{Applied, Finding, Mode};

/// How many findings a report lists; the rest is only counted. Pointers could otherwise make a report larger than its document by orders.
pub const MAX_LISTED: usize = 1000;

/// The longest pointer in a report, in bytes; what is longer ends in `/…`.
const MAX_POINTER: usize = 1024;

/// Personal data in a JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonFinding {
    /// The JSON Pointer (RFC 6901) of the value, or of the member whose name it is. Names with personal data are masked in it too.
    pub pointer: String,
    /// Whether the value or the name holds it.
    pub location: Location,
    /// The kind, and the bytes in the string without escapes, or in the digits of the number.
    pub finding: Finding,
}

/// Where in a member something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// In the name of a member.
    Name,
    /// In a value.
    Value,
}

/// What was found in a JSON document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonReport {
    /// The first [`MAX_LISTED`] findings, in the order of the document.
    pub findings: Vec<JsonFinding>,
    /// How many more there are.
    pub omitted: usize,
    /// How many there are of each kind, also of those that are not listed.
    pub counts: Counts,
}

impl JsonReport {
    /// Whether nothing was found.
    pub const fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds what was found at the end of `path`.
    fn add<'a>(&mut self, path: impl Iterator<Item = Cow<'a, str>>, location: Location, found: Vec<Finding>) {
        if found.is_empty() {
            return;
        }
        self.counts.add_all(&found);
        let room = MAX_LISTED - self.findings.len();
        self.omitted += found.len().saturating_sub(room);
        if room == 0 {
            return;
        }
        let mut to = String::new();
        for name in path {
            if to.len() + name.len() > MAX_POINTER {
                to.push_str("/…");
                break;
            }
            pointer::push(&mut to, &name);
        }
        let findings = found.into_iter().take(room);
        self.findings.extend(findings.map(|finding| JsonFinding { pointer: to.clone(), location, finding }));
    }
}

/// Why JSON could not be searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// The text is no JSON. It can still be searched as text.
    #[error("searching a text of {bytes} bytes that is no JSON")]
    Malformed {
        /// The length of the text.
        bytes: usize,
        /// What the parser says.
        #[source]
        cause: serde_json::Error,
    },
}

impl Detector {
    /// All findings of a JSON value.
    pub fn find_json(&self, value: &Value) -> JsonReport {
        value::masked(self, value).1
    }

    /// Does with a JSON value what the mode says.
    ///
    /// A masked number becomes a string, a masked name stays different from all other names of its object.
    pub fn apply_json<'a>(&self, value: &'a Value, mode: Mode) -> Applied<Cow<'a, Value>, JsonReport> {
        let (masked, report) = value::masked(self, value);
        decide(mode, report, Cow::Borrowed(value), masked.map(Cow::Owned))
    }

    /// [`Detector::apply_json`] on the text of a JSON document. All that is not masked keeps its bytes: spaces, escapes, the notation of
    /// numbers, repeated members.
    pub fn apply_json_text<'a>(
        &self,
        text: &'a str,
        mode: Mode,
    ) -> Result<Applied<Cow<'a, str>, JsonReport>, JsonError> {
        let (masked, report) = text::masked(self, text)?;
        Ok(decide(mode, report, Cow::Borrowed(text), masked.map(Cow::Owned)))
    }

    /// Masks the text of a message or a result of MCP: as [`Detector::apply_json_text`] does, and also what begins in the `text` of one
    /// block and ends in that of another block of the same array.
    pub fn mask_blocks<'a>(&self, text: &'a str) -> Result<(Cow<'a, str>, Counts), JsonError> {
        let (masked, report) = text::masked(self, text)?;
        let (masked, mut counts) = (masked.map_or(Cow::Borrowed(text), Cow::Owned), report.counts);
        Ok(match blocks::masked(self, &masked) {
            Some((joined, found)) => {
                counts.merge(found);
                (Cow::Owned(joined), counts)
            }
            None => (masked, counts),
        })
    }
}

fn decide<T>(mode: Mode, report: JsonReport, original: T, masked: Option<T>) -> Applied<T, JsonReport> {
    match mode {
        Mode::Block if !report.is_empty() => Applied::Blocked { report },
        Mode::Mask => Applied::Passed { output: masked.unwrap_or(original), report },
        Mode::Mark | Mode::Block => Applied::Passed { output: original, report },
    }
}
