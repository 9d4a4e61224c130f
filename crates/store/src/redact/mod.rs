//! What is taken out of a call before it is written: secrets, base64 blobs, and what is over the size cap.

mod assignments;
mod cap;
mod code;
mod commands;
mod containers;
mod dictionary;
mod edits;
#[cfg(test)]
mod embedded_tests;
mod expressions;
mod hints;
mod islands;
mod layers;
#[cfg(test)]
mod linear_tests;
mod markup;
mod needles;
mod nesting;
mod pairs;
mod phrases;
mod placeholders;
mod rules;
mod secrets;
mod shapes;
mod tables;
mod text;
mod value;
mod walk;
mod words;

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use serde::de::IgnoredAny;

pub(crate) use self::rules::Rules;
use crate::{
    error::StoreError,
    record::{CallRecord, Outcome},
};

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";
/// The same as a JSON string, for values that are no strings.
const QUOTED: &str = "\"[redacted]\"";

/// What to take out of every call, beside the keys and prefixes that are always taken out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Redaction {
    /// Take out values of well-known sensitive keys and well-known tokens (default: on).
    pub defaults: bool,
    /// More keys whose value is taken out at any depth; `*` stands for any text, case does not matter.
    pub keys: Vec<String>,
    /// Places in the input and the result of some tools: `server/tool:/path/to/value`; `*` is allowed in the names
    /// and as a whole segment of the path.
    pub paths: Vec<String>,
    /// More beginnings of tokens inside strings, such as `sk-`; the token after it is taken out.
    pub token_prefixes: Vec<String>,
    /// Replace long base64 text of image, audio and resource blocks by a note of its size (default: on).
    pub blobs: bool,
}

impl Default for Redaction {
    fn default() -> Self {
        Self { defaults: true, keys: Vec::new(), paths: Vec::new(), token_prefixes: Vec::new(), blobs: true }
    }
}

/// Cleans records: the only way from a record to the database.
#[derive(Debug)]
pub(crate) struct Cleaner {
    rules: Rules,
    input_cap: usize,
    result_cap: usize,
    /// Names without secrets, the last one first: most calls are of the same tools.
    plain_names: VecDeque<Arc<str>>,
}

/// How many names without secrets are remembered.
const PLAIN_NAMES: usize = 8;

/// The longest name, id or code that is kept.
const NAME_CAP: usize = 512;

/// How much of a record is kept in the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caps {
    pub(crate) input: usize,
    pub(crate) result: usize,
    /// Whether long base64 text becomes a note.
    pub(crate) blobs: bool,
}

/// How long the values of a record were that were shortened before they were queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shortened {
    input: Option<usize>,
    result: Option<usize>,
    message: Option<usize>,
}

impl Caps {
    /// Shortens what is too long, so that a record in the queue costs about its caps at most. It looks at no more of a
    /// value than it keeps, except for pictures.
    pub(crate) fn shorten(&self, record: &mut CallRecord) -> Shortened {
        for name in names(record) {
            if name.len() > NAME_CAP + cap::MARGIN {
                *name =
                    name.get(..name.floor_char_boundary(NAME_CAP + cap::MARGIN)).unwrap_or_default().into();
            }
        }
        let mut shortened = Shortened {
            input: cap::shorten(&mut record.input, self.input, self.blobs),
            ..Shortened::default()
        };
        match &mut record.outcome {
            Outcome::Result(result) => shortened.result = cap::shorten(result, self.result, self.blobs),
            Outcome::Error { message, result, .. } => {
                let room = self.result.saturating_add(cap::MARGIN);
                if message.len() > room {
                    shortened.message = Some(message.len());
                    *message = message.get(..message.floor_char_boundary(room)).unwrap_or_default().into();
                }
                if let Some(result) = result {
                    shortened.result = cap::shorten(result, self.result, self.blobs);
                }
            }
        }
        shortened
    }
}

