//! Whether checking arguments against a schema can take longer than its size lets expect.
//!
//! The library follows every reference each time it meets one. A schema whose parts refer twice to the next part
//! costs 2ⁿ steps then, so does one keyword that looks at what all others looked at inside another one. A regular
//! expression that backtracks can take as long. Nearly all schemas are harmless; this finds the others without following
//! any path twice.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{
    omit::{UNEVALUATED, has_keyword},
    patterns::Survey,
    walk::{REFERENCES, each_schema},
};
use crate::schema::refs::percent_decoded;

/// Schemas that a document may have when all references are written out.
const MAX_UNFOLDED: u64 = 10_000;
/// Schemas and references one inside the other.
const MAX_DEPTH: u32 = 256;
/// References of a schema that do not all lead into one document: each is compiled once for each way to it, of which so many
/// references make some thousand.
const MAX_ENTANGLED: usize = 24;
/// Keywords of such a schema that look at what all others have looked at, through references: each follows them once more.
const MAX_ENTANGLED_UNEVALUATED: usize = 4;
/// References of one schema, which may lead from one to the next: what the library makes of them is dropped on the stack.
const MAX_REFERENCES: usize = 5_000;
/// References that lead from one to the next with nothing beside them.
const MAX_HOPS: usize = 64;
/// Keywords that make more than one pass over a part possible.
const REPEATING: [&str; 5] =
    ["$ref", "$dynamicRef", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties"];

/// What can go wrong with a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Risk {
    /// Nothing: time grows with the size of schema and arguments only.
    None,
    /// Some arguments can take too long.
    Arguments,
    /// Reading the schema can take too long, or its checks cannot be metered.
    Schema,
}

/// What can go wrong with `schema`, and the states that its patterns can have active at once for one text.
pub(super) fn risk_of(schema: &Value, patterns: &Survey) -> (Risk, u64) {
    let of_patterns = if patterns.is_counted { Risk::Arguments } else { Risk::None };
    if !has_keyword(schema, &REPEATING) {
        return (of_patterns, patterns.active);
    }
    let weight = Walk { root: schema, patterns, weights: HashMap::new() }.weigh(schema, 0);
    let risk = if weight.schemas <= MAX_UNFOLDED {
        of_patterns
    } else if References::of(schema).are_harmless() {
        Risk::Arguments
    } else {
        Risk::Schema
    };
    (risk, weight.states)
}

/// Where the references of a schema lead that applies its parts more often than can be counted here.
struct References<'a> {
    root: &'a Value,
    /// Every schema that can be given a type, by address. The library looks at types first, so that a value is read whenever one
    /// of these is applied.
    schemas: HashSet<usize>,
    /// The whole schema, and whatever has a name inside it.
    documents: Vec<&'a Value>,
    written: Vec<&'a str>,
    /// Whether all references are JSON Pointers into one document.
    is_plain: bool,
    /// Whether some part may have no types.
    has_dialects: bool,
}

impl<'a> References<'a> {
    fn of(root: &'a Value) -> Self {
        let mut all = Self {
            root,
            schemas: HashSet::new(),
            documents: vec![root],
            written: Vec::new(),
            is_plain: true,
            has_dialects: false,
        };
        each_schema(root, &mut |schema, _| {
            all.schemas.insert(address(schema));
            let text = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
            if !std::ptr::eq(schema, root) && (text("$id").is_some() || text("id").is_some()) {
                all.documents.push(schema);
            }
            all.written.extend(REFERENCES.into_iter().filter_map(text));
            all.is_plain &= text("$dynamicRef").is_none() && text("$recursiveRef").is_none();
            let is_vocabulary = |name: &str| name.contains("json-schema.org") && name.contains("/meta/");
            all.has_dialects |=
                schema.get("$vocabulary").is_some() || text("$schema").is_some_and(is_vocabulary);
        });
        let is_pointer = |reference: &&str| *reference == "#" || reference.starts_with("#/");
        all.is_plain &= all.documents.len() == 1 && all.written.iter().all(is_pointer);
        all
    }

    /// Whether the schema is compiled in bounded time, and reads values wherever it is applied.
    fn are_harmless(&self) -> bool {
        // Compiled once for each sequence of documents that leads to it; that is known only of one document.
        let most = if self.is_plain { MAX_REFERENCES } else { MAX_ENTANGLED };
        !self.has_dialects
            && self.written.len() <= most
            && self.written.iter().all(|reference| self.leads_to_schemas(reference))
            && !Compilation { references: self, followed: HashMap::new() }.takes_too_long()
    }

