//! Whether checking arguments against a schema can take longer than its size lets expect.
//!
//! The validator follows every reference each time it meets one. A schema whose parts refer twice to the next part
//! costs 2ⁿ steps then, so does one keyword that looks at what all others looked at inside another one. A regular
//! expression that goes back can take as long. Nearly all schemas are harmless; this finds the others without following
//! any path twice.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::patterns::Survey;
use crate::schema::refs::percent_decoded;

/// Schemas that a document may have when all references are written out.
const MAX_UNFOLDED: u64 = 10_000;
/// Schemas and references one inside the other.
const MAX_DEPTH: u32 = 256;
/// Documents inside the document that the compiler takes: it looks at every order of them.
const MAX_INNER_DOCUMENTS: u32 = 4;

/// What can go wrong with a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Risk {
    /// Nothing: time grows with the size of schema and arguments only.
    None,
    /// Some arguments can take too long.
    Arguments,
    /// Reading the schema can take too long.
    Schema,
}

/// What can go wrong with `schema`, and the states that its patterns can have active at once for one text.
pub(super) fn risk_of(schema: &Value, patterns: &Survey) -> (Risk, u64) {
    let of_patterns = if patterns.is_counted() { Risk::Arguments } else { Risk::None };
    if !mentions(schema) {
        return (of_patterns, patterns.active);
    }
    let mut walk =
        Walk { root: schema, patterns, weights: HashMap::new(), unevaluated: false, inner_documents: 0 };
    let weight = walk.weigh(schema, 0);
    let risk = if weight.schemas <= MAX_UNFOLDED {
        of_patterns
    } else if walk.unevaluated || walk.inner_documents > MAX_INNER_DOCUMENTS {
        Risk::Schema
    } else {
        Risk::Arguments
    };
    (risk, weight.states)
}

/// Whether a word stands anywhere that makes more than one pass over a part possible.
fn mentions(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().any(|(key, value)| {
            let telling = matches!(
                key.as_str(),
                "$ref" | "$dynamicRef" | "$recursiveRef" | "unevaluatedItems" | "unevaluatedProperties"
            );
            telling || mentions(value)
        }),
        Value::Array(items) => items.iter().any(mentions),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

struct Walk<'a> {
    root: &'a Value,
    patterns: &'a Survey,
    /// By address; nothing while a schema is being weighed.
    weights: HashMap<usize, Option<Weight>>,
    unevaluated: bool,
    inner_documents: u32,
}

/// What there is in a schema when all references are written out; the most where that has no end.
#[derive(Clone, Copy)]
struct Weight {
    schemas: u64,
    /// Of the patterns.
    states: u64,
}

impl Weight {
    const NONE: Self = Self { schemas: 0, states: 0 };
    const ONE: Self = Self { schemas: 1, states: 0 };
    const ENDLESS: Self = Self { schemas: u64::MAX, states: u64::MAX };

    fn plus(self, other: Self) -> Self {
        Self {
            schemas: self.schemas.saturating_add(other.schemas),
            states: self.states.saturating_add(other.states),
        }
    }
}

impl<'a> Walk<'a> {
    fn weigh(&mut self, schema: &'a Value, depth: u32) -> Weight {
        let Value::Object(map) = schema else { return Weight::ONE };
        let address = std::ptr::from_ref(schema).addr();
        match self.weights.get(&address) {
            Some(Some(known)) => return *known,
            Some(None) => return Weight::ENDLESS,
            None => {}
        }
        self.weights.insert(address, None);
        let weight = if depth > MAX_DEPTH { Weight::ENDLESS } else { self.weigh_members(map, depth) };
        self.weights.insert(address, Some(weight));
        weight
    }

