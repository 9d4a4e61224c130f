//! Measuring a schema before anything recurses into it.

use serde_json::Value;

use crate::options::Budget;
use crate::schema::Holds;

/// What was found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    /// Schemas, and objects inside data.
    pub(crate) nodes: usize,
    /// Characters of all strings and keys, and a few for every value: close to the compact JSON.
    pub(crate) bytes: usize,
    /// Whether there are ids or anchors below the root.
    pub(crate) has_ids: bool,
    /// Whether there are references.
    pub(crate) has_references: bool,
}

impl Size {
    fn add_text(&mut self, text: &str, budget: &Budget) -> Result<(), Excess> {
        self.bytes += text.len() + 2;
        if self.bytes > budget.bytes { Err(Excess::Bytes) } else { Ok(()) }
    }
}

/// Which limit a schema exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    Depth,
    Nodes,
    Bytes,
    /// What would be said about it.
    Report,
    /// Ways to reach the keys that travel under other names.
    Keys,
}

/// Measures `schema`, and stops where the budget ends.
pub(crate) fn scan(schema: &Value, budget: &Budget) -> Result<Size, Excess> {
    let mut size = Size::default();
    visit(schema, Seen::Schema, budget.depth + 1, budget, &mut size)?;
    Ok(size)
}

/// What an object in a schema document is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// A schema: one level.
    Schema,
    /// A table of schemas by name: no level of its own.
    Table,
}

fn visit(value: &Value, seen: Seen, levels: usize, budget: &Budget, size: &mut Size) -> Result<(), Excess> {
    match value {
        Value::Object(map) => {
            let levels = if seen == Seen::Schema {
                size.nodes += 1;
                if size.nodes > budget.nodes {
                    return Err(Excess::Nodes);
                }
                levels.checked_sub(1).filter(|left| *left > 0).ok_or(Excess::Depth)?
            } else {
                levels
            };
            for (key, child) in map {
                size.bytes += key.len() + 4;
                let inner = match child {
                    // Most values are texts: these are counted here.
                    Value::String(text) => {
                        size.add_text(text, budget)?;
                        if seen == Seen::Schema {
                            size.has_ids |=
                                matches!(key.as_str(), "$id" | "id" | "$anchor" | "$dynamicAnchor");
                            size.has_references |= key == "$ref";
                        }
                        continue;
                    }
                    Value::Object(_) if seen == Seen::Schema && Holds::of(key) == Holds::Table => Seen::Table,
                    _ => Seen::Schema,
                };
                visit(child, inner, levels, budget, size)?;
            }
        }
        Value::Array(items) => {
            // Data may nest arrays in arrays without end.
            let levels =
                levels.checked_sub(usize::from(items.iter().any(Value::is_array))).filter(|left| *left > 0);
            for child in items {
                size.bytes += 1;
                if let Value::String(text) = child {
                    size.add_text(text, budget)?;
                } else {
                    visit(child, Seen::Schema, levels.ok_or(Excess::Depth)?, budget, size)?;
                }
            }
        }
        Value::String(text) => size.add_text(text, budget)?,
        Value::Number(_) | Value::Bool(_) | Value::Null => size.bytes += 4,
    }
    if size.bytes > budget.bytes { Err(Excess::Bytes) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Budget, Excess, scan};

    #[test]
    fn the_first_limit_that_is_exceeded_is_the_reason() {
        let budget = Budget { bytes: 100, ..Budget::default() };
        let deep = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({"not": inner}));
        let (long, too_deep) = ("x".repeat(100), deep(budget.depth + 1));
        let check = |schema: &Value| scan(schema, &budget).err();
        assert_eq!(check(&json!({"title": long, "not": too_deep})), Some(Excess::Bytes));
        assert_eq!(check(&json!({"enum": [long, too_deep]})), Some(Excess::Bytes));
        assert_eq!(check(&json!({"not": {"not": {"title": "x"}}})), None);
    }
}
