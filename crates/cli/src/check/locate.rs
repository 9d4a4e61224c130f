//! The positions of JSON values in their text.

use std::borrow::Cow;
use std::collections::HashMap;

use gateway_dialects::check::Finding;
use gateway_notation::pointer;
use gateway_protocol::{RawObject, printable};
use serde_json::value::RawValue;

use crate::input::ToolList;

/// Line and column, both from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Position {
    /// As editors and terminals read it: `file:line:column: `.
    pub(super) fn in_file(self, name: &str) -> String {
        format!("{}:{}:{}: ", printable(name), self.line, self.column)
    }
}

/// Finds many values of one text.
pub(super) struct Locator<'t> {
    list: &'t ToolList,
    /// Where the lines of the text begin.
    lines: Vec<usize>,
    /// The parts of long arrays and objects by their pointers: these are asked for again and again.
    known: HashMap<String, Parts<'t>>,
}

/// Members or items by name or index.
type Parts<'t> = HashMap<String, &'t str>;

/// Shorter parts of a text are read anew each time.
const LONG: usize = 4096;

impl<'t> Locator<'t> {
    pub(super) fn new(list: &'t ToolList) -> Self {
        let text = list.text.as_deref().unwrap_or_default();
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { list, lines: std::iter::once(0).chain(ends).collect(), known: HashMap::new() }
    }

    /// The position of what a finding is about; `None` if the tools were not read from a text.
    pub(super) fn position(&mut self, finding: &Finding) -> Option<Position> {
        let list = self.list;
        let tool = match finding.index {
            Some(index) => list.tools.get(index).map_or("", |tool| &tool.pointer),
            None => "",
        };
        Some(self.locate(list.text.as_deref()?, &format!("{tool}{}", finding.pointer)))
    }

    /// The position of the value at `pointer` in the JSON `text`, or of its nearest ancestor.
    fn locate(&mut self, text: &'t str, pointer: &str) -> Position {
        let mut part = text.trim_start();
        let mut path = String::new();
        for name in pointer::steps(pointer) {
            let Some(inner) = self.inside(part, &path, &name) else { break };
            part = inner;
            pointer::push(&mut path, &name);
        }
        // Every part is a slice of `text`, so the difference of their pointers is an offset.
        let offset = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|index| self.lines.get(index)).copied().unwrap_or(0);
        Position { line, column: text.get(start..offset).unwrap_or_default().chars().count() + 1 }
    }

    /// The part called `name` of the value at `path`, whose text is `json`.
    fn inside(&mut self, json: &'t str, path: &str, name: &str) -> Option<&'t str> {
        if json.len() < LONG {
            return parts(json)?.remove(name);
        }
        if !self.known.contains_key(path) {
            self.known.insert(path.to_owned(), parts(json)?);
        }
        self.known.get(path)?.get(name).copied()
    }
}

fn parts(json: &str) -> Option<Parts<'_>> {
    if json.starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
        return Some(items.iter().enumerate().map(|(at, item)| (at.to_string(), item.get())).collect());
    }
    let object: RawObject<'_> = serde_json::from_str(json).ok()?;
    let mut members = Parts::new();
    for (key, value) in object.members() {
        if let Cow::Borrowed(value) = value {
            members.insert(key.to_string(), value.get());
        }
    }
    Some(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pointer: &str, line: usize, column: usize) {
        let text = "{\n  \"tools\": [\n    {\"é\": 1, \"a/b\": [true, {\"c\": null}]}\n  ]\n}\n";
        // Long texts are taken apart once.
        let long = text.replace("null", &format!("\"{}\"", "x".repeat(2 * LONG)));
        for text in [text, &long] {
            let list = ToolList { tools: Vec::new(), text: Some(text.to_owned()), name: String::new() };
            let mut locator = Locator::new(&list);
            for _ in 0..2 {
                let found = locator.locate(list.text.as_deref().unwrap(), pointer);
                assert_eq!(found, Position { line, column });
            }
        }
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
