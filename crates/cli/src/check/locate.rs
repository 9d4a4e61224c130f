//! Where in a text a JSON value stands.

use std::borrow::Cow;

use gateway_notation::pointer;
use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Line and column, both from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// The place of the value at `pointer` in the JSON `text`, or of the nearest value around it.
pub(super) fn locate(text: &str, pointer: &str) -> Place {
    let mut part = text.trim_start();
    for name in pointer::steps(pointer) {
        let Some(inner) = member(part, &name) else { break };
        part = inner;
    }
    // Every part is a slice of `text`, so that the distance of their starts is an offset.
    let offset = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let before = text.get(..offset).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Place {
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
    }
}

fn member<'t>(json: &'t str, name: &str) -> Option<&'t str> {
    match json.as_bytes().first()? {
        b'{' => {
            let mut reader = serde_json::Deserializer::from_str(json);
            serde::Deserializer::deserialize_map(&mut reader, Member { name }).ok()?
        }
        b'[' => {
            let items: Vec<&'t RawValue> =
                Vec::deserialize(&mut serde_json::Deserializer::from_str(json)).ok()?;
            items.get(name.parse::<usize>().ok()?).map(|item| item.get())
        }
        _ => None,
    }
}

/// Takes one member of an object and passes over the others.
struct Member<'n> {
    name: &'n str,
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de str>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(Key(key)) = map.next_key()? {
            if key == self.name {
                found = Some(map.next_value::<&'de RawValue>()?.get());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pointer: &str, line: usize, column: usize) {
        let text = "{\n  \"tools\": [\n    {\"é\": 1, \"a/b\": [true, {\"c\": null}]}\n  ]\n}\n";
        assert_eq!(locate(text, pointer), Place { line, column });
    }

    #[test]
    fn values_are_found_and_else_what_is_around_them() {
        check("", 1, 1);
        check("/tools", 2, 12);
        check("/tools/0", 3, 5);
        check("/tools/0/é", 3, 11);
        check("/tools/0/a~1b/1/c", 3, 34);
        check("/tools/0/nothing/else", 3, 5);
        check("/tools/7", 2, 12);
    }
}
