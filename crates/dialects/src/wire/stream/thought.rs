//! A thinking block while it arrives: it has to be replayed as a whole.

use serde_json::{Map, Value};

use super::open::Key;

/// Bytes of one thinking block that are kept. A longer one cannot be replayed and is let go.
const MAX_THOUGHT: usize = 1024 * 1024;

#[derive(Clone, Debug, Default)]
pub(crate) struct Thought {
    open: Option<(Key, Map<String, Value>)>,
    size: usize,
}

impl Thought {
    pub(crate) fn begin(&mut self, key: Key, block: Value) {
        let members = match block {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        self.size = 0;
        self.open = Some((key, members));
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Appends to one text member.
    pub(crate) fn add(&mut self, member: &str, text: &str) {
        let Some((_, members)) = self.open.as_mut().filter(|_| !text.is_empty()) else { return };
        self.size = self.size.saturating_add(text.len());
        if self.size > MAX_THOUGHT {
            return;
        }
        match members.get_mut(member) {
            Some(Value::String(before)) => before.push_str(text),
            _ => {
                members.insert(member.to_owned(), Value::String(text.to_owned()));
            }
        }
    }

    /// The whole block, when it is the one under `key` and was not too long.
    pub(crate) fn end(&mut self, key: &Key) -> Option<Value> {
        let (_, members) = self.open.take_if(|(open, _)| open == key)?;
        (self.size <= MAX_THOUGHT).then_some(Value::Object(members))
    }
}
