//! Members of objects in foreign JSON.

use serde_json::{Map, Value};

/// Objects with so few members are read through: that takes less time than hashing the name.
const FEW: usize = 24;

/// Looking up members by name.
pub(crate) trait Members {
    /// The member called `name`.
    fn member(&self, name: &str) -> Option<&Value>;

    /// Whether there is a member called `name`.
    fn has(&self, name: &str) -> bool {
        self.member(name).is_some()
    }
}

impl Members for Map<String, Value> {
    #[inline]
    fn member(&self, name: &str) -> Option<&Value> {
        if self.len() > FEW {
            return self.get(name);
        }
        self.iter().find(|(key, _)| key.as_str() == name).map(|(_, value)| value)
    }
}

impl Members for Value {
    #[inline]
    fn member(&self, name: &str) -> Option<&Value> {
        self.as_object()?.member(name)
    }
}
