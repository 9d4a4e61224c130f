//! JSON objects whose members stay raw.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::raw::RawJson;

/// A JSON object, its members in order and as they came.
#[derive(Clone, Debug, Default)]
pub struct RawObject<'a> {
    /// The members.
    pub members: Vec<(Cow<'a, str>, Cow<'a, RawValue>)>,
}

impl<'a> RawObject<'a> {
    /// Reads an object.
    pub fn parse(text: &'a RawJson) -> Result<Self, serde_json::Error> {
        text.read()
    }

    /// The member called `name`.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.members.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_ref())
    }

    /// Sets a member: in its place where it exists, else at the end.
    pub fn set(&mut self, name: &str, value: &RawJson) -> Result<(), serde_json::Error> {
        let value: Box<RawValue> = value.read()?;
        match self.members.iter_mut().find(|(key, _)| key == name) {
            Some((_, place)) => *place = Cow::Owned(value),
            None => self.members.push((Cow::Owned(name.to_owned()), Cow::Owned(value))),
        }
        Ok(())
    }

    /// Takes a member away.
    pub fn remove(&mut self, name: &str) -> Option<Cow<'a, RawValue>> {
        let place = self.members.iter().position(|(key, _)| key == name)?;
        Some(self.members.remove(place).1)
    }

    /// The object as text.
    pub fn to_raw(&self) -> Result<RawJson, serde_json::Error> {
        let mut text = Vec::with_capacity(
            self.members.iter().map(|(key, value)| key.len() + value.get().len() + 4).sum::<usize>() + 2,
        );
        text.push(b'{');
        for (index, (key, value)) in self.members.iter().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            serde_json::to_writer(&mut text, key)?;
            text.push(b':');
            text.extend_from_slice(value.get().as_bytes());
        }
        text.push(b'}');
        RawJson::parse(text)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = RawObject<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Key(key)) = map.next_key()? {
                    let value: &'de RawValue = map.next_value()?;
                    members.push((key, Cow::Borrowed(value)));
                }
                Ok(RawObject { members })
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// A key, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
