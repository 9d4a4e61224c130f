//! One level of a JSON text: what is below is skipped, so that its depth does not matter.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct RawMembers<'t>(Vec<(String, &'t RawValue)>);

impl<'t> RawMembers<'t> {
    pub(super) fn get(&self, name: &str) -> Option<&'t RawValue> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'t RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// The members whose names `keeps` accepts.
    pub(super) fn filtered(&self, keeps: impl Fn(&str) -> bool) -> Self {
        Self(self.0.iter().filter(|(name, _)| keeps(name)).cloned().collect())
    }
}

impl<'t> Deserialize<'t> for RawMembers<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'t> Visitor<'t> for Members {
    type Value = RawMembers<'t>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<RawMembers<'t>, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(RawMembers(members))
    }
}

/// The items of an array; `None` if it is none.
pub(super) fn items_of(raw: &RawValue) -> Option<Vec<&RawValue>> {
    if raw.get().starts_with('[') { serde_json::from_str(raw.get()).ok() } else { None }
}

/// The members of an object; `None` if it is none.
pub(super) fn members_of(raw: &RawValue) -> Option<RawMembers<'_>> {
    if raw.get().starts_with('{') { serde_json::from_str(raw.get()).ok() } else { None }
}
