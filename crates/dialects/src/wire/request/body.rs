//! The body of a request while it is written.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::RenderedRequest;
use crate::wire::Object;

/// The members of a body: trees, and lists of tools as they were rendered.
pub(crate) struct RequestBody<'a> {
    members: Object,
    /// Members that are text already. They stand first: what stays the same leads, for caches of prompts.
    raw: Vec<(&'static str, String)>,
    /// Settings that are copied as they are, borrowed: a caller can make them as large as a body may be.
    copied: Vec<(&'a str, &'a Value)>,
    pub(crate) settings: Settings<'a>,
}

impl<'a> RequestBody<'a> {
    pub(super) fn new(settings: &'a Object) -> Self {
        Self {
            members: Map::new(),
            raw: Vec::new(),
            copied: Vec::new(),
            settings: Settings { given: settings, taken: Vec::new() },
        }
    }

    /// Writes a member.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.members.insert(name.to_owned(), value.into());
    }

    /// Writes a member that may be absent.
    pub(crate) fn set_some(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// Writes an object, unless it is empty.
    pub(crate) fn set_object(&mut self, name: &str, members: Object) {
        if !members.is_empty() {
            self.set(name, members);
        }
    }

    /// Writes a list of tools, between `before` and `after`.
    pub(crate) fn set_tools(&mut self, name: &'static str, tools: &RawValue, (before, after): (&str, &str)) {
        self.raw.push((name, [before, tools.get(), after].concat()));
    }

    /// Copies settings that the API has under the same names.
    pub(crate) fn copy(&mut self, names: &[&str]) {
        for name in names {
            let value = self.settings.take(name).cloned();
            self.set_some(name, value);
        }
    }

    /// Copies all settings that are left, except those that would replace or repeat a member of the request itself.
    pub(crate) fn copy_rest(&mut self) {
        let (members, raw) = (&self.members, &self.raw);
        let is_set = |name: &str| members.contains_key(name) || raw.iter().any(|(set, _)| *set == name);
        let free: Vec<(&'a str, &'a Value)> = self
            .settings
            .rest()
            .map(|(name, value)| (name.as_str(), value))
            .filter(|(name, _)| !is_set(name))
            .collect();
        self.settings.taken.extend(free.iter().map(|(name, _)| *name));
        self.copied.extend(free);
    }

    pub(super) fn finish(self) -> RenderedRequest {
        let mut body = Vec::with_capacity(self.raw.iter().map(|(_, text)| text.len()).sum::<usize>() + 1024);
        body.push(b'{');
        for (name, text) in &self.raw {
            separate(&mut body);
            write(&mut body, name);
            body.push(b':');
            body.extend_from_slice(text.as_bytes());
        }
        let members = self.members.iter().map(|(name, value)| (name.as_str(), value));
        for (name, value) in members.chain(self.copied.iter().copied()) {
            separate(&mut body);
            write(&mut body, name);
            body.push(b':');
            write(&mut body, value);
        }
        body.push(b'}');
        let ignored = self.settings.rest().map(|(name, _)| name.clone()).collect();
        RenderedRequest { body, ignored }
    }
}

fn separate(body: &mut Vec<u8>) {
    if body.len() > 1 {
        body.push(b',');
    }
}

/// Appends a value. Names, texts and trees of JSON can always be written to memory.
fn write(body: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    let start = body.len();
    if serde_json::to_writer(&mut *body, value).is_err() {
        body.truncate(start);
        body.extend_from_slice(b"null");
    }
}

/// What the caller set, and which of it was written.
pub(crate) struct Settings<'a> {
    given: &'a Object,
    taken: Vec<&'a str>,
}

impl<'a> Settings<'a> {
    /// A setting; it counts as written.
    pub(crate) fn take(&mut self, name: &str) -> Option<&'a Value> {
        let (name, value) = self.given.get_key_value(name)?;
        self.taken.push(name);
        Some(value).filter(|value| !value.is_null())
    }

    /// The first of these that is there; all of them count as written.
    pub(crate) fn take_first(&mut self, names: &[&str]) -> Option<&'a Value> {
        names.iter().fold(None, |found, name| {
            let value = self.take(name);
            found.or(value)
        })
    }

    /// `stop` as a list.
    pub(crate) fn take_stops(&mut self) -> Option<Value> {
        match self.take("stop")? {
            one @ Value::String(_) => Some(json!([one])),
            list => Some(list.clone()),
        }
    }

    /// The schema that an answer has to fit, from `response_format`; any object if only JSON is wanted.
    pub(crate) fn take_answer_format(&mut self) -> Option<AnswerFormat<'a>> {
        let format = self.take("response_format")?;
        match format.get("type").and_then(Value::as_str) {
            Some("json_object") => Some(AnswerFormat::Json),
            Some("json_schema") => {
                format.get("json_schema").and_then(Value::as_object).map(AnswerFormat::Schema)
            }
            Some(_) | None => None,
        }
    }

    /// What is left: settings that are neither written nor null.
    fn rest(&self) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a, '_> {
        self.given.iter().filter(|(name, value)| !value.is_null() && !self.taken.contains(&name.as_str()))
    }
}

/// What an answer has to be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnswerFormat<'a> {
    /// Any object.
    Json,
    /// An object of this `{name, schema, strict}`.
    Schema(&'a Object),
}