/// The names in a record that callers, servers or models choose. The owner's is the gateway's own, and entries are found by it.
fn names(record: &mut CallRecord) -> impl Iterator<Item = &mut Arc<str>> {
    let code = match &mut record.outcome {
        Outcome::Error { code, .. } => code.as_mut(),
        Outcome::Result(_) => None,
    };
    [&mut record.server, &mut record.tool, &mut record.correlation_id]
        .into_iter()
        .chain(&mut record.provider)
        .chain(&mut record.ran_on)
        .chain(code)
}

impl Cleaner {
    pub(crate) fn new(
        redaction: &Redaction,
        input_cap: usize,
        result_cap: usize,
    ) -> Result<Self, StoreError> {
        Ok(Self { rules: Rules::parse(redaction)?, input_cap, result_cap, plain_names: VecDeque::new() })
    }

    /// Makes the record fit to be written.
    pub(crate) fn clean(&mut self, record: &mut CallRecord, shortened: Shortened) {
        let paths = self.rules.paths_of(&record.server, &record.tool);
        for name in names(record) {
            // Ids are digits and dashes nearly always, which no secret is known by.
            let is_plain = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
            if !name.bytes().all(is_plain) && !self.plain_names.contains(name) {
                if let Some(clean) = text::redact(name, &self.rules) {
                    *name = clean.into();
                } else if name.len() <= NAME_CAP {
                    self.plain_names.truncate(PLAIN_NAMES - 1);
                    self.plain_names.push_front(Arc::clone(name));
                }
            }
            if name.len() > NAME_CAP {
                *name = cap::cut_text(name, name.len(), NAME_CAP).into();
            }
        }
        self.clean_json(&mut record.input, &paths, self.input_cap, shortened.input);
        match &mut record.outcome {
            Outcome::Result(result) => self.clean_json(result, &paths, self.result_cap, shortened.result),
            Outcome::Error { message, result, .. } => {
                let original = shortened.message.unwrap_or(message.len());
                if let Some(clean) = text::redact(message, &self.rules) {
                    *message = clean.into();
                }
                if shortened.message.is_some() {
                    *message = without_margin(message).into();
                }
                if message.len() > self.result_cap || shortened.message.is_some() {
                    *message = cap::cut_text(message, original, self.result_cap).into();
                }
                if let Some(result) = result {
                    self.clean_json(result, &paths, self.result_cap, shortened.result);
                }
            }
        }
    }

    fn clean_json(&self, json: &mut Bytes, paths: &[&rules::Path], cap: usize, shortened: Option<usize>) {
        if json.is_empty() {
            *json = Bytes::from_static(b"null");
            return;
        }
        let original = shortened.unwrap_or(json.len());
        if let Some(text) =
            std::str::from_utf8(json).ok().filter(|text| shortened.is_some() || Form::of(text) == Form::Json)
        {
            if let Some(clean) = walk::redact(text, &self.rules, paths) {
                *json = Bytes::from(clean);
            }
        } else {
            // Entries are inlined into JSON answers, so what is not JSON is kept as a string.
            let lossy = String::from_utf8_lossy(json);
            let text = text::redact(&lossy, &self.rules);
            *json = Bytes::from(serde_json::Value::from(text.as_deref().unwrap_or(&lossy)).to_string());
        }
        let Ok(text) = std::str::from_utf8(json) else { return };
        let framed = if shortened.is_some() {
            Some(cap::cut(without_margin(text), original, cap))
        } else {
            cap::flatten(text, original, cap)
                .or_else(|| (text.len() > cap).then(|| cap::cut(text, original, cap)))
        };
        if let Some(framed) = framed {
            *json = Bytes::from(framed);
        }
    }
}

/// The text without its last bytes, in which a secret may begin whose end is missing.
fn without_margin(text: &str) -> &str {
    text.get(..text.floor_char_boundary(text.len().saturating_sub(cap::MARGIN))).unwrap_or_default()
}

/// Whether a text is JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    /// The beginning of a JSON text.
    CutJson,
    Other,
}

impl Form {
    fn of(text: &str) -> Self {
        match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => Self::Json,
            Err(error) if error.is_eof() => Self::CutJson,
            Err(_) => Self::Other,
        }
    }
}
