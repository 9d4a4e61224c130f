//! What is removed from a call before it is written: secrets, base64 blobs, and what exceeds the size cap.
//!
//! The way of a value: [`Caps::shorten`] before the queue, then [`walk`] over JSON or [`text`] over anything else. `text`
//! runs the searches that the words of a text call for ([`hints`]), decodes escaped and encoded parts ([`encodings`]), and
//! hands JSON inside the text ([`islands`]) back to `walk`. All of them produce [`edits`].

mod assignments;
mod cap;
mod code;
mod commands;
mod containers;
mod dictionary;
mod document;
mod edits;
#[cfg(test)]
mod embedded_tests;
mod encodings;
mod expressions;
mod hints;
mod islands;
mod line;
#[cfg(test)]
mod linear_tests;
mod markup;
mod needles;
mod nesting;
mod pairs;
mod personal;
mod phrases;
mod placeholders;
mod rules;
mod secret_names;
mod secrets;
mod shapes;
mod tables;
mod text;
mod value;
mod walk;

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use gateway_privacy::Counts;
use serde::de::IgnoredAny;

pub(crate) use self::rules::Rules;
pub use self::{
    document::{RedactedJson, Redactor},
    personal::PersonalData,
};
use crate::{
    error::StoreError,
    record::{CallRecord, Outcome},
};

/// Replaces a secret.
pub const REDACTED: &str = "[redacted]";
/// The same as a JSON string, which replaces a whole value.
const QUOTED: &str = "\"[redacted]\"";

/// What to redact in every call, besides the keys and prefixes that are always redacted.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Redaction {
    /// More keys whose value is redacted at any depth; `*` matches any text, case is ignored.
    pub keys: Vec<String>,
    /// Locations in the input and the result of some tools: `server/tool:/path/to/value`; `*` is allowed in the names and
    /// as a whole segment of the path.
    pub paths: Vec<String>,
    /// Personal data that is looked for; none if absent.
    pub personal_data: Option<PersonalData>,
}

/// Redacts and caps records: the only way from a record to the database.
#[derive(Debug)]
pub(crate) struct Cleaner {
    rules: Rules,
    personal_data: Option<PersonalData>,
    caps: Caps,
    /// Recent names without secrets, the newest first: most calls are of the same tools.
    plain_names: VecDeque<Arc<str>>,
}

/// How many names without secrets are cached.
const PLAIN_NAMES: usize = 8;

/// The longest name, id or code that is kept.
const NAME_CAP: usize = 512;

/// Size limits of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caps {
    pub(crate) input: usize,
    pub(crate) result: usize,
}

/// The original lengths of the values that were shortened before they were queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shortened {
    input: Option<usize>,
    result: Option<usize>,
    message: Option<usize>,
}

impl Caps {
    /// Shortens what is too long, so that a queued record takes at most about its caps. It reads no more of a value than it
    /// keeps, except for base64.
    pub(crate) fn shorten(&self, record: &mut CallRecord) -> Shortened {
        for name in names(record) {
            if name.len() > NAME_CAP + cap::MARGIN {
                *name =
                    name.get(..name.floor_char_boundary(NAME_CAP + cap::MARGIN)).unwrap_or_default().into();
            }
        }
        let mut shortened =
            Shortened { input: cap::shorten(&mut record.input, self.input), ..Shortened::default() };
        match &mut record.outcome {
            Outcome::Result(result) => shortened.result = cap::shorten(result, self.result),
            Outcome::Error { message, result, .. } => {
                let room = self.result.saturating_add(cap::MARGIN);
                if message.len() > room {
                    shortened.message = Some(message.len());
                    *message = message.get(..message.floor_char_boundary(room)).unwrap_or_default().into();
                }
                if let Some(result) = result {
                    shortened.result = cap::shorten(result, self.result);
                }
            }
        }
        shortened
    }
}

/// The names in a record that callers, servers or models choose. The caller's name is the gateway's own, and entries are
/// looked up by it.
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
    pub(crate) fn new(redaction: &Redaction, caps: Caps) -> Result<Self, StoreError> {
        let personal_data = redaction.personal_data.clone();
        Ok(Self { rules: Rules::parse(redaction)?, personal_data, caps, plain_names: VecDeque::new() })
    }

    /// What is done about personal data, if it is looked for.
    pub(crate) fn personal_data(&self) -> Option<&PersonalData> {
        self.personal_data.as_ref()
    }

    /// Redacts and caps the record. Returns the personal data that was found in it.
    pub(crate) fn clean(&mut self, record: &mut CallRecord, shortened: Shortened) -> Counts {
        let mut found = Counts::default();
        let paths = self.rules.paths_of(&record.server, &record.tool);
        for name in names(record) {
            // Ids are nearly always hexadecimal digits and dashes, and no secret is recognised by those.
            let is_plain = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
            if !name.bytes().all(is_plain) && !self.plain_names.contains(name) {
                let mut personal = Counts::default();
                let redacted = text::redact(name, &self.rules);
                let is_secret = redacted.is_some();
                if let Some(clean) = redacted {
                    *name = clean.into();
                }
                if let Some(rule) = &self.personal_data {
                    rule.clean_text(name, &mut personal);
                    found.merge(personal);
                }
                if !is_secret && personal.is_empty() && name.len() <= NAME_CAP {
                    self.plain_names.truncate(PLAIN_NAMES - 1);
                    self.plain_names.push_front(Arc::clone(name));
                }
            }
            if name.len() > NAME_CAP {
                *name = cap::cut_text(name, name.len(), NAME_CAP).into();
            }
        }
        self.clean_json(&mut record.input, &paths, (self.caps.input, shortened.input), &mut found);
        match &mut record.outcome {
            Outcome::Result(result) => {
                self.clean_json(result, &paths, (self.caps.result, shortened.result), &mut found);
            }
            Outcome::Error { message, result, .. } => {
                let original = shortened.message.unwrap_or(message.len());
                if let Some(clean) = text::redact(message, &self.rules) {
                    *message = clean.into();
                }
                if let Some(rule) = &self.personal_data {
                    rule.clean_text(message, &mut found);
                }
                if shortened.message.is_some() {
                    *message = without_margin(message).into();
                }
                if message.len() > self.caps.result || shortened.message.is_some() {
                    *message = cap::cut_text(message, original, self.caps.result).into();
                }
                if let Some(result) = result {
                    self.clean_json(result, &paths, (self.caps.result, shortened.result), &mut found);
                }
            }
        }
        found
    }

    fn clean_json(
        &self,
        json: &mut Bytes,
        paths: &[&rules::Path],
        (cap, shortened): (usize, Option<usize>),
        found: &mut Counts,
    ) {
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
            // Entries are inlined into JSON responses, so what is not JSON is stored as a string.
            let lossy = String::from_utf8_lossy(json);
            let text = text::redact(&lossy, &self.rules);
            *json = Bytes::from(serde_json::Value::from(text.as_deref().unwrap_or(&lossy)).to_string());
        }
        if let Some(rule) = &self.personal_data {
            rule.clean_json(json, found);
        }
        let Ok(text) = std::str::from_utf8(json) else { return };
        // A shortened value is not valid JSON any more, so it always becomes a `truncated` object.
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

/// The text without its last bytes, in which a secret with a missing end may begin.
fn without_margin(text: &str) -> &str {
    text.get(..text.floor_char_boundary(text.len().saturating_sub(cap::MARGIN))).unwrap_or_default()
}

/// Whether a text is JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    /// A prefix of a JSON text.
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
