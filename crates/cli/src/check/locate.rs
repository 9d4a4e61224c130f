//! The position of a JSON value in its text.

use std::borrow::Cow;

use gateway_notation::pointer;
use gateway_protocol::RawObject;
use serde_json::value::RawValue;

/// Line and column, both from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// The position of the value at `pointer` in the JSON `text`, or of its nearest ancestor.
pub(super) fn locate(text: &str, pointer: &str) -> Position {
    let mut part = text.trim_start();
    for name in pointer::steps(pointer) {
        let Some(inner) = member(part, &name) else { break };
        part = inner;
    }
    // Every part is a slice of `text`, so the difference of their pointers is an offset.
    let offset = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let before = text.get(..offset).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Position {
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
    }
}

fn member<'t>(json: &'t str, name: &str) -> Option<&'t str> {
    if json.starts_with('[') {
        let items: Vec<&'t RawValue> = serde_json::from_str(json).ok()?;
        return items.get(name.parse::<usize>().ok()?).map(|item| item.get());
    }
    let object: RawObject<'t> = serde_json::from_str(json).ok()?;
    object.members().iter().find_map(|(key, value)| match value {
        Cow::Borrowed(value) if key == name => Some(value.get()),
        Cow::Borrowed(_) | Cow::Owned(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pointer: &str, line: usize, column: usize) {
        let text = "{\n  \"tools\": [\n    {\"é\": 1, \"a/b\": [true, {\"c\": null}]}\n  ]\n}\n";
        assert_eq!(locate(text, pointer), Position { line, column });
    }

    #[test]
    fn values_are_found_or_else_their_nearest_ancestor() {
        check("", 1, 1);
        check("/tools", 2, 12);
        check("/tools/0", 3, 5);
        check("/tools/0/é", 3, 11);
        check("/tools/0/a~1b/1/c", 3, 34);
        check("/tools/0/nothing/else", 3, 5);
        check("/tools/7", 2, 12);
    }
}
