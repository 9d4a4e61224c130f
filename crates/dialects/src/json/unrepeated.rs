//! Reading JSON in which every object names its members once.
//!
//! Of repeated members this crate would read the last one, and others the first one. Nobody can say what was meant, so it
//! is refused.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::de::Read;
use serde_json::{Map, Value};

/// Reads a JSON value. A repeated member is an error of the kind "data"; no other error is.
pub(super) fn from_slice(text: &[u8]) -> Result<Value, serde_json::Error> {
    read(&mut serde_json::Deserializer::from_slice(text))
}

/// Reads a JSON value from a string slice.
pub(super) fn from_str(text: &str) -> Result<Value, serde_json::Error> {
    read(&mut serde_json::Deserializer::from_str(text))
}

fn read<'de>(reader: &mut serde_json::Deserializer<impl Read<'de>>) -> Result<Value, serde_json::Error> {
    let value = Unrepeated.deserialize(&mut *reader)?;
    reader.end()?;
    Ok(value)
}

/// What is said of a repeated member.
pub(crate) fn repeated(name: &str) -> String {
    let name: String = name.chars().take(100).collect();
    format!("the member {name:?} is repeated in one object; send each member once")
}

#[derive(Clone, Copy)]
struct Unrepeated;

impl<'de> DeserializeSeed<'de> for Unrepeated {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unrepeated {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(self)?;
            match map.entry(name) {
                serde_json::map::Entry::Vacant(entry) => drop(entry.insert(value)),
                serde_json::map::Entry::Occupied(entry) => {
                    return Err(A::Error::custom(repeated(entry.key())));
                }
            }
        }
        Ok(Value::Object(map))
    }
}
