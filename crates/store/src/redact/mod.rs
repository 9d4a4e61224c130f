//! What is taken out of a call before it is written: secrets, base64 blobs, and what is over the size cap.

mod cap;
mod needles;
mod rules;
mod text;
mod walk;

use bytes::Bytes;
use serde::de::IgnoredAny;

pub(crate) use self::{cap::cut, rules::Rules};
use crate::{
    error::StoreError,
    record::{CallRecord, Outcome},
};

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

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
}

/// The longest name, id or code that is kept.
const NAME_CAP: usize = 512;

impl Cleaner {
    pub(crate) fn new(
        redaction: &Redaction,
        input_cap: usize,
        result_cap: usize,
    ) -> Result<Self, StoreError> {
        Ok(Self { rules: Rules::parse(redaction)?, input_cap, result_cap })
    }

    /// Makes the record fit to be written.
    pub(crate) fn clean(&self, record: &mut CallRecord) {
        for name in [&mut record.server, &mut record.tool, &mut record.correlation_id]
            .into_iter()
            .chain(&mut record.caller)
            .chain(&mut record.provider)
        {
            if name.len() > NAME_CAP {
                *name = cap::cut_text(name, NAME_CAP).into();
            }
        }
        let paths = self.rules.paths_of(&record.server, &record.tool);
        self.clean_json(&mut record.input, &paths, self.input_cap);
        match &mut record.outcome {
            Outcome::Result(result) => self.clean_json(result, &paths, self.result_cap),
            Outcome::Error { message, code, result } => {
                if let Some(clean) = text::redact(message, &self.rules) {
                    *message = clean.into();
                }
                if message.len() > self.result_cap {
                    *message = cap::cut_text(message, self.result_cap).into();
                }
                if let Some(code) = code.as_mut().filter(|code| code.len() > NAME_CAP) {
                    *code = cap::cut_text(code, NAME_CAP).into();
                }
                if let Some(result) = result {
                    self.clean_json(result, &paths, self.result_cap);
                }
            }
        }
    }

    fn clean_json(&self, json: &mut Bytes, paths: &[&rules::Path], cap: usize) {
        if json.is_empty() {
            *json = Bytes::from_static(b"null");
            return;
        }
        let original = json.len();
        if let Some(text) = std::str::from_utf8(json).ok().filter(|text| is_json(text)) {
            if let Some(clean) = walk::redact(text, &self.rules, paths) {
                *json = Bytes::from(clean);
            }
        } else {
            // Entries are inlined into JSON answers, so what is not JSON is kept as a string.
            let lossy = String::from_utf8_lossy(json);
            let text = text::redact(&lossy, &self.rules);
            *json = Bytes::from(serde_json::Value::from(text.as_deref().unwrap_or(&lossy)).to_string());
        }
        if json.len() > cap
            && let Ok(text) = std::str::from_utf8(json)
        {
            *json = Bytes::from(cut(text, original, cap));
        }
    }
}

pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}
