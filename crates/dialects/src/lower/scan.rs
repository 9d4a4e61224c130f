//! Measuring a schema before anything recurses into it.

use serde_json::Value;

use crate::options::Budget;

/// What was found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    /// Objects and arrays.
    pub(crate) nodes: usize,
    /// Characters of all strings and keys, and a few for every value: close to the compact JSON.
    pub(crate) bytes: usize,
    /// Whether there are ids or anchors below the root.
    pub(crate) has_ids: bool,
}

/// Which limit a schema exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    Depth,
    Nodes,
    Bytes,
}

/// Measures `schema`, and stops where the budget ends.
pub(crate) fn scan(schema: &Value, budget: &Budget) -> Result<Size, Excess> {
    let mut size = Size::default();
    // A schema level is at most three JSON levels: `properties`, the name, the schema.
    visit(schema, budget.depth.saturating_mul(3).min(384), budget, &mut size)?;
    Ok(size)
}

fn visit(value: &Value, levels: usize, budget: &Budget, size: &mut Size) -> Result<(), Excess> {
    match value {
        Value::Object(map) => {
            enter(levels, budget, size)?;
            for (key, child) in map {
                size.bytes += key.len() + 4;
                if key.starts_with('$') || key == "id" {
                    size.has_ids |= matches!(key.as_str(), "$id" | "id" | "$anchor" | "$dynamicAnchor")
                        && child.is_string();
                }
                visit(child, levels - 1, budget, size)?;
            }
        }
        Value::Array(items) => {
            enter(levels, budget, size)?;
            for child in items {
                size.bytes += 1;
                visit(child, levels - 1, budget, size)?;
            }
        }
        Value::String(text) => size.bytes += text.len() + 2,
        Value::Number(_) | Value::Bool(_) | Value::Null => size.bytes += 4,
    }
    if size.bytes > budget.bytes { Err(Excess::Bytes) } else { Ok(()) }
}

fn enter(levels: usize, budget: &Budget, size: &mut Size) -> Result<(), Excess> {
    size.nodes += 1;
    if levels == 0 {
        return Err(Excess::Depth);
    }
    // Each schema node brings an object of its own and often one for its properties.
    if size.nodes > budget.nodes.saturating_mul(3) {
        return Err(Excess::Nodes);
    }
    Ok(())
}