    /// Whether a reference leads to schemas only, and soon to one that is more than a reference.
    fn leads_to_schemas(&self, reference: &'a str) -> bool {
        let mut next = Some(reference);
        let mut seen = HashSet::new();
        while seen.len() < MAX_HOPS {
            let Some((_, fragment)) = next.and_then(|reference| reference.split_once('#')) else {
                return true;
            };
            let pointer = percent_decoded(fragment);
            // The library takes these for indexes, and we do not.
            let is_odd = |segment: &str| {
                segment.len() > 1
                    && segment.starts_with(['0', '+'])
                    && segment.bytes().skip(1).all(|byte| byte.is_ascii_digit())
            };
            let targets = self.targets(&pointer);
            let is_known = |target: &&Value| target.is_boolean() || self.schemas.contains(&address(target));
            let may_be_odd = targets.is_empty() || !self.is_plain;
            if !targets.iter().all(is_known) || (may_be_odd && pointer.split('/').any(is_odd)) {
                return false;
            }
            if !self.is_plain {
                // Among so few references no chain is long.
                return true;
            }
            if targets.first().is_some_and(|target| !seen.insert(address(target))) {
                // One that leads to itself is applied once.
                return true;
            }
            let refers =
                |target: &'a Value| REFERENCES.into_iter().find_map(|keyword| target.get(keyword)?.as_str());
            next = targets.first().copied().and_then(refers);
        }
        next.is_none()
    }

    /// What a pointer may lead to: which document it starts from is not known.
    fn targets(&self, pointer: &str) -> Vec<&'a Value> {
        self.documents.iter().filter_map(|document| document.pointer(pointer)).collect()
    }
}

fn address(schema: &Value) -> usize {
    std::ptr::from_ref(schema).addr()
}

fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&percent_decoded(reference.strip_prefix('#')?))
}

struct Walk<'a> {
    root: &'a Value,
    patterns: &'a Survey,
    /// By address; nothing while a schema is being weighed.
    weights: HashMap<usize, Option<Weight>>,
}

/// What there is in a schema when all references are written out; the most where that has no end.
#[derive(Clone, Copy)]
struct Weight {
    schemas: u64,
    /// Of the patterns.
    states: u64,
    /// How many schemas are one inside the other.
    height: u32,
}

impl Weight {
    const NONE: Self = Self { schemas: 0, states: 0, height: 0 };
    const ONE: Self = Self { schemas: 1, states: 0, height: 1 };
    const ENDLESS: Self = Self { schemas: u64::MAX, states: u64::MAX, height: 0 };

    fn plus(self, other: Self) -> Self {
        Self {
            schemas: self.schemas.saturating_add(other.schemas),
            states: self.states.saturating_add(other.states),
            height: self.height.max(other.height),
        }
    }
}

impl<'a> Walk<'a> {
    fn weigh(&mut self, schema: &'a Value, depth: u32) -> Weight {
        let Value::Object(map) = schema else { return Weight::ONE };
        let address = address(schema);
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
                ("$ref", Value::String(reference)) => match target(self.root, reference) {
                    Some(target) => self.weigh(target, depth + 1),
                    None => Weight::ENDLESS,
                },
                ("$dynamicRef" | "$recursiveRef", _) => Weight::ENDLESS,
                ("$id" | "id", Value::String(_)) if depth > 0 => {
                    // References below count from here, which is not followed.
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
                        factor = 3;
                    }
                    self.weigh(value, depth + 1)
                }
                (_, Value::Array(items)) => self.sum(items.iter(), depth),
            };
            sum = sum.plus(weight);
        }
        if sum.height > MAX_DEPTH {
            return Weight::ENDLESS;
        }
        Weight {
            schemas: sum.schemas.saturating_mul(factor),
            states: sum.states.saturating_mul(factor),
            height: sum.height + 1,
        }
    }

    fn weigh_pattern(&self, pattern: &str) -> Weight {
        Weight { states: self.patterns.active_states(pattern), ..Weight::NONE }
    }

    fn sum(&mut self, schemas: impl Iterator<Item = &'a Value>, depth: u32) -> Weight {
        schemas.fold(Weight::NONE, |sum, schema| sum.plus(self.weigh(schema, depth + 1)))
    }
}

/// What compiling a schema with `unevaluatedProperties` or `unevaluatedItems` takes: the library follows from there
/// whatever applies to the same value, each time it meets it.
struct Compilation<'r, 'a> {
    references: &'r References<'a>,
    /// By address; endless while a schema is being followed, for then it leads to itself.
    followed: HashMap<usize, Followed>,
}

/// The schemas that apply to the same value as one, itself included.
#[derive(Clone, Copy)]
struct Followed {
    schemas: u64,
    /// How many of them are one inside the other.
    height: u32,
    /// Whether a reference leads to some of them.
    refers: bool,
}

