//! Members of objects in foreign JSON.

use serde_json::{Map, Value};

/// Objects with so few members are read through: that takes less time than hashing the name.
const FEW: usize = 24;

/// Looking up members by name.
pub(crate) trait Members {
    /// The member called `name`, with its key.
    fn entry(&self, name: &str) -> Option<(&String, &Value)>;

    /// The member called `name`.
    #[inline]
    fn member(&self, name: &str) -> Option<&Value> {
        self.entry(name).map(|(_, value)| value)
    }

    /// The text under `name`.
    #[inline]
    fn text(&self, name: &str) -> Option<&str> {
        self.member(name)?.as_str()
    }

    /// The list under `name`; empty if it is absent or none.
    fn list(&self, name: &str) -> &[Value] {
        self.member(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Whether there is a member called `name`.
    #[inline]
    fn has(&self, name: &str) -> bool {
        self.member(name).is_some()
    }
}

impl Members for Map<String, Value> {
    #[inline]
    fn entry(&self, name: &str) -> Option<(&String, &Value)> {
        if self.len() > FEW {
            return self.get_key_value(name);
        }
        self.iter().find(|(key, _)| key.as_str() == name)
    }
}

impl Members for Value {
    #[inline]
    fn entry(&self, name: &str) -> Option<(&String, &Value)> {
        Members::entry(self.as_object()?, name)
    }
}
