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
        let set = self.distinct();
        NAMES.iter().filter(move |(bit, _)| set.meets(*bit)).map(|(_, name)| *name)
    }

    /// One bit for each name: "number" covers "integer".
    const fn distinct(self) -> Self {
        if self.meets(Self::FRACTION) { self.without(Self::INTEGER) } else { self }
    }

    /// The members as sets of one type each ("number" stays one).
    pub(crate) fn singles(self) -> impl Iterator<Item = Self> {
        let set = self.distinct();
        let single = |bit: Self| if bit == Self::FRACTION { Self::NUMBER } else { bit };
        NAMES.iter().map(|(bit, _)| *bit).filter(move |bit| set.meets(*bit)).map(single)
    }

    pub(crate) const fn count(self) -> u32 {
        self.distinct().0.count_ones()
    }
}

/// The order in which types are named.
const NAMES: [(TypeSet, &str); 7] = [
    (TypeSet::OBJECT, "object"),
    (TypeSet::ARRAY, "array"),
    (TypeSet::STRING, "string"),
    (TypeSet::FRACTION, "number"),
    (TypeSet::INTEGER, "integer"),
    (TypeSet::BOOLEAN, "boolean"),
    (TypeSet::NULL, "null"),
];

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