    fn weigh_members(&mut self, map: &'a Map<String, Value>, depth: u32) -> Weight {
        let mut sum = Weight::ONE;
        let mut factor = 1;
        for (key, value) in map {
            let weight = match (key.as_str(), value) {
                ("$ref", Value::String(target)) => match self.target(target) {
                    Some(target) => self.weigh(target, depth + 1),
                    None => Weight::ENDLESS,
                },
                ("$dynamicRef" | "$recursiveRef", _) => Weight::ENDLESS,
                ("$id" | "id", Value::String(_)) if depth > 0 => {
                    // References below count from here, which is not followed.
                    self.inner_documents += 1;
                    Weight::ENDLESS
                }
                ("pattern", Value::String(pattern)) => self.weigh_pattern(pattern),
                // Values, not schemas.
                ("const" | "enum" | "default" | "examples", _)
                | (_, Value::Null | Value::Number(_) | Value::String(_)) => Weight::NONE,
                ("$defs" | "definitions", Value::Object(inner)) => {
                    // Counts where it is referred to; what is in it matters to the compiler.
                    inner.values().for_each(|inner| {
                        self.weigh(inner, depth + 1);
                    });
                    Weight::NONE
                }
                ("patternProperties", Value::Object(inner)) => {
                    let keys = inner.keys().map(|pattern| self.weigh_pattern(pattern));
                    let keys = keys.fold(Weight::NONE, Weight::plus);
                    keys.plus(self.sum(inner.values(), depth))
                }
                ("properties" | "dependentSchemas" | "dependencies", Value::Object(inner)) => {
                    self.sum(inner.values(), depth)
                }
                (keyword, Value::Object(_) | Value::Bool(_)) => {
                    if matches!(keyword, "unevaluatedItems" | "unevaluatedProperties") {
                        // Looks once more at what stands beside it, and at what that looked at.
                        self.unevaluated = true;
                        factor = 3;
                    }
                    self.weigh(value, depth + 1)
                }
                (_, Value::Array(items)) => self.sum(items.iter(), depth),
            };
            sum = sum.plus(weight);
        }
        Weight { schemas: sum.schemas.saturating_mul(factor), states: sum.states.saturating_mul(factor) }
    }

    fn weigh_pattern(&self, pattern: &str) -> Weight {
        Weight { schemas: 0, states: self.patterns.active_states(pattern) }
    }

    fn sum(&mut self, schemas: impl Iterator<Item = &'a Value>, depth: u32) -> Weight {
        schemas.fold(Weight::NONE, |sum, schema| sum.plus(self.weigh(schema, depth + 1)))
    }

    fn target(&self, reference: &str) -> Option<&'a Value> {
        self.root.pointer(&percent_decoded(reference.strip_prefix('#')?))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Risk, Survey, risk_of};

    fn chain(count: usize, keyword: &str) -> Value {
        let next = |index: usize| json!({"$ref": format!("#/$defs/d{}", index + 1)});
        let parts =
            (0..count).map(|index| (format!("d{index}"), json!({(keyword): [next(index), next(index)]})));
        let mut definitions: serde_json::Map<String, Value> = parts.collect();
        definitions.insert(format!("d{count}"), json!({"type": "string"}));
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    }

    #[test]
    fn only_schemas_that_can_blow_up_are_a_risk() {
        let nested = |depth: usize| {
            (0..depth).fold(
                json!({"properties": {"a": true}}),
                |inner, _| json!({"allOf": [inner], "unevaluatedProperties": false}),
            )
        };
        let documents = |count: usize| {
            let parts = (0..count).map(|index| (format!("r{index}"), json!({"$id": format!("r{index}")})));
            json!({"$id": "http://example.com/", "$ref": "r0", "$defs": parts.collect::<serde_json::Map<_, _>>()})
        };
        let shared = json!({"properties": {"a": {"$ref": "#/$defs/d"}, "b": {"$ref": "#/$defs/d"}}, "$defs": {"d": {"enum": [1]}}});
        for (schema, expected) in [
            (json!(true), Risk::None),
            (json!({"type": "object", "properties": {"default": {"type": "string"}}}), Risk::None),
            (shared, Risk::None),
            (chain(8, "allOf"), Risk::None),
            (chain(20, "allOf"), Risk::Arguments),
            (chain(400, "anyOf"), Risk::Arguments),
            (json!({"properties": {"default": chain(20, "anyOf")}, "$defs": {}}), Risk::Arguments),
            (json!({"properties": {"next": {"$ref": "#"}}}), Risk::Arguments),
            (json!({"$dynamicRef": "#x", "$dynamicAnchor": "x"}), Risk::Arguments),
            (json!({"$ref": "http://example.com/elsewhere"}), Risk::Arguments),
            (json!({"pattern": "^[a-z]+$", "patternProperties": {"^x-": true}}), Risk::None),
            (json!({"items": {"pattern": "^(?!x)"}}), Risk::Arguments),
            (json!({"patternProperties": {"(a)\\1": true}}), Risk::Arguments),
            (json!({"default": {"pattern": "^(?!x)"}}), Risk::None),
            (documents(4), Risk::Arguments),
            (documents(5), Risk::Schema),
            (nested(2), Risk::None),
            (nested(12), Risk::Schema),
            (json!({"properties": {"next": {"$ref": "#"}}, "unevaluatedProperties": false}), Risk::Schema),
        ] {
            assert_eq!(risk_of(&schema, &Survey::of(&schema)).0, expected, "{schema}");
        }
    }
}
