//! JSON objects whose members stay raw.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::raw::RawJson;
use crate::repeated::last_of_each;

/// A JSON object with raw members in order. No two members have the same name: of a repeated one the first position and
/// the last value count, as in most parsers.
#[derive(Clone, Debug, Default)]
pub struct RawObject<'a> {
    members: Vec<Member<'a>>,
}

/// A member: its unescaped name and its raw value.
type Member<'a> = (Cow<'a, str>, Cow<'a, RawValue>);

impl<'a> RawObject<'a> {
    /// Reads an object.
    pub fn parse(text: &'a RawJson) -> Result<Self, serde_json::Error> {
        text.read()
    }

    /// The members.
    pub fn members(&self) -> &[(Cow<'a, str>, Cow<'a, RawValue>)] {
        &self.members
    }

    /// Keeps only the members whose name passes `is_kept`.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&str) -> bool) {
        self.members.retain(|(name, _)| is_kept(name));
    }

    /// Adds the members of another object: in place if they exist, else at the end.
    pub fn append(&mut self, other: Self) {
        self.members.extend(other.members);
        self.members = each_once(std::mem::take(&mut self.members));
    }

    /// Orders the members by their names.
    pub fn sort(&mut self) {
        self.members.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    }

    /// The member called `name`.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.members.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_ref())
    }

    /// Sets a member: in place if it exists, else at the end.
    pub fn set(&mut self, name: &str, value: &RawJson) -> Result<(), serde_json::Error> {
        let value: Box<RawValue> = value.read()?;
        match self.members.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = Cow::Owned(value),
            None => self.members.push((Cow::Owned(name.to_owned()), Cow::Owned(value))),
        }
        Ok(())
    }

    /// Removes a member.
    pub fn remove(&mut self, name: &str) -> Option<Cow<'a, RawValue>> {
        let index = self.members.iter().position(|(key, _)| key == name)?;
        Some(self.members.remove(index).1)
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
                Ok(RawObject { members: each_once(members) })
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// The members without repeats.
fn each_once(members: Vec<Member<'_>>) -> Vec<Member<'_>> {
    let Some(last) = last_of_each(&members, |(name, _)| name.as_ref()) else { return members };
    let values: Vec<Cow<'_, RawValue>> =
        last.iter().flatten().filter_map(|last| members.get(*last).map(|(_, value)| value.clone())).collect();
    let stays = last.iter().map(Option::is_some);
    let names = members.into_iter().zip(stays).filter(|(_, stays)| *stays).map(|((name, _), _)| name);
    names.zip(values).collect()
}

/// A key, borrowed if it has no escapes.
#[derive(Deserialize)]
pub(crate) struct Key<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);
