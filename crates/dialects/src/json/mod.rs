//! A JSON tree that borrows from the schema it was made from.
//!
//! Lowering copies most of a schema unchanged. Holding those parts by reference, and objects as plain lists,
//! makes a translated tool several times cheaper to build than a `serde_json::Value`.

mod read;
mod scan;
mod unrepeated;
mod write;

use std::borrow::Cow;

use serde::ser::{Serialize, Serializer};
use serde_json::{Number, Value};

pub use read::from_slice;
pub(crate) use read::from_str;
pub(crate) use unrepeated::repeated;

/// The members of an object, in order.
pub(crate) type Entries<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// A JSON value, partly borrowed. Object entries keep their order.
#[derive(Clone, Debug)]
pub enum Json<'a> {
    /// A part of the input, unchanged.
    Same(&'a Value),
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object, in order.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// A string that lives as long as the program.
    pub const fn literal(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// An object from `(key, value)` pairs.
    pub fn object<const N: usize>(entries: [(&'static str, Json<'a>); N]) -> Self {
        Self::Object(entries.into_iter().map(|(key, value)| (Cow::Borrowed(key), value)).collect())
    }

    /// An owned copy.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Same(value) => (*value).clone(),
            Self::Null => Value::Null,
            Self::Bool(flag) => Value::Bool(*flag),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone().into_owned()),
            Self::Array(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Self::Object(entries) => Value::Object(
                entries.iter().map(|(key, value)| (key.clone().into_owned(), value.to_value())).collect(),
            ),
        }
    }

    /// The members of an object; any other value as it is.
    pub(crate) fn into_entries(self) -> Result<Entries<'a>, Self> {
        match self {
            Self::Object(entries) => Ok(entries),
            Self::Same(Value::Object(map)) => Ok(map
                .iter()
                .map(|(name, value)| (Cow::Borrowed(name.as_str()), Self::Same(value)))
                .collect()),
            other => Err(other),
        }
    }

    /// The items of an array; any other value as it is.
    pub(crate) fn into_items(self) -> Result<Vec<Self>, Self> {
        match self {
            Self::Array(items) => Ok(items),
            Self::Same(Value::Array(items)) => Ok(items.iter().map(Self::Same).collect()),
            other => Err(other),
        }
    }

    /// Shows every member of an object.
    pub(crate) fn each_member(&self, visit: &mut dyn FnMut(&str, &Self)) {
        match self {
            Self::Object(entries) => entries.iter().for_each(|(name, json)| visit(name, json)),
            Self::Same(Value::Object(map)) => {
                map.iter().for_each(|(name, value)| visit(name, &Self::Same(value)));
            }
            _ => {}
        }
    }

    pub(crate) fn is_array(&self) -> bool {
        matches!(self, Self::Array(_) | Self::Same(Value::Array(_)))
    }

    pub(crate) fn is_empty_array(&self) -> bool {
        match self {
            Self::Array(items) => items.is_empty(),
            Self::Same(Value::Array(items)) => items.is_empty(),
            _ => false,
        }
    }

    /// Shows every item of an array.
    pub(crate) fn each_item(&self, visit: &mut dyn FnMut(&Self)) {
        match self {
            Self::Array(items) => items.iter().for_each(visit),
            Self::Same(Value::Array(items)) => items.iter().for_each(|item| visit(&Self::Same(item))),
            _ => {}
        }
    }

    /// The text of a string.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Same(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) | Self::Same(Value::Number(number)) => Some(number),
            _ => None,
        }
    }

    /// A number, rounded.
    pub(crate) fn as_f64(&self) -> Option<f64> {
        self.as_number().and_then(Number::as_f64)
    }
}

impl From<u64> for Json<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl From<String> for Json<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Same(value) => value.serialize(serializer),
            Self::Null => serializer.serialize_unit(),
            Self::Bool(flag) => serializer.serialize_bool(*flag),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(entries) => {
                serializer.collect_map(entries.iter().map(|(key, value)| (key.as_ref(), value)))
            }
        }
    }
}

#[cfg(test)]
mod arbitrary {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    /// Values of all kinds, with texts that need escapes.
    pub(super) fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (0..300u16).prop_map(Value::from),
            text().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
                prop::collection::vec((text(), inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[a-z]{0,12}", "(?s).{0,20}", "[ -~\\n\\t\"\\\\\u{0}-\u{1f}]{0,30}"]
    }
}