impl Followed {
    const ENDLESS: Self = Self { schemas: u64::MAX, height: 0, refers: true };
}

impl<'a> Compilation<'_, 'a> {
    fn takes_too_long(mut self) -> bool {
        let (mut sum, mut through_references) = (0_u64, 0);
        let references = self.references;
        each_schema(references.root, &mut |schema, _| {
            let keywords = UNEVALUATED.iter().filter(|keyword| schema.get(**keyword).is_some()).count();
            if keywords > 0 {
                let Followed { schemas, refers, .. } = self.follow(schema, 0);
                sum = sum.saturating_add(schemas);
                through_references += if refers { keywords } else { 0 };
            }
        });
        // What references by name lead to is not followed here.
        let is_entangled = !references.is_plain && through_references > MAX_ENTANGLED_UNEVALUATED;
        sum > MAX_UNFOLDED || is_entangled
    }

    fn follow(&mut self, schema: &'a Value, depth: u32) -> Followed {
        let Value::Object(map) = schema else {
            return Followed { schemas: 1, height: 1, refers: false };
        };
        let address = address(schema);
        if let Some(known) = self.followed.get(&address) {
            return *known;
        }
        self.followed.insert(address, Followed::ENDLESS);
        if depth > MAX_DEPTH {
            return Followed::ENDLESS;
        }
        let mut found = Followed { schemas: 1, height: 0, refers: false };
        for (key, value) in map {
            let beside: Vec<&'a Value> = match (key.as_str(), value) {
                ("$ref", Value::String(reference)) => {
                    found.refers = true;
                    let pointer = reference.split_once('#').map(|(_, fragment)| percent_decoded(fragment));
                    pointer.map_or_else(Vec::new, |pointer| self.references.targets(&pointer))
                }
                ("$dynamicRef" | "$recursiveRef", _) => {
                    found.refers = true;
                    Vec::new()
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => parts.iter().collect(),
                // What nothing else looked at is read with all the rest, too.
                ("not" | "if" | "then" | "else" | "unevaluatedProperties" | "unevaluatedItems", part) => {
                    vec![part]
                }
                ("dependentSchemas" | "dependencies", Value::Object(parts)) => parts.values().collect(),
                _ => Vec::new(),
            };
            for part in beside {
                let inside = self.follow(part, depth + 1);
                found.schemas = found.schemas.saturating_add(inside.schemas);
                found.height = found.height.max(inside.height);
                found.refers |= inside.refers;
            }
        }
        if UNEVALUATED.iter().any(|keyword| map.contains_key(*keyword)) {
            found.schemas = found.schemas.saturating_mul(3);
        }
        if found.height > MAX_DEPTH {
            found = Followed::ENDLESS;
        } else {
            found.height += 1;
        }
        self.followed.insert(address, found);
        found
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
        // Each refers to all of them, so that they can be entered in any order.
        let entangled_by = |count: usize, letter: &str| {
            let all: Vec<Value> =
                (0..count).map(|index| json!({"$ref": format!("{letter}{index}")})).collect();
            let part =
                |index: usize| json!({"$id": format!("r{index}"), "properties": {"a": {"allOf": all}}});
            let parts: serde_json::Map<_, _> =
                (0..count).map(|index| (format!("r{index}"), part(index))).collect();
            json!({"$id": "http://example.com/", "$ref": "r0", "$defs": parts})
        };
        let entangled = |count: usize| entangled_by(count, "r");
        let backwards = |count: usize, keyword: &str| {
            let part = |index: usize| json!({(keyword): [{"$ref": format!("#/$defs/d{}", index + 1)}]});
            let parts = (0..count).rev().map(|index| (format!("d{index}"), part(index)));
            let last = (format!("d{count}"), json!({"type": "integer"}));
            let definitions: serde_json::Map<_, _> = [last].into_iter().chain(parts).collect();
            json!({"$defs": definitions, "$ref": "#/$defs/d0"})
        };
        let bare = |count: usize| {
            let part =
                |index: usize| (format!("d{index}"), json!({"$ref": format!("#/$defs/d{}", index + 1)}));
            let parts = (0..count).map(part).chain([(format!("d{count}"), json!({"type": "integer"}))]);
            json!({"$defs": parts.collect::<serde_json::Map<_, _>>(), "items": {"$ref": "#/$defs/d0"}})
        };
        let named = |name: &str| {
            let reference = format!("#/$defs/{name}");
            json!({"$ref": reference, "$defs": {(name): {"properties": {"n": {"$ref": reference}}}}})
        };
        let moved = |keyword: &str| {
            let text = chain(20, "allOf").to_string().replace("#/$defs/", &format!("#/x/{keyword}/"));
            let mut schema: Value = serde_json::from_str(&text).unwrap();
            schema["x"] = json!({(keyword): schema["$defs"].take()});
            schema.as_object_mut().unwrap().shift_remove("$defs");
            schema
        };
        let in_dialect = |name: &str| json!({"$schema": name, "properties": {"n": {"$ref": "#"}}});
        // A chain that leads to one that multiplies, whose definitions are known before.
        let hidden = |count: usize| {
            let next = |index: usize| json!({"allOf": [{"$ref": format!("#/$defs/c{}", index + 1)}]});
            let mut parts: serde_json::Map<_, _> =
                (0..count).map(|index| (format!("c{index}"), next(index))).collect();
            let inner = format!("#/$defs/c{count}/allOf/0/$defs/");
            let text = chain(20, "allOf").to_string().replace("#/$defs/", &inner);
            let mut last: Value = serde_json::from_str(&text).unwrap();
            last["unevaluatedProperties"] = json!(false);
            parts.insert(format!("c{count}"), json!({"allOf": [last]}));
            json!({"allOf": [{"$ref": "#/$defs/c0"}], "$defs": parts})
        };
        let beside = |mut schema: Value| {
            schema["unevaluatedProperties"] = json!(false);
            schema
        };
        let beside_name =
            |schema: Value| json!({"$defs": {"a": {"$id": "a"}}, "allOf": [{"$ref": "a"}, schema]});
        let mut chain_beside_name = chain(8, "allOf");
        for part in ["d0", "d1", "d2", "d3"] {
            chain_beside_name["$defs"][part]["unevaluatedProperties"] = json!(false);
        }
        chain_beside_name["$defs"]["a"] = json!({"$id": "a"});
        chain_beside_name["allOf"] = json!([{"$ref": "a"}]);
        let flat = |count: usize, part: &Value| -> serde_json::Map<String, Value> {
            (0..count).map(|index| (format!("p{index}"), beside(json!({"allOf": [part]})))).collect()
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
            (documents(40), Risk::Arguments),
            (entangled(4), Risk::Arguments),
            (entangled(8), Risk::Schema),
            (nested(2), Risk::None),
            (nested(12), Risk::Schema),
            (json!({"properties": {"next": {"$ref": "#"}}, "unevaluatedProperties": false}), Risk::Arguments),
            (beside(chain(8, "allOf")), Risk::None),
            (beside(chain(20, "allOf")), Risk::Schema),
            (beside(json!({"allOf": [{"$ref": "#"}]})), Risk::Schema),
            // Definitions that are known when what refers to them is weighed are as deep as others.
            (backwards(4_900, "anyOf"), Risk::Arguments),
            (beside(backwards(1_500, "allOf")), Risk::Schema),
            // A name may look like a keyword.
            (named("default"), Risk::Arguments),
            (named("const"), Risk::Arguments),
            // What no type can be given to, in three ways.
            (moved("dependentRequired"), Risk::Schema),
            (moved("default"), Risk::Schema),
            (in_dialect("https://json-schema.org/draft/2020-12/meta/applicator"), Risk::Schema),
            (json!({"$ref": "#/$defs/v/enum/00", "$defs": {"v": {"enum": [{"$ref": "#"}]}}}), Risk::Schema),
            // What is honest stays: dialects that nobody knows, examples with ids, references to the root.
            (in_dialect("https://spec.openapis.org/oas/3.1/dialect/base"), Risk::Arguments),
            (json!({"properties": {"n": {"$ref": "#"}}, "examples": [{"id": "x"}]}), Risk::Arguments),
            // A name inside hides neither what multiplies without references nor what does with them,
            (beside_name(nested(12)), Risk::Schema),
            (chain_beside_name, Risk::Schema),
            // and takes no checks away from keywords that follow no references.
            (beside_name(json!({"properties": flat(5, &json!({}))})), Risk::Arguments),
            (beside_name(json!({"properties": flat(4, &json!({"$ref": "a"}))})), Risk::Arguments),
            (beside_name(json!({"properties": flat(5, &json!({"$ref": "a"}))})), Risk::Schema),
            // Far away from the root.
            (hidden(127), Risk::Schema),
            (bare(60), Risk::None),
            (bare(4_000), Risk::Schema),
            // Names that are written in another way.
            (entangled_by(8, "%72"), Risk::Schema),
        ] {
            assert_eq!(risk_of(&schema, &Survey::of(&schema)).0, expected, "{schema}");
        }
    }
}
