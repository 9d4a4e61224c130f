//! Telling the alternatives of a union apart by their structure.

use serde_json::Value;

use super::equal;
use crate::schema::TypeSet;

/// What values of one alternative look like. Accepting too much is safe, refusing a true member is not.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Guard {
    pub(crate) types: TypeSet,
    /// All values, where there are few.
    pub(crate) values: Option<Vec<Value>>,
    /// Properties that an object must have.
    pub(crate) required: Vec<Box<str>>,
    /// All properties that an object may have, where it is closed.
    pub(crate) keys: Option<Vec<Box<str>>>,
    /// Properties with few values, or of certain types.
    pub(crate) members: Vec<(Box<str>, Guard)>,
    /// What the items of an array look like.
    pub(crate) items: Option<Box<Guard>>,
}

impl Guard {
    /// Accepts everything.
    pub(crate) fn anything() -> Self {
        Self::of_types(TypeSet::ALL)
    }

    pub(crate) fn of_types(types: TypeSet) -> Self {
        Self { types, ..Self::default() }
    }

    pub(crate) fn accepts(&self, value: &Value) -> bool {
        if !self.types.contains(TypeSet::of(value)) {
            return false;
        }
        if let Some(values) = &self.values {
            return values.iter().any(|known| equal(known, value));
        }
        let map = match value {
            Value::Object(map) => map,
            Value::Array(items) => {
                return self.items.as_ref().is_none_or(|guard| items.iter().all(|item| guard.accepts(item)));
            }
            _ => return true,
        };
        self.required.iter().all(|key| map.contains_key(key.as_ref()))
            && self
                .keys
                .as_ref()
                .is_none_or(|keys| map.keys().all(|key| keys.iter().any(|known| **known == **key)))
            && self
                .members
                .iter()
                .all(|(key, guard)| map.get(key.as_ref()).is_none_or(|member| guard.accepts(member)))
    }
}

/// Whether no value can be accepted by both.
pub(crate) fn disjoint(left: &Guard, right: &Guard) -> bool {
    let common = left.types.and(right.types);
    if common.is_empty() {
        return true;
    }
    match (&left.values, &right.values) {
        (Some(left), Some(right)) => {
            return !left.iter().any(|value| right.iter().any(|other| equal(value, other)));
        }
        (Some(values), None) => return !values.iter().any(|value| right.accepts(value)),
        (None, Some(values)) => return !values.iter().any(|value| left.accepts(value)),
        (None, None) => {}
    }
    if common != TypeSet::OBJECT {
        return false;
    }
    let lacks = |guard: &Guard, other: &Guard| {
        other.keys.as_ref().is_some_and(|keys| guard.required.iter().any(|key| !keys.contains(key)))
    };
    if lacks(left, right) || lacks(right, left) {
        return true;
    }
    left.members.iter().any(|(key, guard)| {
        left.required.contains(key)
            && right.required.contains(key)
            && right.members.iter().any(|(other, theirs)| other == key && disjoint(guard, theirs))
    })
}
