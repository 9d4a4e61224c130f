//! A call whose arguments arrive value by value.

use serde_json::{Map, Value};

use super::{Key, OpenCall, Outcome, State, StreamEvent};

/// Steps of one path: keys and indexes in a row.
const MAX_STEPS: usize = 64;
/// The highest index of a list in a path.
const MAX_INDEX: usize = 65_536;

/// A call and the values of its arguments so far.
#[derive(Clone, Debug)]
pub(crate) struct Partial {
    pub(crate) call: OpenCall,
    arguments: Value,
    size: usize,
    /// The path whose string goes on in the next piece.
    growing: Option<String>,
}

impl Partial {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            call: OpenCall::new(Key::Unnumbered, limit),
            arguments: Value::Object(Map::new()),
            size: 0,
            growing: None,
        }
    }

    /// Bytes that have come.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Sets the value at `path`, or adds to the string there if the last piece said that it `continues`.
    pub(crate) fn add(&mut self, path: &str, value: Value, continues: bool, limit: usize) {
        self.size = self.size.saturating_add(path.len() + value.as_str().map_or(8, str::len));
        if self.size > limit {
            return;
        }
        let grows = self.growing.as_deref() == Some(path);
        let Some(current) = value_at(&mut self.arguments, path) else { return };
        match (value, current) {
            (Value::String(more), Value::String(before)) if grows => before.push_str(&more),
            (value, current) => *current = value,
        }
        self.growing = continues.then(|| path.to_owned());
    }
}

impl State {
    /// Gives the call whose arguments arrive value by value, if there is one.
    pub(crate) fn close_partial(&mut self, outcome: Outcome, out: &mut Vec<StreamEvent>) {
        let Some(mut partial) = self.partial.take() else { return };
        if !self.admit(out) {
            return;
        }
        if partial.size > self.options.argument_limit {
            // Cut by pieces, so the text below the limit is not all there is.
            partial.call.arguments.limit_reached(&partial.arguments.to_string());
        } else {
            partial.call.arguments.set(&partial.arguments);
        }
        out.extend(partial.call.give(outcome, &mut self.ids));
        self.open.push(partial.call);
    }
}

/// The value that a path such as `$.rooms[0].name` names, created where it does not exist yet.
fn value_at<'a>(root: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let mut here = root;
    let names = path.strip_prefix('$')?.split(['.', '[']).filter(|step| !step.is_empty());
    for step in names.take(MAX_STEPS) {
        let position = step.strip_suffix(']').map(|inside| inside.trim_matches(['\'', '"']));
        here = match position.map_or(Err(step), |inside| inside.parse::<usize>().map_err(|_| inside)) {
            Ok(at) => {
                if at > MAX_INDEX {
                    return None;
                }
                if !here.is_array() {
                    *here = Value::Array(Vec::new());
                }
                let items = here.as_array_mut()?;
                while items.len() <= at {
                    items.push(Value::Null);
                }
                items.get_mut(at)?
            }
            Err(name) => {
                if !here.is_object() {
                    *here = Value::Object(Map::new());
                }
                here.as_object_mut()?.entry(name).or_insert(Value::Null)
            }
        };
    }
    Some(here)
}
