//! Results that say one thing twice: as text, and as `structuredContent`.
//!
//! Servers do so for clients that know no `structuredContent`. A model needs it once.

use serde_json::Value;

use super::piece::Piece;
use super::read::read_result;
use crate::arguments::has_doubles;
use crate::json;
use crate::plan::equal;

/// The member under which frameworks such as `FastMCP` put a result that is no object, since `structuredContent` has to be one.
const WRAPPER: &str = "result";

/// Members under which servers such as `server-filesystem` put the text of the result once more. They say nothing about it.
const TEXT_WRAPPERS: [&str; 3] = ["content", "text", "output"];

/// Text blocks that say nothing beside `structuredContent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repetition {
    /// Their indices in `content`.
    pub(crate) blocks: Vec<usize>,
    /// Whether they say all of it. Otherwise `structuredContent` alone does: the texts of `[[1, 2], [3]]` and of `[1, 2, null, 3]`
    /// can be the same.
    pub(crate) is_whole: bool,
}

impl Repetition {
    /// Finds the texts among `pieces` that `structured` repeats; `None` if there are none. A text that differs is never one of
    /// them.
    pub(super) fn find(pieces: &[(usize, Piece<'_>)], structured: &Value) -> Option<Self> {
        let texts: Vec<(usize, &str)> = pieces
            .iter()
            .filter_map(|(index, piece)| match piece {
                Piece::Text(text) => Some((*index, &**text)),
                Piece::Document { .. } | Piece::Media(_) | Piece::Note(_) => None,
            })
            .collect();
        [Some(structured), unwrapped(structured)].into_iter().flatten().find_map(|value| {
            if let Some((index, _)) = texts.iter().find(|(_, text)| says(text, value)) {
                return Some(Self { blocks: vec![*index], is_whole: true });
            }
            let is_whole = say_items(&texts, value.as_array()?)?;
            Some(Self { blocks: texts.iter().map(|(index, _)| *index).collect(), is_whole })
        })
    }
}

/// What stands in the wrapper and nothing else does.
fn unwrapped(structured: &Value) -> Option<&Value> {
    let (name, value) = structured.as_object().filter(|members| members.len() == 1)?.iter().next()?;
    let is_wrapper = name == WRAPPER || (value.is_string() && TEXT_WRAPPERS.contains(&name.as_str()));
    is_wrapper.then_some(value)
}

/// Whether `text` is `value`: as JSON in any spelling, or as it is if the value is a string.
fn says(text: &str, value: &Value) -> bool {
    if value.as_str() == Some(text) {
        return true;
    }
    match json::from_str(text) {
        Ok(read) if !has_doubles(&read) => equal(&read, value),
        // Nobody can say which of the repeated members was meant.
        Err(error) if error.is_data() => false,
        // Digits that a double cannot hold are compared as digits, as they are in `structuredContent`.
        Ok(_) | Err(_) => equal(&read_result(text).value, value),
    }
}

/// Whether `texts` are the items, one by one, and if so whether they say all that the list does; `None` if they are not.
fn say_items(texts: &[(usize, &str)], items: &[Value]) -> Option<bool> {
    let say = |values: &[&Value]| {
        texts.len() == values.len() && texts.iter().zip(values).all(|((_, text), value)| says(text, value))
    };
    if texts.is_empty() {
        return None;
    }
    if say(&items.iter().collect::<Vec<_>>()) {
        // Below each other, texts of several lines do not show where one ends.
        let is_clear = |item: &Value| item.as_str().is_none_or(|text| !text.contains('\n'));
        return Some(items.len() == 1 || items.iter().all(is_clear));
    }
    let mut leaves = Vec::new();
    flatten(items, &mut leaves);
    say(&leaves).then_some(false)
}

/// The items of lists within lists too, without null: the Python SDK makes a block of each, and none of null.
fn flatten<'v>(items: &'v [Value], leaves: &mut Vec<&'v Value>) {
    for item in items {
        match item {
            Value::Null => {}
            Value::Array(items) => flatten(items, leaves),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => leaves.push(item),
        }
    }
}
