//! The recipe that turns arguments into a dialect's form and back.

mod bounds;
mod codec;
mod decode;
mod encode;
mod equality;
mod guard;
mod names;
mod simplify;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use bounds::{all_hold, fits, holds as is_kept};
pub(crate) use codec::{Branch, Codec, Entries, ObjectCodec, PropertyCodec, Rest, TupleCodec, agree};
pub(crate) use equality::{digest, equal};
pub(crate) use guard::{Guard, Look, Verdicts, Watch};
pub(crate) use simplify::{does_nothing, innocent};
pub(crate) use text::NULL_TEXT;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use gateway_notation::pointer;
use serde_json::{Map, Value};

/// How the arguments of one tool travel: `decode` undoes `encode`. Beyond that it also reads what `encode` never writes, such as
/// an object where entries were asked for.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub(crate) root: Codec,
    pub(crate) definitions: Vec<Codec>,
    /// What values of the definitions look like, where an alternative asks for it.
    pub(crate) guards: Vec<Guard>,
    pub(crate) injected: Vec<(String, Value)>,
}

/// Arguments that the dialect's form cannot carry, or that are not in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", if path.is_empty() { String::new() } else { format!("at {path}: ") })]
#[non_exhaustive]
pub struct PlanError {
    /// JSON Pointer to the offending value, in the form that was given.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

impl PlanError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { path: String::new(), message: message.into() }
    }

    pub(crate) fn under(mut self, step: &str) -> Self {
        self.path = format!("/{}{}", pointer::escape(step), self.path);
        self
    }
}

impl Plan {
    /// Whether arguments travel as they are.
    pub fn is_identity(&self) -> bool {
        self.root == Codec::Same && self.injected.is_empty()
    }

    /// MCP arguments in the dialect's form.
    pub fn encode(&self, arguments: &Value) -> Result<Value, PlanError> {
        if self.injected.is_empty() {
            return self.pass(arguments, |pass| pass.encode_with(&self.root, arguments));
        }
        let mut visible = arguments.clone();
        if let Value::Object(map) = &mut visible {
            for (name, value) in &self.injected {
                if map.get(name).is_some_and(|given| equal(given, value)) {
                    map.shift_remove(name);
                }
            }
        }
        self.pass(&visible, |pass| pass.encode_with(&self.root, &visible))
    }

    /// The dialect's arguments as the MCP server wants them.
    pub fn decode(&self, arguments: &Value) -> Result<Value, PlanError> {
        let mut decoded = self.pass(arguments, |pass| pass.decode_with(&self.root, arguments))?;
        if !self.injected.is_empty() {
            if decoded.is_null() {
                decoded = Value::Object(Map::new());
            }
            if let Value::Object(map) = &mut decoded {
                for (name, value) in &self.injected {
                    map.insert(name.clone(), value.clone());
                }
            }
        }
        Ok(decoded)
    }

    /// Works on arguments of bounded depth, with steps in proportion to their size.
    fn pass(&self, arguments: &Value, work: impl FnOnce(&Pass<'_>) -> Encoded) -> Encoded {
        let size = measure(arguments, DEEPEST)?;
        let steps = Cell::new(FREE_STEPS.saturating_add(size.saturating_mul(STEPS_FOR_EACH_VALUE)));
        self.pass_within(&steps, work)
    }

    fn pass_within(&self, steps: &Cell<usize>, work: impl FnOnce(&Pass<'_>) -> Encoded) -> Encoded {
        let definition = |index: usize| self.guards.get(index);
        let watch = Watch { definition: &definition, steps, verdicts: Verdicts::default() };
        work(&Pass { plan: self, watch, trials: Cell::new(0), encoded: RefCell::default() })
    }

    fn definition(&self, index: usize) -> Result<&Codec, PlanError> {
        self.definitions.get(index).ok_or_else(|| PlanError::new("the plan names a definition that it lacks"))
    }
}

type Encoded = Result<Value, PlanError>;

/// Every item by `each`; errors name the item.
fn each_item(items: &[Value], each: impl Fn(usize, &Value) -> Encoded) -> Encoded {
    let item = |(index, item)| each(index, item).map_err(|error| error.under(&index.to_string()));
    items.iter().enumerate().map(item).collect()
}

/// One walk through arguments.
struct Pass<'p> {
    plan: &'p Plan,
    watch: Watch<'p>,
    /// Alternatives that are being tried, each inside the one before.
    trials: Cell<usize>,
    /// What has become of objects and arrays of the arguments while alternatives were tried: each alternative around them asks
    /// again. By the number of the definition, and by their addresses, which stay the same throughout.
    encoded: RefCell<HashMap<(usize, *const Value), Encoded>>,
}

/// Levels of arguments that are read; as many as `serde_json` parses.
const DEEPEST: usize = 128;

/// Steps of guards: few enough to end soon. A recursive union of many alternatives can need more; its value is refused.
const FREE_STEPS: usize = 500_000;
const STEPS_FOR_EACH_VALUE: usize = 512;

/// How many values there are in `value`, itself among them.
fn measure(value: &Value, levels: usize) -> Result<usize, PlanError> {
    let inner = levels.checked_sub(1).ok_or_else(|| PlanError::new("the arguments are nested too deep"))?;
    match value {
        Value::Array(items) => items.iter().try_fold(1, |sum, item| Ok(sum + measure(item, inner)?)),
        Value::Object(map) => map.values().try_fold(1, |sum, item| Ok(sum + measure(item, inner)?)),
        _ => Ok(1),
    }
}
