//! Calls that are still arriving.

use super::{Outcome, StreamEvent, StreamedCall, buffer::Buffer};
use crate::wire::Object;
use crate::wire::calls::{Arguments, Ids, RawCall};

/// Bytes of a name or an id.
const MAX_NAME: usize = 1024;

/// By what a provider distinguishes fragments of different calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// A number.
    Index(u64),
    /// The one call of an API that has only one.
    Only,
    /// Nothing: the call came whole, or its id is its key.
    Unnumbered,
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct OpenCall {
    pub(crate) key: Key,
    /// What is known of it besides its arguments.
    pub(crate) call: RawCall,
    pub(crate) arguments: Buffer,
    given: bool,
}

impl OpenCall {
    pub(crate) fn new(key: Key, limit: usize) -> Self {
        Self { key, call: RawCall::default(), arguments: Buffer::new(limit), given: false }
    }

    pub(crate) fn from_call(call: RawCall, limit: usize) -> Self {
        let mut open = Self::new(Key::Unnumbered, limit);
        match &call.arguments {
            Arguments::Missing => {}
            Arguments::Text(text) => open.arguments.push(text),
            Arguments::Json(value) => open.arguments.set(value),
        }
        Self { call, ..open }
    }

    /// Whether the call has been given already, so that late fragments mean nothing.
    pub(crate) fn given(&self) -> bool {
        self.given
    }

    /// The first id stays.
    pub(crate) fn set_id(&mut self, id: Option<&str>) {
        if self.call.id.is_none() {
            self.call.id = id.filter(|id| !id.is_empty()).map(clipped);
        }
    }

    /// Takes a name, a name once more, or, before any arguments, more of a name.
    pub(crate) fn set_name(&mut self, name: Option<&str>) {
        let Some(name) = name.filter(|name| !name.is_empty()) else { return };
        let known = &mut self.call.name;
        if known.is_empty() || name.starts_with(known.as_str()) {
            *known = clipped(name);
        } else if self.arguments.is_empty() && !known.ends_with(name) {
            *known = clipped(&format!("{known}{name}"));
        }
    }

    /// Keeps the members beside those that are `read`.
    pub(crate) fn keep_others(&mut self, members: &Object, read: &[&str]) {
        let others = members.iter().filter(|(key, _)| !read.contains(&key.as_str()));
        self.call.extra.extend(others.map(|(key, value)| (key.clone(), value.clone())));
    }

    /// The event for this call, once. One that never had a name is given without: the model may get an answer.
    pub(crate) fn give(&mut self, outcome: Outcome, ids: &mut Ids) -> Option<StreamEvent> {
        if std::mem::replace(&mut self.given, true) {
            return None;
        }
        let outcome = if self.arguments.limited() { Outcome::Limited } else { outcome };
        if let Some(id) = &self.call.id {
            ids.note(id);
        }
        // Late fragments are still compared with the id and the name.
        let (id, name) = (self.call.id.clone(), self.call.name.clone());
        let call = std::mem::replace(&mut self.call, RawCall { id, name, ..RawCall::default() });
        let call = RawCall { arguments: self.arguments.take(), ..call };
        Some(StreamEvent::Call(StreamedCall { call: call.into_call(ids), outcome }))
    }
}

fn clipped(text: &str) -> String {
    text.get(..text.floor_char_boundary(MAX_NAME)).unwrap_or_default().to_owned()
}

/// The last call under `key`.
pub(crate) fn call_at<'o>(calls: &'o mut [OpenCall], key: &Key) -> Option<&'o mut OpenCall> {
    calls.iter_mut().rev().find(|call| call.key == *key)
}

/// The call with this id.
pub(crate) fn call_with_id<'o>(calls: &'o mut [OpenCall], id: &str) -> Option<&'o mut OpenCall> {
    calls.iter_mut().rev().find(|open| open.call.id.as_deref() == Some(id))
}
