//! Sets of JSON types.

use serde_json::Value;

/// A set of JSON types. `INTEGER` without `NUMBER` means whole numbers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct TypeSet(u8);

impl TypeSet {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    /// Fractional numbers; whole numbers are `INTEGER`, so "number" is both bits.
    const FRACTION: Self = Self(8);
    pub(crate) const NUMBER: Self = Self(12);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub(crate) const ALL: Self = Self(127);
    pub(crate) const CONTAINERS: Self = Self(96);

    /// The type called `name` in a schema.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => return None,
        })
    }

    /// The one type that `value` has.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) => {
                if number.as_f64().is_none_or(|float| float.fract() == 0.0) {
                    Self::INTEGER
                } else {
                    Self::FRACTION
                }
            }
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether any type is in both sets.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether every type of `other` is in this set.
    pub(crate) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The schema names of the members, in a fixed order, with `null` last.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        [
            (Self::OBJECT, "object"),
            (Self::ARRAY, "array"),
            (Self::STRING, "string"),
            (Self::NUMBER, "number"),
            (Self::INTEGER, "integer"),
            (Self::BOOLEAN, "boolean"),
            (Self::NULL, "null"),
        ]
        .into_iter()
        .filter(move |(bits, name)| match *name {
            "number" => self.meets(Self::FRACTION),
            "integer" => self.meets(Self::INTEGER) && !self.meets(Self::FRACTION),
            _ => self.meets(*bits),
        })
        .map(|(_, name)| name)
    }

    /// The members as sets of one type each ("number" stays one).
    pub(crate) fn singles(self) -> impl Iterator<Item = Self> {
        self.names().filter_map(Self::named)
    }

    pub(crate) fn count(self) -> usize {
        self.names().count()
    }
}

#[cfg(test)]
mod tests {
    use super::TypeSet;
    use serde_json::json;

    #[test]
    fn integer_is_inside_number() {
        assert!(TypeSet::NUMBER.contains(TypeSet::INTEGER));
        assert_eq!(TypeSet::NUMBER.and(TypeSet::INTEGER), TypeSet::INTEGER);
        assert_eq!(TypeSet::NUMBER.names().collect::<Vec<_>>(), ["number"]);
        assert_eq!(TypeSet::ALL.names().count(), 6);
    }

    #[test]
    fn whole_floats_are_integers() {
        assert_eq!(TypeSet::of(&json!(1.0)), TypeSet::INTEGER);
        assert!(!TypeSet::INTEGER.contains(TypeSet::of(&json!(1.5))));
        assert!(TypeSet::NUMBER.contains(TypeSet::of(&json!(1.5))));
    }
}
